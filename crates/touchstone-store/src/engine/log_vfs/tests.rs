//! A connection that holds the whole file, as none does that a store lends to a program; and a program's own VFSes.

use super::*;
use crate::engine::connection::Connection;
use crate::types::options::Options;
use std::cell::Cell;
use std::path::Path;
use std::process::Command;

/// Names the file in which the other process commits.
const ORDERS: &str = "TOUCHSTONE_TEST_COMMITS_IN";

/// Does nothing in the test's own process.
#[test]
fn the_other_process() {
    let Some(path) = std::env::var_os(ORDERS) else { return };
    let plain = rusqlite::Connection::open(path).expect("it opens");
    plain.execute_batch("insert into t select 'B' || substr(a, 2) from t").expect("it is committed");
    // The file is not closed, so its log stays, with all commits.
    std::process::exit(0);
}

fn let_another_commit(path: &Path) {
    let child = Command::new(std::env::current_exe().expect("it has a name"))
        .args(["--exact", "engine::log_vfs::tests::the_other_process"])
        .env(ORDERS, path)
        .status();
    assert!(child.expect("it can be started").success());
}

fn found(sql: &rusqlite::Connection) -> (i64, i64, String) {
    let counts = "select count(*), count(*) filter (where a glob 'B*') from t";
    let (all, others) =
        sql.query_row(counts, (), |row| Ok((row.get(0)?, row.get(1)?))).expect("it is readable");
    (all, others, sql.query_row("pragma integrity_check", (), |row| row.get(0)).expect("it is readable"))
}

/// Regression: a connection that holds the whole file releases no lock of the log's index. After it had released the
/// file, others wrote, and the bytes that it had gathered and rolled back were written over theirs.
#[test]
fn what_was_gathered_while_the_file_was_held_whole_is_forgotten_too() {
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("a.db");
    let rows = "with n (i) as (select 1 union all select i + 1 from n where i < 40) \
        insert into t select hex(zeroblob(950)) from n";
    let open = || Connection::open(&path, &Options::new().cache_bytes(20_000)).expect("it opens");
    open()
        .sql()
        .execute_batch(&format!("pragma journal_mode = wal; create table t (a); {rows}"))
        .expect("it runs");
    let connection = open();
    let sql = connection.sql();
    let undone = "select count(*) from t; pragma locking_mode = exclusive; \
        begin; update t set a = 'X' || substr(a, 2); rollback; \
        pragma locking_mode = normal; select count(*) from t";
    sql.execute_batch(undone).expect("it runs");
    let_another_commit(&path);
    assert_eq!(found(sql), (80, 40, "ok".to_owned()));
    assert_eq!(found(&rusqlite::Connection::open(&path).expect("it opens")), (80, 40, "ok".to_owned()));
}

thread_local! {
    /// The VFS that `symbol` was called with.
    static CALLED_WITH: Cell<*mut ffi::sqlite3_vfs> = const { Cell::new(ptr::null_mut()) };
}

unsafe extern "C" fn symbol(vfs: *mut ffi::sqlite3_vfs, _: *mut c_void, _: *const c_char) -> Symbol {
    CALLED_WITH.set(vfs);
    None
}

/// A program's own VFS, which does the same as the system's. It stays in memory.
fn register(name: &'static CStr) -> *mut ffi::sqlite3_vfs {
    // SAFETY: the system's VFS stays registered; the copy is leaked.
    unsafe {
        assert_eq!(ffi::sqlite3_initialize(), ffi::SQLITE_OK);
        let mut vfs = *ffi::sqlite3_vfs_find(c"unix".as_ptr());
        (vfs.zName, vfs.pNext) = (name.as_ptr(), ptr::null_mut());
        vfs.xDlSym = Some(symbol);
        let vfs = Box::into_raw(Box::new(vfs));
        assert_eq!(ffi::sqlite3_vfs_register(vfs, 0), ffi::SQLITE_OK);
        vfs
    }
}

/// Regression: the method was called with the VFS over its own, which lacks the method's data.
#[test]
fn a_method_is_called_with_its_own_vfs() {
    let below = register(c"test-symbols");
    let name = over(c"test-symbols").expect("it is registered");
    // SAFETY: both VFSes are registered.
    unsafe {
        let made = ffi::sqlite3_vfs_find(name.as_ptr());
        let method = (*made).xDlSym.expect("the one below has it");
        assert!(method(made, ptr::null_mut(), c"main".as_ptr()).is_none());
    }
    assert!(ptr::eq(CALLED_WITH.get(), below));
}

/// Regression: a VFS that was gone was called, in memory that may have been used again.
#[test]
fn a_vfs_that_was_unregistered_is_used_for_no_new_connection() {
    let below = register(c"test-gone");
    let first = over(c"test-gone").expect("it is registered");
    assert_eq!(over(c"test-gone"), Ok(first.clone()));
    // SAFETY: it is registered, and stays in memory.
    unsafe { ffi::sqlite3_vfs_unregister(below) };
    assert_eq!(over(c"test-gone"), Err(NoVfs::Unknown));
    register(c"test-gone");
    assert_eq!(over(c"test-gone"), Err(NoVfs::Replaced));
    let directory = tempfile::tempdir().expect("there is room");
    let error =
        Options::new().vfs("test-gone").open(directory.path().join("a.db")).expect_err("it is another");
    assert_eq!(error.kind(), crate::ErrorKind::Invalid);
    assert!(error.to_string().contains("a name of its own"), "{error}");
}

/// A connection takes an empty file for a new one, and deletes the log beside it. The file may be cut off after the
/// store has looked at its length.
#[test]
fn a_log_that_is_open_is_not_deleted() {
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("a.db");
    let log = directory.path().join("a.db-wal");
    let open = || Connection::open(&path, &Options::new()).expect("it opens");
    let first = open();
    first.sql().execute_batch("pragma journal_mode = wal; create table t (a)").expect("it runs");
    let bytes = std::fs::read(&log).expect("it is there");
    std::fs::File::options().write(true).open(&path).and_then(|file| file.set_len(0)).expect("it is ours");
    let second = open();
    let told = second.header().expect_err("the file is cut off");
    assert_eq!(told.kind(), crate::ErrorKind::Damaged);
    assert_eq!(std::fs::read(&log).expect("it is there"), bytes);
    drop((first, second));
    assert!(!log.exists(), "the last connection deletes it");
}

/// Regression: a frame that was written again gave a log that was cut off its old length, without the frames before.
#[test]
fn a_frame_that_is_written_again_lies_in_no_hole() {
    const FRAME: [u8; 4096] = [1; 4096];
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("a.db");
    let connection = Connection::open(&path, &Options::new()).expect("it opens");
    connection
        .sql()
        .execute_batch("pragma journal_mode = wal; create table t (a); begin immediate")
        .expect("it runs");
    let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
    // SAFETY: the connection and its log are open, and the connection does not use the log meanwhile.
    let (size, write) = unsafe {
        let (order, place) = (ffi::SQLITE_FCNTL_JOURNAL_POINTER, (&raw mut file).cast());
        ffi::sqlite3_file_control(connection.handle(), c"main".as_ptr(), order, place);
        let methods = (*file).pMethods.as_ref().expect("it is open");
        (methods.xFileSize.expect("it is there"), methods.xWrite.expect("it is there"))
    };
    let mut end = 0;
    let mut write_at = |offset| {
        // SAFETY: as above.
        unsafe { (write(file, FRAME.as_ptr().cast(), 4096, offset), size(file, &raw mut end)) }
    };
    let log = directory.path().join("a.db-wal");
    let bytes = || std::fs::metadata(&log).expect("it is there").len();
    let begin = i64::try_from(bytes()).expect("it is short");
    assert_eq!(write_at(begin), (ffi::SQLITE_OK, ffi::SQLITE_OK));
    assert_eq!(write_at(begin), (ffi::SQLITE_OK, ffi::SQLITE_OK), "once more");
    std::fs::File::options().write(true).open(&log).and_then(|file| file.set_len(0)).expect("it is ours");
    assert_eq!(write_at(begin), (ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_OK));
    assert_eq!(bytes(), 0);
}
