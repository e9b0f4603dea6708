//! The chart of a suite's claims: what was found here beside what was published, over the ranges that hold.

use super::Chart;
use crate::report::Findings;
use crate::report::prose;
use crate::report::view::{ClaimGroup, ClaimView, PairView, SuiteView};
use crate::suite::Aspect;
use crate::verdict::{ClaimOutcome, PairOutcome, TestOutcome};
use serde::Serialize;

#[derive(Serialize)]
struct Claims {
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    statement: String,
    /// The figure that is of the same as the one here.
    published: Option<f64>,
    /// Those of other devices, sizes and steps.
    beside: Vec<f64>,
    /// Where the claim holds, and where in size too.
    direction: Range,
    size: Option<Range>,
    /// The first decides.
    pairs: Vec<Mark>,
}

#[derive(Serialize)]
struct Range {
    at_least: Option<f64>,
    at_most: Option<f64>,
}

/// What a pair found: a figure with its interval.
#[derive(Serialize)]
struct Mark {
    status: String,
    outcome: String,
    figure: String,
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
}

/// The claims of a group that are one ratio.
pub(in crate::report) fn claims(
    findings: &Findings<'_>,
    suite: &SuiteView,
    group: &ClaimGroup,
) -> Option<Chart> {
    let mine = |claim: &&ClaimOutcome| claim.suite == suite.name && claim.by == group.by;
    let outcomes = findings.judgement.claims.iter().filter(mine);
    let rows: Vec<Row> = outcomes.zip(&group.claims).filter_map(|(claim, view)| row(claim, view)).collect();
    if rows.is_empty() {
        return None;
    }
    let caption = "Claims that are ratios. Dot and line: the figure found here with its interval; the smaller ones beneath \
         are of the other pairs, in the order of the table. Diamond: the published figure; small diamonds: those of other \
         devices, sizes or steps. Shaded: where the claim holds; the stronger shade: where it holds in size too.";
    Some(Chart::new(
        "claims",
        format!("{} of {}: published and here", group.title, suite.name),
        caption.into(),
        &Claims { rows },
    ))
}

fn row(claim: &ClaimOutcome, view: &ClaimView) -> Option<Row> {
    let first = claim.pairs.first()?;
    let (direction, size) = only_test(first)?;
    figure(direction)?;
    let range = |asked: &TestOutcome| Range { at_least: asked.at_least, at_most: asked.at_most };
    let mut ratios = claim.figures.iter().map(|figure| figure.ratio.filter(|ratio| is_drawable(*ratio)));
    // The least step between scales is another one here than there: no published step is of the same.
    let is_step = direction.against.is_none();
    Some(Row {
        statement: prose::plain(&claim.statement),
        published: if is_step { None } else { ratios.next().flatten() },
        beside: ratios.flatten().collect(),
        direction: range(direction),
        size: size.map(range),
        pairs: claim.pairs.iter().zip(&view.pairs).filter_map(|(pair, view)| mark(pair, view)).collect(),
    })
}

fn mark(pair: &PairOutcome, view: &PairView) -> Option<Mark> {
    let (test, _) = only_test(pair)?;
    Some(Mark {
        status: pair.status.to_string(),
        outcome: view.outcome(),
        figure: view.tests.first()?.found(),
        value: figure(test)?,
        low: test.low,
        high: test.high,
    })
}

/// The direction and the size of a pair's only test; none where it has several, of which each has a figure of its own.
fn only_test(pair: &PairOutcome) -> Option<(&TestOutcome, Option<&TestOutcome>)> {
    match pair.tests.as_slice() {
        [test] => Some((test, None)),
        [test, size] if size.aspect == Some(Aspect::Size) => Some((test, Some(size))),
        _ => None,
    }
}

fn figure(test: &TestOutcome) -> Option<f64> {
    test.value.filter(|value| test.unit == "x" && is_drawable(*value))
}

/// The axis is logarithmic.
fn is_drawable(ratio: f64) -> bool {
    ratio > 0.0 && ratio.is_finite()
}
