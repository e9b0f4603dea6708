//! The charts of a suite's curves: cases that ask one question at growing numbers of something.

use super::limits::cores;
use super::{Chart, rounded};
use crate::estimate::{ArmStatistics, CaseStatistics};
use crate::plan::PlannedCase;
use crate::report::Findings;
use crate::suite::{Curve, Shown};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Drawn<'a> {
    shows: Shown,
    along: &'a str,
    baseline: &'a str,
    /// All contenders of the suite's curves: each looks the same in all of them.
    known: Vec<&'a str>,
    arms: Vec<Line<'a>>,
    /// The best possible at each number; of hits.
    best: Vec<(u64, f64)>,
    /// Of threads, how many cores there are.
    cores: Option<usize>,
}

#[derive(Serialize)]
struct Line<'a> {
    arm: &'a str,
    points: Vec<Point>,
}

#[derive(Serialize)]
struct Point {
    at: u64,
    value: f64,
    launches: Vec<f64>,
}

type Measured<'a> = (u64, &'a PlannedCase, &'a CaseStatistics);

/// One chart for each curve of a suite of which two cases or more were run.
pub(in crate::report) fn curves(findings: &Findings<'_>, suite: &str) -> Vec<Chart> {
    let Some(planned) = findings.record.plan.suites.iter().find(|known| known.name == suite) else {
        return Vec::new();
    };
    let mut known: Vec<&str> = Vec::new();
    for curve in &planned.curves {
        for arm in measured(findings, suite, curve).iter().flat_map(|(_, case, _)| &case.arms) {
            if !known.contains(&arm.name.as_str()) {
                known.push(&arm.name);
            }
        }
    }
    planned.curves.iter().filter_map(|curve| chart(findings, suite, curve, &known)).collect()
}

fn measured<'f>(findings: &Findings<'f>, suite: &str, curve: &Curve) -> Vec<Measured<'f>> {
    let cases = || findings.record.plan.cases.iter().zip(findings.statistics);
    let at = |number: u64, name: &str| {
        let (case, statistics) = cases().find(|(case, _)| case.suite() == suite && case.name() == name)?;
        Some((number, case, statistics))
    };
    curve.points.iter().filter_map(|point| at(point.at, &point.case)).collect()
}

fn chart(findings: &Findings<'_>, suite: &str, curve: &Curve, known: &[&str]) -> Option<Chart> {
    let cases = measured(findings, suite, curve);
    let mut arms: Vec<(&str, BTreeMap<u64, Point>)> = Vec::new();
    let mut best = BTreeMap::new();
    for (at, case, statistics) in &cases {
        // What a canary finds is what the subject behind it finds; how long it takes is what it is there to show.
        let drawn =
            case.arms.iter().filter(|arm| !arm.null_arm && (!arm.canary || curve.shows == Shown::Rate));
        for arm in drawn {
            let Some(measured) = statistics.arm(&arm.name) else { continue };
            best.extend(measured.best_hit_percent().map(|percent| (*at, rounded(percent))));
            let Some((value, launches)) = shown(curve.shows, measured) else { continue };
            let place = arms.iter().position(|(name, _)| *name == arm.name).unwrap_or_else(|| {
                arms.push((&arm.name, BTreeMap::new()));
                arms.len() - 1
            });
            arms[place].1.insert(*at, Point { at: *at, value: rounded(value), launches });
        }
    }
    if !arms.iter().any(|(_, points)| points.len() > 1) {
        return None;
    }
    let data = Drawn {
        shows: curve.shows,
        along: &curve.along,
        baseline: cases.first().map_or("", |(_, case, _)| case.baseline.as_str()),
        known: known.to_vec(),
        arms: arms
            .into_iter()
            .map(|(arm, points)| Line { arm, points: points.into_values().collect() })
            .collect(),
        best: if curve.shows == Shown::Hits { best.into_iter().collect() } else { Vec::new() },
        cores: cores(&findings.record.environment).filter(|_| curve.threads),
    };
    let caption = format!("{}.{}", curve.title, reading(&data));
    Some(Chart::new("curve", format!("{} in {suite}", curve.title), caption, &data))
}

/// How the chart is read.
fn reading(data: &Drawn<'_>) -> String {
    match (data.shows, data.cores) {
        (Shown::Hits, _) if !data.best.is_empty() => {
            " The line “best possible” is what any pool could do that knows what comes (Belady).".into()
        }
        (Shown::Hits, _) => String::new(),
        (Shown::Rate, None) => " A small dot is a launch, the line joins the median launches.".into(),
        (Shown::Rate, Some(cores)) => format!(
            " A small dot is a launch, the line joins the median launches; the dashed line is where there are as many threads as cores \
             ({cores}): beyond it nothing that works on a processor can grow."
        ),
    }
}

/// The figure of an arm, and those of its launches.
fn shown(shows: Shown, measured: &ArmStatistics) -> Option<(f64, Vec<f64>)> {
    match shows {
        Shown::Hits => Some((measured.hit_percent()?, Vec::new())),
        Shown::Rate => {
            let launches =
                measured.launches.iter().map(|launch| rounded(1e9 / launch.operation_ns)).collect();
            Some((1e9 / measured.operation_ns?, launches))
        }
    }
}
