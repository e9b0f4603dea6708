//! Queries of one shape: one ordered set of all rows that any of them may have, and a window of it for each. A commit
//! changes the set once, whatever the number of windows; those that a changed row left or entered are told.

use super::cover::Cover;
use super::explain::{LiveExplanation, Structure};
use super::interest::Scope;
use super::order::{SortColumn, Sorter, Span};
use super::outbox::{Outbox, Target};
use super::plan::{FamilyPlan, Page};
use super::residual::Residual;
use super::row::Row;
use super::set::{Entry, Ordered, Set};
use super::stab::Intervals;
use super::update::What;
use crate::record::{Record, Shape};
use slab::Slab;
use std::ops::Range;
use std::sync::Arc;

/// What one commit did to a set.
pub(crate) struct Step<T> {
    pub(crate) before: Set<Row<T>>,
    pub(crate) after: Set<Row<T>>,
    /// The rows that left their places, in order: gone, or changed.
    pub(crate) removed: Vec<Entry<Row<T>>>,
    /// The rows that came to their places, in order: new, or changed.
    pub(crate) inserted: Vec<Entry<Row<T>>>,
}

/// A window of a set, as its updates know it.
pub(crate) struct Watch<T> {
    pub(crate) sorter: Arc<Sorter<T>>,
    pub(crate) span: Span,
    page: Page,
}

impl<T: Record> Watch<T> {
    pub(crate) fn new(sorter: &Arc<Sorter<T>>, span: Span, page: Page) -> Watch<T> {
        Watch { sorter: Arc::clone(sorter), span, page }
    }

    /// The rows of a set that are in the window.
    pub(crate) fn range(&self, set: &Set<Row<T>>) -> Range<usize> {
        let range = self.span.range(&self.sorter, set);
        let start = range.start.saturating_add(self.page.offset).min(range.end);
        let end = self.page.limit.map_or(range.end, |limit| start.saturating_add(limit).min(range.end));
        start..end
    }

    /// The changed rows that lie in the window, wherever its page is.
    pub(crate) fn touched<'s>(&self, changed: &'s [Entry<Row<T>>]) -> &'s [Entry<Row<T>>] {
        let is_before = |entry: &Entry<Row<T>>, cut| self.sorter.is_before(entry.ord, &entry.row.record, cut);
        let from = changed.partition_point(|entry| is_before(entry, &self.span.low));
        let within = &changed[from..];
        &within[..within.partition_point(|entry| is_before(entry, &self.span.high))]
    }

    /// Whether a changed row lies in the window, of which one with these first bits does or lies at an end.
    fn is_touched(&self, ord: u64, step: &Step<T>) -> bool {
        (self.span.low.ord < ord && ord < self.span.high.ord)
            || !self.touched(&step.removed).is_empty()
            || !self.touched(&step.inserted).is_empty()
    }

    /// Whether the whole of the span is the result: then a changed row in it is a changed result.
    pub(crate) fn is_whole(&self) -> bool {
        self.page.is_whole()
    }
}

/// A subscription to a window.
struct Window<T> {
    watch: Arc<Watch<T>>,
    target: Target,
    counts: bool,
    /// The last commit that found it.
    found: u64,
}

/// Queries that differ only in their windows.
pub(crate) struct Family<T> {
    pub(crate) name: String,
    pub(crate) scope: Arc<Scope<T>>,
    pub(crate) set: Set<Row<T>>,
    windows: Slab<Window<T>>,
    index: Intervals,
    /// Windows that were cancelled since the cover was last made.
    cancelled: usize,
    commits: u64,
    removed: Vec<Entry<Row<T>>>,
    inserted: Vec<Entry<Row<T>>>,
}

impl<T: Record> Family<T> {
    pub(crate) fn new(plan: &FamilyPlan) -> Family<T> {
        let name = plan.name();
        Family {
            name,
            scope: Arc::new(Scope {
                sorter: Arc::new(Sorter::new(plan.sort.clone())),
                residual: plan.residual.clone().map(|node| Arc::new(Residual::new(node))),
                cover: Cover::default(),
            }),
            set: Set::empty(),
            windows: Slab::new(),
            index: Intervals::default(),
            cancelled: 0,
            commits: 0,
            removed: Vec::new(),
            inserted: Vec::new(),
        }
    }

    /// How many windows there are.
    pub(crate) fn len(&self) -> usize {
        self.windows.len()
    }

    /// How its windows are followed.
    pub(crate) fn explain(&self, shape: &Shape) -> LiveExplanation {
        let column = |(column, descending): &SortColumn| {
            format!("{}{}", if *descending { "-" } else { "" }, shape.columns[*column].name)
        };
        LiveExplanation {
            order: self.sorter().columns().iter().map(column).collect(),
            evaluates: self.scope.residual.is_some(),
            sharing: self.windows.len(),
            rows: self.set.len(),
            bytes: self.set.bytes() + self.windows.capacity() * size_of::<Window<T>>(),
            ..LiveExplanation::of(Structure::Window)
        }
    }

    /// Everybody who has a window.
    pub(crate) fn targets(&self) -> impl Iterator<Item = Target> {
        self.windows.iter().map(|(_, window)| window.target)
    }

    /// The columns that decide whether a record is in the set, and where.
    pub(crate) fn columns(&self) -> impl Iterator<Item = usize> {
        let evaluated = self.scope.residual.iter().flat_map(|residual| residual.columns.iter().copied());
        self.sorter().columns().iter().map(|(column, _)| *column).chain(evaluated)
    }

    pub(crate) fn sorter(&self) -> &Arc<Sorter<T>> {
        &self.scope.sorter
    }

    /// Lets the set have all rows of another part of the table, or of less of it.
    fn cover(&mut self, cover: Cover) {
        let Scope { sorter, residual, .. } = &*self.scope;
        self.scope = Arc::new(Scope { sorter: Arc::clone(sorter), residual: residual.clone(), cover });
    }

    /// Takes a change; whether the row, as it is now, is one of the set's.
    #[inline]
    pub(crate) fn consider(&mut self, old: Option<&Arc<Row<T>>>, new: Option<&Arc<Row<T>>>) -> bool {
        if let Some(entry) = old.and_then(|row| self.admitted(row)) {
            self.removed.push(entry);
        }
        let entered = new.and_then(|row| self.admitted(row));
        let is_in = entered.is_some();
        self.inserted.extend(entered);
        is_in
    }

    #[inline]
    fn admitted(&self, row: &Arc<Row<T>>) -> Option<Entry<Row<T>>> {
        let ord = self.sorter().ord(&row.record);
        self.scope.admits_at(ord, &row.record).then(|| Entry { ord, row: Arc::clone(row) })
    }

    /// Makes of what was taken since the last time one step, and tells the windows that it changes.
    pub(crate) fn commit(&mut self, out: &mut Outbox) {
        let (mut removed, mut inserted) =
            (std::mem::take(&mut self.removed), std::mem::take(&mut self.inserted));
        if removed.is_empty() && inserted.is_empty() && !out.tells_all {
            return;
        }
        removed.sort_unstable_by(|left, right| self.sorter().compare(left, right));
        inserted.sort_unstable_by(|left, right| self.sorter().compare(left, right));
        let before = self.set.clone();
        self.set = before.clone().apply(&removed, inserted.clone(), &**self.sorter());
        let step = Arc::new(Step { before, after: self.set.clone(), removed, inserted });
        self.commits += 1;
        self.tell(&step, out);
    }

    /// Tells the windows that the step changes: finds those where a changed row is, row by row, as long as that costs less
    /// than to look at every window once.
    fn tell(&mut self, step: &Arc<Step<T>>, out: &mut Outbox) {
        /// A search costs as much as to look at so many windows in their order.
        const SEARCH: usize = 16;
        if out.tells_all {
            return self.windows.iter().for_each(|(_, window)| window.tell(step, out));
        }
        let mut cost = 0;
        let (windows, commits, sorter) = (&mut self.windows, self.commits, &self.scope.sorter);
        for entry in step.removed.iter().chain(&step.inserted) {
            if cost > windows.len() {
                return self.sweep(step, out);
            }
            cost += SEARCH;
            self.index.stab(entry.ord, |id| {
                cost += 1;
                let Some(window) = windows.get_mut(id as usize).filter(|window| window.found != commits)
                else {
                    return;
                };
                if window.watch.span.contains(sorter, entry.ord, &entry.row.record) {
                    window.found = commits;
                    window.tell(step, out);
                }
            });
        }
    }

    /// Tells those windows that the step changes and that were not told yet.
    fn sweep(&mut self, step: &Arc<Step<T>>, out: &mut Outbox) {
        let (windows, commits) = (&self.windows, self.commits);
        self.index.sweep(
            [&step.removed, &step.inserted],
            |entry| entry.ord,
            |id, ord| {
                let window = windows.get(id as usize).filter(|window| window.found != commits);
                if let Some(window) = window.filter(|window| window.watch.is_touched(ord, step)) {
                    window.tell(step, out);
                }
            },
        );
    }

    /// Adds a window, whose span is covered.
    pub(crate) fn subscribe(&mut self, watch: Arc<Watch<T>>, target: Target, counts: bool) -> u32 {
        let (low, high) = (watch.span.low.ord, watch.span.high.ord);
        let id = self.windows.insert(Window { watch, target, counts, found: 0 });
        let id = u32::try_from(id).expect("a window takes more than a byte of memory");
        self.index.insert(low, high, id);
        id
    }

    /// Removes a window. What nobody watches any more is let go of when there is enough of it.
    pub(crate) fn cancel(&mut self, id: u32) {
        /// How many may be gone before it is worth a look.
        const GONE_MIN: usize = 64;
        let Some(window) = self.windows.try_remove(id as usize) else { return };
        self.index.remove(window.watch.span.low.ord, id);
        self.cancelled += 1;
        if self.cancelled > GONE_MIN.max(self.windows.len()) {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        self.cancelled = 0;
        let spans = self.windows.iter().map(|(_, window)| &window.watch.span);
        let cover = Cover::of(self.sorter(), spans);
        if cover != self.scope.cover {
            self.cover(cover);
            let is_left = |entry: &&Entry<Row<T>>| {
                self.scope.cover.contains(self.sorter(), entry.ord, &entry.row.record)
            };
            self.set = Set::build(self.set.iter(0..self.set.len()).filter(is_left).cloned().collect());
        }
    }

    /// Puts rows into the set that it has none of, and covers what they fill.
    pub(crate) fn fill(&mut self, rows: &[Arc<Row<T>>], gap: &Cover) {
        self.cover(self.scope.cover.with(self.sorter(), gap));
        let mut entries: Vec<Entry<Row<T>>> = rows.iter().filter_map(|row| self.admitted(row)).collect();
        entries.sort_unstable_by(|left, right| self.sorter().compare(left, right));
        self.set = std::mem::replace(&mut self.set, Set::empty()).apply(&[], entries, &**self.sorter());
    }
}

impl<T: Record> Window<T> {
    /// Tells the subscriber, where the step changed the result.
    fn tell(&self, step: &Arc<Step<T>>, out: &mut Outbox) {
        if self.counts {
            let count = |set| self.watch.range(set).len() as u64;
            let (before, after) = (count(&step.before), count(&step.after));
            if before != after || out.tells_all {
                out.put(self.target, What::Count { before, after });
            }
        } else if self.watch.is_whole() || out.tells_all || self.is_other_page(step) {
            let (watch, step) = (Arc::clone(&self.watch), Arc::clone(step));
            out.put(self.target, What::Window { watch, step, older: None });
        }
    }

    /// Whether the page has other rows than before.
    fn is_other_page(&self, step: &Step<T>) -> bool {
        let (before, after) = (self.watch.range(&step.before), self.watch.range(&step.after));
        before.len() != after.len()
            || step
                .before
                .iter(before)
                .zip(step.after.iter(after))
                .any(|(before, after)| !Arc::ptr_eq(&before.row, &after.row))
    }
}
