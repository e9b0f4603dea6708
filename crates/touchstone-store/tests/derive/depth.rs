//! A type that contains itself: as deep as is allowed, and deeper.

use tempfile::tempdir;
use touchstone_store::nested::Writer;
use touchstone_store::{ErrorKind, Nested, Record, Store};

#[derive(Nested, Clone, Debug, PartialEq)]
struct Link {
    #[tag(1)]
    next: Option<Box<Link>>,
    #[tag(2)]
    beside: Vec<Link>,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Chain {
    #[record(key)]
    id: i64,
    link: Link,
}

fn chain(id: i64, depth: usize) -> Chain {
    let end = Link { next: None, beside: Vec::new() };
    let link = (0..depth).fold(end, |next, _| Link { next: Some(Box::new(next)), beside: Vec::new() });
    Chain { id, link }
}

#[test]
fn what_is_too_deep_is_refused_and_what_is_written_is_read() {
    let directory = tempdir().expect("there is room");
    let store = Store::open(directory.path().join("chains.db")).expect("it opens");
    for (id, depth) in [0, 1, 100, 127, 128, 129, 5_000].into_iter().enumerate() {
        let chain = chain(i64::try_from(id).expect("it is small"), depth);
        match store.insert(&chain) {
            Ok(()) => assert_eq!(store.get(&chain.id).expect("it is read"), Some(chain), "{depth}"),
            Err(error) => {
                assert!(error.kind() == ErrorKind::Invalid && depth > 100, "{depth}: {error}");
                assert!(error.to_string().contains("128 deep"), "{error}");
            }
        }
    }
    assert_eq!(store.all::<Chain>().expect("it is read").len(), 4);
}

/// What a program encoded for itself, too deep for a column, made the next value that it stored refused.
#[test]
fn what_is_encoded_elsewhere_is_no_matter() {
    let directory = tempdir().expect("there is room");
    let store = Store::open(directory.path().join("chains.db")).expect("it opens");
    chain(1, 200).link.encode(&mut Writer::new(&mut Vec::new()));
    store.insert(&chain(1, 1)).expect("it is not deep");
}

/// Bytes that say that each link has another one: more of them than any stack has room for.
#[test]
fn bytes_that_are_too_deep_are_no_encoding() {
    let directory = tempdir().expect("there is room");
    let store = Store::open(directory.path().join("chains.db")).expect("it opens");
    store.insert(&chain(1, 1)).expect("it is written");
    for opening in [[0xa1, 0x01].as_slice(), &[0xa1, 0x02, 0x81]] {
        let bytes = opening.repeat(200_000);
        let sql = store
            .write(|transaction| transaction.sql(|sql| sql.execute("update chain set link = ?1", [&bytes])));
        assert_eq!(sql.expect("it is written"), 1);
        assert_eq!(store.get::<Chain>(&1).expect_err("it is no link").kind(), ErrorKind::Mismatch);
        assert_eq!(store.all::<Chain>().expect_err("it is no link").kind(), ErrorKind::Mismatch);
    }
}
