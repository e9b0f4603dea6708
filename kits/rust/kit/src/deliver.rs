//! Plays a `deliver` lane: transactions with subscribers, each timed by its moments, and after each, off the clock,
//! everything that was delivered is looked at.

use crate::answers::Answers;
use crate::lane::Played;
use crate::live::{Difference, Live, Moments, Taken, TakenOf, Update, take};
use crate::prepared::{Dataset, unreadable};
use crate::subscribe;
use crate::usage::Counts;
use crate::{Failure, FailureKind, Stored, failure};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use touchstone_protocol::{
    Delivery, DeliveryDigest, Depth, Doc, Lane, LaneSample, Record, Sample, Subscription, Usage,
    read_subscriptions, record_crc32,
};

/// What a session does with prepared subscriptions, whatever their record type.
pub(crate) trait Watches<D> {
    /// How many subscriptions there are.
    fn size(&self) -> u64;
    /// Subscribes to the first `count`.
    fn watch(&mut self, handle: &mut D, count: u64) -> Result<(), Failure>;
    /// Plays a `deliver` lane.
    fn deliver(&mut self, handle: &mut D, lane: &Lane) -> Result<Played, Failure>;
    /// Plays a `subscribe` lane.
    fn subscribe(&mut self, handle: &mut D, lane: &Lane, latency: bool) -> Result<Played, Failure>;
}

/// Subscriptions to records of `R`, and what their subscribers have.
pub(crate) struct Watching<R> {
    dataset: Rc<Dataset<R>>,
    subscriptions: Vec<Subscription>,
    /// How many of them are watched.
    watched: usize,
    /// What each subscriber had last, a CRC-32 for each record: kept only while differences are asked for.
    had: Option<Vec<Vec<u32>>>,
}

impl<R: Stored> Watching<R> {
    pub(crate) fn read(dataset: Rc<Dataset<R>>, file: &Path) -> Result<Watching<R>, Failure> {
        let subscriptions = read_subscriptions(file).map_err(|error| unreadable(file, error))?;
        Ok(Watching { dataset, subscriptions, watched: 0, had: None })
    }

    /// The new states of one transaction. They are taken round and round.
    fn states(&self, from: u64, changes: u64) -> Result<Vec<&R>, Failure> {
        let states = self.dataset.states();
        let size = states.len() as u64;
        if changes == 0 || changes > size || !size.is_multiple_of(changes) {
            let message = format!("{size} new states are no whole number of transactions of {changes}");
            return Err(failure(FailureKind::Protocol, message));
        }
        Ok((from..from + changes).map(|state| &states[(state % size) as usize]).collect())
    }
}

impl<D: Live<R>, R: Stored> Watches<D> for Watching<R> {
    fn size(&self) -> u64 {
        self.subscriptions.len() as u64
    }

    fn watch(&mut self, handle: &mut D, count: u64) -> Result<(), Failure> {
        let Some(watched) = self.subscriptions.get(..count as usize) else {
            let message =
                format!("{count} subscriptions were asked for; there are {}", self.subscriptions.len());
            return Err(failure(FailureKind::Protocol, message));
        };
        supported::<D, R>(watched.iter())?;
        (self.watched, self.had) = (count as usize, None);
        handle.watch(watched).map_err(Into::into)
    }

    fn deliver(&mut self, handle: &mut D, lane: &Lane) -> Result<Played, Failure> {
        let depth = lane.depth.unwrap_or_default();
        self.had = match (depth, self.had.take()) {
            (Depth::Diff, None) => Some(self.fetch_all(handle)?),
            (Depth::Diff, had) => had,
            _ => None,
        };
        let changes = lane.changes.unwrap_or(1);
        let mut tally = Tally::default();
        for transaction in 0..lane.count {
            let states = self.states(lane.from + transaction * changes, changes)?;
            let taken = tally.time(handle, &states, self.watched, lane);
            if let Some(taken) = taken {
                tally.settle(&mut self.had, self.watched, transaction as u32, taken);
            }
        }
        self.compare(handle, &mut tally)?;
        Ok(tally.played())
    }

    fn subscribe(&mut self, handle: &mut D, lane: &Lane, latency: bool) -> Result<Played, Failure> {
        if self.subscriptions.is_empty() {
            return Err(failure(FailureKind::Protocol, "there are no subscriptions to begin"));
        }
        let all = self.subscriptions.len() as u64;
        let one = |operation| ((operation % all) as usize, &self.subscriptions[(operation % all) as usize]);
        let begun: subscribe::Begun<'_> = (lane.from..lane.from + lane.count).map(one).collect();
        supported::<D, R>(begun.iter().map(|(_, subscription)| *subscription))?;
        Ok(subscribe::play(handle, &begun, latency))
    }
}

/// Refuses what the driver cannot watch.
fn supported<'s, D: Live<R>, R: Stored>(
    mut subscriptions: impl Iterator<Item = &'s Subscription>,
) -> Result<(), Failure> {
    match subscriptions.find(|known| !D::WATCHES.contains(&known.watched())) {
        None => Ok(()),
        Some(other) => {
            let message = format!("the driver has no {}.watch-{}", R::Of::KIND, other.watched());
            Err(failure(FailureKind::Unsupported, message))
        }
    }
}

impl<R: Stored> Watching<R> {
    /// What every subscriber has now.
    fn fetch_all<D: Live<R>>(&self, handle: &mut D) -> Result<Vec<Vec<u32>>, Failure> {
        let watched = self.subscriptions[..self.watched].iter();
        watched.map(|subscription| fetch(handle, subscription)).collect()
    }

    /// The last result that each subscriber was given must be that of a fresh fetch.
    fn compare<D: Live<R>>(&self, handle: &mut D, tally: &mut Tally) -> Result<(), Failure> {
        for (number, last) in std::mem::take(&mut tally.last) {
            let fresh = match self.subscriptions.get(number) {
                Some(subscription) => fetch(handle, subscription)?,
                None => Vec::new(),
            };
            tally.expect(fresh == last, || {
                format!(
                    "subscription {number} was given {} records, a fresh fetch has {}, and they differ",
                    last.len(),
                    fresh.len()
                )
            });
        }
        Ok(())
    }
}

fn fetch<D: Live<R>, R: Stored>(handle: &mut D, subscription: &Subscription) -> Result<Vec<u32>, Failure> {
    let records = handle.fetch(subscription).map_err(Into::into)?;
    Ok(crcs(records.iter()))
}

fn crcs<'r, R: Stored>(records: impl Iterator<Item = &'r R>) -> Vec<u32> {
    let mut buffer = Vec::new();
    records.map(|record| record_crc32(&*record.as_record(), &mut buffer)).collect()
}

/// What the transactions of a lane came to.
#[derive(Default)]
struct Tally {
    wall_ns: u64,
    cpu_ns: u64,
    usage: Usage,
    delivery: Delivery,
    digest: DeliveryDigest,
    latency_ns: Vec<u64>,
    failed: Answers<Doc>,
    /// The last result that each subscription was given.
    last: BTreeMap<usize, Vec<u32>>,
}

impl Tally {
    /// One transaction, on the clock. None where it failed.
    fn time<D: Live<R>, R: Stored>(
        &mut self,
        handle: &mut D,
        states: &[&R],
        watched: usize,
        lane: &Lane,
    ) -> Option<TakenOf<D::Update, R>> {
        let (stretch, depth) = (lane.stretch.unwrap_or_default(), lane.depth.unwrap_or_default());
        // Room for all of them: to grow it is no subject's work.
        let mut updates = Vec::with_capacity(watched);
        let before = Counts::now();
        let mut moments = Moments::start(stretch);
        let changed = handle.change(states, &mut moments);
        moments.committed();
        let received = changed.and_then(|()| handle.receive(&mut updates));
        moments.received();
        let taken = take::<R, _>(updates, depth);
        moments.done();
        let usage = Counts::now().since(&before);
        if let Err(error) = received {
            self.failed.failed(error.into());
            return None;
        }
        self.expect(moments.is_told(), || "the driver did not say when its commit began".into());
        self.add(&moments, usage);
        Some(taken)
    }

    fn add(&mut self, moments: &Moments, usage: Usage) {
        self.latency_ns.push(moments.wall_ns());
        self.wall_ns += moments.wall_ns();
        self.cpu_ns += moments.cpu_ns();
        self.delivery.write_ns += moments.write_ns();
        self.delivery.commit_ns += moments.commit_ns();
        self.delivery.delivery_ns += moments.delivery_ns();
        self.delivery.depth_ns += moments.depth_ns();
        self.usage.voluntary_switches += usage.voluntary_switches;
        self.usage.involuntary_switches += usage.involuntary_switches;
        self.usage.major_faults += usage.major_faults;
        self.usage.read_bytes += usage.read_bytes;
        self.usage.written_bytes += usage.written_bytes;
    }

    /// Digests what a transaction delivered, and checks what the subscribers did with it.
    fn settle<R: Stored, U: Update<R>>(
        &mut self,
        had: &mut Option<Vec<Vec<u32>>>,
        watched: usize,
        transaction: u32,
        taken: TakenOf<U, R>,
    ) {
        let (updates, mut sums, mut copies, mut diffs) = match taken {
            Taken::Handles(updates) => (updates, None, None, None),
            Taken::Sums(updates, sums) => (updates, Some(sums.into_iter()), None, None),
            Taken::Copies(updates, copies) => (updates, None, Some(copies.into_iter()), None),
            Taken::Diffs(updates, diffs) => (updates, None, None, Some(diffs.into_iter())),
        };
        let mut given: Vec<(usize, Vec<u32>)> = Vec::with_capacity(updates.len());
        for update in &updates {
            let (number, records) = (update.subscription(), crcs(update.records()));
            let told = |what: &str| format!("the {what} of subscription {number} is not of its result");
            if let Some(sum) = sums.as_mut().and_then(Iterator::next) {
                self.expect(sum == sum_of(update.records()), || told("sum"));
            }
            if let Some(copy) = copies.as_mut().and_then(Iterator::next) {
                self.expect(crcs(U::copied(&copy)) == records, || told("copy"));
            }
            if let Some(diff) = diffs.as_mut().and_then(Iterator::next) {
                let before = had.as_ref().and_then(|had| had.get(number)).map_or(&[][..], Vec::as_slice);
                let after = patched(before, U::differences(diff));
                self.expect(after.as_ref() == Some(&records), || told("difference"));
            }
            self.expect(number < watched, || format!("nobody watches as subscription {number}"));
            given.push((number, records));
        }
        given.sort_by_key(|(number, _)| *number);
        for (number, records) in given {
            self.digest.add(transaction, number as u32, &records);
            if let Some(had) = had.as_mut().and_then(|had| had.get_mut(number)) {
                had.clone_from(&records);
            }
            self.last.insert(number, records);
        }
    }

    /// Counts what differs. The first is told on standard error.
    fn expect(&mut self, right: bool, message: impl FnOnce() -> String) {
        if !right {
            if self.delivery.differing == 0 {
                eprintln!("{}", message());
            }
            self.delivery.differing += 1;
        }
    }

    fn played(mut self) -> Played {
        let failed = self.failed.sample(self.wall_ns);
        let lane = LaneSample {
            answers: self.digest.deliveries(),
            digest: self.digest.to_string(),
            delivery: Some(self.delivery),
            ..failed
        };
        let sample =
            Sample { wall_ns: self.wall_ns, cpu_ns: self.cpu_ns, lanes: vec![lane], usage: self.usage };
        Played { sample, latency_ns: self.latency_ns, series: Vec::new() }
    }
}

/// The sum of the priorities, by way of the encoding: the kit knows no field of a driver's own type.
fn sum_of<'r, R: Stored>(records: impl Iterator<Item = &'r R>) -> i64 {
    let mut bytes = Vec::new();
    let priority = |record: &R| {
        bytes.clear();
        record.as_record().encode(&mut bytes);
        Doc::decode(&mut bytes.as_slice()).and_then(|doc| doc.priority).unwrap_or(0)
    };
    records.map(priority).sum()
}

/// The older result with the differences applied; none where they name places that there are not.
fn patched<R: Stored>(before: &[u32], differences: Vec<Difference<R>>) -> Option<Vec<u32>> {
    let mut buffer = Vec::new();
    let mut kept: Vec<Option<u32>> = before.iter().copied().map(Some).collect();
    let (mut inserted, mut changed) = (BTreeMap::new(), BTreeMap::new());
    for difference in differences {
        let again = match difference {
            Difference::Removed { at } => kept.get_mut(at)?.take().is_none(),
            Difference::Inserted { at, record } => {
                inserted.insert(at, record_crc32(&*record.as_record(), &mut buffer)).is_some()
            }
            Difference::Changed { at, record } => {
                changed.insert(at, record_crc32(&*record.as_record(), &mut buffer)).is_some()
            }
        };
        if again {
            return None;
        }
    }
    let kept: Vec<u32> = kept.into_iter().flatten().collect();
    let length = kept.len() + inserted.len();
    let mut kept = kept.into_iter();
    let mut after = Vec::with_capacity(length);
    for at in 0..length {
        let record = match inserted.remove(&at) {
            Some(record) => record,
            None => kept.next()?,
        };
        after.push(changed.remove(&at).unwrap_or(record));
    }
    (inserted.is_empty() && changed.is_empty()).then_some(after)
}
