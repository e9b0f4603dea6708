//! Writes a record while the run goes on: a launch is in its files before the next one starts.

use crate::error::{Error, ErrorKind, Result};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use touchstone::plan::{Plan, PlannedCase};
use touchstone::record::{Environment, Manifest, file};

/// Where a record goes that finds no place.
const REMEDY: &str = "give another folder with --out and --scratch";

/// A record being written.
pub struct Writer {
    folder: PathBuf,
    manifest: Manifest,
    files: BTreeMap<&'static str, BufWriter<File>>,
}

impl Writer {
    /// Makes the record's folder, which must be empty or not there.
    ///
    /// # Errors
    /// When it holds something already, or cannot be written.
    pub fn create(
        folder: &Path,
        manifest: Manifest,
        plan: &Plan,
        environment: &Environment,
    ) -> Result<Writer> {
        let failed = |error| {
            Error::unwritable(format_args!("cannot write the record {}", folder.display()), &error, REMEDY)
        };
        refuse_occupied(folder)?;
        fs::create_dir_all(folder.join(file::LATENCY)).map_err(failed)?;
        if plan.cases.iter().any(PlannedCase::is_by_the_clock) {
            fs::create_dir_all(folder.join(file::SERIES)).map_err(failed)?;
        }
        let writer = Writer { folder: folder.to_owned(), manifest, files: BTreeMap::new() };
        writer.write_json(file::PLAN, plan)?;
        writer.write_json(file::ENVIRONMENT, environment)?;
        writer.write_manifest()?;
        Ok(writer)
    }

    /// The record's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Appends a line to one of the record's files.
    ///
    /// # Errors
    /// When it cannot be written, as on a full disk; the lines before it stay.
    pub fn line(&mut self, name: &'static str, value: &impl Serialize) -> Result<()> {
        let path = self.folder.join(name);
        let failed =
            |error| Error::unwritable(format_args!("cannot write {}", path.display()), &error, REMEDY);
        if !self.files.contains_key(name) {
            let file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
            self.files.insert(name, BufWriter::new(file));
        }
        let file = self.files.get_mut(name).expect("it was just put there");
        let mut line = serde_json::to_vec(value).expect("a record's line is always JSON");
        line.push(b'\n');
        file.write_all(&line).map_err(failed)
    }

    /// Hands everything to the operating system: called between launches, so that a cut run loses one at the most.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        for (name, file) in &mut self.files {
            let path = self.folder.join(name);
            let doing = format_args!("cannot write {}", path.display());
            file.flush().map_err(|error| Error::unwritable(doing, &error, REMEDY))?;
        }
        Ok(())
    }

    /// Says how the run ended.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(&mut self, update: impl FnOnce(&mut Manifest)) -> Result<()> {
        update(&mut self.manifest);
        let flushed = self.flush();
        self.write_manifest()?;
        flushed
    }

    /// The manifest is replaced in one step, so that it is whole whenever the run is cut.
    fn write_manifest(&self) -> Result<()> {
        self.write_json(file::MANIFEST, &self.manifest)
    }

    fn write_json(&self, name: &str, value: &impl Serialize) -> Result<()> {
        write_json(&self.folder.join(name), value, REMEDY)
    }
}

/// Refuses a folder that holds something: a record never mixes with another, nor with what is the user's.
///
/// # Errors
/// When it is not empty.
pub fn refuse_occupied(folder: &Path) -> Result<()> {
    if !fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Ok(());
    }
    let held = if folder.join(file::MANIFEST).exists() { "holds a record already" } else { "is not empty" };
    let message = format!("{} {held}: give another folder with --out", folder.display());
    Err(Error::new(ErrorKind::Input, message))
}

/// Writes a JSON file in one step: beside it first, then renamed over it. `remedy` says what to do where there is no place.
///
/// # Errors
/// When it cannot be written.
pub fn write_json(path: &Path, value: &impl Serialize, remedy: &str) -> Result<()> {
    let mut text = serde_json::to_string_pretty(value).expect("a record's file is always JSON");
    text.push('\n');
    write_whole(path, text.as_bytes(), remedy)
}

/// Writes a file in one step: beside it first, then renamed over it, or over what a link names. A device or a pipe is written to: a
/// file that took its place would be in the way of every other program. `remedy` says what to do where there is no place.
///
/// # Errors
/// When it cannot be written; what was there stays.
pub fn write_whole(path: &Path, bytes: &[u8], remedy: &str) -> Result<()> {
    let failed = |error| Error::unwritable(format_args!("cannot write {}", path.display()), &error, remedy);
    if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return fs::write(path, bytes).map_err(failed);
    }
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut beside = target.clone().into_os_string();
    beside.push(".tmp");
    fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, &target)).map_err(|error| {
        let _ = fs::remove_file(&beside);
        failed(error)
    })
}

#[cfg(test)]
mod tests {
    use super::write_whole;
    use std::fs;
    use std::os::unix::fs::{FileTypeExt as _, symlink};
    use std::path::Path;

    const REMEDY: &str = "give another";

    fn names(folder: &Path) -> Vec<String> {
        let names =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.json");
        fs::write(folder.path().join("plan.tmp"), "the user's own").unwrap();
        for text in ["one", "two"] {
            write_whole(&path, text.as_bytes(), REMEDY).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names(folder.path()), ["plan.json", "plan.tmp"]);
        assert_eq!(fs::read_to_string(folder.path().join("plan.tmp")).unwrap(), "the user's own");
    }

    #[test]
    fn what_a_link_names_is_replaced_and_not_the_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("plan.json"), folder.path().join("newest"));
        fs::write(&path, "old").unwrap();
        symlink("plan.json", &link).unwrap();
        write_whole(&link, b"new", REMEDY).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    /// `touchstone plan --out /dev/null` made a plain file of the device, where it might: every program of the machine wrote into it.
    #[test]
    fn a_pipe_is_written_to_and_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        std::thread::scope(|scope| {
            let read = scope.spawn(|| fs::read_to_string(&path).unwrap());
            write_whole(&path, b"a plan", REMEDY).unwrap();
            assert_eq!(read.join().unwrap(), "a plan");
        });
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
    }
}
