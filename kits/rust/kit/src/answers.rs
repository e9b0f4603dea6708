//! What a lane answered: kept as it comes while the clock runs, counted and digested after.

use crate::Stored;
use std::collections::BTreeMap;
use touchstone_protocol::{Digest, Failure, FailureKind, LaneSample, Record};

/// The answers of one lane, in records of the kit's own. Nothing here is worked out while the clock runs.
pub struct Answers<R: Stored> {
    records: Vec<R::Of>,
    reads: Vec<Vec<R::Of>>,
    acknowledged: u64,
    /// What was digested as it came, and how many operations that were, of a lane by the clock.
    digested: Digest,
    played: Option<u64>,
    /// By kind, how many and the first one's message.
    failures: BTreeMap<FailureKind, (u64, String)>,
}

impl<R: Stored> Answers<R> {
    /// Room for one record each of `gets` operations, and for the records of `reads` reads of everything.
    pub(crate) fn with_capacity(gets: usize, reads: usize) -> Answers<R> {
        let mut records = Vec::<R::Of>::with_capacity(gets);
        let spare = records.spare_capacity_mut();
        // SAFETY: the spare capacity is writable memory that nobody reads before it is written again. Touching it
        // here keeps the page faults of the kit's own array out of the timed stretch.
        unsafe { std::ptr::write_bytes(spare.as_mut_ptr(), 0, spare.len()) };
        Answers {
            records,
            reads: Vec::with_capacity(reads),
            acknowledged: 0,
            digested: Digest::default(),
            played: None,
            failures: BTreeMap::new(),
        }
    }

    /// Keeps the answer of a get.
    #[inline(always)]
    pub fn found<E: Into<Failure>>(&mut self, answer: Result<Option<R>, E>) {
        match answer {
            Ok(answer) => self.keep(answer.map(Stored::into_record)),
            Err(error) => self.failed(error.into()),
        }
    }

    /// Keeps what was found, where anything was.
    #[inline(always)]
    pub(crate) fn keep(&mut self, record: Option<R::Of>) {
        if let Some(record) = record {
            self.records.push(record);
        }
    }

    /// Keeps the answer of a verb that answers many records in an order of its own.
    pub(crate) fn read<E: Into<Failure>>(&mut self, answer: Result<Vec<R>, E>) {
        match answer {
            Ok(records) => self.reads.push(R::into_records(records)),
            Err(error) => self.failed(error.into()),
        }
    }

    /// Counts the acknowledgement of a write of `count` records.
    #[inline(always)]
    pub(crate) fn acknowledged<E: Into<Failure>>(&mut self, count: usize, answer: Result<(), E>) {
        match answer {
            Ok(()) => self.acknowledged += count as u64,
            Err(error) => self.failed(error.into()),
        }
    }

    /// Counts the acknowledgement of an update, if there was something to write over.
    #[inline(always)]
    pub(crate) fn updated<E: Into<Failure>>(&mut self, answer: Result<bool, E>) {
        match answer {
            Ok(there) => self.acknowledged += u64::from(there),
            Err(error) => self.failed(error.into()),
        }
    }

    /// Keeps what a mixed transaction of so many operations found, and counts what it updated.
    #[inline(always)]
    pub(crate) fn mixed<E: Into<Failure>>(
        &mut self,
        operations: usize,
        answer: Result<u64, E>,
        found: &mut Vec<R>,
    ) {
        if self.updates(operations, answer, found) {
            self.records.extend(found.drain(..).map(Stored::into_record));
        }
    }

    /// As [`mixed`](Answers::mixed), but digests what was found at once and keeps nothing of it.
    #[inline(always)]
    pub(crate) fn mixed_and_digested<E: Into<Failure>>(
        &mut self,
        operations: usize,
        answer: Result<u64, E>,
        found: &mut Vec<R>,
    ) {
        *self.played.get_or_insert(0) += operations as u64;
        if self.updates(operations, answer, found) {
            found.drain(..).for_each(|record| self.digested.add(&record.into_record()));
        }
    }

    /// Counts what a mixed transaction updated; false for one that failed, whose gets answer nothing either.
    fn updates<E: Into<Failure>>(
        &mut self,
        operations: usize,
        answer: Result<u64, E>,
        found: &mut Vec<R>,
    ) -> bool {
        match answer {
            Ok(updated) => self.acknowledged += updated,
            Err(error) => {
                found.clear();
                self.all_failed(operations as u64, error.into());
                return false;
            }
        }
        true
    }

    /// Counts an operation that failed: it is a result, and the lane goes on.
    pub(crate) fn failed(&mut self, failure: Failure) {
        self.all_failed(1, failure);
    }

    #[cold]
    fn all_failed(&mut self, operations: u64, failure: Failure) {
        self.failures.entry(failure.kind).or_insert((0, failure.message)).0 += operations;
    }

    /// Counts and digests, off the clock. The first failure of each kind is told on standard error.
    ///
    /// No two engines owe each other the same natural order, so each read of everything is put in key order.
    pub(crate) fn sample(&mut self, wall_ns: u64) -> LaneSample {
        for records in &mut self.reads {
            records.sort_by(|one, other| one.key().cmp(other.key()));
        }
        let mut digest = std::mem::take(&mut self.digested);
        self.records.iter().chain(self.reads.iter().flatten()).for_each(|record| digest.add(record));
        for (kind, (count, message)) in &self.failures {
            eprintln!("{count} operations failed ({}), the first with: {message}", kind.name());
        }
        let errors =
            self.failures.iter().map(|(kind, (count, _))| (kind.name().to_owned(), *count)).collect();
        LaneSample {
            wall_ns,
            answers: digest.answers() + self.acknowledged,
            digest: digest.to_string(),
            errors,
            delivery: None,
            played: self.played,
        }
    }
}

impl<R: Stored> Default for Answers<R> {
    fn default() -> Answers<R> {
        Answers::with_capacity(0, 0)
    }
}
