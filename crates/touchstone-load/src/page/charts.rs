//! The charts over time, one beneath the other with the same axis: requests a second, latencies, and the map of latencies.

use super::heat::Heat;
use super::over_time::{Phase, Thinned};
use crate::outcome::Outcome;
use crate::report::count;
use crate::series::{INTERVAL_NS, Interval};
use serde::Serialize;
use touchstone::report::page::{Chart, rounded};

/// Stretches of time in a chart at the most: three figures each make some 2,000 points.
const STRETCHES_MOST: usize = 600;
/// With fewer requests than this in an interval, what is shown of it is chance.
const REQUESTS_LEAST: f64 = 3.0;

#[derive(Serialize)]
struct Throughput<'t> {
    step: f64,
    ends: f64,
    phases: &'t [Phase],
    /// Requests a second.
    ended: Vec<f64>,
    /// Where a stretch is several intervals, the least and the most of them.
    range: Option<Vec<(f64, f64)>>,
    /// Failures a second.
    failed: Vec<f64>,
}

#[derive(Serialize)]
struct Latencies<'t> {
    step: f64,
    ends: f64,
    phases: &'t [Phase],
    p50: Vec<Option<f64>>,
    p99: Vec<Option<f64>>,
    max: Vec<Option<f64>>,
}

/// The charts, if anything has ended.
pub(super) fn over_time(outcome: &Outcome) -> Vec<Chart> {
    let series = &outcome.series.0;
    let ended: u64 = series.iter().map(|interval| interval.ended).sum();
    if ended == 0 {
        return Vec::new();
    }
    let phases = Phase::all(outcome);
    let seconds = series.len() as f64 * INTERVAL_NS as f64 / 1e9;
    let ends = phases.iter().map(|phase| phase.ends).fold(seconds, f64::max);
    let each_least = if (ended as f64) < REQUESTS_LEAST * series.len() as f64 { 10 } else { 1 };
    let thinned = Thinned::new(series, STRETCHES_MOST, each_least);
    let mut charts = vec![throughput(outcome, &thinned, &phases, ends)];
    charts.extend(latencies(&thinned, &phases, ends));
    charts.extend(Heat::new(series, ends, &phases).map(Heat::chart));
    charts
}

fn throughput(outcome: &Outcome, thinned: &Thinned, phases: &[Phase], ends: f64) -> Chart {
    let a_second = 1e9 / INTERVAL_NS as f64;
    let rate = |count: u64, intervals: usize| rounded(count as f64 / intervals as f64 * a_second);
    let all = &thinned.stretches;
    let range = (thinned.each > 1).then(|| {
        all.iter().map(|stretch| (stretch.least as f64 * a_second, stretch.most as f64 * a_second)).collect()
    });
    let data = Throughput {
        step: thinned.step(),
        ends,
        phases,
        ended: all.iter().map(|stretch| rate(stretch.sum.ended, stretch.intervals)).collect(),
        failed: all.iter().map(|stretch| rate(stretch.sum.failed, stretch.intervals)).collect(),
        range,
    };
    let bottom = if data.range.is_some() {
        "The band reaches from the least to the most of the tenths of a second in it; where it falls to the bottom, nothing was answered for \
         one of them."
    } else {
        "Where the line falls to the bottom, nothing was answered."
    };
    let caption = format!(
        "Requests that ended, a second, for each {}. {bottom}{} Shaded phases are not counted.",
        thinned.step_said(),
        offered(outcome)
    );
    Chart::new("throughput", "Requests a second over time".into(), caption, &data)
}

/// What the line of what was offered is, where iterations are not requests.
fn offered(outcome: &Outcome) -> String {
    let each = outcome.scenario.requests_an_iteration();
    if outcome.is_closed || each == 1.0 {
        return String::new();
    }
    let each = if each == each.round() {
        format!("{} requests", count(each))
    } else {
        format!("{} requests on average", count(each))
    };
    format!(
        " Iterations are offered, and an iteration is {each} if none fails: the dotted line is those requests, a second."
    )
}

fn latencies(thinned: &Thinned, phases: &[Phase], ends: f64) -> Option<Chart> {
    let each = |of: fn(&Interval) -> u64| -> Vec<Option<f64>> {
        let values = thinned.stretches.iter().map(|stretch| of(&stretch.sum));
        values.map(|ns| (ns > 0).then(|| rounded(ns as f64))).collect()
    };
    let data = Latencies {
        step: thinned.step(),
        ends,
        phases,
        p50: each(|interval| interval.quantile_ns(0.5)),
        p99: each(|interval| interval.quantile_ns(0.99)),
        max: each(|interval| interval.max_ns),
    };
    data.max.iter().any(Option::is_some).then(|| {
        let caption = format!(
            "Response times of what ended in each {}, failures excluded. P50 and P99 are known to half an octave here; the table has them \
             exactly. What waits for a service that stands still ends when it goes on, so a stall is a gap with a peak after it.",
            thinned.step_said()
        );
        Chart::new("latencies", "Latencies over time".into(), caption, &data)
    })
}
