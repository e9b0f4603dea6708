//! A program that used rusqlite moves here: the rows of its file are copied into a store, and checked.
//!
//! `cargo run -p touchstone-store --example from_rusqlite`

use rusqlite::{Connection, OpenFlags};
use std::error::Error;
use std::fs;
use std::path::Path;
use touchstone_store::{ErrorKind, Record, Store};

/// Records of one commit: memory holds so many at a time, and a failure in the middle leaves whole batches.
const BATCH: usize = 1000;
const TASKS: i64 = 2500;

#[derive(Record, Clone, Debug, PartialEq)]
struct Task {
    #[record(key)]
    id: i64,
    title: String,
    done: bool,
    #[record(index)]
    due: Option<i64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let (old, new) = (directory.path().join("old.db"), directory.path().join("tasks.db"));
    make_old(&old)?;

    // The old file is another program's. It is not taken for a store, and stays as it is.
    let refused = Store::open(&old).expect_err("it is no store");
    assert_eq!(refused.kind(), ErrorKind::Foreign);
    println!("Opened as a store: {refused}");

    let copied = migrate(&old, &new)?;
    println!("{copied} tasks were copied.");

    let store = Store::open(&new)?;
    assert_eq!(store.read(|snapshot| snapshot.of::<Task>().count())?, copied);
    let late = store.read(|snapshot| snapshot.query::<Task>().filter(|task| task.due.lt(10)).count())?;
    println!("{late} of them are due before 10.");
    assert_eq!(late, 8);
    assert!(store.check().records::<Task>().run()?.is_whole());
    Ok(())
}

/// The file as the old program left it: a flag that is not set is NULL.
fn make_old(path: &Path) -> rusqlite::Result<()> {
    let mut connection = Connection::open(path)?;
    connection.execute_batch("create table tasks (id integer primary key, title text, done int, due int)")?;
    let transaction = connection.transaction()?;
    for id in 1..=TASKS {
        let done = (id % 2 == 0).then_some(1);
        let due = (id % 5 != 0).then_some(id);
        transaction
            .execute("insert into tasks values (?1, ?2, ?3, ?4)", (id, format!("task {id}"), done, due))?;
    }
    transaction.commit()
}

/// Copies all rows into a new store. The store appears under its name when it is whole.
fn migrate(old: &Path, new: &Path) -> Result<u64, Box<dyn Error>> {
    let made = new.with_extension("part");
    let copied = copy(&Connection::open_with_flags(old, OpenFlags::SQLITE_OPEN_READ_ONLY)?, &made)?;
    fs::rename(made, new)?;
    Ok(copied)
}

fn copy(old: &Connection, new: &Path) -> Result<u64, Box<dyn Error>> {
    let store = Store::open(new)?;
    // What the old program left to chance is decided here, once.
    let mut rows = old.prepare("select id, coalesce(title, ''), coalesce(done, 0) <> 0, due from tasks")?;
    let tasks = rows.query_map((), |row| {
        Ok(Task { id: row.get(0)?, title: row.get(1)?, done: row.get(2)?, due: row.get(3)? })
    })?;
    let (mut batch, mut copied) = (Vec::with_capacity(BATCH), 0);
    for task in tasks {
        batch.push(task?);
        if batch.len() == BATCH {
            copied += store.insert_all(&batch)?;
            batch.clear();
        }
    }
    // The last commit waits for the disk, and with it all before it.
    copied += store.write(|transaction| {
        transaction.durable();
        transaction.insert_all(&batch)
    })?;
    Ok(copied)
}
