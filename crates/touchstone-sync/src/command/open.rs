//! How a command opens the store's file, and how it tells what failed of a file: the file, the cause and the remedy, each once.

use std::fs::{File, canonicalize, metadata};
use std::os::unix::fs::FileExt;
use std::path::{Path, absolute};
use touchstone_store::{Error, Options, Result, Store};

/// Opens the store.
///
/// # Errors
/// As [`Options::open`], told for whoever has started the command.
pub(super) fn open(path: &Path, options: Options) -> Result<Store> {
    // A relative path says little to whoever reads a log.
    let named = absolute(path).unwrap_or_else(|_| path.to_owned());
    options.open(path).map_err(|error| told(&format!("cannot open {}", named.display()), path, &error))
}

/// Opens a store that is there. A backup is only read: it stays the file that it is, and may be on a medium that cannot be written.
///
/// # Errors
/// As [`open`].
pub(super) fn open_as_it_is(path: &Path) -> Result<Store> {
    let is_read_only = is_without_log(path) && !has_journal(path);
    open(path, Options::new().create(false).read_only(is_read_only))
}

/// Whether a program was killed that had a transaction without a log.
pub(super) fn has_journal(path: &Path) -> bool {
    // SQLite has it beside the file that a link names.
    let mut journal = canonicalize(path).unwrap_or_else(|_| path.to_owned()).into_os_string();
    journal.push("-journal");
    metadata(journal).is_ok_and(|journal| journal.len() > 0)
}

/// Whether SQLite's header says that the file has no write-ahead log, as a backup has none until it is opened to be written.
fn is_without_log(path: &Path) -> bool {
    const VERSIONS_AT: u64 = 18;
    let mut versions = [0; 2];
    let read = File::open(path).and_then(|file| file.read_exact_at(&mut versions, VERSIONS_AT));
    read.is_ok() && versions == [1, 1]
}

/// What the store says of a file, behind words that name the file.
pub(super) fn told(what: &str, path: &Path, error: &Error) -> Error {
    Error::new(error.kind(), format!("{what}: {}", without_path(path, error)))
}

/// What the store says of a file without the file's path: the store says it before the cause, and SQLite once more behind its own words.
fn without_path(path: &Path, error: &Error) -> String {
    let mut words = error.to_string();
    let from_root = absolute(path).unwrap_or_default();
    for path in [from_root.as_path(), path].into_iter().filter(|path| !path.as_os_str().is_empty()) {
        let path = path.display();
        let told = words.split_once(&format!(" {path}: "));
        if let Some((_, cause)) = told.filter(|(doing, _)| !doing.contains(": ")) {
            words = cause.to_owned();
        }
        words = words.replacen(&format!("file: {path} ("), "file (", 1);
        words = words.replacen(&format!("{path} is "), "it is ", 1);
    }
    let in_use = "(another process is writing, or another `Store` of this one; wait longer with `Options::busy_timeout`)";
    without_salvage(words.replacen(
        in_use,
        "(another command or a service uses it: try again when that has ended)",
        1,
    ))
}

/// Without a remedy that is none here: what is readable of a damaged file is a store of rows, and may be no state of the service.
pub(super) fn without_salvage(words: String) -> String {
    words.replacen(" (restore a backup, or save what is readable with `Store::salvage`)", "", 1).replacen(
        ", or save what is readable with `Store::salvage`",
        "",
        1,
    )
}
