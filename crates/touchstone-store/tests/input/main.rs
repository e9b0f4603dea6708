//! Bad input: files that are no stores, files that are damaged, values that do not fit, calls that do not belong. Each
//! is a typed error, after which the store goes on.

mod calls;
mod damage;
mod files;
#[path = "../place/mod.rs"]
mod place;

use place::place;
use touchstone_store::{ErrorKind, Record, Result, Store};

#[derive(Record, Clone, Debug, PartialEq)]
struct Note {
    #[record(key)]
    id: i64,
    text: String,
    rank: Option<f64>,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Word {
    #[record(key)]
    word: String,
    #[record(index)]
    length: u32,
    body: Vec<u8>,
}

fn note(id: i64) -> Note {
    Note { id, text: format!("note {id}"), rank: Some(0.5) }
}

fn kind<R>(result: Result<R>) -> ErrorKind {
    result.map(|_| ()).expect_err("this must fail").kind()
}

/// The store reads and writes as ever.
fn goes_on(store: &Store) {
    let last = note(1_000_000);
    store.put(&last).expect("the store writes on");
    store.put_all([&last]).expect("the store writes on");
    assert_eq!(store.get::<Note>(&last.id).expect("the store reads on"), Some(last.clone()));
    assert!(store.remove::<Note>(&last.id).expect("the store writes on"));
    store.all::<Note>().expect("the store reads on");
}
