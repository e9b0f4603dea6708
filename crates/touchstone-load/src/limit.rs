//! Limits as expressions: `p99 < 50ms, failures < 0.1%`.

use crate::report::{duration, share};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Limits, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits(pub Vec<Limit>);

/// A figure and what it must stay below.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Which figure.
    pub figure: Figure,
    /// Whether it may be as great as the bound.
    pub or_equal: bool,
    /// The bound: nanoseconds, or a share of 1.
    pub bound: f64,
}

/// What can be limited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A quantile of the response times, from the intended start.
    Quantile(f64),
    /// Their mean.
    Mean,
    /// The longest.
    Max,
    /// The share of requests that failed.
    Failures,
}

/// What a run's figures are, for limits to be held against.
pub trait Figures {
    /// A quantile of the response times, in nanoseconds.
    fn quantile_ns(&self, quantile: f64) -> f64;
    /// Their mean, in nanoseconds.
    fn mean_ns(&self) -> f64;
    /// The longest, in nanoseconds.
    fn max_ns(&self) -> f64;
    /// The share of requests that failed.
    fn failed_share(&self) -> f64;
    /// Whether no request has ended: there is no figure then.
    fn is_empty(&self) -> bool;
}

impl Limit {
    /// The figure, and whether it is within the limit. Without a request that has ended, no limit holds.
    pub fn holds(&self, figures: &impl Figures) -> (f64, bool) {
        let found = match self.figure {
            Figure::Quantile(quantile) => figures.quantile_ns(quantile),
            Figure::Mean => figures.mean_ns(),
            Figure::Max => figures.max_ns(),
            Figure::Failures => figures.failed_share(),
        };
        let is_within = if self.or_equal { found <= self.bound } else { found < self.bound };
        (found, is_within && !figures.is_empty())
    }
}

impl Limit {
    /// A figure of its kind, for people.
    pub fn said(&self, found: f64) -> String {
        if self.figure == Figure::Failures { share(found) } else { duration(found) }
    }

    /// The limit and what was found, where it does not hold: `p95 < 100ms: 143 ms`.
    pub fn broken(&self, figures: &impl Figures) -> Option<String> {
        let (found, holds) = self.holds(figures);
        (!holds).then(|| format!("{self}: {}", self.said(found)))
    }
}

/// What must hold where limits say nothing of failures: a service that answers everything with an error is the quickest.
const FAILURES_IMPLIED: Limit = Limit { figure: Figure::Failures, or_equal: false, bound: 0.01 };

impl Limits {
    /// These, and one of failures where none is among them.
    #[must_use]
    pub fn with_failures(mut self) -> Limits {
        self.0.extend(self.implied());
        self
    }

    /// The limit that these imply and do not name: that of failures.
    pub fn implied(&self) -> Option<Limit> {
        let is_named = self.0.iter().any(|limit| limit.figure == Figure::Failures);
        (!self.0.is_empty() && !is_named).then_some(FAILURES_IMPLIED)
    }

    /// Whether all of them hold.
    pub fn hold(&self, figures: &impl Figures) -> bool {
        self.0.iter().all(|limit| limit.holds(figures).1)
    }
}

impl FromStr for Limits {
    type Err = String;

    fn from_str(text: &str) -> Result<Limits, String> {
        let limits: Result<Vec<Limit>, String> = text.split(',').map(|part| part.trim().parse()).collect();
        limits.map(Limits).map_err(|why| format!("limits `{text}`: {why}"))
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Limit, String> {
        let Some((figure, bound)) = text.split_once('<') else {
            return Err(format!("`{text}` is no limit: write it as `p99 < 50ms` or `failures < 0.1%`"));
        };
        let (or_equal, bound) = match bound.strip_prefix('=') {
            Some(bound) => (true, bound),
            None => (false, bound),
        };
        let figure: Figure = figure.trim().parse()?;
        let bound = bound.trim();
        let bound = match figure {
            Figure::Failures => percent(bound)?,
            _ => bound.parse::<crate::duration::Duration>()?.nanos() as f64,
        };
        Ok(Limit { figure, or_equal, bound })
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is no share: write it as `0.1%`");
    let percent: f64 = text.strip_suffix('%').ok_or_else(wrong)?.trim().parse().map_err(|_| wrong())?;
    if (0.0..=100.0).contains(&percent) { Ok(percent / 100.0) } else { Err(wrong()) }
}

impl FromStr for Figure {
    type Err = String;

    fn from_str(text: &str) -> Result<Figure, String> {
        let quantile = text.strip_prefix(['p', 'P']).and_then(|digits| digits.parse::<f64>().ok());
        match (text, quantile) {
            (_, Some(percent)) if percent > 0.0 && percent < 100.0 => Ok(Figure::Quantile(percent / 100.0)),
            ("mean" | "average", _) => Ok(Figure::Mean),
            ("max", _) => Ok(Figure::Max),
            ("failures", _) => Ok(Figure::Failures),
            _ => Err(format!("`{text}` is no figure: there are p50 to p99.999, mean, max and failures")),
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Figure::Quantile(quantile) => write!(formatter, "p{}", (quantile * 1e7).round() / 1e5),
            Figure::Mean => formatter.write_str("mean"),
            Figure::Max => formatter.write_str("max"),
            Figure::Failures => formatter.write_str("failures"),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.or_equal { "<=" } else { "<" };
        match self.figure {
            Figure::Failures => {
                write!(formatter, "{} {sign} {}%", self.figure, (self.bound * 1e8).round() / 1e6)
            }
            _ => {
                let bound = crate::duration::Duration::from_nanos(self.bound as u64);
                write!(formatter, "{} {sign} {}", self.figure, bound.to_string().replace(' ', ""))
            }
        }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, limit) in self.0.iter().enumerate() {
            if at > 0 {
                formatter.write_str(", ")?;
            }
            limit.fmt(formatter)?;
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Limits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Limits, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() { Ok(Limits::default()) } else { text.parse().map_err(serde::de::Error::custom) }
    }
}

impl Serialize for Limits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Found;

    impl Figures for Found {
        fn quantile_ns(&self, quantile: f64) -> f64 {
            quantile * 100e6
        }
        fn mean_ns(&self) -> f64 {
            30e6
        }
        fn max_ns(&self) -> f64 {
            100e6
        }
        fn failed_share(&self) -> f64 {
            0.001
        }
        fn is_empty(&self) -> bool {
            false
        }
    }

    /// A search found that a service holds a rate at which no request had ended.
    struct Nothing;

    impl Figures for Nothing {
        fn quantile_ns(&self, _quantile: f64) -> f64 {
            0.0
        }
        fn mean_ns(&self) -> f64 {
            0.0
        }
        fn max_ns(&self) -> f64 {
            0.0
        }
        fn failed_share(&self) -> f64 {
            0.0
        }
        fn is_empty(&self) -> bool {
            true
        }
    }

    #[test]
    fn no_limit_holds_where_nothing_has_ended() {
        for text in ["p99 < 50ms", "mean <= 1s", "max < 1s", "failures < 0.1%"] {
            let limits: Limits = text.parse().expect("they are limits");
            assert!(!limits.hold(&Nothing), "{text}");
            assert!(!limits.0[0].holds(&Nothing).1, "{text}");
        }
    }

    #[test]
    fn limits_hold_or_do_not() {
        for (text, holds) in [
            ("p99 < 100ms", true),
            ("p99 < 99ms", false),
            ("p99 <= 99ms", true),
            ("p50<51ms, failures < 0.2%", true),
            ("p50<51ms, failures < 0.1%", false),
            ("failures <= 0.1%", true),
            ("mean < 30.1ms, max <= 100ms", true),
            ("p99.9 < 99.8ms", false),
        ] {
            let limits: Limits = text.parse().expect(text);
            assert_eq!(limits.hold(&Found), holds, "{text}");
            assert_eq!(limits.to_string().parse(), Ok(limits), "{text}");
        }
    }

    /// A step was told not to hold `p95 < 100ms` beside its P50 and P99, and nobody saw by how much.
    #[test]
    fn a_limit_that_does_not_hold_is_told_with_what_was_found() {
        for (text, broken) in [
            ("p95 < 90ms", Some("p95 < 90ms: 95.0 ms")),
            ("failures < 0.1%", Some("failures < 0.1%: 0.100 %")),
            ("p95 < 100ms", None),
        ] {
            let limits: Limits = text.parse().expect(text);
            assert_eq!(limits.0[0].broken(&Found).as_deref(), broken);
        }
    }

    #[test]
    fn failures_have_a_limit_where_limits_name_none() {
        for (text, expected) in [
            ("p99 < 50ms", "p99 < 50ms, failures < 1%"),
            ("failures <= 5%, max < 1s", "failures <= 5%, max < 1s"),
        ] {
            let limits: Limits = text.parse().expect(text);
            assert_eq!(limits.with_failures().to_string(), expected);
        }
        assert_eq!(
            Limits::default().with_failures(),
            Limits::default(),
            "where nothing is asked, nothing is implied"
        );
    }

    #[test]
    fn what_is_no_limit_is_refused() {
        for text in [
            "",
            "p99",
            "p99 > 1ms",
            "p0 < 1ms",
            "p100 < 1ms",
            "p99 < 1",
            "failures < 1",
            "failures < 200%",
            "q < 1ms",
        ] {
            assert!(text.parse::<Limits>().is_err(), "{text}");
        }
    }
}
