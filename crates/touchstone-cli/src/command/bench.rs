//! `touchstone bench`: plan, build, run, judge and report in one go.

use super::choice::ChoiceArguments;
use super::measure::{MeasureArguments, measure};
use crate::{Context, say};
use clap::Args;
use serde::Serialize;
use std::process::ExitCode;
use touchstone::report::summary;

/// Re-tests published claims: plans, builds, runs, judges and reports
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  touchstone bench\n  touchstone bench --suite wcdb --case read --size full\n  \
    touchstone bench --suite dflat --size full --looks 1\n  \
    touchstone bench --suite couch --json | jq '.judgement.claims[] | {id, status}'"
)]
pub struct Bench {
    #[command(flatten)]
    choice: ChoiceArguments,
    #[command(flatten)]
    measure: MeasureArguments,
}

impl Bench {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let (project, plan) = self.choice.plan(context)?;
        let judged = measure(&project, &plan, &self.measure)?;
        let report = judged.write_report()?;
        if context.json {
            #[derive(Serialize)]
            struct Document<'d> {
                record: String,
                report: String,
                statistics: &'d touchstone::estimate::Statistics,
                judgement: &'d touchstone::verdict::Judgement,
            }
            say::json(&Document {
                record: judged.folder.display().to_string(),
                report: report.display().to_string(),
                statistics: &judged.statistics,
                judgement: &judged.judgement,
            })?;
        } else {
            say::text(&summary(&judged.findings(), say::style()))?;
            let folder = judged.folder.display();
            say::text(&format!(
                "\nReport: {}\nRecord: {folder}\nAll contenders, notes and evidence as text: touchstone report {folder} --text\n",
                report.display()
            ))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
