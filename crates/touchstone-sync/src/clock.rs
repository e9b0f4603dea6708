//! The wall clock, which dates tokens, and the service's own time, by which deletions and names of changes age. No order rests on either.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Seconds since 1970, by the system's clock; 0 where that stands before.
pub fn seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// The time of a service, in seconds: it goes on from where the service before it came to, and while a service runs. A wall clock that jumps by years
/// makes nothing old by it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServiceTime {
    from: i64,
    began: Instant,
}

impl ServiceTime {
    /// Goes on from what the storage has noted. Where it has noted none, it goes on from the newest time of what is stored, which the wall clock
    /// may have left behind; and that of a storage without anything is the wall clock's.
    pub(crate) fn from(noted: Option<i64>, newest: Option<i64>) -> ServiceTime {
        let from = noted.unwrap_or_else(|| newest.unwrap_or(i64::MAX).min(seconds()));
        ServiceTime { from, began: Instant::now() }
    }

    /// What it is now.
    pub(crate) fn now(&self) -> i64 {
        self.from.saturating_add_unsigned(self.began.elapsed().as_secs())
    }
}
