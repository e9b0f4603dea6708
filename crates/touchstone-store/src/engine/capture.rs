//! Which rows SQL changes: SQLite's pre-update hook, for as long as some work runs. It tells the key that a changed row
//! had and the key that it has, and no other value: those are read when it is committed, which also puts right what
//! the hook tells of statements and savepoints that are undone later.
//!
//! What is told is at least what is changed in the database `main`. More is told than that: updates to the same
//! values, rows of a statement that fails, and both steps of `replace`, which deletes first. Told is also what triggers
//! and foreign keys do, and a blob that is written in parts. While the hook is set, `delete` without `where` deletes row
//! by row, as do statements that were prepared meanwhile.
//!
//! Not told is what changes no row by itself: a table that is altered, renamed or dropped (the schema's version tells).
//! Raw pages are written by nobody: SQL that is lent may not (`guard.rs`).

use super::connection::Connection;
use crate::derived::Stored;
use crate::error::{Error, ErrorKind, Result};
use crate::value::Raw;
use libsqlite3_sys as ffi;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::{ptr, slice};

#[cfg(test)]
mod tests;

unsafe extern "C" {
    fn touchstone_expire_page_drops(connection: *mut ffi::sqlite3);
}

/// Takes what is changed.
pub(crate) trait Sink {
    /// A table's name, as the file has it: asked for once, when its first row is changed. What is to be told of its
    /// rows; none where it is enough to know that there are some.
    fn table(&mut self, name: &str) -> Option<Asked>;

    /// A row of a table that was asked for.
    fn change(&mut self, change: &Change<'_>);
}

/// What is to be told of a table's rows.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The table's number among the sink's own.
    pub(crate) table: usize,
    /// The columns of the key by their places in the declaration, from 0. A table without row numbers must have some;
    /// where there are none, the number of the row is the key.
    pub(crate) key: Rc<[c_int]>,
}

/// What happened to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Insert,
    Update,
    Delete,
}

/// A row that is about to change.
pub(crate) struct Change<'h> {
    /// The number that the sink gave to the table.
    pub(crate) table: usize,
    pub(crate) operation: Operation,
    numbers: (i64, i64),
    key: &'h [c_int],
    connection: *mut ffi::sqlite3,
    /// Whether it is a blob that is written in parts, of which SQLite knows no new row. It is no key's.
    is_part: bool,
    failure: &'h Cell<Option<c_int>>,
}

impl Change<'_> {
    /// The key that the row had; none of a row that is new.
    #[inline]
    pub(crate) fn before(&self) -> Option<Key<'_>> {
        (self.operation != Operation::Insert).then_some(Key { change: self, is_new: false })
    }

    /// The values that the row had in these columns, NULL for those that there are none of. None where one cannot be read.
    pub(crate) fn old(&self, columns: &[Option<c_int>]) -> Option<Vec<Stored>> {
        let key = Key { change: self, is_new: false };
        let value = |column: &Option<c_int>| match column {
            None => Some(Stored::Null),
            Some(column) => Stored::of_raw(key.value(*column)?),
        };
        columns.iter().map(value).collect()
    }

    /// The key that the row will have; none of a row that is deleted.
    #[inline]
    pub(crate) fn after(&self) -> Option<Key<'_>> {
        (self.operation != Operation::Delete).then_some(Key { change: self, is_new: true })
    }
}

/// A row's key before or after its change.
#[derive(Clone, Copy)]
pub(crate) struct Key<'c> {
    change: &'c Change<'c>,
    is_new: bool,
}

impl<'c> Key<'c> {
    /// The row's number; 0 where the table's rows have none.
    #[inline]
    pub(crate) fn number(self) -> i64 {
        if self.is_new { self.change.numbers.1 } else { self.change.numbers.0 }
    }

    /// The values of the columns that were asked for. It ends early where one cannot be read, which is remembered.
    #[inline]
    pub(crate) fn values(self) -> impl Iterator<Item = Raw<'c>> {
        self.change.key.iter().map_while(move |column| self.value(*column))
    }

    #[inline]
    fn value(self, column: c_int) -> Option<Raw<'c>> {
        let Change { connection, is_part, failure, .. } = self.change;
        let mut value = ptr::null_mut();
        // SAFETY: the change is lent to the sink inside the hook's call, where SQLite answers.
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
        // SAFETY: the value is there until the hook's call ends, and with it the change.
        Some(unsafe { raw(value) })
    }
}

/// # Safety
/// The value lasts as long as what is made of it, and nobody else uses it.
#[inline]
unsafe fn raw<'v>(value: *mut ffi::sqlite3_value) -> Raw<'v> {
    // SAFETY: the caller's promise. The length is asked for first: text of another encoding is UTF-8 from then on.
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

/// Runs the work, and tells the sink of every row that SQL on the connection changes meanwhile. The second answer is an
/// error where not all could be told: then anything may have changed.
///
/// # Panics
/// As the work and the sink do. The hook is gone then.
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
    let set = Set::new(connection.handle(), &hook);
    let result = work();
    let is_whole = set.take_back();
    if let Some(panic) = hook.panic.take() {
        resume_unwind(panic);
    }
    (result, hook.outcome(is_whole))
}

/// Why rows were not told.
#[derive(Clone, Copy, Debug)]
enum Lost {
    /// A value of a key could not be read.
    Value(c_int),
    /// The sink was in use while a row changed: its owner ran SQL.
    InUse,
}

/// A table of the scope, by the name that the hook is called with.
type Seen = (Box<[u8]>, Option<Asked>);

/// What the hook is called with.
struct Hook<'s> {
    sink: &'s RefCell<dyn Sink + 's>,
    seen: RefCell<Vec<Seen>>,
    /// Where among them the last row's table is: the next row's is mostly the same.
    last: Cell<usize>,
    failure: Cell<Option<c_int>>,
    lost: Cell<Option<Lost>>,
    panic: Cell<Option<Box<dyn Any + Send>>>,
}

impl Hook<'_> {
    fn outcome(&self, is_whole: bool) -> Result<()> {
        let why = match self.lost.get() {
            Some(Lost::Value(code)) => {
                // SAFETY: the text of a code is a constant of the engine.
                let words = unsafe { CStr::from_ptr(ffi::sqlite3_errstr(code)) };
                format!("a changed row's key could not be read: {}", words.to_string_lossy())
            }
            Some(Lost::InUse) => "rows changed while a change was looked at".to_owned(),
            None if is_whole => return Ok(()),
            None => "the connection's pre-update hook was set by somebody else".to_owned(),
        };
        Err(Error::new(ErrorKind::Refused, format!("what changed cannot be followed: {why}")))
    }

    /// Tells the sink of a row.
    ///
    /// # Safety
    /// SQLite has called the hook with that, and the call goes on.
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
        if let Some(Asked { table, key }) = &seen[at].1 {
            let failure = &self.failure;
            // SAFETY: the caller's promise.
            let is_part = operation == ffi::SQLITE_DELETE
                && unsafe { ffi::sqlite3_preupdate_blobwrite(connection) } >= 0;
            let operation = match operation {
                ffi::SQLITE_INSERT => Operation::Insert,
                ffi::SQLITE_DELETE if !is_part => Operation::Delete,
                _ => Operation::Update,
            };
            sink.change(&Change { table: *table, operation, numbers, key, connection, is_part, failure });
            if let Some(code) = failure.get() {
                self.lost.set(Some(Lost::Value(code)));
            }
        }
    }
}

/// The hook, set until this is dropped. Scopes do not lie in one another: neither would be whole.
struct Set<'h, 's> {
    connection: *mut ffi::sqlite3,
    hook: &'h Hook<'s>,
    /// Whether nobody else's hook was set before.
    is_alone: bool,
}

impl<'h, 's> Set<'h, 's> {
    fn new(connection: *mut ffi::sqlite3, hook: &'h Hook<'s>) -> Set<'h, 's> {
        let argument = ptr::from_ref(hook).cast_mut().cast();
        // SAFETY: the connection is open, and the hook is taken back before what it is called with is gone.
        let before = unsafe {
            touchstone_expire_page_drops(connection);
            ffi::sqlite3_preupdate_hook(connection, Some(changed), argument)
        };
        Set { connection, hook, is_alone: before.is_null() }
    }

    /// Takes the hook back; whether it was this one all the time.
    fn take_back(&self) -> bool {
        let ours: *const c_void = ptr::from_ref(self.hook).cast();
        ptr::eq(self.end(), ours) && self.is_alone
    }

    fn end(&self) -> *mut c_void {
        // SAFETY: the connection is open, as its owner lent it for the scope.
        unsafe { ffi::sqlite3_preupdate_hook(self.connection, None, ptr::null_mut()) }
    }
}

impl Drop for Set<'_, '_> {
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
    // SAFETY: it is what the hook was set with, which outlives it.
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

/// Whether a statement may change other rows than it names: by triggers, by foreign keys that act, or by constraints that
/// replace. It is as the schema is, and so are the connection's own triggers, which no schema's version tells.
pub(crate) fn has_triggers_or_cascades(connection: &Connection) -> Result<bool> {
    // In lower case, because a program may have told SQLite that `like` is to tell the cases apart.
    const SQL: &str = "select exists (select 1 from main.sqlite_schema where type = 'trigger') \
        or exists (select 1 from temp.sqlite_schema where type = 'trigger') \
        or exists (select 1 from main.sqlite_schema where type = 'table' and lower(sql) like '%on%conflict%replace%') \
        or exists ( \
            select 1 from main.sqlite_schema as made, pragma_foreign_key_list(made.name, 'main') as key \
            where made.type = 'table' and lower(made.sql) like '%references%' \
            and (select foreign_keys from pragma_foreign_keys) \
            and (key.on_update not in ('NO ACTION', 'RESTRICT') or key.on_delete not in ('NO ACTION', 'RESTRICT')))";
    Ok(connection.sql().query_row(SQL, (), |row| row.get(0))?)
}
