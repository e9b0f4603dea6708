//! The commit protocol. Every commit of the store goes through it: transactions of a closure ([`WritePath::write`]),
//! single statements ([`WritePath::alone`]), and transactions that are lent to a program in two calls
//! ([`WritePath::lend`], [`WritePath::commit_lent`]).
//!
//! A commit takes these steps, in this order:
//!
//! 1. *Turn*, `turn`: looks at the file; waits until the blocked feeds have room (backpressure); takes the turn, which is
//!    the in-process write lock; refuses to go on after a failed flush; yields to other processes.
//! 2. *Session*, `session`: locks the writer's session, and opens it at the first turn.
//! 3. *Begin*, `begin`: begins to gather the changes; begins the transaction, which takes the file's write lock; notes
//!    the log's state. A single statement (`alone`) has no `BEGIN`, and takes the file's lock by itself, in step 4.
//! 4. *Commit*, `OpenTransaction::commit` or `commit_one`: locks `hand_off`, ends the gathering, commits, and puts the
//!    commit into the inbox of the live thread (`made`). A single statement commits by itself, before the gathering ends.
//! 5. *End*, `end`: counts the commit for the flush; passes the turn on; wakes the live thread and the watchers of other
//!    processes; lets the keeper look at the log; waits for a flush, if the commit must be durable.
//!
//! Lock order: the turn, then `session`, then `hand_off` of the link in step 4, and then the locks that `live/link.rs`
//! lists. A transaction takes the file's write lock before `hand_off`. A single statement takes it under `hand_off`, and
//! does not wait for it: if another connection has it, the statement is run again, as a transaction. So the store waits
//! for no process while the live thread waits for `hand_off`. A record's own code, called under `hand_off`, might wait.
//! `log` is taken under `session` when that is opened, and with none of these locks in a flush. The room of feeds is
//! waited for before the turn, and a flush after it, so neither keeps other writers from the turn. The mutex of
//! `session` is released before step 5.
//!
//! A lent transaction keeps the turn, without a guard: `turns.resume()` makes the guard again at its end, for the thread
//! that ends it. The session is moved out of its mutex meanwhile, and no other thread looks for it, because none has the
//! turn.

use super::session::{WriteCall, WriteSession};
use crate::engine::log::{LogIndex, LogState};
use crate::engine::log_file::LogFile;
use crate::engine::new_file::sync_directory;
use crate::engine::pin::Pin;
use crate::live::capture::{Capture, Captured};
use crate::live::commit::Commit;
use crate::live::link::{HandOver, Link};
use crate::session::flush::Flushes;
use crate::session::keeper::Keeper;
use crate::session::keeper_wakeup::KeeperWakeup;
use crate::session::leased::Leased;
use crate::session::readers::Readers;
use crate::session::turn::{NoTurn, Turn, Turns};
use crate::session::yielding::Yielding;
use crate::session::{Role, Session};
use crate::table::Section;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::options::{Durability, Options};
use crate::types::record::{Record, Shape};
use crate::types::sync::{LOG, Mutex, MutexGuard, SESSION, lock};
use crate::writer::transaction::Transaction;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// All that a commit passes through, from the turn to the live thread, the keeper and the flush.
pub(crate) struct WritePath {
    path: PathBuf,
    options: Options,
    /// The log's index, which has the log's state; none if the file is read without a log.
    index: Option<LogIndex>,
    turns: Arc<Turns>,
    yielding: Yielding,
    flushes: Arc<Flushes>,
    /// The log's file for flushes, from the first transaction on. It is closed before the writer's connection.
    log: Mutex<Option<Log>, LOG>,
    /// Stopped before the connections that it watches are closed.
    pub(crate) keeper: Keeper,
    /// Stopped before the connections that it reads with are closed.
    pub(crate) live: Link,
    session: Mutex<Option<Box<WriteSession>>, SESSION>,
    pin: Arc<Pin>,
}

/// The log's file for flushes.
struct Log {
    file: LogFile,
    /// Whether its directory was flushed. Without that, a new file may be missing after a loss of power.
    is_listed: bool,
}

/// How the transaction under way began.
#[derive(Clone, Copy)]
struct Beginning {
    schema: i64,
    /// The log's state before it.
    before: Option<LogState>,
}

/// The writer's session in a transaction that has begun. [`commit_lent`](WritePath::commit_lent) or
/// [`undo_lent`](WritePath::undo_lent) takes it back, and the turn with it.
pub(crate) struct LentWriter {
    pub(crate) writer: Box<WriteSession>,
    beginning: Beginning,
}

impl WritePath {
    pub(crate) fn new(
        path: &Path,
        options: &Options,
        pin: &Arc<Pin>,
        readers: &Arc<Readers>,
        wakeup: Arc<KeeperWakeup>,
    ) -> WritePath {
        let (turns, flushes) = (Arc::<Turns>::default(), Arc::<Flushes>::default());
        let keeper = Keeper::new(pin, options, readers, &turns, &flushes, wakeup);
        WritePath {
            path: path.to_owned(),
            options: options.clone(),
            index: pin.index(),
            turns: Arc::clone(&turns),
            yielding: Yielding::new(pin.index()),
            flushes,
            log: Mutex::new(None),
            keeper,
            live: Link::new(readers, pin, &turns),
            session: Mutex::new(None),
            pin: Arc::clone(pin),
        }
    }

    /// A transaction of a closure; see [`Store::write`](crate::Store::write).
    pub(crate) fn write<R, E: From<Error>>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        let turn = self.turn()?;
        self.write_in(turn, work)
    }

    fn write_in<R, E: From<Error>>(
        &self,
        turn: Turn<'_>,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        let (result, durable) = {
            let held = self.session()?;
            let writer = held.writer();
            let mut open = OpenTransaction::of(writer, self.begin(writer)?);
            let mut transaction = Transaction::new(writer);
            let result = work(&mut transaction)?;
            let durable = transaction.is_durable();
            open.commit(self, durable)?;
            (result, durable)
        };
        self.end(turn, durable)?;
        Ok(result)
    }

    /// Runs one statement without `BEGIN`, or a transaction: if the table is not ready, another process has committed since
    /// the store did or has the write lock, there are triggers, or live queries may have to read rows again. If the
    /// transaction cannot begin, `name` adds the record's name to the error, as the statement does to its own errors.
    pub(crate) fn alone<T: Record, R>(
        &self,
        shape: &'static Shape,
        statement: impl FnOnce(WriteCall<'_>, &Section) -> Result<R>,
        whole: impl FnOnce(&mut Transaction<'_>) -> Result<R>,
        name: impl FnOnce(Error) -> Error,
    ) -> Result<R> {
        let turn = self.turn()?;
        let held = self.session()?;
        let call = held.writer().in_commit();
        // Another process that has committed may have changed the table, which only a transaction looks at. And a trigger
        // may fail a statement without undoing it (`raise(fail)`): then SQLite commits the statement. One that another
        // process makes after this look still does that: the call fails, and its change is committed.
        let now = self.log_state();
        let is_known = now.is_some() && now == call.session.committed.get();
        let is_ready = is_known && !call.session.connection.may_have_triggers();
        call.capture.begin();
        let table = is_ready.then(|| call.ready_table(shape)).flatten();
        let table = table.filter(|table| call.capture.may_be_single::<T>(call.session, table));
        let committed = table.map(|table| self.commit_one(held.writer(), || statement(call, &table)));
        drop(held);
        match committed.transpose() {
            Ok(Some(result)) => return self.end(turn, false).map(|()| result),
            Err(error) if error.kind() != ErrorKind::Busy => return Err(error),
            _ => {}
        }
        let mut has_begun = false;
        let result = self.write_in(turn, |transaction| {
            has_begun = true;
            whole(transaction)
        });
        result.map_err(|error| if has_begun { error } else { name(error) })
    }

    /// Lends the writer's session in a transaction that has begun, and the turn with it.
    pub(crate) fn lend(&self) -> Result<LentWriter> {
        let turn = self.turn()?;
        let mut held = self.session()?;
        let beginning = self.begin(held.writer())?;
        let writer = held.0.take().expect("the writer is there from the first turn on");
        drop(held);
        std::mem::forget(turn);
        Ok(LentWriter { writer, beginning })
    }

    /// Passes the turn of a lent writer to the calling thread, which goes on with the transaction.
    pub(crate) fn pass_turn_to_me(&self) {
        self.turns.pass_to_me();
    }

    /// Commits the transaction of a lent writer, and takes the writer back.
    pub(crate) fn commit_lent(&self, lent: LentWriter, durable: bool) -> Result<()> {
        if let Err(error) = self.pin.origin().check() {
            std::mem::forget(lent);
            return Err(error);
        }
        let turn = self.turns.resume();
        let LentWriter { writer, beginning } = lent;
        let back = TakenBack { path: self, writer: Some(writer) };
        OpenTransaction::of(back.writer(), beginning).commit(self, durable)?;
        drop(back);
        self.end(turn, durable)
    }

    /// Undoes the transaction of a lent writer, and takes the writer back.
    pub(crate) fn undo_lent(&self, lent: LentWriter) {
        if !self.pin.origin().is_here() {
            return std::mem::forget(lent);
        }
        let _turn = self.turns.resume();
        let LentWriter { writer, beginning } = lent;
        let back = TakenBack { path: self, writer: Some(writer) };
        drop(OpenTransaction::of(back.writer(), beginning));
    }

    /// How often the log was flushed for commits.
    pub(crate) fn flushes(&self) -> u64 {
        self.flushes.count()
    }

    /// Stops the threads.
    pub(crate) fn stop(&self) {
        self.live.stop();
        self.keeper.stop();
    }

    /// Forgets the threads and the writer's connection: the child of a fork has no right to them.
    pub(crate) fn forget(&mut self) {
        self.live.forget();
        self.keeper.forget();
        std::mem::forget(std::mem::take(&mut self.session));
    }
}

/// The steps.
impl WritePath {
    /// Step 1: takes the turn.
    fn turn(&self) -> Result<Turn<'_>> {
        if self.options.read_only {
            let remedy = "open it without `Options::read_only` to write";
            let message = format!("{} was opened to read only ({remedy})", self.path.display());
            return Err(Error::new(ErrorKind::ReadOnly, message));
        }
        self.pin.origin().check()?;
        self.pin.look()?;
        self.live.shared.room.wait(self.options.busy_timeout).map_err(|_| full())?;
        let turn = self.turns.take_as(|| self.live.shared.is_in_round()).map_err(nested)?;
        // After a failed flush, earlier frames of the log may be lost, and later commits with them; no thread empties the
        // log any more.
        self.pin.check_flushed()?;
        if let Some(index) = self.yielding.asked() {
            let writer = lock(&self.session);
            let handler = writer.as_ref().map(|writer| &writer.in_commit().session.connection.busy_handler);
            let has_waited = handler.is_some_and(|busy_handler| busy_handler.take_waited());
            drop(writer);
            self.yielding.give_way(index, has_waited);
        }
        Ok(turn)
    }

    /// Step 2: locks the writer's session, for the thread that has the turn.
    fn session(&self) -> Result<HeldSession<'_>> {
        debug_assert!(self.turns.is_taken(), "the writer's session is for the thread that has the turn");
        let mut writer = lock(&self.session);
        if writer.is_none() {
            let session = Session::open(&self.pin, &self.options, Role::Writer)?;
            let file = session.connection.log_file()?;
            session.connection.busy_handler.ask_through(self.pin.index());
            let capture = Capture::of(&self.live.shared.observed);
            *lock(&self.log) = Some(Log { file, is_listed: false });
            let session = Leased::alone(session).with_pin(&self.pin);
            *writer = Some(Box::new(WriteSession { session, capture }));
        }
        Ok(HeldSession(writer))
    }

    /// Step 3: begins a transaction.
    fn begin(&self, writer: &WriteSession) -> Result<Beginning> {
        let call = writer.in_commit();
        // Before the transaction, because this frees what an undone one has gathered: a record's own code may panic.
        call.capture.begin();
        call.session.begin_write().map_err(|error| self.pin.explain(error))?;
        Ok(Beginning { schema: call.session.schema(), before: self.log_state() })
    }

    /// Step 4 of one statement, which is a transaction of its own. The gathering of its changes has begun.
    ///
    /// # Errors
    /// As `statement` does; [`Busy`](ErrorKind::Busy) at once if another connection has the file's write lock.
    fn commit_one<R>(&self, writer: &WriteSession, statement: impl FnOnce() -> Result<R>) -> Result<R> {
        let WriteCall { session, capture } = writer.in_commit();
        let connection = &session.connection;
        debug_assert!(connection.is_idle(), "a statement that is no transaction of its own commits nothing");
        let before = session.committed.get();
        let hand_over = self.live.hand_over();
        let commits = connection.commits();
        let no_wait = connection.busy_handler.no_wait();
        let result = statement().map_err(|error| self.pin.explain(error))?;
        drop(no_wait);
        let captured = capture.finish(&writer.session);
        let own = connection.commits().wrapping_sub(commits);
        self.made(session, hand_over, captured, before, Some(own));
        Ok(result)
    }

    /// The end of step 4: hands the changes of a commit over to the live thread.
    ///
    /// `own` is `None` for a transaction, which held the file's lock from `before` on. For a single statement, it is the
    /// number of commits that the statement wrote to the log, 0 if it wrote nothing: without triggers it writes to no
    /// attached file. If the count of commits in the log's index has grown by another number, another process has
    /// committed in between.
    #[inline]
    fn made(
        &self,
        session: &Session,
        hand_over: HandOver<'_>,
        captured: Option<Captured>,
        before: Option<LogState>,
        own: Option<u32>,
    ) {
        debug_assert!(self.turns.is_taken(), "a commit is made by the thread that has the turn");
        let after = session.connection.log_state();
        let is_alone = own.is_none_or(|own| {
            before.zip(after).is_some_and(|(was, is)| was.change().wrapping_add(own) == is.change())
        });
        session.note_commit(after, is_alone);
        hand_over.finish(Commit { version: 0, captured, before: before.filter(|_| is_alone), after });
    }

    /// Step 5: passes the turn on, wakes the live thread and the keeper if needed, and waits for a flush of the log if
    /// the transaction or the store's class asks for durability.
    fn end(&self, turn: Turn<'_>, durable: bool) -> Result<()> {
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

    #[inline]
    fn log_state(&self) -> Option<LogState> {
        self.index.as_ref().and_then(LogIndex::state)
    }
}

/// The writer's session, for the thread that has the turn.
struct HeldSession<'s>(MutexGuard<'s, Option<Box<WriteSession>>>);

impl HeldSession<'_> {
    fn writer(&self) -> &WriteSession {
        self.0.as_ref().expect("the writer is there from the first turn on")
    }
}

/// A lent writer that is taken back: it goes to its place when dropped, even by a panic.
struct TakenBack<'s> {
    path: &'s WritePath,
    writer: Option<Box<WriteSession>>,
}

impl TakenBack<'_> {
    fn writer(&self) -> &WriteSession {
        self.writer.as_ref().expect("it is given back at the end")
    }
}

impl Drop for TakenBack<'_> {
    fn drop(&mut self) {
        debug_assert!(self.path.turns.is_taken(), "the turn ends after the writer is back");
        let before = std::mem::replace(&mut *lock(&self.path.session), self.writer.take());
        debug_assert!(before.is_none(), "another writer was opened while this one was lent");
    }
}

/// A transaction that is rolled back unless it was committed, even if the program panics.
struct OpenTransaction<'s> {
    writer: &'s WriteSession,
    beginning: Beginning,
    committed: bool,
}

impl<'s> OpenTransaction<'s> {
    fn of(writer: &'s WriteSession, beginning: Beginning) -> OpenTransaction<'s> {
        OpenTransaction { writer, beginning, committed: false }
    }

    /// Commits, and hands the captured changes over to the live thread.
    fn commit(&mut self, path: &WritePath, durable: bool) -> Result<()> {
        if durable && path.options.durability == Durability::Process {
            return Err(cannot_last());
        }
        let WriteCall { session, capture } = self.writer.in_commit();
        session.connection.check_process()?;
        if session.connection.is_idle() {
            let why = "the transaction had ended before its commit: a failure that SQLite rolls back at once, or raw SQL, ended it";
            return Err(Error::new(ErrorKind::Refused, why));
        }
        let hand_over = path.live.hand_over();
        let captured = capture.finish(&self.writer.session);
        session.connection.commit().map_err(|error| path.pin.explain(error).context("committing"))?;
        self.committed = true;
        path.made(session, hand_over, captured, self.beginning.before, None);
        Ok(())
    }
}

impl Drop for OpenTransaction<'_> {
    fn drop(&mut self) {
        let call = self.writer.in_commit();
        if self.committed || !call.session.connection.is_of_here() {
            return;
        }
        if call.session.schema() == self.beginning.schema {
            call.session.connection.end();
            call.forget_undone();
        } else {
            call.abandon();
        }
    }
}

#[cold]
fn nested(why: NoTurn) -> Error {
    let why = match why {
        NoTurn::AlreadyMine => {
            "this thread is in a transaction already, and would wait for itself (use the transaction, or a savepoint of it)"
        }
        NoTurn::AwaitedByOwner => {
            "live queries call the code that writes, a record's own or a task's waker, and the transaction under way waits for them: each would wait for the other (write on another thread and do not wait for it, or let no transaction wait for live queries)"
        }
    };
    Error::new(ErrorKind::Nested, why)
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
