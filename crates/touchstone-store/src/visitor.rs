//! Who looks at the rows that a walk over a table's pages comes to.

use crate::error::Result;
use crate::session::ScannedRow;

/// Takes rows where they lie.
pub(crate) trait Visitor {
    /// Whether the row is wanted. Of one that goes on in other pages, no more is there than this asks for.
    #[inline]
    fn admits(&mut self, _row: &ScannedRow<'_, '_>) -> Result<bool> {
        Ok(true)
    }

    /// Takes a row that is wanted; whether more of them are.
    fn take(&mut self, row: &ScannedRow<'_, '_>) -> Result<bool>;
}

/// Takes every row.
pub(crate) struct Each<F>(F);

/// Gives every row to `take`, until it says `false`.
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
