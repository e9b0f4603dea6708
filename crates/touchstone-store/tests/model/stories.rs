//! What was found beside the model, one story each.

use libsqlite3_sys as ffi;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tempfile::TempDir;
use touchstone_store::{Cells, Error, ErrorKind, Field, Kind, Mismatch, Raw, Record, Result, Store};

#[derive(Record, Clone, Debug, PartialEq)]
struct Task {
    #[record(key)]
    id: i64,
    rank: f64,
}

fn task(id: i64) -> Task {
    Task { id, rank: 0.5 }
}

fn opened() -> (TempDir, Store) {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let store = Store::open(directory.path().join("story.db")).expect("the store opens");
    (directory, store)
}

fn never_mind() -> Error {
    Error::new(ErrorKind::Invalid, "never mind")
}

/// SQLite undoes a failed statement only where it expects that the statement may fail: that it expects so of a batch
/// that replaces rows, whose failure is the program's, is what this test is for.
#[test]
fn a_batch_that_is_refused_in_the_middle_leaves_nothing() {
    let (_directory, store) = opened();
    store.put_all(&[task(1), task(2)]).expect("they go in");
    let replaced = Task { id: 1, rank: 9.0 };
    let batch = [replaced, task(3), Task { id: 4, rank: f64::NAN }, task(5)];
    store
        .write(|transaction| {
            let refused = transaction.put_all(&batch).expect_err("NaN cannot be stored");
            assert_eq!(refused.kind(), ErrorKind::Invalid);
            transaction.put(&task(6))
        })
        .expect("the rest is committed");
    assert_eq!(store.all::<Task>().expect("they are read"), [task(1), task(2), task(6)]);
}

#[test]
fn a_batch_whose_iterator_panics_leaves_nothing() {
    let (_directory, store) = opened();
    let tasks = [task(1), task(2), task(3)];
    let failing = || tasks.iter().inspect(|task| assert!(task.id < 3, "on purpose"));
    store
        .write(|transaction| {
            for _ in 0..2 {
                let panic = catch_unwind(AssertUnwindSafe(|| transaction.put_all(failing())));
                assert!(panic.is_err());
            }
            transaction.put(&task(9))
        })
        .expect("the rest is committed");
    assert_eq!(store.all::<Task>().expect("they are read"), [task(9)]);
}

/// The number of a collection that was made in a transaction, which then failed, was remembered, and given to another
/// collection: the two were one from then on.
#[test]
fn collections_of_a_failed_transaction_are_forgotten() {
    let (_directory, store) = opened();
    store.write(|transaction| transaction.collection::<Task>("a")?.insert(&task(1))).expect("it goes in");
    let failed: Result<()> = store.write(|transaction| {
        transaction.collection::<Task>("b")?;
        Err(never_mind())
    });
    assert!(failed.is_err());
    store.write(|transaction| transaction.collection::<Task>("c")?.insert(&task(3))).expect("it goes in");
    store.write(|transaction| transaction.collection::<Task>("b")?.insert(&task(2))).expect("it goes in");
    store
        .read(|snapshot| {
            for (name, id) in [("a", 1), ("b", 2), ("c", 3)] {
                assert_eq!(snapshot.collection::<Task>(name)?.all()?, [task(id)]);
            }
            Ok(())
        })
        .expect("they are read");
}

#[test]
fn collections_of_a_failed_savepoint_are_forgotten() {
    let (_directory, store) = opened();
    store
        .write(|transaction| {
            transaction.collection::<Task>("a")?.insert(&task(1))?;
            let failed: Result<()> = transaction.savepoint(|transaction| {
                transaction.collection::<Task>("b")?;
                Err(never_mind())
            });
            assert!(failed.is_err());
            transaction.collection::<Task>("c")?.insert(&task(3))?;
            transaction.collection::<Task>("b")?.insert(&task(2))
        })
        .expect("it is committed");
    let b = store.read(|snapshot| snapshot.collection::<Task>("b")?.all()).expect("they are read");
    assert_eq!(b, [task(2)]);
}

/// A record that panics while it is read took its connection with it, and the keeper went on looking at where that had
/// been.
#[test]
fn a_record_that_panics_while_it_is_read_costs_nothing() {
    #[derive(Debug, PartialEq)]
    struct Touchy(i64);
    impl Field for Touchy {
        const KIND: Kind = Kind::Integer;
        type Plain = Touchy;
        type View<'a> = i64;
        fn write<'a>(&'a self, cells: &mut Cells<'a>) {
            assert!(self.0 >= 0, "on purpose");
            cells.integer(self.0);
        }
        fn read(raw: Raw<'_>) -> Result<Touchy, Mismatch> {
            let value = i64::read(raw)?;
            assert!(value != 7, "on purpose");
            Ok(Touchy(value))
        }
        fn view(raw: Raw<'_>) -> Result<i64, Mismatch> {
            Ok(Touchy::read(raw)?.0)
        }
    }
    #[derive(Record, Debug, PartialEq)]
    struct Fragile {
        #[record(key)]
        id: i64,
        touchy: Touchy,
    }
    let (_directory, store) = opened();
    let fragile = |id, touchy| Fragile { id, touchy: Touchy(touchy) };
    store.insert_all(&[fragile(1, 1), fragile(2, 7)]).expect("they go in");
    for _ in 0..40 {
        assert!(catch_unwind(AssertUnwindSafe(|| store.get::<Fragile>(&2))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| store.all::<Fragile>())).is_err());
        let visit = || store.read(|snapshot| snapshot.of::<Fragile>().each_view(|_| Ok(true)));
        assert!(catch_unwind(AssertUnwindSafe(visit)).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| store.put(&fragile(3, -1)))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| store.put_all(&[fragile(3, 1), fragile(4, -1)]))).is_err());
        assert_eq!(store.get::<Fragile>(&1).expect("it is read"), Some(fragile(1, 1)));
        assert_eq!(store.get::<Fragile>(&3).expect("it is read"), None);
    }
}

/// The connection of a snapshot could write; what it wrote was left open, and nobody else could write any more.
#[test]
fn a_snapshot_cannot_be_written_through() {
    let (_directory, store) = opened();
    store.insert(&task(1)).expect("it goes in");
    for _ in 0..20 {
        let written = store.read(|snapshot| snapshot.sql(|sql| sql.execute("delete from task", ())));
        assert_eq!(written.expect_err("a snapshot is only read").kind(), ErrorKind::ReadOnly);
        store.put(&task(1)).expect("the store goes on");
        assert_eq!(store.get::<Task>(&1).expect("it is read"), Some(task(1)));
    }
}

/// SQL that ended a snapshot left it to the next reader, who could not read. Now it ends none.
#[test]
fn a_snapshot_is_not_ended_by_sql() {
    let (_directory, store) = opened();
    store.insert(&task(1)).expect("it goes in");
    for sql in ["commit", "rollback", "commit; begin"] {
        for _ in 0..20 {
            let snapshot = store.snapshot().expect("a snapshot is taken");
            assert_eq!(snapshot.get::<Task>(&1).expect("it is read"), Some(task(1)));
            let ended = snapshot.sql(|connection| connection.execute_batch(sql));
            assert_eq!(ended.expect_err("it is refused").kind(), ErrorKind::Refused);
            assert_eq!(snapshot.get::<Task>(&1).expect("it is read"), Some(task(1)));
            assert_eq!(snapshot.collection::<Task>("a").expect("it is read").count().expect("it is read"), 0);
            drop(snapshot);
            assert_eq!(store.get::<Task>(&1).expect("the store goes on"), Some(task(1)));
        }
    }
}

/// A table that raw SQL made, dropped or changed within a transaction was still known as it had been.
#[test]
fn tables_that_sql_changes_are_looked_at_again() {
    let (_directory, store) = opened();
    store.insert(&task(1)).expect("it goes in");
    let again = "drop table task; create table other (a); create table task (id INTEGER PRIMARY KEY, rank REAL) strict";
    store
        .write(|transaction| {
            assert_eq!(transaction.of::<Task>().all()?, [task(1)]);
            transaction.sql(|sql| sql.execute_batch(again))?;
            assert_eq!(transaction.of::<Task>().all()?, []);
            transaction.insert(&task(2))?;
            assert_eq!(transaction.of::<Task>().all()?, [task(2)]);
            transaction.sql(|sql| sql.execute_batch("drop table task"))?;
            assert_eq!(transaction.of::<Task>().all()?, []);
            transaction.insert(&task(3))
        })
        .expect("it is committed");
    let failed: Result<()> = store.write(|transaction| {
        transaction.sql(|sql| sql.execute_batch("drop table task"))?;
        assert_eq!(transaction.of::<Task>().all()?, []);
        Err(never_mind())
    });
    assert!(failed.is_err());
    store.put(&task(4)).expect("the store goes on");
    assert_eq!(store.all::<Task>().expect("they are read"), [task(3), task(4)]);
}

/// Rows could be removed while an iterator walked over their pages: it said that the file was damaged. Such a program
/// does not compile any more (see `Writing::query`).
#[test]
fn rows_are_removed_after_they_were_found() {
    let (_directory, store) = opened();
    let tasks: Vec<Task> = (0..5000).map(task).collect();
    store.insert_all(&tasks).expect("they go in");
    store
        .write(|transaction| {
            let mut writing = transaction.of::<Task>();
            let found: Vec<Task> = writing.query().rows()?.collect::<Result<_>>()?;
            for task in found.iter().filter(|task| task.id % 3 != 0) {
                writing.remove(&task.id)?;
            }
            Ok(())
        })
        .expect("it is committed");
    assert_eq!(store.all::<Task>().expect("they are read").len(), 1667);
}

/// SQLite has no −0 in a file: what is stored as one comes back as 0, everywhere alike.
#[test]
fn minus_zero_is_zero() {
    let (_directory, store) = opened();
    store.insert(&Task { id: 1, rank: -0.0 }).expect("it goes in");
    let got = store.get::<Task>(&1).expect("it is read").map(|task| task.rank.to_bits());
    let all = store.all::<Task>().expect("it is read")[0].rank.to_bits();
    assert_eq!((got, all), (Some(0), 0));
    let found = store.read(|snapshot| snapshot.query::<Task>().filter(|task| task.rank.eq(-0.0)).count());
    assert_eq!(found.expect("it is counted"), 1);
}

/// A field that appended no value left the statement's parameter as it was: bound to a text of an earlier record, which
/// was gone. In a batch, the values of the columns behind it were each other's.
#[test]
fn a_field_that_appends_no_value_or_two_is_refused() {
    #[derive(Clone, Debug, PartialEq)]
    struct Odd(Vec<String>);
    impl Field for Odd {
        const KIND: Kind = Kind::Text;
        type Plain = Odd;
        type View<'a> = Odd;
        fn write<'a>(&'a self, cells: &mut Cells<'a>) {
            self.0.iter().for_each(|text| cells.text(text));
        }
        fn read(raw: Raw<'_>) -> Result<Odd, Mismatch> {
            Ok(Odd(vec![String::read(raw)?]))
        }
        fn view(raw: Raw<'_>) -> Result<Odd, Mismatch> {
            Odd::read(raw)
        }
    }
    #[derive(Record, Clone, Debug, PartialEq)]
    struct Strange {
        #[record(key)]
        id: i64,
        odd: Odd,
        note: Option<String>,
    }
    let (_directory, store) = opened();
    let strange = |id, texts: &[&str]| {
        let odd = Odd(texts.iter().map(|text| (*text).to_owned()).collect());
        Strange { id, odd, note: Some("note".into()) }
    };
    let good = strange(1, &["one"]);
    for refused in [strange(2, &[]), strange(2, &["one", "two"])] {
        store.put(&good).expect("it goes in");
        let alone = store.put(&refused).expect_err("it is no row");
        let batch = store.put_all(&[good.clone(), refused.clone()]).expect_err("it is no row");
        assert_eq!((alone.kind(), batch.kind()), (ErrorKind::Invalid, ErrorKind::Invalid));
        assert!(batch.to_string().contains("for 3 columns"), "{batch}");
        assert_eq!(store.all::<Strange>().expect("they are read"), std::slice::from_ref(&good));
    }
}

/// Each collection had a table of its own in memory, with statements of its own: a program with many rooms grew for as
/// long as it ran.
#[test]
fn collections_share_the_statements_of_their_table() {
    let (_directory, store) = opened();
    let names: Vec<String> = (0..50).map(|at| format!("room {at}")).collect();
    let statements = |sql: &rusqlite::Connection| {
        let mut count = 0;
        let mut statement = std::ptr::null_mut();
        loop {
            // SAFETY: the connection is open, and this thread's.
            statement = unsafe { ffi::sqlite3_next_stmt(sql.handle(), statement) };
            if statement.is_null() {
                return Ok(count);
            }
            count += 1;
        }
    };
    let mut counts = Vec::new();
    for name in &names {
        let count = store.write(|transaction| {
            let mut tasks = transaction.collection::<Task>(name)?;
            tasks.insert(&task(1))?;
            tasks.put_all(&[task(1), task(2)])?;
            assert_eq!((tasks.get(&1)?, tasks.count()?, tasks.remove(&2)?), (Some(task(1)), 2, true));
            transaction.sql(statements)
        });
        counts.push(count.expect("it is written"));
    }
    assert_eq!(counts[1..], vec![counts[1]; names.len() - 1]);
    store
        .read(|snapshot| {
            // Of one within another too.
            snapshot.collection::<Task>(&names[0])?.each_view(|_| {
                assert_eq!(snapshot.collection::<Task>(&names[1])?.all()?, [task(1)]);
                Ok(true)
            })
        })
        .expect("they are read");
}
