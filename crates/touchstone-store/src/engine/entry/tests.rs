//! Entries of tables that are read from the schema's pages, compared with SQL's answers.

use super::find;
use crate::Store;
use crate::engine::connection::Connection;
use crate::types::options::Options;
use std::path::Path;

fn connection(path: &Path) -> Connection {
    let connection = Connection::open(path, &Options::new()).expect("it opens");
    connection.header().expect("it is readable");
    connection
}

/// The table's entry by SQL.
fn asked(connection: &Connection, name: &str) -> Option<(u32, String)> {
    let sql = "select rootpage, sql from sqlite_schema where type = 'table' and name = ?1";
    connection.sql().query_row(sql, [name], |row| Ok((row.get(0)?, row.get(1)?))).ok()
}

/// Entries with overflow pages, before and after others, on enough pages for a tree of several levels.
#[test]
fn an_entry_is_what_sql_says() {
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("notes.db");
    drop(Store::open(&path).expect("it is made"));
    const TABLES: usize = 300;
    let name = |at: usize| format!("note{at}");
    let maker = connection(&path);
    for at in 0..TABLES {
        let comment = "x".repeat(if at % 3 == 0 { 9000 } else { at });
        let sql = format!("create table {} (id integer primary key /* {comment} */)", name(at));
        maker.sql().execute_batch(&sql).expect("there is room");
        let index = format!("create index indexed{at} on {} (id)", name(at));
        maker.sql().execute_batch(&index).expect("there is room");
    }
    let connection = connection(&path);
    connection.begin_read().expect("it is readable");
    for at in 0..TABLES {
        let found = find(&connection, &name(at)).expect("it is whole");
        assert!(found.is_some(), "{}", name(at));
        assert_eq!(found, asked(&connection, &name(at)));
    }
}

/// The caller uses SQL, which takes more time for the same answer.
#[test]
fn what_does_not_lie_as_sqlite_writes_it_is_not_found() {
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("notes.db");
    drop(Store::open(&path).expect("it is made"));
    let connection = connection(&path);
    let sql = "create table note (id integer primary key); create view seen as select * from note; \
               create table Other (id integer primary key); create temp table passing (id)";
    connection.sql().execute_batch(sql).expect("there is room");
    connection.begin_read().expect("it is readable");
    let is_found = |name: &str| find(&connection, name).expect("it is whole").is_some();
    assert!(is_found("note"));
    assert!(is_found("Other"));
    for name in ["seen", "passing", "missing", "other", "NOTE", "sqlite_schema", "no\0te", ""] {
        assert!(!is_found(name), "{name}");
    }
}

/// Regression: the root was that of an outdated schema. A table that was dropped and made again has another root.
#[test]
fn a_schema_of_another_time_is_not_believed() {
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("notes.db");
    drop(Store::open(&path).expect("it is made"));
    let (connection, other) = (connection(&path), connection(&path));
    other.sql().execute_batch("create table note (id integer primary key)").expect("there is room");
    let found = || find(&connection, "note").expect("it is whole");
    assert_eq!(found(), None, "no transaction is open");
    connection.begin_read().expect("it is readable");
    assert!(found().is_some());
    connection.end();
    let again = "create table before (id integer primary key); drop table note; \
                 create table note (id integer primary key, text)";
    other.sql().execute_batch(again).expect("there is room");
    connection.begin_read().expect("it is readable");
    assert_eq!(found(), None, "the schema in memory is another");
    let said = asked(&connection, "note");
    assert!(said.is_some());
    assert_eq!(found(), said, "a statement has read the schema anew");
}
