//! Backpressure on writers: whether the feeds of a store have room for more batches. A writer waits for room before it
//! begins a transaction, so that the thread that puts batches never waits for receivers.

use crate::types::sync::{AtomicU64, Condvar, Mutex, Ordering, ROOM, lock, wait, wait_for};
use std::time::{Duration, Instant};

/// The number of full feeds, and of writers that wait for that to change.
#[derive(Default)]
pub(crate) struct Room {
    full: AtomicU64,
    waiting: Mutex<usize, ROOM>,
    woken: Condvar,
}

/// A feed stayed full for longer than its writer may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

impl Room {
    /// Returns once no feed is full, or when the time is over.
    pub(crate) fn wait(&self, time: Duration) -> Result<(), NoRoom> {
        // Relaxed is enough: no data depends on this load. A feed that fills just now is filled by a transaction under
        // way, whose batches are kept beyond the limit.
        if self.full.load(Ordering::Relaxed) == 0 { Ok(()) } else { self.wait_long(time) }
    }

    #[cold]
    fn wait_long(&self, time: Duration) -> Result<(), NoRoom> {
        let end = Instant::now().checked_add(time);
        let mut waiting = lock(&self.waiting);
        *waiting += 1;
        let mut is_over = false;
        let mut is_full = self.is_full();
        while is_full && !is_over {
            (waiting, is_over) = match end {
                Some(end) => {
                    let left = end.saturating_duration_since(Instant::now());
                    wait_for(&self.woken, &self.waiting, waiting, left)
                }
                None => (wait(&self.woken, waiting), false),
            };
            is_full = self.is_full();
        }
        *waiting -= 1;
        if is_full { Err(NoRoom) } else { Ok(()) }
    }

    /// Counts one more full feed.
    pub(super) fn fill(&self) {
        self.full.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts one full feed less; returns whether to call [`ring`](Room::ring) after the feed's lock is released.
    #[must_use]
    pub(super) fn clear(&self) -> bool {
        self.full.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Wakes the waiting writers.
    #[cold]
    pub(super) fn ring(&self) {
        // A writer checks for full feeds and begins to wait under this lock. So each writer that has seen a full feed
        // waits by now, and gets the signal.
        let waiting = *lock(&self.waiting);
        if waiting > 0 {
            self.woken.notify_all();
        }
    }

    /// Whether any feed is full.
    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Ordering::Acquire) > 0
    }
}
