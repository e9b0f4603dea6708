//! Time, in nanoseconds after a beginning that all threads of a run share.

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

    /// How long until the beginning.
    pub fn until_begin(&self) -> Duration {
        self.begins.saturating_duration_since(Instant::now())
    }
}
