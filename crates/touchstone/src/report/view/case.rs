//! A case as rows: each contender's rate, its ratio to the baseline, the verdict, and the notes that explain
//! it.

use super::load::{self, LoadTables};
use super::note::{self, Note};
use super::{facts, flag};
use crate::estimate::{ArmStatistics, CaseStatistics};
use crate::kit::DurabilityClass;
use crate::plan::{PlannedArm, PlannedCase};
use crate::report::{Findings, format};
use crate::sample::Outcome;
use crate::suite::PublishedLoad;
use crate::verdict::{Comparison, FlagKind, Verdict};
use std::cmp::Ordering;

/// A case with its arms in the order of reading: the baseline, then by class, best first; canaries at the
/// end.
pub(in crate::report) struct CaseView {
    pub id: String,
    /// The id without its suite.
    pub name: String,
    pub title: String,
    /// What is done to what, in a sentence.
    pub facts: String,
    pub margin: f64,
    /// Whether any arm stores anything.
    pub writes: bool,
    pub baseline: String,
    pub arms: Vec<ArmView>,
    /// What users met, where its arms are services.
    pub load: Option<LoadTables>,
    /// Why verdicts are what they are, each reason once, and what went missing.
    pub notes: Vec<Note>,
    /// Kinds of red flags that are about it; those on canaries only where there is nothing else to compare.
    pub flags: Vec<FlagKind>,
}

/// A row.
pub(in crate::report) struct ArmView {
    pub name: String,
    pub standing: Standing,
    pub canary: bool,
    /// The baseline again under another name.
    pub null_arm: bool,
    pub floor: bool,
    pub operation_ns: Option<f64>,
    pub rate: Option<String>,
    /// Rate over the baseline's rate, where the two may be compared: above 1 is better.
    pub ratio: Option<Ratio>,
    /// The smallest difference from the baseline that matters: wider where it waits for the disk.
    pub margin: f64,
    pub class: DurabilityClass,
    pub floor_share: Option<f64>,
    pub syncs_per_commit: Option<u64>,
    pub launches_completed: usize,
    pub launches: usize,
    /// Whether a red flag is about it.
    pub flagged: bool,
}

/// What the row is in its case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) enum Standing {
    /// The arm that the others are compared with.
    Baseline,
    /// Compared, with this verdict; `same_class` says whether it may be ranked with the baseline.
    Compared { verdict: Verdict, same_class: bool },
    /// Planned and never begun.
    NotRun,
}

/// A ratio of rates with its interval.
#[derive(Clone, Copy)]
pub(in crate::report) struct Ratio {
    pub value: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl CaseView {
    pub(super) fn of_suite(findings: &Findings<'_>, suite: &str) -> Vec<CaseView> {
        let cases = findings.record.plan.cases.iter().zip(findings.statistics);
        cases
            .filter(|(case, _)| case.suite() == suite)
            .map(|(case, statistics)| CaseView::new(findings, case, statistics))
            .collect()
    }

    fn new(findings: &Findings<'_>, case: &PlannedCase, statistics: &CaseStatistics) -> CaseView {
        let comparisons: Vec<&Comparison> =
            findings.judgement.comparisons.iter().filter(|comparison| comparison.case == case.id).collect();
        let mut arms: Vec<ArmView> = case
            .arms
            .iter()
            .filter_map(|planned| {
                let measured = statistics.arms.iter().find(|measured| measured.arm == planned.name)?;
                let comparison = comparisons.iter().find(|comparison| comparison.arm == planned.name);
                let flagged = flag::is_flagged(findings, case, planned);
                Some(ArmView::new(case, planned, measured, comparison.copied(), flagged))
            })
            .collect();
        let only_canaries = only_canaries(&arms);
        let base_class = case.arm(&case.baseline).map(|arm| arm.class);
        arms.sort_by(|one, other| reading_order(one, other, base_class));
        CaseView {
            id: case.id.clone(),
            name: case.id.split_once('/').map_or(case.id.clone(), |(_, name)| name.to_owned()),
            title: case.title.clone(),
            facts: facts::facts(case),
            margin: case.margin,
            writes: case.writes(),
            baseline: case.baseline.clone(),
            load: load::of(case, statistics, published_loads(findings, case.suite())),
            notes: note::notes(&comparisons, &arms, &statistics.arms),
            flags: flag::kinds_of(findings, case, |arm| only_canaries || !arm.canary),
            arms,
        }
    }

    /// Whether anything of it was run.
    pub(in crate::report) fn was_run(&self) -> bool {
        self.arms.iter().any(|arm| arm.launches > 0)
    }

    /// Whether there is nothing but canaries to compare.
    pub(in crate::report) fn only_canaries(&self) -> bool {
        only_canaries(&self.arms)
    }

    /// The arms to show where canaries do not matter: all but canaries, unless there is nothing else to
    /// compare.
    pub(in crate::report) fn arms_of_interest(&self) -> Vec<&ArmView> {
        let only_canaries = self.only_canaries();
        self.arms.iter().filter(|arm| only_canaries || !arm.canary).collect()
    }
}

fn published_loads<'f>(findings: &Findings<'f>, suite: &str) -> &'f [PublishedLoad] {
    let mut suites = findings.record.plan.suites.iter();
    suites.find(|known| known.name == suite).map_or(&[], |known| &known.published_loads)
}

fn only_canaries(arms: &[ArmView]) -> bool {
    arms.iter().all(|arm| arm.canary || arm.floor || arm.standing == Standing::Baseline)
        && arms.iter().any(|arm| arm.canary)
}

impl ArmView {
    fn new(
        case: &PlannedCase,
        planned: &PlannedArm,
        measured: &ArmStatistics,
        comparison: Option<&Comparison>,
        flagged: bool,
    ) -> ArmView {
        let launches = measured.outcomes.values().sum();
        let standing = match comparison {
            _ if planned.name == case.baseline => Standing::Baseline,
            Some(compared) if launches > 0 => {
                Standing::Compared { verdict: compared.verdict, same_class: compared.same_class }
            }
            _ => Standing::NotRun,
        };
        let incomparable = comparison.is_some_and(|comparison| comparison.verdict == Verdict::Incomparable);
        ArmView {
            name: planned.name.clone(),
            standing,
            canary: planned.canary,
            null_arm: planned.null_arm,
            floor: case.floor.as_ref() == Some(&planned.name),
            operation_ns: measured.operation_ns,
            rate: measured.operation_ns.map(format::rate),
            ratio: comparison.filter(|_| !incomparable).and_then(Ratio::of_rates),
            margin: comparison.map_or(case.margin, |comparison| comparison.margin),
            class: planned.class,
            floor_share: measured.floor_share.filter(|_| !incomparable),
            syncs_per_commit: measured
                .syncs
                .as_ref()
                .filter(|syncs| syncs.unavailable.is_none() && syncs.commits > 0)
                .map(|syncs| syncs.syncs_per_commit),
            launches_completed: measured.outcomes.get(&Outcome::Completed).copied().unwrap_or_default(),
            launches,
            flagged,
        }
    }

    pub(in crate::report) fn verdict(&self) -> Option<Verdict> {
        match self.standing {
            Standing::Compared { verdict, .. } => Some(verdict),
            _ => None,
        }
    }

    /// `1.352 (1.301–1.412)`; the baseline's is 1 by definition.
    pub(in crate::report) fn ratio_said(&self) -> Option<String> {
        match self.standing {
            Standing::Baseline => Some("1".into()),
            _ => self.ratio.map(|ratio| format!("{} ({})", ratio.figure(), ratio.interval())),
        }
    }

    /// The word in the verdict's column.
    pub(in crate::report) fn word(&self) -> String {
        match self.standing {
            Standing::Baseline => "baseline".into(),
            Standing::Compared { verdict, .. } => verdict.to_string(),
            Standing::NotRun => "not run".into(),
        }
    }

    /// Whether it promises something else of a commit than the baseline does, and so is not ranked with it.
    pub(in crate::report) fn other_class(&self) -> bool {
        matches!(self.standing, Standing::Compared { same_class: false, .. })
    }
}

impl Ratio {
    /// The comparison holds times; readers think in rates.
    fn of_rates(comparison: &Comparison) -> Option<Ratio> {
        let invert = |end: Option<f64>| end.map(|end| 1.0 / end);
        Some(Ratio {
            value: 1.0 / comparison.time_ratio?,
            low: invert(comparison.time_ratio_high),
            high: invert(comparison.time_ratio_low),
        })
    }

    /// `1.352`.
    pub(in crate::report) fn figure(&self) -> String {
        format::ratio(self.value)
    }

    /// `1.301–1.412`, or that there is none.
    pub(in crate::report) fn interval(&self) -> String {
        format::ratio_interval(self.value, self.low, self.high).unwrap_or_else(|| "no bounds".into())
    }
}

/// The baseline, its class before the others, the strongest of those first, better before worse, canaries
/// last.
fn reading_order(one: &ArmView, other: &ArmView, base_class: Option<DurabilityClass>) -> Ordering {
    let place = |arm: &ArmView| {
        let of_base_class = Some(arm.class) == base_class || !arm.other_class();
        let class = (!of_base_class).then_some(arm.class);
        (arm.standing != Standing::Baseline, arm.canary, class, arm.ratio.is_none())
    };
    let value = |arm: &ArmView| arm.ratio.map_or(0.0, |ratio| ratio.value);
    place(one).cmp(&place(other)).then(value(other).total_cmp(&value(one)))
}
