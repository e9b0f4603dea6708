//! What happens to a store's file while it is open: the program changes its directory, somebody renames, replaces or
//! deletes the file, another program removes the log, the process forks, others open it with another class of durability.
//! What belongs to a whole process, or crashed one, is played by a process of its own.

mod classes;
mod forks;
#[cfg(unix)]
mod handles;
mod lent;
mod media;
mod paths;
#[path = "../process/mod.rs"]
mod process;
mod removed;
mod replaced;

use process::again;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use touchstone_store::{EncryptionKey, ErrorKind, Options, Record, Result};

/// The directory that a test's own process is to play in.
const DIRECTORY: &str = "TOUCHSTONE_TEST_FILE_DIRECTORY";

#[derive(Record, Clone, Debug, PartialEq)]
struct Task {
    #[record(key)]
    id: i64,
    title: String,
}

fn task(id: i64, title: &str) -> Task {
    Task { id, title: title.into() }
}

/// Makes a store of so many tasks, and closes it.
fn fill(path: &Path, options: &Options, count: i64, title: &str) {
    let store = options.clone().open(path).expect("it opens");
    let tasks: Vec<Task> = (0..count).map(|id| task(id, title)).collect();
    store.insert_all(&tasks).expect("it is written");
}

/// Each way in which a store has its file open.
fn ways() -> [Options; 3] {
    let key = EncryptionKey::raw([7; 32]);
    [Options::new(), Options::new().exclusive(true), Options::new().key(key)]
}

/// Plays the story of the test with that name in a process of its own: whatever becomes of that, this one tells.
fn alone(name: &str, story: impl FnOnce(&Path)) {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        return story(Path::new(&directory));
    }
    let directory = tempfile::tempdir().expect("a directory can be made");
    let played = program(name, directory.path().as_os_str()).output().expect("the program starts");
    let told = String::from_utf8_lossy(&played.stderr);
    assert!(played.status.success(), "{}: {told}", played.status);
}

/// This test program, to run the test of that name alone.
fn program(name: &str, directory: &OsStr) -> Command {
    let mut program = again(name);
    program.env(DIRECTORY, directory).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    program
}

fn kind<T>(result: Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

/// Calls again until it fails: a call on an open connection is told within milliseconds, and then always.
fn until_told<T>(mut call: impl FnMut() -> Result<T>) -> Option<ErrorKind> {
    /// Many times as long as it may take, for a test that is to fail.
    const LONG: Duration = Duration::from_secs(20);
    let end = Instant::now() + LONG;
    loop {
        let told = kind(call());
        if told.is_some() || Instant::now() > end {
            return told;
        }
    }
}

fn names_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("it is there");
    entries.map(|entry| entry.expect("it is readable").path()).collect()
}
