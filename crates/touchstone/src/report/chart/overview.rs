//! The charts of a whole suite: claims beside what was published, and growth by the number of tables.

use super::{Chart, rounded};
use crate::estimate::CaseStatistics;
use crate::plan::PlannedCase;
use crate::report::Findings;
use crate::report::view::SuiteView;
use crate::verdict::ClaimStatus;
use serde::Serialize;
use std::collections::BTreeMap;
use touchstone_protocol::Verb;

#[derive(Serialize)]
struct Claims<'a> {
    rows: Vec<ClaimRow<'a>>,
}

#[derive(Serialize)]
struct ClaimRow<'a> {
    statement: &'a str,
    status: String,
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    published: Option<f64>,
    figure: String,
}

/// The claims whose first test is a ratio that was measured.
pub(in crate::report) fn claims(findings: &Findings<'_>, suite: &SuiteView) -> Option<Chart> {
    let outcomes = findings.judgement.claims.iter().filter(|claim| claim.suite == suite.name);
    let rows: Vec<ClaimRow<'_>> = outcomes
        .zip(&suite.claims)
        .filter_map(|(claim, view)| {
            let (test, words) = (claim.tests.first()?, view.tests.first()?);
            let value = test.value.filter(|value| test.unit == "x" && *value > 0.0 && value.is_finite())?;
            Some(ClaimRow {
                statement: &claim.statement,
                status: if test.status == ClaimStatus::Untested { claim.status } else { test.status }
                    .to_string(),
                value,
                low: test.low,
                high: test.high,
                at_least: test.at_least,
                at_most: test.at_most,
                published: claim.published_value,
                figure: words.found(),
            })
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let caption = "Claims that are ratios. Dot and line: the figure found here with its interval. Diamond: the \
         published figure. Shaded: where the claim holds. Of several tests the first is drawn.";
    Some(Chart::new(
        "claims",
        format!("Claims of {}: published and here", suite.name),
        caption.into(),
        &Claims { rows },
    ))
}

#[derive(Serialize)]
struct Scaling<'a> {
    baseline: &'a str,
    arms: Vec<ScalingArm<'a>>,
}

#[derive(Serialize)]
struct ScalingArm<'a> {
    arm: &'a str,
    points: Vec<ScalingPoint>,
}

#[derive(Serialize)]
struct ScalingPoint {
    tables: u32,
    ns: f64,
    launches: Vec<f64>,
}

/// The cases of a suite in which every arm only opens databases, by the number of tables.
pub(in crate::report) fn scaling(findings: &Findings<'_>, suite: &str) -> Option<Chart> {
    let opens = |case: &(&PlannedCase, &CaseStatistics)| {
        case.0.suite() == suite
            && case.0.arms.iter().flat_map(|arm| &arm.lanes).all(|lane| lane.verb == Verb::Open)
    };
    let cases = findings.record.plan.cases.iter().zip(findings.statistics);
    let cases: Vec<(&PlannedCase, &CaseStatistics)> = cases.filter(opens).collect();
    let mut arms: Vec<(&str, BTreeMap<u32, ScalingPoint>)> = Vec::new();
    for (case, statistics) in &cases {
        for planned in case.arms.iter().filter(|arm| !arm.canary) {
            let Some(measured) = statistics.arms.iter().find(|measured| measured.arm == planned.name) else {
                continue;
            };
            let Some(ns) = measured.operation_ns else { continue };
            let launches = measured.launches.iter().map(|value| rounded(value.operation_ns)).collect();
            let point = ScalingPoint { tables: case.tables, ns: rounded(ns), launches };
            let place = arms.iter().position(|(known, _)| *known == planned.name).unwrap_or_else(|| {
                arms.push((&planned.name, BTreeMap::new()));
                arms.len() - 1
            });
            arms[place].1.insert(case.tables, point);
        }
    }
    if !arms.iter().any(|(_, points)| points.len() > 1) {
        return None;
    }
    let caption = "A small dot is a launch, the line joins the median launches. Both axes are logarithmic: a cost in \
         proportion to the tables rises by one decade for each decade.";
    let baseline = cases.first().map_or("", |(case, _)| case.baseline.as_str());
    let arms = arms
        .into_iter()
        .map(|(arm, points)| ScalingArm { arm, points: points.into_values().collect() })
        .collect();
    let label = format!("Opening by number of tables in {suite}");
    Some(Chart::new("scaling", label, caption.into(), &Scaling { baseline, arms }))
}
