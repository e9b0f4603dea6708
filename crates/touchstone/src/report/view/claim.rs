//! A claim in words: what was published, what was found here, and by which tests.

use crate::report::format;
use crate::verdict::{ClaimOutcome, ClaimStatus, TestOutcome};

/// A claim with the test that decided it.
pub(in crate::report) struct ClaimView {
    pub status: ClaimStatus,
    pub statement: String,
    pub published: String,
    pub tests: Vec<TestView>,
}

/// One test of a claim.
pub(in crate::report) struct TestView {
    pub what: String,
    pub status: ClaimStatus,
    /// What had to be found for it to hold: `at least 2×`.
    pub bound: String,
    /// What was found: `2.75×`.
    pub here: Option<String>,
    /// The interval around it.
    pub interval: Option<String>,
    /// Why there is none, or what the plan said.
    pub note: Option<String>,
}

impl ClaimView {
    pub(super) fn new(claim: &ClaimOutcome) -> ClaimView {
        ClaimView {
            status: claim.status,
            statement: claim.statement.clone(),
            published: claim.published.clone(),
            tests: claim.tests.iter().map(TestView::new).collect(),
        }
    }

    /// The first of the tests whose status is the claim's: the one that outweighs the others.
    pub(in crate::report) fn deciding(&self) -> Option<&TestView> {
        self.tests.iter().find(|test| test.status == self.status)
    }
}

impl TestView {
    fn new(test: &TestOutcome) -> TestView {
        let show = |value: f64| figure(value, &test.unit);
        let exact = test.low == test.high && test.low.is_some();
        TestView {
            what: test.what.clone(),
            status: test.status,
            bound: match (test.at_least, test.at_most) {
                (Some(least), Some(most)) if least == most => format!("exactly {}", bound(least, &test.unit)),
                (Some(least), Some(most)) => {
                    format!("{} to {}", bound(least, &test.unit), bound(most, &test.unit))
                }
                (Some(least), None) => format!("at least {}", bound(least, &test.unit)),
                (None, Some(most)) => format!("at most {}", bound(most, &test.unit)),
                (None, None) => String::new(),
            },
            here: test.value.map(show),
            interval: test.value.filter(|_| !exact).and_then(|value| interval(value, test)),
            note: test.note.clone(),
        }
    }

    /// What was found with its interval, or why nothing was.
    pub(in crate::report) fn found(&self) -> String {
        match (&self.here, &self.interval, &self.note) {
            (Some(here), Some(interval), _) => format!("{here} ({interval})"),
            (Some(here), None, _) => here.clone(),
            (None, _, Some(note)) => note.clone(),
            (None, _, None) => format::NONE.into(),
        }
    }
}

fn figure(value: f64, unit: &str) -> String {
    match unit {
        "x" => format!("{}×", format::ratio(value)),
        "/s" => format::per_second(value),
        "ns" => format::duration(value),
        "" => format::count(value.round().max(0.0) as u64),
        unit => format!("{} {unit}", format::count(value.round().max(0.0) as u64)),
    }
}

/// The sign of a ratio stands with the figure already, not at the ends of its interval.
fn interval(value: f64, test: &TestOutcome) -> Option<String> {
    if test.unit == "x" {
        format::ratio_interval(value, test.low, test.high)
    } else {
        format::interval(test.low, test.high, |end| figure(end, &test.unit))
    }
}

/// A bound was written by hand in the suite: it is shown as written there.
fn bound(value: f64, unit: &str) -> String {
    match unit {
        "x" => format!("{value}×"),
        "/s" => format::per_second(value),
        "ns" => format::duration(value),
        _ => format!("{value}"),
    }
}
