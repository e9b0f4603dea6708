//! Makes a new file under a temporary name beside its target, and moves it there when it is whole: after a failure, or
//! a crash, no half of it has the target's name.

use crate::types::error::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The endings of the files that SQLite puts beside a file.
pub(crate) const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The ending of a temporary name, after a dot and a number of this many digits.
const ON_ITS_WAY: &str = ".tmp";
const DIGITS: usize = 16;
/// The ending of the folder that a damaged file is copied to, after the temporary file's name.
const DAMAGED: &str = "-damaged";

/// Files of one number that nothing has been written to for this long count as those of a killed process. A process
/// that makes one writes without a pause; another process, perhaps on another machine, cannot be asked. A process that
/// was halted for so long finds its file gone and fails with that error; the file in the target's place is whole.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// A file under its temporary name. Dropping it removes the file.
pub(crate) struct NewFile {
    target: PathBuf,
    made: PathBuf,
    is_placed: bool,
}

impl NewFile {
    /// Chooses a temporary name beside the target. The target must be free: it does not exist, or is an empty file.
    /// Files that a killed process left there under temporary names are removed.
    ///
    /// # Errors
    /// [`Exists`](ErrorKind::Exists) if something is there, or if SQLite would take a log that another file has left
    /// behind for this file's.
    pub(crate) fn beside(target: &Path) -> Result<NewFile> {
        let companions = COMPANIONS.iter().map(|ending| companion(target, ending));
        for path in std::iter::once(target.to_owned()).chain(companions) {
            match fs::metadata(&path) {
                Ok(file) if file.len() > 0 || !file.is_file() => {
                    let message =
                        format!("{} is there already (give another name, or remove it)", path.display());
                    return Err(Error::new(ErrorKind::Exists, message));
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io(&error, "looking at", &path)),
            }
        }
        remove_left(target, is_abandoned);
        Ok(NewFile { target: target.to_owned(), made: on_its_way(target), is_placed: false })
    }

    /// As [`beside`](NewFile::beside), for a target that is to be replaced by the process that has its lock. No other
    /// process makes a file there, so leftover temporary files are removed at once: one may be a copy without a key.
    pub(crate) fn replacing(target: &Path) -> NewFile {
        remove_left(target, |_| true);
        NewFile { target: target.to_owned(), made: on_its_way(target), is_placed: false }
    }

    /// Makes the file, empty, with the permissions of another one: a copy is at no time more public than its original.
    /// A process that has opened the file keeps it open, so at first only this user may open it.
    pub(crate) fn create_like(&self, model: &Path) -> Result<()> {
        self.like(model).map(drop)
    }

    /// The same for the file whose place it is to take, and with its owner, if this process may give files away: root may
    /// write a store again that a service of another user goes on with. If it may not, the file is this user's.
    pub(crate) fn create_in_place_of(&self, old: &Path) -> Result<()> {
        give(&self.like(old)?, old);
        Ok(())
    }

    fn like(&self, model: &Path) -> Result<File> {
        let made = create_private(&self.made).map_err(|error| Error::io(&error, "making", &self.made))?;
        let permissions = fs::metadata(model).map(|model| model.permissions());
        // It is written, whether or not the model may be.
        let set = permissions.and_then(|permissions| made.set_permissions(writable(permissions)));
        set.map_err(|error| Error::io(&error, "giving permissions to", &self.made))?;
        Ok(made)
    }

    /// The temporary name.
    pub(crate) fn path(&self) -> &Path {
        &self.made
    }

    /// The folder that a damaged file is copied to. The copy is only read from then on: it is not abandoned as long as
    /// this file is not.
    pub(crate) fn damaged(&self) -> PathBuf {
        companion(&self.made, DAMAGED)
    }

    /// Flushes the file and moves it to its target, which must still be free.
    pub(crate) fn place(mut self) -> Result<()> {
        self.sync()?;
        // Does not overwrite a file that was put there meanwhile: a hard link is refused if its name is taken.
        let linked = match fs::hard_link(&self.made, &self.target) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                drop(NewFile::beside(&self.target)?);
                false
            }
            // Not every file system has links.
            result => result.is_ok(),
        };
        if !linked {
            return self.rename();
        }
        self.is_placed = true;
        fs::remove_file(&self.made).map_err(|error| Error::io(&error, "removing", &self.made))?;
        sync_directory(&self.target)
    }

    /// Flushes the file and replaces the existing target by it.
    pub(crate) fn replace(self) -> Result<()> {
        self.sync()?;
        self.rename()
    }

    fn sync(&self) -> Result<()> {
        let synced = File::open(&self.made).and_then(|file| file.sync_all());
        synced.map_err(|error| Error::io(&error, "flushing", &self.made))
    }

    fn rename(mut self) -> Result<()> {
        fs::rename(&self.made, &self.target)
            .map_err(|error| Error::io(&error, "putting the new file in its place", &self.target))?;
        self.is_placed = true;
        sync_directory(&self.target)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // Most of these never existed.
        if !self.is_placed {
            let _ = fs::remove_file(&self.made);
        }
        for ending in COMPANIONS {
            let _ = fs::remove_file(companion(&self.made, ending));
        }
    }
}

/// Makes a file that only this user can open.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// The same, and its owner may write.
#[cfg(unix)]
fn writable(permissions: Permissions) -> Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    Permissions::from_mode(permissions.mode() | 0o200)
}

#[cfg(not(unix))]
fn writable(mut permissions: Permissions) -> Permissions {
    permissions.set_readonly(false);
    permissions
}

/// Gives a file to the owner and to the group of another one, as far as this process may. It uses the open file and not its
/// name: a stranger with access to the folder could put another file under that.
#[cfg(unix)]
fn give(made: &File, old: &Path) {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    if let Ok(old) = fs::metadata(old) {
        let _ = fchown(made, None, Some(old.gid()));
        let _ = fchown(made, Some(old.uid()), None);
    }
}

#[cfg(not(unix))]
fn give(_made: &File, _old: &Path) {}

/// The path with that ending after its name.
pub(crate) fn companion(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::with_capacity(path.as_os_str().len() + ending.len());
    name.push(path);
    name.push(ending);
    PathBuf::from(name)
}

/// A temporary name beside the target. Its number is random and not a process's: two containers may share a folder, and
/// each may have a process of the same number.
fn on_its_way(target: &Path) -> PathBuf {
    let number = RandomState::new().build_hasher().finish();
    companion(target, &format!(".{number:0DIGITS$x}{ON_ITS_WAY}"))
}

/// Removes the files that killed processes left beside the target, if all files of one number may go. Most often there
/// are none, and one that cannot be removed does no harm.
fn remove_left(target: &Path, may_go: impl Fn(&Path) -> bool) {
    let (Some(name), Ok(entries)) = (target.file_name(), fs::read_dir(directory(target))) else { return };
    let mut left: HashMap<Vec<u8>, Vec<PathBuf>> = HashMap::new();
    for entry in entries.flatten() {
        if let Some(number) = number_of(&entry.file_name(), name) {
            left.entry(number.to_vec()).or_default().push(entry.path());
        }
    }
    let left = left.into_values().filter(|paths| paths.iter().all(|path| may_go(path)));
    for path in left.flatten() {
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    }
}

/// The number in a name, if [`on_its_way`] made the name, or the file lies beside one with such a name.
fn number_of<'n>(name: &'n OsStr, target: &OsStr) -> Option<&'n [u8]> {
    let rest = name.as_encoded_bytes().strip_prefix(target.as_encoded_bytes())?.strip_prefix(b".")?;
    let (number, ending) = rest.split_at_checked(DIGITS)?;
    let behind = ending.strip_prefix(ON_ITS_WAY.as_bytes())?;
    let mut beside = COMPANIONS.iter().chain([&DAMAGED]);
    let is_ours = behind.is_empty() || beside.any(|ending| ending.as_bytes() == behind);
    (is_ours && number.iter().all(u8::is_ascii_hexdigit)).then_some(number)
}

/// Whether nothing was written for long to a file, or to a folder and all in it.
fn is_abandoned(path: &Path) -> bool {
    let is_old = |path: &Path| {
        let written = fs::symlink_metadata(path).and_then(|file| file.modified());
        written.is_ok_and(|written| written.elapsed().is_ok_and(|since| since > ABANDONED))
    };
    let mut within = fs::read_dir(path).into_iter().flatten().flatten();
    is_old(path) && within.all(|entry| is_old(&entry.path()))
}

/// The directory of a path's name.
fn directory(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Flushes the directory: only then does a name survive a loss of power.
pub(crate) fn sync_directory(path: &Path) -> Result<()> {
    let directory = directory(path);
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(|error| Error::io(&error, "flushing the directory", directory))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// Regression: the file was made readable for everybody, as the process makes any file, and narrowed a moment
    /// later.
    #[test]
    fn a_copy_is_private_before_it_is_like_its_model() {
        let directory = tempfile::tempdir().expect("there is room");
        let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        let alone = directory.path().join("alone");
        create_private(&alone).expect("it is made");
        assert_eq!(mode(&alone), 0o600);

        let (model, target) = (directory.path().join("model"), directory.path().join("copy"));
        fs::write(&model, "").expect("there is room");
        for wanted in [0o600, 0o640, 0o666] {
            fs::set_permissions(&model, Permissions::from_mode(wanted)).expect("it is this user's");
            let copy = NewFile::beside(&target).expect("the place is free");
            copy.create_like(&model).expect("it is made");
            assert_eq!(mode(copy.path()), wanted);
        }
    }

    /// Regression: root wrote a service's store again, and the service could not open it. A copy beside its model belongs to
    /// the user who makes it.
    #[test]
    fn what_takes_a_files_place_is_its_owners() {
        use std::os::unix::fs::{MetadataExt as _, chown};
        let directory = tempfile::tempdir().expect("there is room");
        let (old, target) = (directory.path().join("old"), directory.path().join("copy"));
        fs::write(&old, "").expect("there is room");
        if chown(&old, Some(12_345), Some(12_346)).is_err() {
            eprintln!("not tested: only root gives files away");
            return;
        }
        let owner =
            |path: &Path| fs::metadata(path).map(|file| (file.uid(), file.gid())).expect("it is there");
        let mine = owner(directory.path());
        let new = NewFile::replacing(&old);
        new.create_in_place_of(&old).expect("it is made");
        assert_eq!(owner(new.path()), (12_345, 12_346));
        let copy = NewFile::beside(&target).expect("the place is free");
        copy.create_like(&old).expect("it is made");
        assert_eq!(owner(copy.path()), mine);
    }
}
