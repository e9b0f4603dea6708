//! A whole table, read page by page through SQLite's own pager: the rows of the snapshot, or of the transaction, that a
//! `select` would give, in key order, without a virtual machine's step for each.

use super::page::{Geometry, Page, PageKind, Row};
use super::pager::{Pages, damaged};
use crate::error::Result;

/// Deeper than any tree of a file of 2^32 pages; a damaged file may have a circle.
const DEPTH_MAX: usize = 40;

/// An inner page on the way down.
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
    /// Whether rows are numbered: a page that says otherwise is of another tree.
    is_numbered: bool,
    /// The page that was come to last.
    page: Box<[u8]>,
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
    pub(crate) fn new(pages: Pages, root: u32, is_numbered: bool, geometry: Geometry) -> Scan {
        let page = vec![0; geometry.usable].into();
        Scan {
            pages,
            geometry,
            stack: Vec::new(),
            root: Some(root),
            is_numbered,
            page,
            gathered: Vec::new(),
            leaf_rows: 0,
        }
    }

    /// About how many rows the table has, if all of the tree is as it is on the way to the last leaf.
    pub(crate) fn estimate(&self) -> usize {
        self.stack.iter().fold(self.leaf_rows, |rows, inner| {
            let page = Page::new(&inner.bytes, inner.number, self.geometry);
            rows.saturating_mul(page.map_or(1, |page| page.len() + 1))
        })
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
            self.pages.copy(number, 0, &mut self.page)?;
            let page = Page::new(&self.page, number, self.geometry).ok_or_else(|| damaged(number))?;
            if page.kind().is_numbered() != self.is_numbered {
                return Err(damaged(number));
            }
            let give = |row| give(&self.pages, self.geometry, &mut self.gathered, row, &mut visit);
            match page.kind() {
                PageKind::TableInner | PageKind::IndexInner => {
                    if self.stack.len() == DEPTH_MAX {
                        return Err(damaged(number));
                    }
                    self.stack.push(Inner { number, bytes: self.page.clone(), next: 0 });
                }
                // The kind is asked for once, and not for each row: that is a twentieth of a walk.
                PageKind::TableLeaf => {
                    self.leaf_rows = page.len();
                    return each_row(page, number, Page::numbered_row, give);
                }
                PageKind::IndexLeaf => {
                    self.leaf_rows = page.len();
                    return each_row(page, number, Page::keyed_row, give);
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

/// Gives the rows of a leaf to `give`, until it says `false`; whether it never did.
#[inline]
fn each_row<'p>(
    page: Page<'p>,
    number: u32,
    row_at: impl Fn(Page<'p>, usize) -> Option<Row<'p>>,
    mut give: impl FnMut(Row<'p>) -> Result<bool>,
) -> Result<bool> {
    for offset in page.offsets() {
        if !give(row_at(page, offset).ok_or_else(|| damaged(number))?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Gives a row with its whole payload to `visit`.
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
