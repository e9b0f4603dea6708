//! What connections keep of pages in memory.

use rusqlite::Connection;
use rusqlite::ffi;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
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

/// How often the connection has read a page from the file or the log.
fn misses(connection: &Connection) -> rusqlite::Result<i32> {
    let (mut now, mut most) = (0, 0);
    // SAFETY: the connection is open.
    let code = unsafe {
        let what = ffi::SQLITE_DBSTATUS_CACHE_MISS;
        ffi::sqlite3_db_status(connection.handle(), what, &raw mut now, &raw mut most, 0)
    };
    assert_eq!(code, ffi::SQLITE_OK);
    Ok(now)
}

/// Reads every note, and tells the texts' first characters by id, and how many pages were read for that.
fn texts(store: &Store) -> (BTreeMap<i64, char>, i32) {
    let read = store.read(|snapshot| {
        let before = snapshot.sql(misses)?;
        let notes = snapshot.of::<Note>().all()?;
        let initial = |note: &Note| note.text.chars().next().unwrap_or(' ');
        let texts = notes.iter().map(|note| (note.id, initial(note))).collect();
        Ok((texts, snapshot.sql(misses)? - before))
    });
    read.expect("they are read")
}

fn note(id: i64, initial: char) -> Note {
    Note { id, text: initial.to_string().repeat(300) }
}

#[test]
fn a_commit_voids_no_page_that_it_did_not_write() {
    let directory = tempfile::tempdir().expect("a directory is made");
    let store = Store::open(directory.path().join("notes.db")).expect("it opens");
    filled(&store);
    let (_, at_first) = texts(&store);
    assert!(at_first > 200, "all pages are read once: {at_first}");
    for id in [7, 1_500, 2_999] {
        assert!(store.replace(&note(id, 'b')).expect("it is replaced"));
        let (texts, read) = texts(&store);
        assert_eq!(texts[&id], 'b');
        assert!((1..=3).contains(&read), "of {at_first} pages one was written, and {read} were read");
    }
}

/// What another connection may do to the pages that a reader keeps: write them, free them, use them again, cut the file,
/// move them, copy the log into the file and begin it anew.
#[test]
fn a_reader_that_keeps_pages_sees_what_others_did_to_each() {
    let directory = tempfile::tempdir().expect("a directory is made");
    let path = directory.path().join("notes.db");
    let store = Options::new().cache_bytes(1 << 20).open(&path).expect("it opens");
    store.put(&note(0, 'a')).expect("it goes in");
    let other = Connection::open(&path).expect("it opens");
    let mut model = texts(&store).0;
    let mut chance = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: i64| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(chance >> 33).unwrap_or(0) % below
    };
    let mut kept = 0;
    for round in 0..400 {
        let (from, count) = (random(2_000), 1 + random(if round % 5 == 0 { 800 } else { 12 }));
        let initial = char::from(b'a' + u8::try_from(random(26)).unwrap_or(0));
        match random(12) {
            0 => other.execute_batch("vacuum").expect("it is made anew"),
            1 => copy_log(&other),
            2..5 => {
                let sql = "delete from note where id between ?1 and ?2";
                other.execute(sql, (from, from + count - 1)).expect("they are removed");
                model.retain(|id, _| !(from..from + count).contains(id));
            }
            _ => {
                let notes: Vec<_> = (from..from + count).map(|id| note(id, initial)).collect();
                store.put_all(&notes).expect("they are put");
                model.extend(notes.iter().map(|note| (note.id, initial)));
            }
        }
        let (found, read) = texts(&store);
        assert!(found == model, "round {round}");
        kept += u32::from(read < 20 && model.len() > 500);
        let whole: String = store
            .read(|snapshot| {
                snapshot.sql(|sql| sql.query_row("pragma integrity_check", (), |row| row.get(0)))
            })
            .expect("it is checked");
        assert_eq!(whole, "ok", "round {round}");
    }
    assert!(kept > 50, "in {kept} rounds pages were kept");
}

/// Fills a store with notes, and tells the texts' first characters by id.
fn filled(store: &Store) -> BTreeMap<i64, char> {
    store.insert_all(&(0..3_000).map(|id| note(id, 'a')).collect::<Vec<_>>()).expect("they go in");
    (0..3_000).map(|id| (id, 'a')).collect()
}

fn copy_log(connection: &Connection) {
    let copy = "pragma wal_checkpoint(truncate)";
    connection.query_row(copy, (), |_| Ok(())).expect("the log is copied");
}

/// The frames of a log that was begun anew are others than those that had their numbers before.
#[test]
fn a_log_that_begins_anew_has_other_frames() {
    let directory = tempfile::tempdir().expect("a directory is made");
    let path = directory.path().join("notes.db");
    let store = Store::open(&path).expect("it opens");
    let mut model = filled(&store);
    let other = Connection::open(&path).expect("it opens");
    for (round, initial) in (0..20).zip(('b'..='z').cycle()) {
        // A log of one frame, and then another of ten.
        for count in [1, 10] {
            copy_log(&other);
            let ids = (0..count).map(|at| (at * 290 + round * 13) % 3_000);
            let notes: Vec<_> = ids.map(|id| note(id, initial)).collect();
            store.put_all(&notes).expect("they are put");
            model.extend(notes.iter().map(|note| (note.id, initial)));
            assert!(texts(&store).0 == model, "round {round}, {count} frames");
        }
    }
}

/// The first region of the log's index has the pages of 4,062 frames, and each after it those of 4,096.
#[test]
fn pages_are_kept_however_long_the_log_is() {
    let directory = tempfile::tempdir().expect("a directory is made");
    let path = directory.path().join("notes.db");
    let store = Options::new().log_bytes_max(1 << 30).open(&path).expect("it opens");
    store.put(&note(0, 'a')).expect("it is put");
    // While somebody reads what was there at first, the log does not begin anew.
    let other = Connection::open(&path).expect("it opens");
    other.execute_batch("begin; select * from note").expect("it is read");
    let (mut model, mut kept) = (BTreeMap::new(), 0);
    for initial in 'a'..='t' {
        store.put_all(&(0..3_000).map(|id| note(id, initial)).collect::<Vec<_>>()).expect("they are put");
        for id in [0, 1_111, 2_998] {
            model.extend((0..3_000).map(|id| (id, initial)));
            model.insert(id, 'x');
            store.put_all(&[note(id, 'x')]).expect("it is put");
            texts(&store);
            store.put_all(&[note(id, initial), note(id + 1, 'y')]).expect("they are put");
            model.extend([(id, initial), (id + 1, 'y')]);
            let (found, read) = texts(&store);
            assert!(found == model, "{initial}");
            kept += u32::from(read < 6);
            store.put(&note(id + 1, initial)).expect("it is put");
        }
    }
    // A region that the reader has not mapped yet is one whose pages it does not know.
    assert!(kept >= 55, "in {kept} of 60 rounds pages were kept");
    let log = std::fs::metadata(directory.path().join("notes.db-wal")).expect("it is there").len();
    assert!(log > 4_200 * 4_096, "the log has {log} bytes");
}

/// SQLite's full-text search keeps what it read for as long as the data's version is the same.
#[test]
fn a_reader_that_keeps_pages_knows_that_the_data_changed() {
    let directory = tempfile::tempdir().expect("a directory is made");
    let store = Store::open(directory.path().join("words.db")).expect("it opens");
    let write = |sql: &'static str| {
        store
            .write(|transaction| transaction.sql(|sqlite| sqlite.execute_batch(sql)))
            .expect("it is written");
    };
    let found = |word: &str| -> (i64, i64) {
        let asked = store.read(|snapshot| {
            snapshot.sql(|sqlite| {
                let count = "select count(*) from words where words match ?1";
                let version = sqlite.query_row("pragma data_version", (), |row| row.get(0))?;
                Ok((version, sqlite.query_row(count, [word], |row| row.get(0))?))
            })
        });
        asked.expect("it is asked")
    };
    write("create virtual table words using fts5(word); insert into words values ('one'), ('two')");
    let mut before = found("three");
    assert_eq!(before.1, 0);
    for (count, sql) in [
        (1, "insert into words values ('three')"),
        (2, "insert into words values ('three')"),
        (0, "delete from words where words match 'three'"),
    ] {
        write(sql);
        let after = found("three");
        assert_eq!(after.1, count, "{sql}");
        assert_ne!(after.0, before.0, "{sql}");
        before = after;
    }
}

/// A log whose last commits cannot be read, as a writer of an older SQLite may leave it, is recovered to less than it was where
/// a writer is killed while it writes the index's header. The frames that follow have the numbers of those that are lost.
#[test]
fn a_log_that_lost_frames_has_others_in_their_place() {
    let directory = tempfile::tempdir().expect("a directory is made");
    let path = directory.path().join("notes.db");
    let store = Store::open(&path).expect("it opens");
    let mut model = filled(&store);
    let other = Connection::open(&path).expect("it opens");
    copy_log(&other);
    store.put(&note(0, 'b')).expect("it is put");
    model.insert(0, 'b');
    let kept = directory.path().join("notes.db-wal").metadata().expect("it is there").len();
    store.put(&note(1_500, 'c')).expect("it is put");
    assert_eq!(texts(&store).0[&1_500], 'c');

    lose_frames(&path, kept);
    for id in [1, 2_999] {
        let text = "d".repeat(300);
        other.execute("update note set text = ?2 where id = ?1", (id, text)).expect("it is written");
        model.insert(id, 'd');
    }
    assert!(texts(&store).0 == model, "what was lost is not read");
}

/// Spoils what the log has from there on, and the header of its index.
fn lose_frames(path: &Path, from: u64) {
    let open = |end: &str| {
        let name = path.with_extension(end);
        OpenOptions::new().write(true).open(name).expect("it opens")
    };
    let mut log = open("db-wal");
    log.seek(SeekFrom::Start(from)).expect("it is as long");
    log.write_all(&[0xff; 24]).expect("it is written");
    open("db-shm").write_all(&[0xff; 48]).expect("it is written");
}
