//! The latencies of a slice by the clock, which a driver writes down itself: without all of them its record could not be judged.

use super::Played;
use crate::session::{SessionError, SessionResult};
use std::fs;
use std::path::Path;
use touchstone::sample::read_series;

/// Refuses, and removes, what does not hold every transaction that was played.
pub(super) fn check(path: &Path, played: &Played) -> SessionResult<()> {
    let wrong = wrong_with(path, played);
    let Some(what) = wrong else { return Ok(()) };
    // What cannot be removed says so when the record is read.
    let _ = fs::remove_file(path);
    Err(SessionError::Rubbish(format!("its series of latencies: {what}")))
}

fn wrong_with(path: &Path, played: &Played) -> Option<String> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|file| file.is_file());
    let bytes = match fs::read(path) {
        Ok(bytes) if is_file => bytes,
        _ => return Some("it is no file that can be read".into()),
    };
    let lasts_ms = played.lanes.iter().filter_map(|lane| lane.lasts_ms).max().unwrap_or(0);
    let windows = match read_series(&bytes, played.lanes.len(), lasts_ms) {
        Ok(windows) => windows,
        Err(what) => return Some(what),
    };
    let kept = windows.iter().flat_map(|window| window.reads.values().chain(window.writes.values()));
    let kept: u64 = kept.fold(0, |sum, count| sum.saturating_add(*count));
    // Of each lane the last transaction of a round may have fewer operations than the others.
    let lanes = played.lanes.iter().zip(&played.sample.lanes);
    let wanted: u64 = lanes
        .map(|(lane, sample)| {
            let (done, transaction) = (sample.played.unwrap_or(0), lane.transaction.unwrap_or(1));
            done / lane.count * lane.count.div_ceil(transaction) + (done % lane.count).div_ceil(transaction)
        })
        .fold(0, u64::saturating_add);
    (kept != wanted).then(|| format!("it has {kept} transactions, and {wanted} were played"))
}
