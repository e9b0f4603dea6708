//! The histograms of the load generator, as bytes of HdrHistogram's format V2. All have the same bounds, so whatever says otherwise is
//! damaged: it is refused before any room is made for it.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

/// Three digits: a figure is within 0.1 % of what was measured.
pub const LOAD_DIGITS: u8 = 3;
/// A day, in nanoseconds: what is longer counts as a day. One bound for all, so that the sum of parts has the bytes of the whole.
pub const LOAD_NS_MAX: u64 = 86_400_000_000_000;
/// More requests than these nobody has counted: numbers of JSON are exact up to here, and some thousand such sums fit 64 bits.
pub const LOAD_COUNT_MAX: u64 = 1 << 53;

/// What stands before the counts: the format, the length of the counts, an offset, the digits, both bounds and a ratio.
const HEAD_BYTES: usize = 40;
/// Format V2, not compressed.
const FORMAT: u32 = 0x1c84_9313;

/// Reads what [`V2Serializer`](hdrhistogram::serialization::V2Serializer) has written of a histogram with these bounds.
///
/// # Errors
/// What is wrong with the bytes.
pub fn read_load_histogram(bytes: &[u8]) -> Result<Histogram<u64>, String> {
    if bytes.len() < HEAD_BYTES {
        return Err("its histogram is cut off".into());
    }
    let u32_at = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let u64_at = |at: usize| u64::from(u32_at(at)) << 32 | u64::from(u32_at(at + 4));
    if u32_at(0) != FORMAT {
        return Err("it is no histogram".into());
    }
    if u64::from(u32_at(4)) != (bytes.len() - HEAD_BYTES) as u64 {
        return Err("its histogram is longer or shorter than it says".into());
    }
    if (u32_at(12), u64_at(16), u64_at(24)) != (u32::from(LOAD_DIGITS), 1, LOAD_NS_MAX) {
        return Err("its histogram has other bounds".into());
    }
    let mut rest = bytes;
    let read: Histogram<u64> =
        Deserializer::new().deserialize(&mut rest).map_err(|error| format!("it is no histogram: {error}"))?;
    if read.len() > LOAD_COUNT_MAX {
        return Err("its histogram counts more requests than anybody could send".into());
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer, V2Serializer};

    fn made() -> Histogram<u64> {
        let mut made =
            Histogram::new_with_bounds(1, LOAD_NS_MAX, LOAD_DIGITS).expect("such bounds are possible");
        [1_000, 2_000_000, 3_000_000_000].into_iter().for_each(|ns| made.saturating_record(ns));
        made
    }

    fn bytes_of(histogram: &Histogram<u64>) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(histogram, &mut bytes).expect("a vector takes all bytes");
        bytes
    }

    #[test]
    fn what_was_written_is_read() {
        assert_eq!(read_load_histogram(&bytes_of(&made())), Ok(made()));
    }

    /// Four bytes of a line asked for 4 GB, and others for an array that no machine has.
    #[test]
    fn what_is_damaged_is_refused_before_it_takes_room() {
        let bytes = bytes_of(&made());
        for cut in 0..bytes.len() {
            assert!(read_load_histogram(&bytes[..cut]).is_err(), "{cut}");
        }
        for (at, part) in [
            (0, "no histogram"),
            (4, "longer or shorter"),
            (12, "other bounds"),
            (23, "other bounds"),
            (24, "other bounds"),
        ] {
            let mut bytes = bytes.clone();
            bytes[at] = 0xff;
            let why = read_load_histogram(&bytes).expect_err("it is damaged");
            assert!(why.contains(part), "{at}: {why}");
        }
        let mut compressed = Vec::new();
        V2DeflateSerializer::new().serialize(&made(), &mut compressed).expect("a vector takes all bytes");
        assert!(read_load_histogram(&compressed).is_err());
        let mut many = made();
        many.record_n(5, LOAD_COUNT_MAX).expect("it is within the bounds");
        assert!(
            read_load_histogram(&bytes_of(&many)).expect_err("they are too many").contains("more requests")
        );
    }
}
