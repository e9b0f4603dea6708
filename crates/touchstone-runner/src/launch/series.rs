//! The latencies of a slice by the clock, which a driver writes down itself: without all of them its record could not be judged.

use super::{Played, discard};
use crate::session::{SessionError, SessionResult};
use std::fs;
use std::path::Path;
use touchstone::sample::{read_series, series_bytes_max};

/// Refuses, and removes, what does not hold every transaction that was played.
pub(super) fn check(path: &Path, played: &Played) -> SessionResult<()> {
    let wrong = wrong_with(path, played);
    let Some(what) = wrong else { return Ok(()) };
    discard(path);
    Err(SessionError::Rubbish(format!("its series of latencies: {what}")))
}

fn wrong_with(path: &Path, played: &Played) -> Option<String> {
    let lasts_ms = played.lanes.iter().filter_map(|lane| lane.lasts_ms).max().unwrap_or(0);
    let lanes = played.lanes.len();
    let wanted = transactions(played);
    let most = series_bytes_max(lanes, lasts_ms, wanted);
    match fs::symlink_metadata(path) {
        Ok(file) if file.is_file() && file.len() <= most => {}
        Ok(file) if file.is_file() => {
            return Some(format!(
                "its {} bytes are too many for the {wanted} transactions that were played",
                file.len()
            ));
        }
        _ => return Some("there is no such file".into()),
    }
    let windows = match fs::read(path)
        .map_err(|error| error.to_string())
        .and_then(|bytes| read_series(&bytes, lanes, lasts_ms))
    {
        Ok(windows) => windows,
        Err(what) => return Some(what),
    };
    let kept = windows.iter().flat_map(|window| window.reads.values().chain(window.writes.values()));
    let kept: u64 = kept.fold(0, |sum, count| sum.saturating_add(*count));
    (kept != wanted).then(|| format!("it has {kept} transactions, and {wanted} were played"))
}

/// How many transactions were played. Of each round of a lane the last may have fewer operations than the others.
fn transactions(played: &Played) -> u64 {
    let lanes = played.lanes.iter().zip(&played.sample.lanes);
    let of_lane = lanes.map(|(lane, sample)| {
        let (done, transaction) = (sample.played.unwrap_or(0), lane.transaction.unwrap_or(1));
        done / lane.count * lane.count.div_ceil(transaction) + (done % lane.count).div_ceil(transaction)
    });
    of_lane.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::{Played, check};
    use std::fs;
    use touchstone::sample::Witness;
    use touchstone_protocol::{Lane, LaneSample, Sample, Usage, Verb};

    /// One window with so many transactions that read.
    fn series(transactions: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        [1_u32, 1].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        [100, transactions].iter().for_each(|number: &u64| bytes.extend(number.to_le_bytes()));
        bytes.extend(0_u32.to_le_bytes());
        bytes
    }

    fn played(operations: u64) -> Played {
        let lane = Lane { lasts_ms: Some(50), transaction: Some(4), ..Lane::new(Verb::Mix, 0, 10) };
        let answer = LaneSample { played: Some(operations), ..LaneSample::default() };
        let sample = Sample { wall_ns: 1, cpu_ns: 1, lanes: vec![answer], usage: Usage::default() };
        Played { lanes: vec![lane], sample, witness: Witness::default(), wrong: None, commits: None }
    }

    /// A round of ten operations is three transactions of four, and half a round two.
    #[test]
    fn every_transaction_stands_in_it_and_what_is_no_such_file_does_not_stay() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("series");
        fs::write(&path, series(8)).expect("there is room");
        check(&path, &played(25)).expect("two rounds and a half are eight transactions");
        let refused = |bytes: Vec<u8>, part: &str| {
            fs::write(&path, bytes).expect("there is room");
            let why = check(&path, &played(25)).expect_err("it is wrong").to_string();
            assert!(why.contains(part) && !path.exists(), "{why}");
        };
        refused(series(7), "7 transactions, and 8");
        refused(series(8)[..10].to_vec(), "cut off");
        refused(vec![0; 64 << 20], "too many for the 8 transactions");
        let why = check(&path, &played(25)).expect_err("it is not there").to_string();
        assert!(why.contains("no such file"), "{why}");
        // Whoever read this would read for ever.
        std::os::unix::fs::symlink("/dev/zero", &path).expect("there is room");
        check(&path, &played(25)).expect_err("it is no file");
        assert!(path.symlink_metadata().is_err());
        fs::create_dir_all(path.join("within")).expect("there is room");
        check(&path, &played(25)).expect_err("it is no file");
        assert!(path.symlink_metadata().is_err(), "a folder would make the whole record unreadable");
    }
}
