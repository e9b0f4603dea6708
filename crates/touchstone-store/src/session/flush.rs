//! Group commit: one flush of the write-ahead log (the log) for several commits. While one flush is under way, threads
//! that commit wait, and the next flush is for all of them. Before it begins, the flushing thread waits a little for
//! the threads that the last flush released. Otherwise writers fall into two groups that wait for each other's flushes
//! in turn, and each flush is for half of the writers.

use crate::types::error::{Error, ErrorKind, Result};
use crate::types::sync::{Condvar, FLUSHES, Mutex, MutexGuard, lock, wait, wait_for};
use std::time::{Duration, Instant};

/// The next flush waits at most for the time of the last flush, divided by this.
const GATHERING_PART: u32 = 2;

/// The flushes of a store.
#[derive(Default)]
pub(crate) struct Flushes {
    state: Mutex<FlushState, FLUSHES>,
    woken: Condvar,
    /// Wakes the thread that gathers commits, after each commit.
    arrival: Condvar,
}

#[derive(Default)]
struct FlushState {
    /// Commits so far.
    committed: u64,
    /// Commits that a flush has reached.
    flushed: u64,
    under_way: bool,
    /// Whether the flushing thread waits for more commits.
    gathers: bool,
    /// The commits for which threads wait.
    awaited: Vec<u64>,
    /// How many commits the next flush is expected to be for.
    expected: u64,
    /// How long the last flush took.
    lasted: Duration,
    /// A flush failed: the contents of the disk are not known any more.
    failed: Option<String>,
    /// Flushes so far.
    count: u64,
}

impl Flushes {
    /// Notes a commit, in the order of commits, and returns its number for [`reach`](Flushes::reach).
    pub(crate) fn committed(&self) -> u64 {
        let mut state = lock(&self.state);
        state.committed += 1;
        if state.gathers {
            self.arrival.notify_one();
        }
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

    /// Whether commits can still be made durable.
    ///
    /// # Errors
    /// If a flush has failed: from then on always.
    pub(crate) fn check(&self) -> Result<()> {
        lock(&self.state).failed.as_ref().map_or(Ok(()), |why| {
            Err(Error::new(
                ErrorKind::Unflushed,
                format!("{why} (nothing more is committed; reopen the store)"),
            ))
        })
    }

    /// Returns when a flush that began after that commit has ended. If no flush is under way, the calling thread does
    /// it, with `flush`, for all commits up to then.
    ///
    /// # Errors
    /// If a flush failed before one reached the commit: from then on for every later commit too.
    pub(crate) fn reach(&self, commit: u64, flush: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut state = lock(&self.state);
        let mut is_awaited = false;
        loop {
            if state.flushed >= commit {
                return Ok(());
            }
            if let Some(why) = &state.failed {
                return Err(lost(why));
            }
            if !is_awaited {
                state.awaited.push(commit);
                is_awaited = true;
            }
            if !state.under_way {
                break;
            }
            state = wait(&self.woken, state);
        }
        state.under_way = true;
        let state = self.gather(state);
        let reached = state.committed;
        drop(state);
        let begun = Instant::now();
        let result = flush();
        self.end(reached, begun.elapsed(), result)
    }

    /// Waits for the expected number of commits, at most for the last flush's time divided by [`GATHERING_PART`].
    fn gather<'s>(&'s self, mut state: MutexGuard<'s, FlushState>) -> MutexGuard<'s, FlushState> {
        let end = Instant::now() + state.lasted / GATHERING_PART;
        let mut is_over = false;
        while !is_over && state.committed - state.flushed < state.expected {
            let left = end.saturating_duration_since(Instant::now());
            state.gathers = true;
            (state, is_over) = wait_for(&self.arrival, &self.state, state, left);
        }
        state.gathers = false;
        state
    }

    /// Notes that a flush of the store's file failed. No thread empties the log any more: it has the pages that the
    /// file lacks.
    pub(crate) fn fail(&self, error: &Error) {
        lock(&self.state).failed = Some(error.to_string());
        self.woken.notify_all();
    }

    fn end(&self, reached: u64, lasted: Duration, result: Result<()>) -> Result<()> {
        let mut state = lock(&self.state);
        state.under_way = false;
        state.count += 1;
        state.lasted = lasted;
        match result {
            Ok(()) => state.flushed = reached,
            Err(error) => state.failed = Some(error.to_string()),
        }
        let before = state.awaited.len();
        state.awaited.retain(|commit| *commit > reached);
        // A thread that is released now probably commits again; threads that came during the flush wait already.
        let released = before - state.awaited.len();
        state.expected = state.committed - state.flushed + released as u64;
        let failed = state.failed.clone();
        drop(state);
        self.woken.notify_all();
        failed.map_or(Ok(()), |why| Err(lost(&why)))
    }
}

#[cold]
fn lost(why: &str) -> Error {
    Error::new(ErrorKind::Unflushed, format!("{why} (the commit may be lost; reopen the store)"))
}
