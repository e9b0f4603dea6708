//! A commit on its way from its writer to the live thread.

use super::capture::Captured;
use crate::engine::log::LogState;

/// A commit, as the live thread gets it.
#[derive(Default)]
pub(crate) struct Commit {
    /// Its number, which the inbox sets. Commits and the live thread's snapshots share one series: later ones are greater.
    pub(crate) version: u64,
    /// `None` if nothing was watched when the transaction began.
    pub(crate) captured: Option<Captured>,
    /// The state of the log before the commit, and after it, if it is known.
    pub(crate) before: Option<LogState>,
    pub(crate) after: Option<LogState>,
}

impl Commit {
    /// Whether this commit and the next, which changes nothing that is watched, may count as one: there was no other
    /// commit between them.
    pub(super) fn is_one_with(&self, next: &Commit) -> bool {
        is_same_commit(self.after, next.before)
    }
}

/// Whether both states are known and nothing was committed between them.
pub(super) fn is_same_commit(one: Option<LogState>, other: Option<LogState>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one.is_same_commit(other))
}
