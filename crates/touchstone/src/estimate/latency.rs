//! Latencies of an arm: of single operations, or of the transactions of a slice by the clock. Of each it takes the nanoseconds,
//! and how many operations took so long.

use super::LatencyStatistics;
use crate::record::Record;
use crate::statistics::Latencies;
use std::collections::BTreeMap;

/// What a timer wakes later than at the tick, and the least that one of its ticks is, in nanoseconds.
const WAKING_NS: u64 = 120_000;
const TICK_NS_MIN: u64 = 900_000;

/// A launch's latencies: nanoseconds, and how many operations took so long.
pub(super) type Counted = Vec<(u64, u64)>;

/// The latencies of an arm of a case, by launch.
pub(super) fn of_arm(record: &Record, case: &str, arm: &str) -> BTreeMap<usize, Counted> {
    let is_mine =
        |(of_case, of_arm, _): &&(String, String, usize)| (of_case.as_str(), of_arm.as_str()) == (case, arm);
    let each = record.latencies.iter().filter(|(key, _)| is_mine(key));
    let each = each.map(|(key, latencies)| (key.2, latencies.iter().map(|ns| (*ns, 1)).collect()));
    let series = record.series.iter().filter(|(key, _)| is_mine(key));
    let series = series.map(|(key, series)| (key.2, series.all.clone()));
    each.chain(series).collect()
}

/// What the latencies of all launches say together.
pub(super) fn together(latencies: &BTreeMap<usize, Counted>, seed: u64) -> Option<LatencyStatistics> {
    let measured = latencies.values().filter(|latencies| !latencies.is_empty());
    let tick_share = tick_share(measured.clone().flatten());
    let all = Latencies::from_launches(measured.map(Vec::as_slice))?;
    Some(LatencyStatistics {
        operations: all.operations(),
        percentiles: all.percentiles(seed),
        curve: all.curve(),
        tick_share,
    })
}

fn tick_share<'l>(latencies_ns: impl Iterator<Item = &'l (u64, u64)>) -> f64 {
    let is_on_tick = |ns: u64| {
        let between_ticks = WAKING_NS..=1_000_000 - WAKING_NS;
        ns > TICK_NS_MIN && !between_ticks.contains(&(ns % 1_000_000))
    };
    let (mut on_tick, mut all) = (0_u64, 0_u64);
    for (ns, operations) in latencies_ns {
        on_tick += if is_on_tick(*ns) { *operations } else { 0 };
        all += operations;
    }
    on_tick as f64 / all.max(1) as f64
}

/// The mean of the longest thousandth of the operations.
pub(super) fn mean_of_longest_thousandth(latencies: &Counted) -> Option<f64> {
    let mut left = operations(latencies).div_ceil(1000);
    let mut sorted = latencies.clone();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    for (_, operations) in &mut sorted {
        *operations = (*operations).min(left);
        left -= *operations;
    }
    mean(&sorted)
}

/// The mean over all operations; none where there are none.
pub(super) fn mean(latencies: &Counted) -> Option<f64> {
    let all = operations(latencies);
    let sum = latencies.iter().map(|(ns, operations)| *ns as f64 * *operations as f64).sum::<f64>();
    (all > 0).then(|| sum / all as f64)
}

fn operations(latencies: &Counted) -> u64 {
    latencies.iter().fold(0, |sum, (_, operations)| sum.saturating_add(*operations))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_say_what_single_operations_say() {
        let single: Counted = (1..=3_000).map(|ns| (if ns <= 10 { 5_000_000 + ns } else { ns }, 1)).collect();
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        single.iter().for_each(|(ns, _)| *counts.entry(*ns).or_default() += 1);
        let counted: Counted = counts.into_iter().collect();
        let means = [mean(&single), mean(&counted)].map(|mean| mean.expect("there are operations"));
        assert!((means[0] / means[1] - 1.0).abs() < 1e-12, "{means:?}");
        assert_eq!(mean_of_longest_thousandth(&single), Some(5_000_009.0));
        assert_eq!(mean_of_longest_thousandth(&counted), Some(5_000_009.0));
        assert_eq!(tick_share(single.iter()), 10.0 / 3_000.0);
        assert_eq!(mean_of_longest_thousandth(&vec![(7, 1_999), (9, 1)]), Some(8.0));
        assert_eq!(mean(&Counted::new()), None);
    }
}
