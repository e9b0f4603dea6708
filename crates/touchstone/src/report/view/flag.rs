//! Red flags by kind, those that cast the most doubt first.

use crate::plan::{PlannedArm, PlannedCase};
use crate::report::Findings;
use crate::verdict::{Flag, FlagKind};

/// All flags of one kind.
pub(in crate::report) struct FlagGroup {
    pub kind: FlagKind,
    /// What the kind means, in a sentence.
    pub meaning: &'static str,
    pub flags: Vec<FlagView>,
}

impl FlagGroup {
    /// Those that are not about a canary.
    pub fn honest(&self) -> impl Iterator<Item = &FlagView> {
        self.flags.iter().filter(|flag| !flag.canary)
    }
}

/// How many flags there are on honest contenders, and what is said of those on canaries: ` (and 3 on canaries, which are built to
/// raise them)`, or nothing.
pub(in crate::report) fn counted(groups: &[FlagGroup]) -> (usize, String) {
    let all: usize = groups.iter().map(|group| group.flags.len()).sum();
    let honest: usize = groups.iter().map(|group| group.honest().count()).sum();
    let canaries = match all - honest {
        0 => String::new(),
        canaries => format!(" (and {canaries} on canaries, which are built to raise them)"),
    };
    (honest, canaries)
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
        FlagKind::BrokenPromise => {
            (0, "Its commits do less than its class promises, so it is compared with nothing.")
        }
        FlagKind::BesideTheClock => {
            (1, "Time went by that its kit did not count, so its figures are too good.")
        }
        FlagKind::EngineIdle => (2, "The answers did not come from the engine that is named."),
        FlagKind::ReadyBefore => (3, "What was to be timed had been done before the clock started."),
        FlagKind::BeyondFloor => {
            (4, "It is better than the engine's own interface, so it asks the engine for less.")
        }
        FlagKind::LargerCache => {
            (5, "It reads less than a cache of the size that it tells of would have to.")
        }
        FlagKind::Unrecorded => {
            (6, "Its commits could not be recorded as others' were, so nobody knows what they do.")
        }
        FlagKind::Slept => (7, "The subject mostly slept, so its times are those of a timer."),
        FlagKind::TimerTick => {
            (8, "Latencies are whole milliseconds, as of a subject that waits for a timer.")
        }
        FlagKind::QuickerThanFlush => {
            (9, "A commit promises to reach the disk and is quicker than the disk can be.")
        }
        FlagKind::FlushNotReplaced => {
            (9, "A flush took as long as the disk needs, and not as long as the case says.")
        }
        FlagKind::GetsByScanning => {
            (10, "What gets one record by its key reads the table until it meets that key.")
        }
        FlagKind::PageCache => {
            (11, "The operating system's page cache answered what was meant to come from the disk.")
        }
        FlagKind::CoarseClock => (12, "Its clock has steps that are a large part of what it times."),
        FlagKind::BelowResolution => (12, "An operation is shorter than the clock can tell."),
        FlagKind::ShortSlices => {
            (13, "Slices are over before caches are warm, so its times tell of what ran before them too.")
        }
        FlagKind::WalReset => {
            (14, "The linked SQLite can damage its log when two connections checkpoint at once.")
        }
        FlagKind::NoSteadyState => (15, "Its times still rose or fell while it was measured."),
        FlagKind::TwoKinds => {
            (16, "Some of its slices were much quicker than others: the median tells of the one kind alone.")
        }
        FlagKind::OtherPace => {
            (17, "It was much quicker while latencies were kept than in the slices that are compared.")
        }
        FlagKind::BeyondCores => (18, "More processors were busy than the case asked for."),
        FlagKind::LeftProcessor => (19, "It allowed itself more processors than the case gives to anybody."),
        FlagKind::OtherProcesses => (20, "Other processes worked for it, which nobody measured."),
        FlagKind::BusyAtRest => {
            (21, "It worked while other arms were asked, which makes their times longer and not its own.")
        }
        FlagKind::UntoldThreads => (
            22,
            "It has threads of its own, which had to share one processor with the one that was measured.",
        ),
        FlagKind::Contended => {
            (23, "The machine was busy with something else, so the times tell of its neighbours too.")
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

/// The kinds of flags that are about a case as a whole or about an arm of interest, each once.
pub(super) fn kinds_of(
    findings: &Findings<'_>,
    case: &PlannedCase,
    is_of_interest: impl Fn(&PlannedArm) -> bool,
) -> Vec<FlagKind> {
    let of_case = findings.judgement.flags.iter().filter(|flag| flag.case == case.id);
    let of_interest = of_case.filter(|flag| case.arm(&flag.arm).is_none_or(&is_of_interest));
    let mut kinds: Vec<FlagKind> = Vec::new();
    for flag in of_interest {
        if !kinds.contains(&flag.kind) {
            kinds.push(flag.kind);
        }
    }
    kinds.sort_by_key(|kind| doubt(*kind).0);
    kinds
}

/// Whether a flag is about this arm of the case.
pub(super) fn is_flagged(findings: &Findings<'_>, case: &PlannedCase, arm: &PlannedArm) -> bool {
    findings.judgement.flags.iter().any(|flag| flag.case == case.id && flag.arm == arm.name)
}

/// Whether a flag is about a canary: an arm of its case, or a subject wherever it is.
fn is_canary(findings: &Findings<'_>, flag: &Flag) -> bool {
    let cases = findings.record.plan.cases.iter().filter(|case| flag.case.is_empty() || case.id == flag.case);
    let mut arms = cases
        .flat_map(|case| &case.arms)
        .filter(|arm| arm.name == flag.arm || arm.contender.subject == flag.arm);
    arms.any(|arm| arm.canary)
}

fn view(findings: &Findings<'_>, flag: &Flag) -> FlagView {
    let about = match (flag.case.as_str(), flag.arm.as_str()) {
        ("", "") => "the whole run".to_owned(),
        ("", arm) => arm.to_owned(),
        (case, "") => case.to_owned(),
        (case, arm) => format!("{case}: {arm}"),
    };
    FlagView { about, evidence: flag.evidence.clone(), canary: is_canary(findings, flag) }
}
