//! The turn: the store's in-process write lock, first come first served. A thread that waits for it never gets "busy",
//! and none overtakes another.
//!
//! A thread that does a round of live queries may take the turn: a record's own code writes. The owner of the turn may
//! wait for a round. Two threads that do so at once would wait for each other: the thread of the round is refused the
//! turn, whichever of them began to wait first.

use crate::engine::fork::Origin;
use crate::types::sync::{self, Arc, CALLED, Condvar, Mutex, TURN, ThreadId, lock, wait};
use std::collections::VecDeque;

/// The queue of writers.
#[derive(Default)]
pub(crate) struct Turns {
    origin: Origin,
    state: Mutex<TurnState, TURN>,
}

#[derive(Default)]
struct TurnState {
    owner: Option<ThreadId>,
    waiting: VecDeque<Arc<Waiter>>,
    /// The thread that waits for a round of live queries, and was the owner when it began to wait. Another thread may
    /// have gone on with its transaction since.
    awaiting: Option<ThreadId>,
}

impl TurnState {
    /// Whether the owner waits for a round of live queries.
    fn owner_awaits_round(&self) -> bool {
        self.owner.is_some() && self.owner == self.awaiting
    }
}

struct Waiter {
    thread: ThreadId,
    /// Whether the thread does a round of live queries.
    is_in_round: bool,
    called: Mutex<Option<Call>, CALLED>,
    woken: Condvar,
}

/// What a waiting thread is called for.
#[derive(Clone, Copy)]
enum Call {
    /// It has the turn.
    Turn,
    /// The owner of the turn waits for this thread's round.
    Refused,
}

/// The turn; it is passed on when dropped.
pub(crate) struct Turn<'t> {
    turns: &'t Turns,
}

/// Why a thread does not get the turn: it would wait forever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoTurn {
    /// The calling thread has the turn already: it would wait for itself.
    AlreadyMine,
    /// The calling thread does a round of live queries, for which the owner of the turn waits.
    AwaitedByOwner,
}

/// The owner of the turn waits for a round of live queries, until this is dropped.
pub(crate) struct AwaitedRound {
    turns: Arc<Turns>,
    thread: ThreadId,
}

impl Turns {
    /// Waits for the turn, on a thread that does no round of live queries.
    pub(crate) fn take(&self) -> Result<Turn<'_>, NoTurn> {
        self.take_as(|| false)
    }

    /// Waits for the turn. If the thread has to wait, `is_in_round` says whether it does a round of live queries.
    pub(crate) fn take_as(&self, is_in_round: impl FnOnce() -> bool) -> Result<Turn<'_>, NoTurn> {
        let me = sync::current().id();
        let mut state = lock(&self.state);
        match state.owner {
            None => state.owner = Some(me),
            Some(owner) if owner == me => return Err(NoTurn::AlreadyMine),
            Some(_) => {
                let is_in_round = is_in_round();
                if is_in_round && state.owner_awaits_round() {
                    return Err(NoTurn::AwaitedByOwner);
                }
                let waiter = Arc::new(Waiter::new(me, is_in_round));
                state.waiting.push_back(Arc::clone(&waiter));
                drop(state);
                if let Call::Refused = waiter.wait() {
                    return Err(NoTurn::AwaitedByOwner);
                }
            }
        }
        Ok(Turn { turns: self })
    }

    /// Notes that the calling thread waits for a round of live queries, if it has the turn. Threads that do a round and
    /// wait for the turn are refused.
    pub(crate) fn await_round(self: &Arc<Self>) -> Option<AwaitedRound> {
        let me = sync::current().id();
        let mut state = lock(&self.state);
        if state.owner != Some(me) {
            return None;
        }
        state.awaiting = Some(me);
        let waiting = std::mem::take(&mut state.waiting);
        let (refused, left) = waiting.into_iter().partition::<VecDeque<_>, _>(|waiter| waiter.is_in_round);
        state.waiting = left;
        drop(state);
        refused.iter().for_each(|waiter| waiter.call(Call::Refused));
        Some(AwaitedRound { turns: Arc::clone(self), thread: me })
    }

    /// The turn that a thread took and forgot (`mem::forget`), for the calling thread, which ends it.
    pub(crate) fn resume(&self) -> Turn<'_> {
        self.pass_to_me();
        Turn { turns: self }
    }

    /// Makes the calling thread the owner of a turn that a thread took and forgot. Another [`take`](Turns::take) of the
    /// owner fails from now on, because it would wait for itself.
    pub(crate) fn pass_to_me(&self) {
        // In the child of a fork, the turn belongs to a thread of the parent.
        if self.origin.is_here() {
            let before = lock(&self.state).owner.replace(sync::current().id());
            debug_assert!(before.is_some(), "a turn is passed on that no thread has");
        }
    }

    /// Whether a thread has the turn.
    pub(crate) fn is_taken(&self) -> bool {
        lock(&self.state).owner.is_some()
    }

    /// How many threads wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        lock(&self.state).waiting.len()
    }
}

impl Waiter {
    fn new(thread: ThreadId, is_in_round: bool) -> Waiter {
        Waiter { thread, is_in_round, called: Mutex::new(None), woken: Condvar::new() }
    }

    fn wait(&self) -> Call {
        let mut called = lock(&self.called);
        loop {
            if let Some(call) = *called {
                return call;
            }
            called = wait(&self.woken, called);
        }
    }

    fn call(&self, call: Call) {
        *lock(&self.called) = Some(call);
        self.woken.notify_one();
    }
}

impl Drop for AwaitedRound {
    fn drop(&mut self) {
        if !self.turns.origin.is_here() {
            return;
        }
        let mut state = lock(&self.turns.state);
        // The owner that went on with the transaction may wait for a round, too.
        if state.awaiting == Some(self.thread) {
            state.awaiting = None;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.turns.origin.is_here() {
            // In the child of a fork, every waiting thread is a thread of the parent.
            return;
        }
        let mut state = lock(&self.turns.state);
        debug_assert!(state.owner.is_some(), "a turn ends twice");
        let next = state.waiting.pop_front();
        // The turn passes directly to the next thread in the queue: a thread that comes now cannot take it first.
        state.owner = next.as_ref().map(|waiter| waiter.thread);
        drop(state);
        if let Some(waiter) = next {
            waiter.call(Call::Turn);
        }
    }
}
