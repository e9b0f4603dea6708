//! Copying memory: what no subject that copies its answers can pass.

use super::turn::Turn;
use super::units::{size, throughput};
use crate::environment::Limits;
use crate::environment::available_memory_bytes;
use crate::error::Result;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::time::{Duration, Instant};
use touchstone::statistics::median;

/// What is copied: within the nearest cache, within a farther one, within none.
pub(super) const SIZES_BYTES: [usize; 3] = [4 << 10, 1 << 20, 256 << 20];

/// What pages are copied out of: no cache holds it.
const FILE_BYTES: usize = 128 << 20;

/// What is copied between two readings of the clock, at the least.
const BATCH_BYTES: usize = 4 << 20;

/// Memory is made in steps of this, with a look at the time after each.
const STEP_BYTES: usize = 8 << 20;

/// Both sides together take no more than this part of the memory there is, so that nothing is pushed out.
const MEMORY_SHARE: u64 = 4;

/// How long a size is copied, at the most.
const COPY_LIMIT: Duration = Duration::from_millis(200);

/// How quickly memory of one size is copied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopyRate {
    /// What is copied at once.
    pub size_bytes: usize,
    /// Bytes copied in a second, by the median copy; none where it could not be measured.
    pub bytes_per_s: Option<f64>,
    /// Why it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<String>,
}

/// Copies memory of every size.
pub(super) fn measure(limits: &Limits, turn: &Turn<'_>) -> Result<Vec<CopyRate>> {
    let mut rates = Vec::new();
    for size_bytes in SIZES_BYTES {
        let copied = if is_free(size_bytes, limits) {
            copy(size_bytes, turn).ok_or_else(|| "the time was up".to_owned())
        } else {
            Err("too little memory is free".to_owned())
        };
        turn.go_on()?;
        rates.push(CopyRate {
            size_bytes,
            bytes_per_s: copied.as_ref().ok().copied(),
            unmeasured: copied.err(),
        });
    }
    Ok(rates)
}

/// How quickly memory is copied that no cache holds.
pub(super) fn measure_largest(limits: &Limits, turn: &Turn<'_>) -> Option<f64> {
    let size_bytes = SIZES_BYTES[SIZES_BYTES.len() - 1];
    is_free(size_bytes, limits).then(|| copy(size_bytes, turn)).flatten()
}

/// How often so many bytes are copied in a second, by the quickest batch: out of memory that no cache holds into the same place each
/// time, as one reads a file that is in the page cache. None where it could not be measured.
pub(super) fn page_copies(sizes_bytes: &[usize], limits: &Limits, turn: &Turn<'_>) -> Vec<Option<f64>> {
    let from = is_free(FILE_BYTES, limits).then(|| filled(FILE_BYTES, 0x5a, turn)).flatten();
    let copies = |(place, bytes): (usize, &usize)| {
        quickest_copies(from.as_ref()?, *bytes, &turn.part(sizes_bytes.len() - place, COPY_LIMIT))
    };
    sizes_bytes.iter().enumerate().map(copies).collect()
}

fn quickest_copies(from: &[u8], bytes: usize, turn: &Turn<'_>) -> Option<f64> {
    // Sizes are a suite's, which may have any.
    if bytes == 0 || bytes > from.len() {
        return None;
    }
    let mut to = vec![0xa5; bytes];
    let mut quickest_ns = None;
    let mut batches = from.chunks_exact((BATCH_BYTES / bytes).max(1) * bytes).cycle();
    while quickest_ns.is_none() || !turn.over() {
        let batch = batches.next()?;
        let begun = Instant::now();
        for page in batch.chunks_exact(bytes) {
            to.copy_from_slice(black_box(page));
            black_box(&mut to);
        }
        let page_ns = begun.elapsed().as_nanos().max(1) as f64 / (batch.len() / bytes) as f64;
        quickest_ns = Some(quickest_ns.map_or(page_ns, |known: f64| known.min(page_ns)));
    }
    quickest_ns.map(|ns| 1e9 / ns)
}

/// Whether both sides of a copy take a small part of the memory there is.
fn is_free(size_bytes: usize, limits: &Limits) -> bool {
    2 * size_bytes as u64 <= available_memory_bytes(limits).unwrap_or(u64::MAX) / MEMORY_SHARE
}

/// None when the memory could not even be made in time.
fn copy(size_bytes: usize, turn: &Turn<'_>) -> Option<f64> {
    let from = filled(size_bytes, 0x5a, turn)?;
    let mut to = filled(size_bytes, 0xa5, turn)?;
    let turn = turn.part(1, COPY_LIMIT);
    let copies = (BATCH_BYTES / size_bytes).max(1);
    let mut batches_ns = Vec::new();
    while batches_ns.is_empty() || !turn.over() {
        let begun = Instant::now();
        for _ in 0..copies {
            to.copy_from_slice(black_box(&from));
            black_box(&mut to);
        }
        batches_ns.push(begun.elapsed().as_nanos().max(1) as f64);
    }
    Some((copies * size_bytes) as f64 * 1e9 / median(&batches_ns))
}

/// Memory that is written already: the first touch of a page costs more than copying it.
fn filled(size_bytes: usize, byte: u8, turn: &Turn<'_>) -> Option<Vec<u8>> {
    let mut memory = Vec::new();
    memory.try_reserve_exact(size_bytes).ok()?;
    while memory.len() < size_bytes {
        if size_bytes > STEP_BYTES && turn.over() {
            return None;
        }
        memory.resize((memory.len() + STEP_BYTES).min(size_bytes), byte);
    }
    Some(memory)
}

/// What the rates mean for reading.
pub(super) fn meaning(rates: &[CopyRate]) -> Option<String> {
    let figure = |rate: &CopyRate| Some((size(rate.size_bytes as u64), throughput(rate.bytes_per_s?)));
    let (largest, rate) = rates.iter().rev().find_map(figure)?;
    Some(format!("Answers of {largest} that are copied once cannot come at more than {rate}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::turn::Timetable;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn small_copies_are_measured_even_without_time_and_large_ones_are_not() {
        let stop = AtomicBool::new(false);
        let timetable = Timetable::new(Instant::now(), Duration::ZERO, &stop);
        let rates = measure(&Limits::default(), &timetable.memory()).unwrap();
        assert!(rates[0].bytes_per_s.unwrap() > 0.0);
        assert_eq!(rates[2].bytes_per_s, None);
        assert!(rates[2].unmeasured.is_some());
        assert!(meaning(&rates).is_some());
        assert_eq!(meaning(&[]), None);
    }

    #[test]
    fn a_page_is_copied_out_of_memory_at_every_size_or_it_is_said_that_it_was_not() {
        let stop = AtomicBool::new(false);
        let timetable = Timetable::new(Instant::now(), Duration::from_secs(2), &stop);
        let copies = page_copies(&[4096, 65_536], &Limits::default(), &timetable.memory());
        assert_eq!(copies.len(), 2);
        assert!(copies.iter().flatten().all(|copies| *copies > 0.0));
        let nothing = page_copies(&[4096], &Limits::with_memory(64 << 20), &timetable.memory());
        assert_eq!(nothing, [None]);
    }

    #[test]
    fn a_group_with_little_memory_is_not_filled() {
        let stop = AtomicBool::new(false);
        let timetable = Timetable::new(Instant::now(), Duration::from_secs(5), &stop);
        let limits = Limits::with_memory(64 << 20);
        let rates = measure(&limits, &timetable.clock()).unwrap();
        assert_eq!(rates[2].unmeasured.as_deref(), Some("too little memory is free"));
    }
}
