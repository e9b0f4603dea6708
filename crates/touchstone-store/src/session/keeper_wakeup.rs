//! The condition variable that wakes the keeper: when the log has grown, snapshots are left open, or the store closes.

use crate::types::sync::{Condvar, Mutex, WISHES, lock, wait, wait_at_most};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The keeper's wake-up.
#[derive(Default)]
pub(crate) struct KeeperWakeup {
    wishes: Mutex<Wishes, WISHES>,
    woken: Condvar,
    is_heard: AtomicBool,
}

/// The tasks that wait for the keeper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    /// The log has grown.
    pub(crate) checkpoint: bool,
    /// Snapshots are left open on idle connections, or may be held for long.
    pub(crate) watch: bool,
    /// The store is closed.
    pub(crate) stop: bool,
}

impl KeeperWakeup {
    pub(crate) fn checkpoint(&self) {
        self.wish(|wishes| wishes.checkpoint = true);
    }

    /// Notes that the keeper's thread runs from now on.
    pub(crate) fn hear(&self) {
        self.is_heard.store(true, Ordering::Relaxed);
    }

    /// Whether the keeper's thread runs.
    pub(crate) fn is_heard(&self) -> bool {
        self.is_heard.load(Ordering::Relaxed)
    }

    pub(crate) fn watch(&self) {
        self.wish(|wishes| wishes.watch = true);
    }

    pub(crate) fn stop(&self) {
        self.wish(|wishes| wishes.stop = true);
    }

    fn wish(&self, wish: impl FnOnce(&mut Wishes)) {
        wish(&mut lock(&self.wishes));
        self.woken.notify_one();
    }

    /// Waits for tasks and takes them. With a period, while snapshots are watched, it waits no longer than that.
    pub(crate) fn wait(&self, period: Option<Duration>) -> Wishes {
        let mut wishes = lock(&self.wishes);
        while *wishes == Wishes::default() {
            wishes = match period {
                Some(period) => {
                    wishes = wait_at_most(&self.woken, wishes, period);
                    break;
                }
                None => wait(&self.woken, wishes),
            };
        }
        std::mem::take(&mut *wishes)
    }
}
