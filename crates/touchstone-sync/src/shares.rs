//! What the service has in memory for its users, of all and of each, in bytes or in number: nobody takes the room of the others.

use crate::storage::Account;
use axum::body::Bytes;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that are held.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares {
    held: Arc<Mutex<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    all: usize,
    of: HashMap<Account, usize>,
}

impl Held {
    fn take(&mut self, account: Account, much: usize) {
        self.all += much;
        *self.of.entry(account).or_default() += much;
    }
}

/// What is counted of a user, until this is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    bytes: usize,
    shares: Shares,
    account: Account,
}

/// An answer's bytes, counted until the last of them is sent or given up.
struct Answer {
    bytes: Vec<u8>,
    _share: Share,
}

impl Shares {
    /// Whether a user may have more: all together have not reached `most`, nor this user's `of_user`.
    pub(crate) fn has_room(&self, account: Account, most: usize, of_user: usize) -> bool {
        let held = self.lock();
        held.all < most && held.of.get(&account).is_none_or(|bytes| *bytes < of_user)
    }

    /// Counts as much of a user, if all together then have no more than `most`, and this user no more than `of_user`.
    #[cfg(feature = "postgres")]
    pub(crate) fn try_take(
        &self,
        account: Account,
        much: usize,
        most: usize,
        of_user: usize,
    ) -> Option<Share> {
        let mut held = self.lock();
        let of_account = held.of.get(&account).copied().unwrap_or_default();
        let has_room = held.all + much <= most && of_account + much <= of_user;
        has_room.then(|| held.take(account, much))?;
        Some(Share { bytes: much, shares: self.clone(), account })
    }

    /// Counts bytes of a user.
    pub(crate) fn take(&self, account: Account, bytes: usize) -> Share {
        self.lock().take(account, bytes);
        Share { bytes, shares: self.clone(), account }
    }

    /// Counts an answer of a user.
    pub(crate) fn hold(&self, account: Account, bytes: Vec<u8>) -> Bytes {
        let share = self.take(account, bytes.len());
        Bytes::from_owner(Answer { bytes, _share: share })
    }

    /// Nothing that holds the lock can panic between two of its changes.
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// Counts more bytes of its user.
    pub(crate) fn grow(&mut self, bytes: usize) {
        self.shares.lock().take(self.account, bytes);
        self.bytes += bytes;
    }
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut held = self.shares.lock();
        held.all -= self.bytes;
        if let Some(bytes) = held.of.get_mut(&self.account) {
            *bytes -= self.bytes;
            if *bytes == 0 {
                held.of.remove(&self.account);
            }
        }
    }
}
