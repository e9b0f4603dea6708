//! What a program's SQL leaves on a connection, and what it does not.

use super::{Place, ROWS, Task, run, task};
use std::mem::{ManuallyDrop, forget};
use touchstone_store::rusqlite::{self, Connection, ffi};
use touchstone_store::{Error, ErrorKind, Options, Record, Result};

/// The writer went on to lock the other file with each of its transactions, and some snapshots knew it.
#[test]
fn an_attached_file_is_detached_when_the_transaction_ends() -> Result<()> {
    let (place, other) = (Place::new(), Place::new());
    let path = other.path.to_str().expect("it is a path").to_owned();
    let copied = place.store.write(|transaction| {
        transaction.sql(|connection| {
            connection.execute("attach ?1 as other", [&path])?;
            connection.execute("insert into task select id + 1000, title, due from other.task", ())
        })
    })?;
    assert_eq!(copied as i64, ROWS);
    for _ in 0..20 {
        place.store.write(|transaction| {
            transaction.sql(|connection| connection.execute("attach ?1 as other", [&path]))
        })?;
        place.store.read(|snapshot| {
            snapshot.sql(|connection| {
                connection.execute("attach ?1 as other", [&path])?;
                connection.query_row("select count(*) from other.task", (), |row| row.get::<_, i64>(0))
            })
        })?;
    }
    let held = place.store.begin()?;
    other.store.insert(&task(1000))?;
    held.commit()?;
    let undone: Result<(), Error> = place.store.write(|transaction| {
        transaction.sql(|connection| connection.execute("attach ?1 as other", [&path]))?;
        Err(Error::new(ErrorKind::Invalid, "never mind"))
    });
    assert!(undone.is_err());
    place.write("select * from task")?;
    assert!(place.write("select * from other.task").is_err());
    Ok(())
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Note {
    #[record(key)]
    id: i64,
    #[record(index)]
    text: String,
}

/// A question for the size of pages that was interrupted was answered with the usual size, which the connection then read by
/// for as long as it was open: every walk said that the file is damaged.
#[test]
fn an_interrupt_leaves_a_connection_its_size_of_pages() -> Result<()> {
    let place = Place::new();
    let path = place.path.with_file_name("large.db");
    let store = Options::new().page_size(8192).open(&path)?;
    store.insert_all(&(0..ROWS).map(task).collect::<Vec<_>>())?;
    drop(store);
    let store = Options::new().open(&path)?;
    let mut met = 0;
    let interrupted = store.read(|snapshot| {
        let handle = snapshot.sql(|connection| Ok(connection.get_interrupt_handle()))?;
        snapshot.query::<Task>().order(|task| task.title.descending()).each_view(|_| {
            handle.interrupt();
            met += usize::from(snapshot.of::<Task>().all().is_ok());
            Ok(true)
        })
    });
    assert!(interrupted.is_err() && met <= 1, "the statement is interrupted");
    for _ in 0..20 {
        assert_eq!(store.all::<Task>()?.len() as i64, ROWS);
    }
    Ok(())
}

/// SQLite resolves a name to a temporary table first: typed writes went there, and were gone with the connection.
#[test]
fn a_temporary_table_of_a_types_name_is_another_table() -> Result<()> {
    let place = Place::new();
    place.write(
        "create temp table task (id integer primary key, title text, due integer);
         create temp table note (id integer primary key, text text);
         create temp table touchstone_user_version (number integer primary key, version integer);
         create temp table touchstone_collections (number integer primary key, name text)",
    )?;
    place.store.insert(&task(1000))?;
    place.store.put_all_of(&[task(1001), task(1)])?;
    place.store.insert(&Note { id: 1, text: "kept".into() })?;
    place.store.write(|transaction| {
        assert!(transaction.remove::<Task>(&2)?);
        transaction.set_user_version(4)?;
        transaction.collection::<Note>("inbox")?.insert(&Note { id: 2, text: "in it".into() })?;
        assert_eq!(transaction.query::<Note>().filter(|note| note.text.eq("kept")).count()?, 1);
        Ok(())
    })?;
    let place = place.reopen();
    assert_eq!(place.store.all::<Task>()?.len() as i64, ROWS + 1);
    assert_eq!(place.store.get::<Note>(&1)?.map(|note| note.text).as_deref(), Some("kept"));
    assert_eq!(place.store.user_version()?, 4);
    assert_eq!(place.store.snapshot()?.collection::<Note>("inbox")?.count()?, 1);
    Ok(())
}

trait PutAll {
    fn put_all_of(&self, tasks: &[Task]) -> Result<u64>;
}

impl PutAll for touchstone_store::Store {
    fn put_all_of(&self, tasks: &[Task]) -> Result<u64> {
        self.write(|transaction| transaction.put_all(tasks))
    }
}

/// An authorizer that is set by SQLite's own function has every statement prepared anew.
#[test]
fn lending_prepares_nothing_anew() -> Result<()> {
    let place = Place::new();
    place.write("select 1")?;
    let prepared = place.store.write(|transaction| {
        transaction.get::<Task>(&1)?;
        transaction.sql(|_| Ok(()))?;
        transaction.sql(|connection| {
            // How often the store's own statements were prepared anew since they were first prepared.
            // SAFETY: the connection is open, and its statements are only asked.
            Ok(unsafe { prepared_anew(connection.handle()) })
        })
    })?;
    let again = place.store.write(|transaction| {
        for id in 0..5 {
            transaction.get::<Task>(&id)?;
            transaction.sql(|connection| run(connection, "select count(*) from task"))?;
        }
        // SAFETY: as above.
        transaction.sql(|connection| Ok(unsafe { prepared_anew(connection.handle()) }))
    })?;
    assert_eq!(again, prepared);
    Ok(())
}

/// # Safety
/// The connection is open.
unsafe fn prepared_anew(connection: *mut ffi::sqlite3) -> i32 {
    let (mut statement, mut sum) = (std::ptr::null_mut(), 0);
    loop {
        // SAFETY: the caller's promise.
        statement = unsafe { ffi::sqlite3_next_stmt(connection, statement) };
        if statement.is_null() {
            return sum;
        }
        // SAFETY: the statement is one of the connection's.
        sum += unsafe { ffi::sqlite3_stmt_status(statement, ffi::SQLITE_STMTSTATUS_REPREPARE, 0) };
    }
}

/// A statement that stands on a row, and is neither ended nor dropped.
fn forget_a_statement(connection: &Connection) -> rusqlite::Result<()> {
    let mut statement = ManuallyDrop::new(connection.prepare("select id from task")?);
    let mut rows = statement.query(())?;
    assert!(rows.next()?.is_some());
    forget(rows);
    Ok(())
}

/// SQLite went on reading for a statement that nobody had ended: every later read of the connection was of the first snapshot.
#[test]
fn a_forgotten_statement_ends_with_its_snapshot() -> Result<()> {
    let place = Place::new();
    let snapshot = place.store.snapshot()?;
    let mut rows = snapshot.query::<Task>().order(|task| task.title.descending()).rows()?;
    assert!(rows.next().is_some());
    forget(rows);
    drop(snapshot);
    place.store.insert(&task(1000))?;
    assert!(place.store.get::<Task>(&1000)?.is_some(), "after rows that were forgotten");

    place.store.read(|snapshot| snapshot.sql(forget_a_statement))?;
    place.store.insert(&task(1001))?;
    assert!(place.store.get::<Task>(&1001)?.is_some(), "after a statement of lent SQL");
    Ok(())
}

/// The writer's connection kept the log from being emptied until the store was closed.
#[test]
fn a_forgotten_statement_ends_with_its_transaction() -> Result<()> {
    for commits in [true, false] {
        let place = Place::new();
        let written = place.store.write(|transaction| {
            transaction.sql(forget_a_statement)?;
            if commits { Ok(()) } else { Err(Error::new(ErrorKind::Invalid, "never mind")) }
        });
        assert_eq!(written.is_ok(), commits);
        place.store.insert(&task(1000))?;
        let beside = Connection::open(&place.path)?;
        let busy: i64 = beside.query_row("pragma wal_checkpoint(truncate)", (), |row| row.get(0))?;
        assert_eq!(busy, 0, "commits: {commits}");
    }
    Ok(())
}
