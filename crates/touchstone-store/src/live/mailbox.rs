//! The mailbox of a feed: a bounded queue of updates. One thread computes updates, puts them in and never waits.
//! Receivers (threads, tasks, a listener) take them out. The mailbox keeps updates as the feed's mode says, wakes
//! waiting receivers, and limits the memory that a slow receiver can cost. It computes no updates and knows no queries.
//!
//! Except for [`Supersede`], no foreign code runs while the mailbox is locked. So nothing is freed there: the producer
//! gets back the updates that its batch superseded, and frees them later; a receiver frees the batch that it took, and
//! updates that were removed in the queue; a thread that removes a subscription frees its pending update.

mod contents;
mod listener;
mod room;
#[cfg(test)]
pub(super) mod sample;
#[cfg(all(test, not(shuttle)))]
mod tests;

pub(crate) use listener::{Listener, Outcome, listen};
pub(crate) use room::Room;

use crate::types::sync::{Arc, Condvar, MAILBOX, Mutex, MutexGuard, lock, wait, wait_for};
use contents::{Contents, PutEffect};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// The most wakers to keep. Tasks that are gone leave theirs behind: at this number all tasks are woken, and those that
/// still wait register again.
const WAKERS_MAX: usize = 1024;

/// Which batches a feed keeps until a receiver takes them.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// use touchstone_store::{Mode, Overflow};
///
/// let newest = store.feed()?;
/// let every = store.feed_with(Mode::Every { batches: 100, overflow: Overflow::Resync })?;
/// let watched = (newest.query::<Task>().watch_count()?, every.query::<Task>().watch_count()?);
/// store.insert(&task(1, None))?;
/// store.insert(&task(2, None))?;
/// store.wait_delivered()?;
/// let counts = |feed: &touchstone_store::Feed| {
///     let updates = std::iter::from_fn(|| feed.try_next().transpose());
///     updates.map(|batch| batch?.iter().next().expect("it has one").count()).collect::<Result<Vec<_>, _>>()
/// };
/// assert_eq!(counts(&newest)?, [2]);
/// assert_eq!(counts(&every)?, [1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The newest update of each subscription: it replaces one that has not been taken. So the number of subscriptions
    /// limits the queue, however long no receiver comes.
    Latest,
    /// Every batch, up to a limit: for a receiver that must see each transaction.
    Every {
        /// The limit, at least one.
        batches: usize,
        /// The feed's reaction to more batches.
        overflow: Overflow,
    },
}

/// How a feed reacts if it is full, because no receiver has come for too long.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// use touchstone_store::{ErrorKind, Mode, Overflow};
///
/// let feed = store.feed_with(Mode::Every { batches: 1, overflow: Overflow::End })?;
/// let all = feed.query::<Task>().watch()?;
/// store.insert(&task(1, None))?;
/// store.insert(&task(2, None))?;
/// store.wait_delivered()?;
/// assert_eq!(feed.next().map_err(|error| error.kind()).err(), Some(ErrorKind::Busy));
/// assert!(feed.next()?.is_none(), "it was told once");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Writers wait until a batch is taken, for at most [`busy_timeout`](crate::Options::busy_timeout), and then fail
    /// with [`Busy`](crate::ErrorKind::Busy). Batches of transactions under way are kept beyond the limit.
    Block,
    /// The batches become one, a [resync](crate::Batch::is_resync) with the newest update of each subscription. Later
    /// batches are merged into it until it is taken.
    Resync,
    /// The batches are dropped, and the feed ends with [`Busy`](crate::ErrorKind::Busy).
    End,
}

/// An update that can replace an older one that has not been taken.
pub(crate) trait Supersede {
    /// Takes from the older update the state that the receiver had before it. This must be quick and free nothing,
    /// because the mailbox is locked: what nobody needs any more stays in the older update, which is freed later.
    fn supersede(&mut self, older: &mut Self);
}

/// Identifies a subscription of a mailbox. An index is used again after a removal, a slot never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slot {
    index: u32,
    generation: u32,
}

impl Slot {
    /// Less than the greatest number of subscriptions that the mailbox has had at one time.
    #[cfg(test)]
    pub(crate) fn index(self) -> u32 {
        self.index
    }
}

/// The updates of one transaction, at most one per subscription; or of several, at the version of the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Batch<U> {
    pub(crate) version: u64,
    /// Whether transactions before this version had no batch of their own.
    pub(crate) is_resync: bool,
    pub(crate) updates: Vec<(Slot, U)>,
}

impl<U> Default for Batch<U> {
    fn default() -> Batch<U> {
        Batch { version: 0, is_resync: false, updates: Vec::new() }
    }
}

/// Updates that no receiver will take. Dropping them frees them, which may take time.
#[must_use = "dropping it may take its time"]
pub(crate) struct Leftover<U> {
    lists: Vec<Vec<(Slot, U)>>,
}

impl<U> Default for Leftover<U> {
    fn default() -> Leftover<U> {
        Leftover { lists: Vec::new() }
    }
}

impl<U> Leftover<U> {
    /// Whether there is nothing to free.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    fn add(&mut self, updates: Vec<(Slot, U)>) {
        if !updates.is_empty() {
            self.lists.push(updates);
        }
    }

    fn add_queue(&mut self, batches: impl Iterator<Item = Batch<U>>) {
        self.lists.extend(batches.map(|batch| batch.updates));
    }
}

/// Why a feed ended, if its receiver did not close it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended<E> {
    /// The queue was full ([`Overflow::End`]).
    Overflowed,
    /// Its producer ended it.
    Failed(E),
}

/// The queue, and the threads and tasks that wait for it.
pub(crate) struct Mailbox<U, E> {
    state: Mutex<MailboxState<U, E>, MAILBOX>,
    woken: Condvar,
    room: Arc<Room>,
}

struct MailboxState<U, E> {
    contents: Contents<U>,
    ending: Option<Ending<E>>,
    /// The number of threads that wait at `woken`.
    waiting: usize,
    /// The wakers of waiting tasks.
    wakers: Vec<Waker>,
    /// Whether the room counts this mailbox as full.
    is_full: bool,
}

struct Ending<E> {
    why: Option<Arc<Ended<E>>>,
    /// Whether a receiver has got the reason.
    is_told: bool,
}

/// The result of one attempt to take a batch.
enum Attempt<U, E> {
    Batch(Batch<U>),
    Failed(Arc<Ended<E>>),
    /// There will be no more batches.
    Over,
    /// There is no batch yet.
    Nothing,
}

/// A check that each receiver passes to take a batch, while the mailbox is locked.
trait TakeCheck {
    /// Runs `take`, unless the gate is shut: then the result is [`Attempt::Over`].
    fn pass<U, E>(&self, take: impl FnOnce() -> Attempt<U, E>) -> Attempt<U, E>;

    /// Whether the gate is shut. The thread that shuts it wakes all waiting receivers afterwards.
    fn is_shut(&self) -> bool;
}

/// The gate that is always open.
struct AlwaysOpen;

impl TakeCheck for AlwaysOpen {
    fn pass<U, E>(&self, take: impl FnOnce() -> Attempt<U, E>) -> Attempt<U, E> {
        take()
    }

    fn is_shut(&self) -> bool {
        false
    }
}

/// The threads and tasks to wake after the mailbox is unlocked. Woken earlier, they would wait for the lock at once.
#[derive(Default)]
#[must_use = "somebody may wait for ever"]
struct Calls {
    /// The number of threads: none, one, or, for any other number, all.
    threads: usize,
    tasks: Vec<Waker>,
    writers: bool,
}

/// For the producer and the subscribers.
impl<U: Supersede, E: Clone> Mailbox<U, E> {
    /// An empty mailbox. While it is full, writers wait at the room.
    pub(crate) fn new(mode: Mode, room: Arc<Room>) -> Mailbox<U, E> {
        let contents = Contents::new(mode);
        let state = MailboxState { contents, ending: None, waiting: 0, wakers: Vec::new(), is_full: false };
        Mailbox { state: Mutex::new(state), woken: Condvar::new(), room }
    }

    /// Adds a subscription.
    pub(crate) fn add(&self) -> Slot {
        lock(&self.state).contents.add()
    }

    /// Removes a subscription; returns whether it was there. After the return, no receiver gets an update of it.
    pub(crate) fn remove(&self, slot: Slot) -> bool {
        let mut leftover = Leftover::default();
        let mut state = lock(&self.state);
        let was_there = state.contents.remove(slot, &mut leftover);
        let calls = Calls { writers: self.tell_room(&mut state), ..Calls::default() };
        self.unlock(state, calls);
        was_there
    }

    /// Puts a batch, if it has updates. Returns the updates that no receiver will take: superseded ones, those of
    /// removed subscriptions, and all of them if the mailbox is closed or this overflow ends it.
    pub(crate) fn put(&self, batch: Batch<U>) -> Leftover<U> {
        let mut leftover = Leftover::default();
        let mut state = lock(&self.state);
        if state.ending.is_some() {
            leftover.add(batch.updates);
            return leftover;
        }
        let mut calls = match state.contents.put(batch, &mut leftover) {
            PutEffect::None => Calls::default(),
            PutEffect::Batch => state.call(1),
            PutEffect::End => {
                state.end(&mut Some(Arc::new(Ended::Overflowed)));
                state.call(usize::MAX)
            }
        };
        calls.writers = self.tell_room(&mut state);
        self.unlock(state, calls);
        leftover
    }

    /// Closes the mailbox: receivers can still take the pending batches, and then there are no more.
    pub(crate) fn close(&self) {
        self.end(None);
    }

    /// As [`close`](Mailbox::close), but one receiver gets the error, once.
    pub(crate) fn close_with(&self, error: E) {
        self.end(Some(Ended::Failed(error)));
    }

    /// Closes the mailbox and frees the pending updates: its receivers will not come again.
    pub(crate) fn abandon(&self) {
        let mut leftover = Leftover::default();
        self.end(None);
        lock(&self.state).contents.clear(&mut leftover);
    }

    /// Why the mailbox has ended, for any number of calls; `None` before, and after [`close`](Mailbox::close).
    #[cfg(test)]
    pub(crate) fn ended(&self) -> Option<Ended<E>> {
        let why = lock(&self.state).ending.as_ref().and_then(|ending| ending.why.clone());
        why.map(|why| (*why).clone())
    }

    /// Whether the mailbox is closed; there may be batches left to take.
    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.state).ending.is_some()
    }

    fn end(&self, why: Option<Ended<E>>) {
        let mut why = why.map(Arc::new);
        let mut state = lock(&self.state);
        state.end(&mut why);
        let mut calls = state.call(usize::MAX);
        calls.writers = self.tell_room(&mut state);
        self.unlock(state, calls);
    }
}

/// For receivers. Any number of them may call at one time: each batch goes to one.
impl<U: Supersede, E: Clone> Mailbox<U, E> {
    /// Waits for a batch and takes it; `None` if the mailbox has ended.
    ///
    /// # Errors
    /// If the mailbox has ended for a reason ([`Ended`]): once; later calls return `None`.
    pub(crate) fn next(&self) -> Result<Option<Batch<U>>, Ended<E>> {
        self.take(&AlwaysOpen, None)
    }

    /// As [`next`](Mailbox::next), but waits for at most `time`; `None` also after that time.
    ///
    /// # Errors
    /// As [`next`](Mailbox::next).
    pub(crate) fn next_within(&self, time: Duration) -> Result<Option<Batch<U>>, Ended<E>> {
        self.take(&AlwaysOpen, Instant::now().checked_add(time))
    }

    /// As [`next`](Mailbox::next), but does not wait; `None` also if there is no batch yet.
    ///
    /// # Errors
    /// As [`next`](Mailbox::next).
    pub(crate) fn try_next(&self) -> Result<Option<Batch<U>>, Ended<E>> {
        self.step(&AlwaysOpen).into_result()
    }

    /// As [`next`](Mailbox::next), for a task: the mailbox wakes it when there may be a batch. A batch wakes all
    /// waiting tasks: the mailbox cannot know which of them are still interested.
    pub(crate) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Result<Batch<U>, Ended<E>>>> {
        loop {
            match self.step(&AlwaysOpen) {
                Attempt::Nothing if self.register(context.waker()) => return Poll::Pending,
                Attempt::Nothing => {}
                step => return Poll::Ready(step.into_result().transpose()),
            }
        }
    }

    /// Takes a batch through the gate. Waits for one until `end`, or, without an `end`, for any time.
    fn take(&self, gate: &impl TakeCheck, end: Option<Instant>) -> Result<Option<Batch<U>>, Ended<E>> {
        let mut is_over = false;
        loop {
            match self.step(gate) {
                // A wake-up may reach a thread just as its time ends. So the thread looks once more: otherwise the
                // batch could stay here while another receiver sleeps.
                Attempt::Nothing if !is_over => is_over = self.park(gate, end),
                step => return step.into_result(),
            }
        }
    }

    fn step(&self, gate: &impl TakeCheck) -> Attempt<U, E> {
        let mut leftover = Leftover::default();
        let mut state = lock(&self.state);
        let step = gate.pass(|| state.take(&mut leftover));
        let calls = Calls { writers: self.tell_room(&mut state), ..Calls::default() };
        self.unlock(state, calls);
        step
    }

    /// Waits until there may be a batch, the mailbox has ended, or the gate is shut; returns whether the time is over.
    fn park(&self, gate: &impl TakeCheck, end: Option<Instant>) -> bool {
        let mut state = lock(&self.state);
        let mut is_over = false;
        while !is_over && !state.is_ready() && !gate.is_shut() {
            state.waiting += 1;
            (state, is_over) = match end {
                Some(end) => {
                    let left = end.saturating_duration_since(Instant::now());
                    wait_for(&self.woken, &self.state, state, left)
                }
                None => (wait(&self.woken, state), false),
            };
            state.waiting -= 1;
        }
        is_over
    }

    /// Notes the waker of a task; returns `false` if there may be a batch already, or the mailbox has ended.
    fn register(&self, waker: &Waker) -> bool {
        // Cloning and dropping a waker is the runtime's code, which must not run under the lock.
        let waker = waker.clone();
        let mut state = lock(&self.state);
        if state.is_ready() {
            return false;
        }
        if state.wakers.iter().any(|other| other.will_wake(&waker)) {
            drop(state);
            return true;
        }
        let is_crowded = state.wakers.len() >= WAKERS_MAX;
        let tasks = if is_crowded { std::mem::take(&mut state.wakers) } else { Vec::new() };
        state.wakers.push(waker);
        self.unlock(state, Calls { tasks, ..Calls::default() });
        true
    }

    /// Wakes all waiting threads, although only a cancelled listener must notice. A single wake-up could go to a thread
    /// that began to wait just before; that for a later batch could then go to the listener, which takes nothing.
    fn rouse(&self) {
        let state = lock(&self.state);
        let threads = if state.waiting == 0 { 0 } else { usize::MAX };
        let calls = Calls { threads, ..Calls::default() };
        self.unlock(state, calls);
    }
}

impl<U, E> Mailbox<U, E> {
    fn unlock(&self, state: MutexGuard<'_, MailboxState<U, E>>, calls: Calls) {
        drop(state);
        match calls.threads {
            0 => {}
            1 => self.woken.notify_one(),
            _ => self.woken.notify_all(),
        }
        for waker in calls.tasks {
            // The panic of a runtime that is woken must not reach the producer; the panic hook has reported it.
            _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
        if calls.writers {
            self.room.ring();
        }
    }
}

impl<U: Supersede, E> Mailbox<U, E> {
    /// Reports to the room whether this mailbox is full, if that has changed; returns whether to wake the writers.
    fn tell_room(&self, state: &mut MailboxState<U, E>) -> bool {
        let is_full = state.ending.is_none() && state.contents.is_full();
        if is_full == state.is_full {
            return false;
        }
        state.is_full = is_full;
        if is_full {
            self.room.fill();
        }
        !is_full && self.room.clear()
    }
}

impl<U, E> Drop for Mailbox<U, E> {
    fn drop(&mut self) {
        if lock(&self.state).is_full && self.room.clear() {
            self.room.ring();
        }
    }
}

impl<U: Supersede, E> MailboxState<U, E> {
    /// Only the first end counts. The reason of a later one stays with the caller: it is not freed under the lock.
    fn end(&mut self, why: &mut Option<Arc<Ended<E>>>) {
        if self.ending.is_none() {
            self.ending = Some(Ending { is_told: why.is_none(), why: why.take() });
        }
    }

    /// The wake-ups for something that this many threads can take: as many waiting threads, and all waiting tasks.
    fn call(&mut self, threads: usize) -> Calls {
        Calls { threads: self.waiting.min(threads), tasks: std::mem::take(&mut self.wakers), writers: false }
    }

    fn is_ready(&self) -> bool {
        self.contents.may_have_batch() || self.ending.is_some()
    }

    fn take(&mut self, leftover: &mut Leftover<U>) -> Attempt<U, E> {
        if let Some(batch) = self.contents.take(leftover) {
            return Attempt::Batch(batch);
        }
        match &mut self.ending {
            Some(Ending { why: Some(why), is_told }) if !*is_told => {
                *is_told = true;
                Attempt::Failed(Arc::clone(why))
            }
            Some(_) => Attempt::Over,
            None => Attempt::Nothing,
        }
    }
}

impl<U, E: Clone> Attempt<U, E> {
    fn into_result(self) -> Result<Option<Batch<U>>, Ended<E>> {
        match self {
            Attempt::Batch(batch) => Ok(Some(batch)),
            Attempt::Failed(why) => Err((*why).clone()),
            Attempt::Over | Attempt::Nothing => Ok(None),
        }
    }
}
