//! `touchstone plan`: suites and kits become a plan, printed or kept.

use super::choice::ChoiceArguments;
use crate::{Context, generator, say};
use clap::Args;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use touchstone_runner::kits::Project;
use touchstone_runner::service::check_windows;
use touchstone_runner::writer::write_json;

/// Writes what `run` would do: every case, arm and setting, nothing left open
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  touchstone plan --suite wcdb --size full --out plan.json\n  touchstone run plan.json"
)]
pub struct Plan {
    #[command(flatten)]
    choice: ChoiceArguments,
    /// The file for the plan, whose name is printed then; standard output, unless given
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Plan {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let (project, plan) = self.choice.plan(context)?;
        check_scenarios(&project, &plan)?;
        match &self.out {
            Some(path) => {
                write_json(path, &plan, "give another file with --out")?;
                let path = path.display().to_string();
                if context.json {
                    say::json(&BTreeMap::from([("plan", path)]))?;
                } else {
                    say::text(&format!("{path}\n"))?;
                }
            }
            None => say::json(&plan)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Asks the load generator about the scenarios of cases of services, as `bench` does before it builds anything. A plan builds nothing: where
/// the generator is not there, that is said.
fn check_scenarios(project: &Project, plan: &touchstone::plan::Plan) -> anyhow::Result<()> {
    let loads = plan.cases.iter().filter(|case| case.load.is_some()).count();
    if loads == 0 {
        return Ok(());
    }
    match generator::at_hand(project)? {
        Some(program) => plan.cases.iter().try_for_each(|case| Ok(check_windows(&program, case)?)),
        None => {
            let what = match loads {
                1 => "the scenario of one case was".to_owned(),
                _ => format!("the scenarios of {loads} cases were"),
            };
            say::note(&format!(
                "{what} not checked, for touchstone-load is not built or older than its sources: `touchstone load --help` builds it, \
                 and `touchstone run` checks before it runs"
            ));
            Ok(())
        }
    }
}
