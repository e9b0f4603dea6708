//! Red flags by kind, those that cast the most doubt first.

use crate::report::Findings;
use crate::verdict::{Flag, FlagKind};

/// All flags of one kind.
pub(in crate::report) struct FlagGroup {
    pub kind: FlagKind,
    /// What the kind means, in a sentence.
    pub meaning: &'static str,
    pub flags: Vec<FlagView>,
}

/// One flag with its evidence.
pub(in crate::report) struct FlagView {
    /// `case: arm`, or whichever of them the flag is about.
    pub about: String,
    pub evidence: String,
    /// Raised on a subject that was built to raise it.
    pub canary: bool,
}

/// The place in the order of doubt, and what the kind means.
fn doubt(kind: FlagKind) -> (u8, &'static str) {
    match kind {
        FlagKind::Slept => (0, "The subject mostly slept, so its times are those of a timer."),
        FlagKind::TimerTick => {
            (1, "Latencies are whole milliseconds, as of a subject that waits for a timer.")
        }
        FlagKind::QuickerThanFlush => {
            (2, "A commit promises to reach the disk and is quicker than the disk can be.")
        }
        FlagKind::GetsByScanning => {
            (3, "What gets one record by its key reads the table until it meets that key.")
        }
        FlagKind::PageCache => {
            (4, "The operating system's page cache answered what was meant to come from the disk.")
        }
        FlagKind::BelowResolution => (5, "An operation is shorter than the clock can tell."),
        FlagKind::ShortSlices => {
            (6, "Slices are over before caches are warm, so its times tell of what ran before them too.")
        }
        FlagKind::WalReset => {
            (7, "The linked SQLite can damage its log when two connections checkpoint at once.")
        }
        FlagKind::NoSteadyState => (8, "Its times still rose or fell while it was measured."),
        FlagKind::BeyondCores => (9, "More processors were busy than the case asked for."),
        FlagKind::UntoldThreads => (
            10,
            "It has threads of its own, which had to share one processor with the one that was measured.",
        ),
        FlagKind::Contended => {
            (11, "The machine was busy with something else, so the times tell of its neighbours too.")
        }
    }
}

pub(super) fn groups(findings: &Findings<'_>) -> Vec<FlagGroup> {
    let mut groups: Vec<FlagGroup> = Vec::new();
    for flag in &findings.judgement.flags {
        let flags = vec![view(findings, flag)];
        match groups.iter_mut().find(|group| group.kind == flag.kind) {
            Some(group) => group.flags.extend(flags),
            None => groups.push(FlagGroup { kind: flag.kind, meaning: doubt(flag.kind).1, flags }),
        }
    }
    groups.sort_by_key(|group| doubt(group.kind).0);
    groups
}

fn view(findings: &Findings<'_>, flag: &Flag) -> FlagView {
    let about = match (flag.case.as_str(), flag.arm.as_str()) {
        ("", "") => "the whole run".to_owned(),
        ("", arm) => arm.to_owned(),
        (case, "") => case.to_owned(),
        (case, arm) => format!("{case}: {arm}"),
    };
    let planned = findings.record.plan.case(&flag.case).and_then(|case| case.arm(&flag.arm));
    FlagView { about, evidence: flag.evidence.clone(), canary: planned.is_some_and(|arm| arm.canary) }
}
