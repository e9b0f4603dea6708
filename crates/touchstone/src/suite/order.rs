//! In which order gets ask for records: at random unless a case says otherwise, or as a page's own test does that is about a cache.

use super::BySize;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The order in which gets ask for records, each slice from the same place on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderPlan {
    /// How each follows the one before.
    pub kind: OrderKind,
    /// Among how many of the first records; all that are stored, unless said.
    pub among: Option<BySize<u64>>,
    /// What is asked off the clock before each slice, so that caches hold what it leaves there: as many gets as the slice
    /// has, for each of these.
    #[serde(default)]
    pub after: Vec<OrderPart>,
}

/// An order among so many records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderPart {
    /// How each get follows the one before.
    pub kind: OrderKind,
    /// Among how many of the first records.
    pub among: u64,
}

/// How one get follows the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OrderKind {
    /// Any of them, all alike.
    Uniform,
    /// The next one, round and round.
    Cyclic,
    /// One at most ten numbers away, the last being next to the first; and every fifth, from the first on, any of them.
    Near,
    /// Any of them, the n-th most frequent in proportion to n to the power of −0.99.
    Zipf,
}

impl fmt::Display for OrderKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            OrderKind::Uniform => "uniform",
            OrderKind::Cyclic => "cyclic",
            OrderKind::Near => "near",
            OrderKind::Zipf => "zipf",
        })
    }
}
