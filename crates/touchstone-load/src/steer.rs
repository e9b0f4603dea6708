//! A closed loop that is steered from outside while it runs: how many users it has, and what it has counted since somebody last asked.
//!
//! Lanes look at it once a turn, and put up what they have counted once a second. Nothing else of it is in their way.

use crate::recorder::Recorder;
use crate::schedule::Share;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// More users than these are a mistake.
pub const USERS_MAX: u32 = 1_000_000;

/// What was counted in one second.
#[derive(Debug)]
pub struct Counted {
    /// The middle of that second, in seconds after the beginning of 1970.
    pub at: f64,
    /// The rows of one lane.
    pub recorder: Recorder,
}

/// How many users a loop has, and what it has counted.
#[derive(Debug, Default)]
pub struct Steer {
    users: AtomicU32,
    is_at_rest: AtomicBool,
    fresh: Mutex<Vec<Counted>>,
}

impl Steer {
    /// Lets so many users take part from now on. Those that are too many end the iteration that they are in.
    pub fn let_take_part(&self, users: u32) {
        self.is_at_rest.store(false, Ordering::Relaxed);
        self.users.store(users.min(USERS_MAX), Ordering::Relaxed);
    }

    /// How many users take part.
    pub fn users(&self) -> u32 {
        self.users.load(Ordering::Relaxed)
    }

    /// How many of them are a lane's: the first lanes have one more.
    pub(crate) fn users_of(&self, lane: Share) -> usize {
        let users = u64::from(self.users());
        (users / lane.of + u64::from(lane.number < users % lane.of)) as usize
    }

    /// Whether nobody takes part any more, and all have ended their last iteration.
    pub fn is_at_rest(&self) -> bool {
        self.users() == 0 && self.is_at_rest.load(Ordering::Relaxed)
    }

    pub(crate) fn tell_at_rest(&self, is_at_rest: bool) {
        self.is_at_rest.store(is_at_rest, Ordering::Relaxed);
    }

    pub(crate) fn put_up(&self, counted: Counted) {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner).push(counted);
    }

    /// What was counted since this was last asked. All of it together is what the outcome of the run will hold.
    pub fn take(&self) -> Vec<Counted> {
        std::mem::take(&mut self.fresh.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_share_all_users_out() {
        let steer = Steer::default();
        for users in [0, 1, 7, 8, 1_000_003] {
            steer.let_take_part(users);
            let of = 3;
            let all: usize = (0..of).map(|number| steer.users_of(Share { number, of })).sum();
            assert_eq!(all, users.min(USERS_MAX) as usize);
        }
    }
}
