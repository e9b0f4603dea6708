//! `touchstone-sync check`: whether a store or a copy of one is whole.

use super::Kept;
use super::open::{open_as_it_is, without_salvage};
use crate::storage::embedded::Embedded;
use anyhow::Result;
use clap::Args;
use std::fs;
use std::path::Path;
use touchstone_store::{Error, ErrorKind};

/// Look at every page and every row of the store, while the service goes on. Where something is damaged, the exit status is 65
#[derive(Args, Debug)]
pub(super) struct Check {
    #[command(flatten)]
    kept: Kept,
}

impl Check {
    pub(super) fn run(self) -> Result<()> {
        self.kept.check_file()?;
        check(&self.kept.store)
    }
}

/// Checks a store's file.
///
/// # Errors
/// Where something of it is damaged, or it cannot be opened.
pub(super) fn check(path: &Path) -> Result<()> {
    check_length(path)?;
    let report = Embedded::check(&open_as_it_is(path)?)?;
    match report.problems() {
        [] => Ok(()),
        problems @ [first, ..] => {
            let first = without_salvage(first.to_string());
            Err(damaged(path, &format!("in {} places, as {first}", problems.len())))
        }
    }
}

/// Refuses a file of no bytes: SQLite takes it for a store that is new.
///
/// # Errors
/// Where the file has none.
pub(super) fn check_length(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(file) if file.len() == 0 => Err(damaged(path, "it is empty")),
        _ => Ok(()),
    }
}

fn damaged(path: &Path, how: &str) -> anyhow::Error {
    let text = format!("{} is damaged: {how}: restore a backup that is whole", path.display());
    Error::new(ErrorKind::Damaged, text).into()
}
