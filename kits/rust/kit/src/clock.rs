//! The clock: the monotonic one of the standard library, and the processor time of the whole process.
//!
//! A reading costs about 25 ns. Stretches last milliseconds, so a dearer clock than the processor's own counter
//! costs nothing, needs no calibration, and is the same one that kits in other languages read.

use std::time::Instant;
use touchstone_protocol::Clock;

/// The processor time of the whole process so far, all threads.
pub(crate) fn processor_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the call to fill, and nothing else is touched.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "the kernel has a processor clock");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The nanoseconds from `start` to `end`.
pub(crate) fn elapsed_ns(start: Instant, end: Instant) -> u64 {
    u64::try_from(end.duration_since(start).as_nanos()).expect("a stretch is shorter than 584 years")
}

/// Measures the clock itself: the cost of a reading and the smallest step it makes.
pub(crate) fn measure() -> Clock {
    const READINGS: u32 = 1_000;
    let mut cost_ns = f64::INFINITY;
    let mut resolution_ns = u64::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        let mut last = start;
        for _ in 0..READINGS {
            let now = Instant::now();
            let step = elapsed_ns(last, now);
            if step > 0 {
                resolution_ns = resolution_ns.min(step);
            }
            last = now;
        }
        cost_ns = cost_ns.min(elapsed_ns(start, last) as f64 / f64::from(READINGS));
    }
    Clock { name: "std::time::Instant (CLOCK_MONOTONIC)".into(), cost_ns, resolution_ns }
}

/// What the timing loop does after each operation: nothing, or read the clock.
///
/// The loop is compiled once for each, so that a run without latencies has no trace of them.
pub trait Ticks {
    /// Marks the end of an operation, which is the start of the next.
    fn tick(&mut self);
}

/// Reads no clock.
pub(crate) struct NoTicks;

impl Ticks for NoTicks {
    #[inline(always)]
    fn tick(&mut self) {}
}

/// Reads the clock once an operation: the end of one is the start of the next.
pub(crate) struct EachTick {
    last: Instant,
    latency_ns: Vec<u64>,
}

impl EachTick {
    /// Room for `operations` latencies, its memory already touched; the first operation starts now.
    pub(crate) fn with_capacity(operations: usize) -> EachTick {
        let mut latency_ns = vec![1; operations];
        latency_ns.clear();
        EachTick { last: Instant::now(), latency_ns }
    }

    /// The first operation starts at `start`.
    pub(crate) fn start_at(&mut self, start: Instant) {
        self.last = start;
    }

    /// The latencies, in the order of the operations.
    pub(crate) fn into_latency_ns(self) -> Vec<u64> {
        self.latency_ns
    }
}

impl Ticks for EachTick {
    #[inline(always)]
    fn tick(&mut self) {
        let now = Instant::now();
        self.latency_ns.push(elapsed_ns(self.last, now));
        self.last = now;
    }
}
