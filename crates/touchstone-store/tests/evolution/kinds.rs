//! Changes that no file can follow are refused with a typed error, and the store goes on for the types that fit.

use super::{Place, everywhere, kind, place};
use touchstone_store::{ErrorKind, Record, Store};

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "task")]
struct Task {
    #[record(key)]
    id: i64,
    name: String,
    rank: i64,
}

fn task(id: i64) -> Task {
    Task { id, name: "n".into(), rank: 3 }
}

fn written() -> Place {
    let place = place();
    place.write(&[task(1), task(2)]);
    place
}

/// Nothing of that type can be read or written, and the file's own type goes on.
fn is_refused<T: Record + Clone>(store: &Store, record: &T)
where
    T::Key: touchstone_store::KeyPart,
{
    for _ in 0..2 {
        assert_eq!(kind(store.all::<T>()), ErrorKind::Mismatch);
        assert_eq!(kind(store.get::<T>(&record.key())), ErrorKind::Mismatch);
        assert_eq!(kind(store.read(|snapshot| snapshot.of::<T>().count())), ErrorKind::Mismatch);
        assert_eq!(
            kind(store.read(|snapshot| snapshot.of::<T>().each_view(|_| Ok(true)))),
            ErrorKind::Mismatch
        );
        assert_eq!(kind(store.insert(record)), ErrorKind::Mismatch);
        assert_eq!(kind(store.put_all([record])), ErrorKind::Mismatch);
        assert_eq!(kind(store.remove::<T>(&record.key())), ErrorKind::Mismatch);
        assert_eq!(everywhere::<Task>(store).expect("the store goes on"), [task(1), task(2)]);
        store.put(&task(2)).expect("the store goes on");
    }
}

#[test]
fn another_kind_of_key_is_refused() {
    #[derive(Record, Clone)]
    #[record(name = "task")]
    struct Changed {
        #[record(key)]
        id: String,
    }
    is_refused(&written().open(), &Changed { id: "1".into() });
}

#[test]
fn another_column_as_key_is_refused() {
    #[derive(Record, Clone)]
    #[record(name = "task")]
    struct Changed {
        #[record(key)]
        name: String,
    }
    is_refused(&written().open(), &Changed { name: "1".into() });
}

#[test]
fn one_more_column_in_the_key_is_refused() {
    #[derive(Record, Clone)]
    #[record(name = "task")]
    struct Changed {
        #[record(key)]
        id: i64,
        #[record(key)]
        rank: i64,
    }
    is_refused(&written().open(), &Changed { id: 1, rank: 1 });
}

#[test]
fn another_kind_of_column_is_refused() {
    #[derive(Record, Clone)]
    #[record(name = "task")]
    struct Changed {
        #[record(key)]
        id: i64,
        rank: String,
    }
    is_refused(&written().open(), &Changed { id: 1, rank: "1".into() });
}

#[test]
fn a_value_beyond_a_narrower_field_is_a_mismatch_of_its_row_alone() {
    #[derive(Record, Clone, Debug, PartialEq)]
    #[record(name = "task")]
    struct Narrow {
        #[record(key)]
        id: i64,
        rank: i8,
    }
    let place = written();
    let store = place.open();
    store.put(&Task { rank: 1000, ..task(2) }).expect("it goes in");
    assert_eq!(store.get::<Narrow>(&1).expect("it fits"), Some(Narrow { id: 1, rank: 3 }));
    assert_eq!(kind(store.get::<Narrow>(&2)), ErrorKind::Mismatch);
    assert_eq!(kind(store.all::<Narrow>()), ErrorKind::Mismatch);
    assert_eq!(store.get::<Narrow>(&1).expect("the store goes on"), Some(Narrow { id: 1, rank: 3 }));
}

/// Whether rows are numbered was taken from the type and not from the file, so the answer came in the rows' order
/// where the key's was asked for.
#[test]
fn a_table_stays_numbered_or_not_whatever_the_type_says_later() {
    #[derive(Record, Clone, Debug, PartialEq)]
    #[record(name = "page", numbered)]
    struct Numbered {
        #[record(key)]
        name: String,
        size: i64,
    }
    #[derive(Record, Clone, Debug, PartialEq)]
    #[record(name = "page")]
    struct Clustered {
        #[record(key)]
        name: String,
        size: i64,
    }
    let names = ["c", "a", "b"];
    let ordered = place();
    ordered.write(&names.map(|name| Clustered { name: name.into(), size: 1 }));
    let numbered = place();
    numbered.write(&names.map(|name| Numbered { name: name.into(), size: 1 }));
    for place in [ordered, numbered] {
        let store = place.open();
        let by_key = store.read(|snapshot| {
            let query = snapshot.query::<Clustered>().order(|page| page.name.ascending());
            Ok(query.all()?.into_iter().map(|page| page.name).collect::<Vec<_>>())
        });
        assert_eq!(by_key.expect("rows are read"), ["a", "b", "c"]);
        let by_key = store.read(|snapshot| {
            let query = snapshot.query::<Numbered>().order(|page| page.name.ascending());
            Ok(query.all()?.into_iter().map(|page| page.name).collect::<Vec<_>>())
        });
        assert_eq!(by_key.expect("rows are read"), ["a", "b", "c"]);
        assert_eq!(everywhere::<Clustered>(&store).expect("rows are read").len(), 3);
        store.put(&Clustered { name: "b".into(), size: 2 }).expect("a row is replaced");
        store.put(&Numbered { name: "d".into(), size: 2 }).expect("a row is inserted");
        assert_eq!(everywhere::<Numbered>(&store).expect("rows are read").len(), 4);
    }
}
