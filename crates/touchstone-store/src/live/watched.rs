//! All subscriptions to one type's records in one collection: a hash table of the rows that some result contains, the
//! families of queries, the tallies of counts, and the keys that are watched by themselves. Here commits are applied, and
//! lacking rows are read; `subscribing.rs` begins and ends the subscriptions.

mod subscribing;

pub(crate) use subscribing::Request;

use super::changes::{Change, Olds};
use super::cover::Cover;
use super::explain::{LiveExplanation, Structure};
use super::family::Family;
use super::interest::{Filter, Interest, Marks};
use super::load;
use super::order::{Cut, Span};
use super::outbox::{Outbox, Target};
use super::row::{Row, RowKey};
use super::tally::Tally;
use super::update::{Unknown, What};
use super::watch::Watch;
use crate::session::access::Access;
use crate::types::error::Result;
use crate::types::record::{Record, Shape};
use hashbrown::HashTable;
use slab::Slab;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// Stands for an index that is not set.
const NONE: u32 = u32::MAX;

/// A key that a family holds, or that is watched by itself.
struct HeldKey<T> {
    row: Option<Arc<Row<T>>>,
    /// The index in `Watched::touched`, while a commit that changes the row is applied.
    touched: u32,
    /// The subscriptions to the key itself, as an index in `Watched::keys`.
    watchers: u32,
}

/// A watched key.
struct Watchers {
    key: RowKey,
    targets: SmallVec<[Target; 1]>,
}

/// The net change that a commit makes to one row.
struct Touched<T> {
    hash: u64,
    old: Option<Arc<Row<T>>>,
    new: Option<Arc<Row<T>>>,
    watchers: u32,
    /// The bucket of the row's entry when it was touched. An insertion may have moved the entry since.
    bucket: usize,
    is_same: bool,
    /// Whether a family holds the row in its state after the commit.
    is_held: bool,
}

impl<T: Record> Touched<T> {
    fn new(hash: u64, held: &HeldKey<T>, bucket: usize) -> Touched<T> {
        let (old, watchers) = (held.row.clone(), held.watchers);
        Touched { hash, old, new: None, watchers, bucket, is_same: false, is_held: false }
    }

    /// Compares the old row with the new one: a commit may leave a row as it was.
    fn settle(&mut self) {
        self.is_same = match (&self.old, &self.new) {
            (Some(old), Some(new)) => old.is_same(new),
            (old, new) => old.is_none() && new.is_none(),
        };
        self.is_held = self.is_same && self.old.is_some();
    }
}

/// The structure that serves a subscription, and the subscription's index in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Key { watchers: u32 },
    Window { family: u32, window: u32 },
    Number { tally: u32, number: u32 },
    Statement { at: u32 },
}

/// The last state of each row that a commit changes, by the bytes of its key; `None` for a row that is gone.
type Last<'c, T> = HashMap<&'c [u8], (&'c RowKey, Option<&'c Arc<Row<T>>>)>;

/// All subscriptions to the records of one type.
pub(crate) struct Watched<T: Record> {
    rows: HashTable<HeldKey<T>>,
    keys: Slab<Watchers>,
    families: Slab<Family<T>>,
    names: HashMap<String, u32>,
    tallies: Slab<Tally<T>>,
    touched: Vec<Touched<T>>,
    /// An upper bound of the rows that no family needs any more, counted since the last sweep.
    stale: usize,
    interest: Arc<Interest>,
    /// The Bloom filter of held keys, which the writer reads.
    marks: Arc<Marks>,
    has_old_marks: bool,
}

impl<T: Record> Watched<T> {
    pub(crate) fn new(interest: &Arc<Interest>) -> Watched<T> {
        Watched {
            rows: HashTable::new(),
            keys: Slab::new(),
            // Usually it is one, which ends with its view. Freeing room for four makes the allocator consolidate
            // memory.
            families: Slab::with_capacity(1),
            names: HashMap::new(),
            tallies: Slab::new(),
            touched: Vec::new(),
            stale: 0,
            interest: Arc::clone(interest),
            marks: interest.marks(),
            has_old_marks: false,
        }
    }
}

fn hash_of<T>(keys: &Slab<Watchers>, held: &HeldKey<T>) -> u64 {
    match &held.row {
        Some(row) => row.key.hash,
        None => keys[held.watchers as usize].key.hash,
    }
}

/// Whether the entry has this key.
fn is_of<T>(keys: &Slab<Watchers>, held: &HeldKey<T>, key: &RowKey) -> bool {
    match &held.row {
        Some(row) => row.key == *key,
        None => keys[held.watchers as usize].key == *key,
    }
}

impl<T: Record> Watched<T> {
    /// Whether there is no subscription.
    pub(crate) fn is_empty(&self) -> bool {
        self.families.is_empty() && self.keys.is_empty() && self.tallies.is_empty()
    }

    /// Applies a commit, and puts the updates of the subscriptions that it concerns into the outbox.
    pub(crate) fn take(&mut self, changes: Vec<Change<T>>, olds: &Olds<T>, out: &mut Outbox) {
        if !self.tallies.is_empty() {
            self.count(&changes, olds);
        }
        self.take_rows(changes, out);
    }

    /// Adjusts the counts by a commit, with the state of each changed row before it and after it.
    fn count(&mut self, changes: &[Change<T>], olds: &Olds<T>) {
        let mut last: Last<'_, T> = HashMap::new();
        let mut is_cleared = false;
        for change in changes {
            match change {
                Change::Put(row) => drop(last.insert(&row.key.bytes, (&row.key, Some(row)))),
                Change::Gone(key) => drop(last.insert(&key.bytes, (&**key, None))),
                Change::Cleared => {
                    last.clear();
                    is_cleared = true;
                }
            }
        }
        if is_cleared {
            self.tallies.iter_mut().for_each(|(_, tally)| tally.clear());
        }
        for (key, new) in last.into_values() {
            let held = self.rows.find(key.hash, |held| is_of(&self.keys, held, key)).map(|held| &held.row);
            let old = if is_cleared { Some(&None) } else { held.or_else(|| olds.get(key)) };
            let Some(old) = old else { return self.lose_numbers() };
            let is_same = old.as_ref().zip(new).is_some_and(|(old, new)| old.is_same(new));
            if !is_same {
                let (old, new) = (old.as_ref().map(|row| &row.record), new.map(|row| &row.record));
                self.tallies.iter_mut().for_each(|(_, tally)| tally.step(old, new));
            }
        }
    }

    /// Marks all counts as out of date, so that the records are counted again.
    fn lose_numbers(&mut self) {
        self.tallies.iter_mut().for_each(|(_, tally)| tally.lose());
    }

    /// Applies a commit's changes to the rows that are held.
    fn take_rows(&mut self, changes: Vec<Change<T>>, out: &mut Outbox) {
        for change in changes {
            match change {
                Change::Put(row) => self.put(row),
                Change::Gone(key) => {
                    if let Some(touched) = self.touch(&key) {
                        touched.new = None;
                    }
                }
                Change::Cleared => self.clear(),
            }
        }
        let mut touched = std::mem::take(&mut self.touched);
        touched.iter_mut().for_each(Touched::settle);
        for (_, family) in &mut self.families {
            for touched in touched.iter_mut().filter(|touched| !touched.is_same) {
                touched.is_held |= family.consider(touched.old.as_ref(), touched.new.as_ref());
            }
        }
        for (at, touched) in (0..).zip(&mut touched) {
            self.conclude(at, touched, out);
        }
        self.touched = touched;
        self.touched.clear();
        for (_, family) in &mut self.families {
            self.stale += family.commit(out);
        }
        self.tallies.iter_mut().for_each(|(_, tally)| tally.commit(out));
        self.sweep_many();
    }

    /// Notes that all rows are gone.
    fn clear(&mut self) {
        for held in self.rows.iter_mut() {
            if held.touched != NONE {
                self.touched[held.touched as usize].new = None;
            } else {
                held.touched = index(self.touched.len());
                self.touched.push(Touched::new(hash_of(&self.keys, held), held, usize::MAX));
            }
        }
    }

    /// Notes the current row, if a result contains its key or a query admits it now.
    #[inline]
    fn put(&mut self, row: Arc<Row<T>>) {
        match self.touch(&row.key) {
            Some(touched) => touched.new = Some(row),
            None => self.meet(row),
        }
    }

    /// The commit's change of the key, if the key is held.
    #[inline]
    fn touch(&mut self, key: &RowKey) -> Option<&mut Touched<T>> {
        let keys = &self.keys;
        let bucket = self.rows.find_bucket_index(key.hash, |held| is_of(keys, held, key))?;
        let held = self.rows.get_bucket_mut(bucket)?;
        if held.touched == NONE {
            held.touched = index(self.touched.len());
            self.touched.push(Touched::new(key.hash, held, bucket));
        }
        self.touched.get_mut(held.touched as usize)
    }

    /// Notes a row that was not held, if a query admits it now.
    fn meet(&mut self, row: Arc<Row<T>>) {
        if !self.families.iter().any(|(_, family)| family.scope.admits(&row.record)) {
            return;
        }
        let hash = row.key.hash;
        let mut touched =
            Touched::new(hash, &HeldKey { row: None, touched: NONE, watchers: NONE }, usize::MAX);
        let held =
            HeldKey { row: Some(Arc::clone(&row)), touched: index(self.touched.len()), watchers: NONE };
        touched.bucket = self.hold(hash, held);
        touched.new = Some(row);
        self.touched.push(touched);
    }

    /// Adds an entry, and returns its bucket.
    fn hold(&mut self, hash: u64, held: HeldKey<T>) -> usize {
        self.marks.add(hash);
        let keys = &self.keys;
        self.rows.insert_unique(hash, held, |held| hash_of(keys, held)).bucket_index()
    }

    /// Puts the net change of a row into the outbox for the subscriptions to its key, and updates the entry of the row.
    fn conclude(&mut self, at: u32, touched: &mut Touched<T>, out: &mut Outbox) {
        let Touched { hash, old, new, watchers, bucket, is_same, is_held } = touched;
        if (!*is_same || out.tells_all)
            && let Some(watchers) = self.keys.get(*watchers as usize)
        {
            let row = if *is_same { &*old } else { &*new };
            for target in &watchers.targets {
                out.put(*target, What::Record { before: unknown(old), after: unknown(row) });
            }
        }
        let is_there = self.rows.get_bucket(*bucket).is_some_and(|held| held.touched == at);
        let bucket = if is_there {
            Some(*bucket)
        } else {
            self.rows.find_bucket_index(*hash, |held| held.touched == at)
        };
        let Some(Ok(mut entry)) = bucket.map(|bucket| self.rows.get_bucket_entry(bucket)) else { return };
        if *is_held || *watchers != NONE {
            let held = entry.get_mut();
            held.touched = NONE;
            if !*is_same {
                held.row = new.take();
            }
        } else {
            entry.remove();
        }
    }

    /// Reads all watched rows again, and puts the differences from the held rows into the outbox.
    ///
    /// # Errors
    /// If a page contradicts itself or its checksum, if the system fails to read, or if a stored value does not fit its
    /// field's type. Nothing has changed if reading rows fails; filling windows up and counting come after that.
    pub(crate) fn resync(&mut self, access: Access<'_, T>, out: &mut Outbox) -> Result<()> {
        let mut list = vec![Change::Cleared];
        for (_, family) in &self.families {
            list.extend(load::rows(access, family, &family.scope.cover)?.into_iter().map(Change::Put));
        }
        for (_, watchers) in &self.keys {
            list.extend(load::row(access, &watchers.key)?.map(Change::Put));
        }
        self.lose_numbers();
        self.take_rows(list, out);
        self.mend(access, out)
    }

    /// Whether windows lack rows, or records must be counted again.
    pub(crate) fn is_late(&self) -> bool {
        self.families.iter().any(|(_, family)| family.is_late())
            || self.tallies.iter().any(|(_, tally)| tally.is_late())
    }

    /// Fills up windows that lack rows and counts records again, from a snapshot of the last commit that was applied.
    /// The outbox gets the differences from the results that the subscribers have.
    ///
    /// # Errors
    /// As [`resync`](Watched::resync).
    pub(crate) fn mend(&mut self, access: Access<'_, T>, out: &mut Outbox) -> Result<()> {
        let late = self.families.iter().filter(|(_, family)| family.is_late());
        for at in late.map(|(at, _)| index(at)).collect::<Vec<_>>() {
            let lacking = self.families[at as usize].lacking();
            let wanted: Vec<_> =
                lacking.iter().map(|(_, watch, wanted)| (Arc::clone(watch), *wanted)).collect();
            let reached = self.reach(access, at, &wanted)?;
            for ((id, ..), until) in lacking.into_iter().zip(reached) {
                self.families[at as usize].mend(id, until, out);
            }
        }
        self.trim();
        self.count_anew(access, out)
    }

    fn count_anew(&mut self, access: Access<'_, T>, out: &mut Outbox) -> Result<()> {
        for (_, tally) in self.tallies.iter_mut().filter(|(_, tally)| tally.is_late()) {
            let lacking = tally.lacking();
            let spans: Vec<&Span> = lacking.iter().map(|(_, watch)| &watch.span).collect();
            let counted = load::count(access, tally, &spans)?;
            for ((id, _), number) in lacking.iter().zip(counted) {
                tally.mend(*id, number, out);
            }
        }
        Ok(())
    }

    /// Drops rows that no window needs, if there are many of them.
    fn trim(&mut self) {
        for (_, family) in &mut self.families {
            self.stale += family.trim();
        }
        self.sweep_many();
    }

    /// Makes a family hold the rows that windows need. Returns for each window the cut at which its held rows end.
    fn reach(
        &mut self,
        access: Access<'_, T>,
        at: u32,
        wanted: &[(Arc<Watch<T>>, usize)],
    ) -> Result<Vec<Option<Cut>>> {
        let lacking = |family: &Family<T>| {
            let lacks = |(watch, wanted): &&(Arc<Watch<T>>, usize)| family.reach(watch, *wanted).is_none();
            wanted.iter().filter(lacks).map(|(watch, _)| Arc::clone(watch)).collect::<Vec<_>>()
        };
        let spans = lacking(&self.families[at as usize]);
        // One scan costs less than many reads of parts. The rows between the parts are dropped again by `trim`.
        if spans.len() > load::GAPS_MAX {
            let family = &self.families[at as usize];
            let all = Cover::of(family.sorter(), spans.iter().map(|watch| &watch.span));
            let gap = family.scope.cover.lacks(family.sorter(), &all);
            self.fill(access, at, &gap)?;
        }
        let mut reached = Vec::with_capacity(wanted.len());
        for (watch, wanted) in wanted {
            let family = &self.families[at as usize];
            if let Some(until) = family.reach(watch, *wanted) {
                reached.push(until);
                continue;
            }
            let (rows, until) = load::first(access, family, &watch.span, *wanted)?;
            let high = until.clone().unwrap_or_else(|| watch.span.high.clone());
            let held = Cover::of(family.sorter(), [&Span { low: watch.span.low.clone(), high }]);
            let gap = family.scope.cover.lacks(family.sorter(), &held);
            self.put_into(at, rows, &gap);
            reached.push(until);
        }
        Ok(reached)
    }

    fn fill(&mut self, access: Access<'_, T>, family: u32, gap: &Cover) -> Result<()> {
        let loaded = load::rows(access, &self.families[family as usize], gap)?;
        self.put_into(family, loaded, gap);
        Ok(())
    }

    /// Adds rows of a gap that were read to the rows that are held, and to a family that has none of the gap.
    fn put_into(&mut self, family: u32, loaded: Vec<Arc<Row<T>>>, gap: &Cover) {
        let mut rows = Vec::with_capacity(loaded.len());
        for row in loaded {
            let keys = &self.keys;
            match self.rows.find_mut(row.key.hash, |held| is_of(keys, held, &row.key)) {
                Some(held) => rows.push(Arc::clone(held.row.get_or_insert(row))),
                None => {
                    self.hold(
                        row.key.hash,
                        HeldKey { row: Some(Arc::clone(&row)), touched: NONE, watchers: NONE },
                    );
                    rows.push(row);
                }
            }
        }
        self.families[family as usize].fill(&rows, gap);
    }

    /// Sweeps if more than half of the rows may be in no result any more.
    fn sweep_many(&mut self) {
        if self.stale > self.rows.len() / 2 {
            self.sweep();
        }
    }

    /// Drops rows that are in no result any more.
    fn sweep(&mut self) {
        self.stale = 0;
        let families = &self.families;
        let is_wanted =
            |row: &Arc<Row<T>>| families.iter().any(|(_, family)| family.scope.admits(&row.record));
        self.rows.retain(|held| held.watchers != NONE || held.row.as_ref().is_some_and(is_wanted));
        let keys = &self.keys;
        self.rows.shrink_to_fit(|held| hash_of(keys, held));
    }

    /// The targets of all subscriptions, for an update that says that nothing can be read.
    pub(crate) fn targets(&self) -> Vec<Target> {
        let keys = self.keys.iter().flat_map(|(_, watchers)| watchers.targets.iter().copied());
        let windows = self.families.iter().flat_map(|(_, family)| family.targets());
        keys.chain(windows).chain(self.tallies.iter().flat_map(|(_, tally)| tally.targets())).collect()
    }
}

/// Explaining a subscription.
impl<T: Record> Watched<T> {
    /// How a subscription is followed.
    pub(crate) fn explain(&self, place: Place, shape: &Shape) -> Option<LiveExplanation> {
        match place {
            Place::Key { watchers } => {
                let sharing = self.keys.get(watchers as usize)?.targets.len();
                Some(LiveExplanation { sharing, rows: 1, ..LiveExplanation::of(Structure::Key) })
            }
            Place::Window { family, .. } => Some(self.families.get(family as usize)?.explain(shape)),
            Place::Number { tally, .. } => Some(self.tallies.get(tally as usize)?.explain(shape)),
            Place::Statement { .. } => None,
        }
    }
}

/// The filter of the rows that matter, for the writer.
impl<T: Record> Watched<T> {
    /// Gives the writer the current filter, after [`Interest::open`] made every row matter.
    pub(crate) fn settle(&self) {
        /// The writer checks the scope of each family for each row. If there are more families, every row matters.
        const SCOPES_MAX: usize = 16;
        if self.families.len() <= SCOPES_MAX {
            self.interest.settle(self.filter());
        }
    }

    fn filter(&self) -> Filter<T> {
        Filter { scopes: self.families.iter().map(|(_, family)| Arc::clone(&family.scope)).collect() }
    }

    /// Replaces a Bloom filter that is too full, or drops the previous one when no commit that added keys to that one
    /// alone is in progress or waits in the inbox.
    pub(crate) fn tidy(&mut self, is_quiet: &dyn Fn() -> bool) {
        if !self.has_old_marks {
            self.mark_anew();
        } else if is_quiet() {
            self.interest.forget_old_marks();
            self.has_old_marks = false;
        }
    }

    /// Replaces the Bloom filter if it is too full. Does nothing while the one before it is still needed.
    fn mark_anew(&mut self) {
        if self.has_old_marks || !self.marks.is_full() {
            return;
        }
        let marks = Marks::for_keys(self.rows.len());
        for held in &self.rows {
            marks.add(hash_of(&self.keys, held));
        }
        self.marks = self.interest.remark(marks);
        self.has_old_marks = true;
    }
}

/// A row, for a subscriber that knows its type.
fn unknown<T: Record>(row: &Option<Arc<Row<T>>>) -> Option<Unknown> {
    row.as_ref().map(|row| -> Unknown { Arc::clone(row) as Unknown })
}

fn index(at: usize) -> u32 {
    u32::try_from(at).expect("four thousand million of anything take more memory than there is")
}
