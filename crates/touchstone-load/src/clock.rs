//! Time, in nanoseconds after a beginning that all threads of a run share.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// A clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    begins: Instant,
}

impl Clock {
    /// One whose beginning is so far ahead.
    pub fn begins_in(ahead: Duration) -> Clock {
        Clock { begins: Instant::now() + ahead }
    }

    /// Now; 0 before the beginning.
    pub fn now_ns(&self) -> u64 {
        Instant::now().saturating_duration_since(self.begins).as_nanos() as u64
    }

    /// By how much it begins later than another, in nanoseconds.
    pub fn later_ns(&self, other: &Clock) -> i64 {
        let later = self.begins.saturating_duration_since(other.begins).as_nanos() as i64;
        later - other.begins.saturating_duration_since(self.begins).as_nanos() as i64
    }

    /// How long until the beginning.
    pub fn until_begin(&self) -> Duration {
        self.begins.saturating_duration_since(Instant::now())
    }
}

/// Nanoseconds in which this thread had a processor.
pub fn processor_ns() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64
}
