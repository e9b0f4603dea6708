//! The live thread's inbox: committing threads put commits into it, subscribers put orders, and both wake the thread.
//!
//! `hand_off` orders commits and snapshots: a committing thread holds it from before the commit until the commit is in
//! the inbox, the live thread while it begins a snapshot and empties the inbox. So the live thread has taken exactly
//! those of the store's commits that its snapshot sees. Lock order: `hand_off`, then the list of topics, an interest's
//! `known`, the readers or `inbox`. A round locks `hand_off`, so a thread that holds it never waits for a round
//! ([`Within`]). A thread that has the turn may wait for a round, in which a record's own code may write: its write is then
//! refused the turn ([`Turns::await_round`]). `inbox` guards the state of the rounds: no thread is at work; one is, from
//! `take` to `leave`; or the rounds have ended.

use super::capture::Captured;
use super::changes::HELD_MAX;
use super::commit::{Commit, is_same_commit};
use super::mailbox::Room;
use super::observed::Observed;
use super::round::Rounds;
use super::thread::{Job, Live};
use crate::engine::commit_watch::CommitWatch;
use crate::engine::fork::Origin;
use crate::engine::log::LogState;
use crate::engine::pin::Pin;
use crate::session::readers::Readers;
use crate::session::turn::{AwaitedRound, Turns};
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::sync::{
    Arc, Condvar, HAND_OFF, INBOX, LIVE_THREADS, Mutex, MutexGuard, SEEN, lock, try_lock, wait,
};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

/// The work of one round.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) commits: VecDeque<Commit>,
    pub(crate) orders: VecDeque<Job>,
    /// Whether a live query watches rows that one of the commits changed, or may watch them.
    concerns_somebody: bool,
    /// Whether to look for commits of other stores and processes.
    pub(crate) called: bool,
    /// Whether commits were dropped.
    pub(crate) lost: bool,
    pub(crate) stop: bool,
}

impl Work {
    /// Whether to wake the live thread for it.
    fn is_due(&self) -> bool {
        self.concerns_somebody || self.called || self.lost || self.stop || !self.orders.is_empty()
    }
}

#[derive(Default)]
struct Inbox {
    work: Work,
    /// The number of changes in all the commits.
    held: usize,
    version: u64,
    /// Whether the live thread sleeps.
    waits: bool,
    /// Whether a thread does a round: the live thread, or another in its place.
    at_work: bool,
    /// Whether the rounds have ended: there will be no more.
    ended: bool,
}

/// Commits that the inbox does not keep.
#[derive(Default)]
#[expect(dead_code, reason = "they are only freed")]
struct Dropped {
    earlier: VecDeque<Commit>,
    newest: Option<Commit>,
}

impl Inbox {
    /// Takes all work. The thread that takes it calls [`leave`](Shared::leave) when it is done.
    fn take(&mut self) -> Work {
        (self.held, self.at_work) = (0, true);
        std::mem::take(&mut self.work)
    }

    /// Returns what is dropped, to be freed after the inbox is unlocked: that runs the records' own code.
    #[must_use = "it is freed after the inbox is unlocked"]
    fn put(&mut self, commit: Commit, concerns_nobody: bool) -> Dropped {
        self.work.concerns_somebody |= !concerns_nobody;
        let last = self.work.commits.back_mut().filter(|_| concerns_nobody);
        if let Some(last) = last.filter(|last| last.is_one_with(&commit)) {
            (last.version, last.after) = (commit.version, commit.after);
            return Dropped { newest: Some(commit), ..Dropped::default() };
        }
        self.held += 1 + commit.captured.as_ref().map_or(0, Captured::len);
        if self.held > HELD_MAX {
            self.work.lost = true;
            return Dropped { earlier: std::mem::take(&mut self.work.commits), newest: Some(commit) };
        }
        self.work.commits.push_back(commit);
        Dropped::default()
    }
}

/// The part that writers, subscribers and the live thread share. Feeds keep it for longer than the store is open, so
/// nothing in it holds the file open.
pub(crate) struct Shared {
    /// The process that started the threads.
    origin: Origin,
    pub(crate) observed: Arc<Observed>,
    /// Held while a commit is made and handed over, and while a snapshot of the live thread begins.
    hand_off: Mutex<(), HAND_OFF>,
    inbox: Mutex<Inbox, INBOX>,
    waiting: Condvar,
    pub(crate) room: Arc<Room>,
    turns: Arc<Turns>,
    /// Whether a thread listens for commits of others.
    listens: bool,
    /// The state of the log after the last commit that the live thread has applied.
    seen: Mutex<Option<LogState>, SEEN>,
    is_stopping: AtomicBool,
}

/// The store's own part.
pub(crate) struct Link {
    pub(crate) shared: Arc<Shared>,
    /// The rounds read through these.
    readers: Arc<Readers>,
    /// The commit watch: wakes the watchers of other processes, and waits for their commits. `None` without an index.
    commit_watch: Option<Arc<CommitWatch>>,
    rounds: Arc<Rounds>,
    threads: Mutex<Vec<JoinHandle<()>>, LIVE_THREADS>,
}

impl Link {
    pub(crate) fn new(readers: &Arc<Readers>, pin: &Arc<Pin>, turns: &Arc<Turns>) -> Link {
        let shared = Arc::new(Shared::new(pin.origin(), turns, pin.index().is_some()));
        let live = Live::new(Arc::clone(&shared), Arc::clone(readers), pin.index());
        Link {
            rounds: Arc::new(Rounds::new(&shared, live)),
            shared,
            readers: Arc::clone(readers),
            commit_watch: pin.index().map(|index| Arc::new(CommitWatch::new(index))),
            threads: Mutex::default(),
        }
    }

    /// Locks `hand_off` before a commit. After the commit call [`finish`](HandOver::finish); if it fails, drop the value.
    #[inline]
    pub(crate) fn hand_over(&self) -> HandOver<'_> {
        let within = Within::of(&self.shared);
        HandOver { shared: &self.shared, _locked: lock(&self.shared.hand_off), _within: within }
    }

    /// Wakes the live thread, if there is work, and the watchers of other processes. The committing thread calls this
    /// after it has passed on its turn.
    #[inline]
    pub(crate) fn wake(&self) {
        if let Some(commit_watch) = &self.commit_watch {
            commit_watch.ring();
        }
        if self.shared.observed.is_any() {
            self.shared.wake();
        }
    }

    /// Starts the threads, unless they run.
    ///
    /// # Errors
    /// If the system has no more threads, or if the process that opened the store has forked and this is the child.
    pub(crate) fn start(&self) -> Result<()> {
        self.shared.check_process()?;
        let mut threads = lock(&self.threads);
        if !threads.is_empty() {
            return Ok(());
        }
        let rounds = Arc::clone(&self.rounds);
        threads.push(spawn("touchstone-live", move || rounds.run())?);
        if let Some(commit_watch) = &self.commit_watch {
            let (shared, commit_watch) = (Arc::clone(&self.shared), Arc::clone(commit_watch));
            threads.push(spawn("touchstone-watch", move || shared.listen(&commit_watch))?);
        }
        Ok(())
    }

    /// Waits until each commit that has returned is delivered.
    ///
    /// # Errors
    /// As for [`start`](Link::start) and [`Rounds::finish`].
    pub(crate) fn wait_told(&self) -> Result<()> {
        self.start()?;
        self.rounds.finish()
    }

    /// Forgets the threads: the child of a fork does not have them.
    pub(crate) fn forget(&mut self) {
        std::mem::forget(std::mem::take(&mut self.threads));
    }

    /// Stops the threads, which ends the feeds.
    pub(crate) fn stop(&self) {
        self.shared.stop();
        for thread in lock(&self.threads).drain(..) {
            // An order may drop the store's last handle: then this is the live thread itself.
            if thread.thread().id() != std::thread::current().id() {
                self.end_reading(&thread);
                let _ = thread.join();
            }
        }
    }

    /// Expires the snapshots of a thread until it has ended: a watched statement may run forever, and the caller waits
    /// for the thread. No other thread still reads, because a snapshot keeps the store open.
    fn end_reading(&self, thread: &JoinHandle<()>) {
        const LOOKS: u32 = 100;
        const PAUSE: Duration = Duration::from_millis(1);
        let mut looks = 0;
        while !thread.is_finished() {
            looks += 1;
            if looks < LOOKS {
                std::thread::yield_now();
            } else {
                // Again at each look: a statement that is about to begin does not notice an expiry.
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

/// The lock `hand_off`, while a thread commits.
#[must_use = "the lock is released when this is dropped"]
pub(crate) struct HandOver<'l> {
    shared: &'l Shared,
    _locked: MutexGuard<'l, ()>,
    /// Dropped after the lock is released.
    _within: Within,
}

impl HandOver<'_> {
    /// Puts the commit, which has succeeded, into the inbox, and releases the lock.
    #[inline]
    pub(crate) fn finish(self, commit: Commit) {
        if self.shared.observed.is_any() {
            self.shared.put(commit);
        }
    }
}

impl Shared {
    pub(super) fn new(origin: Origin, turns: &Arc<Turns>, listens: bool) -> Shared {
        Shared {
            origin,
            observed: Arc::default(),
            hand_off: Mutex::new(()),
            inbox: Mutex::default(),
            waiting: Condvar::new(),
            room: Arc::default(),
            turns: Arc::clone(turns),
            listens,
            seen: Mutex::new(None),
            is_stopping: AtomicBool::new(false),
        }
    }

    #[cold]
    pub(super) fn put(&self, mut commit: Commit) {
        let concerns_nobody = commit.captured.as_ref().is_some_and(|captured| self.concerns_nobody(captured));
        let mut inbox = lock(&self.inbox);
        if inbox.ended {
            return;
        }
        inbox.version += 1;
        commit.version = inbox.version;
        let dropped = inbox.put(commit, concerns_nobody);
        drop(inbox);
        drop(dropped);
    }

    /// Asks the threads to end.
    pub(super) fn stop(&self) {
        lock(&self.inbox).work.stop = true;
        self.is_stopping.store(true, Ordering::Relaxed);
        self.wake();
    }

    /// Whether nothing that a commit changed is watched. Then the live thread is not woken, because that costs the
    /// writer more than many a commit does: it takes the commit in its next round. The listening thread causes one
    /// soon, since it sees that the log has changed. Without a listening thread, the live thread is woken in any case.
    fn concerns_nobody(&self, captured: &Captured) -> bool {
        self.listens && captured.is_empty() && captured.generation == self.observed.generation()
    }

    /// # Errors
    /// If the process that opened the store has forked and this is the child ([`Forked`](ErrorKind::Forked)).
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

    /// Gives the live thread an order.
    fn order(&self, order: Job) -> Result<()> {
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

    /// Gives the live thread an order without an answer. It is dropped if the thread has ended.
    pub(crate) fn tell(&self, order: impl FnOnce(&mut Live) + Send + 'static) {
        let _ = self.order(Box::new(order));
    }

    /// Has the live thread run `work`, and waits for the result.
    ///
    /// # Errors
    /// If the store is closed, or its process has forked and this is the child; if this is the live thread, or one that
    /// the live thread waits for; and if `work` fails.
    pub(crate) fn ask<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Live) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        self.check_can_wait()?;
        self.check_process()?;
        let (sender, receiver) = mpsc::sync_channel(1);
        let asker = Asker { awaited: self.turns.await_round(), sender };
        self.order(Box::new(move |live| asker.answer(work(live))))?;
        receiver.recv().unwrap_or_else(|_| Err(closed()))
    }

    /// Whether the calling thread does a round.
    pub(crate) fn is_in_round(&self) -> bool {
        Within::is_in(self)
    }

    /// # Errors
    /// If the live thread would wait for itself ([`Nested`](ErrorKind::Nested)).
    pub(super) fn check_can_wait(&self) -> Result<()> {
        if Within::is_in(self) { Err(asked_within()) } else { Ok(()) }
    }

    /// Waits until there is work and no thread is at work, and takes it; `None` if there will be no more rounds.
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

    /// Takes the work, unless a thread is at work. The work includes a look for commits of others.
    ///
    /// # Errors
    /// If there will be no more rounds.
    pub(super) fn take_in_place(&self) -> Result<Option<Work>> {
        let mut inbox = lock(&self.inbox);
        if inbox.ended || inbox.work.stop {
            return Err(closed());
        }
        inbox.work.called = true;
        Ok((!inbox.at_work).then(|| inbox.take()))
    }

    /// Ends the work that was taken last.
    pub(super) fn leave(&self) {
        let mut inbox = lock(&self.inbox);
        inbox.at_work = false;
        self.wake_with(inbox);
    }

    /// Has the live thread look again after this round, which calls this: [`leave`](Shared::leave) wakes it.
    pub(crate) fn look_again(&self) {
        lock(&self.inbox).work.called = true;
    }

    /// Whether no commit is under way, and the inbox has none. It does not wait for a commit that is under way.
    pub(crate) fn is_quiet(&self) -> bool {
        let nobody_commits = try_lock(&self.hand_off);
        nobody_commits.is_some() && lock(&self.inbox).work.commits.is_empty()
    }

    /// Runs `begin` while no commit is under way, and takes the commits before it from the inbox. The version is
    /// greater than theirs, and less than those of later commits.
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

    /// Notes the state of the log after the applied commits, for the listening thread.
    pub(crate) fn note_seen(&self, state: Option<LogState>) {
        *lock(&self.seen) = state;
    }

    /// Waits for commits of others until the store is closed, and calls the live thread when there may be one.
    fn listen(&self, commit_watch: &CommitWatch) {
        /// The longest wait without a wake-up.
        const WAIT: Duration = Duration::from_millis(100);
        let is_stopping = || self.is_stopping.load(Ordering::Relaxed);
        while !is_stopping() {
            let state = commit_watch.settled(is_stopping);
            if self.observed.is_any() && self.is_news(state) {
                lock(&self.inbox).work.called = true;
                self.wake();
            }
            if let Some(state) = state {
                commit_watch.wait(state, WAIT, is_stopping);
            }
        }
        commit_watch.leave();
    }

    /// Whether the log may have commits that are not applied. If its header stays half written, its writer has died
    /// after the commit: the next reader repairs the header and sees the commit.
    fn is_news(&self, state: Option<LogState>) -> bool {
        !is_same_commit(*lock(&self.seen), state)
    }

    /// Ends the rounds: no thread takes work any more. Returns the work that is left. Dropping its orders drops their
    /// channels, and each thread that waits for an answer gets an error.
    pub(super) fn end(&self) -> Work {
        let mut inbox = lock(&self.inbox);
        (inbox.ended, inbox.at_work) = (true, false);
        let left = std::mem::take(&mut inbox.work);
        drop(inbox);
        self.waiting.notify_one();
        left
    }
}

/// A thread that waits for an answer of the live thread.
struct Asker<R> {
    /// Dropped before the sender: when the thread goes on, it waits for no round any more.
    awaited: Option<AwaitedRound>,
    sender: mpsc::SyncSender<Result<R>>,
}

impl<R> Asker<R> {
    fn answer(self, result: Result<R>) {
        let Asker { awaited, sender } = self;
        drop(awaited);
        let _ = sender.send(result);
    }
}

/// Marks its thread, while it exists, as one that does rounds, or that a round waits for because it commits. A record's
/// own code or a task's waker must not ask the live thread there: no thread would answer.
pub(super) struct Within;

thread_local! {
    /// The stores concerned: several, if such code commits to another store.
    static WITHIN: RefCell<Vec<*const Shared>> = const { RefCell::new(Vec::new()) };
}

impl Within {
    #[inline]
    pub(super) fn of(shared: &Shared) -> Within {
        // A thread may still write while its thread-locals are dropped. From then on it asks nothing.
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

#[cfg(test)]
mod tests {
    use super::Shared;
    use crate::types::sync::Arc;
    use crate::{Record, Store};
    use std::cell::RefCell;
    use std::sync::mpsc;

    thread_local! {
        /// Is told of each record that this thread frees.
        static TOLD: RefCell<Option<Arc<Shared>>> = const { RefCell::new(None) };
    }

    #[derive(Record)]
    struct Note {
        #[record(key)]
        id: i64,
    }

    impl Drop for Note {
        fn drop(&mut self) {
            TOLD.with_borrow(|shared| shared.iter().for_each(|shared| shared.tell(|_| {})));
        }
    }

    /// Regression: commits that were too many for the inbox were freed under its lock. A record whose `Drop` gave the
    /// live thread an order, as the end of a subscription does, waited for that lock.
    #[test]
    fn records_of_dropped_commits_are_freed_after_the_inbox_is_unlocked() {
        let directory = tempfile::tempdir().expect("there is room");
        let store = Store::open(directory.path().join("notes.db")).expect("it opens");
        let feed = store.feed().expect("the threads start");
        let all = feed.query::<Note>().watch().expect("it is readable");
        let shared = Arc::clone(&store.writes().live.shared);
        let (started, has_started) = mpsc::channel();
        let (release, is_released) = mpsc::channel::<()>();
        shared.tell(move |_| {
            let _ = started.send(());
            let _ = is_released.recv();
        });
        has_started.recv().expect("the live thread runs");
        TOLD.set(Some(shared));
        for begin in [0, 700] {
            let notes: Vec<Note> = (begin..begin + 700).map(|id| Note { id }).collect();
            store.insert_all(&notes).expect("it is written");
        }
        TOLD.set(None);
        drop(release);
        store.wait_delivered().expect("the live thread goes on");
        let batch = feed.try_next().expect("the feed is well").expect("all of it was told");
        assert!(batch.get(all.id()).is_some());
    }
}
