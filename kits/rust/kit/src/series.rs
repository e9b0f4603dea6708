//! How long transactions took, tenth by tenth of a second: where a checkpoint or a flush holds others up, it is seen when.

use crate::clock::elapsed_ns;
use hdrhistogram::Histogram;
use std::time::Instant;
use touchstone_protocol::{SERIES_DIGITS, SERIES_NS_MAX, SERIES_WINDOW_NS};

/// The transactions of one lane. Those that only read and those that write are kept apart.
pub(crate) struct Series {
    start: Instant,
    reads: Histogram<u64>,
    writes: Histogram<u64>,
    /// How many windows are over, and these as bytes.
    windows: u32,
    bytes: Vec<u8>,
}

impl Series {
    /// The first window starts at `start`.
    pub(crate) fn starting(start: Instant) -> Series {
        let empty =
            || Histogram::new_with_bounds(1, SERIES_NS_MAX, SERIES_DIGITS).expect("such bounds are possible");
        Series { start, reads: empty(), writes: empty(), windows: 0, bytes: Vec::new() }
    }

    /// Counts a transaction in the window in which it ended.
    pub(crate) fn record(&mut self, begun: Instant, end: Instant, writes: bool) {
        let window = elapsed_ns(self.start, end) / SERIES_WINDOW_NS;
        while u64::from(self.windows) < window {
            self.end_window();
        }
        let histogram = if writes { &mut self.writes } else { &mut self.reads };
        histogram.saturating_record(elapsed_ns(begun, end));
    }

    fn end_window(&mut self) {
        for histogram in [&mut self.reads, &mut self.writes] {
            let begin = self.bytes.len();
            self.bytes.extend(0_u32.to_le_bytes());
            let mut different = 0_u32;
            for at in histogram.iter_recorded() {
                self.bytes.extend(at.value_iterated_to().to_le_bytes());
                self.bytes.extend(at.count_at_value().to_le_bytes());
                different += 1;
            }
            self.bytes[begin..begin + size_of::<u32>()].copy_from_slice(&different.to_le_bytes());
            histogram.reset();
        }
        self.windows += 1;
    }

    /// As in the file: the number of windows, then of each the reads and the writes. Of these the number of different latencies,
    /// and of each its nanoseconds and how many transactions took so long.
    pub(crate) fn encode(mut self, bytes: &mut Vec<u8>) {
        self.end_window();
        bytes.extend(self.windows.to_le_bytes());
        bytes.extend(self.bytes);
    }
}
