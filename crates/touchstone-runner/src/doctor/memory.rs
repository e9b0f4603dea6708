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
    fn a_group_with_little_memory_is_not_filled() {
        let stop = AtomicBool::new(false);
        let timetable = Timetable::new(Instant::now(), Duration::from_secs(5), &stop);
        let limits = Limits::with_memory(64 << 20);
        let rates = measure(&limits, &timetable.clock()).unwrap();
        assert_eq!(rates[2].unmeasured.as_deref(), Some("too little memory is free"));
    }
}
