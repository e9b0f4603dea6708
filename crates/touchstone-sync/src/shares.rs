//! What the service has in memory for its users, of all and of each, in bytes or in number: nobody takes the room of the others.

use crate::storage::Account;
use axum::body::Bytes;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is held, in bytes or in number.
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
    fn has_room(&self, account: Account, most: usize, of_user: usize) -> bool {
        self.all < most && self.of.get(&account).is_none_or(|held| *held < of_user)
    }

    fn take(&mut self, account: Account, much: usize) {
        self.all += much;
        *self.of.entry(account).or_default() += much;
    }
}

/// What is counted of a user, until this is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    held: usize,
    shares: Shares,
    account: Account,
}

/// Why there is no room for one more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// The service has as many as it may.
    All,
    /// The user has as many as one may.
    OfUser,
}

/// An answer's bytes, counted until the last of them is sent or given up.
struct Answer {
    bytes: Vec<u8>,
    _share: Share,
}

impl Shares {
    /// Whether a user may have more: all together have not reached `most`, nor this user's `of_user`.
    pub(crate) fn has_room(&self, account: Account, most: usize, of_user: usize) -> bool {
        self.lock().has_room(account, most, of_user)
    }

    /// Counts one more of a user, where all together are fewer than `most`, and those of this user fewer than `of_user`.
    pub(crate) fn take_one(&self, account: Account, most: usize, of_user: usize) -> Result<Share, Full> {
        let mut held = self.lock();
        if held.all >= most {
            return Err(Full::All);
        }
        if held.of.get(&account).is_some_and(|number| *number >= of_user) {
            return Err(Full::OfUser);
        }
        held.take(account, 1);
        Ok(Share { held: 1, shares: self.clone(), account })
    }

    /// Counts bytes of a user.
    pub(crate) fn take(&self, account: Account, bytes: usize) -> Share {
        self.lock().take(account, bytes);
        Share { held: bytes, shares: self.clone(), account }
    }

    /// Counts bytes of a user, unless all together have reached `most`, or this user's `of_user`: what was counted before may go beyond by one answer.
    pub(crate) fn take_where_room(
        &self,
        account: Account,
        bytes: usize,
        most: usize,
        of_user: usize,
    ) -> Option<Share> {
        let mut held = self.lock();
        let has_room = held.has_room(account, most, of_user);
        has_room.then(|| {
            held.take(account, bytes);
            Share { held: bytes, shares: self.clone(), account }
        })
    }

    /// Counts an answer of a user.
    pub(crate) fn hold(&self, account: Account, bytes: Vec<u8>) -> Bytes {
        let share = self.take(account, bytes.len());
        share.of(bytes)
    }

    /// Nothing that holds the lock can panic between two of its changes.
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// The answer whose bytes it counts.
    pub(crate) fn of(self, bytes: Vec<u8>) -> Bytes {
        Bytes::from_owner(Answer { bytes, _share: self })
    }

    /// Counts more bytes of its user.
    pub(crate) fn grow(&mut self, bytes: usize) {
        self.shares.lock().take(self.account, bytes);
        self.held += bytes;
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
        held.all -= self.held;
        if let Some(of_user) = held.of.get_mut(&self.account) {
            *of_user -= self.held;
            if *of_user == 0 {
                held.of.remove(&self.account);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by an attacker: downloads at once had all looked before the first was counted.
    #[test]
    fn one_answer_more_than_there_is_room_for_is_held() {
        let (shares, ada, bob) = (Shares::default(), Account::numbered(1), Account::numbered(2));
        let hold = |account, much| shares.take_where_room(account, much, 100, 10);
        let held = [hold(ada, 9), hold(ada, 50)];
        assert!(held.iter().all(Option::is_some) && hold(ada, 1).is_none());
        let others = hold(bob, 41).unwrap();
        assert!(hold(Account::numbered(3), 0).is_none(), "all together have theirs");
        drop(others);
        assert!(hold(bob, 0).is_some() && hold(ada, 0).is_none());
        drop(held);
        assert!(hold(ada, 0).is_some());
    }
}
