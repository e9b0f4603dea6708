//! The sessions that nobody has. Whoever gives one back has this list between his last call and all else that he does to the
//! connection, and nobody takes it before: so what is done with the list locked is done to one owner, and to nobody after
//! him.

use crate::lease::Lease;
use crate::leased::Leased;
use crate::session::Session;
use crate::sync::{Mutex, MutexGuard, lock};

/// The sessions that nobody has.
pub(crate) struct Idle<S = Session> {
    #[expect(clippy::vec_box, reason = "a session is large, and taken and put back for every read")]
    list: Mutex<Vec<Box<Leased<S>>>>,
}

impl<S> Default for Idle<S> {
    fn default() -> Idle<S> {
        Idle { list: Mutex::default() }
    }
}

impl<S> Idle<S> {
    /// Takes one, if there is one.
    #[inline]
    pub(crate) fn take(&self) -> Option<Box<Leased<S>>> {
        self.list().pop()
    }

    /// The list, for whoever gives a session back, whose last call has ended; and for the keeper.
    #[inline]
    pub(crate) fn list(&self) -> MutexGuard<'_, Vec<Box<Leased<S>>>> {
        lock(&self.list)
    }

    /// Interrupts what that owner runs, if the session is still his.
    pub(crate) fn interrupt(&self, lease: &Lease, owner: u64, interrupt: impl FnOnce()) {
        let _nobody_gives_back = self.list();
        if lease.is_with(owner) {
            interrupt();
        }
    }
}
