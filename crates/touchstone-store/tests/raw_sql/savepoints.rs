//! Savepoints of a program's own SQL, within those of the store and beside them, and transactions that end by themselves.

use super::{Place, ROWS, Task, run, task};
use touchstone_store::{Error, ErrorKind, Result, rusqlite};

fn count(place: &Place) -> i64 {
    place.store.read(|snapshot| snapshot.of::<Task>().count()).expect("it is readable") as i64
}

#[test]
fn a_savepoint_of_sql_undoes_its_part() -> Result<()> {
    let place = Place::new();
    place.write("savepoint x; delete from task; rollback to x; release x; delete from task where id = 1")?;
    assert_eq!(count(&place), ROWS - 1);
    Ok(())
}

/// A part of the store was called `part`, and SQL released it.
#[test]
fn sql_cannot_end_a_part_of_the_store() -> Result<()> {
    for sql in [
        "release part",
        "rollback to part; release part",
        "release touchstone_part",
        "ROLLBACK TO Touchstone_Part",
    ] {
        let place = Place::new();
        place.store.write(|transaction| {
            transaction.insert(&task(1000))?;
            let part: Result<(), Error> = transaction.savepoint(|transaction| {
                transaction.insert(&task(1001))?;
                let ended = transaction.sql(|connection| run(connection, sql));
                assert!(ended.is_err(), "{sql}");
                transaction.insert(&task(1002))?;
                Err(Error::new(ErrorKind::Invalid, "never mind"))
            });
            assert_eq!(part.map_err(|error| error.to_string()), Err("never mind".to_owned()), "{sql}");
            Ok(())
        })?;
        assert_eq!(count(&place), ROWS + 1, "{sql}");
    }
    Ok(())
}

/// What a call leaves open is kept, and no later one ends more than its own.
#[test]
fn a_savepoint_ends_with_the_call_that_opened_it() -> Result<()> {
    let place = Place::new();
    place.store.write(|transaction| {
        transaction
            .sql(|connection| run(connection, "savepoint \"x\"\"y\"; delete from task where id = 1"))?;
        let part: Result<(), Error> = transaction.savepoint(|transaction| {
            let released = transaction.sql(|connection| run(connection, "release \"x\"\"y\""));
            assert!(released.is_err(), "it has ended");
            transaction.remove::<Task>(&2)?;
            Err(Error::new(ErrorKind::Invalid, "never mind"))
        });
        assert!(part.is_err());
        Ok(())
    })?;
    assert_eq!(count(&place), ROWS - 1);
    assert!(place.store.get::<Task>(&2)?.is_some());
    Ok(())
}

/// A conflict rolled the transaction back, and the statements after it were commits of their own.
#[test]
fn nothing_is_committed_after_the_transaction_has_ended() {
    let place = Place::new();
    let written = place.store.write(|transaction| {
        transaction.sql(|connection| {
            let mut held = connection.prepare("insert into task (id, title) values (?1, 'held')")?;
            assert!(
                connection
                    .execute("insert or rollback into task (id, title) values (1, 'there')", ())
                    .is_err()
            );
            let error = connection.execute("insert into task (id, title) values (2000, 'new')", ());
            assert!(error.is_err_and(|error| error.to_string().contains("has ended")));
            assert!(connection.execute_batch("savepoint x").is_err());
            assert!(held.execute([2001]).is_err(), "a statement that was prepared before");
            Ok(())
        })
    });
    assert_eq!(written.map_err(|error| error.kind()), Err(ErrorKind::Refused));
    assert_eq!(count(&place), ROWS);
    place.store.insert(&task(2002)).expect("the writer works on");
}

/// SQL within SQL: the guard is there until the outer call ends.
#[test]
fn a_lending_within_another_ends_for_itself() -> Result<()> {
    let place = Place::new();
    let snapshot = place.store.snapshot()?;
    let outer = snapshot.sql(|connection| {
        let inner = snapshot.sql(|connection| run(connection, "rollback"));
        assert_eq!(inner.map_err(|error| error.kind()), Err(ErrorKind::Refused));
        assert_eq!(snapshot.of::<Task>().count().map_err(|_| rusqlite_error())?, ROWS as u64);
        run(connection, "rollback")
    });
    assert_eq!(outer.map_err(|error| error.kind()), Err(ErrorKind::Refused));
    assert_eq!(snapshot.of::<Task>().count()?, ROWS as u64);
    Ok(())
}

fn rusqlite_error() -> rusqlite::Error {
    rusqlite::Error::InvalidQuery
}

/// The statements were prepared while the transaction was there, and ran when it had ended: the savepoint began another one,
/// and its release committed that.
#[test]
fn a_savepoint_after_the_end_of_the_transaction_keeps_nothing() -> Result<()> {
    let place = Place::new();
    let written = place.store.write(|transaction| {
        transaction.sql(|connection| {
            let mut savepoint = connection.prepare("savepoint mine")?;
            let mut insert = connection.prepare("insert into task (id, title) values (1000, 'late')")?;
            let ended =
                connection.execute("insert or rollback into task (id, title) values (1, 'there')", ());
            assert!(ended.is_err() && connection.is_autocommit());
            savepoint.execute(())?;
            insert.execute(())
        })
    });
    assert_eq!(written.map_err(|error| error.kind()), Err(ErrorKind::Refused));
    assert_eq!(count(&place), ROWS);
    place.store.insert(&task(1001))
}
