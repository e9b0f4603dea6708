//! A query is prepared once, whatever values it asks for. SQLite looks at some values when it plans, and then prepares anew
//! for each other one, which is a large part of what a small query costs.

use super::{Row, opened};
use rusqlite::ffi;
use std::ptr;
use touchstone_store::{Query, Snapshot, Store};

fn filled() -> (tempfile::TempDir, Store) {
    let (directory, store) = opened();
    let text = |id: i64| format!("text {}", id % 7);
    let row = |id: i64| Row {
        id,
        small: Some(id % 10),
        large: id,
        real: None,
        text: Some(text(id)),
        word: text(id),
        bytes: None,
    };
    store.insert_all(&(0..200).map(row).collect::<Vec<_>>()).expect("they go in");
    (directory, store)
}

/// How often statements of the snapshot's connection were prepared anew.
fn prepared_anew(snapshot: &Snapshot) -> i32 {
    let count = |connection: &rusqlite::Connection| {
        let (mut statement, mut count) = (ptr::null_mut(), 0);
        loop {
            // SAFETY: the connection is open, and nobody finalizes a statement meanwhile.
            unsafe {
                statement = ffi::sqlite3_next_stmt(connection.handle(), statement);
                if statement.is_null() {
                    return Ok(count);
                }
                count += ffi::sqlite3_stmt_status(statement, ffi::SQLITE_STMTSTATUS_REPREPARE, 0);
            }
        }
    };
    snapshot.sql(count).expect("they are counted")
}

type Asked<'s> = fn(Query<'s, Row>, i64) -> Query<'s, Row>;

fn queries<'s>() -> [Asked<'s>; 9] {
    [
        |rows, value| rows.filter(|row| row.small.eq(value)).order(|row| row.large.descending()).limit(5),
        |rows, value| rows.filter(|row| row.large.eq(value)).order(|row| row.small.ascending()),
        |rows, value| {
            rows.filter(|row| row.small.eq(value).and(row.large.gt(20))).order(|row| row.text.ascending())
        },
        |rows, value| {
            let after =
                |row: super::RowColumns| row.small.gt(value).or(row.small.eq(value).and(row.id.gt(40)));
            rows.filter(after).order(|row| row.small.ascending()).limit(5)
        },
        |rows, value| {
            rows.filter(|row| row.word.eq(format!("text {value}"))).order(|row| row.id.descending())
        },
        |rows, value| {
            rows.filter(|row| row.text.starts_with(format!("text {value}")))
                .order(|row| row.text.descending())
        },
        |rows, value| rows.filter(|row| row.small.is_in([value, 50])).order(|row| row.large.descending()),
        |rows, value| {
            rows.filter(|row| row.small.between(value, value + 3)).order(|row| row.small.descending())
        },
        |rows, value| rows.filter(|row| row.small.ne(value)).order(|row| row.word.ascending()).offset(3),
    ]
}

#[test]
fn a_query_is_prepared_once_whatever_it_compares_with() {
    let (_directory, store) = filled();
    let snapshot = store.snapshot().expect("it is taken");
    let ask = |value| {
        queries().map(|query| {
            let rows = query(snapshot.query::<Row>(), value).all().expect("it is asked");
            rows.iter().map(|row| row.id).collect::<Vec<_>>()
        })
    };
    // The first time that SQL is lent changes what the connection may do, for which all is prepared anew.
    prepared_anew(&snapshot);
    let first = ask(5);
    assert_eq!(first[0], [195, 185, 175, 165, 155]);
    assert!(first.iter().all(|ids| !ids.is_empty()));
    // A limit is looked at, and prepares anew where it is first told.
    let before = prepared_anew(&snapshot);
    for value in [3, 7, 0, 1, 6, 1, 0, 5] {
        ask(value);
    }
    assert_eq!(ask(5), first);
    assert_eq!(prepared_anew(&snapshot), before);
}

#[test]
fn an_index_of_some_rows_serves_the_values_that_it_has() {
    let (_directory, store) = filled();
    let ask = |value: i64| {
        store.read(|snapshot| {
            let rows = || {
                snapshot.query::<Row>().filter(|row| row.large.eq(value)).order(|row| row.word.ascending())
            };
            let sql = rows().explain()?.sql.expect("a statement is run");
            Ok((rows().all()?.len(), sql.contains("= +?")))
        })
    };
    assert_eq!(ask(7).expect("it is asked"), (1, true));
    let make = "create index of_some on row (word) where large = 7";
    store.write(|transaction| transaction.sql(|sql| sql.execute_batch(make))).expect("it is made");
    // SQLite uses it only where it knows the value.
    assert_eq!(ask(7).expect("it is asked"), (1, false));
    assert_eq!(ask(8).expect("it is asked"), (1, false));
}
