//! A snapshot: everything as it was committed at one moment, until the snapshot is dropped or expires.

use crate::query::{Query, Reading};
use crate::session::access::{Access, CollectionRef};
use crate::session::leased::Leased;
use crate::store::Store;
use crate::types::error::{Error, Result};
use crate::types::record::{Finds, Record};
use libsqlite3_sys as ffi;
use std::fmt;

/// The store as it was when the snapshot was taken. Get one from [`Store::read`](crate::Store::read) or
/// [`Store::snapshot`](crate::Store::snapshot).
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
/// let snapshot = store.snapshot()?;
/// store.remove::<Task>(&1)?;
/// assert!(snapshot.get::<Task>(&1)?.is_some(), "it sees what was there when it was taken");
/// assert!(store.get::<Task>(&1)?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Snapshot {
    store: Store,
    leased: Option<Box<Leased>>,
    version: Option<Version>,
}

/// The version of the data that a snapshot sees. Two snapshots of one version see the same data.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
/// let version = || store.read(|snapshot| Ok(snapshot.version()));
/// let before = version()?;
/// assert_eq!(before, version()?, "nothing was committed between the two");
/// store.remove::<Task>(&1)?;
/// assert_ne!(before, version()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version(u32);

impl fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Snapshot");
        shown.field("store", &self.store).field("version", &self.version).finish_non_exhaustive()
    }
}

impl Snapshot {
    pub(crate) fn new(store: Store, leased: Box<Leased>) -> Snapshot {
        let version = leased.parked.get().map(|state| Version(state.change()));
        Snapshot { store, leased: Some(leased), version }
    }

    pub(crate) fn leased(&self) -> &Leased {
        self.leased.as_ref().expect("the session is given back only when the snapshot is dropped")
    }

    /// The records of a type.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # #[derive(Record)] struct Task { #[record(key)] id: i64 }
    /// let none = store.read(|snapshot| snapshot.of::<Task>().all())?;
    /// assert!(none.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of<T: Record>(&self) -> Reading<'_, T> {
        Reading(Access::new(self.leased(), CollectionRef::Own))
    }

    /// The records of a type in a collection of that name. A collection that was never written to is empty.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.write(|transaction| {
    ///     let task = Task { id: 1, title: "write".into(), due: None };
    ///     transaction.collection::<Task>("inbox")?.insert(&task)
    /// })?;
    /// let snapshot = store.snapshot()?;
    /// assert_eq!(snapshot.collection::<Task>("inbox")?.count()?, 1);
    /// assert_eq!(snapshot.collection::<Task>("nobody wrote to this one")?.count()?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn collection<T: Record>(&self, name: &str) -> Result<Reading<'_, T>> {
        Ok(Reading(Access::new(self.leased(), self.which(name)?)))
    }

    /// The collection of that name.
    pub(crate) fn which(&self, name: &str) -> Result<CollectionRef> {
        self.leased().in_transaction(|session| {
            Ok(session.collection(name)?.map_or(CollectionRef::Unwritten, CollectionRef::Named))
        })
    }

    /// The record with that key.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let title = store.read(|snapshot| Ok(snapshot.get::<Task>(&2)?.map(|task| task.title)))?;
    /// assert_eq!(title.as_deref(), Some("rest"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, or if a stored value does not fit its field's type.
    pub fn get<T: Record>(&self, key: &(impl Finds<T> + ?Sized)) -> Result<Option<T>> {
        self.of::<T>().get(key)
    }

    /// A query of a type's records.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let due = store.read(|snapshot| snapshot.query::<Task>().filter(|task| task.due.le(20)).all())?;
    /// assert_eq!(due.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query<T: Record>(&self) -> Query<'_, T> {
        self.of::<T>().query()
    }

    /// The version of the data that the snapshot sees; none in the rare case that too many commits came while it began.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let (one, other) = (store.snapshot()?, store.snapshot()?);
    /// assert_eq!(one.version(), other.version());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn version(&self) -> Option<Version> {
        self.version
    }

    /// The connection, for SQL that typed queries cannot express. It reads the same snapshot.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let longest: i64 = store.read(|snapshot| {
    ///     snapshot.sql(|sql| sql.query_row("select max(length(title)) from task", (), |row| row.get(0)))
    /// })?;
    /// assert_eq!(longest, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the snapshot has expired: the log reached `log_bytes_max`; if a statement would end the snapshot
    /// ([`Refused`](crate::ErrorKind::Refused)); or as `query` does.
    pub fn sql<R>(&self, query: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<R>) -> Result<R> {
        let leased = self.leased();
        leased.in_transaction(|session| {
            // The SQL may change the transaction in any way, so the next reader begins a transaction of its own.
            leased.parked.set(None);
            session.forbid_writing()?;
            let _lent = session.connection.lend();
            query(session.connection.sql()).map_err(|error| only_reads(error.into()))
        })
    }
}

/// Corrects the error of SQL that writes on a snapshot: the reason is the snapshot, not the file's permissions.
#[cold]
fn only_reads(error: Error) -> Error {
    if error.sqlite_code() == Some(ffi::SQLITE_READONLY) {
        return error.saying(
            "SQL on a snapshot only reads (write in the closure of `Store::write`, by `Transaction::sql`)",
        );
    }
    error
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if let Some(leased) = self.leased.take() {
            self.store.inner.give_back(leased);
        }
    }
}
