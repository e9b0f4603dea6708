//! Pages of the file as a connection's transaction sees them, copied from SQLite's own pager: decrypted, with the pages
//! of the write-ahead log (WAL) and the transaction's own changes.

use super::page::{Geometry, Row, u32_at};
use super::statement::failure;
use crate::types::error::{Error, ErrorKind, Result};
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

    fn touchstone_page_count(connection: *mut ffi::sqlite3) -> c_uint;
}

/// The pages of a file, as a connection in a transaction sees them.
#[derive(Clone, Copy)]
pub(crate) struct Pages {
    connection: *mut ffi::sqlite3,
}

impl Pages {
    /// # Safety
    /// The connection is open as long as its pages are read.
    pub(crate) unsafe fn new(connection: *mut ffi::sqlite3) -> Pages {
        Pages { connection }
    }

    /// Copies bytes of a page, which must have that many. They are copied and not lent: a program's code that looks at
    /// a row may end the transaction, and the page with it.
    #[inline]
    pub(crate) fn copy(&self, number: u32, from: usize, bytes: &mut [u8]) -> Result<()> {
        let (Ok(from), Ok(length)) = (c_uint::try_from(from), c_uint::try_from(bytes.len())) else {
            return Err(damaged(number));
        };
        // SAFETY: the connection is open, as `new`'s caller promised, and the call writes no more bytes than there are.
        match unsafe { touchstone_page_copy(self.connection, number, from, bytes.as_mut_ptr(), length) } {
            ffi::SQLITE_OK => Ok(()),
            ffi::SQLITE_CORRUPT => Err(damaged(number)),
            // SAFETY: the connection is open, as `new`'s caller promised.
            code => Err(unsafe { failure(self.connection, code) }),
        }
    }

    /// The number of pages of the file; 0 outside of a transaction.
    pub(crate) fn count(&self) -> u32 {
        // SAFETY: the connection is open, as `new`'s caller promised.
        unsafe { touchstone_page_count(self.connection) }
    }

    /// Whether the first page names no table although pages are in use: the tables that they belong to are lost.
    pub(crate) fn have_no_owner(&self) -> Result<bool> {
        /// The offset of SQLite's locks; the page there holds nothing.
        const LOCKS_OFFSET: u64 = 1 << 30;
        let count = u64::from(self.count());
        if count == 0 {
            return Ok(false);
        }
        let mut header = [0; 112];
        self.copy(1, 0, &mut header)?;
        let word = |at: usize| u64::from(u32_at(&header, at).unwrap_or(0));
        let names_no_table = header[100] == 0x0d && header[103..105] == [0, 0];
        // With `auto_vacuum` there are pointer map pages, which no table owns.
        let moves_pages = word(52) != 0;
        let page_bytes = match u64::from(u16::from_be_bytes([header[16], header[17]])) {
            1 => 65_536,
            bytes => bytes,
        };
        let known = 1 + word(36) + u64::from(count * page_bytes > LOCKS_OFFSET);
        Ok(names_no_table && !moves_pages && count > known)
    }
}

/// The number of pages that a walk may still read. Each page of a file lies in one place, so a walk that has read more
/// pages than there are went in a circle, or the same way again.
pub(crate) struct Budget {
    seen: u64,
    pages: u64,
}

impl Budget {
    pub(crate) fn new(pages: &Pages) -> Budget {
        Budget { seen: 0, pages: u64::from(pages.count()) }
    }

    /// Takes `count` pages, on the way to page `number`.
    ///
    /// # Errors
    /// [`Damaged`](ErrorKind::Damaged) if not so many are left.
    #[inline]
    pub(crate) fn take(&mut self, pages: &Pages, number: u32, count: u64) -> Result<()> {
        self.seen = self.seen.saturating_add(count);
        if self.seen <= self.pages { Ok(()) } else { self.look_again(pages, number) }
    }

    /// Counts again: the transaction may have added pages since the walk began.
    #[cold]
    fn look_again(&mut self, pages: &Pages, number: u32) -> Result<()> {
        self.pages = u64::from(pages.count());
        if self.seen <= self.pages { Ok(()) } else { Err(damaged(number)) }
    }
}

/// A payload with overflow pages, gathered as far as it is needed.
#[derive(Default)]
pub(crate) struct GatheredPayload {
    bytes: Vec<u8>,
    length: usize,
    next: u32,
}

impl GatheredPayload {
    /// Begins with the part in the row's own page.
    pub(crate) fn begin(&mut self, row: Row<'_>) {
        self.bytes.clear();
        self.bytes.extend_from_slice(row.local);
        (self.length, self.next) = (row.length, row.overflow);
    }

    /// The first `wanted` bytes of the payload, or more. Only the pages that hold them are read.
    ///
    /// # Errors
    /// If a page is damaged or cannot be read.
    pub(crate) fn reach(
        &mut self,
        wanted: usize,
        (pages, geometry): (&Pages, Geometry),
        budget: &mut Budget,
    ) -> Result<&[u8]> {
        /// The bytes of the next page's number.
        const LINK: usize = 4;
        let part_bytes = geometry.usable - LINK;
        // This also keeps a damaged length from asking for more memory than the file has.
        let missing = wanted.min(self.length).saturating_sub(self.bytes.len()).div_ceil(part_bytes);
        budget.take(pages, self.next, missing as u64)?;
        for _ in 0..missing {
            let gathered = self.bytes.len();
            self.bytes.resize(self.length.min(gathered + part_bytes), 0);
            // The link comes with the page, and overwrites the bytes before its place, which are restored.
            let start = gathered.checked_sub(LINK).ok_or_else(|| damaged(self.next))?;
            let mut kept = [0; LINK];
            kept.copy_from_slice(&self.bytes[start..gathered]);
            pages.copy(self.next, 0, &mut self.bytes[start..])?;
            self.next = u32_at(&self.bytes, start).unwrap_or(0);
            self.bytes[start..gathered].copy_from_slice(&kept);
        }
        Ok(&self.bytes)
    }
}

#[cold]
pub(crate) fn damaged(number: u32) -> Error {
    let remedy = "restore a backup, or save what is readable with `Store::salvage`";
    Error::new(ErrorKind::Damaged, format!("page {number} of the file is damaged ({remedy})"))
}
