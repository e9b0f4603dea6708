//! A gate: one candidate against one baseline over several cases, for a CI job that must not cry wolf.

use super::comparison::{Comparison, Verdict};
use crate::estimate::CaseStatistics;
use crate::plan::Plan;
use crate::statistics::{Decision, Estimate, NullArm, decide_family, null_arms};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A gate, decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// What is decided over all cases.
    pub status: GateStatus,
    /// The candidate in every case, corrected for their number.
    pub comparisons: Vec<Comparison>,
    /// Counts that differ: gated exactly, for counts have no noise.
    pub counts: Vec<CountDifference>,
}

/// What a gate says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateStatus {
    /// No case is worse, and every case could tell.
    Pass,
    /// A case is worse, or a count grew.
    Worse,
    /// Some case cannot tell yet.
    Inconclusive,
    /// Some case's null arm moved.
    Untrusted,
    /// Some case cannot be compared, or its commits await the disk less often than they did.
    Incomparable,
}

impl fmt::Display for GateStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            GateStatus::Pass => "pass",
            GateStatus::Worse => "worse",
            GateStatus::Inconclusive => "inconclusive",
            GateStatus::Untrusted => "untrusted",
            GateStatus::Incomparable => "incomparable",
        })
    }
}

/// A count that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountDifference {
    /// The case.
    pub case: String,
    /// What is counted.
    pub what: String,
    /// The baseline's.
    pub baseline: u64,
    /// The candidate's.
    pub candidate: u64,
}

impl CountDifference {
    /// Whether the candidate's commits await the disk less often: whatever time that saves is no improvement of the same thing.
    pub fn is_another_promise(&self) -> bool {
        self.what == SYNCS && self.candidate < self.baseline
    }
}

/// Reads a gate off the judged comparisons of a plan whose cases have a baseline, a candidate and a null arm each.
pub fn gate(plan: &Plan, statistics: &[CaseStatistics], comparisons: &[Comparison]) -> Gate {
    let judged: Vec<&Comparison> = comparisons.iter().filter(|judged| is_candidate(plan, judged)).collect();
    let measured = |id: &str| statistics.iter().find(|measured| measured.case == id);
    let counts: Vec<CountDifference> = judged
        .iter()
        .filter_map(|comparison| Some(differences(measured(&comparison.case)?, comparison)))
        .flatten()
        .collect();
    let comparisons: Vec<Comparison> = judged.into_iter().cloned().collect();
    Gate { status: status(&comparisons, &counts), comparisons, counts }
}

/// Whether the plan is a gate's: a case of it has the baseline once more.
pub(super) fn is_gate(plan: &Plan) -> bool {
    plan.cases.iter().flat_map(|case| &case.arms).any(|arm| arm.null_arm)
}

fn is_candidate(plan: &Plan, comparison: &Comparison) -> bool {
    let arm = plan.case(&comparison.case).and_then(|case| case.arm(&comparison.arm));
    arm.is_some_and(|arm| !arm.null_arm)
}

/// Rule 10 of the duel: with several gated cases, a difference must stand Holm's procedure over all of them; and no
/// verdict of a case stands whose null arm does not.
pub(super) fn correct(plan: &Plan, statistics: &[CaseStatistics], comparisons: &mut [Comparison]) {
    let without = without_null_arm(plan, comparisons);
    for comparison in comparisons.iter_mut().filter(|c| c.verdict != Verdict::Incomparable) {
        if let Some((_, why)) = without.iter().find(|(case, _)| *case == comparison.case) {
            comparison.verdict = Verdict::Untrusted;
            comparison.reasons.push(why.clone());
        } else if let Some((said, why)) = null_arm(plan, statistics, &comparison.case) {
            comparison.verdict = match said {
                NullArm::Moved => Verdict::Untrusted,
                _ => Verdict::Inconclusive,
            };
            comparison.reasons.push(why);
        }
    }
    let mut candidates: Vec<&mut Comparison> =
        comparisons.iter_mut().filter(|comparison| is_candidate(plan, comparison)).collect();
    let family: Vec<Option<(Estimate, f64)>> = candidates
        .iter()
        .map(|comparison| {
            let made = !matches!(comparison.verdict, Verdict::Incomparable | Verdict::Untrusted);
            let estimate = against_baseline(statistics, &comparison.case, &comparison.arm);
            Some((estimate.filter(|_| made)?, comparison.margin))
        })
        .collect();
    for (comparison, decision) in candidates.iter_mut().zip(decide_family(&family)) {
        let differs = matches!(comparison.verdict, Verdict::Better | Verdict::Worse);
        if differs && decision == Some(Decision::Inconclusive) {
            comparison.verdict = Verdict::Inconclusive;
            comparison.reasons.push(format!("among {} cases this may be chance (Holm)", family.len()));
        }
    }
}

/// The cases whose null arm could not be compared, with what is to be said of it: nobody knows what their verdicts are worth.
fn without_null_arm(plan: &Plan, comparisons: &[Comparison]) -> Vec<(String, String)> {
    let lost = comparisons
        .iter()
        .filter(|known| known.verdict == Verdict::Incomparable && !is_candidate(plan, known));
    let said = |known: &Comparison| {
        let why = known.reasons.join("; ");
        (
            known.case.clone(),
            format!("the null arm, which is the baseline itself, could not be compared: {why}"),
        )
    };
    lost.map(said).collect()
}

fn against_baseline(statistics: &[CaseStatistics], case: &str, arm: &str) -> Option<Estimate> {
    let case = statistics.iter().find(|measured| measured.case == case)?;
    case.against_baseline(arm)
}

/// Why no verdict of a case stands: its baseline differs from itself, beyond chance or by more than half the margin.
pub(super) fn null_arm(plan: &Plan, statistics: &[CaseStatistics], case: &str) -> Option<(NullArm, String)> {
    let gated: Vec<(&str, Option<(Estimate, f64)>)> = plan
        .cases
        .iter()
        .filter_map(|case| {
            let arm = case.arms.iter().find(|arm| arm.null_arm)?;
            let estimate = against_baseline(statistics, &case.id, &arm.name);
            let margin = case.margin_of(arm, arm);
            Some((case.id.as_str(), estimate.map(|estimate| (estimate, margin))))
        })
        .collect();
    let place = gated.iter().position(|(id, _)| *id == case)?;
    let arms: Vec<Option<(Estimate, f64)>> = gated.iter().map(|(_, arm)| *arm).collect();
    let (said, (estimate, margin)) = null_arms(&arms)[place].zip(arms[place])?;
    let percent = (estimate.ratio() - 1.0) * 100.0;
    let moved = format!(
        "the null arm, which is the baseline itself, moved by {percent:+.1} % (p = {:.3}",
        estimate.p
    );
    match said {
        NullArm::Still => None,
        NullArm::Moved => Some((said, format!("{moved})"))),
        NullArm::Unclear => Some((
            said,
            format!("{moved}, which may be chance): more than half of the margin of {:.0} %", margin * 100.0),
        )),
    }
}

fn differences(measured: &CaseStatistics, comparison: &Comparison) -> Vec<CountDifference> {
    let counts = |name: &str| measured.arm(name).and_then(|arm| arm.syncs.as_ref());
    let (Some(baseline), Some(candidate)) = (counts(&comparison.against), counts(&comparison.arm)) else {
        return Vec::new();
    };
    if baseline.unavailable.is_some() || candidate.unavailable.is_some() {
        return Vec::new();
    }
    let rows = [
        (SYNCS, baseline.syncs_per_commit, candidate.syncs_per_commit),
        ("bytes written", baseline.bytes_written, candidate.bytes_written),
    ];
    rows.into_iter()
        .filter(|(_, baseline, candidate)| baseline != candidate)
        .map(|(what, baseline, candidate)| CountDifference {
            case: measured.case.clone(),
            what: what.into(),
            baseline,
            candidate,
        })
        .collect()
}

/// How the count of syncs is called.
const SYNCS: &str = "syncs per commit";

/// A trusted case that is worse outweighs what the others could not tell.
fn status(comparisons: &[Comparison], counts: &[CountDifference]) -> GateStatus {
    let any = |verdict| comparisons.iter().any(|comparison| comparison.verdict == verdict);
    let grew = counts.iter().any(|count| count.candidate > count.baseline);
    let dropped = counts.iter().any(CountDifference::is_another_promise);
    if any(Verdict::Worse) || grew {
        GateStatus::Worse
    } else if any(Verdict::Incomparable) || dropped || comparisons.is_empty() {
        GateStatus::Incomparable
    } else if any(Verdict::Untrusted) {
        GateStatus::Untrusted
    } else if any(Verdict::Inconclusive) {
        GateStatus::Inconclusive
    } else {
        GateStatus::Pass
    }
}
