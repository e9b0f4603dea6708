//! When a group of requests goes to the database beside those that are under way. While one is, others wait and become the next, which costs less
//! than two small ones beside each other. But no request waits for long behind a group that has much to do, or that waits for another session.

use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// How long all groups that are under way are so until another may begin beside them. Most take a millisecond.
const SLOW_AFTER: Duration = Duration::from_millis(5);

/// The groups that are under way.
pub(super) struct Pace {
    /// When each began.
    begun: Vec<Instant>,
    most: usize,
    /// The moment that all is decided by: a group that becomes slow behind it wakes the task.
    now: Instant,
}

impl Pace {
    /// Of groups of which `most` at most are under way at the same time.
    pub(super) fn of(most: usize) -> Pace {
        Pace { begun: Vec::with_capacity(most), most, now: Instant::now() }
    }

    /// Looks at the clock: once each time that the task wakes.
    pub(super) fn look(&mut self) {
        self.now = Instant::now();
    }

    /// How many are under way.
    pub(super) fn under_way(&self) -> usize {
        self.begun.len()
    }

    /// Whether another group may begin now: none is under way, all are slow, or those that wait are enough for one.
    pub(super) fn may_begin(&self, are_enough: bool) -> bool {
        self.begun.len() < self.most && (are_enough || self.slow_at() <= Some(self.now))
    }

    /// Notes that a group begins now.
    pub(super) fn begin(&mut self) -> Instant {
        self.begun.push(self.now);
        self.now
    }

    /// Whether the oldest of those that are under way began within so long.
    pub(super) fn is_young(&self, age: Duration) -> bool {
        self.begun.iter().min().is_none_or(|oldest| self.now < *oldest + age)
    }

    /// Ends when the oldest of those that are under way is so old.
    pub(super) async fn aged(&self, age: Duration) {
        match self.begun.iter().min() {
            Some(oldest) => sleep_until(*oldest + age).await,
            None => std::future::pending().await,
        }
    }

    /// Whether none of those that are under way began before then.
    pub(super) fn is_oldest(&self, began: Instant) -> bool {
        self.begun.iter().min() >= Some(&began)
    }

    /// Notes that the group has ended that began then.
    pub(super) fn end(&mut self, began: Instant) {
        if let Some(place) = self.begun.iter().position(|other| *other == began) {
            self.begun.swap_remove(place);
        }
    }

    /// Ends when all that are under way have become slow, and never where they were so at the last look.
    pub(super) async fn slowed(&self) {
        match self.slow_at().filter(|at| *at > self.now) {
            Some(at) => sleep_until(at).await,
            None => std::future::pending().await,
        }
    }

    /// When all that are under way are slow; none where there is none.
    fn slow_at(&self) -> Option<Instant> {
        self.begun.iter().max().map(|newest| *newest + SLOW_AFTER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Poll;

    /// Found by an attacker: the clock was read twice, and a group that became slow between the two was never told to be.
    #[tokio::test]
    async fn a_group_that_becomes_slow_after_the_look_wakes_the_task() {
        let mut pace = Pace::of(2);
        pace.now -= Duration::from_secs(1);
        assert!(pace.may_begin(false), "none is under way");
        let began = pace.begin();
        pace.now += SLOW_AFTER - Duration::from_nanos(1);
        assert!(!pace.may_begin(false) && pace.may_begin(true));
        // By the clock it has been slow for long.
        pace.slowed().await;
        pace.look();
        assert!(pace.may_begin(false));
        // That was seen: no task turns round and round.
        assert_eq!(futures_util::poll!(std::pin::pin!(pace.slowed())), Poll::Pending);
        pace.begin();
        assert!(!pace.may_begin(true), "as many as may be");
        pace.end(began);
        assert_eq!(pace.under_way(), 1);
    }
}
