//! Drives a search for a capacity: takes what a step found and how far it can be believed, and says which rate is next.
//!
//! The rates are those of a [`Search`] as long as steps count. Where the generator comes to its limits, the search goes back to a rate that
//! it can offer, and an answer is told as *at least*.

use crate::belief::{Belief, Doubt, Judged};
use crate::capacity::{Next, Search};
use crate::limit::Limits;
use crate::scenario::{Pacing, Scenario};
use crate::search::{Searched, Step};
use crate::trust::is_same;

/// A search that is under way.
#[derive(Debug)]
pub struct Course {
    search: Search,
    belief: Belief,
    searched: Searched,
    is_over: bool,
    /// Whether the generator came to its limits above the rate that is confirmed, or while that was.
    is_at_limits: bool,
}

impl Course {
    /// Of a search for what holds these limits.
    pub fn new(scenario: &Scenario, limits: &Limits) -> Course {
        let asked = &scenario.capacity;
        Course {
            search: Search::new(asked.from, asked.to, asked.within),
            belief: Belief::default(),
            searched: Searched::new(scenario, limits),
            is_over: false,
            is_at_limits: false,
        }
    }

    /// The rate that is to be measured, and whether that confirms an answer; nothing, when the search is over.
    pub fn ask(&mut self) -> Option<(f64, bool)> {
        if self.is_over {
            return None;
        }
        match self.search.next() {
            Next::Step(rate) => Some((rate, false)),
            Next::Confirm(rate) => Some((rate, true)),
            Next::Done(found) => {
                self.searched.found = Some(found);
                self.is_over = true;
                None
            }
        }
    }

    /// Takes the step that [`ask`](Course::ask) asked for, and returns it as it is kept: one that counts keeps no doubts.
    pub fn take(&mut self, mut step: Step, doubt: Doubt) -> &Step {
        let judged = self.belief.judge(step.rate, step.is_confirmation, step.held, doubt);
        if judged == Judged::Counts {
            step.doubts.clear();
        }
        let held = step.held;
        // A run that holds though the generator was at its limits confirms a rate, and no more than that.
        self.is_at_limits |= step.is_confirmation && judged == Judged::Counts && doubt != Doubt::Nothing;
        self.searched.steps.push(step);
        match judged {
            Judged::Counts => self.go_on(held),
            Judged::Again => {}
            Judged::Ends if self.can_go_back(doubt) && self.search.relieve() && self.has_starts() => {
                self.is_at_limits = true;
            }
            Judged::Ends => self.end_without_answer(),
        }
        self.last()
    }

    /// Whether a confirmation of a rate below the step's is of use. One below a confirmation's is, where less load relieves the generator: a
    /// thread that never waits takes its whole processor at any.
    fn can_go_back(&self, doubt: Doubt) -> bool {
        !self.last().is_confirmation
            || doubt != Doubt::Busy
            || self.searched.scenario.load.pacing != Pacing::Spin
    }

    /// Whether a confirmation of the highest rate that held has a start.
    fn has_starts(&self) -> bool {
        let confirm_s = self.searched.scenario.capacity.confirm.nanos() as f64 / 1e9;
        self.search.bracket().0.is_some_and(|rate| rate * confirm_s >= 1.0)
    }

    fn last(&self) -> &Step {
        self.searched.steps.last().expect("one was just taken")
    }

    fn go_on(&mut self, held: bool) {
        let (highest, _) = self.search.bracket();
        self.searched.found = self.search.found(held);
        self.is_over = self.searched.found.is_some();
        // A confirmation that failed lowered the rate: this limit is the service's.
        self.is_at_limits &= self.search.bracket().0 == highest;
        if self.is_over && self.is_at_limits {
            self.searched.doubts = self.searched.doubts_of_steps(|_| true);
        }
    }

    fn end_without_answer(&mut self) {
        self.is_over = true;
        // Each rate that was to be confirmed had a reason of its own.
        let is_confirmation = self.last().is_confirmation;
        let steps = self.searched.steps.iter().filter(|step| step.is_confirmation == is_confirmation);
        let own: Vec<String> = steps.flat_map(|step| step.doubts.clone()).collect();
        self.searched.doubts =
            self.searched.doubts_of_steps(|doubt| own.iter().any(|own| is_same(own, doubt)));
    }

    /// What it has found; no answer, where it was stopped before it was over.
    pub fn searched(self) -> Searched {
        self.searched
    }
}

#[cfg(test)]
mod tests {
    use super::Doubt::{Busy, Nothing, Something};
    use super::*;
    use crate::capacity::Found;

    const LATE: &str = "the generator sent late: 99 % within 90 µs";

    /// Searches from 100 a second. `offer` says of a rate and of whether it is a confirmation whether it held, and what is doubtful of it.
    fn search(offer: impl Fn(f64, bool) -> (bool, Doubt)) -> (Searched, Vec<(f64, bool)>) {
        stopped_after(200, offer)
    }

    fn stopped_after(
        steps: usize,
        offer: impl Fn(f64, bool) -> (bool, Doubt),
    ) -> (Searched, Vec<(f64, bool)>) {
        searched(Scenario::of_url("http://127.0.0.1:1".into(), "/".into()), steps, offer)
    }

    fn searched(
        scenario: Scenario,
        steps: usize,
        offer: impl Fn(f64, bool) -> (bool, Doubt),
    ) -> (Searched, Vec<(f64, bool)>) {
        let mut course = Course::new(&scenario, &"p99 < 1s".parse().expect("it is a limit"));
        let mut asked = Vec::new();
        while asked.len() < steps
            && let Some((rate, is_confirmation)) = course.ask()
        {
            asked.push((rate, is_confirmation));
            let (held, doubt) = offer(rate, is_confirmation);
            let doubts = if doubt == Nothing { vec![] } else { vec![LATE.into()] };
            let step = Step {
                rate,
                is_confirmation,
                held,
                requests_a_second: rate,
                p50_ns: 1,
                p99_ns: 1,
                failed_share: 0.0,
                why: None,
                doubts,
            };
            course.take(step, doubt);
        }
        let searched = course.searched();
        assert_eq!(searched.brackets().len(), searched.steps.len());
        (searched, asked)
    }

    fn doubts(steps: usize, of: usize) -> Vec<String> {
        vec![format!("{LATE} ({steps} of {of} steps)")]
    }

    #[test]
    fn a_search_within_the_generators_limits_has_no_doubts() {
        let (searched, _) = search(|rate, _| (rate <= 1_000.0, Nothing));
        let Some(Found::Holds { at, not_at: Some(not_at) }) = searched.found else {
            panic!("{:?}", searched.found)
        };
        assert!(at <= 1_000.0 && not_at > 1_000.0);
        assert_eq!(searched.doubts, Vec::<String>::new());
        assert!(searched.told().starts_with("Capacity: 9"), "{}", searched.told());
    }

    #[test]
    fn where_the_generator_ends_first_what_held_is_confirmed() {
        let (searched, asked) = search(|rate, _| (rate <= 400.0, if rate > 400.0 { Busy } else { Nothing }));
        assert_eq!(asked, [(100.0, false), (200.0, false), (400.0, false), (800.0, false), (400.0, true)]);
        assert_eq!(searched.found, Some(Found::Holds { at: 400.0, not_at: None }));
        assert_eq!(searched.doubts, doubts(1, 5));
        assert!(searched.told().starts_with("Capacity: at least 400 iterations"), "{}", searched.told());
    }

    /// A service shared two processors with the generator: 3,200 a second had held, 3,644 could not be confirmed, and 17 steps were no answer.
    #[test]
    fn a_rate_whose_confirmation_cannot_be_believed_is_lowered() {
        {
            let (searched, asked) = search(|rate, confirms| match (rate, confirms) {
                (800.0.., _) => (false, Nothing),
                (301.0.., true) => (false, Something),
                (500.0.., _) => (false, Nothing),
                _ => (true, Nothing),
            });
            let confirmations: Vec<f64> =
                asked.iter().filter(|(_, confirms)| *confirms).map(|(rate, _)| *rate).collect();
            let Some(Found::Holds { at, not_at: Some(not_at) }) = searched.found else {
                panic!("{:?}", searched.found)
            };
            let top = confirmations[0];
            assert_eq!(confirmations, [top, top, top * 0.75, top * 0.75, top * 0.5625]);
            assert_eq!(at, top * 0.5625);
            assert!(not_at > 500.0, "the lowest rate that did not hold is still told");
            assert_eq!(searched.doubts, doubts(4, asked.len()));
            let (low, high) = *searched.brackets().last().expect("there are steps");
            assert_eq!((low, high), (Some(at), Some(not_at)), "the picture is that of the answer");
            assert!(searched.told().contains("at least"), "{}", searched.told());
        }
    }

    /// Its lateness is a part of what was measured, so the service held the rate.
    #[test]
    fn a_rate_that_holds_though_the_generator_is_late_is_an_answer_at_least() {
        let (searched, asked) =
            search(|rate, confirms| (rate <= 400.0, if confirms { Something } else { Nothing }));
        let Some(Found::Holds { at, not_at: Some(not_at) }) = searched.found else {
            panic!("{:?}", searched.found)
        };
        assert!(at > 380.0 && not_at > 400.0);
        assert_eq!(asked.iter().filter(|(_, confirms)| *confirms).count(), 2, "a valid run would say more");
        assert_eq!(searched.doubts, doubts(1, asked.len()));
        assert!(searched.told().starts_with("Capacity: at least 400"), "{}", searched.told());
    }

    /// The search ended with no answer at the first rate that did not hold, though the rates below it had held.
    #[test]
    fn a_search_of_a_generator_that_never_waits_confirms_what_held() {
        let mut scenario = Scenario::of_url("http://127.0.0.1:1".into(), "/".into());
        scenario.load.pacing = Pacing::Spin;
        let (found, asked) = searched(scenario, 200, |rate, _| (rate <= 400.0, Busy));
        assert_eq!(found.found, Some(Found::Holds { at: 400.0, not_at: None }), "{asked:?}");
        assert!(found.told().starts_with("Capacity: at least 400 iterations"), "{}", found.told());
    }

    #[test]
    fn a_search_whose_confirmations_are_all_doubtful_has_no_answer() {
        let (searched, asked) = search(|rate, confirms| match confirms {
            true => (false, Something),
            false => (rate < 400.0, Nothing),
        });
        let confirmed = asked.iter().filter(|(_, confirms)| *confirms).count();
        assert_eq!((confirmed, searched.found), (8, None));
        assert_eq!(searched.doubts, doubts(8, asked.len()));
        assert!(searched.told().starts_with("INVALID"), "{}", searched.told());
    }

    #[test]
    fn a_generator_at_its_limits_from_the_beginning_is_no_answer() {
        let (searched, asked) = search(|_, _| (false, Busy));
        assert_eq!((asked.len(), searched.found), (1, None));
        assert_eq!(searched.doubts, doubts(1, 1));
    }

    /// It was told as *at least*, as if the generator's limits were all that had been found.
    #[test]
    fn a_limit_of_the_service_below_the_generators_is_told_as_such() {
        let (searched, _) = search(|rate, confirms| match (rate, confirms) {
            (401.0.., _) => (false, Busy),
            (390.0.., true) => (false, Nothing),
            _ => (true, Nothing),
        });
        assert_eq!(searched.found, Some(Found::Holds { at: 380.0, not_at: Some(400.0) }));
        assert_eq!(searched.doubts, Vec::<String>::new());
        assert!(searched.told().starts_with("Capacity: 380 iterations"), "{}", searched.told());
    }

    /// Confirmations that were doubtful and one that failed were together told as a service that changes.
    #[test]
    fn one_rate_that_failed_is_not_unsteady() {
        let (searched, _) = search(|rate, confirms| match (rate, confirms) {
            (200.0.., true) => (false, Something),
            (160.0.., true) => (false, Nothing),
            _ => (rate <= 400.0, Nothing),
        });
        assert!(matches!(searched.found, Some(Found::Holds { .. })), "{:?}", searched.found);
    }

    /// The last rate was so low that it had no start, and that was told as the reason for all of them.
    #[test]
    fn every_reason_why_no_rate_was_confirmed_is_told_and_none_of_our_making() {
        let scenario = Scenario::of_url("http://127.0.0.1:1".into(), "/".into());
        let mut slow = scenario.clone();
        (slow.capacity.from, slow.capacity.to) = (0.2, 0.2);
        let (found, asked) =
            searched(slow, 200, |_, confirms| if confirms { (false, Something) } else { (true, Nothing) });
        assert_eq!(found.doubts, doubts(asked.len() - 1, asked.len()));
        let confirm_s = scenario.capacity.confirm.nanos() as f64 / 1e9;
        assert!(asked.iter().all(|(rate, _)| rate * confirm_s >= 1.0), "{asked:?}");
    }

    #[test]
    fn a_generator_that_never_waits_is_not_asked_for_less() {
        let mut scenario = Scenario::of_url("http://127.0.0.1:1".into(), "/".into());
        scenario.load.pacing = Pacing::Spin;
        scenario.capacity.to = scenario.capacity.from;
        let (found, asked) = searched(scenario, 200, |_, confirms| (!confirms, Busy));
        assert_eq!((asked.len(), found.found), (2, None));
    }

    /// It was told as invalid.
    #[test]
    fn a_search_that_was_stopped_is_told_as_such() {
        let (searched, _) =
            stopped_after(4, |rate, _| (rate <= 400.0, if rate > 400.0 { Busy } else { Nothing }));
        assert_eq!((searched.found, searched.doubts.len()), (None, 0));
        assert!(searched.told().starts_with("Stopped"), "{}", searched.told());
    }

    #[test]
    fn a_service_that_falls_while_it_is_confirmed_has_no_answer() {
        let (searched, _) = search(|_, confirms| (!confirms, Nothing));
        assert!(matches!(searched.found, Some(Found::Unsteady { .. })), "{:?}", searched.found);
        assert_eq!(searched.doubts, Vec::<String>::new());
    }
}
