//! A log that another program removed. The locks that a process has on a file go when it closes any of its handles of that
//! file: a program that reads the file of its open store by itself loses the locks of the store, and another program then
//! takes itself for the last one.

use super::{Task, alone, fill, program, task, until_told};
use std::fs;
use std::path::Path;
use touchstone_store::{ErrorKind, Options, Store};

/// What the other program is to do.
const WORK: &str = "TOUCHSTONE_TEST_FILE_WORK";
/// Rows of the other program: more than one page has.
const ROWS: i64 = 40;

/// Another program, which is no store: it opens the file, does its work and closes it.
fn another(path: &Path, work: &str) {
    let mut program = program("removed::the_other_program", path.as_os_str());
    let played = program.env(WORK, work).output().expect("the program starts");
    assert!(played.status.success(), "{work}: {}", String::from_utf8_lossy(&played.stderr));
}

/// Does nothing in the test's own process.
#[test]
fn the_other_program() {
    let Ok(work) = std::env::var(WORK) else { return };
    let path = std::env::var_os(super::DIRECTORY).expect("it was told");
    let sql = rusqlite::Connection::open(&path).expect("the file opens");
    if work == "write" {
        let insert = "insert into task (id, title) values (?1, printf('%.2000c', 'o'))";
        for id in 1000..1000 + ROWS {
            sql.execute(insert, [id]).expect("it is written");
        }
    }
    let whole = "select * from pragma_integrity_check";
    let whole = sql.query_row(whole, (), |row| row.get::<_, String>(0)).expect("the file is readable");
    assert_eq!(whole, "ok");
    leave_as_the_last(sql, Path::new(&path));
}

/// Closes the file as SQLite does in a process that takes itself for the last one.
fn leave_as_the_last(sql: rusqlite::Connection, path: &Path) {
    let numbers = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
    let (log, copied) = sql.query_row("pragma wal_checkpoint(passive)", (), numbers).expect("it is copied");
    assert_eq!(log, copied, "all of the log is copied");
    drop(sql);
    for ending in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{ending}", path.display()));
    }
}

/// A transaction that was open meanwhile was committed to the log without a name, and closing the store copied that over
/// what others had committed since.
#[test]
fn what_others_commit_after_the_log_was_removed_stays() {
    alone("removed::what_others_commit_after_the_log_was_removed_stays", |directory| {
        let path = directory.join("tasks.db");
        fill(&path, &Options::new(), 3, "this");
        let store = Store::open(&path).expect("it opens");
        store.insert(&task(10, "before")).expect("it is written");
        let written = store.write(|transaction| {
            transaction.insert(&task(11, "while the log is removed"))?;
            another(&path, "read");
            another(&path, "write");
            Ok(())
        });
        written.expect("nobody has seen it yet");
        assert_eq!(until_told(|| store.put(&task(12, "nowhere"))), Some(ErrorKind::Replaced));
        drop(store);
        another(&path, "read");
        let ids: Vec<i64> = [0, 1, 2, 10].into_iter().chain(1000..1000 + ROWS).collect();
        let tasks = Store::open(&path).and_then(|store| store.all::<Task>()).expect("it is readable");
        assert_eq!(tasks.iter().map(|task| task.id).collect::<Vec<_>>(), ids);
    });
}
