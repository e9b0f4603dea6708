//! The result of a live query at one version: records in their order, read in place.

use super::order::Sorter;
use super::row::Row;
use super::set::{self, Entry, Set};
use super::watch::Watch;
use crate::types::record::Record;
use std::fmt;
use std::iter::FusedIterator;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A record that results share: it is read in place, and freed with its last owner.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// store.insert(&task(1, Some(20)))?;
/// let feed = store.feed()?;
/// let all = feed.query::<Task>().watch()?;
/// let kept = all.results().shared(0).expect("there is one");
/// drop((all, feed));
/// assert_eq!(kept.title, "task 1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Shared<T>(Arc<Row<T>>);

impl<T> Shared<T> {
    pub(crate) fn new(row: &Arc<Row<T>>) -> Shared<T> {
        Shared(Arc::clone(row))
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        Shared(Arc::clone(&self.0))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0.record
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, formatter)
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Shared<T>) -> bool {
        **self == **other
    }
}

impl<T: PartialEq> PartialEq<T> for Shared<T> {
    fn eq(&self, other: &T) -> bool {
        **self == *other
    }
}

/// The records of a live query at one version. They cost nothing: they are those that the store holds, and stay as they
/// are however long they are kept. But a kept record is not freed: keep the newest results, and those to compare with.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// store.insert_all(&[task(1, Some(20)), task(2, Some(10))])?;
/// let feed = store.feed()?;
/// let mut by_date = feed.query::<Task>().order(|task| task.due.ascending()).watch()?;
/// let results = by_date.take_results();
/// store.remove::<Task>(&1)?;
/// assert_eq!(results.iter().map(|task| task.id).collect::<Vec<_>>(), [2, 1], "as they were");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Results<T> {
    version: u64,
    found: Content<T>,
}

enum Content<T> {
    Window {
        set: Set<Row<T>>,
        range: Range<usize>,
        sorter: Arc<Sorter<T>>,
    },
    Record(Option<Arc<Row<T>>>),
    /// Of a watched count, which has no records.
    Number(usize),
}

impl<T> Clone for Results<T> {
    fn clone(&self) -> Results<T> {
        let found = match &self.found {
            Content::Window { set, range, sorter } => {
                Content::Window { set: set.clone(), range: range.clone(), sorter: Arc::clone(sorter) }
            }
            Content::Record(row) => Content::Record(row.clone()),
            Content::Number(number) => Content::Number(*number),
        };
        Results { version: self.version, found }
    }
}

impl<T: Record> Results<T> {
    pub(crate) fn of_window(watch: &Watch<T>, set: Set<Row<T>>, version: u64) -> Results<T> {
        let (range, sorter) = (watch.range(&set), Arc::clone(&watch.sorter));
        Results { version, found: Content::Window { set, range, sorter } }
    }

    pub(crate) fn of_record(row: Option<Arc<Row<T>>>, version: u64) -> Results<T> {
        Results { version, found: Content::Record(row) }
    }

    pub(crate) fn of_number(number: u64, version: u64) -> Results<T> {
        Results { version, found: Content::Number(usize::try_from(number).unwrap_or(usize::MAX)) }
    }

    /// The version of the records: the commit that led to them.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch()?;
    /// store.insert(&task(1, None))?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// let update = batch.get(all.id()).expect("it was changed");
    /// assert_eq!(update.results::<Task>()?.version(), update.version());
    /// assert_eq!(update.before::<Task>()?.version(), all.results().version());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The number of records.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.insert(&task(1, None))?;
    /// assert_eq!(store.feed()?.query::<Task>().watch()?.results().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.found {
            Content::Window { range, .. } => range.len(),
            Content::Record(row) => usize::from(row.is_some()),
            Content::Number(number) => *number,
        }
    }

    /// Whether there is none.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// assert!(store.feed()?.query::<Task>().watch()?.results().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn row(&self, at: usize) -> Option<&Arc<Row<T>>> {
        match &self.found {
            Content::Window { set, range, .. } if at < range.len() => {
                set.get(range.start + at).map(|entry| &entry.row)
            }
            Content::Record(row) if at == 0 => row.as_ref(),
            _ => None,
        }
    }

    /// The record at this place, found in logarithmic time.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.insert_all(&[task(1, None), task(2, None), task(3, None)])?;
    /// let feed = store.feed()?;
    /// let last = feed.query::<Task>().order(|task| task.id.descending()).watch()?;
    /// assert_eq!(last.results().get(2), Some(&task(1, None)));
    /// assert_eq!(last.results().get(3), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&T> {
        self.row(at).map(|row| &row.record)
    }

    /// The first record, or the only one.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.insert(&task(7, None))?;
    /// assert_eq!(store.feed()?.watch::<Task>(&7)?.results().first(), Some(&task(7, None)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn first(&self) -> Option<&T> {
        self.get(0)
    }

    /// The record at this place, to keep without the others.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.insert(&task(1, None))?;
    /// let kept = store.feed()?.query::<Task>().watch()?.results().shared(0);
    /// assert_eq!(kept.map(|task| task.id), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn shared(&self, at: usize) -> Option<Shared<T>> {
        self.row(at).map(Shared::new)
    }

    /// The records, in order.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.insert_all(&[task(1, Some(20)), task(2, Some(10))])?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch()?;
    /// assert_eq!(all.results().iter().filter_map(|task| task.due).sum::<i64>(), 30);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn iter(&self) -> Records<'_, T> {
        Records(match &self.found {
            Content::Window { set, range, .. } => Walk::Set(set.iter(range.clone())),
            Content::Record(row) => Walk::One(row.as_ref()),
            Content::Number(_) => Walk::One(None),
        })
    }

    /// The records in a list of the caller's own, which shares them.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.insert_all(&[task(1, None), task(2, None)])?;
    /// let mut tasks = store.feed()?.query::<Task>().watch()?.results().to_vec();
    /// tasks.reverse();
    /// assert_eq!(tasks[0].id, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_vec(&self) -> Vec<Shared<T>> {
        match &self.found {
            Content::Window { set, range, .. } => {
                let mut all = Vec::with_capacity(range.len());
                for leaf in set.leaves(range.clone()) {
                    all.extend(leaf.iter().map(|entry| Shared::new(&entry.row)));
                }
                all
            }
            Content::Record(row) => row.iter().map(Shared::new).collect(),
            Content::Number(_) => Vec::new(),
        }
    }

    /// The steps to these records from older ones of the same subscription, in order: see [`Difference`]. Parts that
    /// both share in memory are skipped.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// use touchstone_store::Difference;
    ///
    /// store.insert(&task(1, None))?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch()?;
    /// store.insert(&task(2, None))?;
    /// store.put(&task(2, Some(20)))?;
    /// store.wait_delivered()?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// let now = batch.get(all.id()).expect("it was changed").results::<Task>()?;
    /// assert!(matches!(&now.diff(all.results())[..], [Difference::Inserted { at: 1, record }] if record.due == Some(20)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn diff(&self, older: &Results<T>) -> Vec<Difference<T>> {
        let mut steps = Vec::new();
        match (&older.found, &self.found) {
            (
                Content::Window { set: old, range: old_range, .. },
                Content::Window { set: new, range: new_range, sorter },
            ) => Set::diff(old, old_range.clone(), new, new_range.clone(), &**sorter, |step| {
                steps.push(Difference::of(step));
            }),
            (old, new) => {
                debug_assert!(!matches!(
                    (old, new),
                    (Content::Window { .. }, _) | (_, Content::Window { .. })
                ));
                let is_same = match (older.row(0), self.row(0)) {
                    (Some(old), Some(new)) => Arc::ptr_eq(old, new),
                    (old, new) => old.is_none() && new.is_none(),
                };
                steps.extend((!is_same).then(|| one_record(older.row(0), self.row(0))).flatten());
            }
        }
        steps
    }
}

fn one_record<T>(old: Option<&Arc<Row<T>>>, new: Option<&Arc<Row<T>>>) -> Option<Difference<T>> {
    match (old, new) {
        (None, None) => None,
        (Some(_), None) => Some(Difference::Removed { at: 0 }),
        (None, Some(row)) => Some(Difference::Inserted { at: 0, record: Shared::new(row) }),
        (Some(_), Some(row)) => Some(Difference::Changed { old_at: 0, at: 0, record: Shared::new(row) }),
    }
}

impl<T: Record + fmt::Debug> fmt::Debug for Results<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

impl<'r, T: Record> IntoIterator for &'r Results<T> {
    type Item = &'r T;
    type IntoIter = Records<'r, T>;

    fn into_iter(self) -> Records<'r, T> {
        self.iter()
    }
}

/// The records of [`Results`], one by one.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// store.insert(&task(1, None))?;
/// let feed = store.feed()?;
/// let all = feed.query::<Task>().watch()?;
/// let mut records = all.results().iter();
/// assert_eq!((records.len(), records.next()), (1, Some(&task(1, None))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Records<'r, T>(Walk<'r, T>);

enum Walk<'r, T> {
    Set(set::Iter<'r, Row<T>>),
    One(Option<&'r Arc<Row<T>>>),
}

impl<'r, T> Iterator for Records<'r, T> {
    type Item = &'r T;

    #[inline]
    fn next(&mut self) -> Option<&'r T> {
        match &mut self.0 {
            Walk::Set(entries) => entries.next().map(|entry| &entry.row.record),
            Walk::One(row) => row.take().map(|row| &row.record),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Walk::Set(entries) => entries.size_hint(),
            Walk::One(row) => (usize::from(row.is_some()), Some(usize::from(row.is_some()))),
        }
    }

    #[inline]
    fn fold<B, F: FnMut(B, &'r T) -> B>(self, init: B, mut fold: F) -> B {
        match self.0 {
            Walk::Set(entries) => {
                entries.fold(init, |folded, entry: &'r Entry<Row<T>>| fold(folded, &entry.row.record))
            }
            Walk::One(row) => row.into_iter().fold(init, |folded, row| fold(folded, &row.record)),
        }
    }
}

impl<T> ExactSizeIterator for Records<'_, T> {}

impl<T> FusedIterator for Records<'_, T> {}

/// One step from older results to newer ones. Removals give places among the older records, all other steps places
/// among the newer ones; both are in order. A record that moved is removed and inserted.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// use touchstone_store::Difference;
///
/// store.insert_all(&[task(1, Some(10)), task(2, Some(20)), task(3, Some(30))])?;
/// let feed = store.feed()?;
/// let mut by_date = feed.query::<Task>().order(|task| task.due.ascending()).watch()?;
/// let mut shown = by_date.take_results().to_vec();
/// store.write(|transaction| {
///     transaction.update::<Task>(&1, |task| task.due = Some(25))?;
///     transaction.update::<Task>(&2, |task| task.title = "rest".into())
/// })?;
/// let batch = feed.next()?.expect("the feed goes on");
/// let diff = batch.get(by_date.id()).expect("it was changed").diff::<Task>()?;
///
/// // Removed records first, from the end: so the other places stay as they are. Then inserted ones, from the beginning.
/// for difference in diff.iter().rev() {
///     if let Difference::Removed { at } | Difference::Changed { old_at: at, .. } = difference {
///         shown.remove(*at);
///     }
/// }
/// for difference in diff {
///     if let Difference::Inserted { at, record } | Difference::Changed { at, record, .. } = difference {
///         shown.insert(at, record);
///     }
/// }
/// assert_eq!(shown.iter().map(|task| task.id).collect::<Vec<_>>(), [2, 1, 3]);
/// assert_eq!(shown[0].title, "rest");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Difference<T> {
    /// The record at this place is gone, or has moved.
    Removed {
        /// Its place among the older records.
        at: usize,
    },
    /// This record is new, or has moved.
    Inserted {
        /// Its place among the newer records.
        at: usize,
        /// The record.
        record: Shared<T>,
    },
    /// The record kept its place in the order, and has other values.
    Changed {
        /// Its place among the older records.
        old_at: usize,
        /// Its place among the newer records.
        at: usize,
        /// The record, as it is now.
        record: Shared<T>,
    },
}

impl<T: Record> Difference<T> {
    fn of(step: set::Step<'_, Row<T>>) -> Difference<T> {
        match step {
            set::Step::Removed { at } => Difference::Removed { at },
            set::Step::Inserted { at, entry } => Difference::Inserted { at, record: Shared::new(&entry.row) },
            set::Step::Changed { old_at, new_at, new, .. } => {
                Difference::Changed { old_at, at: new_at, record: Shared::new(&new.row) }
            }
        }
    }
}
