//! The records that came into a result, and those that left it, without places.

use super::results::{Difference, Results};
use super::watch::{Step, Watch};
use crate::types::record::Record;
use std::sync::Arc;

/// The records that came into a result, and those that left it. A record that changed is among both.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// store.insert(&task(1, Some(10)))?;
/// let feed = store.feed()?;
/// let soon = feed.query::<Task>().filter(|task| task.due.lt(50)).watch()?;
/// store.write(|transaction| {
///     transaction.put(&task(1, Some(90)))?;
///     transaction.insert(&task(2, Some(20)))
/// })?;
/// let batch = feed.next()?.expect("the feed goes on");
/// let delta = batch.get(soon.id()).expect("it was changed").delta::<Task>()?;
/// assert_eq!(delta.removed().collect::<Vec<_>>(), [&task(1, Some(10))]);
/// assert_eq!(delta.inserted().collect::<Vec<_>>(), [&task(2, Some(20))]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Delta<T>(Changed<T>);

enum Changed<T> {
    Step(Arc<Watch<T>>, Arc<Step<T>>),
    Diff(Results<T>, Vec<Difference<T>>),
}

impl<T: Record> Delta<T> {
    pub(super) fn of_step(watch: Arc<Watch<T>>, step: Arc<Step<T>>) -> Delta<T> {
        Delta(Changed::Step(watch, step))
    }

    pub(super) fn of_diff(before: Results<T>, differences: Vec<Difference<T>>) -> Delta<T> {
        Delta(Changed::Diff(before, differences))
    }

    /// The records that left their places, as they were, in order: gone, moved or changed.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.insert(&task(1, None))?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch()?;
    /// store.remove::<Task>(&1)?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// let delta = batch.get(all.id()).expect("it was changed").delta::<Task>()?;
    /// assert_eq!(delta.removed().map(|task| task.id).collect::<Vec<_>>(), [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn removed(&self) -> impl Iterator<Item = &T> {
        let (entries, before, differences) = match &self.0 {
            Changed::Step(watch, step) => (watch.touched(&step.removed), None, [].as_slice()),
            Changed::Diff(before, differences) => ([].as_slice(), Some(before), differences.as_slice()),
        };
        let found = differences.iter().filter_map(move |difference| match difference {
            Difference::Removed { at } | Difference::Changed { old_at: at, .. } => before?.get(*at),
            Difference::Inserted { .. } => None,
        });
        entries.iter().map(|entry| &entry.row.record).chain(found)
    }

    /// The records that came to their places, as they are, in order: new, moved or changed.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch()?;
    /// store.insert_all(&[task(1, None), task(2, None)])?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// let delta = batch.get(all.id()).expect("it was changed").delta::<Task>()?;
    /// assert_eq!(delta.inserted().map(|task| task.id).collect::<Vec<_>>(), [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn inserted(&self) -> impl Iterator<Item = &T> {
        let (entries, differences) = match &self.0 {
            Changed::Step(watch, step) => (watch.touched(&step.inserted), [].as_slice()),
            Changed::Diff(_, differences) => ([].as_slice(), differences.as_slice()),
        };
        let found = differences.iter().filter_map(|difference| match difference {
            Difference::Inserted { record, .. } | Difference::Changed { record, .. } => Some(&**record),
            Difference::Removed { .. } => None,
        });
        entries.iter().map(|entry| &entry.row.record).chain(found)
    }
}
