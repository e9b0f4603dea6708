//! Statements that a program forgets while they stand on a row, and copies on their way: `std::mem::forget` is as safe as any other call.

use super::{Place, ROWS, Task, task};
use std::mem::forget;
use std::time::Duration;
use touchstone_store::{Options, Result, Snapshot, Store, rusqlite};

const UPDATE: &str = "update task set due = due + 1 returning id";

/// Takes one row of a statement, and forgets it there.
fn forget_on_a_row(connection: &rusqlite::Connection, sql: &str) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(())?;
    assert!(rows.next()?.is_some());
    forget(rows);
    forget(statement);
    Ok(())
}

/// Begins to walk over an order, and forgets it there.
fn forget_a_walk(snapshot: &Snapshot) -> Result<()> {
    let mut rows = snapshot.query::<Task>().order(|task| task.title.descending()).rows()?;
    assert!(rows.next().is_some());
    forget(rows);
    Ok(())
}

/// Copies a part of the file, and forgets it there. What it was copied into is freed.
fn forget_a_copy(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    let mut copy = rusqlite::Connection::open_in_memory()?;
    let backup = rusqlite::backup::Backup::new(connection, &mut copy)?;
    backup.step(3)?;
    forget(backup);
    Ok(())
}

/// Another store of the same file, which waits for nobody for long.
fn beside(place: &Place) -> Result<Store> {
    Options::new().busy_timeout(Duration::from_millis(500)).open(&place.path)
}

/// The statement went on reading, and the next who got its connection read what had been there when it began.
#[test]
fn nobody_reads_the_past_of_a_forgotten_statement() -> Result<()> {
    let place = Place::new();
    for _ in 0..3 {
        place.store.read(forget_a_walk)?;
        let forget_one = |sql: &_| forget_on_a_row(sql, "select * from task order by title");
        place.store.read(|snapshot| snapshot.sql(forget_one))?;
    }
    let held: Vec<_> = (0..3).map(|_| place.store.snapshot()).collect::<Result<_>>()?;
    held.iter().try_for_each(forget_a_walk)?;
    drop(held);
    place.store.insert(&task(ROWS))?;
    beside(&place)?.insert(&task(ROWS + 1))?;
    let held: Vec<_> = (0..4).map(|_| place.store.snapshot()).collect::<Result<_>>()?;
    for snapshot in &held {
        assert_eq!(snapshot.of::<Task>().count()?, ROWS.unsigned_abs() + 2);
    }
    Ok(())
}

/// The writer stood in the past: after a commit of somebody else it was told "busy" for as long as the store was open.
#[test]
fn a_writer_goes_on_after_a_forgotten_statement() -> Result<()> {
    let place = Place::new();
    let other = beside(&place)?;
    place.store.write(|transaction| {
        let mut rows = transaction.query::<Task>().order(|task| task.title.descending()).rows()?;
        assert!(rows.next().is_some());
        forget(rows);
        Ok(())
    })?;
    other.insert(&task(ROWS))?;
    place.store.insert(&task(ROWS + 1))?;
    place.store.write(|transaction| transaction.sql(|sql| forget_on_a_row(sql, UPDATE)))?;
    assert_eq!(other.get::<Task>(&0)?.and_then(|task| task.due), Some(1), "it was committed as a whole");
    other.insert(&task(ROWS + 2))?;
    let count = place.store.write(|transaction| transaction.of::<Task>().count())?;
    assert_eq!(count, ROWS.unsigned_abs() + 3);
    Ok(())
}

/// The connection could not be closed, and kept the file for as long as the process lived.
#[test]
fn a_store_with_forgotten_statements_lets_go_of_its_file() -> Result<()> {
    let place = Place::new();
    place.store.read(forget_a_walk)?;
    place.store.write(|transaction| transaction.sql(|sql| forget_on_a_row(sql, UPDATE)))?;
    place.store.read(|snapshot| snapshot.sql(forget_a_copy))?;
    let Place { store, path, _directory } = place;
    drop(store);
    Store::change_key(&path, Options::new(), Options::new())
}

/// Nothing is copied out of a transaction that writes; but a statement may end it, and what was committed next was copied, too,
/// into memory that had been freed.
#[test]
fn a_writer_goes_on_after_a_forgotten_copy() -> Result<()> {
    for _ in 0..10 {
        let place = Place::new();
        let ended = place.store.write(|transaction| {
            transaction.sql(|sql| {
                assert!(
                    sql.execute("insert or rollback into task (id, title) values (1, 'twice')", ()).is_err()
                );
                forget_a_copy(sql)
            })
        });
        assert!(ended.is_err());
        place.write("update task set title = title || 'changed'")?;
        place.write("create table other (id integer primary key)")?;
        assert!(place.store.check().records::<Task>().run()?.is_whole());
        let Place { store, path, _directory } = place;
        drop(store);
        Store::change_key(&path, Options::new(), Options::new())?;
    }
    Ok(())
}

/// Counts to five hundred.
const MANY: &str =
    "with recursive n(number) as (select 1 union all select number + 1 from n where number < 500)";

/// A virtual table has statements of its own. They were finalized before it had let go of them, and once more by it, which
/// crashed the process.
#[test]
fn a_store_with_forgotten_statements_of_virtual_tables_lets_go_of_its_file() -> Result<()> {
    let found = ["using fts5(text)", "'word ' || hex(randomblob(number % 30))"];
    let boxes = ["using rtree(id, low, high)", "number, number, number + 1"];
    for ([table, values], read) in [
        (found, "select text from virtual where virtual match 'word' order by rank"),
        (found, "select text from virtual"),
        (found, "insert into virtual select text from virtual returning text"),
        (boxes, "select id from virtual where low > 3"),
    ] {
        let place = Place::new();
        place.write(&format!(
            "create virtual table virtual {table}; {MANY} insert into virtual select {values} from n;
             create temp trigger beside after insert on task begin insert into virtual select * from virtual limit 0; end"
        ))?;
        for _ in 0..3 {
            place.store.write(|transaction| transaction.sql(|sql| forget_on_a_row(sql, read)))?;
            let insert = "insert into task (title) values ('told') returning id";
            place.store.write(|transaction| transaction.sql(|sql| forget_on_a_row(sql, insert)))?;
            if read.starts_with("select") {
                place.store.read(|snapshot| snapshot.sql(|sql| forget_on_a_row(sql, read)))?;
            }
        }
        let Place { store, path, _directory } = place;
        drop(store);
        Store::change_key(&path, Options::new(), Options::new())?;
    }
    Ok(())
}
