//! A statement that is prepared once and held: bind, step, reset. Bindings are never cleared, because SQLite prepares
//! the statement again when a value that its planner looked at changes to NULL and back. So after a reset the statement
//! still points to values that it was bound to, and that may be gone. That is safe because no code can step it then: a
//! statement with parameters is stepped within [`Statement::bound`] only, which binds them all, or as [`Copied`].

use super::fork::Origin;
use crate::types::cells::{Cell, Cells};
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::record::{Columns, Shape};
use crate::types::value::Raw;
use libsqlite3_sys as ffi;
use std::ffi::{CStr, c_int};
use std::ptr::{self, NonNull};
use std::slice;

#[cfg(test)]
mod tests;

/// A held statement. It must be dropped before its connection.
pub(crate) struct Statement {
    raw: NonNull<ffi::sqlite3_stmt>,
    /// The number of its parameters.
    parameters: usize,
    origin: Origin,
}

impl Statement {
    /// Prepares the statement on an open connection.
    ///
    /// # Safety
    /// The connection is open, outlives the statement, and is used by one thread at a time.
    pub(crate) unsafe fn prepare(connection: *mut ffi::sqlite3, sql: &str) -> Result<Statement> {
        let mut statement = ptr::null_mut();
        let length = c_int::try_from(sql.len()).unwrap_or(c_int::MAX);
        // SAFETY: the caller's connection is open; the text is read within its length.
        let code = unsafe {
            ffi::sqlite3_prepare_v3(
                connection,
                sql.as_ptr().cast(),
                length,
                ffi::SQLITE_PREPARE_PERSISTENT,
                &raw mut statement,
                ptr::null_mut(),
            )
        };
        match NonNull::new(statement) {
            Some(raw) if code == ffi::SQLITE_OK => {
                // SAFETY: the statement is prepared.
                let parameters = unsafe { ffi::sqlite3_bind_parameter_count(raw.as_ptr()) };
                let parameters = usize::try_from(parameters).unwrap_or(0);
                Ok(Statement { raw, parameters, origin: Origin::here() })
            }
            // SAFETY: the connection is open.
            _ => Err(unprepared(unsafe { failure(connection, code) }, sql)),
        }
    }

    /// Binds the row's values without copying them, and lets `work` step the statement. At the end, also of a `work`
    /// that panics, the statement is reset.
    ///
    /// # Errors
    /// As `work` does; if there are not as many values as parameters, or one is too long for SQLite.
    #[inline]
    pub(crate) fn bound<R>(
        &mut self,
        cells: &Cells<'_>,
        work: impl FnOnce(&mut Bound<'_>) -> Result<R>,
    ) -> Result<R> {
        let mut bound = Bound(self);
        // SAFETY: `cells`, and what it borrows, outlive `bound`, which resets the statement. `work` can neither keep
        // `bound` nor exchange it for another, because it gets a reference to a type that nothing else makes, with a
        // lifetime of this call. Later steps bind all parameters again before.
        unsafe { bound.0.bind_all(cells, ffi::SQLITE_STATIC())? };
        work(&mut bound)
    }

    /// Runs the statement to its end with the row's values, as [`bound`](Statement::bound); returns how many rows an
    /// insert, update or delete changed.
    ///
    /// # Errors
    /// If the statement fails; and as for [`bound`](Statement::bound).
    #[inline]
    pub(crate) fn run_with(&mut self, cells: &Cells<'_>) -> Result<u64> {
        self.bound(cells, |bound| bound.run())
    }

    /// The statement with copies of the values, which may be dropped before it.
    ///
    /// # Errors
    /// As for [`bound`](Statement::bound).
    pub(crate) fn with_copies(self, cells: &Cells<'_>) -> Result<Copied> {
        // SAFETY: SQLite copies the values.
        unsafe { self.bind_all(cells, ffi::SQLITE_TRANSIENT())? };
        Ok(Copied(self))
    }

    /// Binds every parameter.
    ///
    /// # Safety
    /// With the lifetime `SQLITE_STATIC`, the row and the data that it borrows do not change until the statement is
    /// reset, and it is not stepped after that before all parameters are bound again.
    #[inline]
    unsafe fn bind_all(&self, cells: &Cells<'_>, lifetime: ffi::sqlite3_destructor_type) -> Result<()> {
        let raw = self.raw.as_ptr();
        // A parameter that is left out would keep an earlier row's value, which is gone.
        cells.check_length(self.parameters)?;
        for (at, cell) in (1..).zip(cells.iter()) {
            // SAFETY: the statement is prepared; bytes are copied, or outlive the step, as the caller promises.
            let code = unsafe {
                match cell {
                    Cell::Null => ffi::sqlite3_bind_null(raw, at),
                    Cell::Integer(value) => ffi::sqlite3_bind_int64(raw, at, *value),
                    Cell::Real(value) => ffi::sqlite3_bind_double(raw, at, *value),
                    Cell::Text(text) => {
                        let (start, length) = (text.as_ptr().cast(), text.len() as u64);
                        ffi::sqlite3_bind_text64(raw, at, start, length, lifetime, ffi::SQLITE_UTF8 as u8)
                    }
                    Cell::Blob(bytes) => self.bind_blob(at, bytes, lifetime),
                    Cell::Nested(range) => self.bind_blob(at, cells.bytes(range), lifetime),
                }
            };
            if code != ffi::SQLITE_OK {
                return Err(self.failure(code));
            }
        }
        Ok(())
    }

    #[inline]
    unsafe fn bind_blob(&self, at: c_int, bytes: &[u8], lifetime: ffi::sqlite3_destructor_type) -> c_int {
        let (start, length) = (bytes.as_ptr().cast(), bytes.len() as u64);
        // SAFETY: as for `bind_all`. An empty slice's pointer is not null, so an empty blob is no NULL.
        unsafe { ffi::sqlite3_bind_blob64(self.raw.as_ptr(), at, start, length, lifetime) }
    }

    /// Steps; whether there is a row.
    #[inline]
    fn step(&self) -> Result<bool> {
        // SAFETY: the statement is prepared.
        match unsafe { ffi::sqlite3_step(self.raw.as_ptr()) } {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => Ok(false),
            code => Err(self.failure(code)),
        }
    }

    /// Ends the statement's run. `step` has returned any failure.
    #[inline]
    fn reset(&self) {
        // SAFETY: the statement is prepared.
        unsafe { ffi::sqlite3_reset(self.raw.as_ptr()) };
    }

    /// Runs a statement without parameters to its end.
    #[inline]
    pub(crate) fn run(&self) -> Result<()> {
        self.check_unbound();
        let result = self.drain();
        self.reset();
        result
    }

    fn drain(&self) -> Result<()> {
        while self.step()? {}
        Ok(())
    }

    /// The one integer that a statement without parameters returns.
    #[inline]
    pub(crate) fn integer(&self) -> Result<i64> {
        self.check_unbound();
        let value = self.first_integer();
        self.reset();
        value
    }

    #[inline]
    fn first_integer(&self) -> Result<i64> {
        let row = self.step();
        // SAFETY: the statement is prepared; without a row the answer is 0.
        let value = unsafe { ffi::sqlite3_column_int64(self.raw.as_ptr(), 0) };
        row.map(|_| value)
    }

    /// # Panics
    /// If the statement has parameters: values of an earlier run, which are gone, may be bound to them.
    #[inline]
    fn check_unbound(&self) {
        assert!(self.parameters == 0, "a statement with parameters is run with their values");
    }

    /// The number of rows that the connection's last statement changed.
    #[inline]
    fn changes(&self) -> u64 {
        // SAFETY: the statement is prepared, so its connection is open.
        let changes = unsafe { ffi::sqlite3_changes64(ffi::sqlite3_db_handle(self.raw.as_ptr())) };
        u64::try_from(changes).unwrap_or(0)
    }

    #[cold]
    fn failure(&self, code: c_int) -> Error {
        // SAFETY: the statement is prepared, so its connection is open.
        unsafe { failure(ffi::sqlite3_db_handle(self.raw.as_ptr()), code) }
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // In a forked child it would commit changes that a thread of the parent is about to write.
        if self.origin.is_here() {
            // SAFETY: the statement is finalized once, before its connection is closed.
            unsafe { ffi::sqlite3_finalize(self.raw.as_ptr()) };
        }
    }
}

/// A statement whose parameters have values, borrowed from a row that outlives this.
pub(crate) struct Bound<'s>(&'s mut Statement);

impl Bound<'_> {
    /// The next row, if there is one. While it or a value of it is held, nothing else can be done with the statement.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<CurrentRow<'_>>> {
        Ok(if self.0.step()? { Some(CurrentRow(self.0)) } else { None })
    }

    /// Runs the statement to its end; returns how many rows an insert, update or delete changed.
    #[inline]
    pub(crate) fn run(&mut self) -> Result<u64> {
        self.0.drain().map(|()| self.0.changes())
    }

    /// The one integer that the statement returns.
    #[inline]
    pub(crate) fn integer(&mut self) -> Result<i64> {
        self.0.first_integer()
    }
}

/// The statement is reset before the values can go.
impl Drop for Bound<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.reset();
    }
}

/// A statement with values of its own, which gives its rows over several calls.
pub(crate) struct Copied(Statement);

impl Copied {
    /// As [`Bound::next`].
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<CurrentRow<'_>>> {
        Ok(if self.0.step()? { Some(CurrentRow(&self.0)) } else { None })
    }
}

/// The row that a statement stands on. It borrows the whole statement: its values last until the next step or reset.
#[derive(Clone, Copy)]
pub(crate) struct CurrentRow<'s>(&'s Statement);

impl<'s> CurrentRow<'s> {
    /// A value of the row.
    #[inline]
    pub(crate) fn value(self, at: c_int) -> Raw<'s> {
        // SAFETY: the statement stands on a row. Only `next` makes such a row, and borrows the statement for as long as
        // the value lasts, so no code steps or resets it meanwhile. The keeper may reset it from its own thread, but
        // only with the gate of the statement's session, which is held while rows are read. SQLite is compiled for
        // connections that one thread uses at a time, where unprotected values are as good as protected ones.
        // `sqlite3_column_value` finds the column once; each of the other functions of columns would find it again.
        unsafe {
            let value = ffi::sqlite3_column_value(self.0.raw.as_ptr(), at);
            match ffi::sqlite3_value_type(value) {
                ffi::SQLITE_INTEGER => Raw::Integer(ffi::sqlite3_value_int64(value)),
                ffi::SQLITE_FLOAT => Raw::Real(ffi::sqlite3_value_double(value)),
                ffi::SQLITE_TEXT => Raw::Text(bytes(value)),
                ffi::SQLITE_BLOB => Raw::Blob(bytes(value)),
                _ => Raw::Null,
            }
        }
    }

    /// The row as a type's columns.
    #[inline]
    pub(crate) fn columns(self, shape: &'static Shape) -> StatementRow<'s> {
        StatementRow { row: self, at: 0, shape }
    }
}

/// The bytes of a text or a blob.
///
/// # Safety
/// As for `CurrentRow::value`.
#[inline]
unsafe fn bytes<'a>(value: *mut ffi::sqlite3_value) -> &'a [u8] {
    // SAFETY: the pointer is read before the length, as SQLite's manual says.
    unsafe {
        let start: *const u8 = ffi::sqlite3_value_blob(value).cast();
        let length = usize::try_from(ffi::sqlite3_value_bytes(value)).unwrap_or(0);
        if start.is_null() { &[] } else { slice::from_raw_parts(start, length) }
    }
}

/// Why a statement could not be prepared. A text with many values is too long for anybody to read.
#[cold]
fn unprepared(error: Error, sql: &str) -> Error {
    const LIMITS: [&str; 2] = ["variable number must be", "Expression tree is too large"];
    let (dots, words) = (if sql.chars().nth(200).is_some() { "…" } else { "" }, error.to_string());
    if LIMITS.iter().any(|limit| words.starts_with(limit)) {
        let remedy = "ask in parts: one query has at most 32,766 values";
        let message = format!("the query is too large ({remedy}): {words}: `{sql:.200}{dots}`");
        return Error::new(ErrorKind::TooBig, message);
    }
    error.context(format_args!("preparing `{sql:.200}{dots}`"))
}

/// The connection's message for its last failure.
///
/// # Safety
/// The connection is open.
#[cold]
pub(crate) unsafe fn failure(connection: *mut ffi::sqlite3, code: c_int) -> Error {
    // SAFETY: the connection is open; its message lasts until its next call.
    unsafe {
        let extended = ffi::sqlite3_extended_errcode(connection);
        let code = if extended & 0xff == code & 0xff { extended } else { code };
        let message = CStr::from_ptr(ffi::sqlite3_errmsg(connection));
        Error::sqlite(code, message.to_string_lossy())
    }
}

/// The values of a row, in order.
pub(crate) struct StatementRow<'s> {
    row: CurrentRow<'s>,
    at: c_int,
    shape: &'static Shape,
}

impl<'s> Columns<'s> for StatementRow<'s> {
    #[inline]
    fn next(&mut self) -> Raw<'s> {
        let value = self.row.value(self.at);
        self.at += 1;
        value
    }

    #[inline]
    fn shape(&self) -> Option<&'static Shape> {
        Some(self.shape)
    }
}
