//! A run's scratch folder, and those that killed runs left behind.
//!
//! A living run holds a lock on a file in its scratch folder, which dies with it. So a folder that has such a file and no
//! lock on it belongs to nobody any more, whatever its process was. A folder without the file is never touched.

use crate::error::{Error, Result};
use rustix::fs::{FlockOperation, OFlags, flock};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use touchstone::record::file;

/// What services hold: it stands in a folder of searches, which is no record, and is there from their beginning.
pub const SEARCHES: &str = "capacity.json";

/// The file that a living run holds locked.
const LOCK: &str = ".touchstone-scratch";

/// The scratch folder inside a record.
const IN_RECORD: &str = "scratch";

/// What begins the name of a scratch folder that a user gave the place of.
const PREFIX: &str = "touchstone-scratch-";

/// Where a run's databases lie: in the folder that was given, or in its record. It is the run's alone.
pub fn folder(given: Option<&Path>, record: &Path) -> PathBuf {
    match given {
        Some(folder) => folder.join(format!("{PREFIX}{}", std::process::id())),
        None => record.join(IN_RECORD),
    }
}

/// A scratch folder that somebody uses, until this is dropped. Then it is gone, with everything in it.
#[derive(Debug)]
pub struct Claim {
    folder: PathBuf,
    _lock: File,
}

impl Claim {
    /// Makes the folder and takes it.
    ///
    /// # Errors
    /// When it cannot be made or written to.
    pub fn new(folder: PathBuf) -> Result<Claim> {
        let failed =
            |error| Error::io(format_args!("cannot make the scratch folder {}", folder.display()), &error);
        fs::create_dir_all(&folder).map_err(failed)?;
        // The file has its name only once it is locked: without a lock it would be taken for abandoned.
        let unnamed = folder.join(format!("{LOCK}-{}", std::process::id()));
        let lock = File::create(&unnamed).map_err(failed)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|error| failed(error.into()))?;
        fs::rename(&unnamed, folder.join(LOCK)).map_err(failed)?;
        Ok(Claim { folder, _lock: lock })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Nothing is lost when it stays behind: the next run finds it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Removes the scratch folders of runs and searches that were killed: those directly in `given`, and those of the records that lie in
/// the folders `of_records`. Says which they were.
pub fn remove_abandoned(given: Option<&Path>, of_records: &[&Path]) -> Vec<PathBuf> {
    let is_named =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    let in_given = given.into_iter().flat_map(folders).filter(is_named);
    let is_ours =
        |folder: &PathBuf| [file::MANIFEST, SEARCHES].iter().any(|name| folder.join(name).is_file());
    let records = of_records.iter().copied().flat_map(folders).filter(is_ours);
    let candidates = in_given.chain(records.map(|record| record.join(IN_RECORD)));
    candidates.filter(|folder| is_abandoned(folder) && fs::remove_dir_all(folder).is_ok()).collect()
}

fn folders(parent: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}

/// It is a folder of this user's, a run took it once, and nobody has it now.
fn is_abandoned(folder: &Path) -> bool {
    let owned = fs::symlink_metadata(folder)
        .is_ok_and(|found| found.is_dir() && found.uid() == rustix::process::geteuid().as_raw());
    let link_is_none = OFlags::NOFOLLOW.bits() as i32;
    owned
        && OpenOptions::new()
            .read(true)
            .custom_flags(link_is_none)
            .open(folder.join(LOCK))
            .is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record's scratch folder with something in it, as a run makes it.
    fn scratch(runs: &Path, name: &str) -> (PathBuf, Claim) {
        let record = runs.join(name);
        fs::create_dir_all(&record).unwrap();
        fs::write(record.join(file::MANIFEST), "{}").unwrap();
        let claim = Claim::new(folder(None, &record)).unwrap();
        fs::write(record.join("scratch/template-0"), "rows").unwrap();
        (record.join("scratch"), claim)
    }

    /// What SIGKILL does: the lock is gone, and nothing was removed.
    fn kill(mut claim: Claim) {
        claim.folder = PathBuf::from("/nonexistent");
    }

    #[test]
    fn what_a_killed_run_left_is_removed_and_what_a_living_one_uses_is_not() {
        let runs = tempfile::tempdir().unwrap();
        let (dead, claim) = scratch(runs.path(), "dead");
        let (living, _claim) = scratch(runs.path(), "living");
        kill(claim);
        assert_eq!(remove_abandoned(None, &[runs.path()]), [dead.as_path()]);
        assert!(!dead.exists() && living.join("template-0").exists());
        assert!(dead.parent().unwrap().join(file::MANIFEST).exists(), "the record stays");
    }

    #[test]
    fn a_claim_that_is_given_up_leaves_nothing() {
        let given = tempfile::tempdir().unwrap();
        drop(Claim::new(folder(Some(given.path()), Path::new("record"))).unwrap());
        assert_eq!(fs::read_dir(given.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let given = tempfile::tempdir().unwrap();
        let own = given.path().join(format!("{PREFIX}1"));
        let other = given.path().join("precious");
        let link = given.path().join(format!("{PREFIX}2"));
        for folder in [&own, &other] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(other.join(LOCK), "").unwrap();
        std::os::unix::fs::symlink(&other, &link).unwrap();
        assert!(remove_abandoned(Some(given.path()), &[given.path()]).is_empty());
        assert!(own.exists() && other.exists() && link.exists());
    }
}
