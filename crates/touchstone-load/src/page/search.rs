//! The picture of a search: what was measured at which rate, whether it held, and how the bracket closed.

use crate::capacity::Found;
use crate::report::{count, duration, share};
use crate::search::{Searched, Step};
use crate::trust::in_short;
use serde::Serialize;
use touchstone::report::page::{Chart, rounded};

/// A search, in words and a picture.
pub(super) struct SearchView {
    /// The picture; none, where no step was measured.
    pub chart: Option<Chart>,
    /// The steps, in order.
    pub steps: Vec<StepRow>,
    /// Whether its answer, at the top of the page, says why it cannot be believed.
    pub is_doubted: bool,
    /// Whether it has an answer.
    pub has_answer: bool,
}

/// A step, in words.
pub(super) struct StepRow {
    /// What it was.
    pub what: &'static str,
    /// Whether it held.
    pub held: bool,
    /// Rate, requests a second, P50, P99 and the failed share.
    pub cells: [String; 5],
    /// Why it did not hold, and why it does not count.
    pub why: String,
}

#[derive(Serialize)]
struct Data {
    steps: Vec<Point>,
    /// The answer.
    at: Option<f64>,
    not_at: Option<f64>,
}

#[derive(Serialize)]
struct Point {
    rate: f64,
    confirms: bool,
    held: bool,
    /// Whether it does not count, because it cannot be believed.
    doubted: bool,
    /// The highest rate that had held when it had ended, or the lower one that is confirmed instead.
    low: Option<f64>,
    /// The lowest that had not.
    high: Option<f64>,
    said: String,
}

impl SearchView {
    pub(super) fn new(searched: &Searched) -> SearchView {
        SearchView {
            chart: chart(searched),
            steps: searched.steps.iter().map(row).collect(),
            is_doubted: searched.found.is_none() && !searched.doubts.is_empty(),
            has_answer: searched.found.is_some(),
        }
    }
}

fn row(step: &Step) -> StepRow {
    StepRow {
        what: if step.is_confirmation { "confirmation" } else { "step" },
        held: step.held,
        cells: [
            count(step.rate.round()),
            count(step.requests_a_second.round()),
            duration(step.p50_ns as f64),
            duration(step.p99_ns as f64),
            share(step.failed_share),
        ],
        why: why(step),
    }
}

fn why(step: &Step) -> String {
    let mut why: Vec<String> = step.why.iter().cloned().collect();
    if !step.doubts.is_empty() {
        let doubts: Vec<&str> = step.doubts.iter().map(|doubt| in_short(doubt)).collect();
        why.push(format!("it does not count: {}", doubts.join("; ")));
    }
    why.join("; ")
}

fn chart(searched: &Searched) -> Option<Chart> {
    let points = searched.steps.iter().zip(searched.brackets()).map(|(step, (low, high))| Point {
        rate: rounded(step.rate),
        confirms: step.is_confirmation,
        held: step.held,
        doubted: !step.doubts.is_empty(),
        low: low.map(rounded),
        high: high.map(rounded),
        said: format!("P50 {}, P99 {}", duration(step.p50_ns as f64), duration(step.p99_ns as f64)),
    });
    let (at, not_at) = match searched.found {
        Some(Found::Holds { at, not_at }) => (Some(rounded(at)), not_at.map(rounded)),
        _ => (None, None),
    };
    let data = Data { steps: points.collect(), at, not_at };
    let mut caption =
        "Each mark is a step at its rate. It rises until a rate fails twice of three times; then the bracket, shaded, is halved between \
         what held and what did not, and both of its ends are measured once more, the lower for longer."
            .to_owned();
    if data.steps.iter().any(|step| step.doubted) {
        caption +=
            " A hollow, dashed mark is a step that does not count: the generator was at its own limits.";
    }
    (!data.steps.is_empty()).then(|| Chart::new("steps", "Steps of the search".into(), caption, &data))
}
