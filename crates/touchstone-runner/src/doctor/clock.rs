//! The clock: what reading it costs and the smallest step it makes, for the clocks that kits read.

use super::turn::Turn;
use super::units::duration;
use crate::error::Result;
use rustix::time::{ClockId, Timespec, clock_gettime};
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::time::Duration;
use touchstone::statistics::median;

/// Readings between two looks at the time.
const BATCH: usize = 1_000;

/// Batches of each clock, at the most.
const BATCHES_MAX: usize = 200;

/// How long the clocks are read, at the most.
const CLOCK_LIMIT: Duration = Duration::from_millis(300);

/// A slice lasts this many times as long as a reading of the clock, so that reading it is no part of the result.
const SLICE_READINGS: f64 = 200.0;

/// What telling the time costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// A reading of the clock that times slices, in nanoseconds.
    pub cost_ns: f64,
    /// The smallest step it was seen to make.
    pub resolution_ns: u64,
    /// A reading of the clock that counts a process's processor time.
    pub processor_time_cost_ns: f64,
}

impl Clock {
    pub(super) fn measure(turn: &Turn<'_>) -> Result<Clock> {
        let turn = turn.part(1, CLOCK_LIMIT);
        let (cost_ns, resolution_ns) = read(ClockId::Monotonic, &turn.part(2, CLOCK_LIMIT));
        let (processor_time_cost_ns, _) = read(ClockId::ProcessCPUTime, &turn);
        turn.go_on()?;
        Ok(Clock { cost_ns, resolution_ns, processor_time_cost_ns })
    }

    /// The shortest slice that the clock can time.
    fn slice_ns_min(&self) -> f64 {
        SLICE_READINGS * self.cost_ns.max(self.resolution_ns as f64)
    }

    /// What the cost means for a measurement.
    pub(super) fn meaning(&self) -> String {
        format!(
            "Nothing shorter than {} can be timed as a slice, and no single operation shorter than {}.",
            duration(self.slice_ns_min()),
            duration(2.0 * self.cost_ns)
        )
    }
}

/// What a reading costs (the median batch: neither luck nor a stall) and the smallest step seen.
fn read(clock: ClockId, turn: &Turn<'_>) -> (f64, u64) {
    let now_ns = || nanoseconds(black_box(clock_gettime(clock)));
    let mut costs_ns = Vec::with_capacity(BATCHES_MAX);
    let mut step_ns_min = u64::MAX;
    while costs_ns.is_empty() || (costs_ns.len() < BATCHES_MAX && !turn.over()) {
        let first_ns = nanoseconds(clock_gettime(ClockId::Monotonic));
        let mut last_ns = now_ns();
        for _ in 1..BATCH {
            let this_ns = now_ns();
            let step_ns = this_ns.saturating_sub(last_ns);
            if step_ns > 0 {
                step_ns_min = step_ns_min.min(step_ns);
            }
            last_ns = this_ns;
        }
        let elapsed_ns = nanoseconds(clock_gettime(ClockId::Monotonic)).saturating_sub(first_ns);
        costs_ns.push(elapsed_ns as f64 / BATCH as f64);
    }
    // A clock that did not move at all during a batch is as coarse as the batch was long, at the least.
    let coarse_ns = (median(&costs_ns) * BATCH as f64).ceil() as u64;
    (median(&costs_ns), if step_ns_min == u64::MAX { coarse_ns } else { step_ns_min })
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_long_against_cost_and_step() {
        let clock = Clock { cost_ns: 25.0, resolution_ns: 10, processor_time_cost_ns: 200.0 };
        assert_eq!(
            clock.meaning(),
            "Nothing shorter than 5.00 µs can be timed as a slice, and no single operation shorter than 50.0 ns."
        );
        let coarse = Clock { resolution_ns: 1_000, ..clock };
        assert_eq!(coarse.slice_ns_min(), 200_000.0);
    }
}
