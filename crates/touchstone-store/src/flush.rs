//! Flushes of the log that commits share: while one flush is under way, those who come wait, and the next flush is for
//! all of them.

use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Condvar, Mutex, lock};

/// The flushes of a store.
#[derive(Default)]
pub(crate) struct Flushes {
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Default)]
struct State {
    /// Commits so far.
    committed: u64,
    /// Commits that a flush has reached.
    flushed: u64,
    under_way: bool,
    /// A flush failed: what the disk holds is not known any more.
    failed: Option<String>,
    /// Flushes so far.
    count: u64,
}

impl Flushes {
    /// Notes a commit, in the order of commits; its number is what [`reach`](Flushes::reach) takes.
    pub(crate) fn committed(&self) -> u64 {
        let mut state = lock(&self.state);
        state.committed += 1;
        state.committed
    }

    /// How many commits there were.
    #[cfg(all(test, shuttle))]
    pub(crate) fn commits(&self) -> u64 {
        lock(&self.state).committed
    }

    /// How many flushes there were.
    pub(crate) fn count(&self) -> u64 {
        lock(&self.state).count
    }

    /// Whether what was committed can still be made durable.
    ///
    /// # Errors
    /// When a flush failed: from then on always.
    pub(crate) fn check(&self) -> Result<()> {
        lock(&self.state).failed.as_ref().map_or(Ok(()), |why| {
            Err(Error::new(ErrorKind::Io, format!("{why} (nothing more is committed; reopen the store)")))
        })
    }

    /// Returns when a flush that began after that commit has ended. Whoever finds none under way does it, with
    /// `flush`, for everybody who has committed by then.
    ///
    /// # Errors
    /// When a flush failed before one reached the commit: from then on for every commit.
    pub(crate) fn reach(&self, commit: u64, flush: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut state = lock(&self.state);
        loop {
            if state.flushed >= commit {
                return Ok(());
            }
            if let Some(why) = &state.failed {
                return Err(lost(why));
            }
            if !state.under_way {
                break;
            }
            state = self.bell.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        let reached = state.committed;
        state.under_way = true;
        drop(state);
        let result = flush();
        let mut state = lock(&self.state);
        state.under_way = false;
        state.count += 1;
        match result {
            Ok(()) => state.flushed = reached,
            Err(error) => state.failed = Some(error.to_string()),
        }
        let failed = state.failed.clone();
        drop(state);
        self.bell.notify_all();
        failed.map_or(Ok(()), |why| Err(lost(&why)))
    }
}

#[cold]
fn lost(why: &str) -> Error {
    Error::new(ErrorKind::Io, format!("{why} (the commit may be lost; reopen the store)"))
}
