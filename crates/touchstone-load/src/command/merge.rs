//! `touchstone-load merge`: adds the outcomes of shards.

use super::folder::{Folder, OUTCOME};
use super::run::tell;
use super::say;
use crate::merge::{merge, missing};
use crate::outcome::Outcome;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Adds the outcomes of shards, count by count: the sum is what one run of all would have left
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  touchstone-load merge one two --out both")]
pub(super) struct Merge {
    /// Outcomes, or the folders that hold them
    #[arg(required = true)]
    outcomes: Vec<PathBuf>,
    /// The folder for the sum; it must not be there
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// An outcome's file, where its folder may be given.
pub(super) fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(OUTCOME) } else { path.to_owned() }
}

impl Merge {
    pub(super) fn run(self, json: bool) -> anyhow::Result<ExitCode> {
        let outcomes: Result<Vec<Outcome>, _> =
            self.outcomes.iter().map(|path| Outcome::read(&file_of(path))).collect();
        let sum = merge(outcomes?)?;
        let missing = missing(&sum);
        if !missing.is_empty() {
            let all: Vec<String> = missing.iter().take(20).map(ToString::to_string).collect();
            say::note(&format!(
                "not all of the plan: {} of its shards are missing ({})",
                missing.len(),
                all.join(", ")
            ));
        }
        if let Some(out) = &self.out {
            Folder::make(out)?.fill(&sum)?;
        }
        tell(&sum, json)
    }
}
