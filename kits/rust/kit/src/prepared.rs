//! A dataset and its order of operations, in memory, ready to be played against a driver.

use crate::lane::{self, Played, Work};
use crate::{Failure, FailureKind, Open, Record, Store, failure};
use std::fs;
use std::path::Path;
use touchstone_protocol::{
    DataError, Digest, Lane, Plan, Reply, Run, Sample, Verb, read_dataset, read_operations,
};

/// What a session does with a prepared dataset, whatever its record type.
pub(crate) trait Prepared<D> {
    /// How many records and operations there are, beside that many subscriptions.
    fn size(&self, subscriptions: u64) -> Reply;
    /// Refuses lanes and tables that the driver cannot do, before anything is opened for them.
    fn require(&self, lanes: &[Lane], tables: u32) -> Result<(), Failure>;
    /// As [`Prepared::require`], of one of `tables` alone.
    fn require_table(&self, table: u32, tables: u32) -> Result<(), Failure>;
    /// Stores records `from..from + count`.
    fn fill(&self, handle: &mut D, from: u64, count: u64) -> Result<(), Failure>;
    /// Stores them and deletes them all again, `times` over.
    fn churn(&self, handle: &mut D, from: u64, count: u64, times: u32) -> Result<(), Failure>;
    /// Plays the lanes on the clock, one handle each.
    fn run(&self, handles: Vec<&mut D>, run: &Run) -> Result<Sample, Failure>;
    /// Plays an `open` lane on the clock.
    fn run_open(&self, open: &Open, lane: &Lane, latency: Option<&Path>) -> Result<Sample, Failure>;
    /// Plays the lanes once and tells how, one handle each.
    fn explain(&self, handles: Vec<&mut D>, lanes: &[Lane]) -> Result<Plan, Failure>;
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

impl<R: Record> Dataset<R> {
    /// Reads the files whole.
    pub(crate) fn read(
        dataset: &Path,
        operations: Option<&Path>,
        states: Option<&Path>,
    ) -> Result<Dataset<R>, Failure> {
        let read = |path: &Path| read_dataset::<R>(path).map_err(|error| unreadable(path, error));
        let records = read(dataset)?;
        let states = states.map(read).transpose()?.unwrap_or_default();
        let operations = match operations {
            Some(path) => Some(read_operations(path).map_err(|error| unreadable(path, error))?),
            None => None,
        };
        let beyond = operations.iter().flatten().find(|operation| **operation as usize >= records.len());
        if let Some(operation) = beyond {
            let message = format!("an operation names record {operation}; the dataset has {}", records.len());
            return Err(failure(FailureKind::Protocol, message));
        }
        Ok(Dataset { records, operations, states })
    }

    /// The records of operations `from..from + count`.
    fn gather(&self, from: u64, count: u64) -> Result<impl Iterator<Item = &R>, Failure> {
        let size = self.operations.as_ref().map_or(self.records.len(), Vec::len);
        let range = range(from, count, size, "operations")?;
        Ok(range.map(|index| match &self.operations {
            Some(operations) => &self.records[operations[index] as usize],
            None => &self.records[index],
        }))
    }

    fn work(&self, lane: &Lane) -> Result<Work<'_, R>, Failure> {
        Ok(match lane.verb {
            Verb::Get => {
                Work::Get(self.gather(lane.from, lane.count)?.map(|record| record.key().clone()).collect())
            }
            Verb::ReadAll => Work::ReadAll(lane.count),
            Verb::InsertOne => Work::InsertOne(self.gather(lane.from, lane.count)?.collect()),
            Verb::InsertMany => Work::InsertMany(self.gather(lane.from, lane.count)?.collect()),
            Verb::Find => {
                let above = lane.above.ok_or_else(|| {
                    failure(FailureKind::Protocol, "a find lane needs `above`, the bound to compare with")
                })?;
                Work::Find { above, times: lane.count }
            }
            Verb::UpdateOne => Work::UpdateOne(self.states_of(lane)?),
            Verb::UpdateMany => Work::UpdateMany(self.states_of(lane)?),
            Verb::DeleteMany => Work::DeleteMany,
            Verb::Open => {
                return Err(failure(
                    FailureKind::Unsupported,
                    "an open lane runs alone, and there is nothing to explain about it",
                ));
            }
            Verb::Deliver => {
                return Err(failure(FailureKind::Unsupported, "a deliver lane runs alone"));
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

    fn play<D: Store<R>>(
        &self,
        mut handles: Vec<&mut D>,
        lanes: &[Lane],
        latency: bool,
    ) -> Result<Played, Failure> {
        let works = lanes.iter().map(|lane| self.work(lane)).collect::<Result<Vec<_>, _>>()?;
        for (handle, lane) in handles.iter_mut().zip(lanes) {
            if lane.held {
                handle.begin_read().map_err(Into::into)?;
            }
        }
        let played = lane::play(handles.iter_mut().map(|handle| &mut **handle).zip(works).collect(), latency);
        for (handle, lane) in handles.iter_mut().zip(lanes) {
            if lane.held {
                handle.end_read().map_err(Into::into)?;
            }
        }
        Ok(played)
    }
}

impl<D: Store<R>, R: Record> Prepared<D> for Dataset<R> {
    fn size(&self, subscriptions: u64) -> Reply {
        let records = self.records.len() as u64;
        let operations = self.operations.as_ref().map_or(records, |operations| operations.len() as u64);
        Reply::Prepare { records, operations, states: self.states.len() as u64, subscriptions }
    }

    fn require(&self, lanes: &[Lane], tables: u32) -> Result<(), Failure> {
        supported::<D, R>(lanes)?;
        lanes.iter().try_for_each(|lane| Prepared::<D>::require_table(self, lane.table, tables))
    }

    fn require_table(&self, table: u32, tables: u32) -> Result<(), Failure> {
        match table {
            1 => Ok(()),
            2.. if D::TABLES && table <= tables => Ok(()),
            _ if D::TABLES || table == 0 => Err(failure(
                FailureKind::Protocol,
                format!("table {table} was asked for; the {tables} of this database are numbered from 1"),
            )),
            _ => Err(failure(
                FailureKind::Unsupported,
                format!("the driver has no {}.tables, so no table {table}", R::KIND),
            )),
        }
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
            let message = format!("the driver has no {}.{verb}, which churning takes", R::KIND);
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

    fn run(&self, handles: Vec<&mut D>, run: &Run) -> Result<Sample, Failure> {
        let played = self.play(handles, &run.lanes, run.latency.is_some())?;
        keep(played, run.latency.as_deref())
    }

    fn run_open(&self, open: &Open, lane: &Lane, latency: Option<&Path>) -> Result<Sample, Failure> {
        Prepared::<D>::require(self, std::slice::from_ref(lane), open.schema.tables)?;
        keep(lane::play_open::<D, R>(open, lane.count)?, latency)
    }

    fn explain(&self, mut handles: Vec<&mut D>, lanes: &[Lane]) -> Result<Plan, Failure> {
        for handle in &mut handles {
            handle.explain().map_err(Into::into)?;
        }
        let played = self.play(handles.iter_mut().map(|handle| &mut **handle).collect(), lanes, false);
        let mut whole = Plan::default();
        for handle in handles {
            let plan = handle.explained().map_err(Into::into)?;
            for line in plan.plan {
                if !whole.plan.contains(&line) {
                    whole.plan.push(line);
                }
            }
            for (name, count) in plan.counters {
                *whole.counters.entry(name).or_insert(0) += count;
            }
        }
        played.map(|_| whole)
    }

    fn check(&self, handle: &mut D) -> Result<Reply, Failure> {
        let mut records = handle.read_all().map_err(Into::into)?;
        records.sort_by(|one, other| one.key().cmp(other.key()));
        let digest = Digest::of(&records);
        Ok(Reply::Check { answers: digest.answers(), digest: digest.to_string() })
    }
}

/// Writes the latencies to their file, off the clock.
pub(crate) fn keep(played: Played, latency: Option<&Path>) -> Result<Sample, Failure> {
    if let Some(path) = latency {
        let bytes: Vec<u8> = played.latency_ns.iter().flat_map(|latency| latency.to_le_bytes()).collect();
        fs::write(path, bytes)
            .map_err(|error| failure(FailureKind::Io, format!("{}: {error}", path.display())))?;
    }
    Ok(played.sample)
}

fn supported<D: Store<R>, R: Record>(lanes: &[Lane]) -> Result<(), Failure> {
    if lanes.is_empty() {
        return Err(failure(FailureKind::Protocol, "a run has at least one lane"));
    }
    for lane in lanes {
        if !D::VERBS.contains(&lane.verb) {
            return Err(failure(
                FailureKind::Unsupported,
                format!("the driver has no {}.{}", R::KIND, lane.verb),
            ));
        }
        if lane.held && !D::HOLDS {
            return Err(failure(FailureKind::Unsupported, "the driver holds no read transactions"));
        }
    }
    Ok(())
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
