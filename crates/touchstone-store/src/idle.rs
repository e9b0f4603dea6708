//! The sessions that nobody has, and how many are out. Whoever gives one back has this list between his last call and all
//! else that he does to the connection, and nobody takes it before: so what is done with the list locked is done to one
//! owner, and to nobody after him.

use crate::lease::Lease;
use crate::leased::Leased;
use crate::session::Session;
use crate::sync::{Mutex, MutexGuard, lock};

/// The sessions that nobody has.
pub(crate) struct Idle<S = Session>(Mutex<List<S>>);

/// The list of them, with what is decided under its lock.
pub(crate) struct List<S = Session> {
    pub(crate) sessions: Vec<Box<Leased<S>>>,
    /// How many sessions somebody has.
    pub(crate) out: usize,
    /// Whether the keeper looks again and again: at snapshots that are left open, and at those that are held.
    pub(crate) is_watched: bool,
    /// Snapshots that were given back while the keeper did not look.
    pub(crate) reads: u32,
}

impl<S> Default for Idle<S> {
    fn default() -> Idle<S> {
        Idle(Mutex::new(List { sessions: Vec::new(), out: 0, is_watched: false, reads: 0 }))
    }
}

impl<S> Idle<S> {
    /// The list, for whoever takes a session or gives one back, and for the keeper.
    #[inline]
    pub(crate) fn list(&self) -> MutexGuard<'_, List<S>> {
        lock(&self.0)
    }

    /// Interrupts what that owner runs, if the session is still his.
    pub(crate) fn interrupt(&self, lease: &Lease, owner: u64, interrupt: impl FnOnce()) {
        let _nobody_gives_back = self.list();
        if lease.is_with(owner) {
            interrupt();
        }
    }
}
