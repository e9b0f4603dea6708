//! A page: a record, checksummed with what fills the rest.

use crc32fast::Hasher;
use std::ops::Range;
use touchstone_kit::{Failure, FailureKind, Row, failure};

const CHECKSUM: Range<usize> = 0..4;
const BYTES: Range<usize> = 4..8;
const NUMBER: Range<usize> = 8..16;
const VALUE: usize = NUMBER.end;

/// A page whose checksum was found right.
pub struct Page(Box<[u8]>);

impl Page {
    /// How many bytes of a page are not its record's value.
    pub const OVERHEAD: usize = VALUE;

    /// Takes the bytes that were read as page `number`.
    ///
    /// # Errors
    /// When they are of another page, or not what was written.
    pub fn check(bytes: Box<[u8]>, number: u64) -> Result<Page, Failure> {
        let sum = crc32fast::hash(&bytes[CHECKSUM.end..]);
        let is_within = word(&bytes, BYTES) as usize <= bytes.len() - VALUE;
        if word(&bytes, CHECKSUM) != sum || self::number(&bytes) != number || !is_within {
            return Err(failure(
                FailureKind::Corrupt,
                format!("page {number} is damaged: its checksum, number or length is wrong"),
            ));
        }
        Ok(Page(bytes))
    }

    /// Writes a row's page into `bytes`: what its value leaves is filled with bytes that no two pages have alike.
    ///
    /// # Errors
    /// When the value is longer than a page has room for.
    pub fn write(bytes: &mut [u8], row: &Row) -> Result<(), Failure> {
        let end = write_row(bytes, row)?;
        fill(&mut bytes[end..], row.key as u64);
        let sum = crc32fast::hash(&bytes[CHECKSUM.end..]);
        bytes[CHECKSUM].copy_from_slice(&sum.to_le_bytes());
        Ok(())
    }

    /// Its record.
    #[inline]
    pub fn row(&self) -> Row {
        Page::row_of(&self.0)
    }

    /// The record of a page's bytes, which are not checked: whatever they say, it lies within them.
    #[inline]
    pub fn row_of(bytes: &[u8]) -> Row {
        let length = (word(bytes, BYTES) as usize).min(bytes.len() - VALUE);
        Row { key: number(bytes) as i64, value: bytes[VALUE..VALUE + length].to_vec() }
    }
}

/// A page whose rest is filled and summed once, so that each further row of as many bytes costs no more than itself. Every page
/// has a number of its own, so no two are alike, though their rests are.
#[derive(Default)]
pub struct Form {
    /// Where the rest begins, and its checksum.
    rest: Option<(usize, Hasher)>,
}

impl Form {
    /// Writes a row's page into `bytes`, which are those that the last row was written into.
    ///
    /// # Errors
    /// When the value is longer than a page has room for.
    pub fn write(&mut self, bytes: &mut [u8], row: &Row) -> Result<(), Failure> {
        let end = write_row(bytes, row)?;
        let known = self.rest.take().filter(|(begin, _)| *begin == end);
        let (_, rest) = self.rest.insert(known.unwrap_or_else(|| {
            fill(&mut bytes[end..], 0);
            (end, summed(&bytes[end..]))
        }));
        let mut sum = summed(&bytes[CHECKSUM.end..end]);
        sum.combine(rest);
        bytes[CHECKSUM].copy_from_slice(&sum.finalize().to_le_bytes());
        Ok(())
    }
}

fn summed(bytes: &[u8]) -> Hasher {
    let mut hasher = Hasher::new();
    hasher.update(bytes);
    hasher
}

/// Writes everything of a row's page but its checksum and its rest: where that begins.
fn write_row(bytes: &mut [u8], row: &Row) -> Result<usize, Failure> {
    let room = bytes.len() - Page::OVERHEAD;
    if row.value.len() > room {
        let message = format!("a value of {} bytes; a page has room for {room}", row.value.len());
        return Err(failure(FailureKind::Unsupported, message));
    }
    let end = VALUE + row.value.len();
    bytes[BYTES].copy_from_slice(&(row.value.len() as u32).to_le_bytes());
    bytes[NUMBER].copy_from_slice(&row.key.to_le_bytes());
    bytes[VALUE..end].copy_from_slice(&row.value);
    Ok(end)
}

#[inline]
fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[NUMBER].try_into().expect("it is eight bytes"))
}

#[inline]
fn word(bytes: &[u8], range: Range<usize>) -> u32 {
    u32::from_le_bytes(bytes[range].try_into().expect("it is four bytes"))
}

/// The sequence of SplitMix64 (Steele, Lea and Flood, 2014), so that no storage can compress a page.
fn fill(bytes: &mut [u8], mut state: u64) {
    for chunk in bytes.chunks_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        chunk.copy_from_slice(&mixed.to_le_bytes()[..chunk.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(key: i64, value: &[u8]) -> Box<[u8]> {
        let mut bytes = vec![0; 4096].into_boxed_slice();
        Page::write(&mut bytes, &Row { key, value: value.to_vec() }).expect("it fits");
        bytes
    }

    #[test]
    fn a_page_gives_back_its_row_and_no_other() {
        let read = Page::check(page(7, b"seven"), 7).expect("it is whole");
        assert_eq!(read.row(), Row { key: 7, value: b"seven".to_vec() });
        assert!(Page::check(page(7, b"seven"), 8).is_err());
    }

    #[test]
    fn a_form_writes_whole_pages_of_rows_of_any_length() {
        let mut form = Form::default();
        let mut bytes = vec![0; 4096].into_boxed_slice();
        for (key, length) in [(1, 16), (2, 16), (3, 4096 - VALUE), (4, 0), (5, 16), (6, 16)] {
            let row = Row { key, value: vec![key as u8; length] };
            form.write(&mut bytes, &row).expect("it fits");
            assert_eq!(Page::check(bytes.clone(), key as u64).expect("it is whole").row(), row);
        }
        let long = Row { key: 7, value: vec![0; 4096] };
        assert!(form.write(&mut bytes, &long).is_err());
        form.write(&mut bytes, &Row { key: 8, value: vec![8; 16] }).expect("it fits");
        assert!(Page::check(bytes.clone(), 8).is_ok(), "what was refused left the form as it was");
    }

    #[test]
    fn every_bit_of_a_page_is_under_its_checksum() {
        let whole = page(7, b"seven");
        for bit in (0..whole.len() * 8).step_by(61) {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Page::check(damaged, 7).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_value_longer_than_a_page_is_refused() {
        let mut bytes = vec![0; 512].into_boxed_slice();
        let row = Row { key: 1, value: vec![0; 512 - Page::OVERHEAD + 1] };
        assert!(Page::write(&mut bytes, &row).expect_err("it does not fit").message.contains("room for 496"));
    }
}
