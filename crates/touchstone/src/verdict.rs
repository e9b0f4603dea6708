//! Statistics become verdicts: the one place where anything is decided. Renderers only show what stands here.

mod claim;
mod comparison;
mod doubt;
mod durability;
mod evidence;
mod figure;
mod flag;
mod gate;
mod resembling;
mod worded;

pub use claim::{ClaimOutcome, ClaimStatus, PairOutcome, PublishedFigure, Side, TestOutcome};
pub use comparison::{Comparison, Verdict, compare};
pub use doubt::DRIFT_APART_MOST;
pub use flag::{Flag, FlagKind, carries_wal_reset_fix};
pub use gate::{Count, CountDifference, Gate, GateStatus, gate};

use crate::estimate::CaseStatistics;
use crate::name::suite_of;
use crate::plan::Plan;
use crate::sample::Introduction;
use crate::statistics::Correction;
use serde::{Deserialize, Serialize};

/// The version of the verdict's format.
pub const VERDICT_VERSION: u32 = 2;

/// Everything decided about a record. The file `verdict.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// [`VERDICT_VERSION`].
    pub verdict_version: u32,
    /// Every arm against its case's baseline, in plan order.
    pub comparisons: Vec<Comparison>,
    /// Every claim that what was run is about, in suite order.
    pub claims: Vec<ClaimOutcome>,
    /// What makes a number doubtful.
    pub flags: Vec<Flag>,
}

/// How the comparisons of a plan are corrected for their number, at its looks and in the end.
pub fn correction(plan: &Plan) -> Correction {
    if gate::is_gate(plan) {
        Correction::Gate
    } else if plan.each_alone {
        Correction::Alone
    } else {
        Correction::Exploration
    }
}

/// Which cases are judged together, as a name: those that are corrected for their number, looked at and asked for their serial
/// correlation together. All of a gate or a calibration, and otherwise those of a suite: it is one page and one question, so that no
/// verdict of it depends on which others were run beside it.
pub fn judged_together(correction: Correction, case: &str) -> &str {
    match correction {
        Correction::Exploration => suite_of(case),
        Correction::Alone | Correction::Gate => "",
    }
}

/// Judges the statistics of a plan.
pub fn judge(plan: &Plan, statistics: &[CaseStatistics], subjects: &[Introduction]) -> Judgement {
    let flags = flag::flags(plan, statistics, subjects);
    let mut comparisons: Vec<Comparison> = plan
        .cases
        .iter()
        .zip(statistics)
        .flat_map(|(case, statistics)| comparison::against_baseline(plan, case, statistics))
        .collect();
    let correction = correction(plan);
    resembling::withhold(plan, statistics, &mut comparisons);
    match correction {
        Correction::Gate => gate::decide(plan, statistics, &flags, &mut comparisons),
        Correction::Exploration => comparison::explore(&mut comparisons),
        Correction::Alone => {}
    }
    let claims = claim::outcomes(plan, statistics, &flags);
    Judgement { verdict_version: VERDICT_VERSION, comparisons, claims, flags }
}
