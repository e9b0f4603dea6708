//! A gate: one candidate against one baseline over several cases, for a CI job that must not cry wolf.

mod counts;
mod obstacle;

pub use counts::{Count, CountDifference};

use super::comparison::{Comparison, Verdict};
use super::{Flag, Judgement};
use crate::estimate::CaseStatistics;
use crate::plan::{Plan, PlannedArm, PlannedCase};
use crate::record::Record;
use crate::sample::Introduction;
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
    /// Counts that differ: gated exactly where they decide, for those have no noise.
    pub counts: Vec<CountDifference>,
    /// Every flag of its cases. Those that say that the work was not done, or not in the time, are among the reasons too.
    #[serde(default)]
    pub flags: Vec<Flag>,
    /// Whether the candidate is the baseline's own program, told apart by nothing: then no change was judged.
    #[serde(default)]
    pub same_program: bool,
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
    /// Some case cannot be compared: settings or answers differ, the work may not have been done, or less is promised of a commit.
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

/// Reads a gate off the judgement of a record whose cases have a baseline, a candidate and a null arm each.
pub fn gate(record: &Record, statistics: &[CaseStatistics], judgement: &Judgement) -> Gate {
    let plan = &record.plan;
    let judged = judgement.comparisons.iter().filter(|judged| is_candidate(plan, judged));
    let comparisons: Vec<Comparison> = judged.cloned().collect();
    let differences = |comparison: &Comparison| {
        let measured = statistics.iter().find(|measured| measured.case == comparison.case)?;
        Some(counts::differences(plan.case(&comparison.case)?, measured, comparison))
    };
    let counts: Vec<CountDifference> = comparisons.iter().filter_map(differences).flatten().collect();
    Gate {
        status: status(&comparisons, &counts),
        comparisons,
        counts,
        flags: judgement.flags.clone(),
        same_program: is_same_program(plan, &record.subjects),
    }
}

/// Whether the plan is a gate's: a case of it has the baseline once more.
pub(super) fn is_gate(plan: &Plan) -> bool {
    plan.cases.iter().flat_map(|case| &case.arms).any(|arm| arm.null_arm)
}

fn is_candidate(plan: &Plan, comparison: &Comparison) -> bool {
    let arm = plan.case(&comparison.case).and_then(|case| case.arm(&comparison.arm));
    arm.is_some_and(|arm| !arm.null_arm)
}

/// Whether the two sides of every case are one program, asked alike. Each arm of a case is introduced once; of one that never
/// said who it is, nothing is known.
fn is_same_program(plan: &Plan, subjects: &[Introduction]) -> bool {
    let sides = |case: &PlannedCase| -> Option<(PlannedArm, PlannedArm)> {
        let candidate = case.arms.iter().find(|arm| arm.name != case.baseline && !arm.null_arm)?;
        Some((case.arm(&case.baseline)?.clone(), candidate.clone()))
    };
    let alike = |(baseline, candidate): &(PlannedArm, PlannedArm)| {
        let (name, program) = (baseline.name.clone(), baseline.program.clone());
        *baseline == PlannedArm { name, program, ..candidate.clone() }
    };
    let arms = plan.cases.iter().map(|case| case.arms.len()).sum::<usize>();
    let first = subjects.first().map(|met| &met.program_crc32).filter(|crc32| !crc32.is_empty());
    subjects.len() == arms
        && subjects.iter().all(|met| Some(&met.program_crc32) == first)
        && plan.cases.iter().all(|case| sides(case).as_ref().is_some_and(alike))
}

/// Makes a gate's verdicts of what each candidate's time says.
pub(super) fn decide(
    plan: &Plan,
    statistics: &[CaseStatistics],
    flags: &[Flag],
    comparisons: &mut [Comparison],
) {
    correct(plan, statistics, comparisons);
    obstacle::withhold(plan, statistics, flags, comparisons);
}

/// Rule 10 of the duel: with several gated cases, a difference must stand Holm's procedure over all of them; and no
/// verdict of a case stands whose null arm does not.
fn correct(plan: &Plan, statistics: &[CaseStatistics], comparisons: &mut [Comparison]) {
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
            format!("the null arm, which is the baseline once more, could not be compared: {why}"),
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
        "the null arm, which is the baseline once more, moved by {percent:+.1} % (p = {:.3}",
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

/// A trusted case that is worse outweighs what the others could not tell.
fn status(comparisons: &[Comparison], counts: &[CountDifference]) -> GateStatus {
    let any = |verdict| comparisons.iter().any(|comparison| comparison.verdict == verdict);
    if any(Verdict::Worse) || counts.iter().any(CountDifference::grew) {
        GateStatus::Worse
    } else if any(Verdict::Incomparable) || comparisons.is_empty() {
        GateStatus::Incomparable
    } else if any(Verdict::Untrusted) {
        GateStatus::Untrusted
    } else if any(Verdict::Inconclusive) {
        GateStatus::Inconclusive
    } else {
        GateStatus::Pass
    }
}
