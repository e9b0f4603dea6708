//! What connections keep of pages in memory.

use rusqlite::Connection;
use rusqlite::ffi;
use touchstone_store::{Options, Record, Store};

#[derive(Record)]
struct Note {
    #[record(key)]
    id: i64,
    text: String,
}

/// About twelve mebibytes of notes.
fn opened(options: Options) -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().expect("a directory is made");
    let store = options.open(directory.path().join("notes.db")).expect("it opens");
    let note = |id| Note { id, text: "x".repeat(3_000) };
    store.insert_all(&(0..3_000).map(note).collect::<Vec<_>>()).expect("they go in");
    (directory, store)
}

/// The kibibytes that the connection may keep, and the bytes that it keeps.
fn kept(connection: &Connection) -> rusqlite::Result<(i64, usize)> {
    let (mut used, mut highest) = (0, 0);
    // SAFETY: the connection is open.
    let code = unsafe {
        let what = ffi::SQLITE_DBSTATUS_CACHE_USED;
        ffi::sqlite3_db_status(connection.handle(), what, &raw mut used, &raw mut highest, 0)
    };
    assert_eq!(code, ffi::SQLITE_OK);
    let most: i64 = connection.query_row("pragma cache_size", (), |row| row.get(0))?;
    Ok((-most, usize::try_from(used).unwrap_or(0)))
}

/// What the reader and the writer may keep in kibibytes, and the bytes that each keeps when it has read all notes.
fn after_reading(store: &Store) -> [(i64, usize); 2] {
    let by_reader = store.read(|snapshot| {
        assert_eq!(snapshot.query::<Note>().filter(|note| note.text.contains("y")).count()?, 0);
        snapshot.sql(kept)
    });
    let by_writer = store.write(|transaction| {
        assert_eq!(transaction.of::<Note>().query().filter(|note| note.text.contains("y")).count()?, 0);
        transaction.sql(kept)
    });
    [by_reader, by_writer].map(|kept| kept.expect("they are read"))
}

const MEBIBYTE: usize = 1 << 20;

#[test]
fn who_writes_keeps_more_than_who_reads() {
    let (_directory, store) = opened(Options::new());
    let [(reader, by_reader), (writer, by_writer)] = after_reading(&store);
    assert_eq!((reader, writer), (4 << 10, 16 << 10));
    assert!((3 * MEBIBYTE..5 * MEBIBYTE).contains(&by_reader), "{by_reader}");
    assert!((10 * MEBIBYTE..17 * MEBIBYTE).contains(&by_writer), "{by_writer}");
}

#[test]
fn a_program_says_what_each_connection_keeps() {
    let (_directory, store) = opened(Options::new().cache_bytes(1 << 20));
    for (most, bytes) in after_reading(&store) {
        assert_eq!(most, 1 << 10);
        assert!(bytes < 2 * MEBIBYTE, "{bytes}");
    }
}

#[test]
fn a_cache_that_no_memory_could_hold_is_the_greatest_that_there_is() {
    let directory = tempfile::tempdir().expect("a directory is made");
    let store = Options::new().cache_bytes(u64::MAX).open(directory.path().join("a.db")).expect("it opens");
    let most: i64 = store
        .read(|snapshot| snapshot.sql(|sql| sql.query_row("pragma cache_size", (), |row| row.get(0))))
        .expect("it is told");
    assert_eq!(most, -i64::from(i32::MAX));
}
