//! `touchstone plan`: suites and kits become a plan, printed or kept.

use super::choice::ChoiceArguments;
use crate::{Context, say};
use clap::Args;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use touchstone_runner::writer::write_json;

/// Writes what `run` would do: every case, arm and setting, nothing left open
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  touchstone plan --suite wcdb --size full --out plan.json\n  touchstone run plan.json"
)]
pub struct Plan {
    #[command(flatten)]
    choice: ChoiceArguments,
    /// The file for the plan; standard output, unless given
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Plan {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let (_, plan) = self.choice.plan(context)?;
        match &self.out {
            Some(path) => {
                write_json(path, &plan, "give another file with --out")?;
                if context.json {
                    say::json(&BTreeMap::from([("plan", path.display().to_string())]))?;
                }
            }
            None => say::json(&plan)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
