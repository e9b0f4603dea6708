//! The files every kit plays: datasets and orders of operations, generated once from the seed.
//!
//! The lab keeps what it generated, so it knows the right answer before it asks.

use crate::error::{Error, Result};
use crate::random::{Stream, stream};
use rand::{Rng, RngExt};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use touchstone::plan::{GETS, PlannedCase};
use touchstone_protocol::{
    DataError, Digest, Document, Lane, LaneSample, Record, RecordKind, Row, Verb, write_dataset,
    write_operations,
};

/// Records generated once, on disk for the kits and in memory for the lab.
pub struct Dataset {
    path: PathBuf,
    records: Records,
}

enum Records {
    Rows(Vec<Row>),
    Documents(Vec<Document>),
}

/// The datasets of a run: cases that play the same one share it, for the page's own size is hundreds of megabytes.
#[derive(Default)]
pub struct Datasets {
    made: BTreeMap<String, Rc<Dataset>>,
}

impl Datasets {
    /// The dataset of a case, generated into `folder` where no case before it had the same.
    fn of(&mut self, case: &PlannedCase, seed: u64, folder: &Path) -> Result<Rc<Dataset>> {
        let (count, planned) = (case.records_needed(), &case.dataset);
        let name =
            format!("{}.{}.{}.{count}x{}", case.suite(), planned.name, planned.record, planned.value_bytes);
        if let Some(dataset) = self.made.get(&name) {
            return Ok(Rc::clone(dataset));
        }
        let mut values = stream(seed, &format!("dataset {}/{}", case.suite(), planned.name));
        let bytes = planned.value_bytes as usize;
        let records = match planned.record {
            RecordKind::Row => {
                Records::Rows((0..count as i64).map(|key| row(key, bytes, &mut values)).collect())
            }
            RecordKind::Document => {
                Records::Documents((0..count).map(|number| document(number, bytes, &mut values)).collect())
            }
        };
        let path = folder.join(format!("{name}.dataset"));
        let written = match &records {
            Records::Rows(rows) => write_dataset(&path, rows),
            Records::Documents(documents) => write_dataset(&path, documents),
        };
        written.map_err(|error| unwritten(&path, error))?;
        let dataset = Rc::new(Dataset { path, records });
        self.made.insert(name, Rc::clone(&dataset));
        Ok(dataset)
    }
}

/// A case's data: its dataset, and the order in which it is played.
pub struct CaseData {
    dataset: Rc<Dataset>,
    /// The operations file.
    pub operations_file: PathBuf,
    operations: Vec<u32>,
    filled: u64,
}

impl CaseData {
    /// Generates a case's data into `folder`.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn generate(
        case: &PlannedCase,
        seed: u64,
        folder: &Path,
        datasets: &mut Datasets,
    ) -> Result<CaseData> {
        let dataset = datasets.of(case, seed, folder)?;
        let operations_file = folder.join(format!("{}.operations", case.file_stem()));
        let operations = operations(case, seed);
        write_operations(&operations_file, &operations)
            .map_err(|error| unwritten(&operations_file, error))?;
        Ok(CaseData { dataset, operations_file, operations, filled: case.filled })
    }

    /// The dataset file.
    pub fn dataset_file(&self) -> PathBuf {
        self.dataset.path.clone()
    }

    /// How many operations the order holds.
    pub fn operations(&self) -> u64 {
        self.operations.len() as u64
    }

    /// What is wrong with a lane's answer, where something is.
    pub fn wrong(&self, lane: &Lane, lanes: &[Lane], answer: &LaneSample) -> Option<String> {
        let acceptable: Vec<(u64, String)> = match lane.verb {
            Verb::Open => return None,
            Verb::InsertOne | Verb::InsertMany => {
                let failed: u64 = answer.errors.values().sum();
                let too_many = answer.answers > lane.count || (failed == 0 && answer.answers != lane.count);
                return too_many
                    .then(|| format!("acknowledged {} of {} records", answer.answers, lane.count));
            }
            Verb::Get => vec![self.digest_of(self.slice(lane).iter().copied())],
            Verb::ReadAll => self.whole_answers(lane, lanes),
        };
        if !answer.errors.is_empty()
            || acceptable.iter().any(|(n, d)| (*n, d) == (answer.answers, &answer.digest))
        {
            return None;
        }
        let (answers, digest) = &acceptable[0];
        Some(format!(
            "{} answered {} records with digest {}, the right answer is {answers} with {digest}",
            lane.verb, answer.answers, answer.digest
        ))
    }

    /// A full read beside a batch insert sees the database before the commit or after it, nothing between.
    fn whole_answers(&self, lane: &Lane, lanes: &[Lane]) -> Vec<(u64, String)> {
        let before: Vec<u32> = (0..self.filled as u32).collect();
        let mut snapshots = vec![before.clone()];
        for writer in lanes.iter().filter(|other| other.verb == Verb::InsertMany) {
            snapshots.push(before.iter().chain(self.slice(writer)).copied().collect());
        }
        let repeat = |snapshot: Vec<u32>| {
            let read = self.in_key_order(snapshot);
            self.digest_of((0..lane.count).flat_map(|_| read.iter().copied()))
        };
        snapshots.into_iter().map(repeat).collect()
    }

    /// Records and digest, in key order, of a database that holds what was filled and operations `0..inserted`.
    pub fn content(&self, inserted: u64) -> (u64, String) {
        let mut held: Vec<u32> = (0..self.filled as u32).collect();
        held.extend(&self.operations[..inserted as usize]);
        self.digest_of(self.in_key_order(held).into_iter())
    }

    /// As kits digest what they read: no two engines owe each other the same natural order.
    fn in_key_order(&self, mut records: Vec<u32>) -> Vec<u32> {
        match &self.dataset.records {
            Records::Rows(rows) => records.sort_by_key(|record| rows[*record as usize].key),
            Records::Documents(documents) => {
                records.sort_by(|a, b| documents[*a as usize].id.cmp(&documents[*b as usize].id));
            }
        }
        records
    }

    fn slice(&self, lane: &Lane) -> &[u32] {
        &self.operations[lane.from as usize..(lane.from + lane.count) as usize]
    }

    fn digest_of(&self, records: impl Iterator<Item = u32>) -> (u64, String) {
        fn digest<R: Record>(all: &[R], records: impl Iterator<Item = u32>) -> (u64, String) {
            let digest = Digest::of(records.map(|record| &all[record as usize]));
            (digest.answers(), digest.to_string())
        }
        match &self.dataset.records {
            Records::Rows(rows) => digest(rows, records),
            Records::Documents(documents) => digest(documents, records),
        }
    }
}

/// Inserts take the records after those stored beforehand, in order; gets ask for stored ones at random.
fn operations(case: &PlannedCase, seed: u64) -> Vec<u32> {
    if case.writes() {
        return (case.filled as u32..case.records_needed() as u32).collect();
    }
    let mut picks = stream(seed, &format!("operations {}", case.id));
    let stored = case.filled.max(1) as u32;
    (0..GETS).map(|_| picks.random_range(0..stored)).collect()
}

fn unwritten(path: &Path, error: DataError) -> Error {
    match error {
        DataError::Io(error) => Error::io(format_args!("cannot write {}", path.display()), &error),
        DataError::Malformed(what) => unreachable!("writing does not parse: {what}"),
    }
}

fn row(key: i64, bytes: usize, values: &mut Stream) -> Row {
    let mut value = vec![0; bytes];
    values.fill_bytes(&mut value);
    Row { key, value }
}

fn document(number: u64, bytes: usize, values: &mut Stream) -> Document {
    let mut hash = vec![0; 16];
    values.fill_bytes(&mut hash);
    let mut data = format!("{{\"name\":\"bench{number}\",\"text\":\"");
    while data.len() + 2 < bytes {
        data.push(char::from(values.random_range(b'a'..=b'z')));
    }
    data.push_str("\"}");
    Document { id: format!("bench{number}"), revision: 1, hash, data }
}
