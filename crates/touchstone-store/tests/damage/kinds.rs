//! Of which kind an error is that damage leads to: a program that is told that nothing is there may make it anew.

use crate::faults::checksum;
use crate::file::File;
use crate::place::place;
use touchstone_store::{ErrorKind, Record, Result, Store};

#[derive(Record, Clone, Debug, PartialEq)]
struct Note {
    #[record(key)]
    id: i64,
    text: String,
}

fn notes() -> Vec<Note> {
    (0..10).map(|id| Note { id, text: format!("note {id}") }).collect()
}

/// Changes bytes about the place where a row of the schema begins.
type Damage = fn(&mut [u8], usize);

fn kind<R>(result: Result<R>) -> ErrorKind {
    result.map(drop).expect_err("this must fail").kind()
}

/// The store found no such table, and its next insert would have made another in the place of the pages that are there.
#[test]
fn a_schema_that_names_no_table_of_a_file_with_pages_is_damaged() {
    let mut file = File::of(&notes());
    file.bytes[103..105].fill(0);
    let store = file.open();
    assert_eq!(kind(store.all::<Note>()), ErrorKind::Damaged);
    assert_eq!(kind(store.get::<Note>(&1)), ErrorKind::Damaged);
    assert_eq!(kind(store.insert(&notes()[0])), ErrorKind::Damaged);
}

#[test]
fn a_store_whose_tables_were_all_dropped_is_whole() {
    let file = File::of(&notes());
    let store = file.open();
    store
        .write(|transaction| transaction.sql(|sql| sql.execute_batch("drop table note")))
        .expect("it is dropped");
    assert_eq!(store.all::<Note>().expect("there are none"), []);
    store.insert_all(&notes()).expect("the table is made again");
    assert_eq!(store.all::<Note>().expect("they are read"), notes());
}

/// SQLite reads what the schema's SQL says, and takes `Table`, or bytes, for `table`. Here there was no such table.
#[test]
fn a_table_that_sqlite_finds_is_found() {
    let by_case: Damage = |bytes, at| bytes[at] = b'T';
    let by_type: Damage = |bytes, at| {
        let header = (5..9).find(|length| usize::from(bytes[at - length]) == *length);
        // The type of a text of five letters becomes that of five bytes.
        let kind = at - header.expect("the header is before its values") + 1;
        assert_eq!(bytes[kind], 23);
        bytes[kind] = 22;
    };
    for damage in [by_case, by_type] {
        let mut file = File::of(&notes());
        let at = file.find(b"tablenotenote");
        damage(&mut file.bytes, at);
        let store = file.open();
        let count = store.read(|snapshot| {
            snapshot.sql(|sql| sql.query_row("select count(*) from note", (), |row| row.get::<_, i64>(0)))
        });
        assert_eq!(count.expect("SQLite finds it"), 10);
        assert_eq!(store.all::<Note>().expect("so does the store"), notes());
    }
}

/// A schema has no checksum: a column of another name is one that the table has not, as in a table of an older type. SQL
/// that names the column says so.
#[test]
fn a_column_that_has_another_name_is_one_that_is_not_there() {
    #[derive(Record, Clone, Debug, PartialEq)]
    struct Ranked {
        #[record(key)]
        id: i64,
        rank: Option<i64>,
    }
    let ranked = |id| Ranked { id, rank: Some(7) };
    let mut file = File::of(&[ranked(1), ranked(2)]);
    let at = file.find(b"\"rank\"");
    file.bytes[at + 1] = b'b';
    let store = file.open();
    let without = |id| Ranked { id, rank: None };
    assert_eq!(store.all::<Ranked>().expect("it is readable"), [without(1), without(2)]);
    let of_rank = store.read(|snapshot| snapshot.query::<Ranked>().filter(|row| row.rank.eq(7)).count());
    assert_eq!(of_rank.expect("it is readable"), 0);
    let by_sql = store.read(|snapshot| snapshot.sql(|sql| sql.execute_batch("select rank from ranked")));
    assert!(by_sql.expect_err("there is no such column").to_string().contains("rank"));
}

/// Where a root lies beyond the file, or the SQL is none, SQLite says so.
#[test]
fn a_schema_that_cannot_be_is_damaged() {
    let root: Damage = |bytes, at| bytes[at + 13] = 120;
    let sql: Damage = |bytes, at| bytes[at + 14] = b'X';
    for damage in [root, sql] {
        let mut file = File::of(&notes());
        let at = file.find(b"tablenotenote");
        damage(&mut file.bytes, at);
        std::fs::write(&file.place.path, &file.bytes).expect("the file is written");
        assert_eq!(
            kind(Store::open(&file.place.path).and_then(|store| store.all::<Note>())),
            ErrorKind::Damaged
        );
    }
}

/// `check` failed as a whole, with `Refused`, instead of telling what it found.
#[test]
fn a_damaged_name_of_a_collection_is_a_problem_of_the_file() {
    let place = place();
    let store = place.open();
    store
        .write(|transaction| transaction.collection::<Note>("inbox")?.insert(&notes()[1]))
        .expect("it goes in");
    drop(store);
    let mut bytes = std::fs::read(&place.path).expect("the file is there");
    let row = [3, 0, 23, b'i', b'n', b'b', b'o', b'x'];
    let at = bytes.windows(row.len()).position(|window| window == row).expect("the name is there");
    bytes[at + 2] = 22;
    std::fs::write(&place.path, &bytes).expect("the file is written");
    let report = place.open().check().records::<Note>().run().expect("the check runs");
    let told: Vec<String> = report.problems().iter().map(ToString::to_string).collect();
    assert!(told.iter().any(|problem| problem.contains("`touchstone_collections` is damaged")), "{told:?}");
}

/// It was told as a file that is not there.
#[test]
fn a_log_of_no_known_version_is_damaged() {
    let (place, copy) = (place(), place());
    let store = place.open();
    store.insert_all(&notes()).expect("they go in");
    let beside = |path: &std::path::Path| path.with_file_name("store.db-wal");
    let mut log = std::fs::read(beside(&place.path)).expect("the log is there");
    log[4..8].copy_from_slice(&7u32.to_be_bytes());
    let (first, second) = checksum(&log[..24], (0, 0), log[3] & 1 == 1);
    log[24..28].copy_from_slice(&first.to_be_bytes());
    log[28..32].copy_from_slice(&second.to_be_bytes());
    std::fs::copy(&place.path, &copy.path).expect("the file is copied");
    std::fs::write(beside(&copy.path), log).expect("the log is written");
    assert_eq!(kind(Store::open(&copy.path)), ErrorKind::Damaged);
}
