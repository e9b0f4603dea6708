//! A schema that somebody else changes while a store is open: another store, or any program with SQLite.

use super::{Place, everywhere, kind, place};
use touchstone_store::{ErrorKind, Record};

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "task")]
struct Task {
    #[record(key)]
    id: i64,
    name: String,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "task")]
struct Longer {
    #[record(key)]
    id: i64,
    name: String,
    #[record(index)]
    due: Option<i64>,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Other {
    #[record(key)]
    name: String,
}

fn task(id: i64) -> Task {
    Task { id, name: format!("name {id}") }
}

fn longer(id: i64, due: Option<i64>) -> Longer {
    Longer { id, name: format!("name {id}"), due }
}

fn written() -> Place {
    let place = place();
    place.write(&(1..=100).map(task).collect::<Vec<_>>());
    place
}

#[test]
fn a_column_that_another_connection_adds_is_seen() {
    let place = written();
    let store = place.open();
    assert_eq!(everywhere::<Longer>(&store).expect("rows are read").len(), 100);
    place
        .plain()
        .execute_batch("alter table task add column due INTEGER; update task set due = 5 where id = 7")
        .expect("the table is altered");
    assert_eq!(store.get::<Longer>(&7).expect("it is read"), Some(longer(7, Some(5))));
    assert_eq!(everywhere::<Longer>(&store).expect("rows are read")[6], longer(7, Some(5)));
    store.put(&longer(8, Some(6))).expect("the store writes on");
    assert_eq!(everywhere::<Longer>(&store).expect("rows are read")[7], longer(8, Some(6)));
    store.put(&task(7)).expect("the older type writes on");
    assert_eq!(store.get::<Longer>(&7).expect("it is read"), Some(longer(7, Some(5))));
}

#[test]
fn a_column_whose_dropping_failed_is_there() {
    let place = place();
    place.write(&[longer(1, Some(5))]);
    let store = place.open();
    let dropped = store.write(|transaction| {
        Ok::<_, touchstone_store::Error>(
            transaction.sql(|sql| sql.execute_batch("alter table task drop column due")).err(),
        )
    });
    let refusal = dropped.expect("the transaction is committed").expect("its index is in the way");
    assert!(refusal.to_string().contains("after drop column"), "{refusal}");
    // The schema has now the version that SQLite had counted up to when it failed.
    place.plain().execute_batch("create index own on task (name)").expect("the schema changes");
    assert_eq!(everywhere::<Longer>(&store).expect("rows are read"), [longer(1, Some(5))]);
    store.put(&longer(2, Some(6))).expect("it is written");
    assert_eq!(
        everywhere::<Longer>(&store).expect("rows are read"),
        [longer(1, Some(5)), longer(2, Some(6))]
    );
}

#[test]
fn a_column_that_another_connection_adds_before_those_that_a_store_would_add() {
    let place = written();
    let store = place.open();
    store.put(&task(1)).expect("the store writes");
    place.plain().execute_batch("alter table task add column strange TEXT").expect("the table is altered");
    assert_eq!(everywhere::<Longer>(&store).expect("rows are read").len(), 100);
    store.put(&longer(1, Some(1))).expect("the table gets the column");
    place.plain().execute_batch("update task set strange = 'x'").expect("the rows are changed");
    assert_eq!(
        everywhere::<Longer>(&store).expect("rows are read")[..2],
        [longer(1, Some(1)), longer(2, None)]
    );
}

#[test]
fn two_stores_see_each_others_tables_and_columns() {
    let place = place();
    let (one, two) = (place.open(), place.open());
    assert_eq!(everywhere::<Task>(&two).expect("there is no table"), []);
    one.insert(&task(1)).expect("it goes in");
    assert_eq!(everywhere::<Task>(&two).expect("rows are read"), [task(1)]);
    two.insert(&task(2)).expect("it goes in");
    one.insert(&longer(3, Some(3))).expect("the table gets a column and an index");
    two.insert(&task(4)).expect("it goes in");
    two.put(&longer(1, Some(1))).expect("it goes in");
    assert_eq!(
        everywhere::<Longer>(&one).expect("rows are read"),
        [longer(1, Some(1)), longer(2, None), longer(3, Some(3)), longer(4, None)]
    );
    assert_eq!(everywhere::<Task>(&one).expect("rows are read"), everywhere::<Task>(&two).expect("so too"));
}

#[test]
fn a_file_that_is_packed_by_another_connection_is_read_on() {
    let place = place();
    let store = place.open();
    let others: Vec<Other> =
        (0..500).map(|at| Other { name: format!("{at:04}{}", "x".repeat(50)) }).collect();
    store.insert_all(&others).expect("they go in");
    store.insert_all(&(1..=500).map(task).collect::<Vec<_>>()).expect("they go in");
    store.write(|transaction| transaction.of::<Other>().clear()).expect("pages are freed");
    assert_eq!(everywhere::<Task>(&store).expect("rows are read").len(), 500);
    let held = store.snapshot().expect("a snapshot is taken");
    assert_eq!(held.of::<Task>().count().expect("rows are counted"), 500);
    // The table's root is elsewhere from now on.
    place.plain().execute_batch("vacuum").expect("the file is packed");
    assert_eq!(held.of::<Task>().all().expect("rows are read").len(), 500);
    drop(held);
    assert_eq!(everywhere::<Task>(&store).expect("rows are read").len(), 500);
    store.insert(&task(501)).expect("the store writes on");
    store.insert(&others[0]).expect("the store writes on");
    assert_eq!(everywhere::<Task>(&store).expect("rows are read").len(), 501);
    assert_eq!(everywhere::<Other>(&store).expect("rows are read").len(), 1);
}

/// A statement that was a transaction of its own went on failing after its table was dropped.
#[test]
fn a_table_that_another_connection_drops_is_made_again() {
    let place = written();
    let store = place.open();
    store.put(&task(1)).expect("the store writes");
    store.put(&task(1)).expect("by a statement alone");
    place.plain().execute_batch("drop table task").expect("the table is dropped");
    assert_eq!(everywhere::<Task>(&store).expect("there is no table"), []);
    assert!(!store.remove::<Task>(&1).expect("there is no table"));
    store.put(&task(2)).expect("the table is made");
    assert_eq!(everywhere::<Task>(&store).expect("rows are read"), [task(2)]);
}

#[test]
fn a_table_that_another_connection_replaces_by_one_of_another_key_is_refused() {
    let place = written();
    let store = place.open();
    store.put(&task(1)).expect("the store writes");
    store.put(&task(1)).expect("by a statement alone");
    place
        .plain()
        .execute_batch("drop table task; create table task (id TEXT NOT NULL PRIMARY KEY, name TEXT) strict")
        .expect("the table is replaced");
    assert_eq!(kind(store.all::<Task>()), ErrorKind::Mismatch);
    assert!(store.put(&task(1)).is_err());
    store.insert(&Other { name: "n".into() }).expect("the store goes on");
    assert_eq!(kind(store.put(&task(1))), ErrorKind::Mismatch);
}

/// Rows were read with the numbers that SQLite had given them in the place of their keys.
#[test]
fn a_table_whose_key_is_not_its_rows_number_is_refused() {
    for sql in [
        "create table task (id INTEGER PRIMARY KEY, name TEXT) without rowid",
        "create table task (id INTEGER PRIMARY KEY DESC, name TEXT) strict",
    ] {
        let place = place();
        place.open().insert(&Other { name: "n".into() }).expect("it goes in");
        place.plain().execute_batch(sql).expect("the table is made");
        place.plain().execute_batch("insert into task values (77, 'name')").expect("a row is made");
        let store = place.open();
        assert_eq!(kind(store.all::<Task>()), ErrorKind::Mismatch);
        assert_eq!(kind(store.get::<Task>(&77)), ErrorKind::Mismatch);
        assert_eq!(kind(store.put(&task(1))), ErrorKind::Mismatch);
    }
}

/// A batch leaves out the number of a row that goes on from the greatest. With `autoincrement` SQLite goes on from the
/// greatest that ever was, so rows got other keys than their records had.
#[test]
fn a_table_that_never_uses_a_number_twice_keeps_the_keys_of_its_records() {
    let place = place();
    place.open().insert(&Other { name: "n".into() }).expect("it goes in");
    place
        .plain()
        .execute_batch("create table task (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT) strict")
        .expect("the table is made");
    let store = place.open();
    store.insert_all(&[task(1), task(50)]).expect("they go in");
    store.remove::<Task>(&50).expect("it goes");
    store.insert_all(&[task(2), task(3)]).expect("they go in");
    assert_eq!(everywhere::<Task>(&store).expect("rows are read"), [task(1), task(2), task(3)]);
}

/// What a table's author says of a column is known to SQLite and not to the pages: how it is compared, and what it is
/// made of.
#[test]
fn a_table_with_columns_of_another_kind_is_asked_of_sqlite() {
    #[derive(Record, Clone, Debug, PartialEq)]
    #[record(name = "task")]
    struct Computed {
        #[record(key)]
        id: i64,
        twice: i64,
        name: String,
    }
    let place = place();
    place.open().insert(&Other { name: "n".into() }).expect("it goes in");
    let sql = "create table task (id INTEGER PRIMARY KEY, half INTEGER, virtual_one INTEGER AS (half + 1),
        twice INTEGER AS (2 * half) STORED, name TEXT COLLATE NOCASE) strict;
        insert into task (id, half, name) values (1, 4, 'Ada'), (2, 5, 'Bob')";
    place.plain().execute_batch(sql).expect("the table is made");
    let store = place.open();
    let expected =
        [Computed { id: 1, twice: 8, name: "Ada".into() }, Computed { id: 2, twice: 10, name: "Bob".into() }];
    assert_eq!(everywhere::<Computed>(&store).expect("rows are read"), expected);
    store
        .read(|snapshot| {
            let found = snapshot.query::<Computed>().filter(|task| task.name.eq("ada"));
            let by_key = snapshot.query::<Computed>().filter(|task| task.id.eq(1).and(task.name.eq("ada")));
            assert_eq!((found.count()?, by_key.count()?), (1, 1), "by every plan alike");
            assert_eq!(snapshot.query::<Computed>().filter(|task| task.twice.gt(8)).count()?, 1);
            Ok(())
        })
        .expect("rows are asked");
}

/// A row that was written before the column has its default, which SQLite knows and the row does not.
#[test]
fn a_default_that_another_connection_gives_a_column_is_the_same_by_pages_and_by_statement() {
    let place = written();
    place
        .plain()
        .execute_batch("alter table task add column due INTEGER default 9")
        .expect("the table is altered");
    let store = place.open();
    assert_eq!(everywhere::<Longer>(&store).expect("rows are read")[0], longer(1, Some(9)));
    let found = store.read(|snapshot| {
        snapshot.query::<Longer>().filter(|task| task.name.ne("").and(task.due.eq(9))).count()
    });
    assert_eq!(found.expect("rows are counted"), 100);
}
