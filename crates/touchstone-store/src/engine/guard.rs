//! What a program's own SQL may not do while a connection is lent to it: what would end the store's transaction, make the
//! file another kind of file, or spoil the connection for whoever has it next. SQLite asks before it prepares a statement,
//! and the answer says what to do instead. The store's own statements are never asked about.
//!
//! The guard is set anew at each lending, and taken away at its end: an authorizer, and a hook that refuses commits. What the
//! program has set by pragmas is put back then.
//! A program can replace both within one lending, with functions of rusqlite's feature `hooks` or of SQLite itself; then
//! nothing is refused until that lending ends.

use super::authorizer::{Act, Authorizer};
use super::connection::Connection;
use super::settings::Changed;
use libsqlite3_sys as ffi;
use std::cell::Cell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

/// What the names of the store's own savepoints, tables and modules begin with.
const OWN: &str = "touchstone";

unsafe extern "C" {
    fn touchstone_ask(connection: *mut ffi::sqlite3, authorizer: Option<Authorizer>, argument: *mut c_void);
    fn touchstone_refuse(connection: *mut ffi::sqlite3, why: *const c_char) -> c_int;
    fn touchstone_forget_copies(connection: *mut ffi::sqlite3);
    fn touchstone_savepoints(connection: *mut ffi::sqlite3) -> c_int;
    fn touchstone_release_savepoints(connection: *mut ffi::sqlite3, left: c_int);
}

/// What one connection's guard knows. The authorizer is called with it, so it stays where it is.
#[derive(Default)]
pub(crate) struct Guard {
    is_lent: Cell<bool>,
    /// Whether a program has attached files, which are let go of when the transaction ends.
    pub(super) has_attached: Cell<bool>,
    changed: Changed,
    connection: Cell<Option<ptr::NonNull<ffi::sqlite3>>>,
}

/// A connection that a program has, until this is dropped.
pub(crate) struct Lent<'c> {
    connection: &'c Connection,
    was_lent: bool,
    savepoints: c_int,
}

impl<'c> Lent<'c> {
    /// Sets the guard. One lending may lie in another: a program may ask for SQL within its SQL.
    pub(super) fn new(connection: &'c Connection) -> Lent<'c> {
        let (handle, guard) = (connection.handle(), &*connection.guard);
        guard.connection.set(ptr::NonNull::new(handle));
        let was_lent = guard.is_lent.replace(true);
        // SAFETY: the connection is open.
        let savepoints = unsafe { touchstone_savepoints(handle) };
        // SAFETY: the connection is open, and the guard outlives it. A statement that is prepared is asked about no more.
        unsafe {
            defend(handle);
            set(handle, guard);
        }
        Lent { connection, was_lent, savepoints }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let (handle, guard) = (self.connection.handle(), &*self.connection.guard);
        // SAFETY: the connection is open, and the guard outlives it. What waits for a lock waits as before, whatever the
        // program has set.
        unsafe {
            touchstone_ask(handle, None, ptr::null_mut());
            ffi::sqlite3_commit_hook(handle, None, ptr::null_mut());
            touchstone_release_savepoints(handle, self.savepoints);
            self.connection.patience.teach(handle);
        }
        guard.is_lent.set(self.was_lent);
        if self.was_lent {
            // SAFETY: as above.
            unsafe { set(handle, guard) };
        } else {
            // SAFETY: as above; no authorizer is set any more. A copy that the program has begun is used by nobody any more: it has
            // borrowed the connection, which was lent until now. What is committed next would be copied, too, into what may be freed.
            unsafe {
                touchstone_forget_copies(handle);
                guard.changed.put_back(handle);
            }
        }
    }
}

/// # Safety
/// The connection is open, and the guard outlives it.
unsafe fn set(connection: *mut ffi::sqlite3, guard: &Guard) {
    let argument = ptr::from_ref(guard).cast_mut().cast();
    // SAFETY: the caller's promise; both change only what may change behind `&`.
    unsafe {
        touchstone_ask(connection, Some(ask), argument);
        ffi::sqlite3_commit_hook(connection, Some(commits), argument);
    }
}

/// Has SQLite refuse what damages a file from within: writes to raw pages and to tables of its virtual tables' own.
///
/// # Safety
/// The connection is open.
pub(super) unsafe fn defend(connection: *mut ffi::sqlite3) {
    let (on, answer): (c_int, *mut c_int) = (1, ptr::null_mut());
    // SAFETY: the caller's promise; these are the values that the setting takes.
    unsafe { ffi::sqlite3_db_config(connection, ffi::SQLITE_DBCONFIG_DEFENSIVE, on, answer) };
}

/// SQLite calls it before each commit of a lent connection, of which there is none: the transaction has ended already,
/// where a statement is about to be one of its own.
unsafe extern "C" fn commits(guard: *mut c_void) -> c_int {
    // SAFETY: it is what the hook was set with, which outlives the connection.
    let guard = unsafe { &*guard.cast::<Guard>().cast_const() };
    c_int::from(guard.is_lent.get())
}

/// SQLite calls it for each thing that a statement would do, while it prepares it.
unsafe extern "C" fn ask(
    guard: *mut c_void,
    action: c_int,
    first: *const c_char,
    second: *const c_char,
    database: *const c_char,
    _within: *const c_char,
) -> c_int {
    // SAFETY: it is what the authorizer was set with, which outlives the connection.
    let guard = unsafe { &*guard.cast::<Guard>().cast_const() };
    let Some(connection) = guard.connection.get().filter(|_| guard.is_lent.get()) else {
        return ffi::SQLITE_OK;
    };
    // SAFETY: these are what SQLite passes, for this call.
    let act = unsafe { Act::new(action, first, second, database) };
    // SAFETY: the connection is open: it is calling.
    let is_idle = unsafe { ffi::sqlite3_get_autocommit(connection.as_ptr()) != 0 };
    let why = if is_idle && act.writes() { Some(ENDED.to_owned()) } else { act.refusal() };
    if why.is_none() {
        guard.has_attached.set(guard.has_attached.get() || action == ffi::SQLITE_ATTACH);
        guard.changed.note(&act);
    }
    match why.map(CString::new) {
        None => ffi::SQLITE_OK,
        // SAFETY: the connection is preparing the statement.
        Some(Ok(why)) => unsafe { touchstone_refuse(connection.as_ptr(), why.as_ptr()) },
        Some(Err(_)) => ffi::SQLITE_DENY,
    }
}

const ENDED: &str =
    "the transaction has ended already, by a statement that failed and was rolled back: begin another";

impl Act<'_> {
    /// Why it is refused, if it is, and what to do instead.
    fn refusal(&self) -> Option<String> {
        let name = self.first.as_deref().unwrap_or_default();
        match self.action {
            ffi::SQLITE_PRAGMA => self.pragma(name),
            ffi::SQLITE_TRANSACTION => Some(format!(
                "`{}` in SQL cannot begin or end the transaction: it is committed when the closure of `Store::write` \
                 returns, and undone when that fails (`Transaction::savepoint` undoes a part)",
                name.to_ascii_lowercase()
            )),
            ffi::SQLITE_SAVEPOINT => self.savepoint(self.second.as_deref().unwrap_or_default()),
            ffi::SQLITE_INSERT | ffi::SQLITE_UPDATE | ffi::SQLITE_DELETE
                if name.eq_ignore_ascii_case("sqlite_dbpage") =>
            {
                Some(RAW_PAGES.to_owned())
            }
            ffi::SQLITE_CREATE_VTABLE => self.module(self.second.as_deref().unwrap_or_default()),
            ffi::SQLITE_FUNCTION
                if self
                    .second
                    .as_deref()
                    .is_some_and(|name| name.eq_ignore_ascii_case("sqlite3mc_config")) =>
            {
                Some(
                    "`sqlite3mc_config` cannot change the cipher of an open store (see `Options::cipher`)"
                        .to_owned(),
                )
            }
            _ => None,
        }
    }

    fn pragma(&self, name: &str) -> Option<String> {
        let is_it = |known: &str| name.eq_ignore_ascii_case(known);
        // Without a value it is a question, but for the one that acts.
        if self.second.is_none() && !name.eq_ignore_ascii_case("wal_checkpoint") {
            return None;
        }
        // Another file's are its own.
        let is_others =
            self.database.as_deref().is_some_and(|database| !database.eq_ignore_ascii_case("main"));
        if is_others && OF_THE_FILE.iter().any(|known| is_it(known)) {
            return None;
        }
        let (_, why) = PRAGMAS.iter().find(|(names, _)| names.iter().any(|known| is_it(known)))?;
        Some(format!("`pragma {}` is not set by SQL: {why}", name.to_ascii_lowercase()))
    }

    fn savepoint(&self, name: &str) -> Option<String> {
        is_own(name).then(|| format!("the savepoint `{name}` would be the store's own: give it another name"))
    }

    fn module(&self, module: &str) -> Option<String> {
        if module.eq_ignore_ascii_case("sqlite_dbpage") {
            return Some(RAW_PAGES.to_owned());
        }
        is_own(module).then(|| format!("the module `{module}` is the store's own: make a table of another"))
    }

    /// Whether it changes what a transaction would have to commit. A setting does not: without a transaction SQLite gives up
    /// `defer_foreign_keys` with the next statement that reads, which is the look at the schema after each call.
    fn writes(&self) -> bool {
        !matches!(
            self.action,
            ffi::SQLITE_SELECT
                | ffi::SQLITE_READ
                | ffi::SQLITE_FUNCTION
                | ffi::SQLITE_RECURSIVE
                | ffi::SQLITE_PRAGMA
        )
    }
}

fn is_own(name: &str) -> bool {
    name.get(..OWN.len()).is_some_and(|start| start.eq_ignore_ascii_case(OWN))
}

const RAW_PAGES: &str = "SQL cannot write raw pages: change rows with `insert`, `update` and `delete`";

/// Pragmas that are of one file.
const OF_THE_FILE: [&str; 5] = ["user_version", "application_id", "page_size", "auto_vacuum", "cache_size"];

/// What is not set, and what to do instead.
const PRAGMAS: [(&[&str], &str); 13] = [
    (
        &["user_version"],
        "it is the version of the store's format (keep a version of your own with `Transaction::set_user_version`)",
    ),
    (&["application_id"], "it says that the file is a store (leave it as it is)"),
    (
        &["journal_mode", "journal_size_limit", "wal_autocheckpoint", "wal_checkpoint"],
        "the store needs its log, and copies it by itself (`Options::checkpoint_pages` says when)",
    ),
    (
        &["locking_mode", "lock_proxy_file"],
        "the store's other connections would be shut out (open it with `Options::exclusive`)",
    ),
    (
        &["synchronous", "fullfsync", "checkpoint_fullfsync"],
        "what a commit survives is the store's class (see `Options::durability`)",
    ),
    (&["query_only"], "a snapshot reads, and a transaction writes (write with `Store::write`)"),
    (
        &["writable_schema", "schema_version"],
        "the schema is changed by statements (use `create`, `alter` and `drop`)",
    ),
    (&["encoding"], "a store's text is UTF-8 (leave it as it is)"),
    (&["busy_timeout"], "the store waits for others by itself (`Options::busy_timeout` says how long)"),
    (
        &["mmap_size", "max_page_count", "cache_size", "default_cache_size", "cache_spill"],
        "all later transactions would have it, too (`Options::cache_bytes` gives a connection more memory)",
    ),
    (
        &["page_size", "auto_vacuum"],
        "they are chosen when the file is made (`Options::page_size` says how large pages are)",
    ),
    (
        &["soft_heap_limit", "hard_heap_limit", "temp_store_directory", "data_store_directory"],
        "it is the whole process's (call SQLite's own functions for it)",
    ),
    (
        &[
            "key",
            "rekey",
            "hexkey",
            "hexrekey",
            "textkey",
            "textrekey",
            "cipher",
            "cipher_salt",
            "legacy",
            "legacy_page_size",
            "kdf_iter",
            "fast_kdf_iter",
            "kdf_algorithm",
            "hmac_use",
            "hmac_check",
            "hmac_pgno",
            "hmac_salt_mask",
            "hmac_algorithm",
            "plaintext_header_size",
            "mc_legacy_wal",
            "tcost",
            "mcost",
            "pcost",
            "algorithm",
        ],
        "the key is given when the store is opened (`Options::key`), and changed by `Store::change_key`",
    ),
];
