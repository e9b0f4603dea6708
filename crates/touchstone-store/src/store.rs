//! A store: the file, its write path, and its readers.

pub(crate) mod begun;
pub(crate) mod snapshot;

use crate::engine::pin::Pin;
use crate::live::feed::{Feed, Mode};
#[cfg(test)]
use crate::session::keeper::Keeper;
use crate::session::keeper_wakeup::KeeperWakeup;
use crate::session::leased::Leased;
use crate::session::opening;
use crate::session::readers::{Hold, KeeperWatch, Readers};
use crate::store::snapshot::Snapshot;
use crate::types::error::{Error, Result};
use crate::types::options::{Durability, Options};
use crate::writer::commit::WritePath;
use crate::writer::transaction::Transaction;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod single;

/// An open store. Clones share it; it is closed with the last.
///
/// ```
/// use touchstone_store::{Record, Store};
///
/// #[derive(Record, Clone, Debug, PartialEq)]
/// struct Task {
///     #[record(key)]
///     id: i64,
///     title: String,
///     #[record(index)]
///     due: Option<i64>,
/// }
///
/// # let directory = tempfile::tempdir()?;
/// let store = Store::open(directory.path().join("tasks.db"))?;
/// let task = Task { id: 1, title: "write".into(), due: Some(20) };
/// store.insert(&task)?;
/// assert_eq!(store.get::<Task>(&1)?, Some(task));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

impl fmt::Debug for Store {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Store").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

/// The state that all clones of a store share.
pub(crate) struct Inner {
    path: PathBuf,
    options: Options,
    readers: Arc<Readers>,
    /// The write path. Its threads are stopped before the connections that they use are closed.
    writes: WritePath,
    /// Holds the file; its connection is closed last.
    pin: Arc<Pin>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if !self.pin.origin().is_here() {
            // The child of a fork has none of the threads, and closes none of the connections. It does not even look at
            // them: a thread of the parent may have been using one.
            self.writes.forget();
            std::mem::forget(Arc::clone(&self.readers));
            return;
        }
        self.writes.stop();
    }
}

impl Store {
    /// Opens the store in that file with the default [`Options`]. The file is made if there is none.
    ///
    /// ```
    /// use touchstone_store::Store;
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// let store = Store::open(&path)?;
    /// assert_eq!(store.path(), path);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be opened or made, is no store, is of a newer version, or is encrypted; if a store of the
    /// class [`Process`](Durability::Process) has the file open ([`Durability`](crate::ErrorKind::Durability)).
    pub fn open(path: impl AsRef<Path>) -> Result<Store> {
        Options::new().open(path)
    }

    pub(crate) fn open_with(path: &Path, options: Options) -> Result<Store> {
        let path = opening::absolute(path)?;
        let (options, pin, connection) = opening::open(&path, options)?;
        let wakeup = Arc::<KeeperWakeup>::default();
        let readers = Arc::new(Readers::new(&pin, &options, Arc::clone(&wakeup), connection));
        let writes = WritePath::new(&path, &options, &pin, &readers, wakeup);
        let inner = Inner { path, options, readers, writes, pin };
        Ok(Store { inner: Arc::new(inner) })
    }

    /// Reads: `work` sees everything as it was committed at one moment. It is for work that only reads. For work that
    /// waits, hold a [`snapshot`](Store::snapshot) instead, which the store watches from its beginning.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let (all, due) = store.read(|snapshot| {
    ///     let all = snapshot.of::<Task>().count()?;
    ///     let due = snapshot.query::<Task>().filter(|task| task.due.is_not_null()).count()?;
    ///     Ok((all, due))
    /// })?;
    /// assert_eq!((all, due), (2, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, or as `work` does.
    pub fn read<R>(&self, work: impl FnOnce(&Snapshot) -> Result<R>) -> Result<R> {
        work(&Snapshot::new(self.clone(), self.inner.hold(Hold::Closure)?))
    }

    /// A snapshot to hold. If it is held for long, the log cannot restart and grows, until the snapshot expires (see
    /// [`Options::log_bytes_max`]). While one is held, a thread of the store looks at the log four times a second.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let before = store.snapshot()?;
    /// store.insert(&Task { id: 1, title: "write".into(), due: None })?;
    /// assert_eq!(before.of::<Task>().count()?, 0);
    /// assert_eq!(store.snapshot()?.of::<Task>().count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read; if the file or its log was deleted, renamed or replaced
    /// ([`Replaced`](crate::ErrorKind::Replaced)); if the process that opened the store has forked and this is the child
    /// ([`Forked`](crate::ErrorKind::Forked)).
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.inner.hold(Hold::Long).map(|leased| Snapshot::new(self.clone(), leased))
    }

    /// Writes: all changes of `work` are committed as one when it returns, and none if it fails or panics. One
    /// transaction is under way at a time; the others wait, first come first served.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # #[derive(Record)] struct Account { #[record(key)] id: i64, balance: i64 }
    /// store.insert_all(&[Account { id: 1, balance: 10 }, Account { id: 2, balance: 0 }])?;
    /// store.write(|transaction| {
    ///     transaction.update::<Account>(&1, |account| account.balance -= 5)?;
    ///     transaction.update::<Account>(&2, |account| account.balance += 5)
    /// })?;
    /// assert_eq!(store.get::<Account>(&2)?.map(|account| account.balance), Some(5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be written; if another process, or another `Store` of the file, holds the write lock for
    /// longer than `busy_timeout`; if the calling thread is in a transaction of this store already, or if live queries
    /// call the code that writes, a record's own or a task's waker, while the transaction under way waits for them
    /// ([`Nested`](crate::ErrorKind::Nested)); if the file or its log was deleted, renamed or replaced
    /// ([`Replaced`](crate::ErrorKind::Replaced)); if the process that opened the store has forked and this is the child
    /// ([`Forked`](crate::ErrorKind::Forked)); or as `work` does.
    pub fn write<R>(&self, work: impl FnOnce(&mut Transaction<'_>) -> Result<R>) -> Result<R> {
        self.try_write(work)
    }

    /// As [`write`](Store::write), for work that fails with an error of the program's own.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// #[derive(Debug)]
    /// enum Failure {
    ///     Store(touchstone_store::Error),
    ///     TooMany,
    /// }
    ///
    /// impl From<touchstone_store::Error> for Failure {
    ///     fn from(error: touchstone_store::Error) -> Failure {
    ///         Failure::Store(error)
    ///     }
    /// }
    ///
    /// let failed = store.try_write(|transaction| {
    ///     transaction.insert(&Task { id: 1, title: "write".into(), due: None })?;
    ///     if transaction.of::<Task>().count()? > 0 { Err(Failure::TooMany) } else { Ok(()) }
    /// });
    /// assert!(matches!(failed, Err(Failure::TooMany)));
    /// assert!(store.all::<Task>()?.is_empty(), "nothing of it was committed");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`write`](Store::write).
    pub fn try_write<R, E: From<Error>>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        self.inner.writes.write(work)
    }

    /// A [`Feed`] for live queries, which keeps the newest update of each: [`Mode::Latest`]. The first feed of a store
    /// starts the threads that follow commits; they end with the store.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let late = feed.query::<Task>().filter(|task| task.due.lt(10)).watch()?;
    /// store.insert(&task(1, Some(5)))?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// assert_eq!(batch.get(late.id()).expect("it was changed").results::<Task>()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system has no more threads.
    pub fn feed(&self) -> Result<Feed> {
        self.feed_with(Mode::Latest)
    }

    /// A [`Feed`] for live queries. The [`Mode`] says how it keeps updates that the program has not taken.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// use touchstone_store::{Mode, Overflow};
    ///
    /// let feed = store.feed_with(Mode::Every { batches: 1000, overflow: Overflow::Block })?;
    /// let all = feed.query::<Task>().watch()?;
    /// for id in 0..3 {
    ///     store.insert(&task(id, None))?;
    /// }
    /// store.wait_delivered()?;
    /// feed.close();
    /// assert_eq!((&feed).into_iter().count(), 3, "one for each transaction");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`feed`](Store::feed).
    pub fn feed_with(&self, mode: Mode) -> Result<Feed> {
        let writes = &self.inner.writes;
        writes.live.start()?;
        // The live thread may hold snapshots for long, too.
        writes.keeper.start();
        Feed::new(&writes.live.shared, mode)
    }

    /// Returns when the updates of every commit that has returned are in the feeds that they concern. Commits of other
    /// processes may still be on their way. If the thread of live queries is idle, the calling thread does its work,
    /// and may call a record's own code. It is for tests, and for programs that commit and look in one thread. While a
    /// transaction waits here, a record's own code that live queries call cannot write: its [`write`](Store::write)
    /// fails.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let late = feed.query::<Task>().filter(|task| task.due.lt(10)).watch()?;
    /// store.insert(&task(1, Some(50)))?;
    /// store.wait_delivered()?;
    /// assert!(feed.try_next()?.is_none(), "nothing is late, and nothing is on its way");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the thread of live queries has failed, or cannot be started; if a record's own code calls this
    /// ([`Nested`](crate::ErrorKind::Nested)) or panics meanwhile ([`Refused`](crate::ErrorKind::Refused)).
    pub fn wait_delivered(&self) -> Result<()> {
        self.inner.writes.live.wait_told()
    }

    /// The path that the store was opened with, made absolute. Links in it are as they were given; the store follows
    /// them once, when it is opened.
    ///
    /// ```
    /// use touchstone_store::Store;
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// assert_eq!(Store::open(&path)?.path(), path);
    /// # assert!(Store::open(&path)?.path().is_absolute());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// How often the log was flushed for commits since the store was opened: commits that waited together shared one.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.insert(&Task { id: 1, title: "write".into(), due: None })?;
    /// assert_eq!(store.flushes(), 0, "a commit waits for no flush unless it asks for one");
    /// store.write(|transaction| {
    ///     transaction.durable();
    ///     transaction.insert(&Task { id: 2, title: "rest".into(), due: None })
    /// })?;
    /// assert_eq!(store.flushes(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn flushes(&self) -> u64 {
        self.inner.writes.flushes()
    }

    /// The durability class: the failures that every commit survives.
    ///
    /// ```
    /// use touchstone_store::{Durability, Options};
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// let store = Options::new().durability(Durability::Strict).open(&path)?;
    /// assert_eq!(store.durability(), Durability::Strict);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn durability(&self) -> Durability {
        self.inner.options.durability
    }

    /// Whether other processes are shut out, as the engine reports it.
    ///
    /// ```
    /// use touchstone_store::Options;
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// # if cfg!(unix) {
    /// assert!(Options::new().exclusive(true).open(&path)?.is_exclusive()?);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn is_exclusive(&self) -> Result<bool> {
        let leased = self.inner.readers.take()?;
        let name = leased.call(|session| Ok(session.connection.vfs_name()));
        self.inner.give_back(leased);
        Ok(name?.contains("unix-excl"))
    }

    pub(crate) fn options(&self) -> &Options {
        &self.inner.options
    }

    pub(crate) fn writes(&self) -> &WritePath {
        &self.inner.writes
    }

    #[cfg(test)]
    pub(crate) fn readers(&self) -> &Readers {
        &self.inner.readers
    }

    #[cfg(test)]
    pub(crate) fn observed(&self) -> &crate::live::observed::Observed {
        &self.inner.writes.live.shared.observed
    }

    #[cfg(test)]
    pub(crate) fn keeper(&self) -> &Keeper {
        &self.inner.writes.keeper
    }
}

impl Options {
    /// Opens the store.
    ///
    /// ```
    /// use touchstone_store::{EncryptionKey, Options};
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// let store = Options::new().key(EncryptionKey::raw([7; 32])).page_size(8192).open(&path)?;
    /// assert_eq!(store.path(), path);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be opened or made, is no store, is of a newer version, or has another key;
    /// [`Durability`](crate::ErrorKind::Durability) if other stores have it open with a class beside which this one cannot
    /// stand.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Store> {
        self.check()?;
        Store::open_with(path.as_ref(), self)
    }
}

impl Inner {
    pub(crate) fn give_back(&self, leased: Box<Leased>) {
        self.heed(self.readers.put(leased));
    }

    /// Takes a connection with a snapshot for as long as `hold` says, and starts the keeper if it has to watch.
    fn hold(&self, hold: Hold) -> Result<Box<Leased>> {
        let (leased, watch) = self.readers.hold(hold);
        self.heed(watch);
        leased
    }

    /// Starts the keeper's thread, if the keeper has to watch from now on.
    #[inline]
    fn heed(&self, watch: KeeperWatch) {
        if watch == KeeperWatch::Begins {
            self.writes.keeper.start();
        }
    }
}
