//! Rows that no page leads to any more, because the page above theirs is lost: they are found where it is certain whose
//! they are. A row's page does not say its table, so only one table may have lost a page, and it must be known which
//! pages are free: those may hold rows that were removed.

use super::damaged::Damaged;
use super::rebuild::{Rebuilt, Target};
use crate::engine::page::{Page, PageKind};
use crate::error::Result;

/// Looks for the rows of the one table that lost pages, where there is one.
pub(crate) fn find(rebuilt: &Rebuilt, source: &mut Damaged, targets: &mut [Target]) -> Result<()> {
    let mut lost = targets.iter_mut().filter(|target| target.numbered && target.saved.pages_lost > 0);
    let (Some(target), None) = (lost.next(), lost.next()) else { return Ok(()) };
    if !source.knows_free {
        return Ok(());
    }
    let mut saved = std::mem::take(&mut target.saved);
    let before = saved.rows;
    for number in source.numbers().skip(1) {
        if source.is_taken(number) {
            continue;
        }
        let Some(bytes) = source.page(number) else { continue };
        let page = Page::new(&bytes, number, source.geometry());
        let Some(page) = page.filter(|page| page.kind() == PageKind::TableLeaf) else { continue };
        source.leaf(page, (None, None), &mut saved, &mut |number, row, saved| {
            rebuilt.insert(target, number, row, saved)
        })?;
    }
    saved.rows_found = saved.rows - before;
    target.saved = saved;
    Ok(())
}
