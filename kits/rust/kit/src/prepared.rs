//! A dataset and its order of operations, in memory, ready to be played against a driver.

use crate::lane::{self, Timed, Work};
use crate::mixed::{Mix, Operation};
use crate::stretch::keep;
use crate::{Failure, FailureKind, Open, Store, Stored, failure};
use std::path::Path;
use std::time::Duration;
use touchstone_protocol::{
    DataError, Digest, Lane, Record, Reply, Sample, Verb, WRITES_STATE, read_dataset, read_operations,
};

/// What a session does with a prepared dataset, whatever its record type.
pub(crate) trait Prepared<D> {
    /// How many records and operations there are, beside that many subscriptions.
    fn size(&self, subscriptions: u64) -> Reply;
    /// Refuses a lane that the driver cannot do, before anything is opened for it.
    fn require(&self, lane: &Lane) -> Result<(), Failure>;
    /// Stores records `from..from + count`.
    fn fill(&self, handle: &mut D, from: u64, count: u64) -> Result<(), Failure>;
    /// Stores them and deletes them all again, `times` over.
    fn churn(&self, handle: &mut D, from: u64, count: u64, times: u32) -> Result<(), Failure>;
    /// Gathers a lane's operations, off the clock.
    fn gather(&self, lane: &Lane) -> Result<Box<dyn Timed<D> + '_>, Failure>;
    /// Plays an `open` lane on the clock.
    fn run_open(&self, open: &Open, lane: &Lane, latency: Option<&Path>) -> Result<Sample, Failure>;
    /// Reads everything and digests it in key order.
    fn check(&self, handle: &mut D) -> Result<Reply, Failure>;
}

/// A dataset of `R` and the order of operations on it.
pub(crate) struct Dataset<R> {
    records: Vec<R>,
    /// Each operation's record; `None` where operation i is record i.
    operations: Option<Vec<u32>>,
    /// What updates write, in their order.
    states: Vec<R>,
}

impl<R: Stored> Dataset<R> {
    /// Reads the files whole.
    pub(crate) fn read(
        dataset: &Path,
        operations: Option<&Path>,
        states: Option<&Path>,
    ) -> Result<Dataset<R>, Failure> {
        let read = |path: &Path| match read_dataset::<R::Of>(path) {
            Ok(records) => Ok(records.into_iter().map(R::from_record).collect::<Vec<R>>()),
            Err(error) => Err(unreadable(path, error)),
        };
        let records = read(dataset)?;
        let states = states.map(read).transpose()?.unwrap_or_default();
        let operations = match operations {
            Some(path) => Some(read_operations(path).map_err(|error| unreadable(path, error))?),
            None => None,
        };
        let beyond = |operation: &u32| match operation & WRITES_STATE {
            0 => *operation as usize >= records.len(),
            _ => (operation & !WRITES_STATE) as usize >= states.len(),
        };
        if let Some(operation) = operations.iter().flatten().copied().find(beyond) {
            let message = match operation & WRITES_STATE {
                0 => format!("an operation names record {operation}; the dataset has {}", records.len()),
                _ => {
                    let state = operation & !WRITES_STATE;
                    format!("an operation names new state {state}; there are {}", states.len())
                }
            };
            return Err(failure(FailureKind::Protocol, message));
        }
        Ok(Dataset { records, operations, states })
    }

    /// The records of operations `from..from + count`.
    fn operations(&self, from: u64, count: u64) -> Result<impl Iterator<Item = &R>, Failure> {
        let size = self.operations.as_ref().map_or(self.records.len(), Vec::len);
        let range = range(from, count, size, "operations")?;
        let picked = self.operations.as_deref().map(|operations| &operations[range.clone()]);
        if picked.is_some_and(|picked| picked.iter().any(|operation| operation & WRITES_STATE != 0)) {
            return Err(failure(
                FailureKind::Protocol,
                "operations that write new states are for a mix lane",
            ));
        }
        Ok(range.map(|index| match &self.operations {
            Some(operations) => &self.records[operations[index] as usize],
            None => &self.records[index],
        }))
    }

    /// The operations of a `mix` lane, which needs an operations file: nothing else says what is got and what is written.
    fn mix(&self, lane: &Lane) -> Result<Mix<'_, R>, Failure> {
        let protocol = |message: &str| failure(FailureKind::Protocol, message);
        let operations =
            self.operations.as_ref().ok_or_else(|| protocol("a mix lane needs an operations file"))?;
        let range = range(lane.from, lane.count, operations.len(), "operations")?;
        let transaction = lane.transaction.unwrap_or(1) as usize;
        if transaction == 0 || range.is_empty() || lane.lasts_ms == Some(0) {
            return Err(protocol(
                "a mix lane has at least one operation, one of them in a transaction, and 1 ms",
            ));
        }
        let operation = |operation: &u32| match operation & WRITES_STATE {
            0 => Operation::Get(self.records[*operation as usize].stored_key().clone()),
            _ => Operation::Update(&self.states[(operation & !WRITES_STATE) as usize]),
        };
        let operations = operations[range].iter().map(operation).collect();
        Ok(Mix { operations, transaction, duration: lane.lasts_ms.map(Duration::from_millis) })
    }

    fn work(&self, lane: &Lane) -> Result<Work<'_, R>, Failure> {
        Ok(match lane.verb {
            Verb::Get => Work::Get(
                self.operations(lane.from, lane.count)?.map(|record| record.stored_key().clone()).collect(),
            ),
            Verb::ReadAll => Work::ReadAll(lane.count),
            Verb::InsertOne => Work::InsertOne(self.operations(lane.from, lane.count)?.collect()),
            Verb::InsertMany => Work::InsertMany(self.operations(lane.from, lane.count)?.collect()),
            Verb::Find => {
                let above = lane.above.ok_or_else(|| {
                    failure(FailureKind::Protocol, "a find lane needs `above`, the bound to compare with")
                })?;
                Work::Find { above, times: lane.count }
            }
            Verb::UpdateOne => Work::UpdateOne(self.states_of(lane)?),
            Verb::UpdateMany => Work::UpdateMany(self.states_of(lane)?),
            Verb::DeleteMany => Work::DeleteMany,
            Verb::Mix => Work::Mix(self.mix(lane)?),
            Verb::Open => {
                return Err(failure(
                    FailureKind::Unsupported,
                    "an open lane runs alone, and there is nothing to explain about it",
                ));
            }
            Verb::Deliver | Verb::Subscribe => {
                let message = format!("a {} lane runs alone", lane.verb);
                return Err(failure(FailureKind::Unsupported, message));
            }
        })
    }

    /// What updates write, in their order.
    pub(crate) fn states(&self) -> &[R] {
        &self.states
    }

    fn states_of(&self, lane: &Lane) -> Result<Vec<&R>, Failure> {
        let range = range(lane.from, lane.count, self.states.len(), "new states")?;
        Ok(self.states[range].iter().collect())
    }
}

impl<D: Store<R>, R: Stored> Prepared<D> for Dataset<R> {
    fn size(&self, subscriptions: u64) -> Reply {
        let records = self.records.len() as u64;
        let operations = self.operations.as_ref().map_or(records, |operations| operations.len() as u64);
        Reply::Prepare { records, operations, states: self.states.len() as u64, subscriptions }
    }

    fn require(&self, lane: &Lane) -> Result<(), Failure> {
        if !D::VERBS.contains(&lane.verb) {
            return Err(failure(
                FailureKind::Unsupported,
                format!("the driver has no {}.{}", R::Of::KIND, lane.verb),
            ));
        }
        if lane.held && !D::HOLDS {
            return Err(failure(FailureKind::Unsupported, "the driver holds no read transactions"));
        }
        Ok(())
    }

    fn fill(&self, handle: &mut D, from: u64, count: u64) -> Result<(), Failure> {
        let records: Vec<&R> =
            self.records[range(from, count, self.records.len(), "records")?].iter().collect();
        if D::VERBS.contains(&Verb::InsertMany) {
            return handle.insert_many(&records).map_err(Into::into);
        }
        records.into_iter().try_for_each(|record| handle.insert_one(record).map_err(Into::into))
    }

    fn churn(&self, handle: &mut D, from: u64, count: u64, times: u32) -> Result<(), Failure> {
        if let Some(verb) = [Verb::InsertMany, Verb::DeleteMany].iter().find(|verb| !D::VERBS.contains(verb))
        {
            let message = format!("the driver has no {}.{verb}, which churning takes", R::Of::KIND);
            return Err(failure(FailureKind::Unsupported, message));
        }
        let records: Vec<&R> =
            self.records[range(from, count, self.records.len(), "records")?].iter().collect();
        for _ in 0..times {
            handle.insert_many(&records).map_err(Into::into)?;
            handle.delete_many().map_err(Into::into)?;
        }
        Ok(())
    }

    fn gather(&self, lane: &Lane) -> Result<Box<dyn Timed<D> + '_>, Failure> {
        Ok(Box::new(self.work(lane)?))
    }

    fn run_open(&self, open: &Open, lane: &Lane, latency: Option<&Path>) -> Result<Sample, Failure> {
        Prepared::<D>::require(self, lane)?;
        keep(lane::play_open::<D, R>(open, lane.count)?, latency, None)
    }

    fn check(&self, handle: &mut D) -> Result<Reply, Failure> {
        let mut records = R::into_records(handle.read_all().map_err(Into::into)?);
        records.sort_by(|one, other| one.key().cmp(other.key()));
        let digest = Digest::of(&records);
        Ok(Reply::Check { answers: digest.answers(), digest: digest.to_string() })
    }
}

fn range(from: u64, count: u64, size: usize, of: &str) -> Result<std::ops::Range<usize>, Failure> {
    match from.checked_add(count) {
        Some(end) if end <= size as u64 => Ok(from as usize..end as usize),
        _ => {
            let message = format!("{count} {of} from {from} were asked for; there are {size}");
            Err(failure(FailureKind::Protocol, message))
        }
    }
}

pub(crate) fn unreadable(path: &Path, error: DataError) -> Failure {
    match error {
        DataError::Io(error) => failure(FailureKind::Io, format!("{}: {error}", path.display())),
        DataError::Malformed(message) => failure(FailureKind::Protocol, message),
    }
}
