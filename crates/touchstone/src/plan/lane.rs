//! A lane of a planned arm. The keys of all verbs stand side by side, as they do in a plan's file. Whether a lane has those that go with
//! its verb is for the checks of a plan, which name the case.

use super::is_false;
use serde::{Deserialize, Serialize};
use touchstone_protocol::{Depth, Stretch, Verb};

/// One thread's work, at this plan's size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedLane {
    /// What to do.
    pub verb: Verb,
    /// How many operations; none where it is calibrated.
    pub count: Option<u64>,
    /// Inside one held read transaction.
    pub held: bool,
    /// On which table, from 1.
    #[serde(default = "first_table")]
    pub table: u32,
    /// What `find` compares with.
    #[serde(default)]
    pub above: Option<i64>,
    /// How many objects each transaction of `deliver` changes.
    #[serde(default)]
    pub changes: Option<u64>,
    /// They are objects that nobody watches.
    #[serde(default)]
    pub unwatched: bool,
    /// What the subscribers of `deliver` do with what they are given.
    #[serde(default)]
    pub depth: Option<Depth>,
    /// Which stretch of a transaction of `deliver` is timed.
    #[serde(default)]
    pub stretch: Option<Stretch>,
    /// Of a `mix` lane, how many of 100 operations get a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<u32>,
    /// All that get come first.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reads_first: bool,
    /// Of a `mix` lane, how many operations a transaction has; 1, unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<u64>,
    /// Of a `mix` lane, for how many milliseconds its operations are played round and round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasts_ms: Option<u64>,
}

fn first_table() -> u32 {
    1
}
