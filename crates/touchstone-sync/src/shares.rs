//! What the service has in memory for its users, of all and of each, in bytes or in number: nobody takes the room of the others.

use crate::storage::Account;
use axum::body::Bytes;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::OwnedSemaphorePermit;

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

    fn give_back(&mut self, account: Account, much: usize) {
        self.all -= much;
        if let Some(of_user) = self.of.get_mut(&account) {
            *of_user -= much;
            if *of_user == 0 {
                self.of.remove(&account);
            }
        }
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

/// What a body takes of the room of all and of its user's, until it is answered or given up: it goes with an upload, whose client may be gone.
#[derive(Debug)]
pub struct BodyRoom {
    pub(crate) _of_all: OwnedSemaphorePermit,
    pub(crate) _of_user: Option<Share>,
}

impl From<OwnedSemaphorePermit> for BodyRoom {
    /// Room of all, and of no user.
    fn from(of_all: OwnedSemaphorePermit) -> BodyRoom {
        BodyRoom { _of_all: of_all, _of_user: None }
    }
}

/// Room for what the answer to an upload gives back. It is taken when it is known how much that is, before anything is written: what is stored
/// is told.
#[derive(Clone, Debug, Default)]
pub struct AnswerRoom {
    /// None where all is told.
    of: Option<Arc<OfAnswer>>,
}

#[derive(Debug)]
struct OfAnswer {
    shares: Shares,
    account: Account,
    most: usize,
    of_user: usize,
    taken: Mutex<Option<Share>>,
}

impl AnswerRoom {
    /// Of a user's answers, which all together may reach `most`, and those of this user `of_user`.
    pub(crate) fn of(shares: Shares, account: Account, most: usize, of_user: usize) -> AnswerRoom {
        let taken = Mutex::default();
        AnswerRoom { of: Some(Arc::new(OfAnswer { shares, account, most, of_user, taken })) }
    }

    /// Whether there is room for more. What it had is given back: an upload may be decided several times.
    pub(crate) fn has_room(&self) -> bool {
        let Some(of) = &self.of else { return true };
        drop(of.taken.lock().unwrap_or_else(PoisonError::into_inner).take());
        of.shares.has_room(of.account, of.most, of.of_user)
    }

    /// Takes room for so many bytes, in the place of what it had. Returns whether there is room.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let Some(of) = &self.of else { return true };
        let mut taken = of.taken.lock().unwrap_or_else(PoisonError::into_inner);
        drop(taken.take());
        *taken = of.shares.take_where_room(of.account, bytes, of.most, of.of_user);
        taken.is_some()
    }

    /// What was taken, for an answer of so many bytes.
    pub(crate) fn taken(&self, bytes: usize) -> Option<Share> {
        let of = self.of.as_ref()?;
        let mut share = of.taken.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        share.become_of(bytes);
        Some(share)
    }
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

    /// Counts so many bytes of its user in the place of those that it counts.
    fn become_of(&mut self, bytes: usize) {
        let mut held = self.shares.lock();
        held.take(self.account, bytes);
        held.give_back(self.account, self.held);
        self.held = bytes;
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
        self.shares.lock().give_back(self.account, self.held);
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

    #[test]
    fn room_of_an_answer_is_taken_once_and_becomes_that_of_the_answer() {
        let (shares, ada) = (Shares::default(), Account::numbered(1));
        let room = |shares: &Shares| AnswerRoom::of(shares.clone(), ada, 100, 10);
        let (first, second) = (room(&shares), room(&shares));
        assert!(first.take(9) && first.take(8), "it has what it had");
        assert!(second.take(50) && !room(&shares).take(1));
        let answer = first.taken(3).unwrap();
        assert!(first.taken(3).is_none() && second.take(20));
        drop((answer, second));
        assert!(shares.has_room(ada, 1, 1), "all of it is given back");
        assert!(AnswerRoom::default().take(usize::MAX));
    }
}
