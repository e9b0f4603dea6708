//! Model-checked (shuttle) interleavings of the keeper and the owners of one session. Some owners misbehave: one panics
//! within a call, one never leaves its call, one runs a statement for long. No owner uses the session outside a call:
//! such a program does not compile, because a [`Leased`] lends its session to closures only.

use crate::engine::lease::Lease;
use crate::session::idle::Idle;
use crate::session::leased::Leased;
use crate::session::thread_models::{explore, explore_fairly};
use crate::types::error::{Error, ErrorKind};
use crate::types::sync::{Unranked as Mutex, lock};
use shuttle::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use shuttle::thread::{self, spawn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// SQLite's code of a statement that was interrupted.
const INTERRUPT: i32 = 9;

/// A model of SQLite's connection. One thread uses it at a time. Any thread may set its interrupt flag, which ends the
/// running statement; the next statement clears the flag.
#[derive(Default)]
struct Model {
    is_used: Mutex<bool>,
    is_interrupted: AtomicBool,
}

impl Model {
    /// Uses the connection, and yields meanwhile so that other threads run.
    fn touch(&self) {
        assert!(!std::mem::replace(&mut *lock(&self.is_used), true), "two threads use one connection");
        thread::yield_now();
        *lock(&self.is_used) = false;
    }

    /// Runs a statement of some steps.
    ///
    /// # Errors
    /// If it is interrupted.
    fn run(&self, steps: usize) -> Result<(), Error> {
        self.is_interrupted.store(false, Ordering::SeqCst);
        for _ in 0..steps {
            self.touch();
            if self.is_interrupted.load(Ordering::SeqCst) {
                return Err(Error::sqlite(INTERRUPT, "interrupted"));
            }
        }
        Ok(())
    }
}

/// The list of idle sessions, with one session, and the keeper's view of that session.
struct Modelled {
    idle: Idle<Arc<Model>>,
    lease: Arc<Lease>,
    model: Arc<Model>,
    /// The last owner that was asked to leave.
    asked: AtomicU64,
}

impl Modelled {
    fn new() -> Arc<Modelled> {
        let (idle, lease, model) = (Idle::default(), Arc::<Lease>::default(), Arc::<Model>::default());
        idle.list().sessions.push(Box::new(Leased::shared(Arc::clone(&model), Arc::clone(&lease))));
        Arc::new(Modelled { idle, lease, model, asked: AtomicU64::new(0) })
    }

    /// Takes the session as the readers do.
    fn take(&self) -> Option<Box<Leased<Arc<Model>>>> {
        let leased = self.idle.list().sessions.pop()?;
        if leased.begin(|model| model.run(1)).is_err() {
            self.put(leased);
            return None;
        }
        Some(leased)
    }

    /// Gives the session back as the readers do: no interrupt hits the statement that ends the transaction.
    fn put(&self, leased: Box<Leased<Arc<Model>>>) {
        leased.end(|_| ());
        drop(self.idle.list());
        let ended = leased.call_last(|model| model.run(2));
        assert!(ended.is_ok(), "an owner's end was interrupted");
        self.idle.list().sessions.push(leased);
    }

    /// Looks so often for an owner, as the keeper does, and lets its snapshot expire.
    fn look(&self, looks: usize) {
        for _ in 0..looks {
            self.lease.owner().into_iter().for_each(|owner| self.expire(owner));
            thread::yield_now();
        }
    }

    /// Lets an owner's snapshot expire as the keeper does.
    fn expire(&self, owner: u64) {
        self.asked.store(owner, Ordering::SeqCst);
        if self.lease.expire(owner, || self.model.touch()) {
            self.idle.interrupt(&self.lease, owner, || {
                // Without the list's lock, the owner could give the session back here.
                thread::yield_now();
                self.model.is_interrupted.store(true, Ordering::SeqCst);
            });
        }
    }
}

fn keeper(modelled: &Arc<Modelled>, looks: usize) -> thread::JoinHandle<()> {
    let modelled = Arc::clone(modelled);
    spawn(move || modelled.look(looks))
}

/// An owner gets `Expired` only if it was asked to leave, and no error from an interrupt that was for another owner.
#[test]
fn a_statement_is_interrupted_for_its_own_owner_and_no_other() {
    explore(|| {
        let modelled = Modelled::new();
        let keeper = keeper(&modelled, 3);
        for owner in 1..=3 {
            let Some(leased) = modelled.take() else { continue };
            for _ in 0..2 {
                if let Err(error) = leased.call(|model| model.run(2)) {
                    assert_eq!(error.kind(), ErrorKind::Expired);
                    assert_eq!(modelled.asked.load(Ordering::SeqCst), owner);
                }
            }
            modelled.put(leased);
        }
        keeper.join().expect("it does not panic");
    });
}

/// The shortest encounter of the two threads, so that shuttle tries most of its interleavings.
#[test]
fn what_ends_a_transaction_is_never_interrupted() {
    explore(|| {
        let modelled = Modelled::new();
        let Some(leased) = modelled.take() else { return };
        thread::scope(|threads| {
            threads.spawn(|| modelled.expire(1));
            let called = leased.call(|model| model.run(1));
            assert!(called.is_ok() || modelled.asked.load(Ordering::SeqCst) == 1);
            modelled.put(leased);
        });
    });
}

#[test]
fn a_call_that_panics_is_over() {
    explore(|| {
        let modelled = Modelled::new();
        let keeper = keeper(&modelled, 2);
        if let Some(leased) = modelled.take() {
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                leased.call(|model| {
                    model.touch();
                    // Within a call within the call.
                    leased.call(|_| -> Result<(), Error> { resume_unwind(Box::new("the program's own")) })
                })
            }));
            // An expired snapshot has no call to panic in.
            assert!(panicked.is_err() || modelled.asked.load(Ordering::SeqCst) == 1);
            let again = leased.call(|model| model.run(1));
            assert!(again.is_ok() || modelled.asked.load(Ordering::SeqCst) == 1);
            modelled.put(leased);
        }
        keeper.join().expect("it does not panic");
        assert!(modelled.lease.owner().is_none());
    });
}

/// A panic drops a session instead of giving it back: the connection closes while the keeper still knows of it.
#[test]
fn a_session_that_is_dropped_is_not_used_any_more() {
    explore(|| {
        let modelled = Modelled::new();
        let keeper = keeper(&modelled, 3);
        drop(modelled.take());
        *lock(&modelled.model.is_used) = true;
        keeper.join().expect("it uses nothing that is closed");
    });
}

/// The keeper waits for no owner: here the owner stays in its call until the keeper has finished.
#[test]
fn a_call_that_is_never_left_keeps_nobody_waiting() {
    explore_fairly(|| {
        let modelled = Modelled::new();
        let Some(leased) = modelled.take() else { return };
        let is_over = AtomicBool::new(false);
        let stayed = thread::scope(|threads| {
            threads.spawn(|| {
                modelled.look(2);
                is_over.store(true, Ordering::SeqCst);
            });
            leased.call(|model| {
                while !is_over.load(Ordering::SeqCst) {
                    model.touch();
                }
                Ok(())
            })
        });
        let is_expired = |error: Error| error.kind() == ErrorKind::Expired;
        assert!(stayed.is_ok() || stayed.is_err_and(is_expired));
        assert_eq!(modelled.asked.load(Ordering::SeqCst), 1);
        modelled.put(leased);
        assert!(modelled.take().is_some(), "the next owner has a snapshot of his own");
    });
}
