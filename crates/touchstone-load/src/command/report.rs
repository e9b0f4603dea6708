//! `touchstone-load report`: tells an outcome or a search again, and writes its page anew.

use super::folder::{CAPACITY, Folder, OUTCOME};
use super::{capacity, run};
use crate::outcome::Outcome;
use crate::search::Searched;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Tells an outcome or a search again; of a folder, its page is written anew
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  touchstone-load report upload-record")]
pub(super) struct Report {
    /// The folder, or an outcome's file
    outcome: PathBuf,
}

impl Report {
    pub(super) fn run(self, json: bool) -> anyhow::Result<ExitCode> {
        if !self.outcome.is_dir() {
            return run::tell(&Outcome::read(&self.outcome)?, json);
        }
        let [search, outcome] = [CAPACITY, OUTCOME].map(|name| self.outcome.join(name));
        let folder = Folder::of(&self.outcome);
        if search.exists() {
            let searched = Searched::read(&search)?;
            let confirmed = outcome.exists().then(|| Outcome::read(&outcome)).transpose()?;
            folder.write_page(confirmed.as_ref(), Some(&searched))?;
            return capacity::tell(&searched, json);
        }
        let outcome = Outcome::read(&outcome)?;
        folder.write_page(Some(&outcome), None)?;
        run::tell(&outcome, json)
    }
}
