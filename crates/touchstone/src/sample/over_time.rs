//! A slice by the clock, over its time: how much was done in each stretch of it, and how long transactions took.

use super::series::add_up;
use super::{Counts, Window};
use crate::statistics::launch_percentiles;
use serde::{Deserialize, Serialize};
use touchstone_protocol::SERIES_WINDOW_NS;

/// Stretches kept of a slice, for the drawing: where it has more windows, some are put together.
const STRETCHES: usize = 300;

/// Levels of the drawing in a factor of ten.
pub const LEVELS_OF_TEN: f64 = 6.0;

/// The lowest level of the drawing ends here, in nanoseconds.
const LEVEL_NS_MIN: f64 = 100.0;

/// What is kept of a launch by the clock: its windows, which hold each latency of each tenth of a second, are more than memory has for many
/// launches.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The launch over its time; none without any window.
    pub over_time: Option<SeriesStatistics>,
    /// How long transactions took, whenever they were.
    pub all: Counts,
}

impl Series {
    /// Of windows in order.
    pub fn of(windows: &[Window]) -> Series {
        Series { over_time: SeriesStatistics::of(windows), all: added_up(windows) }
    }
}

/// The transactions of all windows together.
fn added_up(windows: &[Window]) -> Counts {
    /// So many are sorted at once: each latency is met in many windows.
    const SORTED_AT_ONCE: usize = 1 << 20;
    let mut all = Counts::new();
    for counts in windows.iter().flat_map(|window| [&window.reads, &window.writes]) {
        all.extend_from_slice(counts);
        if all.len() > SORTED_AT_ONCE {
            add_up(&mut all);
        }
    }
    add_up(&mut all);
    all
}

/// A launch of an arm by the clock, over its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesStatistics {
    /// How long each stretch lasted, in nanoseconds.
    pub stretch_ns: u64,
    /// The stretches, in order.
    pub stretches: Vec<StretchStatistics>,
}

/// The transactions that ended in one stretch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StretchStatistics {
    /// How many there were.
    pub transactions: u64,
    /// Half of them took no longer, in nanoseconds.
    pub median_ns: Option<u64>,
    /// 99 of 100 took no longer.
    pub p99_ns: Option<u64>,
    /// The longest that only read.
    pub longest_read_ns: Option<u64>,
    /// The longest that wrote.
    pub longest_write_ns: Option<u64>,
    /// How many took how long: counts by level, of which number 0 is up to 100 ns, and six are a factor of ten.
    pub levels: Vec<u64>,
}

impl SeriesStatistics {
    /// Of windows in order; none without any.
    pub fn of(windows: &[Window]) -> Option<SeriesStatistics> {
        if windows.is_empty() {
            return None;
        }
        let together = windows.len().div_ceil(STRETCHES);
        Some(SeriesStatistics {
            stretch_ns: SERIES_WINDOW_NS * together as u64,
            stretches: windows.chunks(together).map(StretchStatistics::of).collect(),
        })
    }

    /// The longest transaction that only read, in nanoseconds.
    pub fn longest_read_ns(&self) -> Option<u64> {
        self.stretches.iter().filter_map(|stretch| stretch.longest_read_ns).max()
    }

    /// The longest transaction that wrote, in nanoseconds.
    pub fn longest_write_ns(&self) -> Option<u64> {
        self.stretches.iter().filter_map(|stretch| stretch.longest_write_ns).max()
    }

    /// Its stretches but the last, which may be shorter than the others; that too where it is the only one.
    pub fn whole_stretches(&self) -> &[StretchStatistics] {
        &self.stretches[..self.stretches.len().saturating_sub(1).max(1).min(self.stretches.len())]
    }
}

impl StretchStatistics {
    fn of(windows: &[Window]) -> StretchStatistics {
        let all = added_up(windows);
        let percentiles = launch_percentiles(&all);
        let longest = |of: fn(&Window) -> &Counts| {
            windows.iter().filter_map(|window| of(window).last().map(|(ns, _)| *ns)).max()
        };
        let mut levels = Vec::new();
        for (ns, count) in &all {
            let level = level(*ns);
            if levels.len() <= level {
                levels.resize(level + 1, 0);
            }
            levels[level] += count;
        }
        StretchStatistics {
            transactions: all.iter().map(|(_, count)| count).sum(),
            median_ns: percentiles.first().copied(),
            p99_ns: percentiles.get(3).copied(),
            longest_read_ns: longest(|window| &window.reads),
            longest_write_ns: longest(|window| &window.writes),
            levels,
        }
    }
}

fn level(ns: u64) -> usize {
    let above = (ns as f64 / LEVEL_NS_MIN).log10() * LEVELS_OF_TEN;
    if above <= 0.0 { 0 } else { above.ceil() as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_a_sixth_of_a_factor_of_ten() {
        assert_eq!([1, 100, 101, 1_000, 1_001, 1_000_000].map(level), [0, 0, 1, 6, 7, 24]);
    }

    #[test]
    fn a_long_slice_has_its_windows_put_together() {
        let window = |ns: u64| Window { reads: Counts::from([(ns, 3)]), writes: Counts::from([(ns * 2, 1)]) };
        let windows: Vec<Window> = (1..=601).map(|number| window(number * 100)).collect();
        let series = SeriesStatistics::of(&windows).expect("there are windows");
        assert_eq!((series.stretch_ns, series.stretches.len()), (3 * SERIES_WINDOW_NS, 201));
        let first = &series.stretches[0];
        assert_eq!(first.transactions, 12);
        assert_eq!((first.longest_read_ns, first.longest_write_ns), (Some(300), Some(600)));
        assert_eq!(first.levels.iter().sum::<u64>(), 12);
        assert_eq!(series.longest_write_ns(), Some(2 * 60_100));
        assert_eq!(SeriesStatistics::of(&[]), None);
    }
}
