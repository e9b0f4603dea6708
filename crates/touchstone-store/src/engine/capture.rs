//! Reports which rows SQL changes while some work runs: SQLite's pre-update hook. It reports the key that a changed row
//! had and the key that it has, and old values on request. New values are read at the commit, so statements and
//! savepoints that are undone later do no harm.
//!
//! Each change in the database `main` is reported. Some reports are no changes: updates to the same values, rows of a
//! statement that fails, and both steps of `replace`, which deletes first. Changes by triggers, by foreign keys and by
//! writes to parts of a blob are reported too. While the hook is set, a `delete` without `where` deletes row by row.
//! Statements that are prepared meanwhile do so from then on.
//!
//! A table that is altered, renamed or dropped is not reported: no row changes, and the schema's version does. Raw
//! pages do not change: the guard refuses SQL that writes them (`guard.rs`).

use super::connection::Connection;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::value::{Raw, Value};
use libsqlite3_sys as ffi;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::{ptr, slice};

#[cfg(test)]
mod tests;

unsafe extern "C" {
    fn touchstone_expire_page_drops(connection: *mut ffi::sqlite3);
}

/// Receives the reports.
pub(crate) trait Sink {
    /// Called once with a table's name, as the file has it, when its first row changes. Returns the report that is
    /// wanted for each of its rows, or `None` if it is enough to know that rows change.
    fn table(&mut self, name: &str) -> Option<TableReport>;

    /// Called for each row of a table for which reports are wanted.
    fn change(&mut self, change: &HookedRow<'_>);
}

/// The report that is wanted for each row of a table.
#[derive(Clone, Debug)]
pub(crate) struct TableReport {
    /// The number that the sink gave to the table.
    pub(crate) table: usize,
    /// The columns of the key, by their positions in the declaration, from 0. If there are none, the number of the row
    /// is the key; a table without row numbers must have some.
    pub(crate) key: Arc<[c_int]>,
}

/// The kind of change of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Insert,
    Update,
    Delete,
}

/// A row that is about to change.
pub(crate) struct HookedRow<'h> {
    /// The number that the sink gave to the table.
    pub(crate) table: usize,
    pub(crate) operation: Operation,
    numbers: (i64, i64),
    key: &'h [c_int],
    connection: *mut ffi::sqlite3,
    /// Whether a part of a blob is written, for which SQLite has no new row. Such a blob is not in a key.
    is_part: bool,
    failure: &'h Cell<Option<c_int>>,
}

impl HookedRow<'_> {
    /// The key that the row had; `None` for a new row.
    #[inline]
    pub(crate) fn before(&self) -> Option<Key<'_>> {
        (self.operation != Operation::Insert).then_some(Key { change: self, is_new: false })
    }

    /// The values that the row had in these columns, NULL for `None`. Returns `None` if one of them cannot be read.
    pub(crate) fn old(&self, columns: &[Option<c_int>]) -> Option<Vec<Value>> {
        let key = Key { change: self, is_new: false };
        let value = |column: &Option<c_int>| match column {
            None => Some(Value::Null),
            Some(column) => Value::of_raw(key.value(*column)?),
        };
        columns.iter().map(value).collect()
    }

    /// The key that the row will have; `None` for a deleted row.
    #[inline]
    pub(crate) fn after(&self) -> Option<Key<'_>> {
        (self.operation != Operation::Delete).then_some(Key { change: self, is_new: true })
    }
}

/// A row's key before or after its change.
#[derive(Clone, Copy)]
pub(crate) struct Key<'c> {
    change: &'c HookedRow<'c>,
    is_new: bool,
}

impl<'c> Key<'c> {
    /// The row's number; 0 if the table's rows have none.
    #[inline]
    pub(crate) fn number(self) -> i64 {
        if self.is_new { self.change.numbers.1 } else { self.change.numbers.0 }
    }

    /// The values of the key's columns. The iterator ends early if one cannot be read, and notes the failure.
    #[inline]
    pub(crate) fn values(self) -> impl Iterator<Item = Raw<'c>> {
        self.change.key.iter().map_while(move |column| self.value(*column))
    }

    #[inline]
    fn value(self, column: c_int) -> Option<Raw<'c>> {
        let HookedRow { connection, is_part, failure, .. } = self.change;
        let mut value = ptr::null_mut();
        // SAFETY: the sink has the change only within the hook's call, in which SQLite answers.
        let code = unsafe {
            if self.is_new && !is_part {
                ffi::sqlite3_preupdate_new(*connection, column, &raw mut value)
            } else {
                ffi::sqlite3_preupdate_old(*connection, column, &raw mut value)
            }
        };
        if code != ffi::SQLITE_OK || value.is_null() {
            failure.set(Some(if code == ffi::SQLITE_OK { ffi::SQLITE_NOMEM } else { code }));
            return None;
        }
        // SAFETY: the value lasts until the hook's call ends, and so does the change.
        Some(unsafe { raw(value) })
    }
}

/// # Safety
/// The value lasts as long as the result, and nobody else uses it.
#[inline]
unsafe fn raw<'v>(value: *mut ffi::sqlite3_value) -> Raw<'v> {
    // SAFETY: the caller's promise. The length is read first: from then on, text of another encoding is UTF-8.
    unsafe {
        let kind = ffi::sqlite3_value_type(value);
        let bytes = || {
            let length = usize::try_from(ffi::sqlite3_value_bytes(value)).unwrap_or(0);
            let start: *const u8 = ffi::sqlite3_value_blob(value).cast();
            if start.is_null() { &[] } else { slice::from_raw_parts(start, length) }
        };
        match kind {
            ffi::SQLITE_INTEGER => Raw::Integer(ffi::sqlite3_value_int64(value)),
            ffi::SQLITE_FLOAT => Raw::Real(ffi::sqlite3_value_double(value)),
            ffi::SQLITE_TEXT => Raw::Text(bytes()),
            ffi::SQLITE_BLOB => Raw::Blob(bytes()),
            _ => Raw::Null,
        }
    }
}

/// Runs the work, and reports to the sink each row that SQL on the connection changes meanwhile. The second result is
/// an error if a report is missing: then anything may have changed.
///
/// # Panics
/// If the work or the sink panics. The hook is removed before.
pub(crate) fn while_captured<'s, R>(
    connection: &Connection,
    sink: &'s RefCell<dyn Sink + 's>,
    work: impl FnOnce() -> R,
) -> (R, Result<()>) {
    let hook = Hook {
        sink,
        seen: RefCell::default(),
        last: Cell::new(0),
        failure: Cell::new(None),
        lost: Cell::new(None),
        panic: Cell::new(None),
    };
    let set = HookGuard::new(connection.handle(), &hook);
    let result = work();
    let is_whole = set.take_back();
    if let Some(panic) = hook.panic.take() {
        resume_unwind(panic);
    }
    (result, hook.outcome(is_whole))
}

/// Why reports are missing.
#[derive(Clone, Copy, Debug)]
enum Lost {
    /// A value of a key could not be read.
    Value(c_int),
    /// The sink was borrowed while a row changed: its owner ran SQL.
    InUse,
}

/// A table of the scope, by the name that SQLite passes to the hook.
type Seen = (Box<[u8]>, Option<TableReport>);

/// The hook's argument.
struct Hook<'s> {
    sink: &'s RefCell<dyn Sink + 's>,
    seen: RefCell<Vec<Seen>>,
    /// The index in `seen` of the last row's table. The next row mostly has the same table.
    last: Cell<usize>,
    failure: Cell<Option<c_int>>,
    lost: Cell<Option<Lost>>,
    panic: Cell<Option<Box<dyn Any + Send>>>,
}

impl Hook<'_> {
    fn outcome(&self, is_whole: bool) -> Result<()> {
        let why = match self.lost.get() {
            Some(Lost::Value(code)) => {
                // SAFETY: the text for a code is a constant of SQLite's.
                let words = unsafe { CStr::from_ptr(ffi::sqlite3_errstr(code)) };
                format!("a changed row's key could not be read: {}", words.to_string_lossy())
            }
            Some(Lost::InUse) => "rows changed while a change was looked at".to_owned(),
            None if is_whole => return Ok(()),
            None => "the connection's pre-update hook was set by somebody else".to_owned(),
        };
        Err(Error::new(ErrorKind::Refused, format!("what changed cannot be followed: {why}")))
    }

    /// Reports a row to the sink.
    ///
    /// # Safety
    /// SQLite has called the hook with these arguments, and the call goes on.
    unsafe fn row(&self, connection: *mut ffi::sqlite3, operation: c_int, name: &CStr, numbers: (i64, i64)) {
        let Ok(mut sink) = self.sink.try_borrow_mut() else {
            self.lost.set(Some(Lost::InUse));
            return;
        };
        let mut seen = self.seen.borrow_mut();
        let name = name.to_bytes();
        let mut at = self.last.get();
        if seen.get(at).is_none_or(|(last, _)| **last != *name) {
            at = match seen.iter().position(|(known, _)| **known == *name) {
                Some(at) => at,
                None => {
                    let asked = sink.table(&String::from_utf8_lossy(name));
                    seen.push((name.into(), asked));
                    seen.len() - 1
                }
            };
            self.last.set(at);
        }
        if let Some(TableReport { table, key }) = &seen[at].1 {
            let failure = &self.failure;
            // SAFETY: the caller's promise.
            let is_part = operation == ffi::SQLITE_DELETE
                && unsafe { ffi::sqlite3_preupdate_blobwrite(connection) } >= 0;
            let operation = match operation {
                ffi::SQLITE_INSERT => Operation::Insert,
                ffi::SQLITE_DELETE if !is_part => Operation::Delete,
                _ => Operation::Update,
            };
            sink.change(&HookedRow { table: *table, operation, numbers, key, connection, is_part, failure });
            if let Some(code) = failure.get() {
                self.lost.set(Some(Lost::Value(code)));
            }
        }
    }
}

/// Sets the hook until this is dropped. Scopes must not nest: the reports of both would be incomplete.
struct HookGuard<'h, 's> {
    connection: *mut ffi::sqlite3,
    hook: &'h Hook<'s>,
    /// Whether no other hook was set before.
    is_alone: bool,
}

impl<'h, 's> HookGuard<'h, 's> {
    fn new(connection: *mut ffi::sqlite3, hook: &'h Hook<'s>) -> HookGuard<'h, 's> {
        let argument = ptr::from_ref(hook).cast_mut().cast();
        // SAFETY: the connection is open, and the hook is removed before its argument ends.
        let before = unsafe {
            touchstone_expire_page_drops(connection);
            ffi::sqlite3_preupdate_hook(connection, Some(changed), argument)
        };
        HookGuard { connection, hook, is_alone: before.is_null() }
    }

    /// Removes the hook; whether it was this one all the time.
    fn take_back(&self) -> bool {
        let ours: *const c_void = ptr::from_ref(self.hook).cast();
        ptr::eq(self.end(), ours) && self.is_alone
    }

    fn end(&self) -> *mut c_void {
        // SAFETY: the connection is open: its owner lent it for the scope.
        unsafe { ffi::sqlite3_preupdate_hook(self.connection, None, ptr::null_mut()) }
    }
}

impl Drop for HookGuard<'_, '_> {
    fn drop(&mut self) {
        self.end();
    }
}

unsafe extern "C" fn changed(
    hook: *mut c_void,
    connection: *mut ffi::sqlite3,
    operation: c_int,
    database: *const c_char,
    table: *const c_char,
    old: ffi::sqlite3_int64,
    new: ffi::sqlite3_int64,
) {
    // SAFETY: it is the argument that the hook was set with, which outlives the hook.
    let hook = unsafe { &*hook.cast::<Hook<'_>>().cast_const() };
    // SAFETY: SQLite passes names that end with a zero.
    let (database, table) = unsafe { (CStr::from_ptr(database), CStr::from_ptr(table)) };
    if database != c"main" || hook.lost.get().is_some() {
        return;
    }
    // SAFETY: this is SQLite's call.
    let told =
        catch_unwind(AssertUnwindSafe(|| unsafe { hook.row(connection, operation, table, (old, new)) }));
    if let Err(panic) = told {
        hook.lost.set(Some(Lost::InUse));
        hook.panic.set(Some(panic));
    }
}

/// Whether a statement may change other rows than it names, or not all of them: by triggers, foreign keys that act, or
/// constraints that replace, ignore or fail. The answer is good as long as the file's schema and the temporary one stay.
pub(crate) fn has_triggers_or_cascades(connection: &Connection) -> Result<bool> {
    // In lower case, because a program may have made `like` case-sensitive.
    const SQL: &str = "select exists (select 1 from main.sqlite_schema where type = 'trigger') \
        or exists (select 1 from temp.sqlite_schema where type = 'trigger') \
        or exists (select 1 from main.sqlite_schema where type = 'table' and lower(sql) like '%on%conflict%' and \
            (lower(sql) like '%replace%' or lower(sql) like '%ignore%' or lower(sql) like '%fail%')) \
        or exists ( \
            select 1 from main.sqlite_schema as made, pragma_foreign_key_list(made.name, 'main') as key \
            where made.type = 'table' and lower(made.sql) like '%references%' \
            and (select foreign_keys from pragma_foreign_keys) \
            and (key.on_update not in ('NO ACTION', 'RESTRICT') or key.on_delete not in ('NO ACTION', 'RESTRICT')))";
    Ok(connection.sql().query_row(SQL, (), |row| row.get(0))?)
}
