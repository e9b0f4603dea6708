//! `touchstone gate`: does a candidate stand against a baseline? For CI: five answers, five exit statuses.

mod programs;
mod told;

use super::measure::{MeasureArguments, measure};
use crate::{Context, exit, say};
use anyhow::bail;
use clap::Args;
use programs::absolute;
use std::path::PathBuf;
use std::process::ExitCode;
use told::describe;
use touchstone::kit::Contender;
use touchstone::name::there_are;
use touchstone::plan::{Choice, Plan};
use touchstone::statistics::{LOOKS, can_reject};
use touchstone::suite::{ArmSpec, Case, Size, Suite, VariedArm};
use touchstone::verdict::{GateStatus, gate};
use touchstone_runner::kits::Project;

/// Compares two builds of a driver, or two profiles, with the baseline once more as a null arm
#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0 pass, 1 worse, 2 inconclusive, 3 untrusted, 4 incomparable: also where a flag says \
    that the work may not have been done in its time, and where less is promised of a commit than before\n\n\
    Examples:\n  touchstone gate --case couch/get --baseline rusqlite@delete-full --candidate rusqlite@wal-normal\n  \
    touchstone gate --case wcdb/read --baseline rusqlite@wal-normal --candidate-program ./rusqlite"
)]
pub struct Gate {
    /// A case to gate on, as `wcdb/read`; several are corrected for their number
    #[arg(long = "case", value_name = "CASE", required = true)]
    cases: Vec<String>,
    /// The contender that is known
    #[arg(long, value_name = "CONTENDER")]
    baseline: String,
    /// The contender that is judged; the baseline's own, unless given
    #[arg(long, value_name = "CONTENDER")]
    candidate: Option<String>,
    /// The baseline's driver program, where it is not the kit's
    #[arg(long, value_name = "PROGRAM")]
    baseline_program: Option<PathBuf>,
    /// The candidate's driver program, where it is not the kit's
    #[arg(long, value_name = "PROGRAM")]
    candidate_program: Option<PathBuf>,
    /// The smallest relative difference that matters; 0.02, or 0.1 where commits reach the disk, unless given
    #[arg(long, value_name = "SHARE")]
    margin: Option<f64>,
    /// Where every random choice comes from
    #[arg(long, default_value_t = 42)]
    seed: u64,
    #[command(flatten)]
    measure: MeasureArguments,
}

/// What each arm of a gated case is called after its contender.
const CANDIDATE: &str = "candidate";
const NULL: &str = "null";

impl Gate {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        if self.candidate.is_none() && self.candidate_program.is_none() {
            bail!(touchstone::Error::input(
                "nothing to judge: give --candidate, --candidate-program or both"
            ));
        }
        if self.margin.is_some_and(|margin| !(margin > 0.0 && margin < 1.0)) {
            bail!(touchstone::Error::input("--margin is a share between 0 and 1, such as 0.02"));
        }
        let project = context.project()?;
        let plan = self.plan(&project)?;
        programs::look_at(&project, &plan)?;
        let judged = measure(&project, &plan, &self.measure)?;
        let decided = gate(&judged.record, &judged.statistics.cases, &judged.judgement);
        judged.write_report()?;
        if context.json {
            say::json(&decided)?;
        } else {
            say::text(&describe(&decided, &judged))?;
        }
        Ok(ExitCode::from(match decided.status {
            GateStatus::Pass => 0,
            GateStatus::Worse => exit::WORSE,
            GateStatus::Inconclusive => exit::INCONCLUSIVE,
            GateStatus::Untrusted => exit::UNTRUSTED,
            GateStatus::Incomparable => exit::INCOMPARABLE,
        }))
    }

    fn plan(&self, project: &Project) -> anyhow::Result<Plan> {
        let mut suites: Vec<Suite> = Vec::new();
        let candidate = self.candidate.as_ref().unwrap_or(&self.baseline);
        for wanted in &self.cases {
            let Some((suite_name, case_name)) = wanted.split_once('/') else {
                bail!(touchstone::Error::input(format!(
                    "`{wanted}` is not a case: write suite/case, such as couch/get"
                )));
            };
            let mut suite = project.suites(&[suite_name.to_owned()])?.remove(0);
            let known: Vec<String> = suite.cases.iter().map(|case| case.id.clone()).collect();
            suite.claims.clear();
            suite.cases = suite.cases.into_iter().filter_map(|case| case.named(case_name)).collect();
            let Some(case) = suite.cases.first_mut() else {
                let known = there_are(case_name, known);
                let message = format!("suite `{suite_name}` has no case `{case_name}`; {known}");
                bail!(touchstone::Error::input(message));
            };
            if case.at(Size::Quick).is_empty() {
                bail!(touchstone::Error::input(format!(
                    "case `{wanted}` has the full size only, and a gate measures the quick one: gate on another case, or \
                     compare with `touchstone bench --size full`"
                )));
            }
            gated(case, &self.baseline, candidate)?;
            match suites.iter_mut().find(|known| known.name == suite.name) {
                Some(known) => known.cases.append(&mut suite.cases),
                None => suites.push(suite),
            }
        }
        let looks = LOOKS.to_vec();
        let choice = Choice { cases: vec![], contenders: vec![], size: Size::Quick, seed: self.seed, looks };
        let mut plan = Plan::new(&suites, &project.kits, &choice)?;
        plan.family = plan.cases.len();
        // A case with scales is as many as it has.
        if !can_reject(plan.looks[plan.looks.len() - 1], plan.family) {
            bail!(touchstone::Error::input(
                "that many cases could never be told apart in 24 launches: gate on fewer"
            ));
        }
        for case in &mut plan.cases {
            case.margin = self.margin.unwrap_or(if case.flushes { 0.10 } else { 0.02 });
            for arm in &mut case.arms {
                // A margin that was asked for holds for every arm.
                arm.margin = arm.margin.filter(|_| self.margin.is_none());
                arm.null_arm = arm.name.rsplit_once('#').is_some_and(|(_, variant)| variant == NULL);
                let is_candidate = arm.name != case.baseline && !arm.null_arm;
                let program = if is_candidate { &self.candidate_program } else { &self.baseline_program };
                arm.program = program.as_deref().map(absolute).transpose()?;
            }
        }
        Ok(plan)
    }
}

/// Leaves a case three arms: the baseline, the candidate, and the baseline again.
fn gated(case: &mut Case, baseline: &str, candidate: &str) -> anyhow::Result<()> {
    let candidate = if candidate == baseline {
        ArmSpec::Varied(varied(case, candidate, CANDIDATE)?)
    } else {
        find(case, candidate)?
    };
    let null = ArmSpec::Varied(varied(case, baseline, NULL)?);
    case.arms = vec![find(case, baseline)?, candidate, null];
    case.baseline = baseline.to_owned();
    case.floor = None;
    Ok(())
}

/// An arm that the case has under that name, or else the contender as it is.
fn find(case: &Case, name: &str) -> anyhow::Result<ArmSpec> {
    match case.arms.iter().find(|arm| arm.name() == name) {
        Some(arm) => Ok(arm.clone()),
        None => Ok(ArmSpec::Plain(Contender::try_from(name.to_owned()).map_err(touchstone::Error::input)?)),
    }
}

fn varied(case: &Case, name: &str, variant: &str) -> anyhow::Result<VariedArm> {
    Ok(match find(case, name)? {
        ArmSpec::Plain(contender) => VariedArm {
            contender,
            variant: variant.to_owned(),
            lanes: None,
            indexes: Vec::new(),
            flush_us: None,
        },
        ArmSpec::Varied(arm) => VariedArm { variant: format!("{}-{variant}", arm.variant), ..arm },
    })
}
