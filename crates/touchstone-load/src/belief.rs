//! What a search does with a step whose outcome cannot be believed: a generator that was late itself says nothing of the service.

use crate::outcome::Outcome;

/// A step that does not hold and cannot be believed is measured up to this often: a busy machine is late itself, mostly not for long.
const STEPS_MAX: u32 = 3;
/// A confirmation that cannot be believed is measured up to this often. It is longer than a step.
const CONFIRMATIONS_MAX: u32 = 2;

/// How far the outcome of a step can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Wholly.
    Nothing,
    /// Something else than the service may have made its figures.
    Something,
    /// The generator was at its limit: no further measurement will be better.
    Busy,
}

impl Doubt {
    /// Of what a step has left.
    pub fn of(outcome: &Outcome) -> Doubt {
        let is_busy = |share: f64| share > crate::trust::BUSY_SHARE_MAX;
        if outcome.is_valid() {
            Doubt::Nothing
        } else if outcome.threads.iter().any(|thread| is_busy(thread.busy_share)) {
            Doubt::Busy
        } else if outcome.is_all_failed() {
            // That a request fails is not made by sending it late.
            Doubt::Nothing
        } else {
            Doubt::Something
        }
    }
}

/// What is done with a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// The search goes on with what it found.
    Counts,
    /// It is measured again, as if it had not been.
    Again,
    /// Nothing can be found out at this rate: the search confirms a lower one, or ends without an answer.
    Ends,
}

/// How often the rate that is measured now could not be believed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Belief {
    rate: f64,
    is_confirmation: bool,
    times: u32,
}

impl Belief {
    /// Judges a step at a rate. A step that holds is believed whatever the generator did: response times count from the intended start, so
    /// its lateness only lengthens them. A confirmation is measured again all the same, for a valid run says more.
    pub fn judge(&mut self, rate: f64, is_confirmation: bool, held: bool, doubt: Doubt) -> Judged {
        if (self.rate, self.is_confirmation) != (rate, is_confirmation) {
            *self = Belief { rate, is_confirmation, times: 0 };
        }
        match doubt {
            Doubt::Nothing => Judged::Counts,
            _ if held && !is_confirmation => Judged::Counts,
            Doubt::Busy if !held => Judged::Ends,
            _ => {
                self.times += 1;
                let most = if is_confirmation { CONFIRMATIONS_MAX } else { STEPS_MAX };
                match held {
                    _ if self.times < most => Judged::Again,
                    true => Judged::Counts,
                    false => Judged::Ends,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Doubt::{Busy, Nothing, Something};
    use super::Judged::{Again, Counts, Ends};
    use super::*;

    /// Judges steps of a rate, whether each is a confirmation, whether it held, and what is doubtful of it.
    fn judged(steps: &[(f64, bool, bool, Doubt)]) -> Vec<Judged> {
        let mut belief = Belief::default();
        steps
            .iter()
            .map(|(rate, confirms, held, doubt)| belief.judge(*rate, *confirms, *held, *doubt))
            .collect()
    }

    #[test]
    fn a_step_that_fails_while_the_generator_is_late_is_measured_again() {
        let late = (50.0, false, false, Something);
        assert_eq!(judged(&[late, late, (50.0, false, false, Nothing)]), [Again, Again, Counts]);
        assert_eq!(judged(&[late, late, late]), [Again, Again, Ends]);
        assert_eq!(judged(&[(50.0, false, true, Something), (50.0, false, true, Busy)]), [Counts, Counts]);
        assert_eq!(judged(&[(50.0, false, false, Busy)]), [Ends]);
    }

    #[test]
    fn doubtful_confirmations_of_two_rates_end_no_search() {
        let doubtful = |rate| (rate, true, true, Something);
        let steps = [100.0, 95.0, 90.0].map(doubtful);
        assert_eq!(judged(&steps), [Again; 3]);
        assert_eq!(judged(&[doubtful(95.0), doubtful(95.0)]), [Again, Counts]);
        let failing = (90.0, true, false, Something);
        assert_eq!(judged(&[failing, failing]), [Again, Ends]);
    }
}
