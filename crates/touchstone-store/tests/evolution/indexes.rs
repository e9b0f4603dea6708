//! Indexes that are added, made unique, and named: an index is there, or the write that wants it fails.

use super::{everywhere, kind, place};
use touchstone_store::{ErrorKind, Record, Store};

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "person")]
struct Bare {
    #[record(key)]
    id: i64,
    mail: Option<String>,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "person")]
struct Indexed {
    #[record(key)]
    id: i64,
    #[record(index)]
    mail: Option<String>,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "person")]
struct Unique {
    #[record(key)]
    id: i64,
    #[record(unique)]
    mail: Option<String>,
}

fn bare(id: i64, mail: &str) -> Bare {
    Bare { id, mail: Some(mail.into()) }
}

fn unique(id: i64, mail: &str) -> Unique {
    Unique { id, mail: Some(mail.into()) }
}

fn plan(store: &Store) -> String {
    let explained =
        store.read(|snapshot| snapshot.query::<Indexed>().filter(|person| person.mail.eq("b")).explain());
    explained.expect("the query is explained").plan.join("\n")
}

#[test]
fn an_index_that_is_added_later_is_used_from_the_first_write_on() {
    let place = place();
    place.write(&[bare(1, "a"), bare(2, "b")]);
    let store = place.open();
    let find =
        || store.read(|snapshot| snapshot.query::<Indexed>().filter(|person| person.mail.eq("b")).all());
    assert_eq!(find().expect("it is found without the index")[0].id, 2);
    assert!(plan(&store).contains("SCAN"), "{}", plan(&store));
    store.put(&Indexed { id: 3, mail: None }).expect("the index is made");
    assert_eq!(find().expect("it is found with the index")[0].id, 2);
    assert!(plan(&store).contains("person.mail"), "{}", plan(&store));
}

#[test]
fn a_unique_index_over_duplicates_is_refused_and_nothing_is_lost() {
    let place = place();
    place.write(&[bare(1, "same"), bare(2, "same")]);
    let store = place.open();
    assert_eq!(kind(store.insert(&unique(3, "other"))), ErrorKind::Conflict);
    assert_eq!(kind(store.insert(&unique(3, "other"))), ErrorKind::Conflict, "a second time too");
    assert_eq!(everywhere::<Unique>(&store).expect("rows are read"), [unique(1, "same"), unique(2, "same")]);
    store.insert(&bare(3, "third")).expect("the older type writes on");
    store.remove::<Bare>(&2).expect("the duplicate goes");
    store.insert(&unique(4, "other")).expect("then the index can be made");
    assert_eq!(kind(store.insert(&unique(5, "same"))), ErrorKind::Conflict);
    assert_eq!(kind(store.insert(&bare(5, "same"))), ErrorKind::Conflict, "of the older type too");
    assert_eq!(store.all::<Bare>().expect("rows are read").len(), 3);
}

/// A type that no longer says unique cannot be told from one that never did, whose program may share the file with one
/// that relies on it: only SQL takes the promise back.
#[test]
fn a_unique_index_that_a_type_has_lost_goes_on_refusing_until_sql_drops_it() {
    let place = place();
    place.write(&[unique(1, "same")]);
    let store = place.open();
    assert_eq!(kind(store.insert(&bare(2, "same"))), ErrorKind::Conflict);
    store
        .write(|transaction| {
            transaction.sql(|sql| sql.execute_batch("drop index \"person.mail.unique\""))?;
            transaction.insert(&bare(2, "same"))
        })
        .expect("nothing refuses it any more");
    store.insert(&bare(3, "same")).expect("nor after it");
    assert_eq!(
        kind(store.insert(&unique(4, "other"))),
        ErrorKind::Conflict,
        "the index cannot be made again"
    );
    assert_eq!(store.all::<Bare>().expect("rows are read").len(), 3);
}

/// Of a type that also adds a column, the second try in a transaction said that the column is there already.
#[test]
fn a_unique_index_that_is_refused_is_refused_as_often_as_it_is_tried() {
    #[derive(Record, Clone, Debug, PartialEq)]
    #[record(name = "person")]
    struct Longer {
        #[record(key)]
        id: i64,
        age: Option<u8>,
        #[record(unique)]
        mail: Option<String>,
    }
    let place = place();
    place.write(&[bare(1, "same"), bare(2, "same")]);
    let store = place.open();
    let longer = |id| Longer { id, age: Some(7), mail: None };
    store
        .write(|transaction| {
            for _ in 0..2 {
                assert_eq!(kind(transaction.insert(&longer(3))), ErrorKind::Conflict);
                let all = transaction.of::<Longer>().all()?;
                assert_eq!(all.iter().map(|person| person.age).collect::<Vec<_>>(), [None, None]);
            }
            let part = transaction.savepoint(|transaction| transaction.insert(&longer(3)));
            assert_eq!(kind(part), ErrorKind::Conflict);
            transaction.remove::<Bare>(&2)?;
            transaction.insert(&longer(3))
        })
        .expect("then it can be made");
    assert_eq!(everywhere::<Longer>(&store).expect("rows are read")[1], longer(3));
}

/// An index was named by its column alone, so a column that had one already never got the one that is unique, and
/// duplicates went in.
#[test]
fn an_index_that_becomes_unique_is_unique() {
    let place = place();
    place.write(&[Indexed { id: 1, mail: Some("a".into()) }]);
    let store = place.open();
    assert_eq!(kind(store.insert(&unique(2, "a"))), ErrorKind::Conflict);
    store.insert(&unique(2, "b")).expect("another value goes in");
    assert_eq!(kind(store.put(&unique(2, "a"))), ErrorKind::Conflict);
}

/// Whoever put a record was told to put it.
#[test]
fn a_conflict_says_what_is_the_same_and_what_helps() {
    let place = place();
    let store = place.open();
    store.insert(&unique(1, "a")).expect("it goes in");
    let same_key = store.insert(&unique(1, "b")).expect_err("the key is there").to_string();
    assert!(same_key.contains("person 1: ") && same_key.contains("person.id"), "{same_key}");
    assert!(same_key.contains("put it instead"), "{same_key}");
    for failed in [store.insert(&unique(2, "a")), store.put(&unique(2, "a"))] {
        let same_value = failed.expect_err("the value is there").to_string();
        assert!(same_value.contains("person 2: ") && same_value.contains("person.mail"), "{same_value}");
        assert!(same_value.contains("another record has this value"), "{same_value}");
    }
}

/// The index on `b_c` of `a` and that on `c` of `a_b` had one name, so the second was never made.
#[test]
fn indexes_of_two_tables_are_two() {
    #[derive(Record)]
    #[record(name = "a")]
    struct Short {
        #[record(key)]
        id: i64,
        #[record(unique)]
        b_c: i64,
    }
    #[derive(Record)]
    #[record(name = "a_b")]
    struct Long {
        #[record(key)]
        id: i64,
        #[record(unique)]
        c: i64,
    }
    let place = place();
    let store = place.open();
    store.insert(&Short { id: 1, b_c: 1 }).expect("it goes in");
    store.insert(&Long { id: 1, c: 1 }).expect("it goes in");
    assert_eq!(kind(store.insert(&Short { id: 2, b_c: 1 })), ErrorKind::Conflict);
    assert_eq!(kind(store.insert(&Long { id: 2, c: 1 })), ErrorKind::Conflict);
}

/// An index had the name that a table may have: whichever came second could not be made.
#[test]
fn an_index_and_a_table_may_be_called_alike() {
    #[derive(Record)]
    #[record(name = "task")]
    struct Task {
        #[record(key)]
        id: i64,
        #[record(index)]
        note: i64,
    }
    #[derive(Record)]
    #[record(name = "task_note")]
    struct TaskNote {
        #[record(key)]
        id: i64,
    }
    for task_first in [true, false] {
        let place = place();
        let store = place.open();
        if task_first {
            store.insert(&Task { id: 1, note: 1 }).expect("it goes in");
        }
        store.insert(&TaskNote { id: 1 }).expect("it goes in");
        store.put(&Task { id: 1, note: 2 }).expect("it goes in");
    }
}

#[test]
fn unique_is_within_a_collection() {
    let place = place();
    let store = place.open();
    for name in ["one", "two"] {
        store
            .write(|transaction| transaction.collection::<Unique>(name)?.insert(&unique(1, "a")))
            .expect("another collection has its own values");
        let again =
            store.write(|transaction| transaction.collection::<Unique>(name)?.insert(&unique(2, "a")));
        assert_eq!(kind(again), ErrorKind::Conflict);
    }
}
