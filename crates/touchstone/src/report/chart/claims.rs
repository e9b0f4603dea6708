//! The chart of a suite's claims: what was found here beside what was published, over the ranges that hold.

use super::Chart;
use crate::report::Findings;
use crate::report::view::{ClaimGroup, ClaimView, PairView, SuiteView};
use crate::suite::Aspect;
use crate::verdict::{ClaimOutcome, PairOutcome, TestOutcome};
use serde::Serialize;

#[derive(Serialize)]
struct Claims<'a> {
    rows: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    statement: &'a str,
    /// The figure that bounds follow from.
    published: Option<f64>,
    /// Those of other devices and sizes.
    beside: Vec<f64>,
    /// Where the claim holds, and where in size too.
    direction: Option<Range>,
    size: Option<Range>,
    /// The first decides.
    pairs: Vec<Pair>,
}

#[derive(Serialize)]
struct Range {
    at_least: Option<f64>,
    at_most: Option<f64>,
}

#[derive(Serialize)]
struct Pair {
    status: String,
    outcome: String,
    figure: String,
    marks: Vec<Mark>,
}

/// A figure with its interval. Most pairs have one; of steps between scales, direction and size have each their own.
#[derive(PartialEq, Serialize)]
struct Mark {
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
}

/// The claims of a group of which a ratio decides.
pub(in crate::report) fn claims(
    findings: &Findings<'_>,
    suite: &SuiteView,
    group: &ClaimGroup,
) -> Option<Chart> {
    let mine = |claim: &&ClaimOutcome| claim.suite == suite.name && claim.by == group.by;
    let outcomes = findings.judgement.claims.iter().filter(mine);
    let rows: Vec<Row<'_>> =
        outcomes.zip(&group.claims).filter_map(|(claim, view)| row(claim, view)).collect();
    if rows.is_empty() {
        return None;
    }
    let caption = "Claims that are ratios. Dot and line: the figure found here with its interval; the smaller ones beneath \
         are of the other pairs, in the order of the table. Diamond: the published figure; small diamonds: those of other \
         devices or sizes. Shaded: where the claim holds; the stronger shade: where it holds in size too. Of several \
         tests the one that decides is drawn.";
    Some(Chart::new(
        "claims",
        format!("{} of {}: published and here", group.title, suite.name),
        caption.into(),
        &Claims { rows },
    ))
}

fn row<'a>(claim: &'a ClaimOutcome, view: &ClaimView) -> Option<Row<'a>> {
    let pairs: Vec<Pair> =
        claim.pairs.iter().zip(&view.pairs).filter_map(|(pair, view)| drawn(pair, view)).collect();
    let first = claim.pairs.first()?;
    deciding(first).find_map(mark)?;
    let range = |of_size: bool| {
        let asked = deciding(first).find(|test| (test.aspect == Some(Aspect::Size)) == of_size)?;
        Some(Range { at_least: asked.at_least, at_most: asked.at_most })
    };
    let mut ratios = claim.figures.iter().map(|figure| figure.ratio.filter(|ratio| is_drawable(*ratio)));
    Some(Row {
        statement: &claim.statement,
        published: ratios.next().flatten(),
        beside: ratios.flatten().collect(),
        direction: range(false),
        size: range(true),
        pairs,
    })
}

fn drawn(pair: &PairOutcome, view: &PairView) -> Option<Pair> {
    let mut marks: Vec<Mark> = Vec::new();
    for found in deciding(pair).filter_map(mark) {
        if !marks.contains(&found) {
            marks.push(found);
        }
    }
    (!marks.is_empty()).then(|| Pair {
        status: pair.status.to_string(),
        outcome: view.outcome(),
        figure: view.deciding_figure(),
        marks,
    })
}

/// Direction and size of the test whose status is the pair's.
fn deciding(pair: &PairOutcome) -> impl Iterator<Item = &TestOutcome> {
    let decides = |test: &&TestOutcome| test.aspect != Some(Aspect::Size) && test.status == pair.status;
    let what = pair.tests.iter().find(decides).map(|test| test.what.as_str());
    pair.tests.iter().filter(move |test| Some(test.what.as_str()) == what)
}

fn mark(test: &TestOutcome) -> Option<Mark> {
    let value = test.value.filter(|value| test.unit == "x" && is_drawable(*value))?;
    Some(Mark { value, low: test.low, high: test.high })
}

/// The axis is logarithmic.
fn is_drawable(ratio: f64) -> bool {
    ratio > 0.0 && ratio.is_finite()
}
