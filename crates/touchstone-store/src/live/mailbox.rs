//! The mailbox of a feed: the one queue between the thread that computes updates, which puts them in and never waits,
//! and whoever takes them: threads, tasks, a listener. It holds them as the feed's mode says, wakes who waits, and
//! bounds what a receiver that does not come can cost. It computes no updates and knows no queries.
//!
//! Nobody else's code runs while the mailbox is locked, except [`Supersede`]. So nothing is freed there either: the
//! producer is given back what its batch has superseded, and frees it when it likes; a receiver frees what it took, and
//! what was removed while it was queued; who removes a subscription frees its pending update.

mod contents;
mod listener;
mod room;
#[cfg(all(test, not(shuttle)))]
mod tests;

pub(crate) use listener::{Listener, Outcome, listen};
pub(crate) use room::Room;

use crate::sync::{Arc, Condvar, Mutex, MutexGuard, lock, wait, wait_for};
use contents::{Change, Contents};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// How many wakers are kept. Tasks that are gone leave theirs behind: at this number all are woken, and those who are
/// still there come back.
const WAKERS_MAX: usize = 1024;

/// What a feed keeps for a receiver that has not come yet.
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
    /// The newest update of each subscription, which takes the place of one that was not taken. So what is kept is bounded
    /// by the number of subscriptions, however long nobody comes.
    Latest,
    /// Every batch, up to a number of them: for who must see each transaction.
    Every {
        /// How many batches it keeps, at least one.
        batches: usize,
        /// What happens when there are more.
        overflow: Overflow,
    },
}

/// What happens when a receiver has not come for so long that there are too many batches.
///
/// ```
/// # use touchstone_store::{Record, Store};
/// # #[derive(Record, Clone, Debug, PartialEq)]
/// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("tasks.db"))?;
/// # let task = |id, due| Task { id, title: format!("task {id}"), due };
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
    /// Writers wait until one was taken, for as long as [`busy_timeout`](crate::Options::busy_timeout) says, and then fail
    /// with [`Busy`](crate::ErrorKind::Busy). Batches of transactions under way are kept beyond the number.
    Block,
    /// They become one batch of the newest updates, a [resync](crate::Batch::is_resync), and so do all that follow until
    /// it is taken.
    Resync,
    /// They are dropped, and the feed ends with [`Busy`](crate::ErrorKind::Busy).
    End,
}

/// An update that may come in the place of one that was not taken.
pub(crate) trait Supersede {
    /// Takes over from the older update what the receiver had before it. What is left of the older one is freed later:
    /// this is to be quick, because the mailbox is locked.
    fn supersede(&mut self, older: &mut Self);
}

/// Which subscription of a mailbox it is. An index is used again after a removal, a slot never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slot {
    index: u32,
    generation: u32,
}

impl Slot {
    /// A number below the most subscriptions that the mailbox has had at one time.
    #[cfg(test)]
    pub(crate) fn index(self) -> u32 {
        self.index
    }
}

/// The updates of a transaction, at most one of a subscription; or of several transactions, at the last one's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Batch<U> {
    pub(crate) version: u64,
    /// Transactions before this version had no batch of their own.
    pub(crate) is_resync: bool,
    pub(crate) updates: Vec<(Slot, U)>,
}

impl<U> Default for Batch<U> {
    fn default() -> Batch<U> {
        Batch { version: 0, is_resync: false, updates: Vec::new() }
    }
}

/// What nobody will take. To drop it frees it, which may take its time.
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
    /// There were too many batches ([`Overflow::End`]).
    Overflowed,
    /// Its producer ended it.
    Failed(E),
}

/// The mailbox.
pub(crate) struct Mailbox<U, E> {
    state: Mutex<State<U, E>>,
    bell: Condvar,
    room: Arc<Room>,
}

struct State<U, E> {
    contents: Contents<U>,
    ending: Option<Ending<E>>,
    /// How many threads wait for the bell.
    waiting: usize,
    /// The tasks that wait.
    wakers: Vec<Waker>,
    /// The room was told that this mailbox is full.
    is_full: bool,
}

struct Ending<E> {
    why: Option<Arc<Ended<E>>>,
    /// A receiver was told why.
    is_told: bool,
}

/// What somebody who came for a batch got.
enum Step<U, E> {
    Batch(Batch<U>),
    Failed(Arc<Ended<E>>),
    /// There will be no more.
    Over,
    /// There is none yet.
    Nothing,
}

/// What one who comes for a batch must pass to take it. It is passed while the mailbox is locked.
trait Gate {
    /// Takes, unless it is shut: then it is over.
    fn pass<U, E>(&self, take: impl FnOnce() -> Step<U, E>) -> Step<U, E>;

    /// Whether it is shut. Who shuts it wakes all who wait, afterwards.
    fn is_shut(&self) -> bool;
}

/// The gate that is always open.
struct Open;

impl Gate for Open {
    fn pass<U, E>(&self, take: impl FnOnce() -> Step<U, E>) -> Step<U, E> {
        take()
    }

    fn is_shut(&self) -> bool {
        false
    }
}

/// Whom to wake once the mailbox is unlocked: else they would wait for the lock first thing.
#[derive(Default)]
#[must_use = "somebody may wait for ever"]
struct Calls {
    /// How many threads: none, one, or all for any other number.
    threads: usize,
    tasks: Vec<Waker>,
    writers: bool,
}

/// What the producer and those who subscribe do.
impl<U: Supersede, E: Clone> Mailbox<U, E> {
    /// An empty mailbox. Writers wait at the room when it is full.
    pub(crate) fn new(mode: Mode, room: Arc<Room>) -> Mailbox<U, E> {
        let contents = Contents::new(mode);
        let state = State { contents, ending: None, waiting: 0, wakers: Vec::new(), is_full: false };
        Mailbox { state: Mutex::new(state), bell: Condvar::new(), room }
    }

    /// Adds a subscription.
    pub(crate) fn add(&self) -> Slot {
        lock(&self.state).contents.add()
    }

    /// Removes a subscription: when it returns, no later take gives an update of it. Whether it was there.
    pub(crate) fn remove(&self, slot: Slot) -> bool {
        let mut leftover = Leftover::default();
        let mut state = lock(&self.state);
        let was_there = state.contents.remove(slot, &mut leftover);
        let calls = Calls { writers: self.tell_room(&mut state), ..Calls::default() };
        self.unlock(state, calls);
        was_there
    }

    /// Puts a batch, and returns what nobody will take: what it has superseded, updates of subscriptions that were
    /// removed, and all of it if the mailbox is closed. A batch without updates is not delivered.
    pub(crate) fn put(&self, batch: Batch<U>) -> Leftover<U> {
        let mut leftover = Leftover::default();
        let mut state = lock(&self.state);
        if state.ending.is_some() {
            leftover.add(batch.updates);
            return leftover;
        }
        let mut calls = match state.contents.put(batch, &mut leftover) {
            Change::None => Calls::default(),
            Change::Batch => state.call(1),
            Change::End => {
                state.end(&mut Some(Arc::new(Ended::Overflowed)));
                state.call(usize::MAX)
            }
        };
        calls.writers = self.tell_room(&mut state);
        self.unlock(state, calls);
        leftover
    }

    /// Closes it: what is pending may still be taken, and then there is no more.
    pub(crate) fn close(&self) {
        self.end(None);
    }

    /// As [`close`](Mailbox::close), but a receiver is told why, once.
    pub(crate) fn close_with(&self, error: E) {
        self.end(Some(Ended::Failed(error)));
    }

    /// Closes it for receivers who will not come again: what is pending is freed.
    pub(crate) fn abandon(&self) {
        let mut leftover = Leftover::default();
        self.end(None);
        lock(&self.state).contents.clear(&mut leftover);
    }

    /// Why it has ended, if it has and if not by [`close`](Mailbox::close); for any number of those who ask.
    #[cfg(test)]
    pub(crate) fn ended(&self) -> Option<Ended<E>> {
        let why = lock(&self.state).ending.as_ref().and_then(|ending| ending.why.clone());
        why.map(|why| (*why).clone())
    }

    /// Whether it is closed; there may be batches left to take.
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

/// What receivers do. Any number of them may at one time: each batch goes to one.
impl<U: Supersede, E: Clone> Mailbox<U, E> {
    /// Waits for a batch and takes it; `None` when the mailbox has ended.
    ///
    /// # Errors
    /// When it has ended for a reason ([`Ended`]): once, and `None` from then on.
    pub(crate) fn next(&self) -> Result<Option<Batch<U>>, Ended<E>> {
        self.take(&Open, None)
    }

    /// As [`next`](Mailbox::next), but waits no longer than that; `None` also when the time has passed.
    ///
    /// # Errors
    /// As [`next`](Mailbox::next).
    pub(crate) fn next_within(&self, time: Duration) -> Result<Option<Batch<U>>, Ended<E>> {
        self.take(&Open, Instant::now().checked_add(time))
    }

    /// As [`next`](Mailbox::next), but does not wait; `None` also when there is none yet.
    ///
    /// # Errors
    /// As [`next`](Mailbox::next).
    pub(crate) fn try_next(&self) -> Result<Option<Batch<U>>, Ended<E>> {
        self.step(&Open).into_result()
    }

    /// As [`next`](Mailbox::next), for a task: it is woken when there may be a batch. When several tasks wait for one
    /// batch, all are woken: one that is not interested any more cannot be told from one that is.
    pub(crate) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Result<Batch<U>, Ended<E>>>> {
        loop {
            match self.step(&Open) {
                Step::Nothing if self.register(context.waker()) => return Poll::Pending,
                Step::Nothing => {}
                step => return Poll::Ready(step.into_result().transpose()),
            }
        }
    }

    /// Takes a batch through the gate, and waits for one no longer than until then; without an end, for ever.
    fn take(&self, gate: &impl Gate, end: Option<Instant>) -> Result<Option<Batch<U>>, Ended<E>> {
        let mut is_over = false;
        loop {
            match self.step(gate) {
                // Who was woken and is late all the same has looked once more: no wake-up is lost with him.
                Step::Nothing if !is_over => is_over = self.park(gate, end),
                step => return step.into_result(),
            }
        }
    }

    fn step(&self, gate: &impl Gate) -> Step<U, E> {
        let mut leftover = Leftover::default();
        let mut state = lock(&self.state);
        let step = gate.pass(|| state.take(&mut leftover));
        let calls = Calls { writers: self.tell_room(&mut state), ..Calls::default() };
        self.unlock(state, calls);
        step
    }

    /// Waits until there may be something for who comes through the gate; whether it is over.
    fn park(&self, gate: &impl Gate, end: Option<Instant>) -> bool {
        let mut state = lock(&self.state);
        let mut is_over = false;
        while !is_over && !state.is_ready() && !gate.is_shut() {
            state.waiting += 1;
            (state, is_over) = match end {
                Some(end) => {
                    let left = end.saturating_duration_since(Instant::now());
                    wait_for(&self.bell, &self.state, state, left)
                }
                None => (wait(&self.bell, state), false),
            };
            state.waiting -= 1;
        }
        is_over
    }

    /// Notes who is to be woken; `false` when there may be something already.
    fn register(&self, waker: &Waker) -> bool {
        // Cloning and dropping wakers is the runtime's code.
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

    /// Wakes all threads that wait. The call is for one of them, a listener that was cancelled. Another that begins to wait
    /// before the bell rings could take it, and the call for a later batch would then reach the cancelled one.
    fn rouse(&self) {
        let state = lock(&self.state);
        let threads = if state.waiting == 0 { 0 } else { usize::MAX };
        let calls = Calls { threads, ..Calls::default() };
        self.unlock(state, calls);
    }
}

impl<U, E> Mailbox<U, E> {
    fn unlock(&self, state: MutexGuard<'_, State<U, E>>, calls: Calls) {
        drop(state);
        match calls.threads {
            0 => {}
            1 => self.bell.notify_one(),
            _ => self.bell.notify_all(),
        }
        for waker in calls.tasks {
            // A runtime that panics when it is woken hurts no producer: the panic hook has told of it.
            _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
        if calls.writers {
            self.room.ring();
        }
    }
}

impl<U: Supersede, E> Mailbox<U, E> {
    /// Tells the room whether this mailbox is full, if that has changed; whether writers are to be woken.
    fn tell_room(&self, state: &mut State<U, E>) -> bool {
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

impl<U: Supersede, E> State<U, E> {
    /// The first end counts; of a later one the reason stays with the caller.
    fn end(&mut self, why: &mut Option<Arc<Ended<E>>>) {
        if self.ending.is_none() {
            self.ending = Some(Ending { is_told: why.is_none(), why: why.take() });
        }
    }

    /// Whom to wake for something that so many threads can take: as many threads, and all tasks.
    fn call(&mut self, threads: usize) -> Calls {
        Calls { threads: self.waiting.min(threads), tasks: std::mem::take(&mut self.wakers), writers: false }
    }

    fn is_ready(&self) -> bool {
        self.contents.may_have_batch() || self.ending.is_some()
    }

    fn take(&mut self, leftover: &mut Leftover<U>) -> Step<U, E> {
        if let Some(batch) = self.contents.take(leftover) {
            return Step::Batch(batch);
        }
        match &mut self.ending {
            Some(Ending { why: Some(why), is_told }) if !*is_told => {
                *is_told = true;
                Step::Failed(Arc::clone(why))
            }
            Some(_) => Step::Over,
            None => Step::Nothing,
        }
    }
}

impl<U, E: Clone> Step<U, E> {
    fn into_result(self) -> Result<Option<Batch<U>>, Ended<E>> {
        match self {
            Step::Batch(batch) => Ok(Some(batch)),
            Step::Failed(why) => Err((*why).clone()),
            Step::Over | Step::Nothing => Ok(None),
        }
    }
}
