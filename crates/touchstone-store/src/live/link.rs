//! Where writers and subscribers meet the live thread: commits and orders are put into its inbox, and it is woken.

use super::capture::Captured;
use super::mailbox::Room;
use super::observed::Observed;
use super::round::Rounds;
use super::thread::{Live, Order, is_same_commit};
use crate::change_log::Logged;
use crate::engine::bell::Bell;
use crate::engine::fork::Origin;
use crate::engine::log::LogState;
use crate::engine::pin::Pin;
use crate::error::{Error, ErrorKind, Result};
use crate::readers::Readers;
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, lock, try_lock, wait};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Changes that may wait in the inbox, in all: where there are more they are dropped, and everything is read anew.
pub(super) const HELD_MAX: usize = if cfg!(test) { 1000 } else { 1_000_000 };

/// A commit, handed over.
pub(crate) struct Commit {
    /// Its number among the commits and looks of this store; greater for later ones.
    pub(crate) version: u64,
    /// None where nobody watched anything when the transaction began.
    pub(crate) captured: Option<Captured>,
    /// Its entry in the change log, where it has one.
    pub(crate) logged: Option<Logged>,
    /// What the log was before the commit and after it, where that is known.
    pub(crate) before: Option<LogState>,
    pub(crate) after: Option<LogState>,
}

impl Commit {
    /// Whether this and the next, which concerns nobody, may be told as one: nobody else has committed between them, and no
    /// log has them one by one.
    fn is_one_with(&self, next: &Commit) -> bool {
        is_same_commit(self.after, next.before) && self.logged.is_none() && next.logged.is_none()
    }
}

/// What a commit has done, as its writer knows it.
pub(crate) struct Done {
    pub(crate) captured: Option<Captured>,
    pub(crate) logged: Option<Logged>,
    pub(crate) before: Option<LogState>,
    pub(crate) after: Option<LogState>,
}

/// What the live thread has to do.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) commits: VecDeque<Commit>,
    pub(crate) orders: VecDeque<Order>,
    /// Whether somebody watches what one of the commits has changed, or might.
    concerns_somebody: bool,
    /// Whether somebody else has committed, perhaps.
    pub(crate) called: bool,
    /// Whether commits were dropped.
    pub(crate) lost: bool,
    pub(crate) stop: bool,
}

impl Work {
    /// Whether the thread is to be woken for it.
    fn is_due(&self) -> bool {
        self.concerns_somebody || self.called || self.lost || self.stop || !self.orders.is_empty()
    }
}

#[derive(Default)]
struct Inbox {
    work: Work,
    /// How many changes the commits have, in all.
    held: usize,
    version: u64,
    /// Whether the thread waits to be woken.
    waits: bool,
    /// Whether a thread, the live one or another in its place, does what was taken.
    at_work: bool,
    /// Whether it has ended, and will not come again.
    ended: bool,
}

impl Inbox {
    /// What there is to do. Whoever takes it [leaves](Shared::leave) when it is done.
    fn take(&mut self) -> Work {
        (self.held, self.at_work) = (0, true);
        std::mem::take(&mut self.work)
    }

    fn put(&mut self, commit: Commit, concerns_nobody: bool) {
        self.work.concerns_somebody |= !concerns_nobody;
        let last = self.work.commits.back_mut().filter(|_| concerns_nobody);
        if let Some(last) = last.filter(|last| last.is_one_with(&commit)) {
            (last.version, last.after) = (commit.version, commit.after);
            return;
        }
        self.held += 1 + commit.captured.as_ref().map_or(0, Captured::len);
        if self.held > HELD_MAX {
            self.work.commits.clear();
            self.work.lost = true;
            return;
        }
        self.work.commits.push_back(commit);
    }
}

/// What writers, subscribers and the live thread share. Feeds have it for longer than their store is open, so nothing in it
/// has the file.
pub(crate) struct Shared {
    /// The process that has the threads.
    origin: Origin,
    pub(crate) observed: Arc<Observed>,
    /// Held from before a commit until it is in the inbox: who holds it and begins to read has, in the inbox or taken in,
    /// exactly the commits that he sees.
    hand_off: Mutex<()>,
    inbox: Mutex<Inbox>,
    waiting: Condvar,
    pub(crate) room: Arc<Room>,
    /// Whether a thread listens for commits of others.
    listens: bool,
    /// What the log was after the last commit that was taken in.
    seen: Mutex<Option<LogState>>,
    is_stopping: AtomicBool,
}

/// The store's side of it.
pub(crate) struct Link {
    pub(crate) shared: Arc<Shared>,
    /// What the rounds read by.
    readers: Arc<Readers>,
    /// Rung for the watchers of other processes, and heard of theirs.
    bell: Option<Arc<Bell>>,
    rounds: Arc<Rounds>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Link {
    pub(crate) fn new(readers: &Arc<Readers>, pin: &Arc<Pin>) -> Link {
        let shared = Arc::new(Shared::new(pin.origin(), pin.index().is_some()));
        let live = Live::new(Arc::clone(&shared), Arc::clone(readers), pin.index());
        Link {
            rounds: Arc::new(Rounds::new(&shared, live)),
            shared,
            readers: Arc::clone(readers),
            bell: pin.index().map(|index| Arc::new(Bell::new(index))),
            threads: Mutex::default(),
        }
    }

    /// Commits, and hands over what was captured; nothing where the commit fails.
    ///
    /// # Errors
    /// As `commit` does.
    #[inline]
    pub(crate) fn commit<R>(&self, commit: impl FnOnce() -> Result<(R, Done)>) -> Result<R> {
        let _within = Within::of(&self.shared);
        let _handing_over = lock(&self.shared.hand_off);
        let (result, done) = commit()?;
        if self.shared.observed.is_any() {
            self.shared.put(done);
        }
        Ok(result)
    }

    /// Wakes the thread, if there is something for it, and the watchers of other processes. The writer does so when he
    /// has given up his turn.
    #[inline]
    pub(crate) fn wake(&self) {
        if let Some(bell) = &self.bell {
            bell.ring();
        }
        if self.shared.observed.is_any() {
            self.shared.wake();
        }
    }

    /// Starts the threads, where they are not running.
    ///
    /// # Errors
    /// When the system has no more threads.
    pub(crate) fn start(&self) -> Result<()> {
        self.shared.check_process()?;
        let mut threads = lock(&self.threads);
        if !threads.is_empty() {
            return Ok(());
        }
        let rounds = Arc::clone(&self.rounds);
        threads.push(spawn("touchstone-live", move || rounds.run())?);
        if let Some(bell) = &self.bell {
            let (shared, bell) = (Arc::clone(&self.shared), Arc::clone(bell));
            threads.push(spawn("touchstone-bell", move || shared.listen(&bell))?);
        }
        Ok(())
    }

    /// Waits until every commit that has returned was told.
    ///
    /// # Errors
    /// When the system has no more threads, and as [`Rounds::finish`].
    pub(crate) fn wait_told(&self) -> Result<()> {
        self.start()?;
        self.rounds.finish()
    }

    /// Forgets the threads, which the child of a fork does not have.
    pub(crate) fn forget(&mut self) {
        std::mem::forget(std::mem::take(&mut self.threads));
    }

    /// Stops the threads: feeds end.
    pub(crate) fn stop(&self) {
        self.shared.stop();
        for thread in lock(&self.threads).drain(..) {
            // The thread itself may drop the last handle of the store, with an order.
            if thread.thread().id() != std::thread::current().id() {
                self.end_reading(&thread);
                let _ = thread.join();
            }
        }
    }

    /// Ends what a thread reads until it has ended itself: a watched statement may have no end, and would be waited for.
    /// Whoever else has read is done: snapshots keep the store.
    fn end_reading(&self, thread: &JoinHandle<()>) {
        const LOOKS: u32 = 100;
        const PAUSE: Duration = Duration::from_millis(1);
        let mut looks = 0;
        while !thread.is_finished() {
            looks += 1;
            if looks < LOOKS {
                std::thread::yield_now();
            } else {
                // Not once for all: a statement that is about to begin hears nothing.
                self.readers.expire(&self.readers.owners());
                std::thread::sleep(PAUSE);
            }
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|error| Error::new(ErrorKind::Io, format!("starting the threads of live queries: {error}")))
}

impl Shared {
    pub(super) fn new(origin: Origin, listens: bool) -> Shared {
        Shared {
            origin,
            observed: Arc::default(),
            hand_off: Mutex::new(()),
            inbox: Mutex::default(),
            waiting: Condvar::new(),
            room: Arc::default(),
            listens,
            seen: Mutex::new(None),
            is_stopping: AtomicBool::new(false),
        }
    }

    #[cold]
    pub(super) fn put(&self, done: Done) {
        let Done { captured, logged, before, after } = done;
        let concerns_nobody = captured.as_ref().is_some_and(|captured| self.concerns_nobody(captured));
        let mut inbox = lock(&self.inbox);
        if inbox.ended {
            return;
        }
        inbox.version += 1;
        let version = inbox.version;
        inbox.put(Commit { version, captured, logged, before, after }, concerns_nobody);
    }

    /// Nothing more is to be done.
    pub(super) fn stop(&self) {
        lock(&self.inbox).work.stop = true;
        self.is_stopping.store(true, Ordering::Relaxed);
        self.wake();
    }

    /// Whether nobody watches what a commit has changed. The thread is not woken for it, which costs the writer more than
    /// many a commit: it takes it in when it next has something to do. Who listens for others sees before long that the
    /// log is another, and then it has; where nobody listens it is woken.
    fn concerns_nobody(&self, captured: &Captured) -> bool {
        self.listens && captured.is_empty() && captured.generation == self.observed.generation()
    }

    /// # Errors
    /// [`Forked`](ErrorKind::Forked) in a child of the process that has the threads.
    pub(crate) fn check_process(&self) -> Result<()> {
        self.origin.check()
    }

    pub(super) fn wake(&self) {
        self.wake_with(lock(&self.inbox));
    }

    fn wake_with(&self, mut inbox: MutexGuard<'_, Inbox>) {
        if inbox.waits && !inbox.at_work && inbox.work.is_due() {
            inbox.waits = false;
            drop(inbox);
            self.waiting.notify_one();
        }
    }

    /// Gives the thread something to do.
    fn order(&self, order: Order) -> Result<()> {
        self.check_process()?;
        let mut inbox = lock(&self.inbox);
        if inbox.ended || inbox.work.stop {
            return Err(closed());
        }
        inbox.work.orders.push_back(order);
        drop(inbox);
        self.wake();
        Ok(())
    }

    /// Gives the thread something to do that nobody waits for. A thread that has ended need not do it.
    pub(crate) fn tell(&self, order: impl FnOnce(&mut Live) + Send + 'static) {
        let _ = self.order(Box::new(order));
    }

    /// Lets the thread do something, and waits for what comes of it.
    ///
    /// # Errors
    /// When the store is closed, or this is the thread that would answer, or one that it waits for; and as `work` does.
    pub(crate) fn ask<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Live) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        self.check_can_wait()?;
        let (sender, receiver) = mpsc::sync_channel(1);
        self.order(Box::new(move |live| {
            let _ = sender.send(work(live));
        }))?;
        receiver.recv().unwrap_or_else(|_| Err(closed()))
    }

    /// # Errors
    /// [`Nested`](ErrorKind::Nested) where the live thread would wait for itself.
    pub(super) fn check_can_wait(&self) -> Result<()> {
        if Within::is_in(self) { Err(asked_within()) } else { Ok(()) }
    }

    /// Waits until there is something to do that nobody does, and takes it; none once there will be nothing more.
    pub(super) fn wait(&self) -> Option<Work> {
        let mut inbox = lock(&self.inbox);
        while inbox.at_work || !inbox.work.is_due() {
            if inbox.ended {
                return None;
            }
            inbox.waits = true;
            inbox = wait(&self.waiting, inbox);
        }
        inbox.waits = false;
        let work = inbox.take();
        (!work.stop).then_some(work)
    }

    /// Takes what there is to do, where nobody does anything; with a look at what others have committed.
    ///
    /// # Errors
    /// When there will be nothing more.
    pub(super) fn take_in_place(&self) -> Result<Option<Work>> {
        let mut inbox = lock(&self.inbox);
        if inbox.ended || inbox.work.stop {
            return Err(closed());
        }
        inbox.work.called = true;
        Ok((!inbox.at_work).then(|| inbox.take()))
    }

    /// What was taken last is done.
    pub(super) fn leave(&self) {
        let mut inbox = lock(&self.inbox);
        inbox.at_work = false;
        self.wake_with(inbox);
    }

    /// Lets the thread, which calls this, look again at once.
    pub(crate) fn look_again(&self) {
        lock(&self.inbox).work.called = true;
    }

    /// Whether nothing is being committed, and nothing waits to be taken in. Who commits is not waited for.
    pub(crate) fn is_quiet(&self) -> bool {
        let nobody_commits = try_lock(&self.hand_off);
        nobody_commits.is_some() && lock(&self.inbox).work.commits.is_empty()
    }

    /// Begins something while nothing is being committed, and takes the commits that were before it; with a version
    /// that comes after theirs, and before all later ones.
    pub(crate) fn between_commits<R>(&self, begin: impl FnOnce() -> R) -> (R, Work, u64) {
        let _nobody_commits = lock(&self.hand_off);
        let begun = begin();
        let mut inbox = lock(&self.inbox);
        inbox.version += 1;
        inbox.held = 0;
        inbox.work.concerns_somebody = false;
        let commits = std::mem::take(&mut inbox.work.commits);
        let lost = std::mem::take(&mut inbox.work.lost);
        (begun, Work { commits, lost, ..Work::default() }, inbox.version)
    }

    /// Notes what was taken in, for the thread that listens for others.
    pub(crate) fn note_seen(&self, state: Option<LogState>) {
        *lock(&self.seen) = state;
    }

    /// Listens for commits of others until the store is closed, and calls the live thread when there may be one.
    fn listen(&self, bell: &Bell) {
        /// How long a wait may be that nothing ends.
        const WAIT: Duration = Duration::from_millis(100);
        let is_stopping = || self.is_stopping.load(Ordering::Relaxed);
        while !is_stopping() {
            let state = bell.settled(is_stopping);
            if self.observed.is_any() && self.is_news(state) {
                lock(&self.inbox).work.called = true;
                self.wake();
            }
            if let Some(state) = state {
                bell.wait(state, WAIT, is_stopping);
            }
        }
        bell.leave();
    }

    /// Whether the log may have what was not taken in. A header that stays half written is that of a writer who has died
    /// after he committed: whoever reads mends it, and sees the commit.
    fn is_news(&self, state: Option<LogState>) -> bool {
        !is_same_commit(*lock(&self.seen), state)
    }

    /// Nobody will come for orders any more. Who waits for an answer is told by the other end of its channel, which goes with the
    /// order: with what was left, and is given back.
    pub(super) fn end(&self) -> Work {
        let mut inbox = lock(&self.inbox);
        (inbox.ended, inbox.at_work) = (true, false);
        let left = std::mem::take(&mut inbox.work);
        drop(inbox);
        self.waiting.notify_one();
        left
    }
}

/// While it is there, its thread is the one of live queries, or one that this waits for: within a commit. What a record's
/// own code, or a task's waker, asks there would be answered by nobody.
pub(super) struct Within;

thread_local! {
    /// Of which stores: of several, where such code commits to another store.
    static WITHIN: RefCell<Vec<*const Shared>> = const { RefCell::new(Vec::new()) };
}

impl Within {
    #[inline]
    pub(super) fn of(shared: &Shared) -> Within {
        // A thread that ends may write still, when it drops what it has of its own: nothing is asked from then on.
        let _ = WITHIN.try_with(|stores| stores.borrow_mut().push(shared));
        Within
    }

    fn is_in(shared: &Shared) -> bool {
        let is_in = |stores: &RefCell<Vec<_>>| stores.borrow().iter().any(|store| ptr::eq(*store, shared));
        WITHIN.try_with(is_in).unwrap_or(false)
    }
}

impl Drop for Within {
    #[inline]
    fn drop(&mut self) {
        let _ = WITHIN.try_with(|stores| stores.borrow_mut().pop());
    }
}

#[cold]
fn asked_within() -> Error {
    let why = "live queries are asked by what they call themselves, a record's own code or a task's waker, and would wait for it";
    Error::new(ErrorKind::Nested, format!("{why} (ask on another thread, or in the task)"))
}

#[cold]
fn closed() -> Error {
    Error::new(ErrorKind::Refused, "the store was closed, and its feeds with it")
}
