//! Live queries that share a scan: one ordered set of all rows that queries of one shape may have, and a window of it
//! for each. A commit changes the set once, whatever the number of windows; only windows with a changed row are updated.

use super::cover::Cover;
use super::explain::{LiveExplanation, Structure};
use super::interest::Scope;
use super::order::{Cut, SortColumn, Sorter, Span};
use super::outbox::{Outbox, Target};
use super::plan::FamilyPlan;
use super::residual::Residual;
use super::row::Row;
use super::set::{Entry, Ordered, Set};
use super::stab::Intervals;
use super::update::What;
use super::watch::{Step, Watch};
use crate::types::record::{Record, Shape};
use slab::Slab;
use std::sync::Arc;

/// A subscription to a window.
struct Window<T> {
    watch: Arc<Watch<T>>,
    target: Target,
    /// The number of the last commit that found the window.
    found: u64,
    /// The cut at which the held rows of the span end; `None` if all of them are held.
    until: Option<Cut>,
    /// How many rows beyond those of the page the window gets when it is filled up.
    ahead: usize,
    /// The set at the last update, while rows that the page needs are lacking.
    late: Option<Set<Row<T>>>,
}

/// Rows that a window holds beyond its page: at first, and at most. Each time it is filled up the number doubles.
const AHEAD_MIN: usize = 8;
const AHEAD_MAX: usize = 1024;

/// Queries that differ only in their windows, and the set that they share.
pub(crate) struct Family<T> {
    pub(crate) name: String,
    pub(crate) scope: Arc<Scope<T>>,
    pub(crate) set: Set<Row<T>>,
    windows: Slab<Window<T>>,
    index: Intervals,
    /// Windows that were cancelled since the cover was last computed.
    cancelled: usize,
    commits: u64,
    removed: Vec<Entry<Row<T>>>,
    inserted: Vec<Entry<Row<T>>>,
    /// Windows that lack rows.
    late: Vec<u32>,
    /// How many of the sort columns the query names; columns of the key may follow them.
    asked: usize,
    /// Whether windows hold only the first rows of their spans.
    is_cut: bool,
    /// The size above which the set is searched for rows that no window needs.
    len_max: usize,
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
            late: Vec::new(),
            asked: plan.asked,
            is_cut: plan.is_cut,
            len_max: 0,
        }
    }

    /// Whether windows lack rows.
    pub(crate) fn is_late(&self) -> bool {
        !self.late.is_empty()
    }

    /// The windows that lack rows, each with the number of rows that it is to hold.
    pub(crate) fn lacking(&self) -> Vec<(u32, Arc<Watch<T>>, usize)> {
        let windows = self.late.iter().filter_map(|id| Some((*id, self.windows.get(*id as usize)?)));
        windows.map(|(id, window)| (id, Arc::clone(&window.watch), window.wanted())).collect()
    }

    /// The number of windows.
    pub(crate) fn len(&self) -> usize {
        self.windows.len()
    }

    /// How the windows are followed.
    pub(crate) fn explain(&self, shape: &Shape) -> LiveExplanation {
        let column = |(column, descending): &SortColumn| {
            format!("{}{}", if *descending { "-" } else { "" }, shape.columns[*column].name)
        };
        LiveExplanation {
            order: self.sorter().columns()[..self.asked].iter().map(column).collect(),
            evaluates: self.scope.residual.is_some(),
            sharing: self.windows.len(),
            rows: self.set.len(),
            bytes: self.set.bytes() + self.windows.capacity() * size_of::<Window<T>>(),
            ..LiveExplanation::of(Structure::Window)
        }
    }

    /// The targets of all windows.
    pub(crate) fn targets(&self) -> impl Iterator<Item = Target> {
        self.windows.iter().map(|(_, window)| window.target)
    }

    /// The columns that decide whether a record is in the set, and its position.
    pub(crate) fn columns(&self) -> impl Iterator<Item = usize> {
        let evaluated = self.scope.residual.iter().flat_map(|residual| residual.columns.iter().copied());
        self.sorter().columns().iter().map(|(column, _)| *column).chain(evaluated)
    }

    pub(crate) fn sorter(&self) -> &Arc<Sorter<T>> {
        &self.scope.sorter
    }

    /// Changes the part of the table whose rows the set holds.
    fn cover(&mut self, cover: Cover) {
        let Scope { sorter, residual, .. } = &*self.scope;
        self.scope = Arc::new(Scope { sorter: Arc::clone(sorter), residual: residual.clone(), cover });
    }

    /// Collects a change. Returns whether the new row belongs to the set.
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

    /// Applies the changes collected since the last commit as one step, and puts updates of the windows that it changes
    /// into the outbox. Returns how many rows that no window needs were dropped.
    pub(crate) fn commit(&mut self, out: &mut Outbox) -> usize {
        let (mut removed, mut inserted) =
            (std::mem::take(&mut self.removed), std::mem::take(&mut self.inserted));
        if removed.is_empty() && inserted.is_empty() && !out.tells_all {
            return 0;
        }
        removed.sort_unstable_by(|left, right| self.sorter().compare(left, right));
        inserted.sort_unstable_by(|left, right| self.sorter().compare(left, right));
        let before = self.set.clone();
        self.set = before.clone().apply(&removed, inserted.clone(), &**self.sorter());
        let step = Arc::new(Step { before, after: self.set.clone(), removed, inserted });
        self.commits += 1;
        self.tell(&step, out);
        self.trim()
    }

    /// Drops the rows behind those that windows need, if there are many. Returns how many.
    pub(crate) fn trim(&mut self) -> usize {
        /// A set may always hold this many rows.
        const LEN_MIN: usize = 64;
        if !self.is_cut || self.set.len() <= self.len_max.max(LEN_MIN) {
            return 0;
        }
        let before = self.set.len();
        for (_, window) in &mut self.windows {
            window.cut(&self.set);
        }
        self.shrink();
        self.len_max = self.set.len() * 2;
        before - self.set.len()
    }

    /// Reports the step to the windows that it changes. Searches the windows of each changed row as long as that costs
    /// less than one look at every window.
    fn tell(&mut self, step: &Arc<Step<T>>, out: &mut Outbox) {
        /// A search costs as much as looking at this many windows in order.
        const SEARCH: usize = 16;
        if out.tells_all {
            for (id, window) in &mut self.windows {
                window.tell(id, step, out, &mut self.late);
            }
            return;
        }
        let mut cost = 0;
        let (windows, commits, sorter) = (&mut self.windows, self.commits, &self.scope.sorter);
        let late = &mut self.late;
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
                    window.tell(id as usize, step, out, late);
                }
            });
        }
    }

    /// Reports the step to the windows that it changes and that do not have it yet.
    fn sweep(&mut self, step: &Arc<Step<T>>, out: &mut Outbox) {
        let (windows, commits, late) = (&mut self.windows, self.commits, &mut self.late);
        self.index.sweep(
            [&step.removed, &step.inserted],
            |entry| entry.ord,
            |id, ord| {
                let window = windows.get_mut(id as usize).filter(|window| window.found != commits);
                if let Some(window) = window.filter(|window| window.watch.is_touched(ord, step)) {
                    window.tell(id as usize, step, out, late);
                }
            },
        );
    }

    /// The cut at which the held rows of a span end; the inner `None` if they reach the end of the span. The outer
    /// `None` means that fewer than `wanted` rows are held.
    pub(crate) fn reach(&self, watch: &Watch<T>, wanted: usize) -> Option<Option<Cut>> {
        let (sorter, span) = (self.sorter(), &watch.span);
        if span.is_empty(sorter) {
            return Some(None);
        }
        if watch.needed == Some(0) {
            return Some(Some(span.low.clone()));
        }
        let held = self.scope.cover.behind(sorter, &span.low)?;
        if sorter.compare_cuts(&held.high, &span.high).is_ge() {
            return Some(None);
        }
        (watch.held(&self.set, &held.high) >= wanted).then(|| Some(held.high.clone()))
    }

    /// Ends the wait of a window whose rows are held up to `until` now. An update has the changes since the last one.
    pub(crate) fn mend(&mut self, id: u32, until: Option<Cut>, out: &mut Outbox) {
        self.late.retain(|late| *late != id);
        let Some(window) = self.windows.get_mut(id as usize) else { return };
        let Some(before) = window.late.take() else { return };
        window.until = until;
        window.ahead = (window.ahead * 2).min(AHEAD_MAX.max(window.ahead));
        if out.tells_all || window.watch.is_other(&before, &self.set, Row::is_same) {
            let (removed, inserted) = (Vec::new(), Vec::new());
            let step = Step { before, after: self.set.clone(), removed, inserted };
            window.put(&Arc::new(step), out);
        }
    }

    /// Adds a window. The cover must contain its span, up to `until`.
    pub(crate) fn subscribe(&mut self, watch: Arc<Watch<T>>, target: Target, until: Option<Cut>) -> u32 {
        let (low, high) = (watch.span.low.ord, watch.span.high.ord);
        let ahead = ahead(&watch);
        let id = self.windows.insert(Window { watch, target, found: 0, until, ahead, late: None });
        let id = u32::try_from(id).expect("a window takes more than a byte of memory");
        self.index.insert(low, high, id);
        id
    }

    /// Removes a window. The rows that it alone needed are dropped once enough windows are gone.
    pub(crate) fn cancel(&mut self, id: u32) {
        /// Fewer cancelled windows are not worth computing the cover again.
        const GONE_MIN: usize = 64;
        let Some(window) = self.windows.try_remove(id as usize) else { return };
        self.index.remove(window.watch.span.low.ord, id);
        self.late.retain(|late| *late != id);
        self.cancelled += 1;
        if self.cancelled > GONE_MIN.max(self.windows.len()) {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        self.cancelled = 0;
        let spans: Vec<Span> = self.windows.iter().map(|(_, window)| window.held()).collect();
        let cover = Cover::of(self.sorter(), &spans);
        if cover != self.scope.cover {
            self.cover(cover);
            let is_left = |entry: &&Entry<Row<T>>| {
                self.scope.cover.contains(self.sorter(), entry.ord, &entry.row.record)
            };
            self.set = Set::build(self.set.iter(0..self.set.len()).filter(is_left).cloned().collect());
        }
    }

    /// Adds the rows of a gap, of which the set has none, and extends the cover by it.
    pub(crate) fn fill(&mut self, rows: &[Arc<Row<T>>], gap: &Cover) {
        self.cover(self.scope.cover.with(self.sorter(), gap));
        let mut entries: Vec<Entry<Row<T>>> = rows.iter().filter_map(|row| self.admitted(row)).collect();
        entries.sort_unstable_by(|left, right| self.sorter().compare(left, right));
        self.set = std::mem::replace(&mut self.set, Set::empty()).apply(&[], entries, &**self.sorter());
    }
}

/// How many rows a window gets when it is first filled.
pub(crate) fn wanted<T>(watch: &Watch<T>) -> usize {
    watch.needed.unwrap_or(usize::MAX).saturating_add(ahead(watch))
}

fn ahead<T>(watch: &Watch<T>) -> usize {
    AHEAD_MIN.max(watch.needed.unwrap_or(0) / 4)
}

impl<T: Record> Window<T> {
    /// The part of the span whose rows are held.
    fn held(&self) -> Span {
        let Span { low, high } = &self.watch.span;
        Span { low: low.clone(), high: self.until.as_ref().unwrap_or(high).clone() }
    }

    /// How many rows the window gets when it is filled up.
    fn wanted(&self) -> usize {
        self.watch.needed.unwrap_or(usize::MAX).saturating_add(self.ahead)
    }

    /// Moves the end of the held rows to the last one that the window is to hold.
    fn cut(&mut self, set: &Set<Row<T>>) {
        if self.watch.needed.is_none() || self.late.is_some() {
            return;
        }
        let (wanted, held) = (self.wanted(), self.watch.held(set, &self.held().high));
        if held > wanted
            && let Some(last) = set.get(self.watch.sorter.rank(set, &self.watch.span.low) + wanted - 1)
        {
            self.until = Some(self.watch.sorter.cut_after(&last.row.record));
        }
    }

    /// Whether the page needs rows that are not held.
    fn is_short(&self, set: &Set<Row<T>>) -> bool {
        let (Some(needed), Some(until)) = (self.watch.needed, &self.until) else { return false };
        self.watch.held(set, until) < needed
    }

    /// Puts an update for the subscriber into the outbox if the step changed the result. If the page lacks rows, the
    /// update waits until the window is filled up.
    fn tell(&mut self, id: usize, step: &Arc<Step<T>>, out: &mut Outbox, late: &mut Vec<u32>) {
        if self.late.is_some() {
            return;
        }
        if self.is_short(&step.after) {
            self.late = Some(step.before.clone());
            late.extend(u32::try_from(id));
            return;
        }
        if self.watch.is_whole() || out.tells_all || self.is_other_page(step) {
            self.put(step, out);
        }
    }

    fn put(&self, step: &Arc<Step<T>>, out: &mut Outbox) {
        let (watch, step) = (Arc::clone(&self.watch), Arc::clone(step));
        out.put(self.target, What::Window { watch, step, older: None });
    }

    /// Whether the page has other rows than before.
    fn is_other_page(&self, step: &Step<T>) -> bool {
        self.watch.is_other(&step.before, &step.after, |_, _| false)
    }
}
