//! A feed beside what it must give: which batches, which updates in each, and what every one of them says.

use super::ask::Target;
use super::kit::{Kit, Told, Watch};
use super::value::{Row, by_key};
use super::{About, Tally};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use touchstone_store::{Batch, ErrorKind, Feed, Mode, Overflow, SubscriptionId, Update};

/// A subscription, what its answer is now, and what its receiver has of it.
pub struct Subscribed {
    pub kit: usize,
    pub target: Target,
    pub watch: Box<dyn Watch>,
    now: Rc<Vec<Row>>,
    had: Rc<Vec<Row>>,
}

/// The updates of one batch, by what they must say; and whether they stand for several.
#[derive(Default)]
struct Expected {
    updates: BTreeMap<SubscriptionId, Rc<Vec<Row>>>,
    merged: bool,
}

/// What an update must say.
#[derive(Clone, Copy)]
enum Wanted<'e> {
    /// These records; perhaps those that were there before, where it stands for several.
    Rows(&'e Rc<Vec<Row>>, bool),
    /// There should be none.
    Nothing,
    /// That is looked at in the end.
    Anything,
}

impl Wanted<'_> {
    fn is_merged(self) -> bool {
        matches!(self, Wanted::Rows(_, true) | Wanted::Anything)
    }
}

pub struct Station {
    /// Which store's.
    pub store: usize,
    pub feed: Arc<Feed>,
    pub mode: Mode,
    /// Whether it is not read after each commit.
    pub lazy: bool,
    pub subscribed: Vec<Subscribed>,
    queue: VecDeque<Expected>,
    newest: Expected,
    /// Batches since it was read.
    unread: usize,
    overflowed: bool,
    is_told: bool,
    version: u64,
}

impl Station {
    pub fn new(store: usize, feed: Arc<Feed>, mode: Mode, lazy: bool) -> Station {
        let (subscribed, queue, newest) = (Vec::new(), VecDeque::new(), Expected::default());
        Station {
            store,
            feed,
            mode,
            lazy,
            subscribed,
            queue,
            newest,
            unread: 0,
            overflowed: false,
            is_told: false,
            version: 0,
        }
    }

    /// Takes a subscription in, which must begin with what is so.
    pub fn add(
        &mut self,
        kit: &dyn Kit,
        at: usize,
        target: Target,
        watch: Box<dyn Watch>,
        table: &[Row],
        about: About,
    ) {
        let (had, now) = (watch.initial(), Rc::new(target.answer(kit.meta(), table)));
        let subscribed = Subscribed { kit: at, target, watch, now: Rc::clone(&now), had: Rc::new(had) };
        let is_right = match &subscribed.target {
            Target::Count(_) => subscribed.had.len() == now.len(),
            target if target.is_loose() => is_page(kit, target, &subscribed.had, &now),
            target => same(&arranged(kit, target, &subscribed.had), &now),
        };
        if !is_right {
            fail(about, kit, self, &subscribed, "begins with other records", &subscribed.had, &now);
        }
        self.subscribed.push(subscribed);
    }

    /// Takes in a subscription that began while others committed: with what was so before, or after.
    pub fn add_comer(
        &mut self,
        kit: &dyn Kit,
        at: usize,
        target: Target,
        watch: Box<dyn Watch>,
        table: &[Row],
    ) {
        let (had, now) = (Rc::new(watch.initial()), Rc::new(target.answer(kit.meta(), table)));
        self.subscribed.push(Subscribed { kit: at, target, watch, now, had });
    }

    pub fn cancel(&mut self, at: usize) {
        let subscribed = self.subscribed.swap_remove(at);
        let id = subscribed.watch.id();
        subscribed.watch.cancel();
        self.queue.iter_mut().for_each(|expected| drop(expected.updates.remove(&id)));
        self.queue.retain(|expected| !expected.updates.is_empty());
        self.newest.updates.remove(&id);
    }

    /// How many batches may be pending, those included whose subscriptions were all cancelled.
    pub fn pending(&self) -> usize {
        self.unread
    }

    pub fn has_overflowed(&self) -> bool {
        self.overflowed
    }

    /// Whether every commit's batch will be looked at.
    fn is_followed(&self) -> bool {
        !self.lazy || (self.newest.updates.is_empty() && self.mode != Mode::Latest)
    }

    /// A commit has changed tables: works out what it must be told.
    pub fn commit(
        &mut self,
        kits: &[Box<dyn Kit>],
        tables: &[Vec<Row>],
        changed: &[bool],
        tally: &mut Tally,
    ) {
        let mut expected = Expected::default();
        for subscribed in &mut self.subscribed {
            if !changed[subscribed.kit] {
                continue;
            }
            let answer = subscribed.target.answer(kits[subscribed.kit].meta(), &tables[subscribed.kit]);
            let is_same = match &subscribed.target {
                Target::Count(_) => answer.len() == subscribed.now.len(),
                _ => same(&answer, &subscribed.now),
            };
            if is_same {
                continue;
            }
            subscribed.now = Rc::new(answer);
            if !subscribed.target.is_loose() {
                expected.updates.insert(subscribed.watch.id(), Rc::clone(&subscribed.now));
            }
        }
        if self.is_followed() {
            tally.checks += self.subscribed.len() as u64;
        }
        if !expected.updates.is_empty() && !self.overflowed {
            self.put(expected);
        }
    }

    fn put(&mut self, expected: Expected) {
        self.unread += 1;
        let Mode::Every { batches, overflow } = self.mode else { return self.newest.merge(expected) };
        if !self.newest.updates.is_empty() {
            return self.newest.merge(expected);
        }
        match overflow {
            Overflow::Resync if self.queue.len() >= batches => {
                for queued in std::mem::take(&mut self.queue) {
                    self.newest.merge(queued);
                }
                self.newest.merge(expected);
            }
            Overflow::End if self.queue.len() >= batches => {
                self.queue.clear();
                self.overflowed = true;
            }
            _ => self.queue.push_back(expected),
        }
    }

    fn take(&mut self) -> Expected {
        if self.newest.updates.is_empty() {
            self.newest.merged = false;
            return self.queue.pop_front().unwrap_or_default();
        }
        std::mem::take(&mut self.newest)
    }

    /// Reads all there is, which must be what is expected, and leave every receiver with what is so.
    pub fn read(&mut self, kits: &[Box<dyn Kit>], tally: &mut Tally, about: About) {
        self.unread = 0;
        if self.is_told {
            return;
        }
        if self.overflowed {
            self.is_told = true;
            let error = self.feed.try_next().expect_err("there were too many batches");
            assert_eq!(error.kind(), ErrorKind::Busy);
            assert!(self.feed.try_next().expect("it is told once").is_none());
            return;
        }
        loop {
            let expected = self.take();
            let batch = self.feed.try_next().expect("the feed goes on");
            let is_none = expected.updates.is_empty() && batch.is_none();
            self.compare(kits, &expected, batch.as_ref(), tally, about);
            if is_none {
                break;
            }
        }
        if self.lazy && self.mode == Mode::Latest {
            tally.checks += self.subscribed.len() as u64;
        }
        self.is_even(kits, about);
    }

    /// As [`read`](Station::read), after several commits that nobody has waited for: where they could not be followed one
    /// by one, or were superseded, what is told of them is told together.
    pub fn read_burst(&mut self, kits: &[Box<dyn Kit>], has_others: bool, tally: &mut Tally, about: About) {
        self.unread = 0;
        if self.overflowed {
            return;
        }
        let mut batches = Vec::new();
        while let Some(batch) = self.feed.try_next().expect("the feed goes on") {
            batches.push(batch);
        }
        let may_merge = match self.mode {
            Mode::Every { overflow: Overflow::Block, .. } => false,
            Mode::Every { batches, .. } => batches < 5,
            Mode::Latest => true,
        };
        let is_merged = may_merge || has_others || batches.iter().any(Batch::is_resync);
        let has_loose = self.subscribed.iter().any(|subscribed| subscribed.target.is_loose());
        if is_merged || has_loose {
            self.newest = Expected::default();
            self.queue.clear();
            for batch in &batches {
                self.follow(kits, batch, |_| Wanted::Anything, tally, about);
            }
        } else {
            let mut batches = batches.iter();
            loop {
                let (expected, batch) = (self.take(), batches.next());
                if expected.updates.is_empty() && batch.is_none() {
                    break;
                }
                self.compare(kits, &expected, batch, tally, about);
            }
        }
        self.is_even(kits, about);
    }

    /// Every receiver has what is so.
    pub fn is_even(&self, kits: &[Box<dyn Kit>], about: About) {
        for subscribed in &self.subscribed {
            let kit = &*kits[subscribed.kit];
            let is_right = match &subscribed.target {
                Target::Count(_) => subscribed.had.len() == subscribed.now.len(),
                target if target.is_loose() => is_page(kit, target, &subscribed.had, &subscribed.now),
                target => same(&arranged(kit, target, &subscribed.had), &subscribed.now),
            };
            if !is_right {
                fail(about, kit, self, subscribed, "was told of no change", &subscribed.had, &subscribed.now);
            }
        }
    }

    fn compare(
        &mut self,
        kits: &[Box<dyn Kit>],
        expected: &Expected,
        batch: Option<&Batch>,
        tally: &mut Tally,
        about: About,
    ) {
        let mut left: Vec<SubscriptionId> = expected.updates.keys().copied().collect();
        if let Some(batch) = batch {
            left.retain(|id| batch.iter().all(|update| update.id() != *id));
            let wanted = |id| match expected.updates.get(&id) {
                Some(rows) => Wanted::Rows(rows, expected.merged),
                None => Wanted::Nothing,
            };
            self.follow(kits, batch, wanted, tally, about);
        }
        for id in left {
            let Some(subscribed) = self.subscribed.iter().find(|subscribed| subscribed.watch.id() == id)
            else {
                continue;
            };
            let kit = &*kits[subscribed.kit];
            fail(
                about,
                kit,
                self,
                subscribed,
                "was not told of a change",
                &subscribed.had,
                &expected.updates[&id],
            );
        }
    }

    /// Takes a batch in.
    fn follow<'w>(
        &mut self,
        kits: &[Box<dyn Kit>],
        batch: &Batch,
        wanted: impl Fn(SubscriptionId) -> Wanted<'w>,
        tally: &mut Tally,
        about: About,
    ) {
        assert!(
            batch.version() > self.version,
            "{about}: versions grow: {} {}",
            self.version,
            batch.version()
        );
        assert!(!batch.is_empty(), "{about}: no batch is empty");
        self.version = batch.version();
        let mut seen = BTreeSet::new();
        for update in batch.iter() {
            assert!(seen.insert(update.id()), "{about}: a batch has one update of a subscription");
            assert!(update.version() <= batch.version(), "{about}: an update is not newer than its batch");
            tally.deliveries += 1;
            tally.resyncs += u64::from(update.is_resync());
            tally.hollow += u64::from(self.update(kits, update, wanted(update.id()), about));
        }
    }

    /// Compares an update; whether it says nothing new.
    fn update(&mut self, kits: &[Box<dyn Kit>], update: &Update, wanted: Wanted<'_>, about: About) -> bool {
        if let Some(error) = update.error() {
            panic!("{about}: {error:?}");
        }
        let at = self.subscribed.iter().position(|subscribed| subscribed.watch.id() == update.id());
        let Some(at) = at else {
            panic!("{about}: an update of a subscription that was cancelled: {update:?}")
        };
        let subscribed = &self.subscribed[at];
        let kit = &*kits[subscribed.kit];
        let why = |what: &str, found: &[Row], expected: &[Row]| -> ! {
            fail(about, kit, self, subscribed, what, found, expected)
        };
        let Some(told) = subscribed.watch.told(update) else { why("was told nothing", &[], &[]) };
        if let Target::Count(_) = subscribed.target {
            let Some(count) = told.count else { why("was told no number", &[], &subscribed.now) };
            match wanted {
                Wanted::Nothing => why("was told of no change", &[], &subscribed.now),
                Wanted::Rows(rows, _) if count != rows.len() as u64 => {
                    why(&format!("was told {count} instead of {}", rows.len()), &[], rows);
                }
                _ => {}
            }
            let is_hollow = count == subscribed.had.len() as u64;
            if is_hollow && !wanted.is_merged() {
                why("was told the same number again", &subscribed.had, &subscribed.now);
            }
            // Of what is counted only the number matters.
            self.subscribed[at].had =
                Rc::new(vec![Row::default(); usize::try_from(count).expect("there are few")]);
            return is_hollow;
        }
        if !same(&told.before, &subscribed.had) {
            why("has other records before the update", &told.before, &subscribed.had);
        }
        if !same(&told.patched, &told.results) {
            why("has a diff that makes other records", &told.patched, &told.results);
        }
        if !is_delta(&told) {
            why("has a delta of other records", &told.results, &told.before);
        }
        let is_hollow = same(&told.results, &subscribed.had);
        if is_hollow && !wanted.is_merged() {
            why("was told the same records again", &told.results, &subscribed.now);
        }
        match wanted {
            Wanted::Rows(rows, _) if !same(&arranged(kit, &subscribed.target, &told.results), rows) => {
                why("was told other records", &told.results, rows);
            }
            Wanted::Nothing if !subscribed.target.is_loose() => {
                why("was told of no change", &told.results, &subscribed.now);
            }
            _ => {}
        }
        self.subscribed[at].had = Rc::new(told.results);
        is_hollow
    }
}

impl Expected {
    fn merge(&mut self, later: Expected) {
        self.merged |= later.merged || !self.updates.is_empty();
        self.updates.extend(later.updates);
    }
}

pub fn same(left: &[Row], right: &[Row]) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).all(|(left, right)| Rc::ptr_eq(left, right) || left == right)
}

/// The records in the order of their keys, where no other is given.
fn arranged<'r>(kit: &dyn Kit, target: &Target, rows: &'r [Row]) -> Cow<'r, [Row]> {
    if target.is_ordered() {
        return Cow::Borrowed(rows);
    }
    let mut rows = rows.to_vec();
    rows.sort_by(|left, right| by_key(kit.meta().keys, left, right));
    Cow::Owned(rows)
}

/// Whether the records are as many of the others as the limit allows.
fn is_page(kit: &dyn Kit, target: &Target, rows: &[Row], of: &[Row]) -> bool {
    let Target::Query(question) = target else { return false };
    let (offset, limit) = question.bounds();
    let mut keys: Vec<&Row> = rows.iter().collect();
    let keyed = kit.meta().keys;
    keys.sort_by(|left, right| by_key(keyed, left, right));
    keys.dedup_by(|left, right| by_key(keyed, left, right).is_eq());
    let is_there =
        |row: &Row| of.binary_search_by(|other| by_key(keyed, other, row)).is_ok_and(|at| of[at] == *row);
    keys.len() == rows.len()
        && rows.len() == of.len().saturating_sub(offset).min(limit)
        && rows.iter().all(is_there)
}

/// Whether what was removed and what was inserted makes the records of those before.
fn is_delta(told: &Told) -> bool {
    let mut left = told.before.clone();
    for gone in &told.removed {
        let Some(at) = left.iter().position(|row| row == gone) else { return false };
        left.swap_remove(at);
    }
    left.extend(told.inserted.iter().cloned());
    left.len() == told.results.len()
        && told.results.iter().all(|row| {
            let at = left.iter().position(|other| other == row);
            at.map(|at| left.swap_remove(at)).is_some()
        })
}

#[cold]
fn fail(
    about: About,
    kit: &dyn Kit,
    station: &Station,
    subscribed: &Subscribed,
    what: &str,
    found: &[Row],
    expected: &[Row],
) -> ! {
    let differs = found.iter().zip(expected).position(|(found, expected)| found != expected);
    let at = differs.unwrap_or(found.len().min(expected.len()));
    let keys = |rows: &[Row]| {
        format!(
            "{:.2000}",
            format!(
                "{:?}",
                rows.iter().map(|row| &row[..kit.meta().keys.min(row.len())]).collect::<Vec<_>>()
            )
        )
    };
    panic!(
        "{about}: {:?} of `{}` to a feed of store {} ({:?}, lazy: {}) {what}\n  target: {:?}\n  first other: {at} of {} and {}\n  found:    {:?}\n  expected: {:?}\n  keys found:    {}\n  keys expected: {}",
        subscribed.watch.id(),
        kit.meta().table,
        station.store,
        station.mode,
        station.lazy,
        subscribed.target,
        found.len(),
        expected.len(),
        found.get(at),
        expected.get(at),
        keys(found),
        keys(expected),
    );
}
