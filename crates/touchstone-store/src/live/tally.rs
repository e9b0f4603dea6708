//! Live counts: only the number of records in each window is kept. A commit adjusts the numbers by the old and the new
//! state of each changed row. If the writer does not report the old state, the records are counted again.

use super::explain::{LiveExplanation, Structure};
use super::order::{SortColumn, Sorter};
use super::outbox::{Outbox, Target};
use super::plan::FamilyPlan;
use super::residual::Residual;
use super::stab::Intervals;
use super::update::What;
use super::watch::Watch;
use crate::types::record::{Record, Shape};
use slab::Slab;
use std::sync::Arc;

/// A subscription to a count.
struct Counter<T> {
    watch: Arc<Watch<T>>,
    target: Target,
    /// The number of records in the span.
    number: u64,
    /// The number of records in the page, as of the last update.
    told: u64,
    is_touched: bool,
    /// Whether the records must be counted again.
    is_late: bool,
}

/// The counts of queries that differ only in their windows.
pub(crate) struct Tally<T> {
    pub(crate) name: String,
    sorter: Arc<Sorter<T>>,
    pub(crate) residual: Option<Arc<Residual>>,
    counters: Slab<Counter<T>>,
    index: Intervals,
    touched: Vec<u32>,
    late: Vec<u32>,
}

impl<T: Record> Tally<T> {
    pub(crate) fn new(plan: &FamilyPlan) -> Tally<T> {
        Tally {
            name: plan.name(),
            sorter: Arc::new(Sorter::new(plan.sort.clone())),
            residual: plan.residual.clone().map(|node| Arc::new(Residual::new(node))),
            counters: Slab::new(),
            index: Intervals::default(),
            touched: Vec::new(),
            late: Vec::new(),
        }
    }

    /// The number of subscriptions.
    pub(crate) fn len(&self) -> usize {
        self.counters.len()
    }

    pub(crate) fn sorter(&self) -> &Arc<Sorter<T>> {
        &self.sorter
    }

    /// The columns that decide whether a record is counted, and for which windows.
    pub(crate) fn columns(&self) -> impl Iterator<Item = usize> {
        let evaluated = self.residual.iter().flat_map(|residual| residual.columns.iter().copied());
        self.sorter.columns().iter().map(|(column, _)| *column).chain(evaluated)
    }

    /// How the counts are followed.
    pub(crate) fn explain(&self, shape: &Shape) -> LiveExplanation {
        let column = |(column, descending): &SortColumn| {
            format!("{}{}", if *descending { "-" } else { "" }, shape.columns[*column].name)
        };
        LiveExplanation {
            order: self.sorter.columns().iter().map(column).collect(),
            evaluates: self.residual.is_some(),
            sharing: self.counters.len(),
            bytes: self.counters.capacity() * size_of::<Counter<T>>(),
            ..LiveExplanation::of(Structure::Number)
        }
    }

    /// The targets of all subscriptions.
    pub(crate) fn targets(&self) -> impl Iterator<Item = Target> {
        self.counters.iter().map(|(_, counter)| counter.target)
    }

    /// Adjusts the counts by a changed row: its old and its new record.
    pub(crate) fn step(&mut self, old: Option<&T>, new: Option<&T>) {
        for (record, comes) in old.map(|old| (old, false)).into_iter().chain(new.map(|new| (new, true))) {
            if self.residual.as_ref().is_some_and(|residual| !residual.holds(record)) {
                continue;
            }
            let (ord, sorter) = (self.sorter.ord(record), &self.sorter);
            let (counters, touched) = (&mut self.counters, &mut self.touched);
            self.index.stab(ord, |id| {
                let Some(counter) = counters.get_mut(id as usize) else { return };
                if counter.watch.span.contains(sorter, ord, record) {
                    let number = counter.number;
                    counter.number = if comes { number + 1 } else { number.saturating_sub(1) };
                    if !std::mem::replace(&mut counter.is_touched, true) {
                        touched.push(id);
                    }
                }
            });
        }
    }

    /// Sets all counts to 0, as all records are gone.
    pub(crate) fn clear(&mut self) {
        for (id, counter) in &mut self.counters {
            counter.number = 0;
            if !std::mem::replace(&mut counter.is_touched, true) {
                self.touched.extend(u32::try_from(id));
            }
        }
    }

    /// Marks all counts as out of date, so that the records are counted again.
    pub(crate) fn lose(&mut self) {
        for (id, counter) in &mut self.counters {
            if !std::mem::replace(&mut counter.is_late, true) {
                self.late.extend(u32::try_from(id));
            }
        }
    }

    /// Puts updates of the counts that have changed since the last commit into the outbox.
    pub(crate) fn commit(&mut self, out: &mut Outbox) {
        if out.tells_all {
            self.counters.iter_mut().for_each(|(_, counter)| counter.tell(out));
        }
        for id in std::mem::take(&mut self.touched) {
            if let Some(counter) = self.counters.get_mut(id as usize) {
                counter.is_touched = false;
                counter.tell(out);
            }
        }
    }

    /// Whether records must be counted again.
    pub(crate) fn is_late(&self) -> bool {
        !self.late.is_empty()
    }

    /// The windows whose records must be counted again.
    pub(crate) fn lacking(&self) -> Vec<(u32, Arc<Watch<T>>)> {
        let counters = self.late.iter().filter_map(|id| Some((*id, self.counters.get(*id as usize)?)));
        counters.map(|(id, counter)| (id, Arc::clone(&counter.watch))).collect()
    }

    /// Sets the new count, and puts an update into the outbox if it differs from the last.
    pub(crate) fn mend(&mut self, id: u32, number: u64, out: &mut Outbox) {
        self.late.retain(|late| *late != id);
        if let Some(counter) = self.counters.get_mut(id as usize) {
            (counter.number, counter.is_late) = (number, false);
            counter.tell(out);
        }
    }

    /// Adds a subscription with the number of records in its span. Returns also the number of records in its page.
    pub(crate) fn subscribe(&mut self, watch: Arc<Watch<T>>, target: Target, number: u64) -> (u32, u64) {
        let (low, high, told) = (watch.span.low.ord, watch.span.high.ord, watch.shown(number));
        let counter = Counter { watch, target, number, told, is_touched: false, is_late: false };
        let id =
            u32::try_from(self.counters.insert(counter)).expect("a number takes more than a byte of memory");
        self.index.insert(low, high, id);
        (id, told)
    }

    /// Removes a subscription.
    pub(crate) fn cancel(&mut self, id: u32) {
        let Some(counter) = self.counters.try_remove(id as usize) else { return };
        self.index.remove(counter.watch.span.low.ord, id);
        self.late.retain(|late| *late != id);
        self.touched.retain(|touched| *touched != id);
    }
}

impl<T: Record> Counter<T> {
    /// Puts an update into the outbox if the number differs from that of the last one.
    fn tell(&mut self, out: &mut Outbox) {
        let (before, after) = (self.told, self.watch.shown(self.number));
        if !self.is_late && (before != after || out.tells_all) {
            self.told = after;
            out.put(self.target, What::Count { before, after });
        }
    }
}
