//! The room that the feeds of a store have for more batches. Writers ask for it before they begin, so that the thread
//! that puts batches never waits for the threads that take them.

use crate::sync::{AtomicU64, Condvar, Mutex, Ordering, lock, wait, wait_for};
use std::time::{Duration, Instant};

/// How many feeds are full, and who waits for that to change.
#[derive(Default)]
pub(crate) struct Room {
    full: AtomicU64,
    waiting: Mutex<usize>,
    bell: Condvar,
}

/// A feed stayed full for as long as its writer was willing to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

impl Room {
    /// Returns once no feed is full, or when the time has passed.
    pub(crate) fn wait(&self, time: Duration) -> Result<(), NoRoom> {
        // A feed that gets full just now is one whose writers are under way: no order is missed by reading it so.
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
                    wait_for(&self.bell, &self.waiting, waiting, left)
                }
                None => (wait(&self.bell, waiting), false),
            };
            is_full = self.is_full();
        }
        *waiting -= 1;
        if is_full { Err(NoRoom) } else { Ok(()) }
    }

    /// A feed is full.
    pub(super) fn fill(&self) {
        self.full.fetch_add(1, Ordering::AcqRel);
    }

    /// A feed is full no longer; whether [`ring`](Room::ring) is to be called, when the feed's lock is given back.
    #[must_use]
    pub(super) fn clear(&self) -> bool {
        self.full.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Wakes those who wait.
    #[cold]
    pub(super) fn ring(&self) {
        // Whoever has seen a full feed waits by the time the lock is free: he does not miss the bell.
        let waiting = *lock(&self.waiting);
        if waiting > 0 {
            self.bell.notify_all();
        }
    }

    /// Whether a feed is full.
    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Ordering::Acquire) > 0
    }
}
