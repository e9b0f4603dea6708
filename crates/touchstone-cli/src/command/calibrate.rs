//! `touchstone calibrate`: how often this machine, now, tells identical contenders apart, and how well it finds 3 %.

mod bearing;

use super::measure::{MeasureArguments, Stopped, judge_folder, measure_only};
use crate::{Context, say};
use anyhow::bail;
use bearing::Bearing;
use clap::Args;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use touchstone::plan::{Choice, Plan, PlannedCase};
use touchstone::statistics::{LOOKS, clopper_pearson, median};
use touchstone::suite::Size;
use touchstone::verdict::{Comparison, FlagKind, Judgement, Verdict};
use touchstone_runner::{Error, ErrorKind};

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
    bearing: Bearing,
    comparisons: Vec<Comparison>,
}

#[derive(Serialize)]
struct Identical {
    comparisons: usize,
    false_verdicts: usize,
    /// None where the machine was contended: it would be that of the others' work.
    rate: Option<f64>,
    rate_low: Option<f64>,
    rate_high: Option<f64>,
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
        if self.comparisons == 0 && self.power == 0 {
            bail!(touchstone::Error::input(
                "nothing to compare: give --comparisons, --power or both a number above 0"
            ));
        }
        let project = context.project()?;
        let suites = project.suites(&["calibrate".into()])?;
        let looks = LOOKS.to_vec();
        let choice = Choice { cases: vec![], contenders: vec![], size: Size::Quick, seed: self.seed, looks };
        let mut plan = Plan::new(&suites, &project.kits, &choice)?;
        plan.each_alone = true;
        self.repeat_cases(&mut plan);
        // Stopped after a while, it says what it has found until then.
        let (folder, stopped) = match measure_only(&project, &plan, &self.measure) {
            Ok(folder) => (folder, None),
            Err(Stopped { error, record: Some(folder) }) if is_interruption(&error) => (folder, Some(error)),
            Err(Stopped { error, .. }) => return Err(error),
        };
        let judged = judge_folder(&folder)?;
        let calibration = Calibration::of(&judged.judgement, &judged.record.plan, stopped.is_some());
        if context.json {
            say::json(&calibration)?;
        } else {
            say::text(&calibration.text(&folder))?;
        }
        match stopped {
            // The document has said that it was stopped, and is the only one on standard output.
            Some(error) if context.json => {
                say::note(&format!("touchstone: {error:#}"));
                Ok(ExitCode::from(crate::exit::INTERRUPTED))
            }
            Some(error) => Err(error),
            None => Ok(ExitCode::SUCCESS),
        }
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

fn is_interruption(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Error>().is_some_and(|error| error.kind() == ErrorKind::Interrupted)
}

impl Calibration {
    /// Of the comparisons that were made: one that has not come to its first look says nothing.
    fn of(judgement: &Judgement, plan: &Plan, stopped: bool) -> Calibration {
        let first_look = plan.looks.first().copied().unwrap_or_default();
        let made = judgement
            .comparisons
            .iter()
            .filter(|known| known.verdict != Verdict::Incomparable && known.launches >= first_look);
        let (canary, identical): (Vec<&Comparison>, Vec<&Comparison>) =
            made.clone().partition(|comparison| comparison.case.starts_with(POWER_CASE));
        let is_contended = |known: &&Comparison| {
            let mut flags = judgement.flags.iter().filter(|flag| flag.kind == FlagKind::Contended);
            flags.any(|flag| flag.case == known.case)
        };
        let contended = made.clone().filter(is_contended).count();
        let bearing = Bearing::of(&identical, &canary, contended, stopped);
        Calibration {
            identical: Identical::of(&identical, bearing.is_contended()),
            canary: Canary::of(&canary),
            bearing,
            comparisons: made.cloned().collect(),
        }
    }

    fn text(&self, folder: &Path) -> String {
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
        let rate = match (identical.rate, identical.rate_low, identical.rate_high) {
            (Some(rate), Some(low), Some(high)) => {
                format!(" ({:.1} %, 95 % interval {:.1} to {:.1} %)", rate * 100.0, low * 100.0, high * 100.0)
            }
            _ => String::new(),
        };
        let _ = writeln!(
            text,
            "\nIdentical contenders: {} of {} told apart{rate}; {} equivalent; largest difference {:.2} %",
            identical.false_verdicts,
            identical.comparisons,
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
        let _ = writeln!(text, "Record: {}\n{}", folder.display(), self.bearing);
        text
    }
}

impl Identical {
    fn of(comparisons: &[&Comparison], contended: bool) -> Identical {
        let number = |wanted: &[Verdict]| comparisons.iter().filter(|c| wanted.contains(&c.verdict)).count();
        let false_verdicts = number(&[Verdict::Better, Verdict::Worse]);
        let (rate_low, rate_high) = interval(false_verdicts, comparisons.len());
        let told = !contended && !comparisons.is_empty();
        Identical {
            comparisons: comparisons.len(),
            false_verdicts,
            rate: told.then(|| false_verdicts as f64 / comparisons.len() as f64),
            rate_low: told.then_some(rate_low),
            rate_high: told.then_some(rate_high),
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
