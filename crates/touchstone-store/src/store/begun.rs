//! A transaction without a closure: for bindings to languages that begin and end a transaction in two calls. A program
//! in Rust uses [`Store::write`], which always ends it.

use crate::live::capture::Mark;
use crate::store::Store;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::sync::{self, ThreadId};
use crate::writer::commit::LentWriter;
use crate::writer::session::WriteSession;
use crate::writer::transaction::{RELEASE, SAVEPOINT, Transaction, TransactionPart};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of the next savepoint, so that an ended one, or another transaction's, is never mistaken for an open one.
static SAVEPOINTS: AtomicU64 = AtomicU64::new(0);

/// A transaction that has begun. It has the turn to write until it is committed, or undone when dropped.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// # #[derive(Record)] struct Task { #[record(key)] id: i64 }
/// let mut begun = store.begin()?;
/// begun.with(|transaction| transaction.insert(&Task { id: 1 }))?;
/// begun.commit()?;
///
/// let mut undone = store.begin()?;
/// undone.with(|transaction| transaction.insert(&Task { id: 2 }))?;
/// drop(undone);
/// assert_eq!(store.all::<Task>()?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Begun {
    store: Store,
    /// The writer's session, while it is lent; none once the transaction has ended.
    lent: Option<LentWriter>,
    durable: bool,
    /// The numbers of the savepoints that are open, the innermost last.
    savepoints: Vec<u64>,
    /// The thread that has used the transaction last. Another transaction of this thread would wait for this one.
    thread: ThreadId,
}

/// A part of a [`Begun`] transaction that can be undone alone. If it is dropped, it is kept with the transaction.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// # #[derive(Record)] struct Task { #[record(key)] id: i64 }
/// let mut begun = store.begin()?;
/// let savepoint = begun.savepoint()?;
/// begun.with(|transaction| transaction.insert(&Task { id: 1 }))?;
/// begun.undo(savepoint)?;
/// begun.commit()?;
/// assert!(store.all::<Task>()?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Savepoint {
    /// No other savepoint of the process has it.
    number: u64,
    schema: i64,
    mark: Mark,
}

impl fmt::Debug for Begun {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Begun").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Store {
    /// Begins a transaction, once all that were asked for before have ended. Another thread may go on with it. The
    /// thread that has used it last cannot begin another one before its end; other threads wait for that.
    ///
    /// ```
    /// # use touchstone_store::ErrorKind;
    /// # let (directory, store) = touchstone_store_example::store()?;
    /// let begun = store.begin()?;
    /// assert_eq!(store.begin().map_err(|error| error.kind()).err(), Some(ErrorKind::Nested));
    /// begun.commit()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`write`](Store::write).
    pub fn begin(&self) -> Result<Begun> {
        let lent = Some(self.writes().lend()?);
        let (store, savepoints, thread) = (self.clone(), Vec::new(), sync::current().id());
        Ok(Begun { store, lent, durable: false, savepoints, thread })
    }
}

impl Begun {
    /// The writer's session, which the calling thread uses from now on.
    fn writer(&mut self) -> &WriteSession {
        let me = sync::current().id();
        if self.thread != me {
            self.thread = me;
            self.store.writes().pass_turn_to_me();
        }
        let lent = self.lent.as_ref();
        &lent.expect("the writer is given back only when the transaction ends").writer
    }

    /// Does work in the transaction.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # #[derive(Record)] struct Task { #[record(key)] id: i64 }
    /// let mut begun = store.begin()?;
    /// assert_eq!(begun.with(|transaction| transaction.of::<Task>().count())?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with<R>(&mut self, work: impl FnOnce(&mut Transaction<'_>) -> R) -> R {
        let mut transaction = Transaction::new(self.writer());
        let result = work(&mut transaction);
        let durable = transaction.is_durable();
        self.durable |= durable;
        result
    }

    /// Begins a part that can be undone alone.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # #[derive(Record)] struct Task { #[record(key)] id: i64 }
    /// let mut begun = store.begin()?;
    /// let savepoint = begun.savepoint()?;
    /// begun.release(savepoint)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the transaction has ended: a failure that SQLite rolls back at once, or raw SQL, ended it.
    pub fn savepoint(&mut self) -> Result<Savepoint> {
        let (schema, mark) = self.writer().in_transaction(|call| {
            call.session.connection.sql().execute_batch(SAVEPOINT)?;
            Ok((call.session.schema(), call.capture.mark()))
        })?;
        let number = SAVEPOINTS.fetch_add(1, Ordering::Relaxed);
        self.savepoints.push(number);
        Ok(Savepoint { number, schema, mark })
    }

    /// Keeps the part, and with it those that began within it.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # #[derive(Record)] struct Task { #[record(key)] id: i64 }
    /// let mut begun = store.begin()?;
    /// let savepoint = begun.savepoint()?;
    /// begun.with(|transaction| transaction.insert(&Task { id: 1 }))?;
    /// begun.release(savepoint)?;
    /// begun.commit()?;
    /// assert_eq!(store.all::<Task>()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the part or the transaction has ended already, or if the part belongs to another transaction.
    pub fn release(&mut self, savepoint: Savepoint) -> Result<()> {
        self.leave(&savepoint)?;
        self.writer().in_transaction(|call| Ok(call.session.connection.sql().execute_batch(RELEASE)?))
    }

    /// Undoes the part, and with it those that began within it.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # #[derive(Record)] struct Task { #[record(key)] id: i64 }
    /// let mut begun = store.begin()?;
    /// let savepoint = begun.savepoint()?;
    /// begun.with(|transaction| transaction.insert(&Task { id: 1 }))?;
    /// begun.undo(savepoint)?;
    /// begun.commit()?;
    /// assert!(store.all::<Task>()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`release`](Begun::release).
    pub fn undo(&mut self, savepoint: Savepoint) -> Result<()> {
        self.leave(&savepoint)?;
        self.writer().call(|call| {
            drop(TransactionPart::of(call, savepoint.schema, savepoint.mark));
            call.session.check_open()
        })
    }

    /// Ends the parts within this one, and forgets this one; the caller runs its last statement.
    fn leave(&mut self, savepoint: &Savepoint) -> Result<()> {
        let Some(at) = self.savepoints.iter().rposition(|open| *open == savepoint.number) else {
            return Err(Error::new(ErrorKind::Invalid, "the savepoint has ended already"));
        };
        let within = self.savepoints.len() - at - 1;
        self.savepoints.truncate(at);
        self.writer().in_transaction(|call| {
            Ok((0..within).try_for_each(|_| call.session.connection.sql().execute_batch(RELEASE))?)
        })
    }

    /// Commits the transaction.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # #[derive(Record)] struct Task { #[record(key)] id: i64 }
    /// let mut begun = store.begin()?;
    /// begun.with(|transaction| transaction.insert(&Task { id: 1 }))?;
    /// begun.commit()?;
    /// assert_eq!(store.all::<Task>()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Store::write`]; the transaction is then undone.
    pub fn commit(mut self) -> Result<()> {
        let Some(lent) = self.lent.take() else { return Ok(()) };
        self.store.writes().commit_lent(lent, self.durable)
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(lent) = self.lent.take() {
            self.store.writes().undo_lent(lent);
        }
    }
}
