//! A file that is made beside its place and put there when it is whole: after a failure, or a crash, there is no half of
//! it under its name.

use crate::error::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What SQLite puts beside a file.
pub(crate) const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// What the name of a file ends with that is on its way to its place, after a dot and a number of so many digits.
const ON_ITS_WAY: &str = ".tmp";
const DIGITS: usize = 16;
/// What the name of the folder ends with, behind that of the file on its way, that a damaged file is copied to.
const DAMAGED: &str = "-damaged";

/// How long nobody has written to any file of one number before they are taken for a killed process's. Whoever makes one
/// writes without a pause; another process, perhaps on another machine, cannot be asked. One that was halted for so long
/// finds its file gone, and says so: what is in its place is whole.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// A file on its way to its place. Dropped, it is removed.
pub(crate) struct NewFile {
    target: PathBuf,
    made: PathBuf,
    is_placed: bool,
}

impl NewFile {
    /// Chooses a name beside the place, which must be free: nothing is there, or an empty file. What a killed process
    /// left on its way there is removed.
    ///
    /// # Errors
    /// [`Exists`](ErrorKind::Exists) where something is there, or where SQLite would take a log left behind by
    /// another file for this one's.
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

    /// As [`beside`](NewFile::beside), for a place whose file is to be replaced by the process that has its lock: no other
    /// process is on its way there, and what one has left half made is removed at once, for it may be a copy without a key.
    pub(crate) fn replacing(target: &Path) -> NewFile {
        remove_left(target, |_| true);
        NewFile { target: target.to_owned(), made: on_its_way(target), is_placed: false }
    }

    /// Makes the file, empty, with the permissions of another one: a copy is no more public than what it is of, at no
    /// time. Who has it open keeps it open, so it begins as this user's alone.
    pub(crate) fn create_like(&self, model: &Path) -> Result<()> {
        let made = create_private(&self.made).map_err(|error| Error::io(&error, "making", &self.made))?;
        let permissions = fs::metadata(model).map(|model| model.permissions());
        let set = permissions.and_then(|permissions| made.set_permissions(permissions));
        set.map_err(|error| Error::io(&error, "giving permissions to", &self.made))
    }

    /// Where the file is made.
    pub(crate) fn path(&self) -> &Path {
        &self.made
    }

    /// Where the folder is made that a damaged file is copied to, which is only read from then on: it is not abandoned as
    /// long as this file is not.
    pub(crate) fn damaged(&self) -> PathBuf {
        companion(&self.made, DAMAGED)
    }

    /// Flushes the file and puts it in its place, which is still free.
    pub(crate) fn place(mut self) -> Result<()> {
        self.sync()?;
        // A file that somebody put there meanwhile is not overwritten: a link is refused where a name is taken.
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

    /// Flushes the file and puts it in the place of the one that is there.
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
        // Most of these were never there.
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

/// The path with that ending behind its name.
pub(crate) fn companion(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::with_capacity(path.as_os_str().len() + ending.len());
    name.push(path);
    name.push(ending);
    PathBuf::from(name)
}

/// A name beside the place, for what is on its way there. Its number is no process's: two containers may have one
/// folder, and each a process of the same number.
fn on_its_way(target: &Path) -> PathBuf {
    let number = RandomState::new().build_hasher().finish();
    companion(target, &format!(".{number:0DIGITS$x}{ON_ITS_WAY}"))
}

/// Removes what killed processes left beside the place, where all the files of one number may go. Most often nothing is there,
/// and what cannot be removed is in nobody's way.
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

/// The number in a name, if it is one of [`on_its_way`]'s, or of what is made beside such a file.
fn number_of<'n>(name: &'n OsStr, target: &OsStr) -> Option<&'n [u8]> {
    let rest = name.as_encoded_bytes().strip_prefix(target.as_encoded_bytes())?.strip_prefix(b".")?;
    let (number, ending) = rest.split_at_checked(DIGITS)?;
    let behind = ending.strip_prefix(ON_ITS_WAY.as_bytes())?;
    let mut beside = COMPANIONS.iter().chain([&DAMAGED]);
    let is_ours = behind.is_empty() || beside.any(|ending| ending.as_bytes() == behind);
    (is_ours && number.iter().all(u8::is_ascii_hexdigit)).then_some(number)
}

/// Whether nobody has written for long to a file, or to a folder and what is in it.
fn is_abandoned(path: &Path) -> bool {
    let is_old = |path: &Path| {
        let written = fs::symlink_metadata(path).and_then(|file| file.modified());
        written.is_ok_and(|written| written.elapsed().is_ok_and(|since| since > ABANDONED))
    };
    let mut within = fs::read_dir(path).into_iter().flatten().flatten();
    is_old(path) && within.all(|entry| is_old(&entry.path()))
}

/// The directory that a path's name is in.
fn directory(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// A name is there after a loss of power only when its directory was flushed.
pub(crate) fn sync_directory(path: &Path) -> Result<()> {
    let directory = directory(path);
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(|error| Error::io(&error, "flushing the directory", directory))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// It was made as the process makes any file, which is for everybody to read, and narrowed a moment later.
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
            fs::set_permissions(&model, fs::Permissions::from_mode(wanted)).expect("it is this user's");
            let copy = NewFile::beside(&target).expect("the place is free");
            copy.create_like(&model).expect("it is made");
            assert_eq!(mode(copy.path()), wanted);
        }
    }
}
