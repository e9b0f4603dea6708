//! Files with bytes changed or missing: an error, or the right answer. Where SQLite itself finds that the table is
//! corrupt, so does the store.

use super::{Word, place};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::path::Path;
use touchstone_store::{ErrorKind, Options, Record, Result, Store};

#[derive(Record, Clone, Debug, PartialEq)]
#[record(numbered)]
struct Page {
    #[record(key)]
    name: String,
    size: i64,
    body: Vec<u8>,
}

const ROWS: i64 = 150;

fn made() -> Vec<u8> {
    let place = place();
    let store = Options::new().page_size(512).open(&place.path).expect("the store opens");
    let length = |at: i64| usize::try_from(at * 37 % 900).expect("it is small");
    let words =
        (0..ROWS).map(|at| Word { word: format!("word {at:03}"), length: 7, body: vec![1; length(at)] });
    let pages =
        (0..ROWS).map(|at| Page { name: format!("page {at:03}"), size: at, body: vec![2; length(at)] });
    store.insert_all(&words.collect::<Vec<_>>()).expect("they go in");
    store.insert_all(&pages.collect::<Vec<_>>()).expect("they go in");
    drop(store);
    std::fs::read(&place.path).expect("the file is there")
}

/// What every way to read says; none of it may panic, or go on for ever.
fn read<T: Record>(path: &Path) -> Vec<Result<usize>> {
    let store = match Store::open(path) {
        Ok(store) => store,
        Err(error) => return vec![Err(error)],
    };
    let all = store.read(|snapshot| Ok(snapshot.of::<T>().all()?.len()));
    let views = store.read(|snapshot| {
        let mut count = 0;
        snapshot.of::<T>().each_view(|_| {
            count += 1;
            Ok(true)
        })?;
        Ok(count)
    });
    let rows = store.read(|snapshot| snapshot.query::<T>().rows()?.map(|row| row.map(|_| 1)).sum());
    vec![all, views, rows]
}

fn is_typed(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Damaged
            | ErrorKind::Mismatch
            | ErrorKind::Foreign
            | ErrorKind::Newer
            | ErrorKind::Io
            | ErrorKind::Refused
    )
}

/// How many rows SQLite's own statement sees, with every value; none where it finds the table corrupt.
fn by_sqlite(path: &Path, table: &str) -> Option<usize> {
    let connection = rusqlite::Connection::open(path).ok()?;
    let mut statement = connection.prepare(&format!("select * from {table} not indexed")).ok()?;
    let width = statement.column_count();
    let mut rows = statement.query(()).ok()?;
    let mut count = 0;
    while let Some(row) = rows.next().ok()? {
        for at in 0..width {
            row.get_ref(at).ok()?;
        }
        count += 1;
    }
    Some(count)
}

fn check<T: Record>(bytes: &[u8], table: &str) -> std::result::Result<(), TestCaseError> {
    let place = place();
    std::fs::write(&place.path, bytes).expect("the file is written");
    let by_sqlite = by_sqlite(&place.path, table);
    for answer in read::<T>(&place.path) {
        match answer {
            Ok(count) => prop_assert_eq!(Some(count), by_sqlite, "rows of {}", table),
            Err(error) => prop_assert!(is_typed(error.kind()), "{:?}", error),
        }
    }
    Ok(())
}

/// The seed is fixed, so that a red test stays red until it is understood.
fn configured() -> ProptestConfig {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let cases = number("TOUCHSTONE_CASES").and_then(|cases| u32::try_from(cases).ok()).unwrap_or(60);
    let rng_seed = RngSeed::Fixed(number("TOUCHSTONE_SEED").unwrap_or(1));
    ProptestConfig { failure_persistence: None, rng_seed, ..ProptestConfig::with_cases(cases) }
}

proptest! {
    #![proptest_config(configured())]

    #[test]
    fn damaged_pages_are_found_or_do_no_harm(
        // Where pages have their headers, mostly.
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![0usize..12, 0usize..512], any::<u8>()), 1..4),
    ) {
        static FILE: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(made);
        let mut bytes = FILE.clone();
        for (page, at, byte) in &changes {
            let page = page.index(bytes.len() / 512);
            bytes[page * 512 + at] = *byte;
        }
        check::<Word>(&bytes, "word")?;
        check::<Page>(&bytes, "page")?;
    }
}

#[test]
fn a_file_that_was_cut_short_is_an_error() {
    let whole = made();
    for part in [1, 2, 3, 5, 9] {
        let place = place();
        std::fs::write(&place.path, &whole[..whole.len() / 10 * part / 512 * 512])
            .expect("the file is written");
        for answer in read::<Page>(&place.path) {
            assert!(is_typed(answer.expect_err("pages are missing").kind()));
        }
    }
}

#[test]
fn a_chain_of_pages_that_is_a_circle_has_an_end() {
    let mut bytes = made();
    let pages = bytes.len() / 512;
    // Every page that begins like one of a chain goes on with itself.
    for page in 1..pages {
        if bytes[page * 512] == 0 {
            let number = u32::try_from(page + 1).expect("there are few");
            bytes[page * 512..page * 512 + 4].copy_from_slice(&number.to_be_bytes());
        }
    }
    check::<Word>(&bytes, "word").expect("it has an end");
    check::<Page>(&bytes, "page").expect("it has an end");
}
