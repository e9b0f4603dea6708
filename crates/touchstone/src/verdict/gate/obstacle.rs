//! What keeps a gate from passing a candidate whatever its time is: doubts that the work was done, and other promises.

use super::counts::{Uncounted, differences, uncounted};
use super::is_candidate;
use crate::estimate::CaseStatistics;
use crate::plan::{Plan, PlannedCase};
use crate::verdict::{Comparison, Flag, FlagKind, Verdict};

/// Flags that say that the work was not done, or not in the time, on the processor and by the process that are compared, or that the
/// other side was kept from its own. The others
/// are doubts about the machine, the case, or how an engine goes about its work: both sides may well have them, and they are told.
const NOT_THE_WORK: [FlagKind; 6] = [
    FlagKind::EngineIdle,
    FlagKind::BesideTheClock,
    FlagKind::LargerCache,
    FlagKind::LeftProcessor,
    FlagKind::OtherProcesses,
    FlagKind::BusyAtRest,
];

/// Takes back what a candidate's time says where the two sides cannot be compared, but not that it is worse.
pub(super) fn withhold(
    plan: &Plan,
    statistics: &[CaseStatistics],
    flags: &[Flag],
    comparisons: &mut [Comparison],
) {
    for comparison in comparisons.iter_mut().filter(|known| is_candidate(plan, known)) {
        let Some(case) = plan.case(&comparison.case) else { continue };
        let Some(measured) = statistics.iter().find(|known| known.case == case.id) else { continue };
        let mut reasons = doubted(flags, comparison);
        let mut remarks = Vec::new();
        match class(case, comparison) {
            Some(Class::Weaker(why)) => reasons.push(why),
            Some(Class::Stronger(what)) => remarks.push(what),
            None => {}
        }
        // An arm that did not complete is not recorded, and that it did not is said already.
        match uncounted(measured, comparison).filter(|_| comparison.verdict != Verdict::Incomparable) {
            Some(Uncounted::OneSide(why)) => reasons.push(why),
            Some(Uncounted::Both(why)) => remarks.push(why),
            None => {}
        }
        let counts = differences(case, measured, comparison);
        reasons.extend(counts.iter().filter_map(|count| count.another_promise()));
        if !reasons.is_empty() && comparison.verdict != Verdict::Worse {
            comparison.verdict = Verdict::Incomparable;
        }
        comparison.reasons.extend(reasons.into_iter().chain(remarks));
    }
}

/// The flags of either side for which its time may not be that of the work.
fn doubted(flags: &[Flag], judged: &Comparison) -> Vec<String> {
    let sides = [&judged.arm, &judged.against];
    let raised = sides.into_iter().flat_map(|arm| {
        let mine = flags.iter().filter(|flag| flag.is_about(&judged.case, arm));
        mine.filter(|flag| NOT_THE_WORK.contains(&flag.kind)).map(move |flag| (arm, flag.kind))
    });
    raised
        .map(|(arm, kind)| match kind {
            FlagKind::BusyAtRest => {
                format!("{arm} is flagged, {kind}: it worked while the other side was asked, whose time may be longer for it")
            }
            kind => format!("{arm} is flagged, {kind}: its time may not be that of the work"),
        })
        .collect()
}

/// Another promise about a commit than the baseline's.
enum Class {
    Weaker(String),
    Stronger(String),
}

fn class(case: &PlannedCase, judged: &Comparison) -> Option<Class> {
    let (mine, theirs) = (case.arm(&judged.arm)?, case.arm(&judged.against)?);
    if judged.same_class {
        return None;
    }
    let said = format!("its class is {}, and that of {} is {}", mine.class, theirs.name, theirs.class);
    Some(if mine.class > theirs.class {
        let remedy = "where that is meant, give both sides the new class from now on";
        Class::Weaker(format!("{said}, which promises more of a commit: {remedy}"))
    } else {
        Class::Stronger(format!("{said}: it promises more of a commit"))
    })
}
