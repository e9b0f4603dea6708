//! One arm against another: whether they may be compared at all, and what the interval says.

use super::doubt::{drift_apart, two_kinds};
use super::durability::broken_promise;
use super::judged_together;
use crate::estimate::{ArmStatistics, CaseStatistics, paired};
use crate::plan::{Plan, PlannedArm, PlannedCase};
use crate::sample::Outcome;
use crate::statistics::{
    Correction, Decision, Estimate, decide as decide_estimate, discoveries, withheld_for_correlation,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use touchstone_protocol::Setting;

/// One arm against another, decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The case.
    pub case: String,
    /// Who is judged.
    pub arm: String,
    /// Against whom.
    pub against: String,
    /// What is decided.
    pub verdict: Verdict,
    /// Why, where the interval alone does not say.
    pub reasons: Vec<String>,
    /// Time of the arm over time of the other: below 1 the arm is better.
    pub time_ratio: Option<f64>,
    /// Its interval; an end is missing where there were too few launches to bound it.
    pub time_ratio_low: Option<f64>,
    /// The upper end.
    pub time_ratio_high: Option<f64>,
    /// The two-sided p of the signed-rank test, raised where launches resemble their neighbours.
    pub p: Option<f64>,
    /// Launches behind it.
    pub launches: usize,
    /// The smallest relative difference that as many launches as noisy as these show in four runs of five.
    pub smallest_detectable: Option<f64>,
    /// The margin it was judged with.
    pub margin: f64,
    /// Whether it may be ranked: both promise the same of an acknowledged commit.
    pub same_class: bool,
}

/// What is said of one arm against another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Beyond the margin, for less time.
    Better,
    /// Beyond the margin, for more time.
    Worse,
    /// The whole interval lies within the margin.
    Equivalent,
    /// None of these can be said yet.
    Inconclusive,
    /// The null arm moved: this machine, now, cannot be believed.
    Untrusted,
    /// Settings or answers differ, or one of them did not run; in a gate also where one may not have done the work in its time, or
    /// promises less.
    Incomparable,
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Equivalent => "equivalent",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Untrusted => "untrusted",
            Verdict::Incomparable => "incomparable",
        })
    }
}

impl From<Decision> for Verdict {
    fn from(decision: Decision) -> Verdict {
        match decision {
            Decision::Better => Verdict::Better,
            Decision::Worse => Verdict::Worse,
            Decision::Equivalent => Verdict::Equivalent,
            Decision::Inconclusive => Verdict::Inconclusive,
        }
    }
}

/// Every arm of a case against its baseline.
pub(super) fn against_baseline(
    plan: &Plan,
    case: &PlannedCase,
    statistics: &CaseStatistics,
) -> Vec<Comparison> {
    let Some(against) = case.arm(&case.baseline) else { return Vec::new() };
    let others = case.arms.iter().filter(|arm| arm.name != case.baseline);
    others.map(|arm| compare(plan, case, statistics, arm, against)).collect()
}

/// Rule 10 of the duel: among many comparisons some differ by chance. Those that do not stand the correction of Benjamini and
/// Hochberg over the cases that are judged together are taken back.
pub(super) fn explore(comparisons: &mut [Comparison]) {
    let family = |known: &Comparison| judged_together(Correction::Exploration, &known.case).to_owned();
    let families: BTreeSet<String> = comparisons.iter().map(family).collect();
    for name in families {
        explore_one(comparisons.iter_mut().filter(|known| family(known) == name).collect());
    }
}

fn explore_one(mut tested: Vec<&mut Comparison>) {
    tested.retain(|known| !matches!(known.verdict, Verdict::Incomparable | Verdict::Untrusted));
    tested.retain(|known| known.p.is_some());
    let p: Vec<f64> = tested.iter().filter_map(|comparison| comparison.p).collect();
    for (comparison, found) in tested.iter_mut().zip(discoveries(&p)) {
        if !found && matches!(comparison.verdict, Verdict::Better | Verdict::Worse) {
            comparison.verdict = Verdict::Inconclusive;
            comparison
                .reasons
                .push(format!("among {} comparisons this may be chance (Benjamini-Hochberg 5 %)", p.len()));
        }
    }
}

/// Compares two arms of a case.
pub fn compare(
    plan: &Plan,
    case: &PlannedCase,
    statistics: &CaseStatistics,
    arm: &PlannedArm,
    against: &PlannedArm,
) -> Comparison {
    let margin = case.margin_of(arm, against);
    let (mine, theirs) = (statistics.arm(&arm.name), statistics.arm(&against.name));
    let estimate =
        mine.zip(theirs).and_then(|(m, t)| paired(&m.launches, &t.launches, |v| Some(v.operation_ns)));
    let mut reasons: Vec<String> = [(arm, mine), (against, theirs)]
        .into_iter()
        .filter_map(|(planned, measured)| Some(obstacles(case, planned, measured?)))
        .flatten()
        .collect();
    reasons.extend(mine.zip(theirs).and_then(|(mine, theirs)| cache_difference(mine, theirs)));
    let verdict = match (&estimate, mine.zip(theirs)) {
        (Some(estimate), Some(arms)) if reasons.is_empty() => {
            decide(plan, estimate, arms, margin, &mut reasons)
        }
        (None, _) if reasons.is_empty() => {
            reasons.push("there is no launch that both completed".into());
            Verdict::Incomparable
        }
        _ => Verdict::Incomparable,
    };
    let (low, high) = estimate.as_ref().and_then(Estimate::ratio_interval).unzip();
    let of_two_kinds = mine.zip(theirs).is_some_and(|(mine, theirs)| !two_kinds(mine, theirs).is_empty());
    Comparison {
        case: case.id.clone(),
        arm: arm.name.clone(),
        against: against.name.clone(),
        verdict,
        reasons,
        time_ratio: estimate.as_ref().map(Estimate::ratio),
        time_ratio_low: low,
        time_ratio_high: high,
        p: estimate.as_ref().map(|estimate| estimate.p),
        launches: estimate.as_ref().map_or(0, |estimate| estimate.launches),
        smallest_detectable: estimate
            .as_ref()
            .and_then(|estimate| estimate.smallest_detectable_effect(of_two_kinds)),
        margin,
        same_class: arm.class == against.class || !(arm.writes() || against.writes()),
    }
}

/// Rule 7: a verdict is only looked at after as many launches as the plan says. What the interval says is withheld where
/// the ratio depends on how long the arms run.
fn decide(
    plan: &Plan,
    estimate: &Estimate,
    (mine, theirs): (&ArmStatistics, &ArmStatistics),
    margin: f64,
    reasons: &mut Vec<String>,
) -> Verdict {
    let first_look = plan.looks.first().copied().unwrap_or_default();
    if estimate.launches < first_look {
        reasons.push(format!("only {} of the {first_look} launches of the first look", estimate.launches));
        return Verdict::Inconclusive;
    }
    let decision = decide_estimate(estimate, margin);
    reasons.extend(two_kinds(mine, theirs));
    if let Some(would_be) = withheld_for_correlation(estimate, margin) {
        reasons.push(resembling(estimate, Verdict::from(would_be)));
    }
    let drifts = drift_apart(mine, theirs).filter(|_| matches!(decision, Decision::Better | Decision::Worse));
    match drifts {
        Some(why) => {
            reasons.push(format!("{} is withheld: {why}", Verdict::from(decision)));
            Verdict::Inconclusive
        }
        None => decision.into(),
    }
}

/// That serial correlation is why nothing is decided.
pub(super) fn resembling(estimate: &Estimate, would_be: impl fmt::Display) -> String {
    let correlation = estimate.serial_correlation.unwrap_or_default();
    format!(
        "{would_be} is withheld: launches may resemble their neighbours (serial correlation {correlation:.1} over \
         {} launches), so the interval is {:.1} times as wide as that of independent ones",
        estimate.launches,
        estimate.widening()
    )
}

/// The launches an arm did not complete: nothing is known of it then, not even that it lost nothing.
pub(super) fn incomplete(arm: &ArmStatistics) -> Vec<String> {
    let mut incomplete = Vec::new();
    for (outcome, launches) in &arm.outcomes {
        let what = match outcome {
            Outcome::Completed => continue,
            Outcome::Void => "answered wrongly",
            Outcome::Unsupported => "cannot do this",
            Outcome::TimedOut => "timed out",
            Outcome::Crashed => "crashed",
            Outcome::Failed => "failed",
        };
        let error = arm.error.as_deref().unwrap_or("no reason was given");
        let word = if *launches == 1 { "launch" } else { "launches" };
        incomplete.push(format!("{} {what} in {launches} {word}: {error}", arm.arm));
    }
    incomplete
}

/// What keeps an arm from being compared with anything.
pub(super) fn obstacles(case: &PlannedCase, planned: &PlannedArm, arm: &ArmStatistics) -> Vec<String> {
    let mut obstacles: Vec<String> = incomplete(arm).into_iter().chain(not_honoured(arm)).collect();
    obstacles.extend(broken_promise(case, planned, arm));
    obstacles.extend(doubted(arm));
    let failed = arm.errors.values().copied().fold(0, u64::saturating_add);
    if failed > 0 {
        let kinds: Vec<String> = arm.errors.iter().map(|(kind, number)| format!("{number} {kind}")).collect();
        let first = arm.failed_with.as_ref().map(|first| format!(", the first with: {first}"));
        let (kinds, first) = (kinds.join(", "), first.unwrap_or_default());
        obstacles.push(format!("{}: operations failed ({kinds}){first}", arm.arm));
    }
    if arm.missing > 0 && failed == 0 {
        obstacles
            .push(format!("{}: {} acknowledged records were not there in the end", arm.arm, arm.missing));
    }
    obstacles
}

/// Of a load whose generator came to its own limits, the figures are the generator's: one window in four may be so.
fn doubted(arm: &ArmStatistics) -> Option<String> {
    let load = arm.load.as_ref().filter(|load| load.doubted.saturating_mul(4) > load.windows)?;
    let why = load.doubts.join("; ");
    Some(format!(
        "{}: the load generator doubts {} of {} windows: {why}",
        arm.arm, load.doubted, load.windows
    ))
}

/// Settings that were asked for and did not take effect.
pub(super) fn not_honoured(arm: &ArmStatistics) -> impl Iterator<Item = String> {
    arm.settings.iter().filter(|setting| !setting.honoured).map(|setting| {
        let show = |value: &Option<Setting>| value.as_ref().map_or("nothing".into(), Setting::to_string);
        let (asked, effective) = (show(&setting.asked), show(&setting.effective));
        format!("{}: {} was asked for as {asked}, {effective} took effect", arm.arm, setting.name)
    })
}

/// Different cache bytes measure the cache, unless a difference was asked for.
pub(super) fn cache_difference(mine: &ArmStatistics, theirs: &ArmStatistics) -> Option<String> {
    let cache = |arm: &ArmStatistics| arm.settings.iter().find(|s| s.name == "cache_size_bytes").cloned();
    let (mine_cache, their_cache) = (cache(mine)?, cache(theirs)?);
    let unasked = mine_cache.asked == their_cache.asked;
    match (mine_cache.effective, their_cache.effective) {
        (Some(a), Some(b)) if a != b && unasked => Some(format!(
            "cache bytes differ: {a} of {}, {b} of {}; ask all for one size, by `cache_size_bytes` under `[settings]` in the suite",
            mine.arm, theirs.arm
        )),
        _ => None,
    }
}

/// Other promises about a commit make other work: said beside a ratio, unless one library is asked in two profiles, where
/// the promise is the question. Of a service the question is how much it serves, in whatever profile.
pub(super) fn class_difference(mine: &PlannedArm, theirs: &PlannedArm) -> Option<String> {
    let asked = mine.contender.subject == theirs.contender.subject && !mine.serves;
    let differs = mine.class != theirs.class && (mine.writes() || theirs.writes());
    (differs && !asked).then(|| {
        format!("classes differ: {} is {}, {} is {}", mine.name, mine.class, theirs.name, theirs.class)
    })
}
