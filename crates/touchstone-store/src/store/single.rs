//! Calls that are transactions of their own, for one type's records: one statement if the table is ready for it.

use super::{Inner, Store};
use crate::session::access::{Access, CollectionRef};
use crate::session::leased::Leased;
use crate::types::error::Result;
use crate::types::record::{Finds, Record, Shape};
use crate::writer::records;

impl Store {
    /// Inserts a record, in a transaction of its own.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// use touchstone_store::ErrorKind;
    ///
    /// let task = Task { id: 1, title: "write".into(), due: None };
    /// store.insert(&task)?;
    /// let error = store.insert(&task).expect_err("the key is there already");
    /// assert_eq!(error.kind(), ErrorKind::Conflict);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`write`](Store::write); if the key or a unique value belongs to another record
    /// ([`Conflict`](crate::ErrorKind::Conflict)).
    pub fn insert<T: Record>(&self, record: &T) -> Result<()> {
        self.insert_shaped(T::SHAPE, record)
    }

    pub(crate) fn insert_shaped<T: Record>(&self, shape: &'static Shape, record: &T) -> Result<()> {
        self.inner.writes.alone::<T, _>(
            shape,
            |call, table| records::insert(call, table, record),
            |transaction| transaction.shaped(shape).insert(record),
            |error| records::name_record(shape, error, record),
        )
    }

    /// Inserts all the records, or none of them.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let tasks: Vec<Task> = (0..100).map(|id| Task { id, title: format!("task {id}"), due: None }).collect();
    /// assert_eq!(store.insert_all(&tasks)?, 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`insert`](Store::insert).
    pub fn insert_all<'r, T: Record>(&self, records: impl IntoIterator<Item = &'r T>) -> Result<u64> {
        self.write(|transaction| transaction.insert_all(records))
    }

    /// Inserts a record, or replaces the one with its key, in a transaction of its own.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.put(&Task { id: 1, title: "write".into(), due: None })?;
    /// store.put(&Task { id: 1, title: "write well".into(), due: None })?;
    /// assert_eq!(store.get::<Task>(&1)?.map(|task| task.title), Some("write well".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`write`](Store::write); if a unique value belongs to another record
    /// ([`Conflict`](crate::ErrorKind::Conflict)).
    pub fn put<T: Record>(&self, record: &T) -> Result<()> {
        self.put_shaped(T::SHAPE, record)
    }

    pub(crate) fn put_shaped<T: Record>(&self, shape: &'static Shape, record: &T) -> Result<()> {
        self.inner.writes.alone::<T, _>(
            shape,
            |call, table| records::put(call, table, record),
            |transaction| transaction.shaped(shape).put(record),
            |error| records::name_record(shape, error, record),
        )
    }

    /// Inserts or replaces all the records, or none of them.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let task = |id| Task { id, title: format!("task {id}"), due: None };
    /// store.put_all(&[task(1), task(2)])?;
    /// store.put_all(&[task(2), task(3)])?;
    /// assert_eq!(store.all::<Task>()?.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Store::put).
    pub fn put_all<'r, T: Record>(&self, records: impl IntoIterator<Item = &'r T>) -> Result<u64> {
        self.write(|transaction| transaction.put_all(records))
    }

    /// Replaces the record with that key, in a transaction of its own; returns whether there was one.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let task = Task { id: 1, title: "write".into(), due: None };
    /// assert!(!store.replace(&task)?, "there is none to replace");
    /// store.insert(&task)?;
    /// assert!(store.replace(&Task { due: Some(20), ..task })?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Store::put).
    pub fn replace<T: Record>(&self, record: &T) -> Result<bool> {
        self.replace_shaped(T::SHAPE, record)
    }

    pub(crate) fn replace_shaped<T: Record>(&self, shape: &'static Shape, record: &T) -> Result<bool> {
        self.inner.writes.alone::<T, _>(
            shape,
            |call, table| records::replace(call, table, record),
            |transaction| transaction.shaped(shape).replace(record),
            |error| records::name_record(shape, error, record),
        )
    }

    /// Removes the record with that key, in a transaction of its own; returns whether there was one.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert!(store.remove::<Task>(&1)?);
    /// assert!(!store.remove::<Task>(&1)?, "it is gone already");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`write`](Store::write).
    pub fn remove<T: Record>(&self, key: &(impl Finds<T> + ?Sized)) -> Result<bool> {
        self.remove_shaped(T::SHAPE, key)
    }

    pub(crate) fn remove_shaped<T: Record>(
        &self,
        shape: &'static Shape,
        key: &(impl Finds<T> + ?Sized),
    ) -> Result<bool> {
        self.inner.writes.alone::<T, _>(
            shape,
            |call, table| records::remove::<T, _>(call, table, key),
            |transaction| transaction.shaped::<T>(shape).remove(key),
            |error| error,
        )
    }

    /// The record with that key, as it is committed now.
    ///
    /// ```
    /// #[derive(touchstone_store::Record)]
    /// struct Page {
    ///     #[record(key)]
    ///     book: String,
    ///     #[record(key)]
    ///     number: u32,
    ///     text: String,
    /// }
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let store = touchstone_store::Store::open(directory.path().join("books.db"))?;
    /// store.insert(&Page { book: "Emma".into(), number: 1, text: "Emma Woodhouse, handsome".into() })?;
    /// let page = store.get::<Page>(&("Emma".to_owned(), 1))?;
    /// assert!(page.is_some_and(|page| page.text.starts_with("Emma")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, or if a stored value does not fit its field's type.
    #[inline]
    pub fn get<T: Record>(&self, key: &(impl Finds<T> + ?Sized)) -> Result<Option<T>> {
        self.get_shaped(T::SHAPE, key)
    }

    #[inline]
    pub(crate) fn get_shaped<T: Record>(
        &self,
        shape: &'static Shape,
        key: &(impl Finds<T> + ?Sized),
    ) -> Result<Option<T>> {
        let lent = LentSession { inner: &self.inner, leased: Some(self.inner.readers.take()?) };
        lent.leased
            .as_ref()
            .map_or(Ok(None), |leased| Access::shaped(leased, CollectionRef::Own, shape).get(key))
    }

    /// Every record of a type, as they are committed now.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert_eq!(store.all::<Task>()?.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`get`](Store::get).
    pub fn all<T: Record>(&self) -> Result<Vec<T>> {
        self.read(|snapshot| snapshot.of::<T>().all())
    }
}

/// A session that is given back even if a field's own code panics.
struct LentSession<'s> {
    inner: &'s Inner,
    leased: Option<Box<Leased>>,
}

impl Drop for LentSession<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(leased) = self.leased.take() {
            self.inner.give_back(leased);
        }
    }
}
