//! The log's index, which every process of a store has in its memory, damaged while the store is open: the next call finds
//! other numbers of frames, pages and readers there than were written. It may answer wrongly then, as SQLite does, or fail
//! by a kind of its own; no call crashes the process, and each has an end.
#![cfg(unix)]

use crate::answer::is_typed;
use crate::faults::Random;
use crate::random::watched;
use crate::whole::{Num, beside, num};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;
use touchstone_store::{ErrorKind, Options, Result};

const STORES: u64 = 12;
const ROUNDS: u64 = 12;
/// What is written when the index is made: two copies of the header, what readers and the copying of the log need, and
/// the first part of what leads from pages to frames.
const INDEX_BYTES: usize = 32_768;

fn options() -> Options {
    Options::new().busy_timeout(Duration::from_millis(100)).checkpoint_pages(20)
}

fn long(id: i64, round: u64) -> Num {
    Num { text: "w".repeat(300), real: round as f64, ..num(id) }
}

/// Some of its bytes, where the most depends on them.
fn damage(index: &File, random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let at = match random.below(4) {
            0 => random.below(48),
            1 => 48 + random.below(48),
            2 => 96 + random.below(40),
            _ => random.below(INDEX_BYTES),
        };
        let byte = random.next().to_le_bytes()[0];
        index.write_all_at(&[byte], at as u64).expect("it is written");
    }
}

fn is_told<T>(called: Result<T>) {
    if let Err(error) = called {
        // A lock that nobody has cannot be told from one that somebody has.
        if error.kind() != ErrorKind::Busy {
            is_typed(error.kind(), "a call beside a damaged index");
        }
    }
}

fn one(seed: u64, directory: &Path) {
    let path = directory.join(format!("{seed}.db"));
    let mut random = Random(seed);
    let store = options().open(&path).expect("it opens");
    store.insert_all(&(0..200).map(num).collect::<Vec<_>>()).expect("it is written");
    // Closing it takes away the locks that the store has on it: it is closed with the program.
    let index = OpenOptions::new().read(true).write(true).open(beside(&path, "-shm")).expect("it is there");
    let index = std::mem::ManuallyDrop::new(index);
    let feed = store.feed().expect("the store is open");
    let watched = feed.query::<Num>().filter(|row| row.id.lt(50)).watch().expect("it is readable");
    for id in 0..20 {
        store.put(&long(id, 0)).expect("it is written");
    }
    for round in 0..ROUNDS {
        damage(&index, &mut random);
        is_told(store.all::<Num>());
        is_told(store.get::<Num>(&5));
        is_told(store.put(&long(1, round)));
        is_told(store.all::<Num>());
        is_told(store.write(|transaction| (100..130).try_for_each(|id| transaction.put(&long(id, round)))));
    }
    drop((watched, feed, store));
}

#[test]
fn a_damaged_index_of_an_open_store_is_no_crash() {
    let begins = watched();
    let directory = tempfile::tempdir().expect("there is room");
    for seed in 1..=STORES {
        begins.send(seed).expect("somebody watches");
        one(seed, directory.path());
    }
}
