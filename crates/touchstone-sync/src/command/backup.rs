//! `touchstone-sync backup` and `restore`: a copy of the store, and a store of a copy.

use super::Kept;
use super::open::{open, open_as_it_is, told, without_salvage};
use super::owner::Owner;
use crate::storage::embedded::Embedded;
use anyhow::{Context, Result, bail};
use clap::Args;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use touchstone_store::{Error, ErrorKind, Options, Store};

/// Copy the store to a new file, while the service goes on
#[derive(Args, Debug)]
pub(super) struct Backup {
    /// The new file
    to: PathBuf,
    #[command(flatten)]
    kept: Kept,
}

/// Look at every page and every row of the store, while the service goes on. Where something is damaged, the exit status is 65
#[derive(Args, Debug)]
pub(super) struct Check {
    #[command(flatten)]
    kept: Kept,
}

/// Make a new store of a backup. Its users have new histories, so devices notice what the backup does not have
#[derive(Args, Debug)]
pub(super) struct Restore {
    /// The backup
    from: PathBuf,
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

impl Check {
    pub(super) fn run(self) -> Result<()> {
        self.kept.check_file()?;
        check(&self.kept.store)
    }
}

impl Restore {
    pub(super) fn run(self) -> Result<()> {
        self.kept.check_file()?;
        let to = &self.kept.store;
        if let Some(there) = beside(to).into_iter().chain([to.clone()]).find(|path| path.exists()) {
            bail!(
                "{} is there already: end the service, move the store's files away, and restore again",
                there.display()
            );
        }
        check_length(&self.from)?;
        let backup = open(&self.from, Options::new().create(false).read_only(true))?;
        // Until the histories are new it has another name, and one of its own: a store in its place is one that was restored whole.
        let unfinished = to.with_added_extension(format!("{:08x}.restoring", fastrand::u32(..)));
        let restored = restore(&backup, &self.from, &unfinished).and_then(|()| put_in_place(&unfinished, to));
        if restored.is_err() {
            remove(&unfinished);
        }
        restored?;
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let kept = fs::File::open(folder).and_then(|folder| folder.sync_all());
        kept.with_context(|| format!("cannot flush the folder {}", folder.display()))?;
        if let Some(owner) = Owner::of(folder) {
            owner.check(to, "its folder");
        }
        Ok(())
    }
}

/// Makes a store of a backup under another name.
fn restore(backup: &Store, from: &Path, unfinished: &Path) -> Result<()> {
    copy(backup, unfinished, "write")?;
    // Of a backup that nobody may write any more the store is one that is written.
    fs::set_permissions(unfinished, Permissions::from_mode(0o600))
        .with_context(|| format!("cannot make {} one to be written", unfinished.display()))?;
    check(unfinished).with_context(|| format!("{} cannot be restored", from.display()))?;
    Embedded::begin_histories(&open(unfinished, Options::new())?)?;
    if let Some(left) = beside(unfinished).into_iter().find(|path| path.exists()) {
        let text =
            "it was not copied into the store when that was closed: look at the disk, and restore again";
        return Err(std::io::Error::other(text)).with_context(|| left.display().to_string());
    }
    Ok(())
}

/// Gives a store its name, which nothing has got meanwhile.
fn put_in_place(unfinished: &Path, to: &Path) -> Result<()> {
    let there = beside(to).into_iter().any(|path| path.exists());
    let put = match there {
        true => Err(std::io::ErrorKind::AlreadyExists.into()),
        false => {
            renameat_with(CWD, unfinished, CWD, to, RenameFlags::NOREPLACE).map_err(std::io::Error::from)
        }
    };
    put.with_context(|| {
        let remedy = "end a service that has begun there, move the files there away, and restore again";
        format!("cannot put the store at {}: {remedy}", to.display())
    })
}

/// Removes a store that is not to be kept, with the files beside it.
fn remove(store: &Path) {
    for left in beside(store).into_iter().chain([store.to_owned()]) {
        let _ = fs::remove_file(left);
    }
}

/// Refuses a file of no bytes: SQLite takes it for a store that is new.
fn check_length(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(file) if file.len() == 0 => Err(damaged(path, "it is empty")),
        _ => Ok(()),
    }
}

fn damaged(path: &Path, how: &str) -> anyhow::Error {
    let text = format!("{} is damaged: {how}: restore a backup that is whole", path.display());
    Error::new(ErrorKind::Damaged, text).into()
}

/// Checks a store's file.
///
/// # Errors
/// Where something of it is damaged, or it cannot be opened.
fn check(path: &Path) -> Result<()> {
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

/// Copies a store to a new file; `doing` says for what.
fn copy(store: &Store, to: &Path, doing: &str) -> Result<()> {
    let copied = store.backup(to);
    Ok(copied.map_err(|error| told(&format!("cannot {doing} {}", to.display()), to, &error))?)
}

/// Files that SQLite has beside a store: whoever opens the store takes them for its own.
fn beside(store: &Path) -> [PathBuf; 3] {
    ["-wal", "-shm", "-journal"].map(|end| {
        let mut name = store.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    })
}
