//! A window of an ordered set, as its updates see it, and the steps of the set from one version to the next.

use super::order::{Cut, Sorter, Span};
use super::plan::Page;
use super::row::Row;
use super::set::{Entry, Set};
use crate::types::record::Record;
use std::ops::Range;
use std::sync::Arc;

/// The change that one commit makes to a set.
pub(crate) struct Step<T> {
    pub(crate) before: Set<Row<T>>,
    pub(crate) after: Set<Row<T>>,
    /// The old rows in order: of records that are gone or changed.
    pub(crate) removed: Vec<Entry<Row<T>>>,
    /// The new rows in order: of records that are new or changed.
    pub(crate) inserted: Vec<Entry<Row<T>>>,
}

/// A window of a set, as its updates see it.
pub(crate) struct Watch<T> {
    pub(crate) sorter: Arc<Sorter<T>>,
    pub(crate) span: Span,
    page: Page,
    /// How many of the span's first rows the page needs; `None` if all rows of the span are held.
    pub(crate) needed: Option<usize>,
}

impl<T: Record> Watch<T> {
    pub(crate) fn new(sorter: &Arc<Sorter<T>>, span: Span, page: Page, is_cut: bool) -> Watch<T> {
        let needed = page.limit.filter(|_| is_cut).map(|limit| match limit {
            0 => 0,
            limit => page.offset.saturating_add(limit),
        });
        Watch { sorter: Arc::clone(sorter), span, page, needed }
    }

    /// The number of rows in the page, if the span has `number` rows.
    pub(crate) fn shown(&self, number: u64) -> u64 {
        let left = number.saturating_sub(self.page.offset as u64);
        self.page.limit.map_or(left, |limit| left.min(limit as u64))
    }

    /// How many rows of the span a set has before the cut.
    pub(super) fn held(&self, set: &Set<Row<T>>, until: &Cut) -> usize {
        self.sorter.rank(set, until).saturating_sub(self.sorter.rank(set, &self.span.low))
    }

    /// Whether the page has other rows in one version than in the other.
    pub(super) fn is_other(
        &self,
        before: &Set<Row<T>>,
        after: &Set<Row<T>>,
        is_same: impl Fn(&Row<T>, &Row<T>) -> bool,
    ) -> bool {
        let (old, new) = (self.range(before), self.range(after));
        let pairs = || before.iter(old.clone()).zip(after.iter(new.clone()));
        old.len() != new.len()
            || pairs().any(|(before, after)| {
                !Arc::ptr_eq(&before.row, &after.row) && !is_same(&before.row, &after.row)
            })
    }

    /// The positions of the page in a set.
    pub(crate) fn range(&self, set: &Set<Row<T>>) -> Range<usize> {
        let range = self.span.range(&self.sorter, set);
        let start = range.start.saturating_add(self.page.offset).min(range.end);
        let end = self.page.limit.map_or(range.end, |limit| start.saturating_add(limit).min(range.end));
        start..end
    }

    /// The changed rows that lie in the span, inside the page or not.
    pub(crate) fn touched<'s>(&self, changed: &'s [Entry<Row<T>>]) -> &'s [Entry<Row<T>>] {
        let is_before = |entry: &Entry<Row<T>>, cut| self.sorter.is_before(entry.ord, &entry.row.record, cut);
        let from = changed.partition_point(|entry| is_before(entry, &self.span.low));
        let within = &changed[from..];
        &within[..within.partition_point(|entry| is_before(entry, &self.span.high))]
    }

    /// Whether a changed row lies in the span, given that the changed row with this `ord` lies inside it or at an end.
    pub(super) fn is_touched(&self, ord: u64, step: &Step<T>) -> bool {
        (self.span.low.ord < ord && ord < self.span.high.ord)
            || !self.touched(&step.removed).is_empty()
            || !self.touched(&step.inserted).is_empty()
    }

    /// Whether the result is the whole span: then each changed row in the span changes the result.
    pub(crate) fn is_whole(&self) -> bool {
        self.page.is_whole()
    }
}
