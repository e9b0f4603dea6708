//! The map of latencies: how many requests of each stretch of time had a latency of each band. A stall, a second mode and a slow
//! drift are seen in it, where percentiles hide them.

use super::over_time::{Phase, Thinned};
use crate::report::count;
use crate::series::{BANDS, INTERVAL_NS, Interval, band_begins_ns};
use serde::Serialize;
use touchstone::report::page::Chart;

/// Cells of a map at the most, if all had something in them.
const CELLS_MOST: usize = 4_500;
/// Columns of a map at the most.
const COLUMNS_MOST: usize = 220;

/// What a map is drawn from.
#[derive(Serialize)]
pub(super) struct Heat<'h> {
    step: f64,
    ends: f64,
    phases: &'h [Phase],
    /// Where the bands begin, and where the last ends, in nanoseconds.
    bounds: Vec<u64>,
    /// Column, band from below, and how many; cells with nothing are left out.
    cells: Vec<(usize, usize, u32)>,
    #[serde(skip)]
    step_said: String,
}

impl Heat<'_> {
    /// None, where nothing was answered rightly.
    pub fn new<'h>(series: &[Interval], ends: f64, phases: &'h [Phase]) -> Option<Heat<'h>> {
        let used = |interval: &&Interval| !interval.bands.is_empty();
        let lowest = series.iter().filter(used).map(|interval| interval.first_band).min()?;
        let highest = series.iter().filter(used).map(|interval| interval.first_band + interval.bands.len());
        let highest = highest.max()?.clamp(lowest + 1, BANDS);
        let columns = (CELLS_MOST / (highest - lowest)).min(COLUMNS_MOST);
        // Columns are narrow where a run is short, and a run of a second still has its tenths.
        let all = (ends * 1e9 / INTERVAL_NS as f64).ceil() as usize;
        let thinned = Thinned::new(series, columns, all.div_ceil(columns).max(1));
        let cells = thinned.stretches.iter().enumerate().flat_map(|(column, stretch)| {
            let first = stretch.sum.first_band - if stretch.sum.bands.is_empty() { 0 } else { lowest };
            let bands = stretch.sum.bands.iter().enumerate().filter(|(_, count)| **count > 0);
            bands.map(move |(band, count)| (column, first + band, *count)).collect::<Vec<_>>()
        });
        Some(Heat {
            step: thinned.step(),
            ends,
            phases,
            bounds: (lowest..=highest).map(band_begins_ns).collect(),
            cells: cells.collect(),
            step_said: thinned.step_said(),
        })
    }

    /// The chart of it.
    pub fn chart(self) -> Chart {
        let most = self.cells.iter().map(|(_, _, count)| *count).max().unwrap_or_default();
        let caption = format!(
            "How many requests took how long, when: a cell is a {} wide and half an octave high, and its colour the stronger the more \
             requests ended in it, up to {} (each tenfold is the same step). Failures are not in it.",
            self.step_said,
            count(f64::from(most))
        );
        Chart::new("heat", "Map of latencies over time".into(), caption, &self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Series;

    #[test]
    fn every_request_is_in_a_cell_however_long_the_run() {
        for tenths in [1, 30, 36_000] {
            let mut series = Series::default();
            (0..tenths).for_each(|at| series.record(at * INTERVAL_NS, 10_000 << (at % 20), false));
            let ends = tenths as f64 / 10.0;
            let heat = Heat::new(&series.0, ends, &[]).expect("something was answered");
            let all: u64 = heat.cells.iter().map(|(_, _, count)| u64::from(*count)).sum();
            assert_eq!(all, tenths);
            assert!(heat.cells.len() <= CELLS_MOST, "{}", heat.cells.len());
            assert!(heat.cells.iter().all(|(_, band, _)| band + 1 < heat.bounds.len()));
        }
    }

    #[test]
    fn where_all_failed_there_is_no_map() {
        let mut series = Series::default();
        series.record(0, 1_000_000, true);
        assert!(Heat::new(&series.0, 0.1, &[]).is_none());
    }
}
