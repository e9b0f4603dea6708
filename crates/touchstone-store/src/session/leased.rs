//! The store's leased sessions, and the values that a call of one keeps for the next call. The lease, and why one thread
//! at a time uses the connection, are in `engine/lease.rs` and `engine/leased.rs`.

use crate::engine::leased;
use crate::engine::pin::First;
use crate::session::Session;
use crate::types::error::Result;
use std::mem::ManuallyDrop;
use std::ptr;

/// A session that is used in calls. One thread has it at a time.
pub(crate) type Leased<S = Session> = leased::Leased<S>;

impl Leased {
    /// A call within the owner's transaction, which must still be there.
    ///
    /// # Errors
    /// As for [`call`](Leased::call); if the transaction has ended.
    #[inline]
    pub(crate) fn in_transaction<R>(&self, work: impl FnOnce(&Session) -> Result<R>) -> Result<R> {
        self.call(|session| {
            session.check_open()?;
            work(session)
        })
    }
}

impl First for Leased {
    fn close(self: Box<Self>, leaves_log: bool) {
        if self.is_of_here() {
            self.call_last(|session| session.connection.leave_log(leaves_log));
            self.set_first(false);
        }
    }
}

/// A value that a call keeps for the next call of the same session: a statement that stands on a row, a walk over
/// pages. It is used and put away within calls only; a value that is never put away is never freed.
pub(crate) struct Kept<V> {
    value: Option<ManuallyDrop<V>>,
    /// The session of the value. The pointer is only compared.
    session: *const Session,
}

impl<V> Kept<V> {
    pub(crate) fn new(inside: &Session, value: V) -> Kept<V> {
        Kept { value: Some(ManuallyDrop::new(value)), session: inside }
    }

    /// The value, within a call of its session.
    #[inline]
    pub(crate) fn get(&mut self, inside: &Session) -> Option<&mut V> {
        debug_assert!(ptr::eq(self.session, inside), "another session's gate is held");
        self.value.as_deref_mut()
    }

    /// Puts the value away, within a call of its session.
    pub(crate) fn put_away(&mut self, inside: &Session) {
        assert!(ptr::eq(self.session, inside), "another session's gate is held");
        drop(self.value.take().map(ManuallyDrop::into_inner));
    }

    /// Whether the value was put away.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.value.is_none()
    }
}
