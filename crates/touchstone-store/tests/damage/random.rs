//! Thousands of damaged files, one for each seed, as many of each variant. `TOUCHSTONE_CASES` is how many there are in
//! all, `TOUCHSTONE_SEED` which.

use crate::answer::{compare, compare_filters, is_typed};
use crate::faults::{Random, damaged};
use crate::whole::{Num, NumEnd, NumShort, Page, VARIANTS, Variant, Whole, Word, WordShort, beside, num};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;
use touchstone_store::{ErrorKind, Result, Store};

const CASES_USUALLY: u64 = 4000;

/// An input takes some milliseconds. One that takes so long is taken for one that never ends.
const LIMIT: Duration = Duration::from_secs(300);

macro_rules! variants {
    ($($name:ident: $at:literal),*) => {$(
        #[test]
        fn $name() {
            assert!(stringify!($name).ends_with(VARIANTS[$at].name));
            every_input(VARIANTS[$at], $at);
        }
    )*};
}

variants! {
    damage_is_no_answer_of_small_pages: 0,
    damage_is_no_answer_of_plain: 1,
    damage_is_no_answer_of_small_pages_in_a_log: 2,
    damage_is_no_answer_of_a_log: 3,
    damage_is_no_answer_of_aegis: 4,
    damage_is_no_answer_of_sqlcipher: 5,
    damage_is_no_answer_of_aegis_in_a_log: 6,
    damage_is_no_answer_of_deep_trees: 7
}

fn every_input(variant: Variant, at: u64) {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let cases = number("TOUCHSTONE_CASES").unwrap_or(CASES_USUALLY).div_ceil(VARIANTS.len() as u64);
    let first = number("TOUCHSTONE_SEED").unwrap_or(1) * 1_000_000_000 + at * 10_000_000;
    let directory = tempfile::tempdir().expect("a directory can be made");
    let base = Whole::of(variant, directory.path());
    let begins = watched();
    for seed in first..first + cases {
        begins.send(seed).expect("somebody watches");
        let _told = Told(seed);
        one(seed, variant, &base, directory.path());
    }
}

/// Tells the seed of an input that fails.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input is that of seed {}", self.0);
        }
    }
}

/// Ends the tests where an input has no end.
pub fn watched() -> Sender<u64> {
    let (begins, begun) = mpsc::channel();
    std::thread::spawn(move || {
        let mut last = 0;
        loop {
            match begun.recv_timeout(LIMIT) {
                Ok(seed) => last = seed,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    eprintln!("the input of seed {last} goes on for ever");
                    std::process::abort();
                }
            }
        }
    });
    begins
}

/// SQLite let go of the first page while it was in use: damage had led the write to a page of the greatest number.
#[test]
fn a_write_that_is_led_beyond_every_file_is_refused() {
    const SEED: u64 = 7_020_000_053;
    let variant = VARIANTS[2];
    let directory = tempfile::tempdir().expect("a directory can be made");
    let (path, _) = written(SEED, variant, &Whole::of(variant, directory.path()), directory.path());
    let store = variant.options().create(false).open(&path).expect("it opens");
    for _ in 0..2 {
        let refused =
            store.put(&Num { id: 1_000_001, ..num(1) }).expect_err("its end would be one of a page in use");
        assert_eq!(refused.kind(), ErrorKind::Damaged);
    }
}

/// Writes the damaged file of that seed; where it is.
fn written(seed: u64, variant: Variant, whole: &Whole, directory: &Path) -> (PathBuf, Random) {
    let mut random = Random(seed);
    let path = directory.join("damaged.db");
    let base = damaged(whole, variant, &mut random);
    base.write(&path);
    if random.one_in(3) {
        let index: Vec<u8> = std::iter::repeat_with(|| random.next().to_le_bytes()[0]).take(32_768).collect();
        fs::write(beside(&path, "-shm"), index).expect("the index is written");
    }
    (path, random)
}

fn one(seed: u64, variant: Variant, whole: &Whole, directory: &Path) {
    let (path, mut random) = written(seed, variant, whole, directory);
    let (is_thorough, read_only) = (random.one_in(5), random.one_in(6));
    if is_thorough {
        salvage(variant, &path, directory);
    }
    let store = match variant.options().create(false).read_only(read_only).open(&path) {
        Ok(store) => store,
        Err(error) => return is_typed(error.kind(), "opening"),
    };
    read(&store);
    if is_thorough {
        look_at_all_of_it(&store, directory);
    }
    if !read_only {
        write(&store);
        if is_thorough {
            watch(&store);
        }
    }
}

fn typed<R>(result: Result<R>, doing: &str) -> Option<R> {
    result.map_err(|error| is_typed(error.kind(), doing)).ok()
}

fn read(store: &Store) {
    let snapshot = match store.snapshot() {
        Ok(snapshot) => snapshot,
        Err(error) => return is_typed(error.kind(), "taking a snapshot"),
    };
    compare::<Num>(&snapshot);
    compare::<NumShort>(&snapshot);
    compare::<NumEnd>(&snapshot);
    compare::<Word>(&snapshot);
    compare::<WordShort>(&snapshot);
    compare::<Page>(&snapshot);
    compare_filters(&snapshot);
    typed(snapshot.query::<Num>().filter(|row| row.group.eq(3)).all(), "by an index");
    typed(snapshot.query::<Num>().order(|row| row.text.descending()).limit(7).all(), "in an order");
    typed(snapshot.get::<Word>("word 00012"), "by key");
    typed(snapshot.collection::<Num>("c1").and_then(|numbers| numbers.all()), "of a collection");
    typed(snapshot.query::<Page>().filter(|row| row.size.between(3, 9)).count(), "counting");
}

fn salvage(variant: Variant, path: &Path, directory: &Path) {
    let saved = directory.join("saved.db");
    // The last one's, if there was one.
    let _ = fs::remove_file(&saved);
    if typed(Store::salvage(path, variant.options(), &saved), "salvage").is_some() {
        let store = variant.options().open(&saved).expect("what was salvaged opens");
        let report = store.check().run().expect("what was salvaged is checked");
        assert!(report.is_whole(), "what was salvaged is whole: {:?}", report.problems());
    }
}

fn look_at_all_of_it(store: &Store, directory: &Path) {
    typed(store.check().records::<Num>().records::<Word>().records::<Page>().run(), "check");
    let copy = directory.join("copy.db");
    let _ = fs::remove_file(&copy);
    typed(store.backup(&copy), "backup");
}

fn write(store: &Store) {
    let new = Num { id: 1_000_001, ..num(1) };
    typed(store.put(&new), "put");
    let written = store.write(|transaction| {
        for at in 0..10 {
            transaction.put(&Page { name: format!("new {at}"), size: 10_000 + at, body: vec![1; 700] })?;
            transaction.remove::<Word>(format!("word {:05}", at * 5).as_str())?;
        }
        transaction.update::<Num>(&9, |row| row.text = "changed".repeat(40)).map(drop)
    });
    typed(not_conflict(written), "write");
    let many: Vec<Word> = (0..20)
        .map(|at| Word { word: format!("many {at:02}"), length: 1, body: vec![3; 300], points: Vec::new() })
        .collect();
    typed(store.put_all(&many), "put_all");
}

/// An index that is damaged may have any value.
fn not_conflict<R>(result: Result<R>) -> Result<Option<R>> {
    match result {
        Err(error) if error.kind() == ErrorKind::Conflict => Ok(None),
        result => result.map(Some),
    }
}

fn watch(store: &Store) {
    let Some(feed) = typed(store.feed(), "feed") else { return };
    let Some(watched) = typed(feed.query::<Num>().filter(|row| row.group.lt(5)).watch(), "watch") else {
        return;
    };
    typed(store.put(&num(1)), "put");
    typed(store.wait_delivered(), "waiting");
    typed(feed.try_next(), "an update");
    let _ = watched.results().len();
    typed(store.write(|transaction| transaction.of::<Page>().clear()), "clear");
}
