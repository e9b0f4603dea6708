//! How long to wait before a service is asked again that was away.
//!
//! The wait is a random part of a time that doubles with each failure ("full jitter"), so that devices which lost the service together
//! do not come back together. Libraries for this, such as `backon`, add a random part to the doubled time instead, and it is two lines.

use crate::Error;
use std::time::Duration;

/// How often, and how soon, a service is asked again that was away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// What the first wait is a random part of.
    pub least: Duration,
    /// What a wait is a random part of at most.
    pub most: Duration,
    /// How often [`Replica::sync`](crate::Replica::sync) asks before it gives up: at least once. It gives up at once where the service
    /// wants to be left alone for longer than `most`. A watch never gives up.
    pub attempts: u32,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry { least: Duration::from_millis(250), most: Duration::from_secs(60), attempts: 4 }
    }
}

impl Retry {
    /// Whether a service that was away is asked again by a sync that has asked so often.
    pub(crate) fn goes_on(&self, failures: u32, error: &Error) -> bool {
        failures < self.attempts && error.retry_after().is_none_or(|time| time <= self.most)
    }

    /// The wait after so many failures in a row, at least one. A service that says when to come back is not asked before.
    pub(crate) fn pause(&self, failures: u32, error: &Error) -> Duration {
        let doubled = self.least.saturating_mul(1 << failures.saturating_sub(1).min(20));
        // Without random bytes the whole time is waited for.
        let part = f64::from(getrandom::u32().unwrap_or(u32::MAX)) / f64::from(u32::MAX);
        error.retry_after().unwrap_or_default() + doubled.min(self.most).mul_f64(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_wait_is_a_random_part_of_what_doubles_up_to_a_limit() {
        let retry = Retry { least: Duration::from_secs(1), most: Duration::from_secs(10), attempts: 1 };
        let away = Error::new(ErrorKind::Away, "");
        for (failures, longest) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (u32::MAX, 10)] {
            let waits: Vec<_> = (0..200).map(|_| retry.pause(failures, &away).as_secs_f64()).collect();
            let longest = f64::from(longest);
            assert!(waits.iter().all(|wait| *wait <= longest), "{waits:?}");
            assert!(
                waits.iter().any(|wait| *wait < longest / 2.0)
                    && waits.iter().any(|wait| *wait > longest / 2.0)
            );
        }
    }

    #[test]
    fn a_service_that_says_when_is_not_asked_before() {
        let retry = Retry { least: Duration::from_secs(1), ..Retry::default() };
        let busy = Error::new(ErrorKind::Away, "").after(Some(Duration::from_secs(7)));
        let wait = retry.pause(1, &busy);
        assert!(wait >= Duration::from_secs(7) && wait <= Duration::from_secs(8), "{wait:?}");
        assert!(retry.goes_on(3, &busy) && !retry.goes_on(4, &busy));
        let shut = Error::new(ErrorKind::Away, "").after(Some(Duration::from_secs(3_600)));
        assert!(!retry.goes_on(1, &shut), "nobody waits for that");
    }
}
