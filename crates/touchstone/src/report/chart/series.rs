//! The charts of a case by the clock: how much was done when, and how long transactions took.

use super::single::Arms;
use super::{Chart, rounded};
use crate::estimate::{LEVELS_OF_TEN, SeriesStatistics};
use crate::report::format;
use crate::report::view::CaseView;
use serde::Serialize;

#[derive(Serialize)]
struct Pace<'a> {
    baseline: &'a str,
    arms: Vec<PaceArm<'a>>,
}

#[derive(Serialize)]
struct PaceArm<'a> {
    arm: &'a str,
    /// (seconds at the end of a stretch, transactions a second in it)
    points: Vec<(f64, f64)>,
}

/// Transactions a second in each stretch of the first launch. The last stretch, which may be shorter, is left out where there are others.
pub(super) fn pace(case: &CaseView, arms: &Arms<'_>) -> Option<Chart> {
    let arms: Vec<PaceArm<'_>> = arms
        .iter()
        .filter_map(|(arm, measured)| {
            let series = measured.series.as_ref()?;
            let seconds = series.stretch_ns as f64 / 1e9;
            let points = series.whole_stretches().iter().enumerate().map(|(place, stretch)| {
                (rounded((place + 1) as f64 * seconds), rounded(stretch.transactions as f64 / seconds))
            });
            Some(PaceArm { arm: &arm.name, points: points.collect() })
        })
        .collect();
    // One stretch is no line.
    if arms.iter().all(|arm| arm.points.len() < 2) {
        return None;
    }
    let caption = "The first launch over its time: transactions a second. What a checkpoint or a flush holds up is missing in the \
                   stretch in which it happens, and a stretch without any lies at the lower edge.";
    let data = Pace { baseline: &case.baseline, arms };
    Some(Chart::new("pace", format!("Pace over time in {}", case.id), caption.into(), &data))
}

#[derive(Serialize)]
struct Heat<'a> {
    /// How many levels are a factor of ten; level 0 ends at 100 ns.
    levels_of_ten: f64,
    arms: Vec<HeatArm<'a>>,
}

#[derive(Serialize)]
struct HeatArm<'a> {
    arm: &'a str,
    /// How many seconds a stretch lasts.
    stretch_s: f64,
    /// (stretch, level, the share of the stretch's transactions that are on it)
    cells: Vec<(usize, usize, f64)>,
    /// The longest that only read and the longest that wrote, in words.
    longest: String,
}

/// How long transactions took in each stretch of the first launch.
pub(super) fn heat(case: &CaseView, arms: &Arms<'_>) -> Option<Chart> {
    let arms: Vec<HeatArm<'_>> = arms
        .iter()
        .filter_map(|(arm, measured)| Some((&arm.name, measured.series.as_ref()?)))
        .map(|(arm, series)| HeatArm {
            arm,
            stretch_s: series.stretch_ns as f64 / 1e9,
            cells: cells(series),
            longest: longest(series),
        })
        .collect();
    if arms.is_empty() {
        return None;
    }
    let caption = "The first launch over its time: how long transactions took, the stronger the colour the more of them. A single \
                   strong band is steady; marks far above it are stalls. All strips share one logarithmic axis.";
    let data = Heat { levels_of_ten: LEVELS_OF_TEN, arms };
    Some(Chart::new("heat", format!("Latency over time in {}", case.id), caption.into(), &data))
}

fn longest(series: &SeriesStatistics) -> String {
    let told = |what: &str, ns: Option<u64>| Some(format!("{what} {}", format::duration(ns? as f64)));
    let each = [told("read", series.longest_read_ns()), told("write", series.longest_write_ns())];
    format!("longest {}", each.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn cells(series: &SeriesStatistics) -> Vec<(usize, usize, f64)> {
    let of_stretch = |(place, stretch): (usize, &crate::estimate::StretchStatistics)| {
        let all = stretch.transactions.max(1) as f64;
        let met = stretch.levels.iter().enumerate().filter(|(_, count)| **count > 0);
        met.map(|(level, count)| (place, level, rounded(*count as f64 / all))).collect::<Vec<_>>()
    };
    series.whole_stretches().iter().enumerate().flat_map(of_stretch).collect()
}
