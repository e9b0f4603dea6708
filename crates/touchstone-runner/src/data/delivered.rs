//! What subscribers must be given, at first and after each transaction: worked out by the lab from what it wrote, before it hears of any answer.

use super::{CaseData, Contents, Records};
use std::collections::{BTreeMap, BTreeSet};
use touchstone::plan::PlannedCase;
use touchstone_protocol::{DeliveryDigest, Lane, Subscription, Watched, record_crc32, write_subscriptions};

use crate::error::Result;
use std::path::{Path, PathBuf};

/// The subscriptions of a case.
#[derive(Default)]
pub(super) struct Subscriptions {
    pub(super) file: Option<PathBuf>,
    all: Vec<Subscribed>,
}

/// A subscription as the lab knows it: by the numbers of records, and by priorities.
#[derive(Clone, Copy)]
enum Subscribed {
    Record(u32),
    Window { below: i64, from: i64, limit: Option<u32> },
}

impl Subscriptions {
    /// Spreads them as the case says, and writes them for the kits.
    pub(super) fn generate(case: &PlannedCase, folder: &Path) -> Result<Subscriptions> {
        let Some(watch) = &case.watch else { return Ok(Subscriptions::default()) };
        let (count, span) = (watch.subscriptions, watch.span);
        let spacing = case.dataset.spacing as i64;
        let subscribed = |number: u64| match watch.watched {
            Watched::Object | Watched::One => Subscribed::Record((number * span / count) as u32),
            Watched::Window => {
                let spread = || number * (span - watch.width) / (count - 1).max(1);
                let first = watch.stride.map_or_else(spread, |stride| number * stride) as i64;
                let from = -(first + watch.width as i64) * spacing;
                Subscribed::Window { below: -first * spacing, from, limit: watch.limit }
            }
        };
        let all: Vec<Subscribed> = (0..count).map(subscribed).collect();
        let written: Vec<Subscription> = all.iter().map(|known| known.written(watch.watched)).collect();
        let path = folder.join(format!("{}.subscriptions", case.file_stem()));
        write_subscriptions(&path, &written).map_err(|error| super::unwritten(&path, error))?;
        Ok(Subscriptions { file: Some(path), all })
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        self.all.len() as u64
    }
}

impl Subscribed {
    fn written(self, watched: Watched) -> Subscription {
        match self {
            Subscribed::Record(number) => {
                let title = format!("title{number}");
                match watched {
                    Watched::Object => Subscription::Object { title },
                    _ => Subscription::One { title },
                }
            }
            Subscribed::Window { below, from, limit } => Subscription::Window { below, from, limit },
        }
    }
}

/// What a table holds while transactions change it.
struct Watch<'d> {
    data: &'d CaseData,
    /// What stands for each record.
    contents: Contents,
    /// The records by their priorities, of which no two are the same.
    ranked: BTreeMap<i64, u32>,
}

impl CaseData {
    /// How many updates a `deliver` lane must answer with, and their digest. `contents` is what the database held before.
    pub(super) fn deliveries(&self, contents: &Contents, lane: &Lane) -> (u64, String) {
        let key = (lane.from, lane.count, lane.changes);
        if let Some(answer) = self.delivered.borrow().get(&key) {
            return answer.clone();
        }
        let mut watch = Watch::new(self, contents, lane.table);
        let mut digest = DeliveryDigest::default();
        for transaction in 0..lane.count {
            let states = self.states_of_transaction(lane, transaction);
            watch.transaction(transaction as u32, lane.table, &states, &mut digest);
        }
        let answer = (digest.deliveries(), digest.to_string());
        self.delivered.borrow_mut().insert(key, answer.clone());
        answer
    }

    /// How many first results a `subscribe` lane must answer with, and their digest: the subscriptions go round and round.
    pub(super) fn first_results(&self, contents: &Contents, lane: &Lane) -> (u64, String) {
        let watch = Watch::new(self, contents, lane.table);
        let all = &self.subscriptions.all;
        // A lane may begin each many times over: what it has is worked out once.
        let mut known: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        let mut digest = DeliveryDigest::default();
        for operation in 0..lane.count {
            let number = ((lane.from + operation) % all.len() as u64) as usize;
            let first = known.entry(number).or_insert_with(|| watch.crcs(lane.table, all[number]));
            digest.add(operation as u32, number as u32, first);
        }
        (digest.deliveries(), digest.to_string())
    }

    /// What a `deliver` lane's transactions write.
    pub(super) fn states_of_transaction(&self, lane: &Lane, transaction: u64) -> Vec<usize> {
        let (changes, there) = (lane.changes.unwrap_or(1), self.states() as usize);
        let from = lane.from + transaction * changes;
        (from..from + changes).map(|state| state as usize % there).collect()
    }

    /// The record that an object is, or is a new state of.
    fn record_of(&self, object: u32) -> u32 {
        let records = self.dataset_len();
        if object < records { object } else { self.states.of[(object - records) as usize] }
    }

    fn crc32(&self, object: u32) -> u32 {
        let all = self.crcs.get_or_init(|| {
            let mut buffer = Vec::new();
            match &self.dataset.records {
                Records::Docs(docs) => {
                    docs.iter().chain(&self.states.docs).map(|doc| record_crc32(doc, &mut buffer)).collect()
                }
                Records::Rows(_) | Records::Documents(_) => Vec::new(),
            }
        });
        all[object as usize]
    }
}

impl<'d> Watch<'d> {
    fn new(data: &'d CaseData, contents: &Contents, table: u32) -> Watch<'d> {
        let mut watch = Watch { data, contents: contents.clone(), ranked: BTreeMap::new() };
        if watch.watches_windows() {
            let objects = contents.objects(table, data.dataset.in_key_order());
            let ranked = objects.filter_map(|object| Some((data.priority(object)?, data.record_of(object))));
            watch.ranked = ranked.collect();
        }
        watch
    }

    /// Plays one transaction and adds what it delivers.
    fn transaction(&mut self, number: u32, table: u32, states: &[usize], digest: &mut DeliveryDigest) {
        let records = self.data.dataset_len();
        // What was touched: each record with the object that stood for it, and the priorities it had and has.
        let (mut touched, mut priorities) = (BTreeSet::new(), BTreeSet::new());
        let before = self.limited_results(states, table);
        for state in states {
            let record = self.data.states.of[*state];
            let Some(old) = self.contents.object(table, record) else { continue };
            let new = records + *state as u32;
            touched.insert(record);
            if let Some(priority) = self.data.priority(old) {
                priorities.insert(priority);
                // Another one may have come to this priority in the same transaction.
                if self.ranked.get(&priority) == Some(&record) {
                    self.ranked.remove(&priority);
                }
            }
            if let Some(priority) = self.data.priority(new) {
                priorities.insert(priority);
                if self.watches_windows() {
                    self.ranked.insert(priority, record);
                }
            }
            self.contents.update(table, record, new);
        }
        for (subscription, known) in self.data.subscriptions.all.iter().enumerate() {
            let is_touched = match *known {
                Subscribed::Record(record) => touched.contains(&record),
                Subscribed::Window { below, from, .. } => priorities.range(from..below).next().is_some(),
            };
            if !is_touched {
                continue;
            }
            let now = self.result(table, *known);
            if before.get(&subscription) != Some(&now) {
                digest.add(number, subscription as u32, &self.crcs_of(&now));
            }
        }
    }

    fn watches_windows(&self) -> bool {
        matches!(self.data.subscriptions.all.first(), Some(Subscribed::Window { .. }))
    }

    /// What is touched in a window changes its result, unless that has a limit: of those, the results before.
    fn limited_results(&self, states: &[usize], table: u32) -> BTreeMap<usize, Vec<u32>> {
        let limited = |known: &Subscribed| matches!(known, Subscribed::Window { limit: Some(_), .. });
        if !self.data.subscriptions.all.iter().any(limited) {
            return BTreeMap::new();
        }
        let mut priorities = BTreeSet::new();
        for state in states {
            let old = self.contents.object(table, self.data.states.of[*state]);
            priorities.extend(old.and_then(|old| self.data.priority(old)));
            priorities.extend(self.data.states.docs[*state].priority);
        }
        let all = self.data.subscriptions.all.iter().enumerate();
        all.filter_map(|(number, known)| match *known {
            Subscribed::Window { below, from, limit: Some(_) } => {
                priorities.range(from..below).next()?;
                Some((number, self.result(table, *known)))
            }
            _ => None,
        })
        .collect()
    }

    /// The CRC-32 of each object of a result.
    fn crcs(&self, table: u32, subscribed: Subscribed) -> Vec<u32> {
        self.crcs_of(&self.result(table, subscribed))
    }

    fn crcs_of(&self, objects: &[u32]) -> Vec<u32> {
        objects.iter().map(|object| self.data.crc32(*object)).collect()
    }

    /// The objects of a result, in its order.
    fn result(&self, table: u32, subscribed: Subscribed) -> Vec<u32> {
        match subscribed {
            Subscribed::Record(record) => self.contents.object(table, record).into_iter().collect(),
            Subscribed::Window { below, from, limit } => {
                let limit = limit.map_or(usize::MAX, |limit| limit as usize);
                let records = self.ranked.range(from..below).take(limit);
                records.filter_map(|(_, record)| self.contents.object(table, *record)).collect()
            }
        }
    }
}
