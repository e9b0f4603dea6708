//! `touchstone calibrate`: how often this machine, now, tells identical contenders apart, and how well it finds 3 %.

use super::measure::{Judged, MeasureArguments, measure};
use crate::{Context, say};
use clap::Args;
use serde::Serialize;
use std::fmt::Write as _;
use std::process::ExitCode;
use touchstone::plan::{Choice, Plan, PlannedCase};
use touchstone::statistics::{LOOKS, clopper_pearson, median};
use touchstone::suite::Size;
use touchstone::verdict::{Comparison, Verdict, compare};

/// Measures this machine's false verdicts on identical contenders, and its power on a canary 3 % worse
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  touchstone calibrate\n  touchstone calibrate --comparisons 8 --power 2")]
pub struct Calibrate {
    /// Comparisons of identical contenders, spread over four cases
    #[arg(long, value_name = "NUMBER", default_value_t = 40)]
    comparisons: usize,
    /// Comparisons of the canary with its twin
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    power: usize,
    /// Where every random choice comes from
    #[arg(long, default_value_t = 42)]
    seed: u64,
    #[command(flatten)]
    measure: MeasureArguments,
}

/// What the canary does more than its twin, as a share of time.
const CANARY_EXTRA: f64 = 0.03;

/// The case whose arms differ.
const POWER_CASE: &str = "calibrate/slow";

#[derive(Serialize)]
struct Calibration {
    identical: Identical,
    canary: Canary,
    comparisons: Vec<Comparison>,
}

#[derive(Serialize)]
struct Identical {
    comparisons: usize,
    false_verdicts: usize,
    rate: f64,
    rate_low: f64,
    rate_high: f64,
    equivalent: usize,
    largest_difference: f64,
}

#[derive(Serialize)]
struct Canary {
    comparisons: usize,
    found: usize,
    power_low: f64,
    power_high: f64,
    truth: f64,
    estimate_median: Option<f64>,
    estimate_worst_error: Option<f64>,
}

impl Calibrate {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let project = context.project()?;
        let suites = project.suites(&["calibrate".into()])?;
        let looks = LOOKS.to_vec();
        let choice = Choice { cases: vec![], contenders: vec![], size: Size::Quick, seed: self.seed, looks };
        let mut plan = Plan::new(&suites, &project.kits, &choice)?;
        self.repeat_cases(&mut plan);
        let judged = measure(&project, &plan, &self.measure)?;
        let calibration = Calibration::of(&uncorrected(&judged));
        if context.json {
            say::json(&calibration)?;
        } else {
            say::text(&calibration.text())?;
            say::text(&format!("Record: {}\n", judged.folder.display()))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Repeats each case under names of its own, so that each comparison has launches of its own.
    fn repeat_cases(&self, plan: &mut Plan) {
        let (power, identical): (Vec<PlannedCase>, Vec<PlannedCase>) =
            plan.cases.drain(..).partition(|case| case.id == POWER_CASE);
        let rounds = |cases: &[PlannedCase], total: usize| -> Vec<PlannedCase> {
            let repeated = (0..total).map(|number| {
                let case = cases[number % cases.len()].clone();
                PlannedCase { id: format!("{}-{}", case.id, number / cases.len() + 1), ..case }
            });
            repeated.collect()
        };
        plan.cases = rounds(&identical, self.comparisons);
        plan.cases.extend(rounds(&power, self.power));
    }
}

/// Every comparison as it stands alone: a report's correction for their number would hide what is measured here.
fn uncorrected(judged: &Judged) -> Vec<Comparison> {
    let plan = &judged.record.plan;
    let cases = plan.cases.iter().zip(&judged.statistics.cases);
    cases
        .flat_map(|(case, statistics)| {
            let baseline = case.arm(&case.baseline);
            let others = case.arms.iter().filter(|arm| arm.name != case.baseline);
            others.filter_map(move |arm| Some(compare(plan, case, statistics, arm, baseline?)))
        })
        .collect()
}

impl Calibration {
    fn of(comparisons: &[Comparison]) -> Calibration {
        let (canary, identical): (Vec<&Comparison>, Vec<&Comparison>) =
            comparisons.iter().partition(|comparison| comparison.case.starts_with(POWER_CASE));
        Calibration {
            identical: Identical::of(&identical),
            canary: Canary::of(&canary),
            comparisons: comparisons.to_vec(),
        }
    }

    fn text(&self) -> String {
        let (identical, canary) = (&self.identical, &self.canary);
        let mut text = String::new();
        for comparison in &self.comparisons {
            let difference = comparison.time_ratio.map_or(f64::NAN, |ratio| (ratio - 1.0) * 100.0);
            let _ = writeln!(
                text,
                "{:<24} {:<13} {difference:+6.2} %  p {:.3}  {} launches",
                comparison.case,
                comparison.verdict,
                comparison.p.unwrap_or(f64::NAN),
                comparison.launches
            );
        }
        let _ = writeln!(
            text,
            "\nIdentical contenders: {} of {} told apart ({:.1} %, 95 % interval {:.1} to {:.1} %); {} equivalent; \
             largest difference {:.2} %",
            identical.false_verdicts,
            identical.comparisons,
            identical.rate * 100.0,
            identical.rate_low * 100.0,
            identical.rate_high * 100.0,
            identical.equivalent,
            identical.largest_difference * 100.0
        );
        if let (Some(median), Some(worst)) = (canary.estimate_median, canary.estimate_worst_error) {
            let _ = writeln!(
                text,
                "A canary {:.0} % worse: found in {} of {} (power 95 % interval {:.0} to {:.0} %); median estimate \
                 {:+.2} %, furthest from the truth by {:.2} %",
                CANARY_EXTRA * 100.0,
                canary.found,
                canary.comparisons,
                canary.power_low * 100.0,
                canary.power_high * 100.0,
                median * 100.0,
                worst * 100.0
            );
        }
        text
    }
}

impl Identical {
    fn of(comparisons: &[&Comparison]) -> Identical {
        let number = |wanted: &[Verdict]| comparisons.iter().filter(|c| wanted.contains(&c.verdict)).count();
        let false_verdicts = number(&[Verdict::Better, Verdict::Worse]);
        let (rate_low, rate_high) = interval(false_verdicts, comparisons.len());
        Identical {
            comparisons: comparisons.len(),
            false_verdicts,
            rate: false_verdicts as f64 / comparisons.len().max(1) as f64,
            rate_low,
            rate_high,
            equivalent: number(&[Verdict::Equivalent]),
            largest_difference: differences(comparisons).into_iter().map(f64::abs).fold(0.0, f64::max),
        }
    }
}

impl Canary {
    fn of(comparisons: &[&Comparison]) -> Canary {
        let found = comparisons.iter().filter(|c| c.verdict == Verdict::Worse).count();
        let (power_low, power_high) = interval(found, comparisons.len());
        let estimates = differences(comparisons);
        let worst = estimates.iter().map(|estimate| (estimate - CANARY_EXTRA).abs()).reduce(f64::max);
        Canary {
            comparisons: comparisons.len(),
            found,
            power_low,
            power_high,
            truth: CANARY_EXTRA,
            estimate_median: (!estimates.is_empty()).then(|| median(&estimates)),
            estimate_worst_error: worst,
        }
    }
}

fn interval(successes: usize, trials: usize) -> (f64, f64) {
    if trials == 0 { (0.0, 1.0) } else { clopper_pearson(successes as u64, trials as u64, 0.95) }
}

fn differences(comparisons: &[&Comparison]) -> Vec<f64> {
    comparisons.iter().filter_map(|comparison| Some(comparison.time_ratio? - 1.0)).collect()
}
