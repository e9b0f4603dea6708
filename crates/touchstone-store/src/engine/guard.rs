//! The guard of a connection that is lent to a program's own SQL. It refuses SQL that would end the store's
//! transaction, make the file another kind of file, or spoil the connection for its next user. SQLite asks the guard
//! before it prepares a statement, and a refusal names the remedy. The store's own statements are never checked.
//!
//! The guard is an authorizer, and a hook that refuses commits. Each lending sets the guard, and its end removes the
//! guard and restores settings that the program changed by pragmas. A program can replace both callbacks within one
//! lending, with functions of rusqlite's feature `hooks` or of SQLite itself; then nothing is refused until that
//! lending ends.

use super::authorizer::{Act, Authorizer};
use super::connection::Connection;
use super::settings::ChangedSettings;
use libsqlite3_sys as ffi;
use std::cell::Cell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

/// The prefix of the names of the store's own savepoints, tables and modules.
const OWN: &str = "touchstone";

unsafe extern "C" {
    fn touchstone_ask(connection: *mut ffi::sqlite3, authorizer: Option<Authorizer>, argument: *mut c_void);
    fn touchstone_refuse(connection: *mut ffi::sqlite3, why: *const c_char) -> c_int;
    fn touchstone_forget_copies(connection: *mut ffi::sqlite3);
    fn touchstone_savepoints(connection: *mut ffi::sqlite3) -> c_int;
    fn touchstone_release_savepoints(connection: *mut ffi::sqlite3, left: c_int);
}

/// The state of one connection's guard. The authorizer has a pointer to it, so it must not move.
#[derive(Default)]
pub(crate) struct Guard {
    is_lent: Cell<bool>,
    /// Whether a program has attached files, which are detached when the transaction ends.
    pub(super) has_attached: Cell<bool>,
    changed: ChangedSettings,
    connection: Cell<Option<ptr::NonNull<ffi::sqlite3>>>,
}

/// A connection that is lent to a program until this is dropped.
pub(crate) struct Lent<'c> {
    connection: &'c Connection,
    was_lent: bool,
    savepoints: c_int,
}

impl<'c> Lent<'c> {
    /// Sets the guard. Lendings may nest: a program may ask for SQL within its SQL.
    pub(super) fn new(connection: &'c Connection) -> Lent<'c> {
        let (handle, guard) = (connection.handle(), &*connection.guard);
        guard.connection.set(ptr::NonNull::new(handle));
        let was_lent = guard.is_lent.replace(true);
        // SAFETY: the connection is open.
        let savepoints = unsafe { touchstone_savepoints(handle) };
        // SAFETY: the connection is open, and the guard outlives it. Prepared statements are not checked again.
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
        // SAFETY: the connection is open, and the guard outlives it.
        unsafe {
            touchstone_ask(handle, None, ptr::null_mut());
            ffi::sqlite3_commit_hook(handle, None, ptr::null_mut());
            touchstone_release_savepoints(handle, self.savepoints);
        }
        self.connection.set_callbacks();
        guard.is_lent.set(self.was_lent);
        if self.was_lent {
            // SAFETY: as above.
            unsafe { set(handle, guard) };
        } else {
            // SAFETY: as above; no authorizer is set any more. A backup that the program began is unused: it borrowed
            // the connection, lent until now. The next commit would go to its target too, which may be freed.
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
    // SAFETY: the caller's promise; both callbacks change only fields that may change behind `&`.
    unsafe {
        touchstone_ask(connection, Some(ask), argument);
        ffi::sqlite3_commit_hook(connection, Some(commits), argument);
    }
}

/// Makes SQLite refuse to damage a file from within: writes to raw pages and to shadow tables of virtual tables.
///
/// # Safety
/// The connection is open.
pub(super) unsafe fn defend(connection: *mut ffi::sqlite3) {
    let (on, answer): (c_int, *mut c_int) = (1, ptr::null_mut());
    // SAFETY: the caller's promise; these are the arguments of this setting.
    unsafe { ffi::sqlite3_db_config(connection, ffi::SQLITE_DBCONFIG_DEFENSIVE, on, answer) };
}

/// SQLite calls it before a lent connection commits. Nothing commits during a lending unless the transaction has ended
/// already, and a statement is about to be a transaction of its own.
unsafe extern "C" fn commits(guard: *mut c_void) -> c_int {
    // SAFETY: it is the argument that the hook was set with, which outlives the connection.
    let guard = unsafe { &*guard.cast::<Guard>().cast_const() };
    c_int::from(guard.is_lent.get())
}

/// SQLite calls it for each action of a statement, while it prepares the statement.
unsafe extern "C" fn ask(
    guard: *mut c_void,
    action: c_int,
    first: *const c_char,
    second: *const c_char,
    database: *const c_char,
    _within: *const c_char,
) -> c_int {
    // SAFETY: it is the argument that the authorizer was set with, which outlives the connection.
    let guard = unsafe { &*guard.cast::<Guard>().cast_const() };
    let Some(connection) = guard.connection.get().filter(|_| guard.is_lent.get()) else {
        return ffi::SQLITE_OK;
    };
    // SAFETY: SQLite passes these values, for this call.
    let act = unsafe { Act::new(action, first, second, database) };
    // SAFETY: the connection is open: it makes this call.
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
    /// The reason and the remedy if the action is refused.
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
        // A pragma without a value only asks, except for one that acts.
        if self.second.is_none() && !name.eq_ignore_ascii_case("wal_checkpoint") {
            return None;
        }
        // An attached file has settings of its own.
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

    /// Whether the action changes data that a transaction has to commit. A setting does not: without a transaction
    /// SQLite resets `defer_foreign_keys` at the next statement that reads, the look at the schema after each call.
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

/// Pragmas that apply to one file.
const OF_THE_FILE: [&str; 5] = ["user_version", "application_id", "page_size", "auto_vacuum", "cache_size"];

/// The pragmas that SQL cannot set, each with the reason and the remedy.
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
