//! Durations as people write them: `50ms`, `1.5s`, `2m`. In a file they are texts, in the code nanoseconds.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::str::FromStr;
use std::time::Duration as Span;

/// A length of time that is not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(Span);

impl Duration {
    /// So many whole nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Duration {
        Duration(Span::from_nanos(nanos))
    }

    /// So many whole seconds.
    pub const fn from_secs(seconds: u64) -> Duration {
        Duration(Span::from_secs(seconds))
    }

    /// In whole nanoseconds; what is longer than 584 years is cut.
    pub fn nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }

    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0.as_secs_f64()
    }
}

impl FromStr for Duration {
    type Err = String;

    fn from_str(text: &str) -> Result<Duration, String> {
        let wrong =
            || format!("`{text}` is no duration: write a number with its unit, as `50ms`, `1.5s` or `2m`");
        let parsed = jiff::SignedDuration::from_str(text.trim()).map_err(|_| wrong())?;
        Span::try_from(parsed).map(Duration).map_err(|_| format!("`{text}` is negative: a duration is not"))
    }
}

impl std::fmt::Display for Duration {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match jiff::SignedDuration::try_from(self.0) {
            Ok(duration) => write!(formatter, "{duration:#}"),
            Err(_) => write!(formatter, "{}s", self.0.as_secs()),
        }
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, nanos) in
            [("50ms", 50_000_000), ("1.5s", 1_500_000_000), ("2m", 120_000_000_000), ("40us", 40_000)]
        {
            assert_eq!(text.parse::<Duration>().map(Duration::nanos), Ok(nanos), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in ["50", "", "fast", "-1s", "1 banana"] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_duration_that_is_shown_is_read_as_the_same() {
        for nanos in [0, 1, 1_500, 50_000_000, 90_000_000_000, 3_600_000_000_001] {
            let duration = Duration::from_nanos(nanos);
            assert_eq!(duration.to_string().parse(), Ok(duration));
        }
    }
}
