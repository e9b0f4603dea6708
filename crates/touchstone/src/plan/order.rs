//! The order in which the gets of a case ask for records, at a plan's size.

use super::{GETS, PlannedCase};
use crate::suite::{Cache, OrderKind, OrderPart};
use serde::{Deserialize, Serialize};
use touchstone_protocol::{Lane, Verb};

/// The order of a case's gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedOrder {
    /// How each follows the one before.
    pub kind: OrderKind,
    /// Among how many of the first records.
    pub among: u64,
    /// The file of a recorded order, as its suite names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What was recorded, the numbers of records with spaces between them.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "spaced")]
    pub recorded: Vec<u32>,
    /// What is asked off the clock before each slice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<OrderPart>,
}

impl PlannedOrder {
    /// Its parts as they are asked, the slice's own last.
    pub fn parts(&self) -> impl Iterator<Item = OrderPart> {
        self.after.iter().copied().chain([OrderPart { kind: self.kind, among: self.among }])
    }
}

impl PlannedOrder {
    /// What a recorded order must be, and no other is.
    fn check_recorded(&self, stored: u64, gets: u64) -> Result<(), String> {
        let is_recorded = self.kind == OrderKind::Trace;
        if self.after.iter().any(|part| part.kind == OrderKind::Trace) {
            return Err(
                "what comes before a slice is no `trace`: that has a file, and is asked in the slice".into(),
            );
        }
        let Some(file) = self.file.as_ref().filter(|_| is_recorded) else {
            return match (is_recorded, &self.file) {
                (true, _) => {
                    Err("an order of the kind `trace` needs the `file` of one, such as \"traces/find.trace\""
                        .into())
                }
                (false, Some(_)) => Err(format!(
                    "an order of the kind `{}` has no `file`: leave it out, or say `trace`",
                    self.kind
                )),
                (false, None) if !self.recorded.is_empty() => {
                    Err("only a `trace` has `recorded` gets".into())
                }
                (false, None) => Ok(()),
            };
        };
        if self.among > stored {
            return Err(format!(
                "its trace {file} is of {} pages, and the case has {stored} records: take a dataset of as many, or record a smaller file",
                self.among
            ));
        }
        if let Some(get) = self.recorded.iter().find(|get| u64::from(**get) >= self.among) {
            return Err(format!(
                "its trace {file} asks for page {get} of {}: they are numbered from 0",
                self.among
            ));
        }
        if (self.recorded.len() as u64) < gets {
            return Err(format!(
                "its trace {file} has {} gets, and a slice asks for {gets}: lower the lane's `count`, or record more",
                self.recorded.len()
            ));
        }
        Ok(())
    }
}

impl PlannedCase {
    /// What is asked before each slice of a case whose gets have an order, off the clock; nothing in other cases.
    pub fn asked_before(&self) -> Option<Lane> {
        let count = self.operations_before();
        (count > 0).then(|| Lane::new(Verb::Get, 0, count))
    }

    /// Where a slice of a case whose gets have an order begins in the order of operations: always there.
    pub fn operations_before(&self) -> u64 {
        self.order.as_ref().map_or(0, |order| order.after.len() as u64 * self.gets_of_lane())
    }

    /// Gets of a slice, over all lanes, of the arm that has most.
    pub fn gets_of_slice(&self) -> u64 {
        let lanes = self.arms.iter().map(|arm| arm.lanes.len() as u64).max().unwrap_or(0);
        lanes * self.gets_of_lane()
    }

    /// Gets of a lane of a case whose gets have an order.
    pub fn gets_of_lane(&self) -> u64 {
        self.arms.iter().flat_map(|arm| &arm.lanes).filter_map(|lane| lane.count).max().unwrap_or(0)
    }

    pub(super) fn check_order(&self) -> Result<(), String> {
        let Some(order) = &self.order else { return Ok(()) };
        let mut lanes = self.arms.iter().flat_map(|arm| &arm.lanes);
        if !lanes.clone().all(|lane| lane.verb == Verb::Get && lane.table == 1) {
            return Err(
                "`order` says what gets ask for, and it has lanes that do something else, or on other tables"
                    .into(),
            );
        }
        if self.get_record.is_some() {
            return Err("`order` and `get_record` both say what gets ask for: leave one out".into());
        }
        let count = self.gets_of_lane();
        if !lanes.all(|lane| lane.count == Some(count)) {
            return Err("with an `order`, lanes need a `count`, the same for all: hits hang on how many gets there are".into());
        }
        if !order.after.is_empty() && self.cache == Cache::Warm {
            return Err("what is asked `after` something starts with caches that hold nothing: leave out `cache = \"warm\"`".into());
        }
        let all = self.operations_before().saturating_add(self.gets_of_slice());
        if all > GETS {
            return Err(format!(
                "its slices and what comes before them have {all} gets; there are at most {GETS}"
            ));
        }
        let stored = self.share_of(self.filled, 1).end;
        order.check_recorded(stored, self.gets_of_slice())?;
        match order.parts().find(|part| part.among == 0 || part.among > stored) {
            None => Ok(()),
            Some(part) => Err(format!(
                "its order asks among {} records, and {stored} are stored: name 1 to {stored}",
                part.among
            )),
        }
    }
}

/// A list of numbers as one text: on lines of their own they would be most of a plan.
mod spaced {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(numbers: &[u32], serializer: S) -> Result<S::Ok, S::Error> {
        let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
        serializer.serialize_str(&words.join(" "))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = |word: &str| {
            word.parse().map_err(|_| D::Error::custom(format!("`{word}` is no number of a record")))
        };
        text.split_whitespace().map(number).collect()
    }
}
