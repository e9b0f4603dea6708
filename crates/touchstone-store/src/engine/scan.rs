//! A whole table, read page by page through SQLite's own pager (`sqlite_dbpage`): the rows of the snapshot, or of the
//! transaction, that a `select` would give, in key order, without a virtual machine's step for each.

use super::page::{Geometry, Page, PageKind, Row, u32_at};
use super::statement::Statement;
use crate::error::{Error, ErrorKind, Result};
use crate::value::Raw;
use libsqlite3_sys as ffi;
use std::cell::OnceCell;

/// Deeper than any tree of a file of 2^32 pages; a damaged file may have a circle.
const DEPTH_MAX: usize = 40;

/// The pages of a file, as a connection sees them. Two statements, because a row may go on in other pages while its
/// first is looked at.
pub(crate) struct Pages {
    page: Statement,
    overflow: OnceCell<Statement>,
    connection: *mut ffi::sqlite3,
}

const SELECT_PAGE: &str = "select data from sqlite_dbpage where pgno = ?1";

impl Pages {
    /// # Safety
    /// As for [`Statement::prepare`].
    pub(crate) unsafe fn new(connection: *mut ffi::sqlite3) -> Result<Pages> {
        // SAFETY: the caller's promise.
        unsafe {
            Ok(Pages {
                page: Statement::prepare(connection, SELECT_PAGE)?,
                overflow: OnceCell::new(),
                connection,
            })
        }
    }

    /// The first page, which has the file's header; it is gone with the next call.
    pub(crate) fn first<R>(&self, look: impl FnOnce(&[u8]) -> R) -> Result<R> {
        let result = fetch(&self.page, 1).map(look);
        self.page.reset();
        result
    }

    /// The whole payload of a row that goes on in other pages.
    fn gather(&self, row: Row<'_>, geometry: Geometry, buffer: &mut Vec<u8>) -> Result<()> {
        buffer.clear();
        self.check_length(row, geometry)?;
        buffer.extend_from_slice(row.local);
        let mut number = row.overflow;
        let statement = match self.overflow.get() {
            Some(statement) => statement,
            None => {
                // SAFETY: the connection outlives the pages, as `new` was promised.
                let made = unsafe { Statement::prepare(self.connection, SELECT_PAGE)? };
                self.overflow.get_or_init(|| made)
            }
        };
        while buffer.len() < row.length {
            let result = append(statement, number, row.length, geometry, buffer);
            statement.reset();
            number = result?;
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

/// Appends what an overflow page has of a payload; tells the next page.
fn append(
    statement: &Statement,
    number: u32,
    length: usize,
    geometry: Geometry,
    buffer: &mut Vec<u8>,
) -> Result<u32> {
    let bytes = fetch(statement, number)?;
    let part = (length - buffer.len()).min(geometry.usable - 4);
    let next = u32_at(bytes, 0).ok_or_else(|| damaged(number))?;
    buffer.extend_from_slice(bytes.get(4..4 + part).ok_or_else(|| damaged(number))?);
    Ok(next)
}

fn fetch(statement: &Statement, number: u32) -> Result<&[u8]> {
    statement.bind_integer(1, i64::from(number));
    if number == 0 || !statement.step()? {
        return Err(damaged(number));
    }
    match statement.value(0) {
        Raw::Blob(bytes) => Ok(bytes),
        _ => Err(damaged(number)),
    }
}

#[cold]
pub(crate) fn damaged(number: u32) -> Error {
    let remedy = "restore a backup, or save what is readable with `Store::salvage`";
    Error::new(ErrorKind::Damaged, format!("page {number} of the file is damaged ({remedy})"))
}

/// An inner page on the way down, copied, because its page's memory is wanted for the ones below.
struct Inner {
    number: u32,
    bytes: Box<[u8]>,
    /// The next child; in a tree of rows in key order, twice that, and odd between a child and its row.
    next: usize,
}

/// A walk over a table's tree, in key order.
pub(crate) struct Scan {
    pages: Pages,
    geometry: Geometry,
    stack: Vec<Inner>,
    root: Option<u32>,
    gathered: Vec<u8>,
    /// Rows of the last leaf.
    leaf_rows: usize,
}

/// What comes next in a walk.
enum Stop {
    Page(u32),
    Row(usize),
    End,
}

impl Scan {
    /// Begins before the first row. The connection must be in a transaction until the walk ends.
    pub(crate) fn new(pages: Pages, root: u32, geometry: Geometry) -> Scan {
        Scan { pages, geometry, stack: Vec::new(), root: Some(root), gathered: Vec::new(), leaf_rows: 0 }
    }

    /// About how many rows the table has, if all of the tree is as it is on the way to the last leaf.
    pub(crate) fn estimate(&self) -> usize {
        self.stack.iter().fold(self.leaf_rows, |rows, inner| {
            let page = Page::new(&inner.bytes, inner.number, self.geometry);
            rows.saturating_mul(page.map_or(1, |page| page.len() + 1))
        })
    }

    /// Ends the walk, and gives the pages back for the next.
    pub(crate) fn end(self) -> Pages {
        self.pages.page.reset();
        self.pages
    }

    /// Gives the rows of the next page that has some to `visit`, with their whole payload, until it says `false`.
    /// Tells whether there may be more.
    ///
    /// # Errors
    /// When a page is damaged or cannot be read, or as `visit` does.
    #[inline]
    pub(crate) fn next_page(&mut self, mut visit: impl FnMut(i64, &[u8]) -> Result<bool>) -> Result<bool> {
        loop {
            let number = match self.advance()? {
                Stop::End => return Ok(false),
                Stop::Row(at) => return self.inner_row(at, visit),
                Stop::Page(number) => number,
            };
            self.pages.page.reset();
            let bytes = fetch(&self.pages.page, number)?;
            let page = Page::new(bytes, number, self.geometry).ok_or_else(|| damaged(number))?;
            match page.kind() {
                PageKind::TableInner | PageKind::IndexInner => {
                    if self.stack.len() == DEPTH_MAX {
                        return Err(damaged(number));
                    }
                    self.stack.push(Inner { number, bytes: bytes.into(), next: 0 });
                }
                PageKind::TableLeaf => {
                    self.leaf_rows = page.len();
                    for offset in page.offsets() {
                        let row = page.numbered_row(offset).ok_or_else(|| damaged(number))?;
                        if !give(&self.pages, self.geometry, &mut self.gathered, row, &mut visit)? {
                            return Ok(false);
                        }
                    }
                    return Ok(true);
                }
                PageKind::IndexLeaf => {
                    self.leaf_rows = page.len();
                    for offset in page.offsets() {
                        let row = page.keyed_row(offset).ok_or_else(|| damaged(number))?;
                        if !give(&self.pages, self.geometry, &mut self.gathered, row, &mut visit)? {
                            return Ok(false);
                        }
                    }
                    return Ok(true);
                }
            }
        }
    }

    /// Where the walk goes next.
    fn advance(&mut self) -> Result<Stop> {
        if let Some(root) = self.root.take() {
            return Ok(Stop::Page(root));
        }
        while let Some(inner) = self.stack.last_mut() {
            let number = inner.number;
            let page = Page::new(&inner.bytes, number, self.geometry).ok_or_else(|| damaged(number))?;
            let with_rows = page.kind() == PageKind::IndexInner;
            let (at, of_row) =
                if with_rows { (inner.next / 2, inner.next % 2 == 1) } else { (inner.next, false) };
            let past = if of_row { at >= page.len() } else { at > page.len() };
            if past {
                self.stack.pop();
                continue;
            }
            inner.next += 1;
            if of_row {
                return Ok(Stop::Row(at));
            }
            return Ok(Stop::Page(page.child(at).ok_or_else(|| damaged(number))?));
        }
        Ok(Stop::End)
    }

    /// The row between two children.
    fn inner_row(&mut self, at: usize, mut visit: impl FnMut(i64, &[u8]) -> Result<bool>) -> Result<bool> {
        let Some(inner) = self.stack.last() else { return Ok(false) };
        let row = Page::new(&inner.bytes, inner.number, self.geometry)
            .and_then(|page| page.inner_row(at))
            .ok_or_else(|| damaged(inner.number))?;
        give(&self.pages, self.geometry, &mut self.gathered, row, &mut visit)
    }
}

#[inline]
fn give(
    pages: &Pages,
    geometry: Geometry,
    gathered: &mut Vec<u8>,
    row: Row<'_>,
    visit: &mut impl FnMut(i64, &[u8]) -> Result<bool>,
) -> Result<bool> {
    if row.overflow == 0 {
        return visit(row.number, row.local);
    }
    pages.gather(row, geometry, gathered)?;
    visit(row.number, gathered)
}
