//! The charts of a suite's growth, by the number of tables, records and the like.

use super::{Chart, rounded};
use crate::estimate::CaseStatistics;
use crate::plan::PlannedCase;
use crate::report::Findings;
use serde::Serialize;
use std::collections::BTreeMap;
use touchstone_protocol::Verb;

#[derive(Serialize)]
struct Scaling<'a> {
    baseline: &'a str,
    /// All contenders of the charts that stand together: each looks the same in all of them.
    known: Vec<&'a str>,
    /// What there are more and more of.
    counted: String,
    arms: Vec<ScalingArm<'a>>,
}

#[derive(Serialize)]
struct ScalingArm<'a> {
    arm: &'a str,
    points: Vec<ScalingPoint>,
}

#[derive(Serialize)]
struct ScalingPoint {
    /// How many of what is counted.
    at: u64,
    ns: f64,
    launches: Vec<f64>,
}

type Case<'a> = (&'a PlannedCase, &'a CaseStatistics);

impl<'a> Scaling<'a> {
    /// Every arm's time by what is counted of each case; none where no arm has two points to join.
    fn of(
        cases: &[Case<'a>],
        known: &[&'a str],
        counted: String,
        at: impl Fn(&PlannedCase) -> u64,
    ) -> Option<Scaling<'a>> {
        let mut arms: Vec<(&str, BTreeMap<u64, ScalingPoint>)> = Vec::new();
        for (case, statistics) in cases {
            for planned in case.arms.iter().filter(|arm| !arm.canary) {
                let measured = statistics.arms.iter().find(|measured| measured.arm == planned.name);
                let Some((measured, ns)) = measured.and_then(|arm| Some((arm, arm.operation_ns?))) else {
                    continue;
                };
                let launches = measured.launches.iter().map(|value| rounded(value.operation_ns)).collect();
                let point = ScalingPoint { at: at(case), ns: rounded(ns), launches };
                let place = arms.iter().position(|(known, _)| *known == planned.name).unwrap_or_else(|| {
                    arms.push((&planned.name, BTreeMap::new()));
                    arms.len() - 1
                });
                arms[place].1.insert(at(case), point);
            }
        }
        let arm = |(arm, points): (&'a str, BTreeMap<u64, ScalingPoint>)| ScalingArm {
            arm,
            points: points.into_values().collect(),
        };
        let joined = arms.iter().any(|(_, points)| points.len() > 1);
        let baseline = cases.first().map_or("", |(case, _)| case.baseline.as_str());
        let (known, arms) = (known.to_vec(), arms.into_iter().map(arm).collect());
        joined.then_some(Scaling { baseline, known, counted, arms })
    }
}

fn cases_of<'a>(findings: &Findings<'a>, suite: &str) -> Vec<Case<'a>> {
    let cases = findings.record.plan.cases.iter().zip(findings.statistics);
    cases.filter(|(case, _)| case.suite() == suite).collect()
}

/// The contenders of cases, each once.
fn contenders<'a>(cases: &[Case<'a>]) -> Vec<&'a str> {
    let mut known: Vec<&str> = Vec::new();
    for arm in cases.iter().flat_map(|(case, _)| &case.arms) {
        if !known.contains(&arm.name.as_str()) {
            known.push(&arm.name);
        }
    }
    known
}

/// The cases of a suite in which every arm only opens databases, by the number of tables.
pub(in crate::report) fn scaling(findings: &Findings<'_>, suite: &str) -> Option<Chart> {
    let mut cases = cases_of(findings, suite);
    cases.retain(|(case, _)| case.arms.iter().flat_map(|arm| &arm.lanes).all(|lane| lane.verb == Verb::Open));
    let data = Scaling::of(&cases, &contenders(&cases), "tables".into(), |case| u64::from(case.tables))?;
    let caption = "A small dot is a launch, the line joins the median launches. Both axes are logarithmic: a cost in \
         proportion to the tables rises by one decade for each decade.";
    Some(Chart::new("scaling", format!("Opening by number of tables in {suite}"), caption.into(), &data))
}

/// One chart for each case of a suite that has scales: the time of one record, or of one transaction, by how many there
/// are of what is scaled.
pub(in crate::report) fn scales(findings: &Findings<'_>, suite: &str) -> Vec<Chart> {
    let mut cases = cases_of(findings, suite);
    cases.retain(|(case, _)| case.scale_of.is_some());
    let known = contenders(&cases);
    let mut names: Vec<&str> = Vec::new();
    for name in cases.iter().filter_map(|(case, _)| case.scale_of.as_deref()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let chart = |name: &str| {
        let mut scales = cases.clone();
        scales.retain(|(case, _)| case.scale_of.as_deref() == Some(name));
        let (first, _) = scales.first()?;
        let (title, counted) = (&first.title, first.scaled.to_string());
        let label = format!("Time by the number of {counted} in {suite}/{name}");
        let data = Scaling::of(&scales, &known, counted, |case| case.scale.unwrap_or(case.dataset.records))?;
        Some(Chart::new("scales", label, format!("{name}: {title}."), &data))
    };
    names.into_iter().filter_map(chart).collect()
}
