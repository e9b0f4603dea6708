//! Values that do not fit, and calls that do not belong.

use super::{Note, Word, goes_on, kind, note, place};
use libsqlite3_sys as ffi;
use std::time::Duration;
use touchstone_store::{Condition, Durability, ErrorKind, Options, Record, Result, Store};

#[test]
fn what_is_beyond_sqlites_limit_is_too_big() {
    let place = place();
    let store = place.open();
    store.insert(&note(1)).expect("it goes in");
    let large = Note { text: "x".repeat(200_000), ..note(2) };
    let word = Word { word: "w".into(), length: 1, body: vec![0; 60_000] };
    store
        .write(|transaction| {
            transaction.insert(&word)?;
            // SAFETY: the connection is open, and this thread's.
            let before = transaction.sql(|sql| unsafe {
                Ok(ffi::sqlite3_limit(sql.handle(), ffi::SQLITE_LIMIT_LENGTH, 100_000))
            })?;
            assert_eq!(kind(transaction.insert(&large)), ErrorKind::TooBig);
            assert_eq!(kind(transaction.put_all(&[note(3), large.clone()])), ErrorKind::TooBig);
            let long = Word { word: "k".repeat(60_000), ..word.clone() };
            assert_eq!(kind(transaction.insert(&long)), ErrorKind::TooBig, "all of a row together");
            // SAFETY: as above.
            transaction.sql(|sql| unsafe {
                Ok(ffi::sqlite3_limit(sql.handle(), ffi::SQLITE_LIMIT_LENGTH, before))
            })?;
            transaction.insert(&large)
        })
        .expect("the rest is committed");
    assert_eq!(store.all::<Note>().expect("they are read"), [note(1), large]);
    goes_on(&store);
}

#[test]
fn values_that_no_column_can_hold_are_invalid() {
    #[derive(Record, Clone, Debug, PartialEq)]
    struct Wide {
        #[record(key)]
        id: u64,
        real: f32,
    }
    let place = place();
    let store = place.open();
    let wide = |id, real| Wide { id, real };
    for bad in [wide(u64::MAX, 1.0), wide(1 << 63, 1.0), wide(1, f32::NAN)] {
        assert_eq!(kind(store.insert(&bad)), ErrorKind::Invalid);
        assert_eq!(kind(store.put(&bad)), ErrorKind::Invalid);
        assert_eq!(kind(store.insert_all([&wide(7, 1.0), &bad])), ErrorKind::Invalid);
        assert_eq!(kind(store.put_all([&wide(7, 1.0), &bad])), ErrorKind::Invalid);
        assert_eq!(store.all::<Wide>().expect("nothing went in"), []);
    }
    store.insert(&wide(i64::MAX as u64, f32::INFINITY)).expect("it goes in");
    // What cannot be stored is not there, and a query says so too.
    assert_eq!(store.get::<Wide>(&u64::MAX).expect("it is looked up"), None);
    assert!(!store.remove::<Wide>(&u64::MAX).expect("it is looked up"));
    let asked = |condition: fn(WideColumns) -> Condition<Wide>| {
        store.read(|snapshot| snapshot.query::<Wide>().filter(condition).count()).expect("it is asked")
    };
    assert_eq!(asked(|wide| wide.id.eq(u64::MAX)), 0);
    assert_eq!(asked(|wide| wide.id.lt(u64::MAX)), 1);
    assert_eq!(asked(|wide| wide.id.between(1, u64::MAX)), 1);
    assert_eq!(asked(|wide| wide.id.is_in([u64::MAX, i64::MAX as u64])), 1);
    assert_eq!(store.all::<Wide>().expect("it is read"), [wide(i64::MAX as u64, f32::INFINITY)]);
    goes_on(&store);
}

/// A record that was put was to be put instead.
#[test]
fn the_remedy_for_a_conflict_is_one() {
    #[derive(Record, Clone)]
    struct Person {
        #[record(key)]
        id: i64,
        #[record(unique)]
        mail: String,
    }
    let place = place();
    let store = place.open();
    let person = |id| Person { id, mail: "ada@example.org".into() };
    store.insert(&person(1)).expect("it goes in");
    let key = store.insert(&person(1)).expect_err("the key is there");
    assert!(key.to_string().contains("person.id") && key.to_string().contains("put it"), "{key}");
    for index in [store.insert(&person(2)), store.put(&person(2)), store.put_all([&person(2)]).map(|_| ())] {
        let index = index.expect_err("the value is there");
        assert_eq!(index.kind(), ErrorKind::Conflict);
        assert!(
            index.to_string().contains("person.mail") && !index.to_string().contains("put it"),
            "{index}"
        );
    }
}

#[test]
fn nothing_is_written_to_a_store_that_is_read_only() {
    let place = place();
    place.open().insert(&note(1)).expect("it goes in");
    let store = Options::new().read_only(true).open(&place.path).expect("the store opens");
    assert_eq!(kind(store.insert(&note(2))), ErrorKind::ReadOnly);
    assert_eq!(kind(store.write(|_| Ok(()))), ErrorKind::ReadOnly);
    assert_eq!(kind(store.remove::<Note>(&1)), ErrorKind::ReadOnly);
    let written = store.read(|snapshot| snapshot.sql(|sql| sql.execute("delete from note", ())));
    assert_eq!(kind(written), ErrorKind::ReadOnly);
    for _ in 0..30 {
        assert_eq!(store.all::<Note>().expect("it is read"), [note(1)]);
    }
}

/// Has SQLite roll the transaction back, which SQL of its own may not.
fn end(transaction: &mut touchstone_store::Transaction<'_>) -> Result<()> {
    transaction.sql(|sql| {
        let ended = sql.execute("insert or rollback into note (id, text) values (1, 'again')", ());
        ended.map(|_| panic!("it is there")).or(Ok(()))
    })
}

/// Whatever raw SQL does to the transaction, what comes after is no transaction of its own.
#[test]
fn sql_that_ends_the_transaction_is_an_error() {
    let place = place();
    let store = place.open();
    store.insert(&note(1)).expect("it goes in");
    for _ in 0..2 {
        let result = store.write(|transaction| {
            end(transaction)?;
            assert_eq!(kind(transaction.insert(&note(2))), ErrorKind::Refused);
            assert_eq!(kind(transaction.insert_all(&[note(2)])), ErrorKind::Refused);
            assert_eq!(kind(transaction.get::<Note>(&1)), ErrorKind::Refused);
            assert_eq!(kind(transaction.of::<Note>().clear()), ErrorKind::Refused);
            assert_eq!(kind(transaction.collection::<Note>("c").map(|_| ())), ErrorKind::Refused);
            let part: Result<()> = transaction.savepoint(|_| Ok(()));
            assert_eq!(kind(part), ErrorKind::Refused);
            Ok(())
        });
        assert_eq!(kind(result), ErrorKind::Refused);
        let result = store.write(|transaction| transaction.savepoint(end));
        assert_eq!(kind(result), ErrorKind::Refused);
        assert_eq!(store.all::<Note>().expect("nothing else went in"), [note(1)]);
        goes_on(&store);
    }
}

#[test]
fn sql_that_would_end_a_snapshot_lets_the_look_at_its_rows_go_on() {
    let place = place();
    let store = place.open();
    let notes: Vec<Note> = (0..2_000).map(note).collect();
    store.insert_all(&notes).expect("they go in");
    let snapshot = store.snapshot().expect("it reads");
    let mut seen = 0;
    let result = snapshot.of::<Note>().each_view(|_| {
        seen += 1;
        if seen == 1 {
            assert_eq!(kind(snapshot.sql(|sql| sql.execute_batch("commit"))), ErrorKind::Refused);
        }
        Ok(true)
    });
    result.expect("the snapshot is still there");
    assert_eq!(seen, 2_000);
    drop(snapshot);
    assert_eq!(store.all::<Note>().expect("the store goes on"), notes);
    goes_on(&store);
}

#[test]
fn a_first_table_whose_transaction_sql_ends_is_made_again() {
    let place = place();
    let store = place.open();
    let result = store.write(|transaction| {
        transaction.insert(&note(1))?;
        transaction.collection::<Note>("c")?.insert(&note(1))?;
        end(transaction)
    });
    assert_eq!(kind(result), ErrorKind::Refused);
    assert_eq!(store.all::<Note>().expect("it is read"), []);
    let in_collection = store.read(|snapshot| snapshot.collection::<Note>("c")?.all());
    assert_eq!(in_collection.expect("it is read"), []);
    goes_on(&store);
}

#[test]
fn text_that_is_no_utf_8_is_a_mismatch_of_its_row_alone() {
    let place = place();
    let store = place.open();
    store.insert_all(&[note(1), note(2)]).expect("they go in");
    let damage = "update note set text = cast(x'ff61' as text) where id = 2";
    place.plain().execute(damage, ()).expect("the row is changed");
    assert_eq!(kind(store.get::<Note>(&2)), ErrorKind::Mismatch);
    assert_eq!(kind(store.all::<Note>()), ErrorKind::Mismatch);
    assert_eq!(
        kind(store.read(|snapshot| snapshot.of::<Note>().each_view(|_| Ok(true)))),
        ErrorKind::Mismatch
    );
    let mut rows = Vec::new();
    store
        .read(|snapshot| {
            rows.extend(
                snapshot
                    .query::<Note>()
                    .rows()?
                    .take(10)
                    .map(|row| row.map(|_| ()).map_err(|error| error.kind())),
            );
            Ok(())
        })
        .expect("the snapshot is taken");
    assert_eq!(rows.last(), Some(&Err(ErrorKind::Mismatch)), "an error is the last");
    assert_eq!(store.get::<Note>(&1).expect("the other is read"), Some(note(1)));
    store.put(&note(2)).expect("it is replaced");
    assert_eq!(store.all::<Note>().expect("they are read"), [note(1), note(2)]);
}

#[test]
fn null_where_a_value_must_be_is_a_mismatch_of_its_row_alone() {
    let place = place();
    let store: Store = place.open();
    store.insert_all(&[note(1), note(2)]).expect("they go in");
    place.plain().execute("update note set text = null where id = 2", ()).expect("the row is changed");
    assert_eq!(kind(store.get::<Note>(&2)), ErrorKind::Mismatch);
    assert_eq!(kind(store.all::<Note>()), ErrorKind::Mismatch);
    assert_eq!(store.read(|snapshot| snapshot.of::<Note>().count()).expect("they are counted"), 2);
    assert_eq!(store.get::<Note>(&1).expect("the other is read"), Some(note(1)));
    goes_on_without_reading_all(&store);
}

fn goes_on_without_reading_all(store: &Store) {
    store.put(&note(3)).expect("the store writes on");
    assert_eq!(store.get::<Note>(&3).expect("the store reads on"), Some(note(3)));
}

#[test]
fn a_store_that_cannot_outlive_the_power_promises_nothing_of_it() {
    let place = place();
    let options = Options::new().durability(Durability::Process);
    let store = options.open(&place.path).expect("it opens");
    let error = store
        .write(|transaction| {
            transaction.durable();
            transaction.insert(&note(1))
        })
        .expect_err("it cannot be promised");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(store.all::<Note>().expect("it is read").is_empty());
    store.insert(&note(1)).expect("the store goes on");
}

/// A wait of more than 24 days was a panic.
#[test]
fn options_that_are_beyond_sqlites_are_its_greatest() {
    let place = place();
    let options = Options::new().busy_timeout(Duration::MAX).cache_bytes(u64::MAX);
    let store = options.open(&place.path).expect("the store opens");
    store.insert(&note(1)).expect("it goes in");
    let cache = |sql: &rusqlite::Connection| sql.pragma_query_value(None, "cache_size", |row| row.get(0));
    let kibibytes: i64 = store.read(|snapshot| snapshot.sql(cache)).expect("it is told");
    assert_eq!(kibibytes, -i64::from(i32::MAX));
    goes_on(&store);
}
