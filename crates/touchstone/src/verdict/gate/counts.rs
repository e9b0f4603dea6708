//! What a gate counts on both sides: syncs and bytes of the recorded commits.

use crate::estimate::{ArmStatistics, CaseStatistics};
use crate::plan::PlannedCase;
use crate::sample::SyncCount;
use crate::verdict::Comparison;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a gate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Count {
    /// Syncs of the median commit.
    #[serde(rename = "syncs per commit")]
    SyncsPerCommit,
    /// Syncs of every recorded commit and of closing.
    #[serde(rename = "syncs of all commits and of closing")]
    AllSyncs,
    /// Bytes that reached files.
    #[serde(rename = "bytes written")]
    BytesWritten,
}

impl fmt::Display for Count {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Count::SyncsPerCommit => "syncs per commit",
            Count::AllSyncs => "syncs of all commits and of closing",
            Count::BytesWritten => "bytes written",
        })
    }
}

/// A count that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountDifference {
    /// The case.
    pub case: String,
    /// What is counted.
    pub what: Count,
    /// The baseline's.
    pub baseline: u64,
    /// The candidate's.
    pub candidate: u64,
    /// Whether it decides. What an arm with threads of its own writes over all commits differs from one recording of the same
    /// program to the next, and is told only.
    #[serde(default = "decides")]
    pub decides: bool,
}

fn decides() -> bool {
    true
}

impl CountDifference {
    /// Whether the candidate needs more of what is counted exactly.
    pub(super) fn grew(&self) -> bool {
        self.decides && self.candidate > self.baseline
    }

    /// That the candidate awaits the disk less often: whatever time that saves is no improvement of the same thing.
    pub(super) fn another_promise(&self) -> Option<String> {
        let fewer = self.decides && self.candidate < self.baseline;
        let what = match self.what {
            Count::SyncsPerCommit => "its commits await the disk less often than before",
            Count::AllSyncs => "over all commits and closing it awaits the disk less often than before",
            Count::BytesWritten => return None,
        };
        fewer.then(|| {
            format!(
                "{what}, which is another promise: where that is meant, compare the new program with itself from now on"
            )
        })
    }
}

/// The counts of a judged candidate that are not its baseline's.
pub(super) fn differences(
    case: &PlannedCase,
    measured: &CaseStatistics,
    judged: &Comparison,
) -> Vec<CountDifference> {
    let Some((Ok(baseline), Ok(candidate))) = counts(measured, judged) else { return Vec::new() };
    let threads =
        [&judged.against, &judged.arm].iter().any(|arm| case.arm(arm).is_some_and(|arm| arm.threads));
    let all = |counted: &SyncCount| counted.syncs.saturating_add(counted.syncs_at_close);
    let rows = [
        (Count::SyncsPerCommit, baseline.syncs_per_commit, candidate.syncs_per_commit, true),
        (Count::AllSyncs, all(baseline), all(candidate), !threads),
        (Count::BytesWritten, baseline.bytes_written, candidate.bytes_written, !threads),
    ];
    rows.into_iter()
        .filter(|(_, baseline, candidate, _)| baseline != candidate)
        .map(|(what, baseline, candidate, decides)| CountDifference {
            case: measured.case.clone(),
            what,
            baseline,
            candidate,
            decides,
        })
        .collect()
}

/// Why nothing can be counted on one side only, or on both.
pub(super) enum Uncounted {
    /// Of one side nothing is known that the other's counts could be compared with.
    OneSide(String),
    /// As where this machine cannot record.
    Both(String),
}

/// What keeps a judged candidate's counts from being compared with its baseline's.
pub(super) fn uncounted(measured: &CaseStatistics, judged: &Comparison) -> Option<Uncounted> {
    let one = |arm: &str, why: &str| {
        Some(Uncounted::OneSide(format!(
            "the commits of {arm} could not be recorded, so that their syncs cannot be compared: {why}"
        )))
    };
    match counts(measured, judged)? {
        (Ok(theirs), Ok(mine)) => {
            let alone = refused_alone(&judged.arm, mine, theirs);
            alone.or_else(|| refused_alone(&judged.against, theirs, mine)).map(Uncounted::OneSide)
        }
        (Ok(_), Err(why)) => one(&judged.arm, why),
        (Err(why), Ok(_)) => one(&judged.against, why),
        (Err(_), Err(why)) => Some(Uncounted::Both(format!(
            "the commits of neither side could be recorded, so that no count decides: {why}"
        ))),
    }
}

/// Ways of writing that the recorder refused to an arm and not to the other. In which order it met them says nothing.
fn refused_alone(arm: &str, mine: &SyncCount, theirs: &SyncCount) -> Option<String> {
    let alone: Vec<&str> =
        mine.refused.iter().filter(|what| !theirs.refused.contains(what)).map(String::as_str).collect();
    (!alone.is_empty()).then(|| {
        format!(
            "the recorder refused {} to {arm} alone, which may write so while it is timed: their counts cannot be compared",
            alone.join(", ")
        )
    })
}

/// What was counted of one arm, or why nothing was.
type Counted<'s> = Result<&'s SyncCount, &'s str>;

/// Of the baseline and of the candidate; none where no commits are recorded.
fn counts<'s>(measured: &'s CaseStatistics, judged: &Comparison) -> Option<(Counted<'s>, Counted<'s>)> {
    let of = |arm: &str| measured.arm(arm).and_then(counted);
    of(&judged.against).zip(of(&judged.arm))
}

fn counted(arm: &ArmStatistics) -> Option<Counted<'_>> {
    let counted = arm.syncs.as_ref()?;
    Some(counted.unavailable.as_deref().map_or(Ok(counted), Err))
}
