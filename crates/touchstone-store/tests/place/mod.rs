//! A place for one file, for tests that open it more than once and by more than one program.
#![allow(dead_code, reason = "each test program uses its own part of this")]

use std::path::PathBuf;
use tempfile::TempDir;
use touchstone_store::Store;

/// The place, which goes with the test.
pub struct Place {
    _directory: TempDir,
    pub path: PathBuf,
}

pub fn place() -> Place {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("store.db");
    Place { _directory: directory, path }
}

impl Place {
    pub fn open(&self) -> Store {
        Store::open(&self.path).expect("the store opens")
    }

    /// The file as any other program opens it.
    pub fn plain(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(&self.path).expect("the file opens")
    }
}
