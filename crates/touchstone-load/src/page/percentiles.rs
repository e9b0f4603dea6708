//! Latencies by percentile, one chart for each request: from the intended start, and from the sending.

use crate::latency::Latencies;
use crate::outcome::{Outcome, RowOutcome};
use serde::Serialize;
use touchstone::report::page::{Chart, rounded};

/// Points for each halving of the share that is left, as HdrHistogram counts them: a curve of a million has some hundred.
const POINTS_PER_HALVING: u32 = 5;
/// Requests with a chart of their own at the most.
const CHARTS_MOST: usize = 40;

/// The curves of an outcome.
pub(super) struct Curves {
    /// Of all requests, or of the only one.
    pub all: Option<Chart>,
    /// Of each, where there are several, with its label.
    pub each: Vec<(String, Chart)>,
    /// How many requests have none, because there are so many.
    pub left_out: usize,
}

#[derive(Serialize)]
struct Data<'d> {
    /// Requests.
    requests: u64,
    lines: Vec<Line>,
    /// What the vertical axis must hold, so that it is the same in all charts beside each other.
    within: &'d [f64],
}

#[derive(Serialize)]
struct Line {
    name: &'static str,
    /// One in how many takes longer, and the time in nanoseconds.
    points: Vec<(f64, f64)>,
}

impl Curves {
    /// Of the counted requests.
    pub fn new(outcome: &Outcome) -> Curves {
        let rows: Vec<RowOutcome> =
            outcome.by_request().into_iter().filter(|row| row.ended() > 0).take(CHARTS_MOST + 1).collect();
        let from = if outcome.is_closed { "the user was ready" } else { "the intended start" };
        let caption = format!(
            "The longest time that this share of the requests took: the response counts from when {from}, the service time from the \
             sending. Where they part, requests waited before they could be sent. Failures are in it with the time they took."
        );
        let total = outcome.total();
        let all = (total.ended() > 0).then(|| {
            chart(
                &total,
                &[],
                "Percentiles of all requests".into(),
                caption.replace("when the intended", "the intended"),
            )
        });
        if rows.len() < 2 {
            return Curves { all, each: Vec::new(), left_out: 0 };
        }
        let left_out = outcome.by_request().len().saturating_sub(CHARTS_MOST);
        let lines = rows.iter().flat_map(|row| [curve(&row.response), curve(&row.service)]);
        let times: Vec<f64> = lines.flatten().map(|(_, ns)| ns).collect();
        let within =
            [times.iter().copied().fold(f64::MAX, f64::min), times.iter().copied().fold(0.0, f64::max)];
        let each = rows.iter().take(CHARTS_MOST).map(|row| {
            let caption = format!("{} requests.", crate::report::count(row.ended() as f64));
            (row.label.clone(), chart(row, &within, format!("Percentiles of {}", row.label), caption))
        });
        Curves { all, each: each.collect(), left_out }
    }
}

fn chart(row: &RowOutcome, within: &[f64], label: String, caption: String) -> Chart {
    let lines = [("response", &row.response), ("service time", &row.service)];
    let lines = lines.into_iter().map(|(name, latencies)| Line { name, points: curve(latencies) });
    let lines = lines.filter(|line| !line.points.is_empty()).collect();
    Chart::new("percentiles", label, caption, &Data { requests: row.ended(), lines, within })
}

/// Where the curve bends, from the shortest to the longest.
fn curve(latencies: &Latencies) -> Vec<(f64, f64)> {
    let count = latencies.count() as f64;
    let point = |quantile: f64, ns: u64| {
        // Beyond one in as many as there are, nothing is known.
        let one_in = (1.0 / (1.0 - quantile).max(1e-12)).min(count);
        (rounded(one_in), rounded(ns.max(1) as f64))
    };
    let values = latencies.histogram().iter_quantiles(POINTS_PER_HALVING);
    let mut points: Vec<(f64, f64)> =
        values.map(|value| point(value.quantile_iterated_to(), value.value_iterated_to())).collect();
    if let Some(last) = points.last_mut() {
        *last = (rounded(count), rounded(latencies.max_ns() as f64));
    }
    points.dedup();
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_rises_from_the_shortest_to_the_longest() {
        let mut latencies = Latencies::default();
        (1..=100_000u64).for_each(|number| latencies.record(number * 1_000));
        let points = curve(&latencies);
        assert!(points.len() > 50 && points.len() < 200, "{}", points.len());
        assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1), "{points:?}");
        assert_eq!(points.last().map(|point| point.0), Some(100_000.0));
        let at =
            |wanted: f64| points.iter().find(|(one_in, _)| *one_in >= wanted).map_or(0.0, |point| point.1);
        assert!((at(2.0) / 50e6 - 1.0).abs() < 0.01, "{}", at(2.0));
        assert!((at(100.0) / 99e6 - 1.0).abs() < 0.01, "{}", at(100.0));
    }

    #[test]
    fn nothing_and_one_have_curves_too() {
        assert_eq!(curve(&Latencies::default()), []);
        let mut one = Latencies::default();
        one.record(5);
        assert_eq!(curve(&one), [(1.0, 5.0)]);
    }
}
