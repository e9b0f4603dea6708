//! Files with bytes changed or missing: an error, or the right answer. Where SQLite itself finds that the table is
//! corrupt, so does the store.

use super::{Word, place};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::fmt::Debug;
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

fn length(at: i64) -> usize {
    usize::try_from(at * 37 % 900).expect("it is small")
}

fn words() -> Vec<Word> {
    (0..ROWS).map(|at| Word { word: format!("word {at:03}"), length: 7, body: vec![1; length(at)] }).collect()
}

fn pages() -> Vec<Page> {
    (0..ROWS).map(|at| Page { name: format!("page {at:03}"), size: at, body: vec![2; length(at)] }).collect()
}

fn made() -> Vec<u8> {
    let place = place();
    let store = Options::new().page_size(512).open(&place.path).expect("the store opens");
    store.insert_all(&words()).expect("they go in");
    store.insert_all(&pages()).expect("they go in");
    drop(store);
    std::fs::read(&place.path).expect("the file is there")
}

/// What every way to read says; none of it may panic, or go on for ever.
fn read<T: Record>(path: &Path) -> Vec<Result<Vec<T>>> {
    let store = match Store::open(path) {
        Ok(store) => store,
        Err(error) => return vec![Err(error)],
    };
    let all = store.read(|snapshot| snapshot.of::<T>().all());
    let rows = store.read(|snapshot| snapshot.query::<T>().rows()?.collect());
    let mut count = 0;
    let views = store.read(|snapshot| {
        snapshot.of::<T>().each_view(|_| {
            count += 1;
            Ok(true)
        })
    });
    if let (Ok(all), Ok(())) = (&all, &views) {
        assert_eq!(all.len(), count);
    }
    vec![all, rows]
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

fn check<T>(bytes: &[u8], table: &str, whole: &[T]) -> std::result::Result<(), TestCaseError>
where
    T: Record + PartialEq + Debug,
{
    let place = place();
    std::fs::write(&place.path, bytes).expect("the file is written");
    let by_sqlite = by_sqlite(&place.path, table);
    for answer in read::<T>(&place.path) {
        match (answer, by_sqlite) {
            (Ok(rows), Some(count)) => prop_assert_eq!(rows.len(), count, "rows of {}", table),
            (Ok(rows), None) => {
                prop_assert!(rows == whole, "what SQLite calls corrupt is not what was written")
            }
            (Err(error), _) => prop_assert!(is_typed(error.kind()), "{:?}", error),
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
        check(&bytes, "word", &words())?;
        check(&bytes, "page", &pages())?;
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
    let count = bytes.len() / 512;
    // Every page that begins like one of a chain goes on with itself.
    for page in 1..count {
        if bytes[page * 512] == 0 {
            let number = u32::try_from(page + 1).expect("there are few");
            bytes[page * 512..page * 512 + 4].copy_from_slice(&number.to_be_bytes());
        }
    }
    check(&bytes, "word", &words()).expect("it has an end");
    check(&bytes, "page", &pages()).expect("it has an end");
}

/// A page of another tree in the place of a table's, as a misdirected write leaves it, was read as the table's own
/// where its rows have the same shape.
#[test]
fn a_page_of_another_tree_is_none_of_the_tables() {
    let whole = made();
    let trees = || whole.chunks_exact(512).enumerate();
    let has = |page: &[u8], text: &[u8]| page.windows(text.len()).any(|window| window == text);
    let leaf = trees().find(|(_, page)| page[0] == 0x0d && has(page, b"page 0")).expect("there is one").0;
    let root = {
        let place = place();
        std::fs::write(&place.path, &whole).expect("the file is written");
        let sql = "select rootpage - 1 from sqlite_schema where name = 'page'";
        let root = place.plain().query_row(sql, (), |row| row.get::<_, u32>(0)).expect("the table is there");
        usize::try_from(root).expect("it is small")
    };
    let mut others = 0;
    for (_, other) in trees().filter(|(_, page)| page[0] == 0x0a && has(page, b"word 0")) {
        for place in [leaf, root] {
            let mut bytes = whole.clone();
            bytes[place * 512..(place + 1) * 512].copy_from_slice(other);
            check(&bytes, "page", &pages()).expect("it is found");
        }
        others += 1;
    }
    assert!(others > 10, "leaves of a table in the order of its key, and of its index");
}

/// A row whose length was damaged to be one byte more than its values was read as if it were whole, where SQLite finds
/// it corrupt.
#[test]
fn a_row_that_is_longer_than_its_values_is_damaged() {
    let place = place();
    place.open().insert(&Word { word: "w".into(), length: 300, body: vec![1, 2, 3] }).expect("it goes in");
    let mut bytes = std::fs::read(&place.path).expect("the file is there");
    // The payload is a header of four bytes, the types of a text, an integer and a blob, and then their values.
    let row = [10, 4, 15, 2, 18, b'w', 1, 44, 1, 2, 3];
    let at = bytes.windows(row.len()).position(|window| window == row).expect("the row is there");
    bytes[at] = 12;
    std::fs::write(&place.path, &bytes).expect("the file is written");
    assert_eq!(by_sqlite(&place.path, "word"), None);
    for answer in read::<Word>(&place.path) {
        assert_eq!(answer.expect_err("the row is damaged").kind(), ErrorKind::Damaged);
    }
}
