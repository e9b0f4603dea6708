//! A whole table, read page by page through SQLite's own pager: the rows that a `select` in the snapshot or the
//! transaction would give, in key order, without a virtual machine's step for each.

use super::page::{Geometry, Page, PageKind, Payload, Row};
use super::pager::{Budget, GatheredPayload, Pages, damaged};
use crate::types::error::Result;

/// The greatest number of inner pages above each other: SQLite walks no tree of more than 20 levels.
const DEPTH_MAX: usize = 19;

/// How many of a row's values are looked at. No further overflow pages of a row are read.
#[derive(Clone, Copy)]
pub(crate) struct Reach {
    /// As many as show whether the row is wanted (sifting).
    pub(crate) sift: usize,
    /// As many as a wanted row needs.
    pub(crate) take: usize,
    /// The number of rows to skip before the first is looked at.
    pub(crate) pass: u64,
}

impl Reach {
    /// Skips as many of a page's rows as possible; how many that were.
    fn pass_over(&mut self, rows: usize) -> usize {
        let passed = usize::try_from(self.pass).unwrap_or(usize::MAX).min(rows);
        self.pass -= passed as u64;
        passed
    }
}

/// The handling of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handling {
    /// All needed values are there: the row is sifted, and taken if it is wanted.
    Whole,
    /// The row is only sifted: whether it is wanted.
    Sift,
    /// The row is wanted, and taken.
    Take,
}

/// An inner page on the way down.
struct InnerPage {
    number: u32,
    bytes: Box<[u8]>,
    /// The next child. In a tree of rows in key order: twice the child's index, and odd between a child and its row.
    next: usize,
}

/// A walk over a table's tree, in key order.
pub(crate) struct Scan {
    source: RowSource,
    stack: Vec<InnerPage>,
    root: Option<u32>,
    /// Whether rows are numbered: a page of the other kind is of another tree.
    is_numbered: bool,
    /// The page that the walk reached last.
    page: Box<[u8]>,
    leaf_rows: usize,
}

/// The next step of a walk.
enum Stop {
    Page(u32),
    Row(usize),
    End,
}

impl Scan {
    /// Begins before the first row. The connection must be in a transaction until the walk ends.
    pub(crate) fn new(pages: Pages, root: u32, is_numbered: bool, geometry: Geometry, reach: Reach) -> Scan {
        let budget = Budget::new(&pages);
        Scan {
            source: RowSource { pages, geometry, reach, budget, gathered: GatheredPayload::default() },
            stack: Vec::new(),
            root: Some(root),
            is_numbered,
            page: vec![0; geometry.usable].into(),
            leaf_rows: 0,
        }
    }

    /// The approximate number of rows, if the whole tree is like its path to the last leaf.
    pub(crate) fn estimate(&self) -> usize {
        self.stack.iter().fold(self.leaf_rows, |rows, inner| {
            let page = Page::new(&inner.bytes, inner.number, self.source.geometry);
            rows.saturating_mul(page.map_or(1, |page| page.len() + 1))
        })
    }

    /// Gives the rows of the next page that has some to `visit`, until that returns `false`. A row in one page is given
    /// with its whole payload, others once or twice with as much as the walk needs. Returns whether there may be more.
    ///
    /// # Errors
    /// If a page is damaged or cannot be read, or as `visit` does.
    #[inline]
    pub(crate) fn next_page(
        &mut self,
        mut visit: impl FnMut(i64, &[u8], Handling) -> Result<bool>,
    ) -> Result<bool> {
        loop {
            let number = match self.advance()? {
                Stop::End => return Ok(false),
                Stop::Row(_) if self.source.reach.pass_over(1) == 1 => return Ok(true),
                Stop::Row(at) => return self.inner_row(at, visit),
                Stop::Page(number) => number,
            };
            self.source.copy(number, &mut self.page)?;
            let geometry = self.source.geometry;
            let page = Page::new(&self.page, number, geometry)
                .filter(|page| is_of_tree(*page, self.is_numbered, self.stack.is_empty(), geometry))
                .ok_or_else(|| damaged(number))?;
            let passed = if page.kind().is_leaf() { self.source.reach.pass_over(page.len()) } else { 0 };
            let give = |row| self.source.give(row, &mut visit);
            match page.kind() {
                PageKind::TableInner | PageKind::IndexInner => {
                    if self.stack.len() == DEPTH_MAX {
                        return Err(damaged(number));
                    }
                    self.stack.push(InnerPage { number, bytes: self.page.clone(), next: 0 });
                }
                // The kind is checked once a page, and not for each row, which would be a twentieth of a walk.
                PageKind::TableLeaf => {
                    self.leaf_rows = page.len();
                    let offsets = page.offsets(passed);
                    return each_row(offsets, number, |at| page.numbered_row(at), give);
                }
                PageKind::IndexLeaf => {
                    self.leaf_rows = page.len();
                    let offsets = page.offsets(passed);
                    return each_row(offsets, number, |at| page.keyed_row(at), give);
                }
            }
        }
    }

    /// Advances the walk, and returns its next step.
    fn advance(&mut self) -> Result<Stop> {
        if let Some(root) = self.root.take() {
            return Ok(Stop::Page(root));
        }
        while let Some(inner) = self.stack.last_mut() {
            let number = inner.number;
            let page =
                Page::new(&inner.bytes, number, self.source.geometry).ok_or_else(|| damaged(number))?;
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
    fn inner_row(
        &mut self,
        at: usize,
        mut visit: impl FnMut(i64, &[u8], Handling) -> Result<bool>,
    ) -> Result<bool> {
        let Some(inner) = self.stack.last() else { return Ok(false) };
        let row = Page::new(&inner.bytes, inner.number, self.source.geometry)
            .and_then(|page| page.inner_row(at))
            .ok_or_else(|| damaged(inner.number))?;
        self.source.give(row, &mut visit)
    }
}

/// Whether the page may belong to the tree, by SQLite's own checks of each page on its way: see "What counts as damage"
/// in `docs/store-format.md`.
fn is_of_tree(page: Page<'_>, is_numbered: bool, is_root: bool, geometry: Geometry) -> bool {
    page.kind().is_numbered() == is_numbered
        && page.len() <= geometry.cells_max()
        // Only a table without rows has a page without any: its root.
        && (page.len() > 0 || (is_root && page.kind().is_leaf()))
}

/// Gives the rows of a leaf at these offsets to `give`, until that returns `false`; whether it never did.
#[inline]
fn each_row<'p>(
    offsets: impl Iterator<Item = usize>,
    number: u32,
    row_at: impl Fn(usize) -> Option<Row<'p>>,
    mut give: impl FnMut(Row<'p>) -> Result<bool>,
) -> Result<bool> {
    for offset in offsets {
        if !give(row_at(offset).ok_or_else(|| damaged(number))?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The source of the rows, including those with overflow pages.
struct RowSource {
    pages: Pages,
    geometry: Geometry,
    reach: Reach,
    budget: Budget,
    gathered: GatheredPayload,
}

impl RowSource {
    /// Copies the next page of the walk.
    #[inline]
    fn copy(&mut self, number: u32, page: &mut [u8]) -> Result<()> {
        self.budget.take(&self.pages, number, 1)?;
        self.pages.copy(number, 0, page)
    }

    /// Gives a row to `visit`.
    #[inline]
    fn give(
        &mut self,
        row: Row<'_>,
        visit: &mut impl FnMut(i64, &[u8], Handling) -> Result<bool>,
    ) -> Result<bool> {
        if row.local.len() == row.length {
            return visit(row.number, row.local, Handling::Whole);
        }
        self.give_long(row, visit)
    }

    /// Gives a row with overflow pages, as far as the walk needs it.
    #[inline(never)]
    fn give_long(
        &mut self,
        row: Row<'_>,
        visit: &mut impl FnMut(i64, &[u8], Handling) -> Result<bool>,
    ) -> Result<bool> {
        let place = (&self.pages, self.geometry);
        let mut is_gathered = false;
        // If no value is needed to know whether a row is wanted, the row is given once.
        let parts = [(self.reach.sift, Handling::Sift), (self.reach.take, Handling::Take)];
        let once = [(self.reach.take, Handling::Whole)];
        for &(columns, part) in if self.reach.sift == 0 { &once[..] } else { &parts[..] } {
            let wanted = Payload::reach(row.local, row.length, columns);
            let bytes = if wanted <= row.local.len() {
                row.local
            } else {
                if !is_gathered {
                    self.gathered.begin(row);
                    is_gathered = true;
                }
                self.gathered.reach(wanted, place, &mut self.budget)?
            };
            let goes_on = visit(row.number, bytes, part)?;
            match part {
                Handling::Sift if !goes_on => return Ok(true),
                Handling::Take | Handling::Whole => return Ok(goes_on),
                Handling::Sift => {}
            }
        }
        Ok(true)
    }
}
