//! Whether an arm's commits are what its class promises, by what the lab saw: no driver is believed here.

use crate::estimate::ArmStatistics;
use crate::kit::DurabilityClass;
use crate::plan::{PlannedArm, PlannedCase, PlannedLoad};
use crate::sample::SyncCount;

/// The share of its commits that must have awaited the disk: one in ten may have had nothing to keep.
const KEPT_SHARE_MIN: f64 = 0.9;

/// The least share of the typical recorded commit's bytes that a commit must write while it is timed. A commit that
/// makes a checkpoint writes its bytes twice, and one that makes none writes them once.
const WRITTEN_SHARE_MIN: f64 = 0.25;

/// Fewer bytes a commit than these are not compared: replies to the lab are among them.
const WRITTEN_BYTES_MIN: f64 = 64.0;

/// Of its recorded syncs, the share that must be flushes while it is timed: the system may make one flush of several.
const FLUSHED_SHARE_MIN: f64 = 0.5;

/// Why an arm cannot be ranked in its class: its commits did not await the disk, or did other work while they were timed than
/// while they were recorded.
pub(super) fn broken_promise(
    case: &PlannedCase,
    planned: &PlannedArm,
    measured: &ArmStatistics,
) -> Option<String> {
    if case.load.as_ref().is_some_and(|load| !load.commits(planned)) {
        return None;
    }
    let recorded = measured.syncs.as_ref().filter(|syncs| syncs.unavailable.is_none() && syncs.commits > 0);
    let awaits = planned.awaits_disk();
    let why = recorded
        .filter(|_| awaits)
        .and_then(not_kept)
        .or_else(|| if awaits { not_flushed(case, recorded, measured) } else { None })
        .or_else(|| recorded.filter(|_| planned.class != DurabilityClass::None).and_then(not_written))
        .or_else(|| recorded.and_then(|recorded| writes_less(case, recorded, measured)))?;
    let promise = if awaits {
        format!("class {} promises that a commit awaits the disk, but ", planned.class)
    } else {
        String::new()
    };
    Some(format!("{}: {promise}{why}", planned.name))
}

fn not_kept(recorded: &SyncCount) -> Option<String> {
    let (kept, commits) = (recorded.durable_commits?, recorded.commits);
    if kept as f64 >= commits as f64 * KEPT_SHARE_MIN {
        return None;
    }
    let idle = match recorded.idle_syncs {
        0 => String::new(),
        idle => format!("; syncs of files that had not changed, over all of them: {idle}"),
    };
    Some(format!(
        "of {commits} recorded commits {kept} had been kept before they were acknowledged (syncs of the median commit: \
         {}{idle})",
        recorded.syncs_per_commit
    ))
}

/// A write that returns only when it is durable need not be a flush of the whole device: where most syncs are such writes,
/// flushes tell nothing.
fn not_flushed(case: &PlannedCase, recorded: Option<&SyncCount>, measured: &ArmStatistics) -> Option<String> {
    let seen = &measured.witnessed;
    let while_timed = seen.commit_flushes.map(|flushes| (flushes, "it was timed"));
    let in_stretch = seen.latency_commit_flushes.map(|flushes| (flushes, "its latencies were kept"));
    let least = while_timed.into_iter().chain(in_stretch).min_by(|one, other| one.0.total_cmp(&other.0));
    let (flushes, when) = least?;
    if recorded.is_some_and(|recorded| recorded.synchronous_writes > recorded.syncs / 2) {
        return None;
    }
    let syncs = recorded.map_or(1.0, |recorded| recorded.syncs_per_commit as f64);
    // What commits in a case without uploads need not await the disk, unless it did so while it was recorded.
    let promised = if case.load.as_ref().is_none_or(PlannedLoad::uploads) { 1.0 } else { 0.0 };
    let asked = (syncs * FLUSHED_SHARE_MIN).max(promised);
    (flushes < KEPT_SHARE_MIN * asked / case.sharers()).then(|| {
        let asked = recorded.map_or(String::new(), |recorded| {
            format!(", and while it was recorded it asked for {}", recorded.syncs_per_commit)
        });
        format!(
            "while {when} all disks together completed {flushes:.2} flushes for each of its commits{asked}"
        )
    })
}

/// The process may be killed after any commit that it acknowledged, and what is not written by then is lost with it.
fn not_written(recorded: &SyncCount) -> Option<String> {
    let (written, commits) = (recorded.written_commits?, recorded.commits);
    (!recorded.maps_records() && (written as f64) < commits as f64 * KEPT_SHARE_MIN).then(|| {
        format!("of {commits} recorded commits {written} had been written before they were acknowledged")
    })
}

/// What a driver has other processes write, or writes in a way that the recorder refuses, is not seen alike in both.
fn writes_less(case: &PlannedCase, recorded: &SyncCount, measured: &ArmStatistics) -> Option<String> {
    if measured.witnessed.children.is_some_and(|children| children > 0) || !recorded.refused.is_empty() {
        return None;
    }
    let recorded = recorded.bytes_of_typical_commit().filter(|bytes| *bytes >= WRITTEN_BYTES_MIN)?;
    let timed = measured.witnessed.commit_written_bytes?;
    (timed < recorded * WRITTEN_SHARE_MIN / case.sharers()).then(|| {
        format!(
            "it wrote {timed:.0} bytes a commit while it was timed, and {recorded:.0} while it was recorded"
        )
    })
}
