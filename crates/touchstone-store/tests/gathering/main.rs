//! What a transaction gathered for a log, and that was rolled back, is never written over what another program has
//! committed since: in the store's own file, in one that its SQL attached, and whatever hooks a program sets.
//!
//! The other program is this test program again, which opens the file as plain SQLite: without the store's VFS.

#[path = "../shim/mod.rs"]
mod shim;
#[path = "../workload/mod.rs"]
mod workload;

use rusqlite::{Connection, ffi};
use shim::{Event, Shim};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;
use tempfile::TempDir;
use touchstone_store::{Error, ErrorKind, Options, Record, Result, Store};

/// Names the file in which the other program is to commit.
const ORDERS: &str = "TOUCHSTONE_COMMITS_IN";
/// What the other program commits: as much as was rolled back, and other bytes.
const OTHERS: i64 = 40;

#[derive(Record, Clone, Debug, PartialEq)]
struct Note {
    #[record(key)]
    id: i64,
    text: String,
}

/// A folder with two stores that nobody has open, and whose logs are gone.
struct Place {
    _directory: TempDir,
    own: PathBuf,
    attached: PathBuf,
}

fn place() -> Place {
    let directory = tempfile::tempdir().expect("there is room");
    let (own, attached) = (directory.path().join("own.db"), directory.path().join("attached.db"));
    let notes: Vec<Note> = (0..40).map(|id| Note { id, text: "a".repeat(1900) }).collect();
    for path in [&own, &attached] {
        Store::open(path).expect("it opens").insert_all(&notes).expect("they are written");
    }
    Place { _directory: directory, own, attached }
}

/// Lets another process commit, and end without closing the file: so the log stays, with all that it has committed.
fn let_another_commit(path: &Path, test: &str) {
    let child = Command::new(std::env::current_exe().expect("it has a name"))
        .args(["--exact", test, "--nocapture"])
        .env(ORDERS, path)
        .output()
        .expect("it can be started");
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
}

/// What the other process does, if this is it.
fn commit_if_told() {
    let Some(path) = std::env::var_os(ORDERS) else { return };
    let plain = Connection::open(path).expect("it opens");
    plain.execute_batch("begin immediate").expect("nobody else writes");
    for id in 1000..1000 + OTHERS {
        plain
            .execute("insert into note (id, text) values (?1, ?2)", (id, "B".repeat(3000)))
            .expect("it is written");
    }
    plain.execute_batch("commit").expect("it is committed");
    assert_eq!(found(&plain), (40 + OTHERS, OTHERS, "ok".to_owned()));
    std::process::exit(0);
}

/// The rows, those of the other process, and whether the file is whole.
fn found(plain: &Connection) -> (i64, i64, String) {
    let counts = "select count(*), count(*) filter (where id >= 1000 and length(text) = 3000) from note";
    let (all, others) = plain
        .query_row(counts, (), |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap_or_else(|error| panic!("the file cannot be read: {error}"));
    let whole = plain.query_row("pragma integrity_check", (), |row| row.get(0)).expect("it can be asked");
    (all, others, whole)
}

/// The file as it is after a crash of every program that has it open.
fn found_after_a_crash(path: &Path) -> (i64, i64, String) {
    let directory = tempfile::tempdir().expect("there is room");
    let copy = directory.path().join("copy.db");
    let log = |path: &Path| PathBuf::from(format!("{}-wal", path.display()));
    // Whoever closes an attached file last has copied its log into it.
    if log(path).exists() {
        std::fs::copy(log(path), log(&copy)).expect("there is room");
    }
    std::fs::copy(path, &copy).expect("there is room");
    found(&Connection::open(copy).expect("it opens"))
}

fn never_mind<R>() -> Result<R> {
    Err(Error::new(ErrorKind::Invalid, "never mind"))
}

/// Pages that were there, more than the cache holds, and none that are new: then page 1 is not read from the log while
/// it is rolled back, which would write what was gathered in time.
fn change_and_undo(store: &Store, change: &str, before_the_end: impl Fn(&Connection)) {
    let undone: Result<()> = store.write(|transaction| {
        transaction.sql(|sql| {
            sql.execute_batch(change)?;
            before_the_end(sql);
            Ok(())
        })?;
        never_mind()
    });
    assert_eq!(undone.map_err(|error| error.kind()), Err(ErrorKind::Invalid));
}

/// The hook was told of the store's own log only.
#[test]
fn an_attached_file_keeps_what_another_program_commits_after_a_rollback() {
    commit_if_told();
    let place = place();
    let store = Store::open(&place.own).expect("it opens");
    // What a transaction has attached is let go of when it ends.
    let attach = format!("attach '{}' as other; pragma other.cache_size = 5", place.attached.display());
    let change = format!("{attach}; update other.note set text = 'X' || substr(text, 2) where id < 24");
    change_and_undo(&store, &change, |_| {});
    let_another_commit(
        &place.attached,
        "an_attached_file_keeps_what_another_program_commits_after_a_rollback",
    );
    let read = store.write(|transaction| {
        transaction.sql(|sql| {
            sql.execute_batch(&attach)?;
            sql.query_row("select count(*) from other.note", (), |row| row.get::<_, i64>(0))
        })
    });
    assert_eq!(read.expect("it is readable"), 40 + OTHERS);
    let expected = (40 + OTHERS, OTHERS, "ok".to_owned());
    assert_eq!(found(&Connection::open(&place.attached).expect("it opens")), expected);
    assert_eq!(found_after_a_crash(&place.attached), expected);
}

/// A program may set a hook of its own, through rusqlite's feature for it; then the store's own was gone.
#[test]
fn a_program_that_replaces_the_rollback_hook_destroys_nothing() {
    commit_if_told();
    let place = place();
    let store = Options::new().cache_bytes(20_000).open(&place.own).expect("it opens");
    change_and_undo(&store, "update note set text = 'X' || substr(text, 2) where id < 24", |sql| {
        // SAFETY: the connection is open. No hook is called with nothing.
        unsafe { ffi::sqlite3_rollback_hook(sql.handle(), None, ptr::null_mut()) };
    });
    let_another_commit(&place.own, "a_program_that_replaces_the_rollback_hook_destroys_nothing");
    // The same connection, which would have written first what it had gathered.
    let added = Note { id: 2000, text: "one more".into() };
    store.insert(&added).expect("it is written");
    assert_eq!(store.all::<Note>().expect("it is readable").len() as i64, 41 + OTHERS);
    let expected = (41 + OTHERS, OTHERS, "ok".to_owned());
    assert_eq!(found(&Connection::open(&place.own).expect("it opens")), expected);
    assert_eq!(found_after_a_crash(&place.own), expected);
}

/// What this is all for: the frames of a commit reach the file together.
#[test]
fn a_commit_of_many_pages_is_one_write_to_the_log() {
    let shim = Shim::register(false, false);
    let directory = tempfile::tempdir().expect("there is room");
    let options = Options::new().checkpoint_pages(u32::MAX).vfs(shim.name());
    let store = options.open(directory.path().join("notes.db")).expect("it opens");
    let notes = |text: &str| (0..10).map(|id| Note { id, text: text.repeat(3000) }).collect::<Vec<Note>>();
    store.insert_all(&notes("a")).expect("they are written");
    shim.record();
    store.put_all(&notes("b")).expect("they are written");
    let events = shim.take_events();
    let lengths: Vec<usize> = events
        .iter()
        .filter_map(|event| match event {
            Event::Write { file, bytes, .. } if file.ends_with("-wal") => Some(bytes.len()),
            _ => None,
        })
        .collect();
    assert_eq!(lengths.len(), 1, "{lengths:?}");
    assert!(lengths[0] > 10 * 4096, "{lengths:?}");
}
