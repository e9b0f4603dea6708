//! The charts of one case.

use super::{Chart, rounded};
use crate::estimate::ArmStatistics;
use crate::report::format;
use crate::report::view::{ArmView, CaseView};
use crate::statistics::P_LOOK;
use serde::Serialize;

pub(super) type Arms<'a> = [(&'a ArmView, &'a ArmStatistics)];

#[derive(Serialize)]
struct Forest<'a> {
    baseline: &'a str,
    margin: f64,
    rows: Vec<ForestRow<'a>>,
}

#[derive(Serialize)]
struct ForestRow<'a> {
    arm: &'a str,
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// The figure with its interval, as in the table.
    figure: String,
    /// The verdict's word.
    word: String,
    other_class: Option<String>,
}

pub(super) fn forest(case: &CaseView, arms: &Arms<'_>) -> Option<Chart> {
    let run: Vec<&ArmView> = arms.iter().map(|(arm, _)| *arm).filter(|arm| arm.launches > 0).collect();
    if !run.iter().any(|arm| arm.ratio.is_some()) {
        return None;
    }
    let rows = run
        .iter()
        .map(|arm| ForestRow {
            arm: &arm.name,
            value: arm.ratio.map(|ratio| ratio.value),
            low: arm.ratio.and_then(|ratio| ratio.low),
            high: arm.ratio.and_then(|ratio| ratio.high),
            figure: arm.ratio_said().unwrap_or_default(),
            word: arm.word(),
            other_class: arm.other_class().then(|| arm.class.to_string()),
        })
        .collect();
    let hollow = if run.iter().any(|arm| arm.other_class()) {
        " Hollow: another durability class, named in brackets, and not ranked."
    } else {
        ""
    };
    let margins = || run.iter().filter(|arm| arm.ratio.is_some()).map(|arm| arm.margin);
    let (margin, widest) = (margins().fold(f64::INFINITY, f64::min), margins().fold(case.margin, f64::max));
    let wider = if widest > margin {
        format!(", {} of contenders that wait for the disk", format::percent_chosen(widest))
    } else {
        String::new()
    };
    let caption = format!(
        "Rate over that of {}; right of 1 is better. Lines are {} intervals over launches; inside the grey \
         band, {} either way{wider}, a difference does not matter.{hollow}",
        case.baseline,
        format::percent(1.0 - P_LOOK),
        format::percent_chosen(margin)
    );
    let data = Forest { baseline: &case.baseline, margin, rows };
    Some(Chart::new("forest", format!("Ratios of rates in {}", case.id), caption, &data))
}

#[derive(Serialize)]
struct Hits<'a> {
    rows: Vec<HitsRow<'a>>,
}

#[derive(Serialize)]
struct HitsRow<'a> {
    arm: &'a str,
    /// Both in percent of the gets.
    hits: f64,
    best: f64,
    /// The figures, as in the table.
    figure: String,
}

/// How many gets find their page, where it is known how many could.
pub(super) fn hits(case: &CaseView, arms: &Arms<'_>) -> Option<Chart> {
    let row = |(arm, measured): &(&'_ ArmView, &ArmStatistics)| {
        let (hits, best) = (measured.hit_percent()?, measured.best_hit_percent()?);
        Some((arm.name.clone(), hits, best))
    };
    let found: Vec<(String, f64, f64)> = arms.iter().filter_map(row).collect();
    if found.is_empty() {
        return None;
    }
    let rows = found.iter().map(|(arm, hits, best)| HitsRow {
        arm,
        hits: rounded(*hits),
        best: rounded(*best),
        figure: format!("{hits:.2} % of {best:.2} %"),
    });
    let caption = "Gets that found their page in the pool, in percent. The stroke is the best that any pool of as many pages could do \
                   that knows what comes (Belady). The same on every machine.";
    let data = Hits { rows: rows.collect() };
    Some(Chart::new("hits", format!("Hits in {}", case.id), caption.into(), &data))
}

/// What the axis of a time is called: that of a launch, and that of a single operation. Of a service a launch tells the pace of answers,
/// and a latency is the response time of a request.
fn times(case: &CaseView) -> [&'static str; 2] {
    if case.load.is_some() {
        ["time from answer to answer", "response time of one request"]
    } else {
        ["time of one operation", "time of one operation"]
    }
}

#[derive(Serialize)]
struct Launches<'a> {
    /// What the axis is called.
    time: &'static str,
    arms: Vec<&'a str>,
    points: Vec<(usize, usize, f64)>,
    medians: Vec<Option<f64>>,
    /// The medians of both groups, of an arm whose launches are of two kinds.
    kinds: Vec<Option<(f64, f64)>>,
}

/// Points are (arm by place, launch, ns).
pub(super) fn launches(case: &CaseView, arms: &Arms<'_>) -> Option<Chart> {
    let with: Vec<_> = arms.iter().filter(|(_, measured)| !measured.launches.is_empty()).collect();
    if with.is_empty() {
        return None;
    }
    let points = with.iter().enumerate().flat_map(|(place, (_, measured))| {
        measured.launches.iter().map(move |value| (place, value.launch, rounded(value.operation_ns)))
    });
    let data = Launches {
        time: times(case)[0],
        arms: with.iter().map(|(arm, _)| arm.name.as_str()).collect(),
        points: points.collect(),
        medians: with.iter().map(|(_, measured)| measured.operation_ns).collect(),
        kinds: with
            .iter()
            .map(|(_, measured)| measured.kinds.map(|kinds| (rounded(kinds.low), rounded(kinds.high))))
            .collect(),
    };
    let of_two_kinds = if data.kinds.iter().any(Option::is_some) {
        " Where launches are of two kinds, two dashed strokes are the medians of the two groups, and that of all lies where \
         no launch may be."
    } else {
        ""
    };
    let caption = format!(
        "A dot is a launch, the first at the top of its strip, the last at the bottom; the stroke is the median \
         launch. Drift and groups tell of the machine.{of_two_kinds}"
    );
    Some(Chart::new("launches", format!("Time per launch in {}", case.id), caption, &data))
}

#[derive(Serialize)]
struct Latency<'a> {
    /// What the axis is called.
    time: &'static str,
    baseline: &'a str,
    arms: Vec<LatencyArm<'a>>,
}

#[derive(Serialize)]
struct LatencyArm<'a> {
    arm: &'a str,
    operations: u64,
    /// (percentile, ns)
    curve: Vec<(f64, u64)>,
}

pub(super) fn latency(case: &CaseView, arms: &Arms<'_>) -> Option<Chart> {
    let arms: Vec<LatencyArm<'_>> = arms
        .iter()
        .filter_map(|(arm, measured)| {
            let latency = measured.latency.as_ref()?;
            let curve = latency.curve.iter().map(|point| (point.percentile, point.latency_ns)).collect();
            Some(LatencyArm { arm: &arm.name, operations: latency.operations, curve })
        })
        .collect();
    if arms.is_empty() {
        return None;
    }
    let caption = "How long single operations took. At p99 one operation in a hundred takes longer than the curve \
         says, at p99.9 one in a thousand; a curve that turns up at the right has stalls.";
    let data = Latency { time: times(case)[1], baseline: &case.baseline, arms };
    Some(Chart::new("latency", format!("Latency percentiles in {}", case.id), caption.into(), &data))
}

#[derive(Serialize)]
struct Stalls<'a> {
    arms: Vec<StallsArm<'a>>,
}

#[derive(Serialize)]
struct StallsArm<'a> {
    arm: &'a str,
    /// (operation, ns)
    points: Vec<(u64, f64)>,
    /// The longest, in words.
    longest: String,
}

/// Writes stall; what a read waits for stands in its percentiles.
pub(super) fn stalls(case: &CaseView, arms: &Arms<'_>, points_most: usize) -> Option<Chart> {
    if !case.writes {
        return None;
    }
    let arms: Vec<StallsArm<'_>> = arms
        .iter()
        .filter(|(_, measured)| !measured.timeline.is_empty())
        .map(|(arm, measured)| {
            let longest = measured.timeline.iter().map(|(_, ns)| *ns).max().unwrap_or_default();
            StallsArm {
                arm: &arm.name,
                points: thinned(&measured.timeline, points_most),
                longest: format!("longest {}", format::duration(longest as f64)),
            }
        })
        .collect();
    if arms.is_empty() {
        return None;
    }
    let caption = "The first launch, operation by operation, each stretch by its slowest; peaks are stalls, and with a \
         write-ahead log mostly its checkpoints. All strips share one logarithmic axis.";
    Some(Chart::new("stalls", format!("Stalls over time in {}", case.id), caption.into(), &Stalls { arms }))
}

/// At most `most` points, each the slowest of its stretch.
fn thinned(timeline: &[(u64, u64)], most: usize) -> Vec<(u64, f64)> {
    let stretch = timeline.len().div_ceil(most.max(1)).max(1);
    timeline
        .chunks(stretch)
        .filter_map(|stretch| stretch.iter().max_by_key(|(_, ns)| *ns))
        .map(|(operation, ns)| (*operation, rounded(*ns as f64)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::thinned;

    #[test]
    fn a_thinned_timeline_keeps_its_slowest_operation() {
        let timeline: Vec<(u64, u64)> =
            (0..1_000).map(|operation| (operation, 10 + operation * 7_919 % 97)).collect();
        let thin = thinned(&timeline, 50);
        assert!(thin.len() <= 50);
        assert!(thin.is_sorted_by_key(|(operation, _)| *operation));
        let slowest = timeline.iter().map(|(_, ns)| *ns).max().unwrap() as f64;
        assert!(thin.iter().any(|(_, ns)| *ns == slowest));
    }
}
