//! `touchstone-sync restore`: a store of a backup.

use super::Kept;
use super::backup::{beside, copy, remove};
use super::check::{check, check_length};
use super::open::{has_journal, open};
use super::owner::Owner;
use crate::storage::embedded::Embedded;
use anyhow::{Context, Result, bail};
use clap::Args;
use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use touchstone_store::{Options, Store};

/// Make a new store of a backup. Its users have new histories, so devices notice what the backup does not have
#[derive(Args, Debug)]
pub(super) struct Restore {
    /// The backup
    from: PathBuf,
    #[command(flatten)]
    kept: Kept,
}

impl Restore {
    pub(super) fn run(self) -> Result<()> {
        self.kept.check_file()?;
        let to = &self.kept.store;
        if let Some(there) = beside(to).into_iter().chain([to.clone()]).find(|path| is_there(path)) {
            bail!(
                "{} is there already: end the service, move the store's files away, and restore again",
                there.display()
            );
        }
        check_length(&self.from)?;
        // After a crash the file is only whole with what its journal says, and SQLite writes that to the file.
        let is_read_only = !has_journal(&self.from);
        let backup = open(&self.from, Options::new().create(false).read_only(is_read_only))?;
        // Until the histories are new it has another name, and one of its own: a store in its place is one that was restored whole.
        let unfinished = to.with_added_extension(format!("{:08x}.restoring", fastrand::u32(..)));
        let restored = restore(&backup, &self.from, &unfinished).and_then(|()| put_in_place(&unfinished, to));
        if restored.is_err() {
            remove(&unfinished);
        }
        restored?;
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let kept = File::open(folder).and_then(|folder| folder.sync_all());
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
    make_private(unfinished)
        .with_context(|| format!("cannot give {} to this user alone", unfinished.display()))?;
    check(unfinished).with_context(|| format!("{} cannot be restored", from.display()))?;
    Embedded::begin_histories(&open(unfinished, Options::new())?)?;
    if let Some(left) = beside(unfinished).into_iter().find(|path| is_there(path)) {
        let text =
            "it was not copied into the store when that was closed: look at the disk, and restore again";
        return Err(io::Error::other(text)).with_context(|| left.display().to_string());
    }
    Ok(())
}

/// The restored store can be read and written by its owner alone, whatever the backup's permissions are. Root may restore into a folder of a user
/// who puts a link in the file's place: what that names is left as it is.
fn make_private(store: &Path) -> io::Result<()> {
    let no_link = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).custom_flags(no_link).open(store)?;
    let found = file.metadata()?;
    if !found.is_file() || found.nlink() != 1 {
        return Err(io::Error::other("another file was put in its place"));
    }
    file.set_permissions(Permissions::from_mode(0o600))
}

/// Gives a store its name, which nothing has got meanwhile.
fn put_in_place(unfinished: &Path, to: &Path) -> Result<()> {
    let put = match beside(to).into_iter().any(|path| is_there(&path)) {
        true => Err(ErrorKind::AlreadyExists.into()),
        false => match renameat_with(CWD, unfinished, CWD, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => put_by_link(unfinished, to),
            renamed => renamed.map_err(io::Error::from),
        },
    };
    put.with_context(|| {
        let is_taken = is_there(to) || beside(to).into_iter().any(|path| is_there(&path));
        let remedy = match is_taken {
            true => ": end a service that has begun there, move the files there away, and restore again",
            false => "",
        };
        format!("cannot put the store at {}{remedy}", to.display())
    })
}

/// The same where the file system renames over what is there: a link is refused by each that has links. On one without, nothing keeps another
/// restore from the name between the look and the renaming.
fn put_by_link(unfinished: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(unfinished, to) {
        Ok(()) => {
            if let Err(error) = fs::remove_file(unfinished) {
                eprintln!(
                    "touchstone-sync: the store has a second name, {}: remove that ({error})",
                    unfinished.display()
                );
            }
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists || is_there(to) => {
            Err(ErrorKind::AlreadyExists.into())
        }
        Err(_) => fs::rename(unfinished, to),
    }
}

/// Whether the name is taken, by a link that leads nowhere too.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Found by an attacker: the folder's user put a link in the place of what root restored, and root changed the permissions of another file.
    #[test]
    fn permissions_of_no_other_file_are_changed_by_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let [other, link, second] = ["other", "link", "second"].map(|name| folder.path().join(name));
        fs::write(&other, "root's").unwrap();
        let mode = || fs::metadata(&other).unwrap().mode() & 0o777;
        fs::set_permissions(&other, Permissions::from_mode(0o644)).unwrap();
        symlink(&other, &link).unwrap();
        assert!(make_private(&link).is_err());
        fs::hard_link(&other, &second).unwrap();
        assert!(make_private(&second).is_err());
        assert_eq!(mode(), 0o644);
        fs::remove_file(&second).unwrap();
        make_private(&other).unwrap();
        assert_eq!(mode(), 0o600);
    }

    #[test]
    fn nothing_is_replaced_where_the_file_system_only_knows_links() {
        let folder = tempfile::tempdir().unwrap();
        let [unfinished, to] = ["unfinished", "to"].map(|name| folder.path().join(name));
        fs::write(&unfinished, "new").unwrap();
        fs::write(&to, "old").unwrap();
        assert_eq!(put_by_link(&unfinished, &to).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!((fs::read(&unfinished).unwrap(), fs::read(&to).unwrap()), (b"new".into(), b"old".into()));
        fs::remove_file(&to).unwrap();
        put_by_link(&unfinished, &to).unwrap();
        assert!(!unfinished.exists());
        assert_eq!(fs::read(&to).unwrap(), b"new");
    }
}
