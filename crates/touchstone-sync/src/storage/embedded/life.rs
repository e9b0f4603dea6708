//! Whether the store may lack what devices were told of.
//!
//! After a loss of power the newest commits may be gone which were not flushed, in class `consistent`, or which were read before their
//! flush, in class `strict`. Their revisions would be given again, to other changes, and a device that had seen them would pass those
//! over. So the service notes for which start of the system it has the store, and that it has ended; where the system was started
//! again without such an end, users have new histories, and devices fetch everything.
//!
//! Two services may overlap, where one takes the other's place, or where one is started by mistake and ends at once. So each has a lock beside the
//! store until it has ended, which the system takes from one that is killed: only the last of them notes the end.

use super::schema::{LifeRow, UserRow};
use super::time;
use crate::patience::patiently;
use anyhow::{Context, bail};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::Duration;
use touchstone_store::{Result, Store, Transaction};

/// Where Linux names its start.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// How long another service may take to note its end.
const LOCKED_WITHIN: Duration = Duration::from_secs(20);

/// What began.
pub(super) struct Begun {
    /// Whether users have new histories.
    pub(super) is_lost: bool,
    /// To [`end`] by.
    pub(super) presence: Presence,
}

/// What a service has beside the store for as long as it serves it: a lock that all services of a store share.
#[derive(Debug)]
pub(super) struct Presence(File);

impl Presence {
    /// Waits while another service notes the end, for one write.
    fn begin(store: &Store) -> anyhow::Result<Presence> {
        let path = fs::canonicalize(store.path()).unwrap_or_else(|_| store.path().to_owned());
        let mut beside = path.into_os_string();
        beside.push("-serving");
        let path = PathBuf::from(beside);
        let locked = lock_file(&path, store).and_then(|file| {
            let locked = patiently(
                LOCKED_WITHIN,
                || file.try_lock_shared(),
                |error| matches!(error, TryLockError::WouldBlock),
                || {
                    tracing::info!(
                        "{} is locked, and waited for: another service may be ending",
                        path.display()
                    )
                },
            );
            match locked {
                Err(TryLockError::WouldBlock) => {
                    let remedy = "another program has held it for too long: end that";
                    Err(io::Error::new(io::ErrorKind::TimedOut, remedy).into())
                }
                locked => Ok(locked.map(|()| file).map_err(io::Error::from)?),
            }
        });
        Ok(Presence(locked.with_context(|| format!("cannot lock {}", path.display()))?))
    }

    /// Whether no other service has the store. Then none begins until this is dropped.
    fn is_last(&self) -> bool {
        self.0.try_lock().is_ok()
    }
}

/// The file to lock, and no other one by a link. Root gives the file to the store's owner, so that a later service of that user can open it.
fn lock_file(path: &Path, store: &Store) -> anyhow::Result<File> {
    let opened = open_file(path);
    let is_other = opened.as_ref().is_ok_and(|file| !file.metadata().is_ok_and(|found| found.is_file()));
    if is_other || opened.as_ref().is_err_and(is_of_another_kind) {
        bail!("it is no file: move it away, and start the service again");
    }
    let file = opened?;
    let (found, store) = (file.metadata()?, fs::metadata(store.path())?);
    // An empty file of root's with this name alone is one that root has made, perhaps killed before it gave it away.
    let is_made = found.nlink() == 1 && found.len() == 0;
    if is_made && found.uid() == 0 && store.uid() != 0 {
        // Who may give nothing away is the owner.
        let _ = fchown(&file, Some(store.uid()), Some(store.gid()));
    }
    Ok(file)
}

/// A file that is there is not opened as one to make: in a folder like `/tmp` the system refuses that to all but its owner.
fn open_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    // A pipe would be waited for.
    options.append(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => options.open(path),
        made => made,
    }
}

/// Whether a link, a pipe that nobody reads, or a folder was refused.
fn is_of_another_kind(error: &io::Error) -> bool {
    let refused = [Errno::LOOP, Errno::NXIO, Errno::ISDIR];
    Errno::from_io_error(error).is_some_and(|error| refused.contains(&error))
}

/// Begins, at a moment of the service's time: new histories for all, where that is needed.
///
/// # Errors
/// When the store cannot be written, the file beside it cannot be locked, or the system gives no random bytes.
pub(super) fn begin(store: &Store, seconds: i64) -> anyhow::Result<Begun> {
    let (presence, boot) = (Presence::begin(store)?, boot());
    let known = store.get::<LifeRow>(&0)?;
    let is_lost = known.is_some_and(|known| !known.has_ended && known.boot != boot);
    let histories = if is_lost { new_histories(store)? } else { Vec::new() };
    store.write(|transaction| {
        // Before anybody is told anything: a loss of power now must find it.
        transaction.durable();
        time::note(transaction, seconds)?;
        write_histories(transaction, histories)?;
        transaction.put(&LifeRow { id: 0, boot, has_ended: false })
    })?;
    Ok(Begun { is_lost, presence })
}

/// Notes how far the service's time has come, and that all is on the disk, unless another service goes on.
pub(super) fn end(store: &Store, presence: &Presence, seconds: i64) -> Result<()> {
    let is_last = presence.is_last();
    store.write(|transaction| {
        time::note(transaction, seconds)?;
        if !is_last {
            return Ok(());
        }
        transaction.durable();
        transaction.put(&LifeRow { id: 0, boot: boot(), has_ended: true })
    })
}

/// The row that is written to find out whether there is room, and its bytes: a row that fits into what a page has left shows nothing.
const PROBE: u64 = 1;
const PROBE_BYTES: usize = 64 << 10;

/// Writes a row that needs room.
pub(super) fn probe(transaction: &mut Transaction<'_>) -> Result<()> {
    transaction.put(&LifeRow { id: PROBE, boot: " ".repeat(PROBE_BYTES), has_ended: true })
}

/// Takes that row away.
pub(super) fn end_probe(transaction: &mut Transaction<'_>) -> Result<()> {
    transaction.remove::<LifeRow>(&PROBE).map(drop)
}

/// New histories for the users of a store that was made of a backup, which begins its own life.
///
/// # Errors
/// As for [`begin`].
pub(super) fn begin_anew(store: &Store) -> anyhow::Result<()> {
    let histories = new_histories(store)?;
    store.write(|transaction| {
        transaction.durable();
        write_histories(transaction, histories)?;
        transaction.put(&LifeRow { id: 0, boot: boot(), has_ended: true })
    })?;
    Ok(())
}

fn new_histories(store: &Store) -> anyhow::Result<Vec<(u64, String)>> {
    let users = store.all::<UserRow>()?;
    users.into_iter().map(|user| Ok((user.id, crate::token::history()?))).collect()
}

fn write_histories(transaction: &mut Transaction<'_>, histories: Vec<(u64, String)>) -> Result<()> {
    for (user, history) in histories {
        transaction.update::<UserRow>(&user, |user| user.history = history)?;
    }
    Ok(())
}

/// The system's name of its start; an empty one where it names none, and then it is taken for always the same.
fn boot() -> String {
    fs::read_to_string(BOOT).map_or_else(|_| String::new(), |boot| boot.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Storage;
    use crate::storage::embedded::Embedded;
    use std::process::Command;

    #[test]
    fn users_have_new_histories_where_the_system_was_started_again_without_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sync.db");
        let store = Store::open(&path).unwrap();
        let history = || store.all::<UserRow>().unwrap()[0].history.clone();
        let as_of = |boot: &str, has_ended| {
            store.put(&LifeRow { id: 0, boot: boot.into(), has_ended }).unwrap();
        };
        assert!(!begin(&store, 0).unwrap().is_lost, "there was nothing to lose");
        let embedded = Embedded::new(store.clone()).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(embedded.user("ada")).unwrap_or_else(|error| panic!("{error:?}"));
        let first = history();
        assert!(
            !begin(&store, 0).unwrap().is_lost && history() == first,
            "the process was killed, the system was not"
        );
        as_of("another start", true);
        assert!(!begin(&store, 0).unwrap().is_lost && history() == first, "it had ended");
        as_of("another start", false);
        let begun = begin(&store, 0).unwrap();
        assert!(begun.is_lost);
        assert_ne!(history(), first);
        end(&store, &begun.presence, 0).unwrap();
        assert!(store.get::<LifeRow>(&0).unwrap().is_some_and(|life| life.has_ended));
    }

    /// Found by attackers: a link in the place of the lock's file, and another file was given to the store's owner; a pipe, and the service
    /// waited without a word.
    #[test]
    fn no_other_file_is_locked_by_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("sync.db")).unwrap();
        let other = folder.path().join("other");
        let lock = folder.path().join("sync.db-serving");
        let make: [&dyn Fn(); 3] = [
            &|| std::os::unix::fs::symlink(&other, &lock).unwrap(),
            &|| assert!(Command::new("mkfifo").arg(&lock).status().unwrap().success()),
            &|| fs::create_dir(&lock).unwrap(),
        ];
        for make in make {
            make();
            let refused = format!("{:#}", begin(&store, 0).map(drop).unwrap_err());
            assert!(refused.contains("sync.db-serving: it is no file") && !other.exists(), "{refused}");
            fs::remove_file(&lock).or_else(|_| fs::remove_dir(&lock)).unwrap();
        }
    }

    /// Found by a reviewer: a service that was started by mistake beside another noted the end, and the other went on.
    #[test]
    fn the_last_service_that_ends_notes_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("sync.db")).unwrap();
        let has_ended = || store.get::<LifeRow>(&0).unwrap().unwrap().has_ended;
        for is_older_first in [true, false] {
            let mut services = [(); 2].map(|()| Some(begin(&store, 0).unwrap().presence));
            if is_older_first {
                services.reverse();
            }
            let first = services[1].take().unwrap();
            end(&store, &first, 0).unwrap();
            drop(first);
            assert!(!has_ended(), "the other goes on");
            end(&store, &services[0].take().unwrap(), 0).unwrap();
            assert!(has_ended());
        }
        let killed = begin(&store, 0).unwrap();
        drop(killed);
        assert!(!has_ended());
        end(&store, &begin(&store, 0).unwrap().presence, 0).unwrap();
        assert!(has_ended(), "what was killed has no lock, and all of it is on the disk");
    }
}
