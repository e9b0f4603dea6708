//! The latencies of a slice by the clock, which a driver writes down itself: without all of them its record could not be judged.

use super::{Played, discard};
use crate::session::{SessionError, SessionResult};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use touchstone::sample::{Window, read_series, series_bytes_max};
use touchstone_protocol::{SERIES_DIGITS, SERIES_WINDOW_NS};

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
        Ok(_) => return Some("it is no regular file".into()),
        Err(error) if error.kind() == ErrorKind::NotFound => return Some("there is no such file".into()),
        Err(error) => return Some(error.to_string()),
    }
    let windows = match fs::read(path)
        .map_err(|error| error.to_string())
        .and_then(|bytes| read_series(&bytes, lanes, lasts_ms))
    {
        Ok(windows) => windows,
        Err(what) => return Some(what),
    };
    let kept = windows.iter().flat_map(|window| window.reads.iter().chain(&window.writes));
    let kept: u64 = kept.fold(0, |sum, (_, count)| sum.saturating_add(*count));
    if kept != wanted {
        return Some(format!("it has {kept} transactions, and {wanted} were played"));
    }
    contradiction(&windows, played, lasts_ms)
}

/// What it says otherwise than the sample: how many wrote, and when they ended. Each transaction takes from the end of the one
/// before to its own, so those of a lane take all of its time, and no more of it than has gone by.
fn contradiction(windows: &[Window], played: &Played, lasts_ms: u64) -> Option<String> {
    let wrote = windows.iter().flat_map(|window| &window.writes).map(|(_, count)| count).sum::<u64>();
    if let Some(commits) = played.commits.filter(|commits| *commits != wrote) {
        return Some(format!("it has {wrote} transactions that wrote, and {commits} did"));
    }
    let lanes = &played.sample.lanes;
    let longest_ns = lanes.iter().map(|lane| lane.wall_ns).max().unwrap_or(0);
    if windows.len() as u64 > longest_ns / SERIES_WINDOW_NS + 1 {
        return Some(format!("it has {} windows, and {longest_ns} ns were played", windows.len()));
    }
    let mut taken_ns = 0;
    for (place, window) in windows.iter().enumerate() {
        let all = window.reads.iter().chain(&window.writes);
        taken_ns += all.map(|(ns, count)| u128::from(*ns) * u128::from(*count)).sum::<u128>();
        let end_ns = (place as u64 + 1) * SERIES_WINDOW_NS;
        let gone_ns = lanes.iter().map(|lane| u128::from(lane.wall_ns.min(end_ns))).sum();
        if least(taken_ns) > gone_ns {
            return Some(format!(
                "its transactions took {taken_ns} ns of the {gone_ns} until the end of window {place}"
            ));
        }
    }
    let lasted_ns = u128::from(lasts_ms) * 1_000_000 * lanes.len() as u128;
    (taken_ns < lasted_ns)
        .then(|| format!("its transactions took {taken_ns} ns together, and its lanes lasted {lasted_ns}"))
}

/// What was rounded upwards with three digits was no less than this.
fn least(ns: u128) -> u128 {
    ns - ns / 10_u128.pow(SERIES_DIGITS.into())
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

    /// What eight transactions take that fill the 50 ms of their lane.
    const EIGHTH_NS: u64 = 6_250_000;

    /// Windows, each of so many transactions that read, or wrote, and took so long; none where that is 0.
    fn windows(windows: &[[(u64, u64); 2]]) -> Vec<u8> {
        let mut bytes = (windows.len() as u32).to_le_bytes().to_vec();
        for (ns, transactions) in windows.iter().flatten() {
            bytes.extend(u32::from(*transactions > 0).to_le_bytes());
            if *transactions > 0 {
                [*ns, *transactions].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
            }
        }
        bytes
    }

    /// One window with so many transactions that read.
    fn series(transactions: u64) -> Vec<u8> {
        windows(&[[(EIGHTH_NS, transactions), (0, 0)]])
    }

    fn played(operations: u64) -> Played {
        let lane = Lane { lasts_ms: Some(50), transaction: Some(4), ..Lane::new(Verb::Mix, 0, 10) };
        let answer = LaneSample { played: Some(operations), wall_ns: 50_100_000, ..LaneSample::default() };
        let sample = Sample { wall_ns: 50_100_000, cpu_ns: 1, lanes: vec![answer], usage: Usage::default() };
        Played { lanes: vec![lane], sample, witness: Witness::default(), wrong: None, commits: None }
    }

    /// Found by an adversary: latencies of a nanosecond, of centuries, of the other kind, or of a time to come were believed.
    #[test]
    fn it_says_nothing_else_than_the_sample() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("series");
        let mut played = played(25);
        played.commits = Some(2);
        let checked = |of: &[[(u64, u64); 2]]| {
            fs::write(&path, windows(of)).expect("there is room");
            check(&path, &played).map_err(|error| error.to_string())
        };
        checked(&[[(EIGHTH_NS, 6), (EIGHTH_NS, 2)]]).expect("it says the same");
        let rounded = EIGHTH_NS + EIGHTH_NS / 1024;
        checked(&[[(rounded, 6), (rounded, 2)]]).expect("three digits are rounded upwards");
        for (wrong, part) in [
            (&[[(EIGHTH_NS, 8), (0, 0)]][..], "0 transactions that wrote, and 2 did"),
            (&[[(1, 6), (1, 2)]], "took 8 ns together, and its lanes lasted 50000000"),
            (&[[(EIGHTH_NS, 6), (u64::MAX, 2)]], "of the 50100000 until the end of window 0"),
            (&[[(0, 0), (0, 0)], [(EIGHTH_NS, 6), (EIGHTH_NS, 2)]], "2 windows, and 50100000 ns were played"),
        ] {
            let why = checked(wrong).expect_err("it contradicts the sample");
            assert!(why.contains(part), "{why}");
        }
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
        let why = check(&path, &played(25)).expect_err("it is no file").to_string();
        assert!(why.contains("no regular file"), "{why}");
        assert!(path.symlink_metadata().is_err());
        fs::create_dir_all(path.join("within")).expect("there is room");
        check(&path, &played(25)).expect_err("it is no file");
        assert!(path.symlink_metadata().is_err(), "a folder would make the whole record unreadable");
    }
}
