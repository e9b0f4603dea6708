//! `touchstone bench`: plan, build, run, judge and report in one go.

use super::choice::ChoiceArguments;
use super::measure::{Judged, MeasureArguments, judge_folder, measure_by_suite};
use crate::{Context, say};
use clap::Args;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;
use touchstone::estimate::Statistics;
use touchstone::report::{conclusion, summary};
use touchstone::verdict::Judgement;

/// Re-tests published claims: plans, builds, runs, judges and reports
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  touchstone bench\n  touchstone bench --suite wcdb --case read --size full\n  \
    touchstone bench --suite dflat --size full --looks 1\n  \
    touchstone bench --suite couch --set couch/get.blocks=40 --set couch/get.records=1000\n  \
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
        let mut told = 0;
        let tell = |judged: &Judged| {
            if !context.json {
                say::text(&format!("{}\n", summary(&judged.findings(), say::style())))?;
            }
            told += 1;
            Ok(())
        };
        match measure_by_suite(&project, &plan, &self.measure, tell) {
            Ok(judged) => {
                self.conclude(context, &judged, told)?;
                Ok(ExitCode::SUCCESS)
            }
            Err(stopped) => {
                // What was measured is not lost because the rest was not.
                let judged = stopped.record.as_deref().and_then(|folder| judge_folder(folder).ok());
                if let Some(judged) = judged.filter(|judged| !judged.record.launches.is_empty()) {
                    // Why the run ended is what the user must know first.
                    if let Err(error) = conclude_stopped(context, &judged) {
                        say::note(&format!("{error:#}"));
                    }
                }
                Err(stopped.error)
            }
        }
    }

    fn conclude(&self, context: &Context, judged: &Judged, told: usize) -> anyhow::Result<()> {
        let report = judged.write_report()?;
        if context.json {
            return say::json(&Document {
                record: judged.folder.display().to_string(),
                report: report.display().to_string(),
                statistics: &judged.statistics,
                judgement: &judged.judgement,
            });
        }
        if told < 2 {
            say::text(&summary(&judged.findings(), say::style()))?;
        } else {
            say::text(&conclusion(&judged.findings(), say::style()))?;
        }
        say_where(judged, &report)
    }
}

/// The one document for machines.
#[derive(Serialize)]
struct Document<'d> {
    record: String,
    report: String,
    statistics: &'d Statistics,
    judgement: &'d Judgement,
}

/// A partial record is told of and has its page. For machines the error is the document.
fn conclude_stopped(context: &Context, judged: &Judged) -> anyhow::Result<()> {
    let report = judged.write_report()?;
    if context.json {
        return Ok(());
    }
    say::text(&summary(&judged.findings(), say::style()))?;
    say_where(judged, &report)
}

fn say_where(judged: &Judged, report: &Path) -> anyhow::Result<()> {
    let folder = judged.folder.display();
    say::text(&format!(
        "\nReport: {}\nRecord: {folder}\nAll contenders, notes and evidence as text: touchstone report {folder} --text\n",
        report.display()
    ))
}
