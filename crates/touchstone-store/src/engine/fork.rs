//! Forks: what a process opened is its own. The child of a fork has a copy of the memory, and neither the threads nor the
//! locks, so it must not touch what its parent opened: not even to close it, which copies and removes the log.

use crate::error::{Error, ErrorKind, Result};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

unsafe extern "C" {
    fn touchstone_watch_forks(in_child: unsafe extern "C" fn());
}

/// How many forks lie between this process and the one that first opened a store. It is counted in memory, where
/// `getpid` would be a system call for every read.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process that something was opened by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Origin(u32);

impl Default for Origin {
    fn default() -> Origin {
        Origin::here()
    }
}

impl Origin {
    /// This process.
    #[inline]
    pub(crate) fn here() -> Origin {
        static WATCH: Once = Once::new();
        // SAFETY: it is called once; what it registers only counts.
        WATCH.call_once(|| unsafe { touchstone_watch_forks(count) });
        Origin(FORKS.load(Ordering::Relaxed))
    }

    /// Whether it is this process.
    #[inline]
    pub(crate) fn is_here(self) -> bool {
        FORKS.load(Ordering::Relaxed) == self.0
    }

    /// # Errors
    /// [`Forked`](ErrorKind::Forked) in a child of that process.
    #[inline]
    pub(crate) fn check(self) -> Result<()> {
        if self.is_here() { Ok(()) } else { Err(forked()) }
    }
}

/// Called in the child of a fork, before any other of its code.
unsafe extern "C" fn count() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

#[cold]
fn forked() -> Error {
    let why =
        "the store was opened by the process that this one was forked from (open it here, after the fork)";
    Error::new(ErrorKind::Forked, why)
}
