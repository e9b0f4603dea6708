//! A file that is renamed, replaced or deleted under an open store: calls are told, and nothing else is read or written.

use super::{Task, alone, fill, kind, names_in, program, task, until_told, ways};
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use touchstone_store::{ErrorKind, Options, Result, Store};

const REPLACED: Option<ErrorKind> = Some(ErrorKind::Replaced);

/// Of the files of a store, its log and the log's index.
const LOG: usize = 1;
const INDEX: usize = 2;

/// A connection that is open looks at its files once a tick of the system's clock, and a mistake in another look shows only
/// between two ticks: so often it is tried.
const TRIES: usize = 10;

/// The file with what lies beside it.
fn files(path: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|ending| PathBuf::from(format!("{}{ending}", path.display())))
}

/// Every call that opens a connection is told, and so is, before long, every other.
fn every_call_is_told(store: &Store, copy: &Path) {
    // All idle connections and one more.
    let mut held = Vec::new();
    let refused = (0..18).find_map(|_| store.snapshot().map(|snapshot| held.push(snapshot)).err());
    assert_eq!(refused.map(|error| error.kind()), REPLACED);
    drop(held);
    assert_eq!(until_told(|| store.put(&task(100, "nowhere"))), REPLACED);
    assert_eq!(until_told(|| store.all::<Task>()), REPLACED);
    assert_eq!(kind(store.write(|transaction| transaction.insert(&task(101, "nowhere")))), REPLACED);
    assert_eq!(kind(store.backup(copy)), REPLACED);
    assert!(!copy.exists());
    let watched = store.feed().and_then(|feed| feed.query::<Task>().watch().map(drop));
    assert_eq!(kind(watched), REPLACED);
    let told = store.insert(&task(102, "nowhere")).expect_err("it is told").to_string();
    assert!(told.contains("renamed or replaced while a store had it open") && told.contains(".db"), "{told}");
}

/// The log's index went with the connection that was opened first, and the next look at it crashed the process.
#[test]
fn a_file_that_another_takes_the_place_of_is_told() {
    alone("replaced::a_file_that_another_takes_the_place_of_is_told", |directory| {
        for (number, options) in iter::repeat_n(ways(), TRIES).flatten().enumerate() {
            let [path, other, copy] =
                ["a", "b", "c"].map(|name| directory.join(format!("{name}{number}.db")));
            fill(&path, &options, 3, "this");
            fill(&other, &options, 5, "the other");
            let bytes = fs::read(&other).expect("it is there");
            let store = options.clone().open(&path).expect("it opens");
            assert_eq!(store.all::<Task>().expect("it is readable").len(), 3);
            fs::rename(&other, &path).expect("it is renamed");
            // What was begun before goes on, and what is closed last is not what was opened first.
            let first = store.snapshot();
            let rest: Vec<_> = (0..17).map(|_| store.snapshot()).collect();
            let is_told = rest.iter().any(|snapshot| snapshot.is_err());
            drop(rest);
            drop(first);
            let _ = store.all::<Task>();
            assert!(is_told);
            every_call_is_told(&store, &copy);
            drop(store);
            assert!(fs::read(&path).expect("it is there") == bytes, "the other file is as it was");
        }
    });
}

/// A new file was made in its place, and what was read of it was that there is nothing.
#[test]
fn a_file_that_is_deleted_is_told() {
    alone("replaced::a_file_that_is_deleted_is_told", |directory| {
        for options in ways() {
            let place = tempfile::tempdir_in(directory).expect("there is room");
            let path = place.path().join("tasks.db");
            fill(&path, &options, 3, "this");
            let store = options.open(&path).expect("it opens");
            assert_eq!(store.all::<Task>().expect("it is readable").len(), 3);
            store.put(&task(0, "again")).expect("it is written");
            let held = store.snapshot().expect("it is readable");
            for file in files(&path) {
                let _ = fs::remove_file(file);
            }
            every_call_is_told(&store, &directory.join("copy.db"));
            assert_eq!(held.of::<Task>().count().expect("what was begun goes on"), 3);
            drop((held, store));
            assert!(names_in(place.path()).is_empty(), "{:?}", names_in(place.path()));
        }
    });
}

/// The file lives on under another name, where nobody would look for its log.
#[test]
fn a_file_that_is_renamed_is_told() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let [path, elsewhere, copy] = ["a.db", "b.db", "c.db"].map(|name| directory.path().join(name));
    fill(&path, &Options::new(), 3, "this");
    let store = Store::open(&path).expect("it opens");
    store.put(&task(0, "again")).expect("it is written");
    fs::rename(&path, &elsewhere).expect("it is renamed");
    every_call_is_told(&store, &copy);
}

/// What was committed to a log without a name was acknowledged, and found by nobody.
#[test]
fn a_log_that_is_deleted_is_told() {
    ways().into_iter().for_each(|options| tells_of_deleted(LOG, "the log of ", options));
}

/// Another process made an index anew, with locks of its own: both wrote to the log, and what one committed was lost.
#[test]
fn a_logs_index_that_is_deleted_is_told() {
    // Who has the file alone has no file of the index.
    let [shared, _, encrypted] = ways();
    [shared, encrypted]
        .into_iter()
        .for_each(|options| tells_of_deleted(INDEX, "the log's index of ", options));
}

fn tells_of_deleted(file: usize, words: &str, options: Options) {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("tasks.db");
    fill(&path, &options, 3, "this");
    let store = options.open(&path).expect("it opens");
    store.put(&task(0, "again")).expect("it is written");
    fs::remove_file(&files(&path)[file]).expect("it is there");
    assert_eq!(until_told(|| store.put(&task(1, "nowhere"))), REPLACED);
    let told = store.put(&task(1, "nowhere")).expect_err("it is told").to_string();
    assert!(told.contains(words), "{told}");
}

/// A store that was closed copied its own log, which had been deleted, over what another process had committed since, and
/// removed that one's.
#[test]
fn a_store_whose_log_was_deleted_leaves_the_next_one_alone() {
    const WRITES: &str = "TOUCHSTONE_TEST_WRITES";
    const NOT_OPENED: i32 = 7;
    alone("replaced::a_store_whose_log_was_deleted_leaves_the_next_one_alone", |directory| {
        let path = directory.join("tasks.db");
        if std::env::var_os(WRITES).is_some() {
            let opened = Store::open(&path);
            if opened.as_ref().is_err_and(|error| error.kind() == ErrorKind::Replaced) {
                std::process::exit(NOT_OPENED);
            }
            let store = opened.expect("it opens");
            (100..400).for_each(|id| store.insert(&task(id, "later")).expect("it is written"));
            // It dies before it has copied anything.
            std::process::abort();
        }
        for gone in [&[LOG][..], &[INDEX], &[LOG, INDEX]] {
            let _ = files(&path).iter().try_for_each(fs::remove_file);
            fill(&path, &Options::new(), 3, "this");
            let store = Store::open(&path).expect("it opens");
            store.insert_all(&(3..90).map(|id| task(id, "this")).collect::<Vec<_>>()).expect("it is written");
            gone.iter().for_each(|file| fs::remove_file(&files(&path)[*file]).expect("it is there"));
            assert_eq!(until_told(|| store.put(&task(0, "nowhere"))), REPLACED);
            let writer = program(
                "replaced::a_store_whose_log_was_deleted_leaves_the_next_one_alone",
                directory.as_os_str(),
            )
            .env(WRITES, "1")
            .output();
            let status = writer.expect("the program starts").status;
            assert!(!status.success(), "it was to die");
            // With the index that the others have, and without their log, nothing would find what it writes.
            let is_opened = status.code() != Some(NOT_OPENED);
            assert_eq!(is_opened, gone.contains(&INDEX), "{gone:?}");
            drop(store);
            let store = Store::open(&path).expect("it opens");
            let later = store.all::<Task>().expect("it is readable");
            assert_eq!(
                later.iter().filter(|task| task.id >= 100).count(),
                if is_opened { 300 } else { 0 },
                "{gone:?}"
            );
            assert!(store.check().records::<Task>().run().expect("it is readable").is_whole());
        }
    });
}

/// A log that was cut off was written to behind a hole, which was copied over the file when the store was closed.
#[test]
fn a_log_that_is_cut_off_is_told() {
    for options in ways() {
        let (_directory, path, store) = filled(&options);
        store.put(&task(0, "again")).expect("it is written");
        cut_off(&files(&path)[LOG], 0);
        // The next snapshots open connections, which look at once.
        let refused = (0..18).map(|_| store.snapshot()).collect::<Result<Vec<_>, _>>();
        assert_eq!(kind(refused), REPLACED);
        assert_eq!(until_told(|| store.put(&task(1, "nowhere"))), REPLACED);
        drop(store);
        let tasks = options.open(&path).and_then(|store| store.all::<Task>()).expect("the file is as it was");
        assert_eq!(tasks.iter().filter(|task| task.title == "this").count(), 3);
    }
}

/// What was committed next filled the log up to its length and hid that it had been cut off: commits were acknowledged behind a
/// hole, and the file was damaged.
#[test]
fn no_commit_is_acknowledged_behind_a_hole() {
    for options in iter::repeat_n(ways(), TRIES).flatten() {
        let (_directory, path, store) = filled(&options);
        let mut acknowledged = (0..3).map(|id| task(id, "this")).collect::<Vec<_>>();
        for id in 3..100 {
            store.insert(&task(id, "that")).expect("it is written");
        }
        cut_off(&files(&path)[LOG], 0);
        for id in 100..110 {
            match store.insert(&task(id, "behind")) {
                Ok(()) => acknowledged.push(task(id, "behind")),
                told => assert_eq!(kind(told), REPLACED),
            }
        }
        assert_eq!(kind(store.write(|transaction| transaction.insert(&task(200, "behind")))), REPLACED);
        drop(store);
        let tasks = options.open(&path).and_then(|store| store.all::<Task>()).expect("the file is as it was");
        assert_eq!(tasks, acknowledged);
    }
}

/// SQLite takes a file without a byte for a new one. A connection that the store opened deleted the log, and read that the store
/// had no rows.
#[test]
fn a_file_that_is_cut_off_is_told_and_its_log_stays() {
    for options in ways() {
        let (_directory, path, store) = filled(&options);
        store.put(&task(0, "again")).expect("it is written");
        let log = fs::read(&files(&path)[LOG]).expect("it is there");
        cut_off(&path, 0);
        let begun = (0..18).map(|_| store.snapshot()).collect::<Result<Vec<_>, _>>();
        assert_eq!(kind(begun), REPLACED);
        assert_eq!(until_told(|| store.put(&task(1, "nowhere"))), REPLACED);
        assert_eq!(until_told(|| store.get::<Task>(&1)), REPLACED);
        drop(store);
        let left = fs::read(&files(&path)[LOG]).expect("it is there");
        assert!(left.starts_with(&log), "what was committed is there");
        let refused = options.open(&path).map(drop).expect_err("it is cut off");
        assert_eq!(refused.kind(), ErrorKind::Damaged);
        assert!(refused.to_string().contains("to begin anew"), "{refused}");
    }
}

/// All of the log was copied, so the index says how long the file is.
#[test]
fn a_file_that_lacks_its_last_pages_is_told() {
    let (_directory, path, store) = filled(&Options::new());
    store.put(&task(0, &"long ".repeat(2000))).expect("it is written");
    let sql = rusqlite::Connection::open(&path).expect("it opens");
    sql.query_row("pragma wal_checkpoint(restart)", (), |_| Ok(())).expect("it is copied");
    assert!(store.get::<Task>(&0).expect("it is readable").is_some());
    cut_off(&path, fs::metadata(&path).expect("it is there").len() - 4096);
    assert_eq!(until_told(|| store.get::<Task>(&0)), REPLACED);
}

/// SQLite takes a page behind the end of the file for one of zeros: a value had them in place of what was committed.
#[test]
fn what_was_cut_off_is_not_read_as_zeros() {
    let is_told = |read: Result<()>| {
        let told = kind(read);
        assert!(matches!(told, Some(ErrorKind::Damaged | ErrorKind::Replaced)), "{told:?}");
    };
    let long = "long ".repeat(2000);
    for options in ways() {
        let (_directory, path, store) = filled(&options);
        store.put(&task(0, &long)).expect("it is written");
        drop(store);
        let store = options.open(&path).expect("it opens");
        let snapshot = store.snapshot().expect("it is readable");
        cut_off(&path, fs::metadata(&path).expect("it is there").len() - 4096);
        is_told(snapshot.of::<Task>().all().map(drop));
        is_told(snapshot.get::<Task>(&0).map(drop));
        // Before all of the log is copied, it does not say how long the file is.
        is_told(store.put(&task(1, "that")).and_then(|()| store.all::<Task>()).map(drop));
        is_told(
            store.write(|transaction| transaction.update::<Task>(&0, |task| task.title.push('!'))).map(drop),
        );
    }
}

/// Where the log was not yet copied as a whole, a file that was cut off grew again when it was, with zeros in between.
#[test]
fn a_file_that_is_cut_off_before_its_log_is_copied_is_told() {
    for options in ways() {
        let (_directory, path, store) = filled(&options);
        store.put(&task(0, &"long ".repeat(20_000))).expect("it is written");
        drop(store);
        let store = options.open(&path).expect("it opens");
        store.put(&task(1, "that")).expect("it is written");
        // These open connections, which look how long the file is.
        drop((0..18).map(|_| store.snapshot().expect("it is readable")).collect::<Vec<_>>());
        cut_off(&path, 8192);
        assert_eq!(until_told(|| store.put(&task(2, "nowhere"))), REPLACED);
        drop(store);
        assert_eq!(fs::metadata(&path).expect("it is there").len(), 8192, "nothing is copied into it");
    }
}

/// To change the key, nobody looked whether the file had been cut off, and SQLite deleted the log.
#[test]
fn a_file_that_was_cut_off_gets_no_other_key() {
    let (_directory, path, store) = filled(&Options::new());
    store.put(&task(0, "again")).expect("it is written");
    let log = &files(&path)[LOG];
    let bytes = fs::read(log).expect("it is there");
    drop(store);
    cut_off(&path, 0);
    fs::write(log, &bytes).expect("there is room");
    assert_eq!(kind(Store::change_key(&path, Options::new(), Options::new())), Some(ErrorKind::Damaged));
    assert_eq!(fs::read(log).expect("it is there"), bytes);
}

/// A store with three tasks, which was closed since and is open again.
fn filled(options: &Options) -> (tempfile::TempDir, PathBuf, Store) {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("tasks.db");
    fill(&path, options, 3, "this");
    let store = options.clone().open(&path).expect("it opens");
    (directory, path, store)
}

fn cut_off(path: &Path, bytes: u64) {
    let file = fs::OpenOptions::new().write(true).open(path).expect("it is there");
    file.set_len(bytes).expect("it is this user's");
}

/// A read of what nobody commits to asks the system nothing, and went on with the file that was gone.
#[test]
fn a_reader_that_goes_on_with_its_snapshot_is_told() {
    let (_directory, path, store) = filled(&Options::new());
    for _ in 0..100 {
        assert!(store.get::<Task>(&1).expect("it is readable").is_some());
    }
    fs::remove_file(&path).expect("it is there");
    assert_eq!(until_told(|| store.get::<Task>(&1)), REPLACED);
}
