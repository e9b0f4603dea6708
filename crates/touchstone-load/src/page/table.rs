//! The table in the layout of published load reports, and the limits beneath it.

use crate::limit::{Figures, Limits};
use crate::outcome::{Outcome, RowOutcome, SETUP};
use crate::report::{count, duration, share, waiting};

/// What stands above the columns, after the request's own.
pub(super) const HEADS: [&str; 10] = [
    "Requests",
    "Failures",
    "Failure rate",
    "Average RT",
    "P50",
    "P95",
    "P99",
    "P99.9",
    "Max",
    "Requests a second",
];
/// The place of the failure rate.
const FAILURE_RATE: usize = 2;

/// What was counted of a request, in words.
pub(super) struct Row {
    /// The request.
    pub label: String,
    /// In the order of the heads, each with its class.
    pub cells: Vec<(&'static str, String)>,
}

/// All requests.
pub(super) struct Table {
    /// Those of the counted phases.
    pub rows: Vec<Row>,
    /// All of these.
    pub total: Row,
    /// Those that set users up.
    pub setup: Vec<Row>,
    /// From when times are counted, and other things to know.
    pub notes: Vec<String>,
}

impl Table {
    pub(super) fn new(outcome: &Outcome) -> Table {
        let seconds = outcome.counted_seconds();
        let rows = outcome.by_request();
        let setup = outcome.rows.iter().filter(|row| row.phase == SETUP);
        Table {
            rows: rows.iter().map(|row| Row::new(row.label.clone(), row, Some(seconds))).collect(),
            total: Row::new("Total".into(), &outcome.total(), Some(seconds)),
            setup: setup.map(|row| Row::new(row.label.clone(), row, None)).collect(),
            notes: notes(outcome),
        }
    }

    /// What stands above the columns.
    pub(super) fn heads(&self) -> [&'static str; 10] {
        HEADS
    }
}

impl Row {
    fn new(label: String, row: &RowOutcome, seconds: Option<f64>) -> Row {
        let quantile = |quantile| duration(row.response.quantile_ns(quantile) as f64);
        let rate = seconds.and_then(|seconds| row.rate(seconds));
        let texts = [
            count(row.ended() as f64),
            count(row.failed() as f64),
            share(row.failed_share()),
            duration(row.response.mean_ns()),
            quantile(0.5),
            quantile(0.95),
            quantile(0.99),
            quantile(0.999),
            duration(row.response.max_ns() as f64),
            rate.map_or("–".into(), |rate| count(if rate < 100.0 { rate } else { rate.round() })),
        ];
        let class = |at| {
            let is_wrong = row.failed() > 0 && (1..=FAILURE_RATE).contains(&at);
            if is_wrong { "number wrong" } else { "number" }
        };
        Row { label, cells: texts.into_iter().enumerate().map(|(at, text)| (class(at), text)).collect() }
    }
}

fn notes(outcome: &Outcome) -> Vec<String> {
    let all = outcome.total();
    let mut notes = vec![if outcome.is_closed {
        "Times count from the moment at which a user was ready to ask, to the end of the answer. In a closed loop a slow service is \
         asked less often, so its stalls are in few requests: an open loop shows what independent users would have waited."
            .to_owned()
    } else {
        "Times count from the intended start of a request, which was known before the run, to the end of its answer: what waits behind \
         a stall has waited."
            .to_owned()
    }];
    if outcome.is_closed {
        notes.extend(waiting(outcome, &all).map(|waiting| {
            format!(
                "Little's law: rate times average is {waiting:.2}, the users that waited for an answer at a time, of {}.",
                count(f64::from(outcome.users))
            )
        }));
    } else if outcome.unsent > 0 {
        notes.push(format!(
            "Backlog: {} of {} starts were due and had not begun when the run ended; they are counted as failed.",
            count(outcome.unsent as f64),
            count(outcome.due as f64)
        ));
    }
    if outcome.scenario.has_deliveries() {
        notes.push(
            "A delivery is a row of its own: from the same start as its request, to the event that tells of it on the last of the user's \
             streams. It counts in the total as a request does."
                .to_owned(),
        );
    }
    notes
}

/// A limit, and what was found.
pub(super) struct LimitRow {
    /// As it was written.
    pub limit: String,
    /// The figure.
    pub found: String,
    /// Whether it holds.
    pub holds: bool,
}

/// The limits of a scenario, if it has any, with the one that they imply.
pub(super) fn limits(outcome: &Outcome) -> Vec<LimitRow> {
    let limits = outcome.limits().map(Limits::with_failures);
    held_against(outcome, &limits.unwrap_or_default())
}

/// Limits, held against an outcome.
pub(super) fn held_against(outcome: &Outcome, limits: &Limits) -> Vec<LimitRow> {
    let all = outcome.total();
    let rows = limits.0.iter().map(|limit| {
        let (found, holds) = limit.holds(&all);
        LimitRow { limit: limit.to_string(), found: limit.said(found), holds }
    });
    rows.collect()
}
