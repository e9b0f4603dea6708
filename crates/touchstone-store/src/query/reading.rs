//! One type's records in one collection, as a snapshot or a transaction reads them.

use super::Query;
use crate::session::access::Access;
use crate::types::error::Result;
use crate::types::record::{Finds, Record};

/// One type's records in one collection, to read.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
/// let (count, first) = store.read(|snapshot| {
///     let tasks = snapshot.of::<Task>();
///     Ok((tasks.count()?, tasks.get(&1)?))
/// })?;
/// assert_eq!((count, first.map(|task| task.due)), (2, Some(Some(20))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reading<'s, T>(pub(crate) Access<'s, T>);

impl<'s, T: Record> Reading<'s, T> {
    /// The record with that key.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert!(store.snapshot()?.of::<Task>().get(&2)?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, if a stored value does not fit its field's type, or if the snapshot has expired.
    #[inline]
    pub fn get(&self, key: &(impl Finds<T> + ?Sized)) -> Result<Option<T>> {
        self.0.get(key)
    }

    /// Every record.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert_eq!(store.snapshot()?.of::<Task>().all()?.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`get`](Reading::get).
    pub fn all(&self) -> Result<Vec<T>> {
        match self.0.all_by_pages()? {
            Some(all) => Ok(all),
            None => self.query().all(),
        }
    }

    /// How many records there are.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert_eq!(store.snapshot()?.of::<Task>().count()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`get`](Reading::get).
    pub fn count(&self) -> Result<u64> {
        self.0.count()
    }

    /// Calls `visit` with a borrowed view of every record, until it returns `false`. No record is copied.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # #[derive(Record)] struct Note { #[record(key)] id: i64, text: String }
    /// store.insert_all(&[Note { id: 1, text: "one".into() }, Note { id: 2, text: "two".into() }])?;
    /// let mut bytes = 0;
    /// store.read(|snapshot| {
    ///     snapshot.of::<Note>().each_view(|note| {
    ///         bytes += note.text.len();
    ///         Ok(true)
    ///     })
    /// })?;
    /// assert_eq!(bytes, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`get`](Reading::get), and as `visit` does.
    pub fn each_view(&self, visit: impl FnMut(T::View<'_>) -> Result<bool>) -> Result<()> {
        self.0.each_view(visit)
    }

    /// A query of the records.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let snapshot = store.snapshot()?;
    /// let tasks = snapshot.of::<Task>();
    /// assert_eq!(tasks.query().filter(|task| task.title.eq("rest")).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query(&self) -> Query<'s, T> {
        Query::new(self.0)
    }
}
