//! `touchstone run`: a plan becomes a record.

use super::measure::{MeasureArguments, measure};
use crate::{Context, say};
use clap::Args;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use touchstone::plan::Plan;

/// Runs a plan and leaves a record: raw samples, environment, what took effect
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  touchstone plan --suite couch --out plan.json && touchstone run plan.json --out record"
)]
pub struct Run {
    /// The plan, as `touchstone plan` writes it
    plan: PathBuf,
    #[command(flatten)]
    measure: MeasureArguments,
}

impl Run {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let path = self.plan.display().to_string();
        let text = std::fs::read_to_string(&self.plan)
            .map_err(|error| touchstone::Error::input(format!("cannot read the plan {path}: {error}")))?;
        let plan = Plan::parse(&text, &path)?;
        let judged = measure(&context.project()?, &plan, &self.measure)?;
        let record = judged.folder.display().to_string();
        if context.json {
            say::json(&BTreeMap::from([("record", record)]))?;
        } else {
            say::text(&format!("{record}\n"))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
