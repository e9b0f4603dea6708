//! The files every kit plays: datasets, orders of operations and new states, generated once from the seed and the salt.
//!
//! The lab keeps what it generated, so it knows the right answer before it asks.

mod best;
mod contents;
mod delivered;
mod generate;
mod mixed;
mod opened;
mod order;

pub use contents::Contents;

use crate::error::{Error, Result};
use crate::random::{Seeds, Stream};
use delivered::Subscriptions;
use generate::{document, moved_state, new_state, object, page_document, ranked, row};
use rand::RngExt;
use rand::seq::SliceRandom;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::iter;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use touchstone::plan::{GETS, PlannedCase};
use touchstone::suite::Cache;
use touchstone_protocol::{
    DataError, Digest, Doc, Document, Lane, LaneSample, Record, RecordKind, Row, Verb, write_dataset,
    write_operations,
};

/// Records generated once, on disk for the kits and in memory for the lab.
pub struct Dataset {
    path: PathBuf,
    records: Records,
    /// The records' numbers in the order of their keys.
    in_key_order: OnceCell<Vec<u32>>,
}

enum Records {
    Rows(Vec<Row>),
    Documents(Vec<Document>),
    Docs(Vec<Doc>),
}

impl Dataset {
    /// As kits digest what they read: no two engines owe each other the same natural order.
    fn in_key_order(&self) -> &[u32] {
        fn sorted<R: Record>(all: &[R]) -> Vec<u32> {
            let mut numbers: Vec<u32> = (0..all.len() as u32).collect();
            numbers.sort_by(|one, other| all[*one as usize].key().cmp(all[*other as usize].key()));
            numbers
        }
        self.in_key_order.get_or_init(|| match &self.records {
            Records::Rows(rows) => sorted(rows),
            Records::Documents(documents) => sorted(documents),
            Records::Docs(docs) => sorted(docs),
        })
    }
}

/// The datasets of a run: cases that play the same one share it, for the page's own size is hundreds of megabytes.
#[derive(Default)]
pub struct Datasets {
    made: BTreeMap<String, Rc<Dataset>>,
}

impl Datasets {
    /// The dataset of a case, generated into `folder` where no case before it had the same.
    fn of(&mut self, case: &PlannedCase, seeds: Seeds, folder: &Path) -> Result<Rc<Dataset>> {
        let (count, planned) = (case.records_needed(), &case.dataset);
        // What an object holds depends on how many there are of it.
        let each = if planned.record == RecordKind::Doc { planned.records } else { planned.value_bytes };
        let kind = (planned.record, planned.spacing);
        let name = format!("{}.{}.{}.{}.{count}x{each}", case.suite(), planned.name, kind.0, kind.1);
        if let Some(dataset) = self.made.get(&name) {
            return Ok(Rc::clone(dataset));
        }
        let mut values = seeds.values(&format!("dataset {}/{}", case.suite(), planned.name));
        let bytes = planned.value_bytes as usize;
        let records = match planned.record {
            RecordKind::Row => {
                Records::Rows((0..count as i64).map(|key| row(key, bytes, &mut values)).collect())
            }
            RecordKind::Document => {
                let one = |number| match bytes {
                    0 => page_document(number, seeds.salt),
                    _ => document(number, bytes, &mut values),
                };
                Records::Documents((0..count).map(one).collect())
            }
            RecordKind::Doc => {
                let one = |number| {
                    let doc = object(number, planned.records, seeds.salt, &mut values);
                    if planned.spacing == 0 { doc } else { ranked(doc, number, planned.spacing) }
                };
                Records::Docs((0..count).map(one).collect())
            }
        };
        let path = folder.join(format!("{name}.dataset"));
        let written = match &records {
            Records::Rows(rows) => write_dataset(&path, rows),
            Records::Documents(documents) => write_dataset(&path, documents),
            Records::Docs(docs) => write_dataset(&path, docs),
        };
        written.map_err(|error| unwritten(&path, error))?;
        let dataset = Rc::new(Dataset { path, records, in_key_order: OnceCell::new() });
        self.made.insert(name, Rc::clone(&dataset));
        Ok(dataset)
    }
}

/// What updates write, in their order: objects, or rows.
#[derive(Default)]
struct States {
    file: Option<PathBuf>,
    docs: Vec<Doc>,
    rows: Vec<Row>,
    /// The record that each is a new state of.
    of: Vec<u32>,
}

impl States {
    fn write(self) -> Result<States> {
        let path = self.file.as_ref().expect("it was named when there was something to write");
        let written = if self.rows.is_empty() {
            write_dataset(path, &self.docs)
        } else {
            write_dataset(path, &self.rows)
        };
        written.map_err(|error| unwritten(path, error))?;
        Ok(self)
    }
}

/// A case's data: its dataset, the order in which it is played, and the new states it is given.
pub struct CaseData {
    dataset: Rc<Dataset>,
    /// A dataset file of the same records with none of them, for a driver that is asked only what it finds.
    pub empty_file: PathBuf,
    /// The operations file.
    pub operations_file: PathBuf,
    operations: Vec<u32>,
    states: States,
    subscriptions: Subscriptions,
    template: Contents,
    /// Whether tables 2 to 4 keep less of an object.
    typed: bool,
    /// Answers of the database as the template has it: most slices start from it.
    known: RefCell<BTreeMap<Question, Answer>>,
    /// What transactions deliver. New states are written in their order from the template on, so from which of them a
    /// slice starts says all there is to know of the database.
    delivered: RefCell<BTreeMap<Transactions, Answer>>,
    /// The record that the openings answered last: an engine answers the same one as long as nothing is stored.
    first: Cell<u32>,
    /// The CRC-32 of every record and new state.
    crcs: OnceCell<Vec<u32>>,
    /// The hits of the best possible pool, by its pages: every launch and every policy is judged beside the same one.
    best: RefCell<BTreeMap<u64, u64>>,
}

/// The transactions of a `deliver` lane: from which new state, how many, and how many new states each.
type Transactions = (u64, u64, Option<u64>);

/// What is asked of a whole table: which, above what, and how often.
type Question = (u32, Option<i64>, u64);

/// How many records an answer has, and their digest.
type Answer = (u64, String);

impl CaseData {
    /// Generates a case's data into `folder`.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn generate(
        case: &PlannedCase,
        seeds: Seeds,
        folder: &Path,
        datasets: &mut Datasets,
    ) -> Result<CaseData> {
        let dataset = datasets.of(case, seeds, folder)?;
        let operations_file = folder.join(format!("{}.operations", case.file_stem()));
        let operations = operations(case, seeds);
        write_operations(&operations_file, &operations)
            .map_err(|error| unwritten(&operations_file, error))?;
        Ok(CaseData {
            dataset,
            empty_file: empty_file(case.dataset.record, folder)?,
            operations_file,
            operations,
            states: states(case, seeds, folder)?,
            subscriptions: Subscriptions::generate(case, folder)?,
            template: Contents::of_template(case),
            typed: case.typed,
            known: RefCell::default(),
            delivered: RefCell::default(),
            first: Cell::default(),
            crcs: OnceCell::new(),
            best: RefCell::default(),
        })
    }

    /// The dataset file.
    pub fn dataset_file(&self) -> PathBuf {
        self.dataset.path.clone()
    }

    /// The file of new states, where anything is updated.
    pub fn states_file(&self) -> Option<PathBuf> {
        self.states.file.clone()
    }

    /// The file of subscriptions, where anything is watched.
    pub fn subscriptions_file(&self) -> Option<PathBuf> {
        self.subscriptions.file.clone()
    }

    /// How many subscriptions there are.
    pub fn subscriptions(&self) -> u64 {
        self.subscriptions.len()
    }

    /// How many operations the order holds.
    pub fn operations(&self) -> u64 {
        self.operations.len() as u64
    }

    /// How many bytes a record has on average, as the lab writes it.
    pub fn bytes_of_record(&self) -> u64 {
        bytes_each(&self.dataset.path, u64::from(self.dataset_len()))
    }

    /// How many bytes a new state has on average.
    pub fn bytes_of_state(&self) -> u64 {
        self.states.file.as_ref().map_or(0, |file| bytes_each(file, self.states()))
    }

    /// How many new states there are.
    pub fn states(&self) -> u64 {
        self.states.of.len() as u64
    }

    /// What a database holds that was just copied from the template.
    pub fn contents(&self) -> Contents {
        self.template.clone()
    }

    /// What is wrong with a lane's answer, where something is. `contents` is what the database held before the lanes.
    pub fn wrong(
        &self,
        contents: &Contents,
        lane: &Lane,
        lanes: &[Lane],
        answer: &LaneSample,
    ) -> Option<String> {
        let acceptable: Vec<Answer> = match lane.verb {
            Verb::Open => return self.wrong_first(contents, lane, answer),
            Verb::InsertOne | Verb::InsertMany | Verb::UpdateOne => {
                let too_many =
                    answer.answers > lane.count || (answer.failed() == 0 && answer.answers != lane.count);
                return too_many
                    .then(|| format!("acknowledged {} of {} records", answer.answers, lane.count));
            }
            Verb::Mix => return self.wrong_mix(contents, lane, answer),
            Verb::Get => {
                let found = self.slice(lane).iter().filter_map(|record| contents.object(lane.table, *record));
                vec![self.digest_of(lane.table, found)]
            }
            Verb::ReadAll | Verb::Find | Verb::UpdateMany | Verb::DeleteMany => {
                self.whole_answers(contents, lane, lanes)
            }
            Verb::Deliver => match answer.delivery.as_ref().map(|delivery| delivery.differing) {
                None => return Some("deliver answered without saying what it came to".into()),
                Some(0) if answer.failed() == 0 && contents.is_certain() => {
                    vec![self.deliveries(contents, lane)]
                }
                Some(0) => return None,
                Some(differing) => {
                    return Some(format!(
                        "{differing} of {} updates are not what a fresh fetch, or their own result, says",
                        answer.answers
                    ));
                }
            },
            Verb::Subscribe => vec![self.first_results(contents, lane)],
        };
        if answer.failed() > 0 || !contents.is_certain() {
            return None;
        }
        if acceptable.iter().any(|(n, d)| (*n, d) == (answer.answers, &answer.digest)) {
            return None;
        }
        let (answers, digest) = &acceptable[0];
        let what = match lane.verb {
            Verb::Deliver => "updates",
            Verb::Subscribe => "first results",
            _ => "records",
        };
        Some(format!(
            "{} answered {} {what} with digest {}, the right answer is {answers} with {digest}",
            lane.verb, answer.answers, answer.digest
        ))
    }

    /// Who looks at a whole table beside transactions on it sees all of each or nothing of it.
    fn whole_answers(&self, contents: &Contents, lane: &Lane, lanes: &[Lane]) -> Vec<Answer> {
        let times = if matches!(lane.verb, Verb::ReadAll | Verb::Find) { lane.count } else { 1 };
        let writers = lanes.iter().filter(|other| {
            !std::ptr::eq(*other, lane)
                && other.table == lane.table
                && matches!(other.verb, Verb::InsertMany | Verb::UpdateMany | Verb::DeleteMany)
        });
        let mut later: Vec<Contents> = Vec::new();
        for writer in writers {
            let written = iter::once(contents).chain(&later).cloned().map(|mut written| {
                self.apply(&mut written, writer);
                written
            });
            later.extend(written.collect::<Vec<_>>());
        }
        iter::once(contents).chain(&later).map(|seen| self.whole_answer(seen, lane, times)).collect()
    }

    fn whole_answer(&self, contents: &Contents, lane: &Lane, times: u64) -> Answer {
        let remembered = contents.is_as_template();
        let key = (lane.table, lane.above, times);
        if let Some(answer) = self.known.borrow().get(&key).filter(|_| remembered) {
            return answer.clone();
        }
        let above = |object: &u32| lane.above.is_none_or(|above| self.priority(*object) > Some(above));
        let all: Vec<u32> = contents.objects(lane.table, self.dataset.in_key_order()).filter(above).collect();
        let answer = self.digest_of(lane.table, (0..times).flat_map(|_| all.iter().copied()));
        if remembered {
            self.known.borrow_mut().insert(key, answer.clone());
        }
        answer
    }

    /// What a lane that was answered so did to a database.
    pub fn play(&self, contents: &mut Contents, lane: &Lane, answer: &LaneSample) {
        if answer.failed() == 0 {
            match lane.verb {
                Verb::Mix => drop(self.play_mix(contents, lane, answer)),
                _ => self.apply(contents, lane),
            }
        } else if lane.verb.writes() {
            contents.doubt();
        }
    }

    fn apply(&self, contents: &mut Contents, lane: &Lane) {
        if lane.verb.inserts() {
            self.slice(lane).iter().for_each(|record| contents.insert(lane.table, *record));
        } else if lane.verb == Verb::Deliver {
            for transaction in 0..lane.count {
                for state in self.states_of_transaction(lane, transaction) {
                    contents.update(lane.table, self.states.of[state], self.dataset_len() + state as u32);
                }
            }
        } else if lane.verb.updates() {
            let records = self.dataset_len();
            for state in lane.from as usize..(lane.from + lane.count) as usize {
                contents.update(lane.table, self.states.of[state], records + state as u32);
            }
        } else if lane.verb == Verb::DeleteMany {
            contents.clear(lane.table);
        }
    }

    /// Records and digest, in key order, of a table; none where a failed operation leaves it unknown.
    pub fn content(&self, contents: &Contents, table: u32) -> Option<Answer> {
        let whole = Lane { table, ..Lane::new(Verb::ReadAll, 0, 1) };
        contents.is_certain().then(|| self.whole_answer(contents, &whole, 1))
    }

    /// How many gets of a slice the best possible pool of so many pages hits, where they have an order, come from one thread, and
    /// begin with what the order says: caches that were left warm hold what nobody knows.
    pub fn best_hits(&self, case: &PlannedCase, pages: u64) -> Option<u64> {
        case.order.as_ref().filter(|_| case.cache != Cache::Warm)?;
        if case.gets_of_slice() != case.gets_of_lane() {
            return None;
        }
        let before = case.operations_before() as usize;
        let slice = before..before + case.gets_of_lane() as usize;
        let hits = || best::hits(&self.operations[..before], &self.operations[slice], pages as usize);
        Some(*self.best.borrow_mut().entry(pages).or_insert_with(hits))
    }

    fn slice(&self, lane: &Lane) -> &[u32] {
        &self.operations[lane.from as usize..(lane.from + lane.count) as usize]
    }

    fn dataset_len(&self) -> u32 {
        match &self.dataset.records {
            Records::Rows(rows) => rows.len() as u32,
            Records::Documents(documents) => documents.len() as u32,
            Records::Docs(docs) => docs.len() as u32,
        }
    }

    /// An object is a record of the dataset, or after those a new state.
    fn doc<'d>(&'d self, docs: &'d [Doc], object: u32) -> &'d Doc {
        let object = object as usize;
        docs.get(object).unwrap_or_else(|| &self.states.docs[object - docs.len()])
    }

    fn row<'d>(&'d self, rows: &'d [Row], object: u32) -> &'d Row {
        let object = object as usize;
        rows.get(object).unwrap_or_else(|| &self.states.rows[object - rows.len()])
    }

    /// Adds a row to a digest; nothing where there are none.
    fn add_row(&self, digest: &mut Digest, object: u32) {
        if let Records::Rows(rows) = &self.dataset.records {
            digest.add(self.row(rows, object));
        }
    }

    fn priority(&self, object: u32) -> Option<i64> {
        match &self.dataset.records {
            Records::Docs(docs) => self.doc(docs, object).priority,
            Records::Rows(_) | Records::Documents(_) => None,
        }
    }

    fn digest_of(&self, table: u32, objects: impl Iterator<Item = u32>) -> Answer {
        let digest = match &self.dataset.records {
            Records::Rows(rows) => Digest::of(objects.map(|object| self.row(rows, object))),
            Records::Documents(documents) => Digest::of(objects.map(|object| &documents[object as usize])),
            Records::Docs(docs) if self.typed && table > 1 => {
                let mut digest = Digest::default();
                objects.for_each(|object| digest.add(&self.doc(docs, object).clone().kept_in(table)));
                digest
            }
            Records::Docs(docs) => Digest::of(objects.map(|object| self.doc(docs, object))),
        };
        (digest.answers(), digest.to_string())
    }
}

fn bytes_each(file: &Path, count: u64) -> u64 {
    std::fs::metadata(file).map_or(0, |file| file.len()) / count.max(1)
}

/// A dataset file without records.
fn empty_file(record: RecordKind, folder: &Path) -> Result<PathBuf> {
    let path = folder.join(format!("empty.{record}.dataset"));
    let written = match record {
        RecordKind::Row => write_dataset::<Row>(&path, &[]),
        RecordKind::Document => write_dataset::<Document>(&path, &[]),
        RecordKind::Doc => write_dataset::<Doc>(&path, &[]),
    };
    written.map_err(|error| unwritten(&path, error))?;
    Ok(path)
}

/// Inserts take the records after those stored beforehand, in order; gets ask for stored ones at random, always for
/// the same, or in the case's own order.
fn operations(case: &PlannedCase, seeds: Seeds) -> Vec<u32> {
    if case.arms.iter().flat_map(|arm| &arm.lanes).any(|lane| lane.verb.inserts()) {
        return (case.filled as u32..case.records_needed() as u32).collect();
    }
    if let Some(record) = case.get_record {
        return vec![record as u32; GETS as usize];
    }
    let mut picks = seeds.orders(&format!("operations {}", case.id));
    if let Some(operations) = mixed::operations(case, &mut picks) {
        return operations;
    }
    if let Some(operations) = order::operations(case, &mut picks) {
        return operations;
    }
    let stored = case.share_of(case.filled, 1).end.max(1) as u32;
    (0..GETS).map(|_| picks.random_range(0..stored)).collect()
}

/// One transaction over many objects takes them in order, as a program does that has just fetched them. Single updates
/// go round over all stored objects, each round in an order of its own.
fn states(case: &PlannedCase, seeds: Seeds, folder: &Path) -> Result<States> {
    let (needed, stored) = (case.states_needed(), case.filled as u32);
    if needed == 0 || stored == 0 {
        return Ok(States::default());
    }
    if let Some(changed) = case.changed_objects() {
        return delivered_states(case, changed, seeds, folder);
    }
    if case.mix().is_some() {
        return mixed::states(case, seeds, folder);
    }
    let shuffled = !case.arms.iter().flat_map(|arm| &arm.lanes).any(|lane| lane.verb == Verb::UpdateMany);
    let (mut order, mut values) = state_streams(case, seeds);
    let mut round: Vec<u32> = (0..stored).collect();
    let mut states =
        States { file: Some(folder.join(format!("{}.states", case.file_stem()))), ..States::default() };
    while (states.docs.len() as u64) < needed {
        if shuffled {
            round.shuffle(&mut order);
        }
        for record in round.iter().take((needed as usize).saturating_sub(states.docs.len())) {
            let round = states.docs.len() as u64 / u64::from(stored);
            let state = new_state(u64::from(*record), round, case.dataset.records, seeds.salt, &mut values);
            states.docs.push(state);
            states.of.push(*record);
        }
    }
    states.write()
}

/// Two rounds of new states of the same objects, so that either differs from what is there. Where a transaction changes
/// all objects, they are turned upside down and back, as on the page: the priorities of the first are those of the last. Where some
/// do, each moves to a place of its own among all that may change, where nobody else ever is.
fn delivered_states(case: &PlannedCase, changed: u64, seeds: Seeds, folder: &Path) -> Result<States> {
    let (mut order, mut values) = state_streams(case, seeds);
    let mut states =
        States { file: Some(folder.join(format!("{}.states", case.file_stem()))), ..States::default() };
    let mut lanes = case.arms.iter().flat_map(|arm| &arm.lanes);
    let lane =
        lanes.find(|lane| lane.verb == Verb::Deliver).expect("only such a lane changes objects in rounds");
    let there = case.changeable(lane.unwatched);
    let (objects, spacing) = (case.dataset.records, case.dataset.spacing);
    let mut records: Vec<u64> = there.clone().collect();
    let all = lane.changes == Some(there.end - there.start);
    if !all {
        records.shuffle(&mut order);
        records.truncate(changed as usize);
    }
    for round in 0..2 {
        let mut places: Vec<u64> = there.clone().collect();
        match (all, round) {
            (true, 0) => places.reverse(),
            (true, _) => {}
            (false, _) => places.shuffle(&mut order),
        }
        for (record, place) in records.iter().zip(places) {
            let above = if all { 0 } else { round + 1 };
            let state = new_state(*record, round, objects, seeds.salt, &mut values);
            states.docs.push(moved_state(state, place, spacing, above));
            states.of.push(*record as u32);
        }
    }
    states.write()
}

/// What decides which objects are written in which order, and what they hold: streams of their own, for a salt changes
/// the one and not the other.
fn state_streams(case: &PlannedCase, seeds: Seeds) -> (Stream, Stream) {
    (seeds.orders(&format!("order of states {}", case.id)), seeds.values(&format!("states {}", case.id)))
}

fn unwritten(path: &Path, error: DataError) -> Error {
    match error {
        DataError::Io(error) => Error::io(format_args!("cannot write {}", path.display()), &error),
        DataError::Malformed(what) => unreachable!("writing does not parse: {what}"),
    }
}

#[cfg(test)]
mod tests;
