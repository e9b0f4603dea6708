//! A store: the file, its one writer, its readers, and the keeper, which checkpoints the write-ahead log (the log).

use crate::alarm::Alarm;
use crate::courtesy::Courtesy;
use crate::engine::log::{LogIndex, LogState};
use crate::engine::log_file::LogFile;
use crate::engine::pin::Pin;
use crate::error::{Error, ErrorKind, Result};
use crate::flush::Flushes;
use crate::keeper::Keeper;
use crate::leased::Leased;
use crate::live::commit::Committed;
use crate::live::feed::{Feed, Mode};
use crate::live::link::Link;
use crate::opening;
use crate::options::{Durability, Options};
use crate::place::sync_directory;
use crate::readers::{Hold, Readers, Watch};
use crate::session::{Role, Session};
use crate::snapshot::Snapshot;
use crate::sync::{Mutex, MutexGuard, lock};
use crate::transaction::Transaction;
use crate::turn::{Turn, Turns};
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
    pub(crate) path: PathBuf,
    pub(crate) options: Options,
    /// The log's index, which has the log's state; none if the file is read without a log.
    index: Option<LogIndex>,
    turns: Arc<Turns>,
    courtesy: Courtesy,
    flushes: Arc<Flushes>,
    /// The log's file for flushes, from the first transaction on. It is closed before the writer's connection.
    log: Mutex<Option<Log>>,
    /// Stopped before the connections that it watches are closed.
    keeper: Keeper,
    readers: Arc<Readers>,
    /// Stopped before the connections that it reads with are closed.
    live: Link,
    writer: Mutex<Option<Box<Leased>>>,
    /// Holds the file; its connection is closed last.
    pin: Arc<Pin>,
}

/// The log's file for flushes.
struct Log {
    file: LogFile,
    /// Whether its directory was flushed. Without that, a new file may be missing after a loss of power.
    is_listed: bool,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if !self.pin.origin().is_here() {
            // The child of a fork has none of the threads, and closes none of the connections. It does not even look at
            // them: a thread of the parent may have been using one.
            self.live.forget();
            self.keeper.forget();
            std::mem::forget(std::mem::take(&mut self.writer));
            std::mem::forget(Arc::clone(&self.readers));
            return;
        }
        self.live.stop();
        self.keeper.stop();
    }
}

impl Store {
    /// Opens the store in that file with the default [`Options`]. The file is made if there is none.
    ///
    /// ```
    /// use touchstone_store::Store;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("tasks.db");
    /// let store = Store::open(&path)?;
    /// assert_eq!(store.path(), path);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be opened or made, is no store, is of a newer version, or is encrypted; if a store of the
    /// class [`Process`](Durability::Process) has the file open ([`Durability`](ErrorKind::Durability)).
    pub fn open(path: impl AsRef<Path>) -> Result<Store> {
        Options::new().open(path)
    }

    pub(crate) fn open_with(path: &Path, options: Options) -> Result<Store> {
        let path = opening::absolute(path)?;
        let (options, pin, connection) = opening::open(&path, options)?;
        let (turns, alarm) = (Arc::<Turns>::default(), Arc::<Alarm>::default());
        let readers = Arc::new(Readers::new(&pin, &options, Arc::clone(&alarm), connection));
        let flushes = Arc::<Flushes>::default();
        let keeper = Keeper::new(&pin, &options, &readers, &turns, &flushes, alarm);
        let inner = Inner {
            path,
            options,
            index: pin.index(),
            turns,
            courtesy: Courtesy::new(pin.index()),
            flushes,
            log: Mutex::new(None),
            keeper,
            live: Link::new(&readers, &pin),
            readers,
            writer: Mutex::new(None),
            pin,
        };
        Ok(Store { inner: Arc::new(inner) })
    }

    /// Reads: `work` sees everything as it was committed at one moment. It is for work that only reads. For work that
    /// waits, hold a [`snapshot`](Store::snapshot) instead, which the store watches from its beginning.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
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
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// let before = store.snapshot()?;
    /// store.insert(&Task { id: 1, title: "write".into(), due: None })?;
    /// assert_eq!(before.of::<Task>().count()?, 0);
    /// assert_eq!(store.snapshot()?.of::<Task>().count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read; if the file or its log was deleted, renamed or replaced
    /// ([`Replaced`](ErrorKind::Replaced)); if the process that opened the store has forked and this is the child
    /// ([`Forked`](ErrorKind::Forked)).
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.inner.hold(Hold::Long).map(|leased| Snapshot::new(self.clone(), leased))
    }

    /// Writes: all changes of `work` are committed as one when it returns, and none if it fails or panics. One
    /// transaction is under way at a time; the others wait, first come first served.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record)]
    /// # struct Account { #[record(key)] id: i64, balance: i64 }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("bank.db"))?;
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
    /// longer than `busy_timeout`; if the calling thread is in a transaction of this store already
    /// ([`Nested`](ErrorKind::Nested)); if the file or its log was deleted, renamed or replaced
    /// ([`Replaced`](ErrorKind::Replaced)); if the process that opened the store has forked and this is the child
    /// ([`Forked`](ErrorKind::Forked)); or as `work` does.
    pub fn write<R>(&self, work: impl FnOnce(&mut Transaction<'_>) -> Result<R>) -> Result<R> {
        self.try_write(work)
    }

    /// As [`write`](Store::write), for work that fails with an error of the program's own.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
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
        let inner = &*self.inner;
        let turn = inner.turn()?;
        let writer = inner.writer()?;
        let leased = writer.leased();
        let (result, durable) = leased.call_last(|session| {
            session.begin_write().map_err(|error| inner.pin.explain(error))?;
            let before = inner.log_state();
            session.capture.begin(session.schema(), before);
            let mut open = Open { leased, session, schema: session.schema(), committed: false };
            let mut transaction = Transaction::new(leased);
            let result = work(&mut transaction)?;
            let durable = transaction.is_durable();
            if durable && inner.options.durability == Durability::Process {
                return Err(cannot_last().into());
            }
            open.commit(inner, before)?;
            Ok::<_, E>((result, durable))
        })?;
        drop(writer);
        inner.committed(turn, durable)?;
        Ok(result)
    }

    /// A [`Feed`] for live queries, which keeps the newest update of each: [`Mode::Latest`]. The first feed of a store
    /// starts the threads that follow commits; they end with the store.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # let task = |id, due| Task { id, title: format!("task {id}"), due };
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
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # let task = |id, due| Task { id, title: format!("task {id}"), due };
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
        self.inner.live.start()?;
        // The live thread may hold snapshots for long, too.
        self.inner.keeper.start();
        Feed::new(&self.inner.live.shared, mode)
    }

    /// Returns when the updates of every commit that has returned are in the feeds that they concern. Commits of other
    /// processes may still be on their way. If the thread of live queries is idle, the calling thread does its work,
    /// and may call a record's own code. It is for tests, and for programs that commit and look in one thread.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # let task = |id, due| Task { id, title: format!("task {id}"), due };
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
        self.inner.live.wait_told()
    }

    /// The path that the store was opened with, made absolute. Links in it are as they were given; the store follows
    /// them once, when it is opened.
    ///
    /// ```
    /// use touchstone_store::Store;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("tasks.db");
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
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
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
        self.inner.flushes.count()
    }

    /// The durability class: the failures that every commit survives.
    ///
    /// ```
    /// use touchstone_store::{Durability, Options};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("tasks.db");
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
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("tasks.db");
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

    pub(crate) fn give_back(&self, leased: Box<Leased>) {
        self.inner.give_back(leased);
    }

    #[cfg(test)]
    pub(crate) fn readers(&self) -> &Readers {
        &self.inner.readers
    }

    #[cfg(test)]
    pub(crate) fn observed(&self) -> &crate::live::observed::Observed {
        &self.inner.live.shared.observed
    }

    #[cfg(test)]
    pub(crate) fn keeper(&self) -> &Keeper {
        &self.inner.keeper
    }
}

impl Options {
    /// Opens the store.
    ///
    /// ```
    /// use touchstone_store::{EncryptionKey, Options};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("tasks.db");
    /// let store = Options::new().key(EncryptionKey::raw([7; 32])).page_size(8192).open(&path)?;
    /// assert_eq!(store.path(), path);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be opened or made, is no store, is of a newer version, or has another key;
    /// [`Durability`](ErrorKind::Durability) if other stores have it open with a class beside which this one cannot
    /// stand.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Store> {
        self.check()?;
        Store::open_with(path.as_ref(), self)
    }
}

#[cold]
fn full() -> Error {
    let why = "a feed with `Overflow::Block` was full for as long as a transaction waits (take its batches, or choose another `Overflow`)";
    Error::new(ErrorKind::Busy, why)
}

#[cold]
fn cannot_last() -> Error {
    let why = "a store that is opened with `Durability::Process` cannot make a transaction durable (open it with `Consistent`)";
    Error::new(ErrorKind::Invalid, why)
}

/// A transaction that is rolled back unless it was committed, even if the program panics.
struct Open<'s> {
    leased: &'s Leased,
    session: &'s Session,
    schema: i64,
    committed: bool,
}

impl Open<'_> {
    /// Commits, and hands the captured changes over to the live thread.
    fn commit(&mut self, inner: &Inner, before: Option<LogState>) -> Result<()> {
        self.session.connection.check_process()?;
        if self.session.connection.is_idle() {
            let why = "the transaction had ended before its commit: a failure that SQLite rolls back at once, or raw SQL, ended it";
            return Err(Error::new(ErrorKind::Refused, why));
        }
        inner.live.commit(|| {
            let (captured, logged) = self.session.capture.finish(self.leased);
            let committed = self.session.connection.commit();
            committed.map_err(|error| inner.pin.explain(error).context("committing"))?;
            self.committed = true;
            let after = LogState::of(&self.session.connection);
            self.session.note_commit(after, true);
            Ok(((), Committed { captured, logged, before, after }))
        })
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.committed || !self.session.connection.is_of_here() {
            return;
        }
        if self.session.schema() == self.schema {
            self.session.connection.end();
            self.session.forget_undone();
        } else {
            self.session.abandon();
        }
    }
}

impl Store {
    /// Lends the writer's session in a transaction that has begun, with the log's state before it.
    /// [`commit_lent`](Store::commit_lent) or [`undo_lent`](Store::undo_lent) takes it back, and the turn with it.
    pub(crate) fn lend_writer(&self) -> Result<(Box<Leased>, Option<LogState>)> {
        let inner = &*self.inner;
        let turn = inner.turn()?;
        let mut writer = inner.writer()?;
        let before = writer.leased().call_last(|session| {
            session.begin_write().map_err(|error| inner.pin.explain(error))?;
            let before = inner.log_state();
            session.capture.begin(session.schema(), before);
            Ok::<_, Error>(before)
        })?;
        let leased = writer.0.take().expect("the writer is there from the first turn on");
        drop(writer);
        std::mem::forget(turn);
        Ok((leased, before))
    }

    /// Passes the turn of a lent writer to the calling thread, which goes on with the transaction.
    pub(crate) fn go_on_with_turn(&self) {
        self.inner.turns.pass_to_me();
    }

    /// Commits the transaction of a lent writer, and takes the writer back.
    pub(crate) fn commit_lent(
        &self,
        leased: Box<Leased>,
        schema: i64,
        before: Option<LogState>,
        durable: bool,
    ) -> Result<()> {
        let inner = &*self.inner;
        if let Err(error) = inner.pin.origin().check() {
            std::mem::forget(leased);
            return Err(error);
        }
        let turn = inner.turns.resume();
        let lent = LentWriter { inner, leased: Some(leased) };
        let leased = lent.leased();
        let committed = leased.call_last(|session| {
            let mut open = Open { leased, session, schema, committed: false };
            if durable && inner.options.durability == Durability::Process {
                Err(cannot_last())
            } else {
                open.commit(inner, before)
            }
        });
        drop(lent);
        committed?;
        inner.committed(turn, durable)
    }

    /// Undoes the transaction of a lent writer, and takes the writer back.
    pub(crate) fn undo_lent(&self, leased: Box<Leased>, schema: i64) {
        if !self.inner.pin.origin().is_here() {
            return std::mem::forget(leased);
        }
        let _turn = self.inner.turns.resume();
        let lent = LentWriter { inner: &self.inner, leased: Some(leased) };
        let leased = lent.leased();
        leased.call_last(|session| drop(Open { leased, session, schema, committed: false }));
    }
}

/// A lent writer, which goes back to the store when dropped, even by a panic.
struct LentWriter<'s> {
    inner: &'s Inner,
    leased: Option<Box<Leased>>,
}

impl LentWriter<'_> {
    fn leased(&self) -> &Leased {
        self.leased.as_ref().expect("it is given back at the end")
    }
}

impl Drop for LentWriter<'_> {
    fn drop(&mut self) {
        *lock(&self.inner.writer) = self.leased.take();
    }
}

/// The writer's session, for the thread that has the turn.
pub(crate) struct Writer<'s>(MutexGuard<'s, Option<Box<Leased>>>);

impl Writer<'_> {
    pub(crate) fn leased(&self) -> &Leased {
        self.0.as_ref().expect("the writer is there from the first turn on")
    }
}

impl Inner {
    pub(crate) fn turn(&self) -> Result<Turn<'_>> {
        self.pin.origin().check()?;
        if self.options.read_only {
            let remedy = "open it without `Options::read_only` to write";
            let message = format!("{} was opened to read only ({remedy})", self.path.display());
            return Err(Error::new(ErrorKind::ReadOnly, message));
        }
        self.pin.look()?;
        self.live.shared.room.wait(self.options.busy_timeout).map_err(|_| full())?;
        let turn = self.turns.take().map_err(|_| {
            let why = "this thread is in a transaction already, and would wait for itself (use the transaction, or a savepoint of it)";
            Error::new(ErrorKind::Nested, why)
        })?;
        // After a failed flush, earlier frames of the log may be lost, and later commits with them; no thread empties the
        // log any more.
        self.pin.check_flushed()?;
        self.courtesy.give_way(|| {
            let has_waited = |session: &Session| session.connection.patience.take_waited();
            lock(&self.writer).as_ref().is_some_and(|writer| writer.call_last(has_waited))
        });
        Ok(turn)
    }

    pub(crate) fn writer(&self) -> Result<Writer<'_>> {
        let mut writer = lock(&self.writer);
        if writer.is_none() {
            let session = Session::open(&self.pin, &self.options, Role::Writer)?;
            // SAFETY: the connection is open, and no other thread knows of it yet; it is the store's writer, which is
            // closed after the log.
            let file = unsafe { LogFile::open(session.connection.handle()) }?;
            session.connection.patience.ask_through(self.pin.index());
            session.capture.of(&self.live.shared.observed, self.options.log_changes);
            *lock(&self.log) = Some(Log { file, is_listed: false });
            *writer = Some(Box::new(Leased::alone(session).with_pin(&self.pin)));
        }
        Ok(Writer(writer))
    }

    /// Ends a commit: passes the turn on, wakes the live thread and the keeper if needed, and waits for a flush of the
    /// log if the transaction or the store's class asks for durability.
    fn committed(&self, turn: Turn<'_>, durable: bool) -> Result<()> {
        let commit = self.flushes.committed();
        drop(turn);
        self.live.wake();
        self.keeper.committed();
        if durable || self.options.durability == Durability::Strict {
            self.flushes
                .reach(commit, || self.flush().inspect_err(|error| self.pin.note_lost_flush(error)))?;
        }
        Ok(())
    }

    /// Flushes the log.
    fn flush(&self) -> Result<()> {
        let mut log = lock(&self.log);
        let log = log.as_mut().ok_or_else(|| Error::new(ErrorKind::Io, "there is no log to flush"))?;
        log.file.flush()?;
        if log.is_listed {
            return Ok(());
        }
        sync_directory(self.pin.path())?;
        log.is_listed = true;
        Ok(())
    }

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
    fn heed(&self, watch: Watch) {
        if watch == Watch::Begins {
            self.keeper.start();
        }
    }

    #[inline]
    fn log_state(&self) -> Option<LogState> {
        self.index.as_ref().and_then(LogIndex::state)
    }
}
