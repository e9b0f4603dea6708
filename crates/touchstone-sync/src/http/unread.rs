//! Answers that their clients have not read yet, by their bytes. A client that asks and does not read would fill the memory otherwise:
//! over one connection of HTTP/2 it may ask two hundred times.

use crate::storage::Account;
use axum::body::Bytes;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of answers that are not read yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unread {
    held: Arc<Mutex<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    all: usize,
    of: HashMap<Account, usize>,
}

/// An answer's bytes, counted until the last of them is sent or given up.
struct Answer {
    bytes: Vec<u8>,
    unread: Unread,
    account: Account,
}

impl Unread {
    /// Whether a user may be given another answer: all together have not reached `most`, nor this user's `of_user`.
    pub(crate) fn has_room(&self, account: Account, most: usize, of_user: usize) -> bool {
        let held = self.lock();
        held.all < most && held.of.get(&account).is_none_or(|bytes| *bytes < of_user)
    }

    /// Counts an answer of a user.
    pub(crate) fn hold(&self, account: Account, bytes: Vec<u8>) -> Bytes {
        let mut held = self.lock();
        held.all += bytes.len();
        *held.of.entry(account).or_default() += bytes.len();
        drop(held);
        Bytes::from_owner(Answer { bytes, unread: self.clone(), account })
    }

    /// Nothing that holds the lock can panic between two of its changes.
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let mut held = self.unread.lock();
        held.all -= self.bytes.len();
        if let Some(bytes) = held.of.get_mut(&self.account) {
            *bytes -= self.bytes.len();
            if *bytes == 0 {
                held.of.remove(&self.account);
            }
        }
    }
}
