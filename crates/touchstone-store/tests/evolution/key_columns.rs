//! Indexes on columns of a key after its first: what the key's own index does not lead to.

use super::{kind, place};
use touchstone_store::dynamic::{Field, Type};
use touchstone_store::{ErrorKind, Kind, Record, Store};

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "tagging")]
struct Plain {
    #[record(key)]
    task: i64,
    #[record(key)]
    tag: String,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "tagging")]
struct Tagging {
    #[record(key)]
    task: i64,
    #[record(key, index)]
    tag: String,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(numbered)]
struct Seat {
    #[record(key)]
    room: i64,
    #[record(unique, key)]
    person: i64,
    #[record(index)]
    #[record(key)]
    row: i64,
    note: String,
}

fn tagging(task: i64, tag: &str) -> Tagging {
    Tagging { task, tag: tag.into() }
}

fn plan(store: &Store) -> String {
    let by_tag = |snapshot: &touchstone_store::Snapshot| {
        snapshot.query::<Tagging>().filter(|tagging| tagging.tag.eq("b")).explain()
    };
    store.read(by_tag).expect("the query is explained").plan.join("\n")
}

/// The derive said "a key needs no index, it has its own", which the second column has not.
#[test]
fn a_second_column_of_a_key_has_an_index_that_queries_use() {
    let place = place();
    place.write(&[Plain { task: 1, tag: "a".into() }, Plain { task: 2, tag: "b".into() }]);
    let store = place.open();
    let with_b = || {
        let found = store.read(|snapshot| {
            snapshot
                .query::<Tagging>()
                .filter(|tagging| tagging.tag.eq("b"))
                .order(|tagging| tagging.task.descending())
                .all()
        });
        found.expect("it is found").iter().map(|tagging| tagging.task).collect::<Vec<_>>()
    };
    assert_eq!(with_b(), [2]);
    assert!(plan(&store).contains("SCAN"), "{}", plan(&store));
    store.insert(&tagging(3, "b")).expect("the index is made");
    assert_eq!(with_b(), [3, 2]);
    assert!(plan(&store).contains("SEARCH") && plan(&store).contains("tagging.tag"), "{}", plan(&store));
    store.put(&tagging(3, "b")).expect("it is all key");
    assert!(store.replace(&tagging(3, "b")).expect("it is there"));
    assert!(store.remove::<Tagging>(&(2, "b".to_owned())).expect("it is there"));
    assert_eq!(with_b(), [3]);
    assert!(store.check().records::<Tagging>().run().expect("it is readable").is_whole());
}

#[test]
fn a_column_of_a_key_may_be_unique() {
    let place = place();
    let store = place.open();
    let seat = |room, person, row| Seat { room, person, row, note: "window".into() };
    store.insert(&seat(1, 7, 1)).expect("it is the first");
    assert_eq!(kind(store.insert(&seat(2, 7, 1))), ErrorKind::Conflict);
    assert_eq!(kind(store.put(&seat(2, 7, 1))), ErrorKind::Conflict);
    store.put(&Seat { note: "aisle".into(), ..seat(1, 7, 1) }).expect("it is the same seat");
    store.insert_all(&[seat(2, 8, 1), seat(1, 9, 2)]).expect("others sit there");
    let in_row =
        |row| store.read(|snapshot| snapshot.query::<Seat>().filter(|seat| seat.row.eq(row)).count());
    assert_eq!((in_row(1).expect("it is counted"), in_row(2).expect("it is counted")), (2, 1));
}

#[test]
fn collections_have_it_too() {
    let place = place();
    let store = place.open();
    let put = |name: &str, tagging: Tagging| {
        store
            .write(|transaction| transaction.collection::<Tagging>(name)?.insert(&tagging))
            .expect("it is written");
    };
    put("one", tagging(1, "b"));
    put("other", tagging(1, "b"));
    put("one", tagging(2, "b"));
    let snapshot = store.snapshot().expect("it is readable");
    let one = snapshot.collection::<Tagging>("one").expect("it is readable");
    let query = || one.query().filter(|tagging| tagging.tag.eq("b"));
    assert_eq!(query().count().expect("it is counted"), 2);
    let plan = query().explain().expect("it is explained").plan.join("\n");
    assert!(plan.contains("tagging_in_collections.tag"), "{plan}");
}

#[test]
fn types_of_run_time_say_it_as_the_derive_does() {
    let key = |name: &str| Field::key(name, Kind::Integer);
    let made = Type::new("tagging", [key("task"), key("tag").index(), key("row").unique()]);
    let indexes: Vec<_> =
        made.expect("it is a type").shape().columns.iter().map(|column| column.index).collect();
    assert_eq!(format!("{indexes:?}"), "[None, Plain, Unique]");
    for (fields, why) in [
        (vec![key("task").index()], "has its own"),
        (vec![Field::new("note", Kind::Text), key("task").unique()], "has its own"),
        (vec![key("task").index(), key("tag")], "begins with it"),
        (vec![key("task").unique(), key("tag")], "the key alone"),
    ] {
        let error = Type::new("tagging", fields).expect_err(why);
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(why), "{error}");
    }
}
