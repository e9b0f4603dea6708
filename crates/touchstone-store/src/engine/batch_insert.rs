//! Batch insert through a virtual table whose rows are the records of a batch: one `insert into t select … from` it
//! inserts them all. It costs less than to bind, step and reset a statement for each record. Values are not copied.
//! Triggers and views of the file may not name the table: a connection has it after its first batch, and it has rows
//! within one statement.

use super::statement::{Bound, Statement};
use crate::types::cells::{Cell, Cells};
use crate::types::error::{Error, Result};
use crate::types::value::Refusal;
use libsqlite3_sys as ffi;
use std::any::Any;
use std::cell::{Cell as Slot, RefCell};
use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

#[cfg(test)]
mod tests;

/// Fills the next row; returns `false` at the end.
type Fill<'f> = dyn FnMut(&mut Cells<'static>) -> bool + 'f;

/// The feed of one connection, for tables of one width. It must not move while the connection is open.
pub(crate) struct BatchInsert {
    width: usize,
    source: Slot<Option<*mut Fill<'static>>>,
    stopped: RefCell<Option<Stopped>>,
}

/// Why a batch ended early.
pub(crate) enum Stopped {
    /// A value that no column can hold: the column's position, and the reason.
    Refused(usize, Refusal),
    /// The row has not as many values as the table has columns.
    Failed(Error),
    /// The program's own code panicked while a record was encoded.
    Panicked(Box<dyn Any + Send>),
}

impl BatchInsert {
    /// The table's name on its connection.
    pub(crate) fn name(width: usize) -> String {
        format!("touchstone_feed_{width}")
    }

    /// Makes the table known to the connection.
    ///
    /// # Safety
    /// The connection is open, and closed before the feed is dropped.
    pub(crate) unsafe fn register(connection: *mut ffi::sqlite3, width: usize) -> Result<Rc<BatchInsert>> {
        let feed = Rc::new(BatchInsert { width, source: Slot::new(None), stopped: RefCell::new(None) });
        let name = CString::new(BatchInsert::name(width)).unwrap_or_default();
        // SAFETY: the connection is open, and the feed outlives it.
        let code = unsafe {
            ffi::sqlite3_create_module_v2(
                connection,
                name.as_ptr(),
                &raw const MODULE,
                Rc::as_ptr(&feed).cast_mut().cast(),
                None,
            )
        };
        if code == ffi::SQLITE_OK { Ok(feed) } else { Err(Error::sqlite(code, "registering the feed")) }
    }

    /// Lets `work` run the statement, which reads the feed, with rows from `fill`. The rows borrow from data that
    /// outlive the call. `parameters` are the statement's own values.
    pub(crate) fn with<'r, R>(
        &self,
        fill: &mut (dyn FnMut(&mut Cells<'r>) -> bool + '_),
        statement: &mut Statement,
        parameters: &Cells<'_>,
        work: impl FnOnce(&mut Bound<'_>) -> Result<R>,
    ) -> (Result<R>, Option<Stopped>) {
        type Filling<'f, 'r> = dyn FnMut(&mut Cells<'r>) -> bool + 'f;
        // SAFETY: lifetimes do not change how a closure is called. The source is removed before this function ends, and
        // so before the data that it borrows end. Its rows go earlier: they are in the statement's cursors, which are
        // closed when `bound` resets the statement. Both happen also when `work` panics, which may run the program's
        // own code in hooks.
        let source = unsafe { std::mem::transmute::<*mut Filling<'_, 'r>, *mut Fill<'static>>(fill) };
        self.source.set(Some(source));
        let lent = FilledInsert(self);
        let result = statement.bound(parameters, work);
        drop(lent);
        (result, self.stopped.take())
    }
}

/// A feed that has a source until this is dropped. Without a source the table is empty.
struct FilledInsert<'f>(&'f BatchInsert);

impl Drop for FilledInsert<'_> {
    fn drop(&mut self) {
        self.0.source.set(None);
    }
}

#[repr(C)]
struct InsertTable {
    base: ffi::sqlite3_vtab,
    feed: *const BatchInsert,
}

#[repr(C)]
struct InsertCursor {
    base: ffi::sqlite3_vtab_cursor,
    feed: *const BatchInsert,
    cells: Cells<'static>,
    row: u64,
    ended: bool,
}

impl InsertCursor {
    /// Reads the next row.
    fn advance(&mut self) -> c_int {
        // SAFETY: the feed outlives its connection, and so its cursors.
        let feed = unsafe { &*self.feed };
        let Some(source) = feed.source.get() else {
            self.ended = true;
            return ffi::SQLITE_OK;
        };
        self.cells.clear();
        // SAFETY: the source exists until the statement that reads it has ended, and nobody else calls it.
        let filled = catch_unwind(AssertUnwindSafe(|| unsafe { (*source)(&mut self.cells) }));
        match filled {
            Ok(filled) => self.ended = !filled,
            Err(panic) => return feed.stop(Stopped::Panicked(panic)),
        }
        if let Some((column, why)) = self.cells.refused() {
            return feed.stop(Stopped::Refused(column, why));
        }
        if !self.ended
            && let Err(error) = self.cells.check_length(feed.width)
        {
            return feed.stop(Stopped::Failed(error));
        }
        self.row += 1;
        ffi::SQLITE_OK
    }
}

impl BatchInsert {
    fn stop(&self, why: Stopped) -> c_int {
        *self.stopped.borrow_mut() = Some(why);
        ffi::SQLITE_ABORT
    }
}

unsafe extern "C" fn connect(
    connection: *mut ffi::sqlite3,
    aux: *mut c_void,
    _argc: c_int,
    _argv: *const *const c_char,
    table: *mut *mut ffi::sqlite3_vtab,
    _error: *mut *mut c_char,
) -> c_int {
    let feed: *const BatchInsert = aux.cast();
    // SAFETY: SQLite passes what `register` gave it, on the open connection.
    unsafe {
        let columns: Vec<String> = (0..(*feed).width).map(|at| format!("c{at}")).collect();
        let declaration =
            CString::new(format!("create table feed({})", columns.join(","))).unwrap_or_default();
        let mut code = ffi::sqlite3_declare_vtab(connection, declaration.as_ptr());
        if code == ffi::SQLITE_OK {
            code = ffi::sqlite3_vtab_config(connection, ffi::SQLITE_VTAB_DIRECTONLY);
        }
        if code == ffi::SQLITE_OK {
            let made = Box::new(InsertTable { base: std::mem::zeroed(), feed });
            *table = Box::into_raw(made).cast();
        }
        code
    }
}

unsafe extern "C" fn disconnect(table: *mut ffi::sqlite3_vtab) -> c_int {
    // SAFETY: `connect` made it.
    drop(unsafe { Box::from_raw(table.cast::<InsertTable>()) });
    ffi::SQLITE_OK
}

unsafe extern "C" fn best_index(_table: *mut ffi::sqlite3_vtab, info: *mut ffi::sqlite3_index_info) -> c_int {
    // SAFETY: SQLite passes a structure to be filled.
    unsafe {
        (*info).estimatedCost = 1e6;
        (*info).estimatedRows = 1_000_000;
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn open(
    table: *mut ffi::sqlite3_vtab,
    cursor: *mut *mut ffi::sqlite3_vtab_cursor,
) -> c_int {
    // SAFETY: `connect` made the table.
    unsafe {
        let feed = (*table.cast::<InsertTable>()).feed;
        let made = Box::new(InsertCursor {
            base: std::mem::zeroed(),
            feed,
            cells: Cells::default(),
            row: 0,
            ended: false,
        });
        *cursor = Box::into_raw(made).cast();
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn close(cursor: *mut ffi::sqlite3_vtab_cursor) -> c_int {
    // SAFETY: `open` made it.
    drop(unsafe { Box::from_raw(cursor.cast::<InsertCursor>()) });
    ffi::SQLITE_OK
}

unsafe extern "C" fn filter(
    cursor: *mut ffi::sqlite3_vtab_cursor,
    _number: c_int,
    _text: *const c_char,
    _argc: c_int,
    _argv: *mut *mut ffi::sqlite3_value,
) -> c_int {
    // SAFETY: `open` made the cursor.
    unsafe { (*cursor.cast::<InsertCursor>()).advance() }
}

unsafe extern "C" fn next(cursor: *mut ffi::sqlite3_vtab_cursor) -> c_int {
    // SAFETY: `open` made the cursor.
    unsafe { (*cursor.cast::<InsertCursor>()).advance() }
}

unsafe extern "C" fn eof(cursor: *mut ffi::sqlite3_vtab_cursor) -> c_int {
    // SAFETY: `open` made the cursor.
    c_int::from(unsafe { (*cursor.cast::<InsertCursor>()).ended })
}

unsafe extern "C" fn column(
    cursor: *mut ffi::sqlite3_vtab_cursor,
    context: *mut ffi::sqlite3_context,
    at: c_int,
) -> c_int {
    // SAFETY: `open` made the cursor. Values stay in place until the next row is read, and by then SQLite has made the
    // stored row of them.
    unsafe {
        let cells = &(*cursor.cast::<InsertCursor>()).cells;
        match usize::try_from(at).ok().and_then(|at| cells.get(at)) {
            Some(Cell::Integer(value)) => ffi::sqlite3_result_int64(context, *value),
            Some(Cell::Real(value)) => ffi::sqlite3_result_double(context, *value),
            Some(Cell::Text(text)) => ffi::sqlite3_result_text64(
                context,
                text.as_ptr().cast(),
                text.len() as u64,
                ffi::SQLITE_STATIC(),
                ffi::SQLITE_UTF8 as u8,
            ),
            Some(Cell::Blob(bytes)) => blob(context, bytes),
            Some(Cell::Nested(range)) => blob(context, cells.bytes(range)),
            Some(Cell::Null) | None => ffi::sqlite3_result_null(context),
        }
    }
    ffi::SQLITE_OK
}

unsafe fn blob(context: *mut ffi::sqlite3_context, bytes: &[u8]) {
    // SAFETY: as for `column`.
    unsafe {
        ffi::sqlite3_result_blob64(context, bytes.as_ptr().cast(), bytes.len() as u64, ffi::SQLITE_STATIC());
    }
}

unsafe extern "C" fn rowid(cursor: *mut ffi::sqlite3_vtab_cursor, rowid: *mut i64) -> c_int {
    // SAFETY: `open` made the cursor.
    unsafe { *rowid = (*cursor.cast::<InsertCursor>()).row.cast_signed() };
    ffi::SQLITE_OK
}

/// Without `xCreate` the table exists under the module's name and cannot be created under another.
static MODULE: ffi::sqlite3_module = ffi::sqlite3_module {
    iVersion: 1,
    xCreate: None,
    xConnect: Some(connect),
    xBestIndex: Some(best_index),
    xDisconnect: Some(disconnect),
    xDestroy: None,
    xOpen: Some(open),
    xClose: Some(close),
    xFilter: Some(filter),
    xNext: Some(next),
    xEof: Some(eof),
    xColumn: Some(column),
    xRowid: Some(rowid),
    xUpdate: None,
    xBegin: None,
    xSync: None,
    xCommit: None,
    xRollback: None,
    xFindFunction: None,
    xRename: None,
    xSavepoint: None,
    xRelease: None,
    xRollbackTo: None,
    xShadowName: None,
    xIntegrity: None,
};
