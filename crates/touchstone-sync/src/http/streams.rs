//! How many streams are open, of all users and of each.

use crate::storage::Account;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Streams that are open.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    open: Arc<Mutex<Open>>,
}

#[derive(Debug, Default)]
struct Open {
    all: usize,
    of: HashMap<Account, usize>,
}

/// Room for a stream, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    streams: Streams,
    account: Account,
}

/// Why there is no room for a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// The service has as many as it may.
    All,
    /// The user has as many as one may.
    OfUser,
}

impl Streams {
    /// Takes room for a stream of a user, where there are fewer than `most`, and fewer than `of_user` of that user.
    pub(crate) fn open(&self, account: Account, most: usize, of_user: usize) -> Result<Permit, Full> {
        let mut open = self.lock();
        if open.all >= most {
            return Err(Full::All);
        }
        if open.of.get(&account).is_some_and(|number| *number >= of_user) {
            return Err(Full::OfUser);
        }
        open.all += 1;
        *open.of.entry(account).or_default() += 1;
        Ok(Permit { streams: self.clone(), account })
    }

    /// Nothing that holds the lock can panic between two of its changes.
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut open = self.streams.lock();
        open.all -= 1;
        if let Some(number) = open.of.get_mut(&self.account) {
            *number -= 1;
            if *number == 0 {
                open.of.remove(&self.account);
            }
        }
    }
}
