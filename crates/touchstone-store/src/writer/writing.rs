//! One type's records in one collection, as a transaction reaches them.

use crate::query::sql::Sql;
use crate::query::{Condition, Query, Reading};
use crate::session::access::{Access, CollectionRef};
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::record::{Finds, Record, Shape};
use crate::writer::records::RecordWriter;
use crate::writer::session::WriteSession;
use std::marker::PhantomData;

/// One type's records in one collection, to read and write.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// store.write(|transaction| {
///     let mut tasks = transaction.of::<Task>();
///     tasks.insert(&Task { id: 1, title: "write".into(), due: None })?;
///     tasks.update(&1, |task| task.due = Some(20))?;
///     assert_eq!(tasks.count()?, 1);
///     Ok(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writing<'t, T> {
    reading: Reading<'t, T>,
    writer: &'t WriteSession,
    /// While a program writes the records, it cannot read the transaction elsewhere.
    transaction: PhantomData<&'t mut ()>,
}

impl<'t, T: Record> Writing<'t, T> {
    pub(crate) fn new(
        writer: &'t WriteSession,
        which: CollectionRef,
        shape: &'static Shape,
    ) -> Writing<'t, T> {
        let reading = Reading(Access::shaped(&writer.session, which, shape));
        Writing { reading, writer, transaction: PhantomData }
    }
}

impl<T: Record> Writing<'_, T> {
    /// The records, for code that only reads.
    ///
    /// ```
    /// # use touchstone_store::{Reading, Record, Result};
    /// # #[derive(Record)]
    /// # struct Task { #[record(key)] id: i64 }
    /// fn is_empty(tasks: &Reading<'_, Task>) -> Result<bool> {
    ///     Ok(tasks.count()? == 0)
    /// }
    ///
    /// # let (directory, store) = touchstone_store_example::store()?;
    /// assert!(store.write(|transaction| is_empty(transaction.of::<Task>().reading()))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn reading(&self) -> &Reading<'_, T> {
        &self.reading
    }

    fn records(&self) -> RecordWriter<'_, T> {
        RecordWriter { writer: self.writer, access: self.reading.0 }
    }

    /// The record with that key, as this transaction sees it.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// store.write(|transaction| {
    ///     assert!(transaction.of::<Task>().get(&2)?.is_some());
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, or if a stored value does not fit its field's type.
    pub fn get(&self, key: &(impl Finds<T> + ?Sized)) -> Result<Option<T>> {
        self.reading.get(key)
    }

    /// Every record.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let tasks = store.write(|transaction| transaction.of::<Task>().all())?;
    /// assert_eq!(tasks.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`get`](Writing::get).
    pub fn all(&self) -> Result<Vec<T>> {
        self.reading.all()
    }

    /// How many records there are.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert_eq!(store.write(|transaction| transaction.of::<Task>().count())?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`get`](Writing::get).
    pub fn count(&self) -> Result<u64> {
        self.reading.count()
    }

    /// Calls `visit` with a borrowed view of every record, until it returns `false`. No record is copied.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let mut letters = 0;
    /// store.write(|transaction| {
    ///     transaction.of::<Task>().each_view(|task| {
    ///         letters += task.title.len();
    ///         Ok(true)
    ///     })
    /// })?;
    /// assert_eq!(letters, 9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`get`](Writing::get), and as `visit` does.
    pub fn each_view(&self, visit: impl FnMut(T::View<'_>) -> Result<bool>) -> Result<()> {
        self.reading.each_view(visit)
    }

    /// A query of the records. A program cannot write while it iterates over the query's rows: it collects them first.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # #[derive(Record)] struct Task { #[record(key)] id: i64, due: Option<i64> }
    /// # store.insert_all(&[Task { id: 1, due: Some(20) }, Task { id: 2, due: None }])?;
    /// store.write(|transaction| {
    ///     let mut tasks = transaction.of::<Task>();
    ///     for task in tasks.query().filter(|task| task.due.is_null()).all()? {
    ///         tasks.remove(&task.id)?;
    ///     }
    ///     Ok(())
    /// })?;
    /// assert_eq!(store.all::<Task>()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// This does not compile:
    ///
    /// ```compile_fail,E0502
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record)]
    /// # struct Task { #[record(key)] id: i64 }
    /// # let store = Store::open("tasks.db")?;
    /// store.write(|transaction| {
    ///     let mut tasks = transaction.of::<Task>();
    ///     for task in tasks.query().rows()? {
    ///         tasks.remove(&task?.id)?;
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), touchstone_store::Error>(())
    /// ```
    pub fn query(&self) -> Query<'_, T> {
        self.reading.query()
    }

    /// Inserts a record.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.write(|transaction| {
    ///     transaction.of::<Task>().insert(&Task { id: 1, title: "write".into(), due: None })
    /// })?;
    /// assert_eq!(store.all::<Task>()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the key or a unique value belongs to another record ([`Conflict`](crate::ErrorKind::Conflict)).
    pub fn insert(&mut self, record: &T) -> Result<()> {
        self.records().insert(record)
    }

    /// Inserts all the records, or none of them; returns how many. It costs less than single inserts.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let tasks: Vec<Task> = (0..100).map(|id| Task { id, title: format!("task {id}"), due: None }).collect();
    /// let inserted = store.write(|transaction| transaction.collection::<Task>("inbox")?.insert_all(&tasks))?;
    /// assert_eq!(inserted, 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`insert`](Writing::insert).
    pub fn insert_all<'r>(&mut self, records: impl IntoIterator<Item = &'r T>) -> Result<u64> {
        self.records().insert_all(records)
    }

    /// Inserts a record, or replaces the one with its key. Columns of the file that the type does not know stay.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// store.write(|transaction| {
    ///     transaction.of::<Task>().put(&Task { id: 2, title: "sleep".into(), due: None })
    /// })?;
    /// assert!(store.get::<Task>(&2)?.is_some_and(|task| task.title == "sleep"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a unique value belongs to another record ([`Conflict`](crate::ErrorKind::Conflict)).
    pub fn put(&mut self, record: &T) -> Result<()> {
        self.records().put(record)
    }

    /// Inserts or replaces all the records, or none of them; returns how many were given.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let task = |id| Task { id, title: format!("task {id}"), due: None };
    /// let written = store.write(|transaction| transaction.of::<Task>().put_all(&[task(2), task(3)]))?;
    /// assert_eq!((written, store.all::<Task>()?.len()), (2, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Writing::put).
    pub fn put_all<'r>(&mut self, records: impl IntoIterator<Item = &'r T>) -> Result<u64> {
        self.records().put_all(records)
    }

    /// Replaces the record with that key; returns whether there was one. Columns that the type does not know stay.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let there = store.write(|transaction| {
    ///     transaction.of::<Task>().replace(&Task { id: 2, title: "sleep".into(), due: None })
    /// })?;
    /// assert!(there);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Writing::put).
    pub fn replace(&mut self, record: &T) -> Result<bool> {
        self.records().replace(record)
    }

    /// Replaces the records with these keys; returns how many of them there were.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let task = |id| Task { id, title: format!("task {id}"), due: None };
    /// let replaced = store.write(|transaction| transaction.of::<Task>().replace_all(&[task(2), task(3)]))?;
    /// assert_eq!((replaced, store.all::<Task>()?.len()), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Writing::put).
    pub fn replace_all<'r>(&mut self, records: impl IntoIterator<Item = &'r T>) -> Result<u64> {
        self.records().replace_all(records)
    }

    /// Changes the record with that key; returns whether there was one.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// use touchstone_store::ErrorKind;
    ///
    /// store.write(|transaction| transaction.of::<Task>().update(&1, |task| task.due = None))?;
    /// let moved = store.write(|transaction| transaction.of::<Task>().update(&1, |task| task.id = 9));
    /// assert_eq!(moved.map_err(|error| error.kind()), Err(ErrorKind::Invalid));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Writing::put); if the key was changed ([`Invalid`](crate::ErrorKind::Invalid)).
    pub fn update(&mut self, key: &(impl Finds<T> + ?Sized), change: impl FnOnce(&mut T)) -> Result<bool>
    where
        T::Key: PartialEq,
    {
        let Some(mut record) = self.reading.get(key)? else { return Ok(false) };
        let before = record.key();
        change(&mut record);
        if record.key() != before {
            let message = format!(
                "the key of a record of `{}` was changed: remove it and insert another",
                self.reading.0.shape.name
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        self.replace(&record)?;
        Ok(true)
    }

    /// Removes the record with that key; returns whether there was one.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert!(store.write(|transaction| transaction.of::<Task>().remove(&1))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn remove(&mut self, key: &(impl Finds<T> + ?Sized)) -> Result<bool> {
        self.records().remove(key)
    }

    /// Removes the records for which the condition is true; returns how many.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let removed = store.write(|transaction| transaction.of::<Task>().remove_where(|task| task.due.lt(30)))?;
    /// assert_eq!(removed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be written, or if the condition is for another type, as is possible with run-time types.
    pub fn remove_where(&mut self, condition: impl FnOnce(T::Columns) -> Condition<T>) -> Result<u64> {
        let access = self.reading.0;
        self.writer.in_transaction(|call| {
            let table = access.table(call.session)?;
            let condition = condition(T::COLUMNS).about(access.shape);
            let node = condition.node()?;
            if !table.exists() {
                return Ok(0);
            }
            let sql = Sql::delete(&table, node);
            call.session.query(&sql.text, &sql.parameters, |statement| {
                call.capture.follow(call.session, || statement.run())
            })
        })
    }

    /// Removes every record; returns how many there were.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert_eq!(store.write(|transaction| transaction.of::<Task>().clear())?, 2);
    /// assert!(store.all::<Task>()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn clear(&mut self) -> Result<u64> {
        self.records().clear()
    }
}
