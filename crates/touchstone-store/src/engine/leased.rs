//! A session with the lease of its owner. With a lease it is reached only within a call, which holds the lease's gate (a
//! mutex) from its beginning to its end. The keeper holds the gate too when it ends the snapshot, so two threads never
//! use one connection at once. Calls are closures, so no call is forgotten, and an inner call ends before the outer
//! one. The states and their memory orders are in `lease.rs`.

use super::connection::{Connection, Stopper};
use super::fork::Origin;
use super::lease::{Gate, Lease};
use super::log::{LogPlace, LogState};
use super::pin::Pin;
use crate::types::error::{Error, Result};
use crate::types::sync::MutexGuard;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Weak};

/// A session that is used in calls. One thread has it at a time.
pub(crate) struct Leased<S> {
    inside: ManuallyDrop<S>,
    /// None for the writer's session: no other thread knows of it, so none can end its transaction.
    lease: Option<Arc<Lease>>,
    /// The store's file, which explains errors. Weak, because the store's first session must not keep the file open.
    pin: Weak<Pin>,
    /// The process that opened the session. A child of this process never touches the connection.
    origin: Origin,
    /// The number of calls under way: a call within a program's closure within another call counts too.
    depth: Cell<u32>,
    /// The log's state when the read transaction that is still open began; none if the next owner cannot go on with it.
    pub(crate) parked: Cell<Option<LogState>>,
    /// Whether an owner gave the session back since the keeper last looked.
    pub(crate) is_used: Cell<bool>,
    /// Whether it is the store's first session. Only the pin closes this one: another drop leaves the connection open.
    is_first: Cell<bool>,
}

// SAFETY: a session's parts that are not `Send` are its statements, and `Rc`s of its tables, statements and feeds. They
// point to the session's own connection and its own counts: sessions share neither. The session is reached through this
// type only, by a borrow, and this type is not `Sync`: one thread has both at a time. What a call keeps for the next one
// is `Kept`: it is not `Send`, and its owner borrows this session, which therefore stays with its thread meanwhile. If
// the owner forgets it, it is never used again. A new part of a session must not leave a call or borrow in another way.
unsafe impl<S> Send for Leased<S> {}

/// A call that is under way; it ends even if the program's own code panics.
struct Call<'l> {
    depth: &'l Cell<u32>,
    _gate: Option<MutexGuard<'l, Gate>>,
}

impl Drop for Call<'_> {
    #[inline]
    fn drop(&mut self) {
        self.depth.set(self.depth.get() - 1);
    }
}

impl<S> Leased<S> {
    /// A session without a lease, which no other thread can end: the writer's.
    pub(crate) fn alone(inside: S) -> Leased<S> {
        Leased::of(inside, None)
    }

    /// A session whose snapshots the keeper may end.
    pub(crate) fn shared(inside: S, lease: Arc<Lease>) -> Leased<S> {
        Leased::of(inside, Some(lease))
    }

    /// As [`shared`](Leased::shared), with a handle to end the snapshots of the session's connection.
    pub(crate) fn stoppable(
        inside: S,
        lease: Arc<Lease>,
        connection: impl FnOnce(&S) -> &Connection,
    ) -> (Leased<S>, Stoppable) {
        let stoppable = Stoppable { lease: Arc::clone(&lease), stopper: connection(&inside).stopper() };
        (Leased::shared(inside, lease), stoppable)
    }

    fn of(inside: S, lease: Option<Arc<Lease>>) -> Leased<S> {
        Leased {
            inside: ManuallyDrop::new(inside),
            lease,
            pin: Weak::new(),
            origin: Origin::here(),
            depth: Cell::new(0),
            parked: Cell::new(None),
            is_used: Cell::new(false),
            is_first: Cell::new(false),
        }
    }

    /// A session of that file.
    pub(crate) fn with_pin(self, pin: &Arc<Pin>) -> Leased<S> {
        let mut leased = self;
        leased.pin = Arc::downgrade(pin);
        leased
    }

    /// Sets whether it is the store's first session.
    pub(crate) fn set_first(&self, is_first: bool) {
        self.is_first.set(is_first);
    }

    /// Whether this process opened the session.
    pub(crate) fn is_of_here(&self) -> bool {
        self.origin.is_here()
    }

    #[inline]
    pub(crate) fn is_first(&self) -> bool {
        self.is_first.get()
    }

    /// Begins a snapshot for a new owner.
    ///
    /// # Errors
    /// As `work` does; if the keeper lets the snapshot expire while it begins.
    #[inline]
    pub(crate) fn begin<R>(&self, work: impl FnOnce(&S) -> Result<R>) -> Result<R> {
        let _call = self.count(self.lease.as_deref().map(Lease::begin));
        work(&self.inside).map_err(|error| self.explained(error))
    }

    /// Notes the log's place when the snapshot began, and the log's state if a later owner may go on with the snapshot.
    #[inline]
    pub(crate) fn note_began(&self, place: Option<LogPlace>, parked: Option<LogState>) {
        if let (Some(lease), Some(place)) = (&self.lease, place) {
            lease.note_began(place);
        }
        self.parked.set(parked);
    }

    /// A call of the owner.
    ///
    /// # Errors
    /// If the snapshot has expired: the log reached `log_bytes_max`; if the process that opened the store has forked
    /// and this is the child; or as `work` does.
    #[inline]
    pub(crate) fn call<R>(&self, work: impl FnOnce(&S) -> Result<R>) -> Result<R> {
        self.origin.check()?;
        let gate = match &self.lease {
            Some(lease) if self.depth.get() == 0 => Some(lease.enter()?),
            _ => None,
        };
        let _call = self.count(gate);
        work(&self.inside).map_err(|error| self.explained(error))
    }

    /// A call that puts away the remains of earlier calls, even if the snapshot has expired.
    #[inline]
    pub(crate) fn call_last<R>(&self, work: impl FnOnce(&S) -> R) -> R {
        let gate = match &self.lease {
            // The child of a fork has no other thread, and a gate that a thread of the parent held stays locked here.
            Some(lease) if self.depth.get() == 0 && self.origin.is_here() => Some(lease.enter_last()),
            _ => None,
        };
        let _call = self.count(gate);
        work(&self.inside)
    }

    /// The session of a `Leased` without a lease, which is the writer's. No other thread can end its transaction, so the
    /// caller needs no gate.
    ///
    /// # Panics
    /// If the session has a lease.
    #[inline]
    pub(crate) fn unleased(&self) -> &S {
        assert!(self.lease.is_none(), "a session with a lease is used in calls");
        &self.inside
    }

    /// Ends the owner's lease; returns whether its snapshot is still whole, and the result of `work`.
    #[inline]
    pub(crate) fn end<R>(&self, work: impl FnOnce(&S) -> R) -> (bool, R) {
        let (gate, is_whole) = self.lease.as_deref().map(Lease::end).unzip();
        let _call = self.count(gate);
        (is_whole.unwrap_or(true), work(&self.inside))
    }

    /// The reason for an error: for an interrupt, that the snapshot has expired; or why the file cannot be used.
    #[cold]
    fn explained(&self, error: Error) -> Error {
        let asked =
            self.lease.as_ref().filter(|_| error.is_interrupted()).map(|lease| lease.check_interrupted());
        let error = asked.and_then(Result::err).unwrap_or(error);
        match self.pin.upgrade() {
            Some(pin) => pin.explain(error),
            None => error,
        }
    }

    /// Whether it is this lease's session.
    pub(crate) fn is_of(&self, lease: &Arc<Lease>) -> bool {
        self.lease.as_ref().is_some_and(|own| Arc::ptr_eq(own, lease))
    }

    #[inline]
    fn count<'l>(&'l self, gate: Option<MutexGuard<'l, Gate>>) -> Call<'l> {
        self.depth.set(self.depth.get() + 1);
        Call { depth: &self.depth, _gate: gate }
    }
}

/// A connection is closed after its lease has ended. So under the gate, a session with an owner has an open connection.
impl<S> Drop for Leased<S> {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.as_ref().filter(|_| self.origin.is_here()) {
            drop(lease.end());
        }
        if !self.is_first() {
            // SAFETY: the session is dropped once, here, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.inside) };
        }
    }
}

/// The lease of a session, with SQLite's handle of the session's connection: a thread that does not have the session
/// ends the owner's snapshot through it.
#[derive(Clone)]
pub(crate) struct Stoppable {
    lease: Arc<Lease>,
    stopper: Stopper,
}

impl Stoppable {
    pub(crate) fn lease(&self) -> &Arc<Lease> {
        &self.lease
    }

    /// As [`Lease::expire`]: asks that owner to leave, and ends the snapshot if no thread is in a call.
    pub(crate) fn expire(&self, owner: u64) -> bool {
        // SAFETY: the closure runs under the gate, while the session has an owner. The connection is open, because
        // `Leased` ends the lease, under the gate, before it drops the session; and no other thread uses it, because
        // each call of an owner takes the gate.
        self.lease.expire(owner, || unsafe { self.stopper.stop() })
    }
}
