//! Statuses, and failures by kind with what was wrong first. The texts are the service's own, and are shown as texts.

use crate::failure::Failure;
use crate::outcome::{Outcome, SETUP};
use crate::report::{count, share};

/// Letters of a wrong answer that are shown.
const WRONG_LETTERS_MOST: usize = 600;

/// How often a request was answered with which status.
pub(super) struct Statuses {
    /// The request.
    pub label: String,
    /// Whether it set users up.
    pub is_setup: bool,
    /// The statuses, with their counts.
    pub counts: Vec<(u16, String)>,
}

/// The failures of one kind.
pub(super) struct Failed {
    /// The kind.
    pub kind: String,
    /// The request.
    pub label: String,
    /// Its phase.
    pub phase: String,
    /// How many.
    pub count: String,
    /// The share of the request's.
    pub share: String,
    /// What was wrong with the first.
    pub first: Option<String>,
}

/// By request, of the counted phases and of the setup.
pub(super) fn statuses(outcome: &Outcome) -> Vec<Statuses> {
    let setup = outcome.rows.iter().filter(|row| row.phase == SETUP).cloned();
    let rows = setup.chain(outcome.by_request()).filter(|row| !row.statuses.is_empty());
    rows.map(|row| Statuses {
        is_setup: row.phase == SETUP,
        counts: row.statuses.iter().map(|(status, times)| (*status, count(*times as f64))).collect(),
        label: row.label,
    })
    .collect()
}

/// By request, phase and kind; the uncounted phases too, for a warm-up that fails is worth knowing.
pub(super) fn failures(outcome: &Outcome) -> Vec<Failed> {
    let each = outcome.rows.iter().flat_map(|row| {
        row.failures.iter().map(move |(kind, times)| Failed {
            kind: kind.to_string(),
            label: row.label.clone(),
            phase: row.phase.clone(),
            count: count(*times as f64),
            share: share(*times as f64 / row.ended().max(1) as f64),
            first: row.first_wrong.get(kind).and_then(|wrong| first(*kind, wrong)),
        })
    });
    each.collect()
}

/// What was wrong, where it says more than its kind.
fn first(kind: Failure, wrong: &str) -> Option<String> {
    if wrong == kind.to_string() {
        return None;
    }
    match wrong.char_indices().nth(WRONG_LETTERS_MOST) {
        Some((at, _)) => Some(format!("{}…", &wrong[..at])),
        None => Some(wrong.to_owned()),
    }
}
