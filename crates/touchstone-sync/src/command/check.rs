//! `touchstone-sync check`: whether a store or a copy of one is whole.

use super::Kept;
use super::open::{open_as_it_is, without_salvage};
use crate::patience::patiently;
use crate::storage::embedded::Embedded;
use anyhow::Result;
use clap::Args;
use std::fs;
use std::path::Path;
use std::time::Duration;
use touchstone_store::{Error, ErrorKind};

/// What SQLite's header takes.
const HEADER_BYTES: u64 = 100;

/// How long a service may take to begin a file that it makes.
const MADE_WITHIN: Duration = Duration::from_secs(1);

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

/// Refuses a file without SQLite's header: SQLite takes one of no bytes for a store that is new. Such a file is waited for, as a service may be making it.
///
/// # Errors
/// Where the file has no header.
pub(super) fn check_length(path: &Path) -> Result<()> {
    let bytes = || fs::metadata(path).map_or(HEADER_BYTES, |file| file.len());
    let long_enough = || Some(bytes()).filter(|&bytes| bytes >= HEADER_BYTES).ok_or(());
    match patiently(MADE_WITHIN, long_enough, |()| true, || {}) {
        Ok(_) => Ok(()),
        Err(()) => Err(damaged(path, if bytes() == 0 { "it is empty" } else { "it is cut off" })),
    }
}

fn damaged(path: &Path, how: &str) -> anyhow::Error {
    let text = format!("{} is damaged: {how}: restore a backup that is whole", path.display());
    Error::new(ErrorKind::Damaged, text).into()
}
