//! `touchstone judge`: a record's samples become statistics and verdicts.

use super::measure::judge_folder;
use crate::{Context, say};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use touchstone::report::summary;

/// Computes a record's statistics and verdicts from its raw samples, again if need be
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  touchstone judge runs/20260102T030405Z-couch-quick")]
pub struct Judge {
    /// The record's folder
    record: PathBuf,
}

impl Judge {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let judged = judge_folder(&self.record)?;
        if context.json {
            say::json(&judged.judgement)?;
        } else {
            say::text(&summary(&judged.findings(), say::style()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
