//! Where databases live: templates made once, copies of them in folders assigned at random, put back or dropped
//! from the operating system's cache when a case asks for it.

use crate::error::{Error, Result};
use rustix::fs::{Advice, fadvise};
use std::collections::BTreeMap;
use std::fs::{self, File};
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

    /// Makes the folder hold what `template` holds, and nothing else.
    ///
    /// # Errors
    /// When something cannot be removed or copied.
    pub fn restore(&self, template: &Place) -> Result<()> {
        let failed =
            |path: &Path, error| Error::io(format_args!("cannot restore {}", path.display()), &error);
        for path in files(&self.path)? {
            fs::remove_file(&path).map_err(|error| failed(&path, error))?;
        }
        for path in files(&template.path)? {
            let copy = self.path.join(path.file_name().expect("a listed file has a name"));
            fs::copy(&path, &copy).map_err(|error| failed(&copy, error))?;
        }
        Ok(())
    }

    /// Drops the files' pages from the operating system's cache. Pages must be clean first, so they are synced.
    ///
    /// # Errors
    /// When a file cannot be opened or synced.
    pub fn evict(&self) -> Result<()> {
        for path in files(&self.path)? {
            let failed =
                |error: std::io::Error| Error::io(format_args!("cannot evict {}", path.display()), &error);
            let file = File::open(&path).map_err(failed)?;
            file.sync_data().map_err(failed)?;
            fadvise(&file, 0, None, Advice::DontNeed).map_err(|error| failed(error.into()))?;
        }
        Ok(())
    }

    /// The bytes of each file, by name.
    pub fn file_bytes(&self) -> BTreeMap<String, u64> {
        let size = |path: PathBuf| {
            Some((path.file_name()?.to_string_lossy().into_owned(), fs::metadata(&path).ok()?.len()))
        };
        files(&self.path).unwrap_or_default().into_iter().filter_map(size).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Nothing is lost when a scratch folder stays behind, and a drop has nobody to tell.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The files directly in a folder. Drivers keep a database flat in its directory.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| Error::io(folder.display(), &error))?;
    Ok(entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file()).collect())
}
