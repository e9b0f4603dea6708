//! Visitors of the rows that a scan of a table's pages finds.

use crate::session::ScannedRow;
use crate::types::error::Result;

/// Receives rows, borrowed from the page.
pub(crate) trait Visitor {
    /// Whether the row is wanted. Of a row with overflow pages, only the part is loaded that the scan's `Reach` names
    /// for this.
    #[inline]
    fn admits(&mut self, _row: &ScannedRow<'_, '_>) -> Result<bool> {
        Ok(true)
    }

    /// Receives a wanted row. Returns whether more rows are wanted.
    fn take(&mut self, row: &ScannedRow<'_, '_>) -> Result<bool>;
}

/// Receives every row.
pub(crate) struct Each<F>(F);

/// Passes every row to `take`, until it returns `false`.
#[inline]
pub(crate) fn each<F: FnMut(&ScannedRow<'_, '_>) -> Result<bool>>(take: F) -> Each<F> {
    Each(take)
}

impl<F: FnMut(&ScannedRow<'_, '_>) -> Result<bool>> Visitor for Each<F> {
    #[inline]
    fn take(&mut self, row: &ScannedRow<'_, '_>) -> Result<bool> {
        (self.0)(row)
    }
}
