//! Finds rows on orphan pages: pages that no other page leads to, because the page above them is lost. A page does not
//! say its table. So orphan rows are saved only if exactly one table with numbered rows has lost pages, and if the free
//! pages are known: those may hold removed rows.

use super::damaged::Damaged;
use super::rebuild::{Rebuilt, TargetTable};
use crate::engine::page::{Page, PageKind};
use crate::types::error::Result;

/// Looks for rows of the one numbered table that lost pages, if there is exactly one.
pub(crate) fn find(rebuilt: &Rebuilt, source: &mut Damaged, targets: &mut [TargetTable]) -> Result<()> {
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
