//! Which cases may stop at a look: those of which more launches would change nothing that is said in the end.

use crate::decision::{Correction, Decision, NullArm, decide_together, may_be_correlation, null_arms};
use crate::duel::Estimate;
use crate::serial::Shown;

/// A case as it stands at a look.
#[derive(Debug, Clone, Default)]
pub struct LookedAt {
    /// Its comparisons, each with its margin; none for one that cannot be made any more.
    pub comparisons: Vec<Option<(Estimate, f64)>>,
    /// Its null arm, with the margin.
    pub null_arm: Option<(Estimate, f64)>,
}

/// Which cases are settled: each of their comparisons is decided, and will stand the correction for the number of all
/// comparisons whatever becomes of the cases that go on. Those count as if they said nothing (p = 1); both corrections
/// only find more when other p values fall.
///
/// A difference that the serial correlation of all launches together could have made ends no case: few launches measure
/// correlation badly, those of the last look less so, and there the difference is asked again. A case that ended may be told
/// here later that it goes on; it does not, and others may then go on for longer than they need.
pub fn settled(cases: &[LookedAt], correction: Correction) -> Vec<bool> {
    let nulls: Vec<Option<(Estimate, f64)>> = cases.iter().map(|case| case.null_arm).collect();
    let nulls = null_arms(&nulls);
    // In the end they are untrusted, and count as if they said nothing.
    let moved: Vec<bool> = nulls.iter().map(|null| *null == Some(NullArm::Moved)).collect();
    let unsure = may_be_correlated(cases);
    let mut settled: Vec<bool> = nulls
        .iter()
        .zip(moved.iter().zip(&unsure))
        .map(|(null, (moved, unsure))| *null != Some(NullArm::Unclear) && (*moved || !unsure))
        .collect();
    // Each round takes at least one case away, or is the last.
    loop {
        let comparisons: Vec<Option<(Estimate, f64)>> = cases
            .iter()
            .zip(settled.iter().zip(&moved))
            .flat_map(|(case, (settled, moved))| {
                case.comparisons.iter().map(|known| standing(*known, *settled && !*moved))
            })
            .collect();
        let mut decisions = decide_together(&comparisons, correction).into_iter();
        let mut changed = false;
        for ((case, settled), moved) in cases.iter().zip(&mut settled).zip(&moved) {
            let undecided = decisions
                .by_ref()
                .take(case.comparisons.len())
                .filter(|decision| *decision == Some(Decision::Inconclusive))
                .count();
            let undecided = if *moved { 0 } else { undecided };
            changed |= *settled && undecided > 0;
            *settled &= undecided == 0;
        }
        if !changed {
            return settled;
        }
    }
}

/// The serial correlation that noisy differences of cases that are judged together must stand in the end, see
/// [`may_be_correlation`].
pub fn correlation_allowed(cases: &[LookedAt]) -> f64 {
    shown(cases).allowed()
}

/// Which cases have a difference that may be serial correlation.
fn may_be_correlated(cases: &[LookedAt]) -> Vec<bool> {
    let at_most = shown(cases).at_most();
    let is_unsure = |case: &LookedAt| {
        case.comparisons.iter().flatten().any(|known| may_be_correlation(&known.0, known.1, at_most))
    };
    cases.iter().map(is_unsure).collect()
}

/// What the launches of all cases show. The comparisons of a case share their baseline, so its launches count once, with the mean
/// of what is measured of them.
fn shown(cases: &[LookedAt]) -> Shown {
    let of_case = |case: &LookedAt| {
        let known = case.comparisons.iter().flatten();
        let measured: Vec<(f64, usize)> = known
            .filter_map(|(estimate, _)| Some((estimate.serial_correlation?, estimate.launches)))
            .collect();
        let launches = measured.iter().map(|(_, launches)| *launches).max()?;
        let sum: f64 = measured.iter().map(|(correlation, _)| correlation).sum();
        Some((sum / measured.len() as f64, launches))
    };
    Shown::by(cases.iter().filter_map(of_case))
}

fn standing(comparison: Option<(Estimate, f64)>, settled: bool) -> Option<(Estimate, f64)> {
    comparison.map(|(estimate, margin)| {
        let p = if settled { estimate.p } else { 1.0 };
        (Estimate { p, ..estimate }, margin)
    })
}
