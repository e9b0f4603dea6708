//! How much a service holds within limits: load rises until a step fails, then the bracket between what held and what did not is halved.
//!
//! A step that fails is measured again, and counts as failed when two of three fail: one spoilt step must not end a search. What held
//! is measured once more, for longer, before it is told. The search itself is a pure function of what its steps found.

use serde::{Deserialize, Serialize};

/// A failing step is measured up to this often, and two of them decide.
const TRIES: usize = 3;
/// By how much the rate rises from step to step until one fails.
const RISE: f64 = 2.0;
/// A confirmation that fails lowers the rate by this share of it.
const BACK: f64 = 0.05;
/// Confirmations at the most: after these, the search says that there is no answer.
const CONFIRMATIONS_MAX: usize = 4;

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Measure a step at this rate, a second.
    Step(f64),
    /// Measure this rate once more, for longer.
    Confirm(f64),
    /// The search has ended.
    Done(Found),
}

/// What a search has found.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// The highest rate that held and was confirmed, and the lowest that did not; none, where all rates that were allowed held.
    Holds {
        /// Held.
        at: f64,
        /// Did not.
        not_at: Option<f64>,
    },
    /// Not even the first rate held.
    Nothing {
        /// The first rate.
        at: f64,
    },
    /// Rates that had held did not when they were confirmed: what the service holds changes.
    Unsteady {
        /// The last that was tried.
        at: f64,
    },
}

/// A search.
#[derive(Clone, Debug)]
pub struct Search {
    to: f64,
    within: f64,
    held: Option<f64>,
    failed: Option<f64>,
    /// The rate that is measured now, and how it went so far.
    now: f64,
    passes: usize,
    failures: usize,
    confirming: bool,
    confirmations: usize,
}

impl Search {
    /// From a rate up to another, until the bracket's ends are `within` a share of each other.
    pub fn new(from: f64, to: f64, within: f64) -> Search {
        Search {
            to: to.max(from),
            within,
            held: None,
            failed: None,
            now: from,
            passes: 0,
            failures: 0,
            confirming: false,
            confirmations: 0,
        }
    }

    /// What is to be done.
    pub fn next(&self) -> Next {
        if self.confirming {
            return match (self.held, self.confirmations) {
                (Some(at), count) if count < CONFIRMATIONS_MAX => Next::Confirm(at),
                (Some(at), _) => Next::Done(Found::Unsteady { at }),
                (None, _) => Next::Done(Found::Nothing { at: self.now }),
            };
        }
        Next::Step(self.now)
    }

    /// What the step has found that [`next`](Search::next) asked for. Returns the answer, once there is one.
    pub fn found(&mut self, held: bool) -> Option<Found> {
        if self.confirming {
            self.confirmations += 1;
            if held {
                let at = self.held.unwrap_or(self.now);
                return Some(Found::Holds { at, not_at: self.failed });
            }
            let at = self.held.unwrap_or(self.now);
            self.failed = Some(self.failed.map_or(at, |failed| failed.min(at)));
            self.held = Some(at * (1.0 - BACK));
            return None;
        }
        if held {
            self.passes += 1;
        } else {
            self.failures += 1;
        }
        // One that holds at once is believed: a service is not quicker by chance.
        let is_decided = self.failures == 0 || self.failures >= 2 || self.passes >= TRIES - 1;
        if is_decided {
            self.decide(self.failures < 2);
        }
        None
    }

    /// The highest rate that has held, and the lowest that has not.
    pub fn bracket(&self) -> (Option<f64>, Option<f64>) {
        (self.held, self.failed)
    }

    fn decide(&mut self, held: bool) {
        (self.passes, self.failures) = (0, 0);
        if held {
            self.held = Some(self.now);
        } else {
            self.failed = Some(self.now);
        }
        match (self.held, self.failed) {
            (Some(held), Some(failed)) if failed / held - 1.0 <= self.within => self.confirming = true,
            // The middle of rates is their geometric mean.
            (Some(held), Some(failed)) => self.now = (held * failed).sqrt(),
            (Some(held), None) if held >= self.to => self.confirming = true,
            (Some(held), None) => self.now = (held * RISE).min(self.to),
            (None, _) => self.confirming = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Searches a service that holds up to a rate. `spoilt` says which steps fail all the same.
    fn search(limit: f64, from: f64, to: f64, spoilt: impl Fn(usize) -> bool) -> (Found, usize) {
        let mut search = Search::new(from, to, 0.05);
        for steps in 0..200 {
            let rate = match search.next() {
                Next::Step(rate) | Next::Confirm(rate) => rate,
                Next::Done(found) => return (found, steps),
            };
            if let Some(found) = search.found(rate <= limit && !spoilt(steps)) {
                return (found, steps + 1);
            }
        }
        panic!("the search does not end");
    }

    proptest! {
        #[test]
        fn the_bracket_holds_the_limit(limit in 100.0..900_000.0f64, spoilt in 0..40usize) {
            for spoilt in [None, Some(spoilt)] {
                let (found, steps) = search(limit, 100.0, 1e6, |step| Some(step) == spoilt);
                let Found::Holds { at, not_at } = found else { panic!("{found:?}") };
                let not_at = not_at.expect("it does not hold everything");
                prop_assert!(at <= limit, "{at} of {limit}");
                // A spoilt confirmation costs a step back.
                let below = if spoilt.is_some() { 0.89 } else { 0.95 };
                prop_assert!(at >= limit * below, "{at} of {limit}, spoilt {spoilt:?}");
                prop_assert!(not_at > limit * 0.949, "{not_at} of {limit}");
                prop_assert!(steps <= 32, "{steps} steps");
            }
        }
    }

    #[test]
    fn a_service_that_holds_nothing_is_told() {
        assert_eq!(search(50.0, 100.0, 1e6, |_| false).0, Found::Nothing { at: 100.0 });
    }

    #[test]
    fn a_service_that_holds_everything_is_told() {
        assert_eq!(search(1e9, 100.0, 1_000.0, |_| false).0, Found::Holds { at: 1_000.0, not_at: None });
    }

    #[test]
    fn a_service_whose_rate_falls_while_it_is_confirmed_is_told() {
        let mut search = Search::new(100.0, 100.0, 0.05);
        assert_eq!(search.next(), Next::Step(100.0));
        search.found(true);
        while let Next::Confirm(_) = search.next() {
            assert_eq!(search.found(false), None);
        }
        assert!(matches!(search.next(), Next::Done(Found::Unsteady { .. })));
    }
}
