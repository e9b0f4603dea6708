//! What a worker tells of its own process: how busy its threads are, and its memory.

use rustix::time::{ClockId, clock_gettime};
use std::time::Instant;

/// What measures it.
pub(super) struct Gauge {
    threads: f64,
    looked: Instant,
    used_s: f64,
}

fn used_s() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

impl Gauge {
    pub(super) fn new(threads: u16) -> Gauge {
        Gauge { threads: f64::from(threads.max(1)), looked: Instant::now(), used_s: used_s() }
    }

    /// The share of its threads' time that was used since the last look, in percent: beyond 90, the master warns.
    pub(super) fn busy_percent(&mut self) -> f64 {
        let (now, used_s) = (Instant::now(), used_s());
        let passed = now.duration_since(self.looked).as_secs_f64().max(1e-9);
        let percent = (used_s - self.used_s) / passed / self.threads * 100.0;
        (self.looked, self.used_s) = (now, used_s);
        percent
    }
}

/// Bytes of memory that the process has; 0 where the system does not say.
pub(super) fn memory_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: Option<u64> = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}
