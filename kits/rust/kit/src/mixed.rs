//! Mixed load: gets and updates in the order that the lab has mixed them, several in a transaction, a given number of them or
//! for a given time.

use crate::series::Series;
use crate::{Answers, Store, Stored, Ticks};
use std::time::{Duration, Instant};

/// An operation of a mixed transaction.
pub enum Operation<'d, R: Stored> {
    /// Get the record of this key.
    Get(R::Key),
    /// Write this new state over the record with its key.
    Update(&'d R),
}

impl<R: Stored> Operation<'_, R> {
    /// Whether it writes.
    pub fn writes(&self) -> bool {
        matches!(self, Operation::Update(_))
    }
}

/// A lane's mixed load.
pub(crate) struct Mix<'d, R: Stored> {
    pub(crate) operations: Vec<Operation<'d, R>>,
    /// How many operations a transaction has, at least 1.
    pub(crate) transaction: usize,
    /// How long the operations are played, round and round; none where they are played once.
    pub(crate) duration: Option<Duration>,
}

impl<R: Stored> Mix<'_, R> {
    /// How many transactions there are, where the operations are played once.
    pub(crate) fn transactions(&self) -> usize {
        if self.duration.is_some() { 0 } else { self.operations.len().div_ceil(self.transaction) }
    }

    /// How many records are kept until the clock has stopped. Of a lane by the clock none is: nobody knows how many there will be.
    pub(crate) fn kept(&self) -> usize {
        if self.duration.is_some() {
            return 0;
        }
        self.operations.iter().filter(|operation| !operation.writes()).count()
    }

    /// Plays the operations once.
    pub(crate) fn play<D: Store<R>, T: Ticks>(
        &self,
        driver: &mut D,
        answers: &mut Answers<R>,
        ticks: &mut T,
    ) {
        let mut found = Vec::with_capacity(self.transaction);
        for transaction in self.operations.chunks(self.transaction) {
            let answer = driver.mix(transaction, &mut found);
            answers.mixed(transaction.len(), answer, &mut found);
            ticks.tick();
        }
    }

    /// Plays the operations round and round from `start` on, until the time is over: a transaction that has begun by then is
    /// played to its end. Answers are digested as they come, which is timed, and alike for every subject.
    pub(crate) fn play_by_the_clock<D: Store<R>>(
        &self,
        driver: &mut D,
        answers: &mut Answers<R>,
        start: Instant,
        duration: Duration,
    ) -> Series {
        let mut series = Series::starting(start);
        let mut found = Vec::with_capacity(self.transaction);
        let mut begun = start;
        for transaction in self.operations.chunks(self.transaction).cycle() {
            let answer = driver.mix(transaction, &mut found);
            answers.mixed_and_digested(transaction.len(), answer, &mut found);
            let end = Instant::now();
            series.record(begun, end, transaction.iter().any(Operation::writes));
            if end.duration_since(start) >= duration {
                break;
            }
            begun = end;
        }
        series
    }
}
