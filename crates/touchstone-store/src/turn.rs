//! Whose turn it is to write: one thread at a time, in the order in which they came. Threads that wait are never told
//! "busy", and none overtakes another.

use crate::engine::fork::Origin;
use crate::sync::{self, Arc, Condvar, Mutex, ThreadId, lock};
use std::collections::VecDeque;

/// The queue of writers.
#[derive(Default)]
pub(crate) struct Turns {
    origin: Origin,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    owner: Option<ThreadId>,
    waiting: VecDeque<Arc<Waiter>>,
}

struct Waiter {
    thread: ThreadId,
    called: Mutex<bool>,
    bell: Condvar,
}

/// The turn; it is passed on when dropped.
pub(crate) struct Turn<'t> {
    turns: &'t Turns,
}

/// The thread has the turn already: it would wait for itself.
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
                let waiter = Arc::new(Waiter { thread: me, called: Mutex::new(false), bell: Condvar::new() });
                state.waiting.push_back(Arc::clone(&waiter));
                drop(state);
                waiter.wait();
            }
        }
        Ok(Turn { turns: self })
    }

    /// The turn that a caller took and forgot, to end it: there is one at a time.
    pub(crate) fn resume(&self) -> Turn<'_> {
        Turn { turns: self }
    }

    /// This thread goes on with a turn that was taken and forgotten, whoever took it: it would wait for itself now.
    pub(crate) fn pass_to_me(&self) {
        // In the child of a fork the turn is a thread of the parent's.
        if self.origin.is_here() {
            lock(&self.state).owner = Some(sync::current().id());
        }
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
            called = self.bell.wait(called).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.turns.origin.is_here() {
            // A thread that waits, or passes the turn on, is a thread of the parent's.
            return;
        }
        let mut state = lock(&self.turns.state);
        let next = state.waiting.pop_front();
        // The turn passes straight to the next in line: a thread that comes by now cannot take it.
        state.owner = next.as_ref().map(|waiter| waiter.thread);
        drop(state);
        if let Some(waiter) = next {
            *lock(&waiter.called) = true;
            waiter.bell.notify_one();
        }
    }
}
