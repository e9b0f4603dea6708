//! Latency percentiles, computed in this one place for every language: raw nanoseconds of single operations go in,
//! one histogram per launch is kept and merged, percentiles with bootstrap intervals come out.
//! Not here: any encoding of histograms. Kits hand over raw numbers because their libraries disagree.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::bootstrap::interval_over_launches;

/// The percentiles of a summary; the last is the maximum.
pub const PERCENTILES: [f64; 6] = [50.0, 90.0, 95.0, 99.0, 99.9, 100.0];

/// Longer latencies, in nanoseconds, are counted as this one: an hour, beyond any time limit of a launch.
pub const LATENCY_NS_MAX: u64 = 3_600_000_000_000;

/// A value keeps three significant digits: it is reported at most 0.1 % above what was measured.
const SIGNIFICANT_DIGITS: u8 = 3;

/// How many points the curve has each time the share of slower operations halves.
const TICKS_PER_HALF_DISTANCE: u32 = 5;

/// The latencies of one contender, by launch.
#[derive(Debug, Clone)]
pub struct Latencies {
    merged: Histogram<u64>,
    /// Upper edges in nanoseconds of the buckets that hold any operation, ascending.
    edges_ns: Vec<u64>,
    /// For every edge and launch, how many operations took no longer. Merging launches is adding such rows, which is
    /// what makes thousands of resamples cheap: nothing is recorded twice.
    cumulative: Vec<Vec<u64>>,
}

/// One percentile of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencyPercentile {
    /// In percent: 99.9 for p99.9, 100 for the maximum.
    pub percentile: f64,
    /// The latency that this share of operations did not exceed.
    pub latency_ns: u64,
    /// Bootstrap interval over launches. None for a single launch, and none for the maximum: no resample can exceed
    /// the largest value seen, so an interval would promise what nobody knows.
    pub interval_ns: Option<(u64, u64)>,
}

/// One point of a percentile plot.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// In percent, from 0 to 100.
    pub percentile: f64,
    /// The latency that this share of operations did not exceed.
    pub latency_ns: u64,
}

/// The percentiles of a summary of one launch's operations, in the order of [`PERCENTILES`]; none without operations. Of each
/// latency it takes the nanoseconds, and how many operations took so long.
pub fn launch_percentiles(latencies_ns: &[(u64, u64)]) -> Vec<u64> {
    let launch = histogram(latencies_ns);
    if launch.is_empty() {
        return Vec::new();
    }
    PERCENTILES.iter().map(|percentile| launch.value_at_percentile(*percentile)).collect()
}

impl Latencies {
    /// Records the nanoseconds of every operation, and how many operations took so long, launch by launch. `None` without launches, or when a launch
    /// has no operations, because leaving it out here would unpair it from another contender's.
    pub fn from_launches<'a>(launches_ns: impl IntoIterator<Item = &'a [(u64, u64)]>) -> Option<Latencies> {
        let launches: Vec<Histogram<u64>> = launches_ns.into_iter().map(histogram).collect();
        if launches.is_empty() || launches.iter().any(Histogram::is_empty) {
            return None;
        }
        let mut merged = histogram(&[]);
        for launch in &launches {
            merged.add(launch).expect("a histogram that resizes itself can hold every other");
        }
        let edges_ns: Vec<u64> = merged.iter_recorded().map(|bucket| bucket.value_iterated_to()).collect();
        let cumulative = cumulative_counts(&launches, &edges_ns);
        Some(Latencies { merged, edges_ns, cumulative })
    }

    /// How many launches there are.
    pub fn launches(&self) -> usize {
        self.cumulative[0].len()
    }

    /// How many operations there are in all launches. A percentile with only a handful of operations above it is
    /// little more than the maximum.
    pub fn operations(&self) -> u64 {
        self.merged.len()
    }

    /// The [`PERCENTILES`] of all launches merged, each with its interval from resamples drawn with `seed`.
    pub fn percentiles(&self, seed: u64) -> Vec<LatencyPercentile> {
        PERCENTILES.into_iter().map(|percentile| self.percentile(percentile, seed)).collect()
    }

    fn percentile(&self, percentile: f64, seed: u64) -> LatencyPercentile {
        let latency_ns = self.latency_ns_at(percentile);
        if percentile == 100.0 {
            return LatencyPercentile { percentile, latency_ns, interval_ns: None };
        }
        let interval = interval_over_launches(self.launches(), seed, |times_drawn| {
            self.latency_ns_of(times_drawn, percentile) as f64
        });
        let interval_ns = interval.map(|(low, high)| (low.round() as u64, high.round() as u64));
        LatencyPercentile { percentile, latency_ns, interval_ns }
    }

    /// The latency in nanoseconds that `percentile` percent of the operations did not exceed, over all launches.
    ///
    /// # Panics
    ///
    /// When `percentile` is outside 0 to 100.
    pub fn latency_ns_at(&self, percentile: f64) -> u64 {
        self.latency_ns_of(&vec![1; self.launches()], percentile)
    }

    /// The points of a percentile plot in the manner of HdrHistogram: every halving of the distance to 100 % gets the
    /// same number of points, so the tail is drawn as finely as the middle. Ends at 100 with the maximum.
    pub fn curve(&self) -> Vec<CurvePoint> {
        self.merged
            .iter_quantiles(TICKS_PER_HALF_DISTANCE)
            .map(|point| CurvePoint {
                percentile: 100.0 * point.quantile_iterated_to(),
                latency_ns: point.value_iterated_to(),
            })
            .collect()
    }

    /// A percentile of the launches merged as often as each was drawn.
    fn latency_ns_of(&self, times_drawn: &[u64], percentile: f64) -> u64 {
        assert!((0.0..=100.0).contains(&percentile), "a percentile lies between 0 and 100, not {percentile}");
        let merged =
            |row: &Vec<u64>| -> u64 { row.iter().zip(times_drawn).map(|(count, times)| count * times).sum() };
        let operations = merged(&self.cumulative[self.cumulative.len() - 1]);
        // In thousandths of a percent and integers: 99.9 / 100 in floating point asks for one operation too many.
        let share = (percentile * 1_000.0).round() as u64;
        let rank = (operations * share).div_ceil(100_000).max(1);
        self.edges_ns[self.cumulative.partition_point(|row| merged(row) < rank)]
    }
}

fn histogram(latencies_ns: &[(u64, u64)]) -> Histogram<u64> {
    let mut histogram = Histogram::new(SIGNIFICANT_DIGITS).expect("three digits are within its limits");
    for (latency_ns, operations) in latencies_ns {
        histogram
            .record_n(*latency_ns.min(&LATENCY_NS_MAX), *operations)
            .expect("a histogram that resizes itself takes any value");
    }
    histogram
}

/// For every edge and launch, how many operations of the launch took no longer than the edge.
fn cumulative_counts(launches: &[Histogram<u64>], edges_ns: &[u64]) -> Vec<Vec<u64>> {
    // Not `count_at(edge)`: for an edge beyond a launch's own range it answers with the launch's last bucket.
    let mut buckets: Vec<_> = launches.iter().map(|launch| launch.iter_recorded().peekable()).collect();
    let mut running = vec![0; launches.len()];
    let mut cumulative = Vec::with_capacity(edges_ns.len());
    for edge in edges_ns {
        for (count, buckets) in running.iter_mut().zip(&mut buckets) {
            *count += buckets
                .next_if(|bucket| bucket.value_iterated_to() == *edge)
                .map_or(0, |bucket| bucket.count_at_value());
        }
        cumulative.push(running.clone());
    }
    let recorded: Vec<u64> = launches.iter().map(Histogram::len).collect();
    assert_eq!(running, recorded, "every operation lies in a bucket of the merged histogram");
    cumulative
}
