//! Where databases live: templates made once, copies of them in folders assigned at random, put back or dropped
//! from the operating system's cache when a case asks for it. A database may be a tree of folders.

use crate::error::{Error, Result};
use rustix::fs::{Advice, fadvise};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, FileType};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A folder that is removed with everything in it when dropped.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
}

impl Place {
    /// Makes an empty folder.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(path: PathBuf) -> Result<Place> {
        fs::create_dir_all(&path)
            .map_err(|error| Error::io(format_args!("cannot make {}", path.display()), &error))?;
        Ok(Place { path })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes everything in the folder.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn empty(&self) -> Result<()> {
        clear(&self.path)
            .map_err(|error| Error::io(format_args!("cannot empty {}", self.path.display()), &error))
    }

    /// Makes the folder hold what `template` holds, and nothing else.
    ///
    /// # Errors
    /// When something cannot be removed or copied.
    pub fn restore(&self, template: &Place) -> Result<()> {
        let failed = |path: &Path, error: io::Error| {
            Error::io(format_args!("cannot restore {}", path.display()), &error)
        };
        clear(&self.path).map_err(|error| failed(&self.path, error))?;
        for (path, kind) in tree(&template.path)? {
            let (original, copy) = (template.path.join(&path), self.path.join(&path));
            let copied = if kind.is_dir() {
                copy_folder(&original, &copy)
            } else {
                only_files(kind).and_then(|()| fs::copy(&original, &copy).map(drop))
            };
            copied.map_err(|error| failed(&copy, error))?;
        }
        Ok(())
    }

    /// Drops the files' pages from the operating system's cache. Pages must be clean first, so they are synced.
    ///
    /// # Errors
    /// When a file cannot be opened or synced.
    pub fn evict(&self) -> Result<()> {
        for (path, kind) in tree(&self.path)? {
            let path = self.path.join(path);
            let failed =
                |error: io::Error| Error::io(format_args!("cannot evict {}", path.display()), &error);
            if kind.is_dir() {
                continue;
            }
            only_files(kind).map_err(failed)?;
            let file = File::open(&path).map_err(failed)?;
            file.sync_data().map_err(failed)?;
            fadvise(&file, 0, None, Advice::DontNeed).map_err(|error| failed(error.into()))?;
        }
        Ok(())
    }

    /// What lies here and can be neither copied nor evicted, such as a symbolic link: the first of it, said in words.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn strange(&self) -> Result<Option<String>> {
        let said = |(path, kind): (PathBuf, FileType)| {
            let why = only_files(kind).err().filter(|_| !kind.is_dir())?;
            Some(format!("`{}` in its database cannot be copied: {why}", path.display()))
        };
        Ok(tree(&self.path)?.into_iter().find_map(said))
    }

    /// The bytes of each file, by its path in the folder.
    pub fn file_bytes(&self) -> BTreeMap<String, u64> {
        let files = tree(&self.path).unwrap_or_default().into_iter().filter(|(_, kind)| kind.is_file());
        let size = |(path, _): (PathBuf, FileType)| {
            Some((path.to_string_lossy().into_owned(), fs::metadata(self.path.join(&path)).ok()?.len()))
        };
        files.filter_map(size).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Nothing is lost when a scratch folder stays behind, and a drop has nobody to tell.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Everything below a folder by its path there, each folder before what lies in it. Links are not followed.
fn tree(root: &Path) -> Result<Vec<(PathBuf, FileType)>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let read = root.join(&folder);
        let failed = |error: io::Error| Error::io(read.display(), &error);
        for entry in fs::read_dir(&read).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            let path = folder.join(entry.file_name());
            folders.extend(kind.is_dir().then(|| path.clone()));
            found.push((path, kind));
        }
    }
    Ok(found)
}

/// Empties a folder. Of a link the name goes, and not what it leads to.
fn clear(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Makes an empty folder like another one: an engine may refuse a database whose folder everybody can read.
fn copy_folder(original: &Path, copy: &Path) -> io::Result<()> {
    let owners = 0o700;
    DirBuilder::new().mode(fs::metadata(original)?.mode() & 0o777 | owners).create(copy)
}

/// Nothing but plain files is copied and evicted: what a link leads to may lie outside the database.
fn only_files(kind: FileType) -> io::Result<()> {
    let called = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_fifo() => "a named pipe",
        _ => "no file and no folder",
    };
    Err(io::Error::other(format!("it is {called}; a closed database must be plain files, in folders or not")))
}
