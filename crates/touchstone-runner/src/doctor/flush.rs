//! The flush: how long one page takes to be durable in the directory that is measured.

use super::turn::Turn;
use super::units::{count, duration};
use crate::error::Result;
use crate::probe::FlushProbe;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use touchstone::statistics::quantile;

/// Flushes made even when each takes longer than the whole turn, so that there is something to tell.
const FLUSHES_MIN: usize = 3;

/// Flushes kept in memory, at the most. Far more than a disk makes in the time: a disk that others share has good
/// and bad seconds, so it is the time that has to be long, not the count.
const FLUSHES_MAX: usize = 50_000;

/// How long is flushed, at the most.
const FLUSH_LIMIT: Duration = Duration::from_secs(3);

/// No path to a device is this short: a flush that returns sooner has asked none.
pub(super) const DEVICE_NS_MIN: f64 = 5_000.0;

/// The distribution of one 4 KiB overwrite with `fdatasync`, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flushes {
    /// How many were made.
    pub flushes: usize,
    /// How many a single writer made in a second, stalls included.
    pub flushes_per_s: f64,
    /// The quickest.
    pub latency_ns_min: f64,
    /// Half of them were quicker.
    pub latency_ns_p50: f64,
    /// Nine in ten were quicker.
    pub latency_ns_p90: f64,
    /// 99 in 100 were quicker.
    pub latency_ns_p99: f64,
    /// The slowest.
    pub latency_ns_max: f64,
}

impl Flushes {
    pub(super) fn measure(mut probe: FlushProbe, turn: &Turn<'_>) -> Result<Flushes> {
        let turn = turn.part(1, FLUSH_LIMIT);
        let mut latencies_ns = Vec::new();
        while latencies_ns.len() < FLUSHES_MIN || (latencies_ns.len() < FLUSHES_MAX && !turn.over()) {
            latencies_ns.push(probe.flush_ns()? as f64);
            turn.go_on()?;
        }
        Ok(Flushes::of(&latencies_ns))
    }

    fn of(latencies_ns: &[f64]) -> Flushes {
        let at = |probability| quantile(latencies_ns, probability);
        Flushes {
            flushes: latencies_ns.len(),
            flushes_per_s: latencies_ns.len() as f64 * 1e9 / latencies_ns.iter().sum::<f64>(),
            latency_ns_min: at(0.0),
            latency_ns_p50: at(0.5),
            latency_ns_p90: at(0.9),
            latency_ns_p99: at(0.99),
            latency_ns_max: at(1.0),
        }
    }

    /// What a flush means for commits.
    pub(super) fn meaning(&self) -> String {
        let p50 = self.latency_ns_p50;
        if p50 < DEVICE_NS_MIN {
            return "Flushes here do not reach a device, so no commit measured here is durable.".into();
        }
        let spread = self.latency_ns_p90 / p50;
        let steadiness = if spread > 2.0 {
            " Flushes vary so much here that commits are better compared by their syncs than by their time."
        } else {
            ""
        };
        format!(
            "Half of all durable commits take {} or more, and one writer makes about {} a second at best; beyond that, \
             several must share a flush.{steadiness}",
            duration(p50),
            count(self.flushes_per_s.round() as u64)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_is_told_by_its_quantiles() {
        let latencies_ns: Vec<f64> = (1..=101).map(|n| f64::from(n) * 10_000.0).collect();
        let flushes = Flushes::of(&latencies_ns);
        assert_eq!(
            (flushes.flushes, flushes.latency_ns_min, flushes.latency_ns_max),
            (101, 10_000.0, 1_010_000.0)
        );
        assert_eq!((flushes.latency_ns_p50, flushes.latency_ns_p90), (510_000.0, 910_000.0));
        assert_eq!(Flushes::of(&[7.0]).latency_ns_p99, 7.0);
    }

    #[test]
    fn a_flush_bounds_the_commits_of_a_writer() {
        let steady = Flushes::of(&[2_000_000.0; 20]).meaning();
        assert!(steady.contains("take 2.00 ms or more, and one writer makes about 500 a second"), "{steady}");
        assert!(!steady.contains("vary"), "{steady}");
        assert!(Flushes::of(&[1e6, 1e6, 1e6, 9e6, 9e6]).meaning().contains("Flushes vary so much"));
        assert!(Flushes::of(&[900.0; 5]).meaning().contains("do not reach a device"));
    }
}
