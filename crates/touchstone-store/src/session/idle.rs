//! The list of idle sessions, and the number of sessions that are out. A thread that gives a session back ends its
//! lease, then locks this list, and only then parks the snapshot or ends it. No thread takes the session before it is
//! in the list again. So an interrupt under the list's lock hits only the owner that it is for: neither the end of its
//! transaction nor a later owner.

use crate::engine::lease::Lease;
use crate::session::Session;
use crate::session::leased::Leased;
use crate::types::sync::{IDLE, Mutex, MutexGuard, lock};

/// The idle sessions.
pub(crate) struct Idle<S = Session>(Mutex<IdleList<S>, IDLE>);

/// The list of idle sessions, with the decisions that are made under its lock.
pub(crate) struct IdleList<S = Session> {
    pub(crate) sessions: Vec<Box<Leased<S>>>,
    /// How many sessions are out.
    pub(crate) out: usize,
    /// Whether the keeper looks again and again, at parked snapshots and at held ones.
    pub(crate) is_watched: bool,
    /// The number of snapshots that came back while the keeper did not watch.
    pub(crate) reads: u32,
    /// Whether no snapshot is parked: the keeper waits until no reader reads from the log.
    pub(crate) is_draining: bool,
}

impl<S> Default for Idle<S> {
    fn default() -> Idle<S> {
        Idle(Mutex::new(IdleList {
            sessions: Vec::new(),
            out: 0,
            is_watched: false,
            reads: 0,
            is_draining: false,
        }))
    }
}

impl<S> Idle<S> {
    /// The list, for threads that take a session or give one back, and for the keeper.
    #[inline]
    pub(crate) fn list(&self) -> MutexGuard<'_, IdleList<S>> {
        lock(&self.0)
    }

    /// Interrupts the owner's running statement, if the session is still that owner's.
    pub(crate) fn interrupt(&self, lease: &Lease, owner: u64, interrupt: impl FnOnce()) {
        let _nobody_gives_back = self.list();
        if lease.is_with(owner) {
            interrupt();
        }
    }
}
