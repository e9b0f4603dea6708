//! Whether an arm's commits are what its class promises, by what the lab saw: no driver is believed here.

use crate::estimate::ArmStatistics;
use crate::plan::PlannedArm;
use crate::sample::SyncCount;

/// The share of its commits that must have awaited the disk: one in ten may have had nothing to keep.
const KEPT_SHARE_MIN: f64 = 0.9;

/// The least share of the recorded pass's bytes that a commit must write while it is timed. Between checkpoints it writes
/// once what it writes twice with one.
const WRITTEN_SHARE_MIN: f64 = 0.25;

/// Fewer bytes a commit than these are not compared: replies to the lab are among them.
const WRITTEN_BYTES_MIN: f64 = 64.0;

/// Why an arm cannot be ranked in its class: its commits did not await the disk, or did other work while they were timed than
/// while they were recorded.
pub(super) fn broken_promise(planned: &PlannedArm, measured: &ArmStatistics) -> Option<String> {
    let recorded = measured.syncs.as_ref().filter(|syncs| syncs.unavailable.is_none() && syncs.commits > 0);
    let awaits = planned.awaits_disk();
    let why = recorded
        .filter(|_| awaits)
        .and_then(not_kept)
        .or_else(|| recorded.filter(|_| awaits).and_then(|recorded| not_flushed(recorded, measured)))
        .or_else(|| recorded.and_then(|recorded| writes_less(recorded, measured)))?;
    let promise = if awaits {
        format!("class {} promises that a commit awaits the disk, but ", planned.class)
    } else {
        String::new()
    };
    Some(format!("{}: {promise}{why}", planned.name))
}

fn not_kept(recorded: &SyncCount) -> Option<String> {
    let (kept, commits) = (recorded.durable_commits, recorded.commits);
    if kept as f64 >= commits as f64 * KEPT_SHARE_MIN {
        return None;
    }
    let idle = match recorded.idle_syncs {
        0 => String::new(),
        idle => format!("; syncs of what had not changed, over all of them: {idle}"),
    };
    Some(format!(
        "of {commits} recorded commits {kept} had been kept before they were acknowledged (syncs of the median commit: \
         {}{idle})",
        recorded.syncs_per_commit
    ))
}

/// A write that returns only when it is durable need not be a flush of the whole device.
fn not_flushed(recorded: &SyncCount, measured: &ArmStatistics) -> Option<String> {
    let flushes = measured.witnessed.commit_flushes.filter(|_| recorded.synchronous_writes == 0)?;
    (flushes < KEPT_SHARE_MIN).then(|| {
        format!(
            "while it was timed all disks together completed {flushes:.2} flushes for each of its commits, and while it was \
             recorded it asked for {}",
            recorded.syncs_per_commit
        )
    })
}

fn writes_less(recorded: &SyncCount, measured: &ArmStatistics) -> Option<String> {
    let recorded = recorded.bytes_per_commit().filter(|bytes| *bytes >= WRITTEN_BYTES_MIN)?;
    let timed = measured.witnessed.commit_written_bytes?;
    (timed < recorded * WRITTEN_SHARE_MIN).then(|| {
        format!(
            "it wrote {timed:.0} bytes a commit while it was timed, and {recorded:.0} while it was recorded"
        )
    })
}
