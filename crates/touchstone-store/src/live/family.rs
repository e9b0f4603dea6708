//! Queries of one shape: one ordered set of all rows that any of them may have, and a window of it for each. A commit
//! changes the set once, whatever the number of windows; those that a changed row left or entered are told.

use super::cover::Cover;
use super::explain::{LiveExplanation, Structure};
use super::interest::Scope;
use super::order::{Cut, SortColumn, Sorter, Span};
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
    /// How many of the span's first rows the page needs, where only these are held.
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

    /// How many rows the page has where the span has so many.
    pub(crate) fn shown(&self, number: u64) -> u64 {
        let left = number.saturating_sub(self.page.offset as u64);
        self.page.limit.map_or(left, |limit| left.min(limit as u64))
    }

    /// How many rows of the span a set has before the cut.
    fn held(&self, set: &Set<Row<T>>, until: &Cut) -> usize {
        self.sorter.rank(set, until).saturating_sub(self.sorter.rank(set, &self.span.low))
    }

    /// Whether a page has other rows in the one version than in the other.
    fn is_other(
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
    /// The last commit that found it.
    found: u64,
    /// Where the rows end that are held of its span; none where all of them are.
    until: Option<Cut>,
    /// How many rows are held beyond those that the page needs, when it is filled up.
    ahead: usize,
    /// The last version that was told, while rows lack that the page needs.
    late: Option<Set<Row<T>>>,
}

/// Rows that are held beyond a page, when it is first filled, and at most: each time that it is filled up they are twice
/// as many as the time before.
const AHEAD_MIN: usize = 8;
const AHEAD_MAX: usize = 1024;

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
    /// Windows that lack rows.
    late: Vec<u32>,
    /// How many of the columns were asked for.
    asked: usize,
    /// Whether windows are cut behind the rows that they need.
    is_cut: bool,
    /// How large the set may become before it is looked for rows that no window needs.
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

    /// The windows that lack rows, and how many rows each of them is to have.
    pub(crate) fn lacking(&self) -> Vec<(u32, Arc<Watch<T>>, usize)> {
        let windows = self.late.iter().filter_map(|id| Some((*id, self.windows.get(*id as usize)?)));
        windows.map(|(id, window)| (id, Arc::clone(&window.watch), window.wanted())).collect()
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
            order: self.sorter().columns()[..self.asked].iter().map(column).collect(),
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

    /// Makes of what was taken since the last time one step, and tells the windows that it changes; how many rows are not
    /// held any more that no window needs.
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

    /// Lets go of rows behind those that windows need, when there are many; how many.
    pub(crate) fn trim(&mut self) -> usize {
        /// How many a set may always have.
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

    /// Tells the windows that the step changes: finds those where a changed row is, row by row, as long as that costs less
    /// than to look at every window once.
    fn tell(&mut self, step: &Arc<Step<T>>, out: &mut Outbox) {
        /// A search costs as much as to look at so many windows in their order.
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

    /// Tells those windows that the step changes and that were not told yet.
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

    /// Where the rows end that are held of a span, with as many as are wanted: nowhere before the span does, where it has
    /// no more. None where rows lack.
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

    /// Fills a window up, which now reaches to there, and tells it what is other than it was told.
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

    /// Adds a window, of whose span is covered what is held.
    pub(crate) fn subscribe(&mut self, watch: Arc<Watch<T>>, target: Target, until: Option<Cut>) -> u32 {
        let (low, high) = (watch.span.low.ord, watch.span.high.ord);
        let ahead = ahead(&watch);
        let id = self.windows.insert(Window { watch, target, found: 0, until, ahead, late: None });
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

    /// Puts rows into the set that it has none of, and covers what they fill.
    pub(crate) fn fill(&mut self, rows: &[Arc<Row<T>>], gap: &Cover) {
        self.cover(self.scope.cover.with(self.sorter(), gap));
        let mut entries: Vec<Entry<Row<T>>> = rows.iter().filter_map(|row| self.admitted(row)).collect();
        entries.sort_unstable_by(|left, right| self.sorter().compare(left, right));
        self.set = std::mem::replace(&mut self.set, Set::empty()).apply(&[], entries, &**self.sorter());
    }
}

/// How many rows a window is to have when it is first filled.
pub(crate) fn wanted<T>(watch: &Watch<T>) -> usize {
    watch.needed.unwrap_or(usize::MAX).saturating_add(ahead(watch))
}

fn ahead<T>(watch: &Watch<T>) -> usize {
    AHEAD_MIN.max(watch.needed.unwrap_or(0) / 4)
}

impl<T: Record> Window<T> {
    /// What is held of the span.
    fn held(&self) -> Span {
        let Span { low, high } = &self.watch.span;
        Span { low: low.clone(), high: self.until.as_ref().unwrap_or(high).clone() }
    }

    /// How many rows it is to have.
    fn wanted(&self) -> usize {
        self.watch.needed.unwrap_or(usize::MAX).saturating_add(self.ahead)
    }

    /// Lets go of the rows behind those that it is to have.
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

    /// Tells the subscriber, where the step changed the result; or notes that it is to be told, when the rows are there that
    /// lack.
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
