//! A program's own SQL: what it may not do is refused with what to do instead, and whatever it did or tried, the store and
//! its file are as good as before.

mod forgotten;
mod keeps;
mod refused;
mod savepoints;
mod settings;
mod told;
mod version;

use std::path::PathBuf;
use tempfile::TempDir;
use touchstone_store::rusqlite::fallible_iterator::FallibleIterator as _;
use touchstone_store::{Options, Record, Result, Store, rusqlite};

#[derive(Record, Clone, Debug, PartialEq)]
struct Task {
    #[record(key)]
    id: i64,
    title: String,
    #[record(index)]
    due: Option<i64>,
}

fn task(id: i64) -> Task {
    Task { id, title: format!("task {id}"), due: (id % 3 == 0).then_some(id) }
}

/// A store of some pages in a directory of its own.
struct Place {
    store: Store,
    path: PathBuf,
    _directory: TempDir,
}

const ROWS: i64 = 300;

impl Place {
    fn new() -> Place {
        let directory = tempfile::tempdir().expect("there is room");
        let path = directory.path().join("tasks.db");
        let store = Options::new().create(true).open(&path).expect("it opens");
        store.insert_all(&(0..ROWS).map(task).collect::<Vec<_>>()).expect("they are written");
        Place { store, path, _directory: directory }
    }

    /// Runs SQL in a transaction.
    fn write(&self, sql: &str) -> Result<()> {
        self.store.write(|transaction| transaction.sql(|connection| run(connection, sql)))
    }

    /// Runs SQL on a snapshot.
    fn read(&self, sql: &str) -> Result<()> {
        self.store.read(|snapshot| snapshot.sql(|connection| run(connection, sql)))
    }

    /// Opens the file anew, when nobody else has it.
    fn reopen(self) -> Place {
        let Place { store, path, _directory } = self;
        drop(store);
        let store = Store::open(&path).expect("it opens again");
        Place { store, path, _directory }
    }
}

/// Runs each statement to its end, whether it gives rows or not.
fn run(connection: &rusqlite::Connection, sql: &str) -> rusqlite::Result<()> {
    let mut batch = rusqlite::Batch::new(connection, sql);
    while let Some(mut statement) = batch.next()? {
        let mut rows = statement.raw_query();
        while rows.next()?.is_some() {}
    }
    Ok(())
}
