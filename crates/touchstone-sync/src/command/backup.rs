//! `touchstone-sync backup`: a copy of the store.

use super::Kept;
use super::check::{check, check_length};
use super::open::{open_as_it_is, told};
use anyhow::{Context, Result};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use touchstone_store::Store;

/// Copy the store to a new file, while the service goes on
#[derive(Args, Debug)]
pub(super) struct Backup {
    /// The new file
    to: PathBuf,
    #[command(flatten)]
    kept: Kept,
}

impl Backup {
    pub(super) fn run(self) -> Result<()> {
        self.kept.check_file()?;
        check_length(&self.kept.store)?;
        copy(&open_as_it_is(&self.kept.store)?, &self.to, "back up to")?;
        // A copy has what the file has, damage too: one that is kept in the place of an older one has to be whole.
        let checked = check(&self.to);
        if checked.is_err() {
            remove(&self.to);
        }
        checked.with_context(|| format!("{} is not backed up", self.kept.store.display()))
    }
}

/// Copies a store to a new file; `doing` says for what.
///
/// # Errors
/// Where the store cannot be read, or the file not written, or is there.
pub(super) fn copy(store: &Store, to: &Path, doing: &str) -> Result<()> {
    let copied = store.backup(to);
    Ok(copied.map_err(|error| told(&format!("cannot {doing} {}", to.display()), to, &error))?)
}

/// Removes a store that is not to be kept, with the files beside it.
pub(super) fn remove(store: &Path) {
    for left in beside(store).into_iter().chain([store.to_owned()]) {
        let _ = fs::remove_file(left);
    }
}

/// Files that SQLite has beside a store: whoever opens the store takes them for its own.
pub(super) fn beside(store: &Path) -> [PathBuf; 3] {
    ["-wal", "-shm", "-journal"].map(|end| {
        let mut name = store.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    })
}
