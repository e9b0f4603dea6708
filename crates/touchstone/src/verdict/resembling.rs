//! Launches that resemble their neighbours, asked once more in the end: a noisy difference must stand what the launches of all
//! cases that are judged together show of their serial correlation.

use super::comparison::{Comparison, Verdict, incomplete};
use super::{correction, judged_together};
use crate::estimate::CaseStatistics;
use crate::plan::{Plan, PlannedArm, PlannedCase};
use crate::statistics::{Estimate, LookedAt, correlation_allowed, may_be_correlation};

/// Takes differences back that correlation could have made.
pub(super) fn withhold(plan: &Plan, statistics: &[CaseStatistics], comparisons: &mut [Comparison]) {
    let differing =
        comparisons.iter_mut().filter(|known| matches!(known.verdict, Verdict::Better | Verdict::Worse));
    for comparison in differing {
        let correlation = allowed_for(plan, statistics, &comparison.case);
        let estimate = statistics
            .iter()
            .find(|measured| measured.case == comparison.case)
            .and_then(|measured| measured.against_baseline(&comparison.arm));
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

/// The serial correlation that a noisy difference of a case must stand, by all cases that are judged together with it.
fn allowed_for(plan: &Plan, statistics: &[CaseStatistics], case: &str) -> f64 {
    correlation_allowed(&judged_with(plan, statistics, case))
}

/// The same for a figure of a claim, which tells of its own launches where nothing else was compared.
pub(super) fn allowed_for_figure(
    plan: &Plan,
    statistics: &[CaseStatistics],
    case: &str,
    figure: (Estimate, f64),
) -> f64 {
    let mut cases = judged_with(plan, statistics, case);
    if cases.iter().flat_map(|case| &case.comparisons).all(Option::is_none) {
        cases.push(LookedAt { comparisons: vec![Some(figure)], null_arm: None });
    }
    correlation_allowed(&cases)
}

fn judged_with(plan: &Plan, statistics: &[CaseStatistics], case: &str) -> Vec<LookedAt> {
    let family = |case| judged_together(correction(plan), case);
    let cases = plan.cases.iter().zip(statistics).filter(|(other, _)| family(&other.id) == family(case));
    cases.map(|(case, measured)| as_looked_at(case, measured)).collect()
}

/// A case as at its last look.
fn as_looked_at(case: &PlannedCase, measured: &CaseStatistics) -> LookedAt {
    let against = case.arm(&case.baseline);
    let was_run = |arm: &&PlannedArm| {
        measured.arms.iter().any(|known| known.arm == arm.name && incomplete(known).is_empty())
    };
    let judged = case.arms.iter().filter(|arm| arm.name != case.baseline && !arm.null_arm).filter(was_run);
    let comparisons = judged
        .map(|arm| Some((measured.against_baseline(&arm.name)?, case.margin_of(arm, against?))))
        .collect();
    LookedAt { comparisons, null_arm: None }
}
