//! Latencies in nanoseconds, in HdrHistograms that can be added without loss.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use touchstone::sample::{LOAD_DIGITS, LOAD_NS_MAX, read_load_histogram};

/// Latencies that were counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Latencies(Histogram<u64>);

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies(Histogram::new_with_bounds(1, LOAD_NS_MAX, LOAD_DIGITS).expect("such bounds are possible"))
    }
}

impl Latencies {
    /// Counts one.
    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns);
    }

    /// Adds all of another's. The sum is the same, to the last count, as if all had been counted here.
    pub fn add(&mut self, other: &Latencies) {
        self.0.add(&other.0).expect("all have the same bounds");
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The value that a share of them does not exceed; 0 where there are none.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.value_at_quantile(quantile) }
    }

    /// Their mean; 0 where there are none.
    pub fn mean_ns(&self) -> f64 {
        if self.0.is_empty() { 0.0 } else { self.0.mean() }
    }

    /// The longest.
    pub fn max_ns(&self) -> u64 {
        self.0.max()
    }

    /// How many there are of each value, for a curve.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter_recorded().map(|value| (value.value_iterated_to(), value.count_at_value()))
    }

    /// The bytes of HdrHistogram's format V2, which its other implementations read.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&self.0, &mut bytes).expect("a vector takes all bytes");
        bytes
    }

    /// Reads what [`to_bytes`](Latencies::to_bytes) has written.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Latencies, String> {
        read_load_histogram(bytes).map(Latencies)
    }

    /// The histogram itself, for a log.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Latencies {
        let mut latencies = Latencies::default();
        values.iter().for_each(|value| latencies.record(*value));
        latencies
    }

    fn values() -> impl Strategy<Value = Vec<u64>> {
        // From a microsecond to an hour, evenly over the decades.
        prop::collection::vec((3.0..12.556f64).prop_map(|decades| 10f64.powf(decades) as u64), 1..400)
    }

    proptest! {
        #[test]
        fn quantiles_are_within_a_thousandth_of_sorting(values in values(), quantile in 0.0..1.0f64) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let place = ((quantile * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
            let exact = sorted[place - 1] as f64;
            let found = of(&values).quantile_ns(quantile) as f64;
            // Where the product is a whole number but for rounding, either neighbour is right.
            let neighbour = sorted[place.min(sorted.len() - 1)] as f64;
            let close = |exact: f64| (found / exact - 1.0).abs() <= 0.001;
            prop_assert!(close(exact) || close(neighbour), "{found} for {exact}");
        }

        #[test]
        fn parts_that_are_added_are_the_whole_bit_by_bit(values in values(), parts in 1..8usize) {
            let mut sum = Latencies::default();
            for part in 0..parts {
                let mine: Vec<u64> = values.iter().copied().skip(part).step_by(parts).collect();
                let read = Latencies::from_bytes(&of(&mine).to_bytes()).expect("it was just written");
                sum.add(&read);
            }
            prop_assert_eq!(sum.to_bytes(), of(&values).to_bytes());
        }

        #[test]
        fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Latencies::from_bytes(&bytes);
        }
    }

    #[test]
    fn nothing_has_no_latency() {
        let none = Latencies::default();
        assert_eq!((none.count(), none.quantile_ns(0.99), none.mean_ns(), none.max_ns()), (0, 0, 0.0, 0));
    }
}
