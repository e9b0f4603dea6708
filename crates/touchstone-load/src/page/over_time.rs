//! A series made short enough for a chart, and the phases beside it. Several intervals become one stretch, which keeps their longest
//! latency, and the least and the most requests of them.

use crate::outcome::{Outcome, SETUP};
use crate::series::{INTERVAL_NS, Interval};
use serde::Serialize;

/// Some intervals, as one.
pub(super) struct Stretch {
    /// How many intervals it is.
    pub intervals: usize,
    /// The fewest requests of them.
    pub least: u64,
    /// The most requests of them.
    pub most: u64,
    /// All of them, added.
    pub sum: Interval,
}

/// A series, in stretches of the same length.
pub(super) struct Thinned {
    /// Intervals in a stretch; the last may have fewer.
    pub each: usize,
    /// The stretches, from the beginning.
    pub stretches: Vec<Stretch>,
}

impl Thinned {
    /// No more than `most` stretches, of `each_least` intervals at least.
    pub fn new(series: &[Interval], most: usize, each_least: usize) -> Thinned {
        let each = series.len().div_ceil(most).max(each_least);
        let stretch = |intervals: &[Interval]| {
            let mut sum = Interval::default();
            intervals.iter().for_each(|interval| sum.add(interval));
            let ended = || intervals.iter().map(|interval| interval.ended);
            Stretch {
                intervals: intervals.len(),
                least: ended().min().unwrap_or_default(),
                most: ended().max().unwrap_or_default(),
                sum,
            }
        };
        Thinned { each, stretches: series.chunks(each).map(stretch).collect() }
    }

    /// Seconds of a stretch.
    pub fn step(&self) -> f64 {
        self.each as f64 * (INTERVAL_NS as f64 / 1e9)
    }

    /// Its length, for people.
    pub fn step_said(&self) -> String {
        match self.each {
            1 => "tenth of a second".into(),
            10 => "second".into(),
            each => format!("stretch of {:.1} s", each as f64 * (INTERVAL_NS as f64 / 1e9)),
        }
    }
}

/// A phase, as charts mark it.
#[derive(Serialize)]
pub(super) struct Phase {
    /// Its name.
    pub name: String,
    /// When it began, in seconds.
    pub begins: f64,
    /// When it ended.
    pub ends: f64,
    /// Whether it is a part of the totals.
    pub counted: bool,
    /// Requests that were offered, a second, at its beginning and end; none in a closed loop.
    pub rate: Option<(f64, f64)>,
}

impl Phase {
    /// Those that took time.
    pub fn all(outcome: &Outcome) -> Vec<Phase> {
        let each = outcome.scenario.requests_an_iteration();
        let phases = outcome.phases.iter().filter(|phase| phase.name != SETUP && phase.seconds > 0.0);
        phases
            .map(|phase| Phase {
                name: phase.name.clone(),
                begins: phase.begins,
                ends: phase.begins + phase.seconds,
                counted: phase.is_counted,
                rate: (!outcome.is_closed).then_some((phase.rate.0 * each, phase.rate.1 * each)),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Series;

    #[test]
    fn a_long_series_keeps_its_longest_latency_and_its_emptiest_interval() {
        let mut series = Series::default();
        // Ten minutes, ten requests an interval but for one without any, and one request of 3 s.
        for interval in (0..6_000u64).filter(|interval| *interval != 4_321) {
            (0..10).for_each(|_| series.record(interval * INTERVAL_NS, 1_000_000, false));
        }
        series.record(1_234 * INTERVAL_NS, 3_000_000_000, false);
        let thinned = Thinned::new(&series.0, 600, 1);
        assert_eq!((thinned.each, thinned.stretches.len()), (10, 600));
        assert_eq!(thinned.stretches[123].sum.max_ns, 3_000_000_000);
        assert_eq!((thinned.stretches[432].least, thinned.stretches[432].most), (0, 10));
        let ended: u64 = thinned.stretches.iter().map(|stretch| stretch.sum.ended).sum();
        assert_eq!(ended, 59_991);
    }

    #[test]
    fn a_short_series_stays_as_it_is() {
        let series = vec![Interval::default(); 7];
        let thinned = Thinned::new(&series, 600, 1);
        assert_eq!((thinned.each, thinned.stretches.len(), thinned.step()), (1, 7, 0.1));
    }
}
