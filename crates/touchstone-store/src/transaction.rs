//! A transaction: all of it is committed, or nothing.

use crate::access::{Access, Which};
use crate::error::{Error, ErrorKind, Result};
use crate::leased::Leased;
use crate::live::capture::{Capture, Mark};
use crate::query::Query;
use crate::record::{Finds, Record, Shape};
use crate::session::Session;
use crate::writing::Writing;
use std::cell::Cell;
use std::fmt;

/// The statements of a savepoint. Its name is one that a program's own SQL cannot use.
pub(crate) const SAVEPOINT: &str = "savepoint touchstone_part";
pub(crate) const RELEASE: &str = "release touchstone_part";
const ROLLBACK: &str = "rollback to touchstone_part; release touchstone_part";

/// A transaction that is under way. Get one from [`Store::write`](crate::Store::write).
///
/// ```
/// # use touchstone_store::{Record, Store};
/// # #[derive(Record, Clone, Debug, PartialEq)]
/// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("tasks.db"))?;
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
    leased: &'s Leased,
    durable: Cell<bool>,
}

impl fmt::Debug for Transaction<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Transaction").field("durable", &self.durable.get()).finish_non_exhaustive()
    }
}

impl<'s> Transaction<'s> {
    pub(crate) fn new(leased: &'s Leased) -> Transaction<'s> {
        Transaction { leased, durable: Cell::new(false) }
    }

    /// The records of a type.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    /// store.write(|transaction| {
    ///     let mut tasks = transaction.of::<Task>();
    ///     tasks.remove(&1)?;
    ///     assert_eq!(tasks.count()?, 1);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of<T: Record>(&mut self) -> Writing<'_, T> {
        Writing::new(Access::new(self.leased, Which::Own))
    }

    /// The records of a type in a collection of that name, made where there is none. Collections share one table: ten
    /// thousand open as quickly as one.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone)]
    /// # struct Task { #[record(key)] id: i64 }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// store.write(|transaction| transaction.collection::<Task>("inbox")?.insert(&Task { id: 1 }))?;
    /// let count = store.read(|snapshot| snapshot.collection::<Task>("inbox")?.count())?;
    /// assert_eq!(count, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn collection<T: Record>(&mut self, name: &str) -> Result<Writing<'_, T>> {
        let number = self.leased.in_transaction(|session| session.writable_collection(name))?;
        Ok(Writing::new(Access::new(self.leased, Which::Named(number))))
    }

    /// Inserts a record.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// store.write(|transaction| transaction.insert(&Task { id: 1, title: "write".into(), due: None }))?;
    /// assert_eq!(store.all::<Task>()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Conflict`](crate::ErrorKind::Conflict) where its key, or its value of a unique index, is there already.
    pub fn insert<T: Record>(&mut self, record: &T) -> Result<()> {
        self.of::<T>().insert(record)
    }

    /// Inserts all the records, or none of them: quicker than one by one.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
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
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    /// store.write(|transaction| transaction.put(&Task { id: 2, title: "sleep".into(), due: None }))?;
    /// assert!(store.get::<Task>(&2)?.is_some_and(|task| task.title == "sleep"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Conflict`](crate::ErrorKind::Conflict) where its value of a unique index is another record's.
    pub fn put<T: Record>(&mut self, record: &T) -> Result<()> {
        self.of::<T>().put(record)
    }

    /// Inserts or replaces all the records, or none of them.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
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

    /// Replaces the record with that key; whether there was one.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
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

    /// Replaces the records with these keys; how many of them there were.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
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

    /// Changes the record with that key; whether there was one.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record)]
    /// # struct Task { #[record(key)] id: i64, done: bool }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// store.insert(&Task { id: 1, done: false })?;
    /// store.write(|transaction| transaction.update::<Task>(&1, |task| task.done = true))?;
    /// assert!(store.get::<Task>(&1)?.is_some_and(|task| task.done));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Transaction::put). A change of the key is refused.
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

    /// Removes the record with that key; whether there was one.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    /// store.write(|transaction| transaction.remove::<Task>(&1))?;
    /// assert_eq!(store.all::<Task>()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn remove<T: Record>(&mut self, key: &(impl Finds<T> + ?Sized)) -> Result<bool> {
        self.of::<T>().remove(key)
    }

    /// The record with that key, as this transaction sees it.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    /// let due = store.write(|transaction| Ok(transaction.get::<Task>(&1)?.and_then(|task| task.due)))?;
    /// assert_eq!(due, Some(20));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be read, or is none of the type's.
    pub fn get<T: Record>(&self, key: &(impl Finds<T> + ?Sized)) -> Result<Option<T>> {
        Access::new(self.leased, Which::Own).get(key)
    }

    /// A query of a type's records, as this transaction sees them.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
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
        Query::new(Access::new(self.leased, Which::Own))
    }

    /// A part that can be undone alone: where `work` fails, nothing of the part stays, and the transaction goes on.
    ///
    /// ```
    /// # use touchstone_store::{Error, ErrorKind, Record, Store};
    /// # #[derive(Record)]
    /// # struct Task { #[record(key)] id: i64 }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
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
        self.leased.call_last(|session| {
            let connection = &session.connection;
            connection.check_process()?;
            if connection.is_idle() {
                return Err(Error::new(ErrorKind::Refused, "the transaction has ended already").into());
            }
            let part = Part::of(session, session.schema(), session.capture.mark());
            connection.sql().execute_batch(SAVEPOINT).map_err(Error::from)?;
            let result = work(self)?;
            connection.check_process()?;
            connection.sql().execute_batch(RELEASE).map_err(Error::from)?;
            part.kept.set(true);
            Ok(result)
        })
    }

    /// Makes the commit wait for a flush of the log: this transaction survives a loss of power, and with it every one
    /// before it. A store of the class [`Process`](crate::Durability::Process) cannot promise it: there the transaction
    /// is refused when it is to be committed.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
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

    /// The records of a table, whichever type says so.
    pub(crate) fn shaped<T: Record>(&mut self, shape: &'static Shape) -> Writing<'_, T> {
        Writing::new(Access::shaped(self.leased, Which::Own, shape))
    }

    pub(crate) fn leased(&self) -> &'s Leased {
        self.leased
    }

    pub(crate) fn is_durable(&self) -> bool {
        self.durable.get()
    }

    /// The connection, for SQL that the types have no words for. It is part of the transaction, and cannot end it: what
    /// would, or would make the file another kind of file, is refused with what to do instead. A savepoint that SQL
    /// leaves open ends with the call, and what was done in it stays; what a pragma sets is as it was after the call. The
    /// connection's rollback hook is the store's.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    /// let changed = store.write(|transaction| {
    ///     transaction.sql(|sql| sql.execute("update task set title = upper(title) where due is null", ()))
    /// })?;
    /// assert_eq!(changed, 1);
    /// assert_eq!(store.get::<Task>(&2)?.map(|task| task.title), Some("REST".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As `work` does; [`Refused`](ErrorKind::Refused) for statements of transactions and the like.
    pub fn sql<R>(&mut self, work: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<R>) -> Result<R> {
        self.leased.in_transaction(|session| {
            let _looks = LooksAgain(session);
            let lent = || {
                let _lent = session.connection.lend();
                work(session.connection.sql())
            };
            Capture::follow(session, lent).map_err(|error| explained(error.into(), session))
        })
    }
}

/// A failure of SQL in a transaction. SQLite tells a transaction that waits for itself as one that waits for others.
#[cold]
fn explained(error: Error, session: &Session) -> Error {
    if error.kind() == ErrorKind::Busy && session.connection.has_attached_itself() {
        let why = "the file is attached to itself under another name, and a write through that name waits for the transaction that it is part of";
        return error.saying(format!("{why} (write to the tables of `main`)"));
    }
    error
}

/// The program's own SQL may have changed tables, also where it failed or panicked.
struct LooksAgain<'s>(&'s Session);

impl Drop for LooksAgain<'_> {
    fn drop(&mut self) {
        self.0.look_again();
    }
}

/// A part of a transaction; it is undone unless it was kept, also where the program panics.
pub(crate) struct Part<'s> {
    session: &'s Session,
    schema: i64,
    mark: Mark,
    kept: Cell<bool>,
}

impl<'s> Part<'s> {
    /// The innermost savepoint, before which the schema was of that version.
    pub(crate) fn of(session: &'s Session, schema: i64, mark: Mark) -> Part<'s> {
        Part { session, schema, mark, kept: Cell::new(false) }
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        let connection = &self.session.connection;
        if self.kept.get() || connection.is_idle() || !connection.is_of_here() {
            return;
        }
        self.session.capture.undo(&self.mark);
        // What cannot be undone in part is undone as a whole: the commit will find the transaction ended.
        if self.session.connection.sql().execute_batch(ROLLBACK).is_err() {
            self.session.connection.end();
        }
        if self.session.schema() == self.schema {
            self.session.forget_undone();
        } else {
            self.session.forget();
        }
    }
}
