//! What a service does while nobody asks it: other arms are being asked then, and its work is at their cost.

use super::processors::cpu_ns;
use std::time::{Duration, Instant};

/// Shorter rests tell nothing: the system counts processor time in ticks of 10 ms.
const RESTED_LEAST: Duration = Duration::from_millis(300);

/// The rests of a service between windows of its launch.
#[derive(Default)]
pub(super) struct Rest {
    /// When the present one began, and the processor time that the service had used by then.
    since: Option<(Instant, u64)>,
    rested: Duration,
    cpu_ns: u64,
}

impl Rest {
    /// Nobody asks the service from now on.
    pub(super) fn begin(&mut self, process: u32) {
        self.since = Some((Instant::now(), cpu_ns(process)));
    }

    /// Somebody is about to ask it.
    pub(super) fn end(&mut self, process: u32) {
        if let Some((began, cpu_before)) = self.since.take() {
            self.rested += began.elapsed();
            self.cpu_ns += cpu_ns(process).saturating_sub(cpu_before);
        }
    }

    /// The share of a processor that it used in all of them; none where they were too short to tell.
    pub(super) fn share(&self) -> Option<f64> {
        (self.rested >= RESTED_LEAST).then(|| self.cpu_ns as f64 / self.rested.as_nanos() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_rests_tell_nothing_and_long_ones_by_their_sum() {
        let half = Duration::from_millis(200);
        let mut rest = Rest { since: None, rested: half, cpu_ns: 100_000_000 };
        assert_eq!(rest.share(), None);
        (rest.rested, rest.cpu_ns) = (half * 2, 100_000_000);
        assert_eq!(rest.share(), Some(0.25));
        rest.end(std::process::id());
        assert_eq!(rest.share(), Some(0.25), "no rest had begun");
    }
}
