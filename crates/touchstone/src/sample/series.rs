//! Latencies of a slice by the clock, tenth by tenth of a second, as a kit writes them.

use touchstone_protocol::{SERIES_NS_MAX, SERIES_WINDOW_NS};

/// How often each latency was met: nanoseconds, ascending, and how many transactions took so long.
pub type Counts = Vec<(u64, u64)>;

/// Puts the numbers of the same latency together, and latencies in order.
pub(super) fn add_up(counts: &mut Counts) {
    counts.sort_unstable_by_key(|(ns, _)| *ns);
    counts.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        is_same
    });
}

/// The transactions that ended in one tenth of a second, of all lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Of those that only read.
    pub reads: Counts,
    /// Of those that write.
    pub writes: Counts,
}

/// Reads what a kit has written of so many lanes that lasted `lasts_ms`, and adds their windows up.
///
/// # Errors
/// What is wrong with the bytes.
pub fn read_series(bytes: &[u8], lanes: usize, lasts_ms: u64) -> Result<Vec<Window>, String> {
    let mut bytes = Bytes(bytes);
    let mut windows: Vec<Window> = Vec::new();
    for _ in 0..lanes {
        let count = bytes.u32()? as usize;
        if count as u64 > windows_max(lasts_ms) {
            return Err(format!("it has {count} windows of {lasts_ms} ms"));
        }
        for place in 0..count {
            if place == windows.len() {
                windows.push(Window::default());
            }
            bytes.add_counts(&mut windows[place].reads)?;
            bytes.add_counts(&mut windows[place].writes)?;
        }
    }
    if !bytes.0.is_empty() {
        return Err(format!("{} bytes come after the last of its {lanes} lanes", bytes.0.len()));
    }
    Ok(windows)
}

/// How long a series may be of so many lanes that lasted `lasts_ms` and played so many transactions: whatever is longer holds more.
pub fn series_bytes_max(lanes: usize, lasts_ms: u64, transactions: u64) -> u64 {
    // The number of windows; of each two numbers of latencies; and of each latency its length and how often it was met.
    let windows = windows_max(lasts_ms).saturating_mul(8).saturating_add(4).saturating_mul(lanes as u64);
    transactions.saturating_mul(16).saturating_add(windows)
}

/// A lane ends with its last transaction, which may take as long as it likes, but not a day.
fn windows_max(lasts_ms: u64) -> u64 {
    lasts_ms.saturating_mul(1_000_000).saturating_add(SERIES_NS_MAX) / SERIES_WINDOW_NS + 1
}

/// What is left to be read.
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or("it is cut off")?;
        self.0 = rest;
        Ok(*taken)
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, String> {
        self.take().map(u64::from_le_bytes)
    }

    fn add_counts(&mut self, counts: &mut Counts) -> Result<(), String> {
        let (mut last, is_of_first_lane) = (0, counts.is_empty());
        for _ in 0..self.u32()? {
            let (ns, count) = (self.u64()?, self.u64()?);
            if count == 0 || count > 1 << 53 || (ns <= last && last > 0) {
                return Err("its latencies do not ascend, or are met no or too many times".into());
            }
            last = ns;
            counts.push((ns, count));
        }
        if !is_of_first_lane {
            add_up(counts);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two lanes: of two windows, and of one.
    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        let counts = |bytes: &mut Vec<u8>, counts: &[(u64, u64)]| {
            bytes.extend((counts.len() as u32).to_le_bytes());
            for (ns, count) in counts {
                bytes.extend(ns.to_le_bytes());
                bytes.extend(count.to_le_bytes());
            }
        };
        bytes.extend(2_u32.to_le_bytes());
        counts(&mut bytes, &[(100, 5), (200, 1)]);
        counts(&mut bytes, &[]);
        counts(&mut bytes, &[]);
        counts(&mut bytes, &[(9_000, 2)]);
        bytes.extend(1_u32.to_le_bytes());
        counts(&mut bytes, &[(100, 3)]);
        counts(&mut bytes, &[(7_000, 1)]);
        bytes
    }

    #[test]
    fn the_windows_of_all_lanes_are_added_up() {
        let windows = read_series(&written(), 2, 200).expect("it is whole");
        let first = Window { reads: Counts::from([(100, 8), (200, 1)]), writes: Counts::from([(7_000, 1)]) };
        let second = Window { reads: Counts::new(), writes: Counts::from([(9_000, 2)]) };
        assert_eq!(windows, [first, second]);
    }

    #[test]
    fn what_is_damaged_is_refused() {
        let whole = written();
        for cut in 0..whole.len() {
            assert!(read_series(&whole[..cut], 2, 200).is_err(), "{cut}");
        }
        for (lanes, part) in [(1, "after the last"), (3, "cut off")] {
            let why = read_series(&whole, lanes, 200).expect_err("it has two lanes");
            assert!(why.contains(part), "{why}");
        }
        let mut many = whole.clone();
        many[3] = 1;
        assert!(read_series(&many, 2, 200).expect_err("there is no such time").contains("windows"));
        let mut none = whole;
        none[16] = 0;
        assert!(read_series(&none, 2, 200).expect_err("it is met no time").contains("ascend"));
    }
}
