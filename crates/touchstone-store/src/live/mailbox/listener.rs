//! A listener: a thread that takes a mailbox's batches and calls back for each. A callback that panics, cancels its
//! listener or closes the feed ends the listener, and harms no other thread.

use super::{Attempt, Batch, Mailbox, Supersede, TakeCheck};
use crate::types::sync::{self, Arc, Builder, Condvar, Mutex, TURNSTILE, ThreadId, lock, wait};
use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The handle of a listener. Dropping it cancels the listener, and does not wait for a running callback.
pub(crate) struct Listener {
    turnstile: Arc<Turnstile>,
    /// The mailbox at which the thread may sleep.
    mailbox: Arc<dyn Rouse>,
}

/// How a listener ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The callback panicked, with this message.
    Panicked(String),
    /// The feed ended, or the listener was cancelled.
    Ended,
}

/// Wakes all threads that sleep at a mailbox.
trait Rouse: Send + Sync {
    fn rouse(&self);
}

impl<U: Supersede + Send, E: Clone + Send + Sync> Rouse for Mailbox<U, E> {
    fn rouse(&self) {
        Mailbox::rouse(self);
    }
}

/// Starts a thread that calls back for each batch. The callback is dropped when the listener ends, in any way.
///
/// # Errors
/// If the system has no more threads.
pub(crate) fn listen<U, E>(
    mailbox: Arc<Mailbox<U, E>>,
    callback: impl FnMut(Batch<U>) + Send + 'static,
) -> io::Result<Listener>
where
    U: Supersede + Send + 'static,
    E: Clone + Send + Sync + 'static,
{
    let turnstile = Arc::new(Turnstile::default());
    let (of_thread, to_rouse) = (Arc::clone(&turnstile), Arc::clone(&mailbox));
    Builder::new().name("touchstone-listener".to_owned()).spawn(move || {
        lock(&of_thread.state).thread = Some(sync::current().id());
        let result = catch_unwind(AssertUnwindSafe(|| call_back(&mailbox, &of_thread, callback)));
        // The mailbox is dropped before the end is reported: after the end this thread must hold nothing any more.
        drop(mailbox);
        match result {
            Ok(()) => of_thread.end(Outcome::Ended),
            Err(panic) => of_thread.end(Outcome::Panicked(message(&*panic))),
        }
    })?;
    Ok(Listener { turnstile, mailbox: to_rouse })
}

fn call_back<U: Supersede, E: Clone>(
    mailbox: &Mailbox<U, E>,
    turnstile: &Turnstile,
    mut callback: impl FnMut(Batch<U>),
) {
    while let Ok(Some(batch)) = mailbox.take(turnstile, None) {
        callback(batch);
        turnstile.leave();
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it panicked without a message").to_owned()
}

impl Listener {
    /// When it returns, no callback runs, and none will start: it waits for a running one. From within the callback it
    /// returns at once, and no further callback starts.
    pub(crate) fn cancel(&self) {
        self.shut();
        self.turnstile.wait_while(|state| state.is_inside && state.thread != Some(sync::current().id()));
    }

    /// How it ended; `None` while it listens.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        lock(&self.turnstile.state).outcome.clone()
    }

    /// Waits for the end. A call from within the callback would wait for itself.
    pub(crate) fn wait(&self) -> Outcome {
        self.turnstile.wait_while(|state| state.outcome.is_none());
        self.outcome().expect("it was waited for")
    }

    /// Whether a thread waits for the listener.
    #[cfg(test)]
    pub(crate) fn is_awaited(&self) -> bool {
        lock(&self.turnstile.state).waiting > 0
    }

    fn shut(&self) {
        lock(&self.turnstile.state).is_shut = true;
        self.mailbox.rouse();
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.shut();
    }
}

/// The gate between the mailbox and the callback. The thread takes a batch and marks its callback as begun in one step,
/// so a cancelled listener takes no batch away from other receivers.
#[derive(Default)]
struct Turnstile {
    state: Mutex<ListenerState, TURNSTILE>,
    woken: Condvar,
}

#[derive(Default)]
struct ListenerState {
    thread: Option<ThreadId>,
    is_shut: bool,
    /// Whether a callback runs, or is about to.
    is_inside: bool,
    outcome: Option<Outcome>,
    /// The number of threads that wait for a change.
    waiting: usize,
}

impl Turnstile {
    fn leave(&self) {
        let mut state = lock(&self.state);
        state.is_inside = false;
        let waiting = state.waiting;
        drop(state);
        if waiting > 0 {
            self.woken.notify_all();
        }
    }

    fn end(&self, outcome: Outcome) {
        let mut state = lock(&self.state);
        state.is_inside = false;
        state.outcome = Some(outcome);
        drop(state);
        self.woken.notify_all();
    }

    fn wait_while(&self, condition: impl Fn(&ListenerState) -> bool) {
        let mut state = lock(&self.state);
        state.waiting += 1;
        while condition(&state) {
            state = wait(&self.woken, state);
        }
        state.waiting -= 1;
    }
}

impl TakeCheck for Turnstile {
    fn pass<U, E>(&self, take: impl FnOnce() -> Attempt<U, E>) -> Attempt<U, E> {
        let mut state = lock(&self.state);
        if state.is_shut {
            return Attempt::Over;
        }
        let step = take();
        state.is_inside = matches!(step, Attempt::Batch(_));
        step
    }

    fn is_shut(&self) -> bool {
        lock(&self.state).is_shut
    }
}
