//! A session with the lease of its owner. What is inside is reached only within a call, which has the lease's gate from
//! its beginning to its end: whoever ends the snapshot from outside has the gate too, so no connection is used by two
//! threads at once. Calls are closures, so none is forgotten, and none ends before one that began within it.

use crate::engine::fork::Origin;
use crate::engine::log::{LogPlace, LogState};
use crate::engine::pin::{First, Pin};
use crate::error::{Error, Result};
use crate::lease::{Gate, Lease};
use crate::session::Session;
use crate::sync::MutexGuard;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::{Arc, Weak};

/// A session that is used in calls. One thread has it at a time.
pub(crate) struct Leased<S = Session> {
    inside: ManuallyDrop<S>,
    /// None where nobody else knows of the session, and nobody could end what its owner has begun.
    lease: Option<Arc<Lease>>,
    /// The store's file, which tells why it cannot be read where it is gone. It closes the store's first session, and is not
    /// kept by it.
    pin: Weak<Pin>,
    /// The process that it is of: what it has is not touched in a child of that one.
    origin: Origin,
    /// How many calls are under way: one within a program's closure within another.
    depth: Cell<u32>,
    /// What the log was when the read transaction that is still open began; none where there is none to go on with.
    pub(crate) parked: Cell<Option<LogState>>,
    /// Whether somebody used the session since the keeper last looked.
    pub(crate) is_used: Cell<bool>,
    /// Whether it is the store's first session, which the pin alone closes: whoever else drops it leaves it open for ever.
    is_first: Cell<bool>,
}

/// A call that is under way; it ends also where the program's own code panics.
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
    /// A session that nobody else knows of: the writer's.
    pub(crate) fn alone(inside: S) -> Leased<S> {
        Leased::of(inside, None)
    }

    /// A session whose snapshots may be ended from outside.
    pub(crate) fn shared(inside: S, lease: Arc<Lease>) -> Leased<S> {
        Leased::of(inside, Some(lease))
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

    /// Makes it the store's first session.
    pub(crate) fn make_first(&self) {
        self.is_first.set(true);
    }

    #[inline]
    pub(crate) fn is_first(&self) -> bool {
        self.is_first.get()
    }

    /// Begins a snapshot for a new owner.
    ///
    /// # Errors
    /// As `work` does; when the snapshot is to expire at once.
    #[inline]
    pub(crate) fn begin<R>(&self, work: impl FnOnce(&S) -> Result<R>) -> Result<R> {
        let _call = self.count(self.lease.as_deref().map(Lease::begin));
        work(&self.inside).map_err(|error| self.explained(error))
    }

    /// Notes what the snapshot is that has begun: where the log was, and what it was if the snapshot may be gone on with.
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
    /// When the snapshot has expired, in the child of a fork, or as `work` does.
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

    /// A call that puts away what others have left, also where the snapshot has expired.
    #[inline]
    pub(crate) fn call_last<R>(&self, work: impl FnOnce(&S) -> R) -> R {
        let gate = match &self.lease {
            // In the child of a fork nobody else is there, and whoever had the gate does not give it back.
            Some(lease) if self.depth.get() == 0 && self.origin.is_here() => Some(lease.enter_last()),
            _ => None,
        };
        let _call = self.count(gate);
        work(&self.inside)
    }

    /// Ends what the owner had; whether the snapshot was still his, and what `work` finds.
    #[inline]
    pub(crate) fn end<R>(&self, work: impl FnOnce(&S) -> R) -> (bool, R) {
        let (gate, is_whole) = self.lease.as_deref().map(Lease::end).unzip();
        let _call = self.count(gate);
        (is_whole.unwrap_or(true), work(&self.inside))
    }

    /// Why the owner's statement was interrupted, where it was; or why the file cannot be read or written.
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

impl Leased {
    /// A call within the owner's transaction, which must still be there.
    ///
    /// # Errors
    /// As for [`call`](Leased::call); when the transaction has ended.
    #[inline]
    pub(crate) fn in_transaction<R>(&self, work: impl FnOnce(&Session) -> Result<R>) -> Result<R> {
        self.call(|session| {
            session.check_open()?;
            work(session)
        })
    }
}

/// A connection is closed after its lease has ended: whoever has the gate, and finds that the session has an owner, has an
/// open connection.
impl<S> Drop for Leased<S> {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.as_ref().filter(|_| self.origin.is_here()) {
            drop(lease.end());
        }
        if !self.is_first() {
            // SAFETY: it is dropped once, here, and not looked at afterwards.
            unsafe { ManuallyDrop::drop(&mut self.inside) };
        }
    }
}

impl First for Leased {
    fn close(self: Box<Self>, leaves_log: bool) {
        if self.origin.is_here() {
            self.call_last(|session| session.connection.leave_log(leaves_log));
            self.is_first.set(false);
        }
    }
}

/// What a call leaves for the next one of the same session: a statement that stands on a row, a walk over pages. It is used,
/// and put away, within calls only; what is never put away is never freed.
pub(crate) struct Kept<V> {
    value: Option<ManuallyDrop<V>>,
    /// Whose it is. It is only compared.
    session: *const Session,
}

impl<V> Kept<V> {
    pub(crate) fn new(inside: &Session, value: V) -> Kept<V> {
        Kept { value: Some(ManuallyDrop::new(value)), session: inside }
    }

    /// It, within a call of the session that it is of.
    #[inline]
    pub(crate) fn get(&mut self, inside: &Session) -> Option<&mut V> {
        debug_assert!(ptr::eq(self.session, inside), "another session's gate is held");
        self.value.as_deref_mut()
    }

    /// Puts it away, within a call of the session that it is of.
    pub(crate) fn put_away(&mut self, inside: &Session) {
        assert!(ptr::eq(self.session, inside), "another session's gate is held");
        drop(self.value.take().map(ManuallyDrop::into_inner));
    }

    /// Whether there is nothing any more.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.value.is_none()
    }
}
