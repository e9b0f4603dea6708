//! Pages of the file as a connection's transaction has them, copied from SQLite's own pager: the log's pages and the
//! transaction's own changes are in them, and the cipher is off.

use super::page::{Geometry, Row};
use super::statement::{Statement, failure};
use crate::error::{Error, ErrorKind, Result};
use libsqlite3_sys as ffi;
use std::ffi::{c_int, c_uchar, c_uint};

unsafe extern "C" {
    fn touchstone_page_copy(
        connection: *mut ffi::sqlite3,
        number: c_uint,
        from: c_uint,
        bytes: *mut c_uchar,
        length: c_uint,
    ) -> c_int;
}

/// The pages of a file, as a connection in a transaction sees them.
#[derive(Clone, Copy)]
pub(crate) struct Pages {
    connection: *mut ffi::sqlite3,
}

impl Pages {
    /// # Safety
    /// The connection is open as long as pages of it are asked for.
    pub(crate) unsafe fn new(connection: *mut ffi::sqlite3) -> Pages {
        Pages { connection }
    }

    /// Copies bytes of a page, which must have them all. A copy and no loan: what a program does while it looks at a row
    /// may end the transaction, and the page with it.
    #[inline]
    pub(crate) fn copy(&self, number: u32, from: usize, bytes: &mut [u8]) -> Result<()> {
        let (Ok(from), Ok(length)) = (c_uint::try_from(from), c_uint::try_from(bytes.len())) else {
            return Err(damaged(number));
        };
        // SAFETY: the connection is open, as `new` was promised, and as many bytes are written as there are.
        match unsafe { touchstone_page_copy(self.connection, number, from, bytes.as_mut_ptr(), length) } {
            ffi::SQLITE_OK => Ok(()),
            ffi::SQLITE_CORRUPT => Err(damaged(number)),
            // SAFETY: the connection is open, as `new` was promised.
            code => Err(unsafe { failure(self.connection, code) }),
        }
    }

    /// The whole payload of a row that goes on in other pages.
    pub(crate) fn gather(&self, row: Row<'_>, geometry: Geometry, buffer: &mut Vec<u8>) -> Result<()> {
        self.check_length(row, geometry)?;
        buffer.clear();
        buffer.extend_from_slice(row.local);
        let mut number = row.overflow;
        while buffer.len() < row.length {
            let mut next = [0; 4];
            self.copy(number, 0, &mut next)?;
            let gathered = buffer.len();
            buffer.resize(row.length.min(gathered + geometry.usable - next.len()), 0);
            self.copy(number, next.len(), &mut buffer[gathered..])?;
            number = u32::from_be_bytes(next);
        }
        Ok(())
    }

    /// A damaged length, with a chain of pages that runs in a circle, must not ask for more memory than the file has.
    fn check_length(&self, row: Row<'_>, geometry: Geometry) -> Result<()> {
        /// Shorter rows are not worth the question.
        const UNASKED_BYTES: usize = 1 << 20;
        if row.length <= UNASKED_BYTES {
            return Ok(());
        }
        // SAFETY: the connection outlives the call.
        let pages = unsafe { Statement::prepare(self.connection, "pragma page_count")? }.integer()?;
        let bytes = usize::try_from(pages).unwrap_or(0).saturating_mul(geometry.usable);
        if row.length <= bytes { Ok(()) } else { Err(damaged(row.overflow)) }
    }
}

#[cold]
pub(crate) fn damaged(number: u32) -> Error {
    let remedy = "restore a backup, or save what is readable with `Store::salvage`";
    Error::new(ErrorKind::Damaged, format!("page {number} of the file is damaged ({remedy})"))
}
