//! Launches that resemble their neighbours, asked once more in the end: a noisy difference must stand what the launches of all
//! cases that are judged together show of their serial correlation.

use super::comparison::{Comparison, Verdict, incomplete};
use crate::estimate::CaseStatistics;
use crate::name::suite_of;
use crate::plan::{Plan, PlannedArm, PlannedCase};
use crate::statistics::{Correction, Estimate, LookedAt, correlation_allowed, may_be_correlation};

/// Takes differences back that correlation could have made.
pub(super) fn withhold(
    plan: &Plan,
    statistics: &[CaseStatistics],
    correction: Correction,
    comparisons: &mut [Comparison],
) {
    let allowed = |case: &str| allowed_for(plan, statistics, correction, case);
    let differing =
        comparisons.iter_mut().filter(|known| matches!(known.verdict, Verdict::Better | Verdict::Worse));
    for comparison in differing {
        let correlation = allowed(&comparison.case);
        let estimate = statistics
            .iter()
            .find(|measured| measured.case == comparison.case)
            .and_then(|measured| against_baseline(measured, &comparison.arm));
        if estimate.is_some_and(|estimate| may_be_correlation(&estimate, comparison.margin, correlation)) {
            comparison.reasons.push(format!(
                "{} is withheld: launches may resemble their neighbours, and with the serial correlation of {correlation:.1} that \
                 is allowed for, the interval of so noisy a difference reaches 1",
                comparison.verdict
            ));
            comparison.verdict = Verdict::Inconclusive;
        }
    }
}

/// The serial correlation that a noisy difference of a case must stand, by all cases that are judged with it.
pub(super) fn allowed_for(
    plan: &Plan,
    statistics: &[CaseStatistics],
    correction: Correction,
    case: &str,
) -> f64 {
    let judged_with = plan
        .cases
        .iter()
        .zip(statistics)
        .filter(|(other, _)| family(correction, &other.id) == family(correction, case));
    let cases: Vec<LookedAt> = judged_with.map(|(case, measured)| as_looked_at(case, measured)).collect();
    correlation_allowed(&cases)
}

/// Which cases tell together how much launches resemble their neighbours: those that are looked at together.
fn family(correction: Correction, case: &str) -> &str {
    match correction {
        Correction::Exploration => suite_of(case),
        Correction::Alone | Correction::Gate => "",
    }
}

/// A case as at its last look.
fn as_looked_at(case: &PlannedCase, measured: &CaseStatistics) -> LookedAt {
    let against = case.arm(&case.baseline);
    let was_run = |arm: &&PlannedArm| {
        measured.arms.iter().any(|known| known.arm == arm.name && incomplete(known).is_empty())
    };
    let judged = case.arms.iter().filter(|arm| arm.name != case.baseline && !arm.null_arm).filter(was_run);
    let comparisons = judged
        .map(|arm| Some((against_baseline(measured, &arm.name)?, case.margin_of(arm, against?))))
        .collect();
    LookedAt { comparisons, null_arm: None }
}

fn against_baseline(measured: &CaseStatistics, arm: &str) -> Option<Estimate> {
    measured.arms.iter().find(|known| known.arm == arm)?.against_baseline
}
