//! `touchstone-load report`: tells an outcome again.

use super::merge::file_of;
use super::run::tell;
use crate::outcome::Outcome;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Tells an outcome again
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  touchstone-load report upload-record")]
pub(super) struct Report {
    /// The outcome, or the folder that holds it
    outcome: PathBuf,
}

impl Report {
    pub(super) fn run(self, json: bool) -> anyhow::Result<ExitCode> {
        tell(&Outcome::read(&file_of(&self.outcome))?, json)
    }
}
