//! What reaches the log: frames are gathered and written together, and whoever reads the file afterwards, also SQLite
//! itself from a copy, must find every commit in it whole.

#[path = "workload/mod.rs"]
mod workload;

use std::collections::BTreeMap;
use std::path::Path;
use touchstone_store::{Error, ErrorKind, Options, Record, Result, Store};
use workload::Random;

#[derive(Record, Clone, Debug, PartialEq)]
struct Note {
    #[record(key)]
    id: i64,
    text: String,
}

fn note(id: i64, round: i64) -> Note {
    Note {
        id,
        text: format!(
            "{id} in round {round} {}",
            "x".repeat(usize::try_from(id * round % 90).expect("it is small"))
        ),
    }
}

/// Undoes what was done, or not.
fn never_mind(is_undone: bool) -> Result<()> {
    if is_undone { Err(Error::new(ErrorKind::Invalid, "never mind")) } else { Ok(()) }
}

/// Pages leave a cache this small in the middle of a transaction, and are changed again after it.
fn open(path: &Path) -> Store {
    let options = Options::new().page_size(512).cache_bytes(8192).checkpoint_pages(u32::MAX);
    options.open(path).expect("the store opens")
}

/// The notes, as SQLite finds them in a copy of the file and its log, which it must recover.
fn in_a_copy(path: &Path) -> Vec<Note> {
    let copies = tempfile::tempdir().expect("there is room");
    let copy = copies.path().join("copy.db");
    std::fs::copy(path, &copy).expect("it is there");
    std::fs::copy(path.with_extension("db-wal"), copy.with_extension("db-wal")).expect("it is there");
    let sql = rusqlite::Connection::open(copy).expect("it opens");
    let whole: String = sql.query_row("pragma integrity_check", (), |row| row.get(0)).expect("it is checked");
    assert_eq!(whole, "ok");
    let mut statement = sql.prepare("select id, text from note order by id").expect("there is the table");
    let notes = statement.query_map((), |row| Ok(Note { id: row.get(0)?, text: row.get(1)? }));
    notes.expect("it is read").collect::<Result<_, _>>().expect("it is read")
}

/// A page of a transaction that was written and changed again is written over, and the checksums of all frames after it
/// are corrected, in headers that no page follows: the last of them is the one that commits.
#[test]
fn a_transaction_that_changes_pages_again_is_whole_in_the_log() {
    const NOTES: i64 = 2_000;
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("notes.db");
    let store = open(&path);
    for round in 1..=4 {
        let notes: Vec<Note> = (0..NOTES).map(|id| note(id, round)).collect();
        let write = store.write(|transaction| {
            // Here and there, so that every page is changed, leaves the cache, and is changed again.
            for step in 0..7 {
                for note in notes.iter().skip(step).step_by(7) {
                    transaction.put(note)?;
                }
            }
            Ok(())
        });
        write.expect("it is written");
        assert_eq!(in_a_copy(&path), notes, "round {round}");
        assert_eq!(open(&path).all::<Note>().expect("it is read"), notes, "round {round}");
    }
}

/// What an undone transaction left in the log is written over by the next.
#[test]
fn a_commit_after_an_undone_transaction_is_whole_in_the_log() {
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("notes.db");
    let store = open(&path);
    let mut kept = Vec::new();
    for round in 1..=6 {
        let undone = store.write(|transaction| {
            for id in 10_000..12_000 {
                transaction.insert(&note(id, round))?;
            }
            never_mind(true)
        });
        assert!(undone.is_err());
        for id in round * 1000..round * 1000 + 20 * round {
            store.insert(&note(id, round)).expect("it is written");
            kept.push(note(id, round));
            kept.sort_by_key(|note| note.id);
            assert_eq!(open(&path).all::<Note>().expect("it is read"), kept, "round {round}, {id}");
        }
        assert_eq!(in_a_copy(&path), kept, "round {round}");
    }
}

/// What an undone transaction had gathered was written when its store next read the log, over what another store had
/// committed in the same place by then.
#[test]
fn an_undone_transaction_writes_nothing_over_what_others_commit_after_it() {
    const NOTES: i64 = 400;
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("notes.db");
    let mut kept: Vec<Note> = (0..NOTES).map(|id| note(id, 1)).collect();
    open(&path).insert_all(&kept).expect("it is written");
    for step in 2..=8 {
        // Opened anew, they begin a log that has no page the rollback would read, and so write what is gathered.
        let (store, other) = (open(&path), open(&path));
        let undone = store.write(|transaction| {
            for note in kept.iter().step_by(step) {
                transaction.put(&Note { id: note.id, text: note.text.to_uppercase() })?;
            }
            never_mind(true)
        });
        assert!(undone.is_err());
        for note in kept.iter_mut().step_by(step + 1) {
            note.text.insert(0, '!');
        }
        let changed: Vec<&Note> = kept.iter().step_by(step + 1).collect();
        other.put_all(changed).expect("it is written");
        store.remove::<Note>(&NOTES).expect("the file is readable");
        assert!(in_a_copy(&path) == kept, "every {step}");
        assert!(open(&path).all::<Note>().expect("it is read") == kept, "every {step}");
    }
}

/// Two stores write the same file in turn, and undo parts of what they write and all of it: whatever the one left
/// ungathered, unwritten or undone, the other finds what was committed.
#[test]
fn two_stores_that_undo_what_they_write_find_what_was_committed() {
    const NOTES: u64 = 300;
    let mut random = Random::new(1);
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("notes.db");
    let mut stores = Vec::new();
    let mut kept = BTreeMap::new();
    for round in 0..400 {
        if round % 8 == 0 {
            // The log is emptied, so that nothing is read of it for a while.
            stores.clear();
            stores.extend([open(&path), open(&path)]);
        }
        let store = &stores[random.below(2) as usize];
        let mut after = kept.clone();
        let is_undone = random.below(3) == 0;
        let written = store.write(|transaction| {
            for _ in 0..=random.below(4) {
                let before = after.clone();
                let part = transaction.savepoint(|part| {
                    for _ in 0..random.below(60) {
                        let note = note(random.below(NOTES).cast_signed(), round);
                        part.put(&note)?;
                        after.insert(note.id, note);
                    }
                    never_mind(random.below(3) == 0)
                });
                if part.is_err() {
                    after = before;
                }
            }
            never_mind(is_undone)
        });
        assert_eq!(written.is_err(), is_undone);
        if !is_undone {
            kept = after;
        }
        for store in &stores {
            let found = store.all::<Note>().expect("it is read");
            assert!(found.iter().eq(kept.values()), "round {round}");
        }
        if round % 50 == 0 {
            assert!(in_a_copy(&path).iter().eq(kept.values()), "round {round}");
        }
    }
}
