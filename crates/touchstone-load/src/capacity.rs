//! How much a service holds within limits: load rises until a step fails, then the bracket between what held and what did not is halved.
//!
//! A step that fails is measured again, and counts as failed when two of three fail: one spoilt step must not end a search. On a machine
//! that others use, two can be spoilt in a row, and the bracket would close far below what the service holds. So both of its ends are
//! measured once more before it is believed: the lowest rate that did not hold, and, for longer, the highest that did. A rate that did not
//! hold has to hold in two of three of these measurements to be one that does: by a single one, every rate near the limit would get a
//! chance more, and the answer would be too high. The search itself is a pure function of what its steps found.

use serde::{Deserialize, Serialize};

/// A failing step is measured up to this often, and two of them decide.
const TRIES: usize = 3;
/// By how much the rate rises from step to step until one fails.
const RISE: f64 = 2.0;
/// A confirmation that fails lowers the rate by this share of it.
const BACK: f64 = 0.05;
/// One that cannot be believed lowers it to this share: the generator is at its limits, and 5 % less load does not relieve it.
const RELIEF: f64 = 0.75;
/// So often at the most a confirmation fails, and so often one cannot be believed: after these, the search says that there is no answer.
const BACKS_MAX: usize = 4;
/// Rates that had not held and do after all, at the most: after these, a bracket is believed when it closes.
const AFTER_ALL_MAX: usize = 8;

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
    /// The highest rate that held and was confirmed, and the lowest that did not; none, where all rates that were allowed held, or the
    /// generator came to its own limits before one did not.
    Holds {
        /// Held.
        at: f64,
        /// Did not. It may be far above, where the generator came to its own limits between them.
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

/// What a step of the search is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Narrowing the bracket.
    Narrow,
    /// Looking whether the lowest rate that did not hold does not hold now either.
    Doubt,
    /// Confirming the highest that held.
    Confirm,
}

/// A search.
#[derive(Clone, Debug)]
pub struct Search {
    to: f64,
    within: f64,
    stage: Stage,
    held: Option<f64>,
    /// Rates that did not hold, the lowest last.
    failed: Vec<f64>,
    /// The rate that is measured now, and how it went so far.
    now: f64,
    passes: usize,
    failures: usize,
    /// Rates that had not held and did after all.
    after_all: usize,
    /// Confirmations that failed.
    backs: usize,
    /// Confirmations that could not be believed.
    reliefs: usize,
}

impl Search {
    /// From a rate up to another, until the bracket's ends are `within` a share of each other.
    pub fn new(from: f64, to: f64, within: f64) -> Search {
        Search {
            to: to.max(from),
            within,
            stage: Stage::Narrow,
            held: None,
            failed: Vec::new(),
            now: from,
            passes: 0,
            failures: 0,
            after_all: 0,
            backs: 0,
            reliefs: 0,
        }
    }

    /// What is to be done.
    pub fn next(&self) -> Next {
        match self.stage {
            Stage::Narrow | Stage::Doubt => Next::Step(self.now),
            Stage::Confirm => match (self.held, self.failed.last()) {
                // The rate below it, which would be next, nobody has measured.
                (Some(_), Some(at)) if self.backs >= BACKS_MAX => Next::Done(Found::Unsteady { at: *at }),
                (Some(at), _) => Next::Confirm(at),
                (None, _) => Next::Done(Found::Nothing { at: self.now }),
            },
        }
    }

    /// What the step has found that [`next`](Search::next) asked for. Returns the answer, once there is one.
    pub fn found(&mut self, held: bool) -> Option<Found> {
        if held {
            self.passes += 1;
        } else {
            self.failures += 1;
        }
        if self.stage == Stage::Doubt {
            self.doubt();
            return None;
        }
        // One that holds at once is believed: a service is not quicker by chance.
        if self.failures > 0 && self.failures < 2 && self.passes < TRIES - 1 {
            return None;
        }
        let held = self.failures < 2;
        (self.passes, self.failures) = (0, 0);
        if self.stage == Stage::Confirm {
            return self.confirm(held);
        }
        if held {
            self.held = Some(self.now);
        } else {
            self.failed.push(self.now);
        }
        self.narrow();
        None
    }

    /// Gives up the rate that is measured, for nothing can be found out at it. A confirmation is next: of the highest rate that held or, if
    /// that was being confirmed, of three quarters of it. Returns false where no rate held, or too many were given up.
    pub fn relieve(&mut self) -> bool {
        let at = match (self.stage, self.held) {
            (_, None) => return false,
            (Stage::Confirm, Some(at)) => at * RELIEF,
            (Stage::Narrow | Stage::Doubt, Some(at)) => at,
        };
        self.reliefs += usize::from(self.stage == Stage::Confirm);
        self.confirm_at(at);
        self.reliefs < BACKS_MAX
    }

    /// Asks for a confirmation of this rate next.
    pub fn confirm_at(&mut self, rate: f64) {
        if (self.stage, self.held) != (Stage::Confirm, Some(rate)) {
            (self.stage, self.held, self.passes, self.failures) = (Stage::Confirm, Some(rate), 0, 0);
        }
    }

    /// The highest rate that has held, and the lowest that has not.
    pub fn bracket(&self) -> (Option<f64>, Option<f64>) {
        (self.held, self.failed.last().copied())
    }

    fn is_closed(&self) -> bool {
        matches!(self.bracket(), (Some(held), Some(failed)) if failed / held - 1.0 <= self.within)
    }

    /// Chooses the next rate, or closes the bracket.
    fn narrow(&mut self) {
        (self.stage, self.now) = match self.bracket() {
            (Some(_), Some(failed)) if self.is_closed() && self.after_all < AFTER_ALL_MAX => {
                (Stage::Doubt, failed)
            }
            (Some(_), Some(_)) if self.is_closed() => (Stage::Confirm, self.now),
            // The middle of rates is their geometric mean.
            (Some(held), Some(failed)) => (Stage::Narrow, (held * failed).sqrt()),
            (Some(held), None) if held >= self.to => (Stage::Confirm, held),
            (Some(held), None) => (Stage::Narrow, (held * RISE).min(self.to)),
            // Not even the first holds.
            (None, _) => (Stage::Doubt, self.now),
        };
    }

    /// A rate that did not hold was measured once more: it does not, if it fails at once, or in two of three. Where it holds after all,
    /// those above it are doubted too.
    fn doubt(&mut self) {
        let (passes, failures) = (self.passes, self.failures);
        if passes > 0 && passes < TRIES - 1 && failures < TRIES - 1 {
            return;
        }
        (self.passes, self.failures) = (0, 0);
        if passes > failures {
            self.after_all += 1;
            self.held = self.failed.pop();
            match self.failed.last() {
                Some(failed) => self.now = *failed,
                None => self.narrow(),
            }
        } else if self.is_closed() || self.held.is_none() {
            self.stage = Stage::Confirm;
        } else {
            self.narrow();
        }
    }

    fn confirm(&mut self, held: bool) -> Option<Found> {
        let at = self.held?;
        if held {
            return Some(Found::Holds { at, not_at: self.failed.last().copied() });
        }
        self.backs += 1;
        self.failed.push(at);
        self.held = Some(at * (1.0 - BACK));
        None
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
        fn the_bracket_holds_the_limit(limit in 100.0..900_000.0f64, from in 0..60usize) {
            for spoilt in 0..3 {
                let (found, steps) = search(limit, 100.0, 1e6, |step| (from..from + spoilt).contains(&step));
                let Found::Holds { at, not_at } = found else { panic!("{found:?}") };
                let not_at = not_at.expect("it does not hold everything");
                prop_assert!(at <= limit, "{at} of {limit}");
                // Where both are measurements of an answer, that is a step back.
                let below = if spoilt == 2 { 0.9 } else { 0.95 };
                prop_assert!(at >= limit * below, "{at} of {limit}, {spoilt} spoilt from {from}");
                prop_assert!(not_at > limit * 0.949, "{not_at} of {limit}");
                prop_assert!(steps <= 40, "{steps} steps");
            }
        }
    }

    /// Others used the machine while two rates were measured, and the search ended with 135 a second of a service that holds a thousand.
    #[test]
    fn a_bracket_that_closed_far_below_is_opened_again() {
        let (found, _) = search(1_000.0, 100.0, 1e6, |step| (1..5).contains(&step));
        let Found::Holds { at, not_at: Some(not_at) } = found else { panic!("{found:?}") };
        assert!(at > 950.0 && not_at < 1_050.0, "{found:?}");
    }

    /// A rate that had failed twice was the answer as soon as it held once.
    #[test]
    fn one_lucky_step_makes_no_rate_hold() {
        for (again, holds) in
            [(&[true, false, false][..], false), (&[true, false, true], true), (&[true, true], true)]
        {
            let mut search = Search::new(100.0, 1e6, 0.05);
            let mut again = again.iter().copied();
            let mut doubted = None;
            while let Next::Step(rate) = search.next() {
                let is_doubt = search.stage == Stage::Doubt && *doubted.get_or_insert(rate) == rate;
                search.found(if is_doubt { again.next().expect("it is decided") } else { rate <= 1_000.0 });
            }
            let doubted = doubted.expect("the bracket has an upper end");
            let (held, failed) = search.bracket();
            assert_eq!(held == Some(doubted), holds, "{held:?} {doubted}");
            assert_eq!(failed == Some(doubted), !holds, "{failed:?} {doubted}");
        }
    }

    /// Two processors held service and generator: of 12 steps five were doubted, and a search that had both ends of a bracket said nothing.
    #[test]
    fn a_search_that_is_relieved_confirms_what_held() {
        for (tops, not_at) in [(&[true, true][..], None), (&[true, true, false, false], Some(400.0))] {
            let mut search = Search::new(100.0, 1e6, 0.05);
            assert!(!search.clone().relieve(), "nothing has held yet");
            tops.iter().for_each(|held| assert_eq!(search.found(*held), None));
            assert!(search.relieve());
            assert_eq!(search.next(), Next::Confirm(200.0));
            assert_eq!(search.clone().found(true), Some(Found::Holds { at: 200.0, not_at }));
            // A confirmation that failed once counts for its own rate alone.
            assert_eq!(search.found(false), None);
            assert!(search.relieve());
            assert_eq!(search.next(), Next::Confirm(150.0));
            assert_eq!(search.found(true), Some(Found::Holds { at: 150.0, not_at }));
        }
    }

    #[test]
    fn a_search_is_relieved_only_so_often() {
        let mut search = Search::new(100.0, 100.0, 0.05);
        search.found(true);
        let rates: Vec<Next> = std::iter::from_fn(|| search.relieve().then(|| search.next())).collect();
        assert_eq!(rates, [75.0, 56.25, 42.1875].map(Next::Confirm));
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
        let mut last = 0.0;
        while let Next::Confirm(rate) = search.next() {
            last = rate;
            assert_eq!(search.found(false), None);
        }
        // What is told was measured.
        assert_eq!(search.next(), Next::Done(Found::Unsteady { at: last }));
    }
}
