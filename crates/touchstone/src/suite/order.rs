//! In which order gets ask for records: at random unless a case says otherwise, or as a page's own test does that is about a cache.

use super::{BySize, Trace};
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
    /// The file of a recorded order, its path from the suite's file on.
    pub file: Option<String>,
    /// What is asked off the clock before each slice, so that caches hold what it leaves there: as many gets as the slice
    /// has, for each of these.
    #[serde(default)]
    pub after: Vec<OrderPart>,
    /// What the file holds, once it was read.
    #[serde(skip)]
    pub(crate) recorded: Trace,
}

impl OrderPlan {
    /// Has the order that its file holds.
    pub fn record(&mut self, trace: Trace) {
        self.recorded = trace;
    }

    /// What its file holds; nothing before that was read.
    pub fn recorded(&self) -> &Trace {
        &self.recorded
    }
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
    /// Any of a thirty-second of them, all alike; and after every 800 such gets 200 through the others in turn, each time from where the
    /// last such stopped.
    Scan,
    /// As it was recorded of a program.
    Trace,
}

impl fmt::Display for OrderKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            OrderKind::Uniform => "uniform",
            OrderKind::Cyclic => "cyclic",
            OrderKind::Near => "near",
            OrderKind::Zipf => "zipf",
            OrderKind::Scan => "scan",
            OrderKind::Trace => "trace",
        })
    }
}
