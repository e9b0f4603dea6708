//! Fields that are added, dropped, renamed, reordered: the file is never rewritten, and nothing of it is lost.

use super::{everywhere, kind, place};
use touchstone_store::{ErrorKind, Options, Record, Store};

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "task")]
struct First {
    #[record(key)]
    id: i64,
    name: String,
    done: bool,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "task")]
struct Grown {
    #[record(key)]
    id: i64,
    name: String,
    done: bool,
    due: Option<i64>,
    #[record(default = 3)]
    priority: u8,
    #[record(default = "none".to_owned())]
    label: String,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "task")]
struct Turned {
    due: Option<i64>,
    #[record(column = "name")]
    title: String,
    #[record(key)]
    id: i64,
}

fn first(id: i64) -> First {
    First { id, name: format!("name {id}"), done: id % 2 == 0 }
}

fn grown(id: i64) -> Grown {
    let First { id, name, done } = first(id);
    Grown { id, name, done, due: None, priority: 3, label: "none".into() }
}

fn turned(id: i64) -> Turned {
    Turned { due: None, title: format!("name {id}"), id }
}

#[test]
fn added_fields_have_their_defaults_before_and_after_the_table_has_them() {
    let place = place();
    place.write(&[first(1), first(2)]);
    let store = place.open();
    assert_eq!(everywhere::<Grown>(&store).expect("older rows are read"), [grown(1), grown(2)]);
    let newer = Grown { due: Some(9), priority: 1, label: "new".into(), ..grown(3) };
    store.insert(&newer).expect("the table gets the columns");
    assert_eq!(
        everywhere::<Grown>(&store).expect("older and newer rows are read"),
        [grown(1), grown(2), newer.clone()]
    );
    assert_eq!(everywhere::<First>(&store).expect("the older type reads on"), [first(1), first(2), first(3)]);
    store.put(&First { name: "by the older".into(), ..first(3) }).expect("the older type writes on");
    assert_eq!(
        store.get::<Grown>(&3).expect("the row is read"),
        Some(Grown { name: "by the older".into(), ..newer }),
        "what the older type does not know stays"
    );
    store.put(&first(4)).expect("the older type inserts");
    assert_eq!(store.get::<Grown>(&4).expect("the row is read"), Some(grown(4)), "NULL is the default");
}

/// A type that has lost its last field and got another read the lost field's values as the new one's: the row was
/// taken for one that ends where the type's known columns end.
#[test]
fn a_field_in_the_place_of_a_dropped_one_does_not_take_its_values() {
    #[derive(Record, Clone, Debug, PartialEq)]
    #[record(name = "task")]
    struct Swapped {
        #[record(key)]
        id: i64,
        name: String,
        seen: Option<bool>,
    }
    let place = place();
    place.write(&[first(1), first(2)]);
    let store = place.open();
    let expected = |id| Swapped { id, name: format!("name {id}"), seen: None };
    assert_eq!(everywhere::<Swapped>(&store).expect("rows are read"), [expected(1), expected(2)]);
    store.put(&Swapped { seen: Some(true), ..expected(1) }).expect("the table gets the column");
    assert_eq!(
        everywhere::<Swapped>(&store).expect("rows are read"),
        [Swapped { seen: Some(true), ..expected(1) }, expected(2)]
    );
    assert_eq!(everywhere::<First>(&store).expect("rows are read"), [first(1), first(2)]);
}

#[test]
fn dropped_renamed_and_reordered_fields_leave_the_file_as_it_is() {
    let place = place();
    place.write(&[first(1), first(2), first(3)]);
    let store = place.open();
    assert_eq!(everywhere::<Turned>(&store).expect("rows are read"), [turned(1), turned(2), turned(3)]);
    store.put(&Turned { title: "other".into(), ..turned(2) }).expect("the row is replaced");
    store
        .write(|transaction| transaction.put_all(&[Turned { due: Some(5), ..turned(1) }, turned(9)]))
        .expect("rows are replaced in a batch");
    assert!(store.get::<First>(&1).expect("it is read").is_some_and(|task| !task.done));
    assert_eq!(store.get::<First>(&2).expect("it is read"), Some(First { name: "other".into(), ..first(2) }));
    // The older type has no default for what the newer never wrote.
    assert_eq!(kind(store.get::<First>(&9)), ErrorKind::Mismatch);
    assert_eq!(kind(store.all::<First>()), ErrorKind::Mismatch);
    assert_eq!(store.all::<Turned>().expect("the store goes on").len(), 4);
}

#[test]
fn columns_are_found_by_name_in_tables_in_key_order_too() {
    #[derive(Record, Clone, Debug, PartialEq)]
    #[record(name = "entry")]
    struct Before {
        value: Option<i64>,
        #[record(key)]
        page: i64,
        text: String,
        #[record(key)]
        book: String,
    }
    #[derive(Record, Clone, Debug, PartialEq)]
    #[record(name = "entry")]
    struct After {
        #[record(default)]
        stars: u8,
        text: String,
        #[record(key)]
        page: i64,
        #[record(key)]
        book: String,
    }
    let place = place();
    let before = |page| Before { value: Some(7), page, text: "t".into(), book: "b".into() };
    let after = |page| After { stars: 0, text: "t".into(), page, book: "b".into() };
    place.write(&[before(1), before(2)]);
    let store = place.open();
    assert_eq!(everywhere::<After>(&store).expect("rows are read"), [after(1), after(2)]);
    store.put(&After { stars: 4, ..after(1) }).expect("the table gets the column");
    assert_eq!(everywhere::<Before>(&store).expect("rows are read"), [before(1), before(2)]);
    assert_eq!(
        everywhere::<After>(&store).expect("rows are read"),
        [After { stars: 4, ..after(1) }, after(2)]
    );
}

#[test]
fn named_collections_evolve_with_their_type() {
    let place = place();
    let store = place.open();
    store
        .write(|transaction| transaction.collection::<First>("inbox")?.insert_all(&[first(1), first(2)]))
        .expect("the collection is written");
    let read = |store: &Store| store.read(|snapshot| snapshot.collection::<Grown>("inbox")?.all());
    assert_eq!(read(&store).expect("older rows are read"), [grown(1), grown(2)]);
    let newer = Grown { due: Some(1), ..grown(2) };
    store
        .write(|transaction| transaction.collection::<Grown>("inbox")?.put(&newer))
        .expect("the shared table gets the columns");
    assert_eq!(read(&store).expect("rows are read"), [grown(1), newer]);
    let older = store.read(|snapshot| snapshot.collection::<First>("inbox")?.all());
    assert_eq!(older.expect("the older type reads on"), [first(1), first(2)]);
}

#[test]
fn a_file_of_an_older_type_is_read_without_a_byte_changed() {
    let place = place();
    place.write(&[first(1), first(2)]);
    let before = std::fs::read(&place.path).expect("the file is there");
    let store = Options::new().read_only(true).open(&place.path).expect("the file opens");
    assert_eq!(everywhere::<Grown>(&store).expect("older rows are read"), [grown(1), grown(2)]);
    assert_eq!(everywhere::<Turned>(&store).expect("older rows are read"), [turned(1), turned(2)]);
    assert_eq!(kind(store.put(&grown(1))), ErrorKind::ReadOnly);
    assert_eq!(everywhere::<Grown>(&store).expect("the store goes on"), [grown(1), grown(2)]);
    drop(store);
    assert_eq!(std::fs::read(&place.path).expect("the file is there"), before);
}
