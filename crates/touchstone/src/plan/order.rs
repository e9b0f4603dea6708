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
        match order.parts().find(|part| part.among == 0 || part.among > stored) {
            None => Ok(()),
            Some(part) => Err(format!(
                "its order asks among {} records, and {stored} are stored: name 1 to {stored}",
                part.among
            )),
        }
    }
}
