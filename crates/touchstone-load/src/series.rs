//! What happened when: one entry for each tenth of a second, in which a stall is seen that a histogram hides.

use serde::{Deserialize, Serialize};

/// How long an interval is.
pub const INTERVAL_NS: u64 = 100_000_000;
/// The shortest latency that has a band of its own, as a power of 2: 8 µs.
const BAND_FIRST_LOG2: u32 = 13;
/// Two bands an octave, from 8 µs to 34 s.
pub const BANDS: usize = 44;

/// What ended in a tenth of a second.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
pub struct Interval {
    /// Requests that ended.
    pub ended: u64,
    /// Of these, failed.
    pub failed: u64,
    /// The sum of the response times of those that did not fail, in nanoseconds.
    pub sum_ns: u64,
    /// The longest of them.
    pub max_ns: u64,
    /// How many of them lie in each band of latencies, from the first that has any.
    pub first_band: usize,
    /// See `first_band`.
    pub bands: Vec<u32>,
}

/// All intervals of a run, from its beginning.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(transparent)]
pub struct Series(pub Vec<Interval>);

/// The band of a latency.
pub fn band(ns: u64) -> usize {
    let log2 = (ns | 1).ilog2();
    let half = if log2 > 0 { (ns >> (log2 - 1)) & 1 } else { 0 };
    let place = i64::from(log2) * 2 + half as i64 - i64::from(BAND_FIRST_LOG2) * 2;
    place.clamp(0, BANDS as i64 - 1) as usize
}

/// The shortest latency of a band, in nanoseconds.
pub fn band_begins_ns(band: usize) -> u64 {
    let octave = 1u64 << (BAND_FIRST_LOG2 as usize + band / 2);
    octave + octave / 2 * (band % 2) as u64
}

impl Interval {
    fn count(&mut self, response_ns: u64) {
        let band = band(response_ns);
        if self.bands.is_empty() {
            self.first_band = band;
        }
        if band < self.first_band {
            self.bands.splice(0..0, std::iter::repeat_n(0, self.first_band - band));
            self.first_band = band;
        }
        let place = band - self.first_band;
        if place >= self.bands.len() {
            self.bands.resize(place + 1, 0);
        }
        self.bands[place] += 1;
    }

    /// Adds what another shard or thread has seen in the same tenth of a second.
    pub fn add(&mut self, other: &Interval) {
        self.ended += other.ended;
        self.failed += other.failed;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        let mut bands = [0u32; BANDS];
        for interval in [&*self, other] {
            for (at, count) in interval.bands.iter().enumerate() {
                bands[interval.first_band + at] += count;
            }
        }
        let first = bands.iter().position(|count| *count > 0);
        let end = bands.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        self.first_band = first.unwrap_or(0);
        self.bands = bands[self.first_band..end.max(self.first_band)].to_vec();
    }

    /// A quantile of its response times, to the width of a band; 0 where there are none.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        let all: u64 = self.bands.iter().map(|count| u64::from(*count)).sum();
        let wanted = (quantile * all as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (at, count) in self.bands.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= wanted {
                return band_begins_ns(self.first_band + at + 1).min(self.max_ns);
            }
        }
        0
    }
}

impl Series {
    /// Counts a request that ended so many nanoseconds after the beginning.
    pub fn record(&mut self, at_ns: u64, response_ns: u64, failed: bool) {
        let place = (at_ns / INTERVAL_NS) as usize;
        if place >= self.0.len() {
            self.0.resize(place + 1, Interval::default());
        }
        let interval = &mut self.0[place];
        interval.ended += 1;
        if failed {
            interval.failed += 1;
        } else {
            interval.sum_ns += response_ns;
            interval.max_ns = interval.max_ns.max(response_ns);
            interval.count(response_ns);
        }
    }

    /// Adds another's, interval by interval.
    pub fn add(&mut self, other: &Series) {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), Interval::default());
        }
        for (mine, others) in self.0.iter_mut().zip(&other.0) {
            mine.add(others);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_band_begins_where_it_says() {
        for at in 0..BANDS {
            assert_eq!(band(band_begins_ns(at)), at);
            assert_eq!(band(band_begins_ns(at + 1) - 1), at.min(BANDS - 1));
        }
        assert_eq!((band(0), band(1), band(u64::MAX)), (0, 0, BANDS - 1));
    }

    proptest! {
        #[test]
        fn parts_that_are_added_are_the_whole(
            all in prop::collection::vec((0..2_000_000_000u64, 0..100_000_000_000u64, any::<bool>()), 0..200),
            parts in 1..5usize,
        ) {
            let series = |all: &[(u64, u64, bool)]| {
                let mut series = Series::default();
                all.iter().for_each(|(at, ns, failed)| series.record(*at, *ns, *failed));
                series
            };
            let mut sum = Series::default();
            for part in 0..parts {
                let mine: Vec<_> = all.iter().copied().skip(part).step_by(parts).collect();
                sum.add(&series(&mine));
            }
            prop_assert_eq!(sum, series(&all));
        }
    }

    #[test]
    fn a_quantile_lies_within_its_band() {
        let mut series = Series::default();
        (1..=1_000u64).for_each(|number| series.record(0, number * 100_000, false));
        let found = series.0[0].quantile_ns(0.5) as f64;
        assert!((50e6..=75e6).contains(&found), "{found}");
        assert_eq!(series.0[0].quantile_ns(1.0), 100_000_000);
    }
}
