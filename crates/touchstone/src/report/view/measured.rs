//! One measurement of a claim in words: what was found with its interval, and the bounds that were asked for.

use crate::report::format;
use crate::suite::Aspect;
use crate::verdict::{ClaimStatus, TestOutcome};

/// One measurement, and what was asked of it.
pub(in crate::report) struct TestView {
    pub what: String,
    /// The same without the arms.
    pub question: String,
    /// Direction and size, or one question.
    pub bounds: Vec<BoundView>,
    /// What was found: `2.75×`.
    pub here: Option<String>,
    /// The interval around it.
    pub interval: Option<String>,
    /// Why there is none, what the plan said, or what else is to be known of it.
    pub notes: Vec<String>,
}

/// One question about a measurement, answered.
pub(in crate::report) struct BoundView {
    pub of_size: bool,
    pub status: ClaimStatus,
    /// What had to be found: `at least 2×`; empty for a figure of another device.
    pub wanted: String,
}

impl TestView {
    pub(super) fn new(test: &TestOutcome) -> TestView {
        let exact = test.low == test.high && test.low.is_some();
        TestView {
            what: test.what.clone(),
            question: test.question.clone(),
            bounds: vec![BoundView::new(test)],
            here: test.value.map(|value| figure(value, &test.unit)),
            interval: test.value.filter(|_| !exact).and_then(|value| interval(value, test)),
            notes: test.note.clone().into_iter().collect(),
        }
    }

    /// Whether a test asks something else of the same measurement.
    pub(super) fn is_of(&self, test: &TestOutcome) -> bool {
        let other = TestView::new(test);
        test.aspect == Some(Aspect::Size)
            && (&self.what, &self.here, &self.interval) == (&other.what, &other.here, &other.interval)
    }

    pub(super) fn add(&mut self, test: &TestOutcome) {
        self.bounds.push(BoundView::new(test));
        // What is known of the direction already is not said again of the size.
        let known = self.notes.first().cloned().unwrap_or_default();
        let more = test.note.as_deref().map(|note| note.strip_prefix(&known).unwrap_or(note));
        let more = more.map(|note| note.trim_start_matches("; ")).filter(|note| !note.is_empty());
        self.notes.extend(more.map(str::to_owned));
    }

    pub(super) fn is_figure(&self) -> bool {
        self.here.is_some()
    }

    /// What was found with its interval, or why nothing was.
    pub(in crate::report) fn found(&self) -> String {
        match (&self.here, &self.interval) {
            (Some(here), Some(interval)) => format!("{here} ({interval})"),
            (Some(here), None) => here.clone(),
            (None, _) if self.notes.is_empty() => format::NONE.into(),
            (None, _) => self.notes.join("; "),
        }
    }
}

impl BoundView {
    fn new(test: &TestOutcome) -> BoundView {
        BoundView {
            of_size: test.aspect == Some(Aspect::Size),
            status: test.status,
            wanted: match (test.at_least, test.at_most) {
                (Some(least), Some(most)) if least == most => format!("exactly {}", bound(least, &test.unit)),
                (Some(least), Some(most)) => {
                    format!("{} to {}", bound(least, &test.unit), bound(most, &test.unit))
                }
                (Some(least), None) => format!("at least {}", bound(least, &test.unit)),
                (None, Some(most)) => format!("at most {}", bound(most, &test.unit)),
                (None, None) => String::new(),
            },
        }
    }
}

impl BoundView {
    /// `at least 1.92×`, with a word before it where it is the size that is asked for.
    pub(in crate::report) fn said(&self) -> String {
        if self.of_size { format!("size: {}", self.wanted) } else { self.wanted.clone() }
    }
}

fn figure(value: f64, unit: &str) -> String {
    match unit {
        "x" => format!("{}×", format::ratio(value)),
        "/s" => format::per_second(value),
        "bytes/s" => format!("{}/s", format::bytes(value)),
        "ns" => format::duration(value),
        "%" => format!("{value:.2} %"),
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

/// A bound that was chosen is shown as it was written; one that follows from a published figure has more digits than
/// anybody reads.
fn bound(value: f64, unit: &str) -> String {
    const DIGITS_WRITTEN: usize = 5;
    let written = value.to_string();
    match unit {
        "x" if written.len() > DIGITS_WRITTEN => format!("{}×", format::ratio(value)),
        "x" => format!("{written}×"),
        "/s" => format::per_second(value),
        "bytes/s" => format!("{}/s", format::bytes(value)),
        "ns" => format::duration(value),
        "%" => format!("{value:.2} %"),
        _ => written,
    }
}
