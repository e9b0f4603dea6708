//! A steered loop: users who join and leave while it runs, and rows that are handed over once a second.

use super::{Journey, Next};
use crate::failure::Failure;
use crate::schedule::Share;
use crate::steer::Steer;

/// How often rows are handed over.
const HAND_OVER_EVERY_NS: u64 = 1_000_000_000;

/// What a loop knows of who steers it.
pub(super) struct Steered<'p> {
    steer: &'p Steer,
    /// Which lane of the process it is.
    lane: Share,
    /// Which users of the fleet are its own.
    share: Share,
    /// How many users take part: those with the first places.
    pub(super) users: usize,
    hands_over_ns: u64,
}

impl<'p> Steered<'p> {
    /// `share` is a part of the process's own share.
    pub(super) fn new(steer: &'p Steer, process: Share, share: Share) -> Steered<'p> {
        let lane = Share { number: share.number / process.of, of: share.of / process.of };
        Steered { steer, lane, share, users: 0, hands_over_ns: HAND_OVER_EVERY_NS }
    }
}

impl Journey<'_> {
    /// Lets as many users take part as are wanted now, and hands over the rows of a second that is over. The end is at `u64::MAX`.
    pub(super) fn follow(&mut self, now_ns: u64) {
        let active = self.active;
        let Some(steered) = &mut self.steered else { return };
        let wanted = steered.steer.users_of(steered.lane);
        if wanted == 0 {
            self.board.tell_at_rest(active == 0);
        }
        if now_ns >= steered.hands_over_ns {
            let at_ns = steered.hands_over_ns - HAND_OVER_EVERY_NS / 2;
            steered.hands_over_ns =
                (now_ns / HAND_OVER_EVERY_NS).saturating_add(1).saturating_mul(HAND_OVER_EVERY_NS);
            self.board.put_up(at_ns, self.recorder.take_rows());
        }
        if wanted != steered.users && now_ns != u64::MAX {
            steered.users = wanted;
            let share = steered.share;
            self.board.tell_at_rest(false);
            self.let_take_part(wanted, share, now_ns);
        }
    }

    fn let_take_part(&mut self, wanted: usize, share: Share, now_ns: u64) {
        while self.users.len() < wanted {
            self.idle.push_back(self.users.len());
            self.users.push(self.plan.user_of(share, self.users.len()));
        }
        // Who does not take part is idle again at once.
        for user in std::mem::take(&mut self.idle) {
            self.rest(user, now_ns);
        }
    }

    /// What a user does that has no next iteration now: it leaves, or does the setup.
    pub(super) fn joins_or_leaves(&mut self, user: usize, due_ns: u64) -> Option<Next> {
        let setup = self.plan.setup();
        if self.takes_part_from(user, due_ns).is_none() {
            self.idle.push_back(user);
            return Some(Next::Rests);
        }
        let joins = !self.users[user].is_set_up && !self.plan.flows[setup].steps.is_empty();
        if joins {
            self.begin(user, setup, due_ns, self.plan.phases.len());
        }
        joins.then_some(Next::Asks)
    }

    /// What a failure means to a user that may have done the setup: a setup that failed is not tried again at once.
    pub(super) fn joined(&mut self, user: usize, flow: usize, failure: Option<Failure>) -> Option<Failure> {
        if flow != self.plan.setup() {
            return failure;
        }
        self.users[user].is_set_up = failure.is_none();
        failure.map(|_| Failure::Connect)
    }
}
