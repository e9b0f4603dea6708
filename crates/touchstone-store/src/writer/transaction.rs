//! A transaction: all of it is committed, or nothing.

use crate::live::capture::Mark;
use crate::query::Query;
use crate::session::Session;
use crate::session::access::{Access, CollectionRef};
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::record::{Finds, Record, Shape};
use crate::writer::session::{WriteCall, WriteSession};
use crate::writer::writing::Writing;
use std::cell::Cell;
use std::fmt;

/// The statements of a savepoint. Its name is one that a program's own SQL cannot use.
pub(crate) const SAVEPOINT: &str = "savepoint touchstone_part";
pub(crate) const RELEASE: &str = "release touchstone_part";
const ROLLBACK: &str = "rollback to touchstone_part; release touchstone_part";

/// A transaction that is under way. Get one from [`Store::write`](crate::Store::write).
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// store.write(|transaction| {
///     transaction.insert(&Task { id: 1, title: "write".into(), due: None })?;
///     // It sees what it has written itself; others do so once it is committed.
///     assert!(transaction.get::<Task>(&1)?.is_some());
///     assert!(store.get::<Task>(&1)?.is_none());
///     Ok(())
/// })?;
/// assert!(store.get::<Task>(&1)?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Transaction<'s> {
    writer: &'s WriteSession,
    durable: Cell<bool>,
}

impl fmt::Debug for Transaction<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Transaction").field("durable", &self.durable.get()).finish_non_exhaustive()
    }
}

impl<'s> Transaction<'s> {
    pub(crate) fn new(writer: &'s WriteSession) -> Transaction<'s> {
        Transaction { writer, durable: Cell::new(false) }
    }

    /// The records of a type.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// store.write(|transaction| {
    ///     let mut tasks = transaction.of::<Task>();
    ///     tasks.remove(&1)?;
    ///     assert_eq!(tasks.count()?, 1);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of<T: Record>(&mut self) -> Writing<'_, T> {
        self.shaped(T::SHAPE)
    }

    /// The records of a type in a collection of that name, which is made if there is none. Collections share one table:
    /// ten thousand open as quickly as one.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # #[derive(Record, Clone)] struct Task { #[record(key)] id: i64 }
    /// store.write(|transaction| transaction.collection::<Task>("inbox")?.insert(&Task { id: 1 }))?;
    /// let count = store.read(|snapshot| snapshot.collection::<Task>("inbox")?.count())?;
    /// assert_eq!(count, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn collection<T: Record>(&mut self, name: &str) -> Result<Writing<'_, T>> {
        self.shaped_collection(T::SHAPE, name)
    }

    /// Inserts a record.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.write(|transaction| transaction.insert(&Task { id: 1, title: "write".into(), due: None }))?;
    /// assert_eq!(store.all::<Task>()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the key or a unique value belongs to another record ([`Conflict`](crate::ErrorKind::Conflict)).
    pub fn insert<T: Record>(&mut self, record: &T) -> Result<()> {
        self.of::<T>().insert(record)
    }

    /// Inserts all the records, or none of them. It is quicker than single inserts.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let tasks: Vec<Task> = (0..100).map(|id| Task { id, title: format!("task {id}"), due: None }).collect();
    /// assert_eq!(store.write(|transaction| transaction.insert_all(&tasks))?, 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`insert`](Transaction::insert).
    pub fn insert_all<'r, T: Record>(&mut self, records: impl IntoIterator<Item = &'r T>) -> Result<u64> {
        self.of::<T>().insert_all(records)
    }

    /// Inserts a record, or replaces the one with its key.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// store.write(|transaction| transaction.put(&Task { id: 2, title: "sleep".into(), due: None }))?;
    /// assert!(store.get::<Task>(&2)?.is_some_and(|task| task.title == "sleep"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a unique value belongs to another record ([`Conflict`](crate::ErrorKind::Conflict)).
    pub fn put<T: Record>(&mut self, record: &T) -> Result<()> {
        self.of::<T>().put(record)
    }

    /// Inserts or replaces all the records, or none of them.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let task = |id| Task { id, title: format!("task {id}"), due: None };
    /// assert_eq!(store.write(|transaction| transaction.put_all(&[task(2), task(3)]))?, 2);
    /// assert_eq!(store.all::<Task>()?.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Transaction::put).
    pub fn put_all<'r, T: Record>(&mut self, records: impl IntoIterator<Item = &'r T>) -> Result<u64> {
        self.of::<T>().put_all(records)
    }

    /// Replaces the record with that key; returns whether there was one.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let there = store.write(|transaction| {
    ///     transaction.replace(&Task { id: 3, title: "sleep".into(), due: None })
    /// })?;
    /// assert!(!there);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Transaction::put).
    pub fn replace<T: Record>(&mut self, record: &T) -> Result<bool> {
        self.of::<T>().replace(record)
    }

    /// Replaces the records with these keys; returns how many of them there were.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let task = |id| Task { id, title: format!("task {id}"), due: None };
    /// assert_eq!(store.write(|transaction| transaction.replace_all(&[task(2), task(3)]))?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Transaction::put).
    pub fn replace_all<'r, T: Record>(&mut self, records: impl IntoIterator<Item = &'r T>) -> Result<u64> {
        self.of::<T>().replace_all(records)
    }

    /// Changes the record with that key; returns whether there was one.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # #[derive(Record)] struct Task { #[record(key)] id: i64, done: bool }
    /// store.insert(&Task { id: 1, done: false })?;
    /// store.write(|transaction| transaction.update::<Task>(&1, |task| task.done = true))?;
    /// assert!(store.get::<Task>(&1)?.is_some_and(|task| task.done));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Transaction::put); if the key was changed ([`Invalid`](crate::ErrorKind::Invalid)).
    pub fn update<T: Record>(
        &mut self,
        key: &(impl Finds<T> + ?Sized),
        change: impl FnOnce(&mut T),
    ) -> Result<bool>
    where
        T::Key: PartialEq,
    {
        self.of::<T>().update(key, change)
    }

    /// Removes the record with that key; returns whether there was one.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// store.write(|transaction| transaction.remove::<Task>(&1))?;
    /// assert_eq!(store.all::<Task>()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn remove<T: Record>(&mut self, key: &(impl Finds<T> + ?Sized)) -> Result<bool> {
        self.of::<T>().remove(key)
    }

    /// The record with that key, as this transaction sees it.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let due = store.write(|transaction| Ok(transaction.get::<Task>(&1)?.and_then(|task| task.due)))?;
    /// assert_eq!(due, Some(20));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, or if a stored value does not fit its field's type.
    pub fn get<T: Record>(&self, key: &(impl Finds<T> + ?Sized)) -> Result<Option<T>> {
        Access::new(&self.writer.session, CollectionRef::Own).get(key)
    }

    /// A query of a type's records, as this transaction sees them.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let late = store.write(|transaction| {
    ///     let late = transaction.query::<Task>().filter(|task| task.due.lt(30)).all()?;
    ///     for task in &late {
    ///         transaction.update::<Task>(&task.id, |task| task.due = Some(30))?;
    ///     }
    ///     Ok(late.len())
    /// })?;
    /// assert_eq!(late, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query<T: Record>(&self) -> Query<'_, T> {
        Query::new(Access::new(&self.writer.session, CollectionRef::Own))
    }

    /// Runs a part that can be undone alone: if `work` fails, nothing of the part stays, and the transaction goes on.
    ///
    /// ```
    /// # use touchstone_store::{Error, ErrorKind, Record};
    /// # #[derive(Record)]
    /// # struct Task { #[record(key)] id: i64 }
    /// # let (directory, store) = touchstone_store_example::store()?;
    /// store.write(|transaction| {
    ///     transaction.insert(&Task { id: 1 })?;
    ///     let part: Result<(), Error> = transaction.savepoint(|transaction| {
    ///         transaction.insert(&Task { id: 2 })?;
    ///         Err(Error::new(ErrorKind::Invalid, "never mind"))
    ///     });
    ///     assert!(part.is_err());
    ///     Ok(())
    /// })?;
    /// assert!(store.get::<Task>(&1)?.is_some());
    /// assert!(store.get::<Task>(&2)?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As `work` does.
    pub fn savepoint<R, E: From<Error>>(
        &mut self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        let call = self.writer.in_commit();
        let connection = &call.session.connection;
        connection.check_process()?;
        if connection.is_idle() {
            return Err(Error::new(ErrorKind::Refused, "the transaction has ended already").into());
        }
        let part = TransactionPart::of(call, call.session.schema(), call.capture.mark());
        connection.sql().execute_batch(SAVEPOINT).map_err(Error::from)?;
        let result = work(self)?;
        connection.check_process()?;
        connection.sql().execute_batch(RELEASE).map_err(Error::from)?;
        part.kept.set(true);
        Ok(result)
    }

    /// Makes the commit wait for a flush of the log: this transaction and every one before it survive a loss of power.
    /// A store of the class [`Process`](crate::Durability::Process) cannot promise that, and refuses the transaction
    /// when it is to be committed.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.insert(&Task { id: 1, title: "may be lost with the power".into(), due: None })?;
    /// store.write(|transaction| {
    ///     transaction.durable();
    ///     transaction.insert(&Task { id: 2, title: "must not be".into(), due: None })
    /// })?;
    /// // Now neither is lost.
    /// assert_eq!(store.flushes(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn durable(&mut self) {
        self.durable.set(true);
    }

    /// The records of the table with that shape.
    pub(crate) fn shaped<T: Record>(&mut self, shape: &'static Shape) -> Writing<'_, T> {
        Writing::new(self.writer, CollectionRef::Own, shape)
    }

    /// The records of the table with that shape in a collection of that name, which is made if there is none.
    ///
    /// # Errors
    /// As for [`collection`](Transaction::collection).
    pub(crate) fn shaped_collection<T: Record>(
        &mut self,
        shape: &'static Shape,
        name: &str,
    ) -> Result<Writing<'_, T>> {
        let number = self.writer.in_transaction(|call| call.writable_collection(name))?;
        Ok(Writing::new(self.writer, CollectionRef::Named(number), shape))
    }

    pub(crate) fn writer(&self) -> &'s WriteSession {
        self.writer
    }

    pub(crate) fn is_durable(&self) -> bool {
        self.durable.get()
    }

    /// The connection, for SQL that typed queries cannot express. It is part of the transaction and cannot end it: a
    /// statement that would end it, or would make the file another kind of file, is refused, and the error names a
    /// remedy. A savepoint that SQL leaves open ends with the call, and its changes stay; settings that a pragma
    /// changes are restored after the call. The connection's rollback hook belongs to the store.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let changed = store.write(|transaction| {
    ///     transaction.sql(|sql| sql.execute("update task set title = upper(title) where due is null", ()))
    /// })?;
    /// assert_eq!(changed, 1);
    /// assert_eq!(store.get::<Task>(&2)?.map(|task| task.title), Some("REST".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As `work` does; if a statement would end the transaction or change the kind of file
    /// ([`Refused`](ErrorKind::Refused)).
    pub fn sql<R>(&mut self, work: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<R>) -> Result<R> {
        self.writer.in_transaction(|call| {
            let session = call.session;
            let _looks = LooksAgain(call);
            let lent = || {
                let _lent = session.connection.lend();
                work(session.connection.sql())
            };
            call.capture.follow(session, lent).map_err(|error| explained(error.into(), session))
        })
    }
}

/// Corrects the error of SQL in a transaction that waits for itself: SQLite reports it as waiting for another one.
#[cold]
fn explained(error: Error, session: &Session) -> Error {
    if error.kind() == ErrorKind::Busy && session.connection.has_attached_itself() {
        let why = "the file is attached to itself under another name, and a write through that name waits for the transaction that it is part of";
        return error.saying(format!("{why} (write to the tables of `main`)"));
    }
    error
}

/// Checks the schema again when dropped: the program's SQL may have changed tables, even if it failed or panicked.
struct LooksAgain<'s>(WriteCall<'s>);

impl Drop for LooksAgain<'_> {
    fn drop(&mut self) {
        self.0.look_again();
    }
}

/// A part of a transaction; it is undone unless it was kept, even if the program panics.
pub(crate) struct TransactionPart<'s> {
    call: WriteCall<'s>,
    schema: i64,
    mark: Mark,
    kept: Cell<bool>,
}

impl<'s> TransactionPart<'s> {
    /// The innermost savepoint; the schema had that version before it.
    pub(crate) fn of(call: WriteCall<'s>, schema: i64, mark: Mark) -> TransactionPart<'s> {
        TransactionPart { call, schema, mark, kept: Cell::new(false) }
    }
}

impl Drop for TransactionPart<'_> {
    fn drop(&mut self) {
        let connection = &self.call.session.connection;
        if self.kept.get() || connection.is_idle() || !connection.is_of_here() {
            return;
        }
        // If the part cannot be undone alone, the whole transaction is undone, and the commit finds it ended.
        if connection.sql().execute_batch(ROLLBACK).is_err() {
            connection.end();
        }
        if self.call.session.schema() == self.schema {
            self.call.forget_undone();
        } else {
            self.call.forget();
        }
        // Last, because this frees records: their own code may panic.
        self.call.capture.undo(&self.mark);
    }
}
