//! The updates that subscribers get: one for each subscription whose result a transaction has changed.

use super::delta::Delta;
use super::mailbox::Supersede;
use super::results::{Difference, Results};
use super::row::Row;
use super::sql_rows::SqlRows;
use super::watch::{Step, Watch};
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::record::Record;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A value of a type that only the subscriber knows.
pub(crate) type Unknown = Arc<dyn Any + Send + Sync>;

/// Identifies a subscription. No two of an opened store are equal, even after one has ended.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// use touchstone_store::SubscriptionId;
///
/// let feed = store.feed()?;
/// let (one, two) = (feed.watch::<Task>(&1)?, feed.watch::<Task>(&1)?);
/// let ids: [SubscriptionId; 2] = [one.id(), two.id()];
/// assert!(ids[0] < ids[1], "greater for later ones");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionId(pub(crate) u64);

/// The change of one subscription's result. Nothing is computed in advance, and each call computes again: a subscriber
/// that only reads results pays for no diff.
///
/// The caller names the watched type:
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// use touchstone_store::Difference;
///
/// store.insert(&task(1, Some(20)))?;
/// let feed = store.feed()?;
/// let all = feed.query::<Task>().order(|task| task.due.ascending()).watch()?;
/// store.insert(&task(2, Some(10)))?;
///
/// let batch = feed.next()?.expect("the feed goes on");
/// let update = batch.get(all.id()).expect("it was changed");
/// assert_eq!(update.before::<Task>()?.len(), 1);
/// assert_eq!(update.results::<Task>()?.len(), 2);
/// assert!(matches!(&update.diff::<Task>()?[..], [Difference::Inserted { at: 0, record }] if record.id == 2));
/// assert_eq!(update.delta::<Task>()?.inserted().collect::<Vec<_>>(), [&task(2, Some(10))]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Update {
    pub(crate) id: SubscriptionId,
    pub(crate) version: u64,
    pub(crate) what: What,
    pub(crate) is_resync: bool,
    /// How many versions ago the receiver had the state before.
    pub(crate) age: u32,
}

/// The kinds of changes.
pub(crate) enum What {
    /// The window's `Watch`, the set's `Step`, and the earliest step that the receiver has not seen, if it is another.
    Window {
        watch: Unknown,
        step: Unknown,
        older: Option<Unknown>,
    },
    /// The record's rows, if there were any.
    Record {
        before: Option<Unknown>,
        after: Option<Unknown>,
    },
    Count {
        before: u64,
        after: u64,
    },
    Sql {
        before: SqlRows,
        after: SqlRows,
    },
    Failed {
        error: Error,
        /// The changes that the receiver has missed by then.
        missed: Option<Box<What>>,
    },
}

impl fmt::Debug for Update {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Update");
        shown.field("id", &self.id).field("version", &self.version).field("is_resync", &self.is_resync);
        match &self.what {
            What::Count { after, .. } => shown.field("count", after),
            What::Failed { error, .. } => shown.field("error", error),
            What::Window { .. } | What::Record { .. } | What::Sql { .. } => &mut shown,
        };
        shown.finish_non_exhaustive()
    }
}

impl Update {
    pub(crate) fn new(id: SubscriptionId, version: u64, what: What, is_resync: bool) -> Update {
        Update { id, version, what, is_resync, age: 1 }
    }

    /// The subscription whose result changed.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let one = feed.watch::<Task>(&1)?;
    /// store.insert(&task(1, None))?;
    /// let update = feed.next()?.expect("the feed goes on").into_iter().next();
    /// assert_eq!(update.map(|update| update.id()), Some(one.id()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> SubscriptionId {
        self.id
    }

    /// The version of the result: the commit that led to it. If a batch stands for several transactions, this is the
    /// last one that changed the result.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let one = feed.watch::<Task>(&1)?;
    /// store.insert(&task(1, None))?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// assert_eq!(batch.get(one.id()).map(|update| update.version()), Some(batch.version()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Whether the result was read again because a change could not be followed: several transactions may be in it.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let one = feed.watch::<Task>(&1)?;
    /// store.insert(&task(1, None))?;
    /// assert!(feed.next()?.expect("the feed goes on").iter().all(|update| !update.is_resync()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_resync(&self) -> bool {
        self.is_resync
    }

    /// The records now.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch()?;
    /// store.insert(&task(1, None))?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// let now = batch.get(all.id()).expect("it was changed").results()?;
    /// assert_eq!(now.get(0), Some(&task(1, None)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`error`](Update::error), if the result could not be read; [`Mismatch`](ErrorKind::Mismatch) if something
    /// else than records of this type is watched.
    pub fn results<T: Record>(&self) -> Result<Results<T>> {
        let known = match &self.what {
            What::Window { watch, step, .. } => {
                let known = watch.downcast_ref::<Watch<T>>().zip(step.downcast_ref::<Step<T>>());
                known.map(|(watch, step)| Results::of_window(watch, step.after.clone(), self.version))
            }
            What::Record { after, .. } => record(after.as_ref(), self.version),
            What::Count { .. } | What::Sql { .. } | What::Failed { .. } => None,
        };
        known.ok_or_else(|| self.why_not("records of the type that was asked for"))
    }

    /// The records that the feed's receiver had before: those of the last update that was taken, or the first result.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.insert(&task(1, None))?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch()?;
    /// // Nobody takes the first of the two updates, so the second takes its place.
    /// store.insert(&task(2, None))?;
    /// store.insert(&task(3, None))?;
    /// store.wait_delivered()?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// let update = batch.get(all.id()).expect("it was changed");
    /// assert_eq!((update.before::<Task>()?.len(), update.results::<Task>()?.len()), (1, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`results`](Update::results).
    pub fn before<T: Record>(&self) -> Result<Results<T>> {
        let version = self.version.saturating_sub(self.age.into());
        let known = match &self.what {
            What::Window { watch, step, older } => {
                let step = older.as_ref().unwrap_or(step);
                let known = watch.downcast_ref::<Watch<T>>().zip(step.downcast_ref::<Step<T>>());
                known.map(|(watch, step)| Results::of_window(watch, step.before.clone(), version))
            }
            What::Record { before, .. } => record(before.as_ref(), version),
            What::Count { .. } | What::Sql { .. } | What::Failed { .. } => None,
        };
        known.ok_or_else(|| self.why_not("records of the type that was asked for"))
    }

    /// The steps from the records [before](Update::before) to those now, with places: for a list on a screen. The cost
    /// grows with the parts that the two results do not share in memory. If places do not matter, a
    /// [delta](Update::delta) costs less.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// use touchstone_store::Difference;
    ///
    /// store.insert_all(&[task(1, Some(10)), task(2, Some(20))])?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().order(|task| task.due.ascending()).watch()?;
    /// store.remove::<Task>(&1)?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// let diff = batch.get(all.id()).expect("it was changed").diff::<Task>()?;
    /// assert_eq!(diff, [Difference::Removed { at: 0 }]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`results`](Update::results).
    pub fn diff<T: Record>(&self) -> Result<Vec<Difference<T>>> {
        Ok(self.results::<T>()?.diff(&self.before::<T>()?))
    }

    /// The records that came into the result and those that left it, without places. They are the transaction's changes
    /// to rows of the query's shape, as far as these lie in the result. If the query has a limit, or if updates were
    /// superseded, these changes do not show it: then a [diff](Update::diff) finds the records.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.insert(&task(1, Some(10)))?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch()?;
    /// store.put(&task(1, Some(20)))?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// let delta = batch.get(all.id()).expect("it was changed").delta::<Task>()?;
    /// assert_eq!(delta.removed().next(), Some(&task(1, Some(10))), "a record that changed has left as it was");
    /// assert_eq!(delta.inserted().next(), Some(&task(1, Some(20))), "and has come as it is");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`results`](Update::results).
    pub fn delta<T: Record>(&self) -> Result<Delta<T>> {
        if let What::Window { watch, step, older: None } = &self.what
            && let Ok(watch) = Arc::clone(watch).downcast::<Watch<T>>()
            && let Ok(step) = Arc::clone(step).downcast::<Step<T>>()
            && watch.is_whole()
        {
            return Ok(Delta::of_step(watch, step));
        }
        Ok(Delta::of_diff(self.before::<T>()?, self.diff::<T>()?))
    }

    /// The number of records now, for a query whose records are [counted](crate::CountSubscription).
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch_count()?;
    /// store.insert(&task(1, None))?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// assert_eq!(batch.get(all.id()).expect("it was changed").count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`error`](Update::error), if the result could not be read; [`Mismatch`](ErrorKind::Mismatch) if something
    /// else than a count is watched.
    pub fn count(&self) -> Result<u64> {
        match &self.what {
            What::Count { after, .. } => Ok(*after),
            _ => Err(self.why_not("a number of records")),
        }
    }

    /// The rows that a watched [statement](crate::SqlSubscription) gives now.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # store.insert(&task(1, None))?;
    /// let feed = store.feed()?;
    /// let titles = feed.watch_sql("select title from task", [])?;
    /// store.insert(&task(2, None))?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// assert_eq!(batch.get(titles.id()).expect("it was changed").sql_rows()?.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`error`](Update::error), if the statement failed; [`Mismatch`](ErrorKind::Mismatch) if something else than a
    /// statement is watched.
    pub fn sql_rows(&self) -> Result<&SqlRows> {
        match &self.what {
            What::Sql { after, .. } => Ok(after),
            _ => Err(self.why_not("a statement of SQL")),
        }
    }

    /// The rows that the feed's receiver had before.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # store.insert(&task(1, None))?;
    /// let feed = store.feed()?;
    /// let titles = feed.watch_sql("select title from task order by id", [])?;
    /// store.insert(&task(2, None))?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// let update = batch.get(titles.id()).expect("it was changed");
    /// let (older, newer) = update.sql_rows()?.diff(update.sql_rows_before()?);
    /// assert_eq!((older, newer), (1..1, 1..2), "one came behind the first");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`sql_rows`](Update::sql_rows).
    pub fn sql_rows_before(&self) -> Result<&SqlRows> {
        match &self.what {
            What::Sql { before, .. } => Ok(before),
            _ => Err(self.why_not("a statement of SQL")),
        }
    }

    /// Why the result could not be read: the system fails to read, a page contradicts itself or its checksum, or a
    /// stored value does not fit its field's type. The receiver's earlier results stay. An error is reported once. The
    /// store tries again whenever it has work; an update follows when it succeeds, even if the result is unchanged.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch()?;
    /// store.insert(&task(1, None))?;
    /// for update in feed.next()?.expect("the feed goes on") {
    ///     if let Some(error) = update.error() {
    ///         eprintln!("what is shown may be old: {error}");
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        match &self.what {
            What::Failed { error, .. } => Some(error),
            _ => None,
        }
    }

    /// The error for a question that the update does not answer.
    #[cold]
    fn why_not(&self, asked: &str) -> Error {
        if let What::Failed { error, .. } = &self.what {
            return error.clone();
        }
        let why = format!(
            "the update is of a subscription to something else than {asked} (ask for what is watched)"
        );
        Error::new(ErrorKind::Mismatch, why)
    }
}

/// The results of a key. A key without a record fits every type.
fn record<T: Record>(row: Option<&Unknown>, version: u64) -> Option<Results<T>> {
    let row = match row {
        Some(row) => Some(Arc::clone(row).downcast::<Row<T>>().ok()?),
        None => None,
    };
    Some(Results::of_record(row, version))
}

impl Supersede for Update {
    fn supersede(&mut self, older: &mut Update) {
        self.is_resync |= older.is_resync;
        let ago = u32::try_from(self.version.saturating_sub(older.version)).unwrap_or(u32::MAX);
        self.age = ago.saturating_add(older.age);
        self.what.supersede(&mut older.what);
    }
}

impl What {
    pub(crate) fn failed(error: &Error) -> What {
        What::Failed { error: error.clone(), missed: None }
    }

    /// As [`Supersede::supersede`]. What is not needed any more stays in the older one.
    fn supersede(&mut self, older: &mut What) {
        match (self, older) {
            (What::Failed { .. }, What::Failed { missed: None, .. }) => {}
            (What::Failed { missed, .. }, What::Failed { missed: earliest, .. }) => {
                std::mem::swap(missed, earliest);
            }
            (What::Failed { missed, .. }, older) => {
                let earliest = std::mem::replace(older, What::Count { before: 0, after: 0 });
                if let Some(later) = missed.replace(Box::new(earliest)) {
                    *older = *later;
                }
            }
            (what, What::Failed { missed: Some(missed), .. }) => what.supersede(missed),
            (What::Window { older: earliest, .. }, What::Window { step, older, .. }) => {
                let earlier = older.take().unwrap_or_else(|| Arc::clone(step));
                *older = earliest.replace(earlier);
            }
            (What::Record { before, .. }, What::Record { before: earliest, .. }) => {
                std::mem::swap(before, earliest);
            }
            (What::Count { before, .. }, What::Count { before: earliest, .. }) => *before = *earliest,
            (What::Sql { before, .. }, What::Sql { before: earliest, .. }) => {
                std::mem::swap(before, earliest);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_missed_before_a_failure_is_not_forgotten() {
        let update = |version, what| Update::new(SubscriptionId(1), version, what, false);
        let error = Error::new(ErrorKind::Io, "the disk is gone");
        let mut newest = update(2, What::Count { before: 1, after: 2 });
        for (version, what) in
            [(4, What::failed(&error)), (5, What::failed(&error)), (7, What::Count { before: 2, after: 3 })]
        {
            let mut older = std::mem::replace(&mut newest, update(version, what));
            newest.supersede(&mut older);
        }
        assert!(matches!(newest.what, What::Count { before: 1, after: 3 }));
        assert_eq!(newest.version - u64::from(newest.age), 1, "so old is what the receiver has");
    }

    /// Regression: what a later failure had missed was forgotten if an earlier one had missed nothing.
    #[test]
    fn what_was_missed_between_two_failures_is_not_forgotten() {
        let error = Error::new(ErrorKind::Io, "the disk is gone");
        let mut missing = What::failed(&error);
        missing.supersede(&mut What::Count { before: 2, after: 3 });
        missing.supersede(&mut What::failed(&error));
        let mut newest = What::Count { before: 3, after: 4 };
        newest.supersede(&mut missing);
        assert!(matches!(newest, What::Count { before: 2, after: 4 }));
    }
}
