//! The turn: the store's in-process write lock, first come first served. A thread that waits for it never gets "busy",
//! and none overtakes another.

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
}

struct Waiter {
    thread: ThreadId,
    called: Mutex<bool, CALLED>,
    woken: Condvar,
}

/// The turn; it is passed on when dropped.
pub(crate) struct Turn<'t> {
    turns: &'t Turns,
}

/// The calling thread has the turn already: it would wait for itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AlreadyMine;

impl Turns {
    /// Waits for the turn.
    pub(crate) fn take(&self) -> Result<Turn<'_>, AlreadyMine> {
        let me = sync::current().id();
        let mut state = lock(&self.state);
        match state.owner {
            None => state.owner = Some(me),
            Some(owner) if owner == me => return Err(AlreadyMine),
            Some(_) => {
                let waiter =
                    Arc::new(Waiter { thread: me, called: Mutex::new(false), woken: Condvar::new() });
                state.waiting.push_back(Arc::clone(&waiter));
                drop(state);
                waiter.wait();
            }
        }
        Ok(Turn { turns: self })
    }

    /// The turn that a thread took and forgot (`mem::forget`), for the calling thread, which ends it: there is one turn at
    /// a time.
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
    #[cfg(all(test, shuttle))]
    pub(crate) fn waiting(&self) -> usize {
        lock(&self.state).waiting.len()
    }
}

impl Waiter {
    fn wait(&self) {
        let mut called = lock(&self.called);
        while !*called {
            called = wait(&self.woken, called);
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
            *lock(&waiter.called) = true;
            waiter.woken.notify_one();
        }
    }
}
