//! What was undone leaves nothing behind: neither in the file nor in what the store remembers of it.

use touchstone_store::{Error, ErrorKind, Record, Result, Store};

#[derive(Record, Clone, Debug, PartialEq)]
struct Note {
    #[record(key)]
    id: i64,
    text: String,
}

fn note(id: i64, text: &str) -> Note {
    Note { id, text: text.to_owned() }
}

fn never_mind<R>() -> Result<R> {
    Err(Error::new(ErrorKind::Invalid, "never mind"))
}

fn texts(store: &Store, collection: &str) -> Vec<String> {
    let notes =
        store.read(|snapshot| snapshot.collection::<Note>(collection)?.all()).expect("it is readable");
    notes.into_iter().map(|note| note.text).collect()
}

/// The store remembered the number of a collection whose transaction was rolled back. The file then gave the number to
/// the next collection, and two names led to the same records.
#[test]
fn collections_do_not_share_records_after_a_rollback() {
    let directory = tempfile::tempdir().expect("there is room");
    let store = Store::open(directory.path().join("notes.db")).expect("it opens");
    store
        .write(|transaction| transaction.collection("first")?.insert(&note(1, "first")))
        .expect("it is written");
    let undone: Result<()> = store.write(|transaction| {
        transaction.collection("undone")?.insert(&note(1, "undone"))?;
        never_mind()
    });
    assert!(undone.is_err());
    store
        .write(|transaction| transaction.collection("second")?.insert(&note(1, "second")))
        .expect("it is written");
    store
        .write(|transaction| transaction.collection("undone")?.insert(&note(2, "again")))
        .expect("it is written");
    assert_eq!(texts(&store, "second"), ["second"]);
    assert_eq!(texts(&store, "undone"), ["again"]);
}

/// As above, by a savepoint.
#[test]
fn collections_do_not_share_records_after_a_part_was_undone() {
    let directory = tempfile::tempdir().expect("there is room");
    let store = Store::open(directory.path().join("notes.db")).expect("it opens");
    store
        .write(|transaction| transaction.collection("first")?.insert(&note(1, "first")))
        .expect("it is written");
    store
        .write(|transaction| {
            let part: Result<()> = transaction.savepoint(|part| {
                part.collection("undone")?.insert(&note(1, "undone"))?;
                never_mind()
            });
            assert!(part.is_err());
            transaction.collection("second")?.insert(&note(1, "second"))?;
            transaction.collection("undone")?.insert(&note(2, "again"))
        })
        .expect("it is written");
    assert_eq!(texts(&store, "second"), ["second"]);
    assert_eq!(texts(&store, "undone"), ["again"]);
}
