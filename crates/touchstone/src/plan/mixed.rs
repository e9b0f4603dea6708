//! Mixed load: lanes that get records and update others, each among keys of its own, so that every answer can be checked
//! however their threads meet.

use super::{PlannedArm, PlannedCase, PlannedLane};
use crate::suite::Cache;
use std::ops::Range;
use touchstone_protocol::{RecordKind, Verb};

/// Operations that a lane by the clock plays to say how it does them.
pub const EXPLAINED: u64 = 256;

/// Operations of a lane in the order of a mixed load, which is played round and round.
pub const MIXED: u64 = 1 << 16;

/// New states of each record: with two in turn, an update always writes another than is there.
pub(super) const MIXED_ROUNDS: u64 = 2;

/// The most operations that a transaction of a lane has.
const TRANSACTION_MAX: u64 = MIXED / 16;

/// The longest that a lane may last: an hour.
const LASTS_MS_MAX: u64 = 3_600_000;

impl PlannedCase {
    /// A lane of its mixed load, all of which mix alike; none where it has no such load.
    pub fn mix(&self) -> Option<&PlannedLane> {
        self.arms.iter().flat_map(|arm| &arm.lanes).find(|lane| lane.verb == Verb::Mix)
    }

    /// How many lanes of a mixed load there are side by side.
    pub fn mixed_lanes(&self) -> u64 {
        self.arms.iter().map(|arm| arm.lanes.len() as u64).max().unwrap_or(0)
    }

    /// The records that lane `place` of a mixed load gets and updates.
    pub fn mixed_records(&self, place: u64) -> Range<u64> {
        let up_to = |places: u64| self.filled * places / self.mixed_lanes().max(1);
        up_to(place)..up_to(place + 1)
    }

    /// Whether its lanes last a time, and have no count.
    pub fn is_by_the_clock(&self) -> bool {
        self.mix().is_some_and(|lane| lane.lasts_ms.is_some())
    }

    /// Slices of an arm in a block: two, so that drift cancels, but one that lasts as long as many.
    pub fn slices_of_block(&self) -> u32 {
        if self.is_by_the_clock() { 1 } else { 2 }
    }

    pub(super) fn check_mix(&self) -> Result<(), String> {
        let lanes = || self.arms.iter().flat_map(|arm| &arm.lanes);
        let foreign = |lane: &PlannedLane| {
            lane.reads.is_some() || lane.reads_first || lane.transaction.is_some() || lane.lasts_ms.is_some()
        };
        if let Some(lane) = lanes().find(|lane| lane.verb != Verb::Mix && foreign(lane)) {
            return Err(format!(
                "`reads`, `reads_first`, `transaction` and `lasts_ms` go with mix, and its lane does {}",
                lane.verb
            ));
        }
        let Some(mix) = self.mix() else { return Ok(()) };
        if lanes().any(|lane| lane.verb != Verb::Mix || lane.table != 1 || lane.held) {
            return Err("a mixed load has mix lanes alone, on table 1, and holds no read transaction".into());
        }
        if self.dataset.record != RecordKind::Row {
            return Err(format!(
                "a mix lane needs a dataset of `row`, and `{}` is of {}",
                self.dataset.name, self.dataset.record
            ));
        }
        if self.cache == Cache::Evicted {
            return Err(
                "a mixed load goes on where the slice before ended: leave out `cache = \"evicted\"`".into()
            );
        }
        let places = self.mixed_lanes();
        if self.arms.iter().any(|arm| arm.lanes.len() as u64 != places) || places > self.filled {
            return Err(format!(
                "its arms have up to {places} mix lanes, which have the {} stored records between them: as many lanes in each arm, and no more than records",
                self.filled
            ));
        }
        if lanes().any(|lane| {
            (lane.reads, lane.reads_first, lane.lasts_ms) != (mix.reads, mix.reads_first, mix.lasts_ms)
        }) {
            return Err("the mix lanes of a case share an order of operations: `reads`, `reads_first` and `lasts_ms` are the same for all".into());
        }
        lanes().try_for_each(PlannedLane::check_mix)
    }
}

impl PlannedArm {
    /// How many times a kit writes down for so many of its operations: one for each, or for each transaction of many.
    pub fn times(&self, operations: u64) -> u64 {
        let transaction = self.lanes.first().and_then(|lane| lane.transaction).unwrap_or(1);
        operations.div_ceil(transaction.max(1))
    }
}

impl PlannedLane {
    /// Of a mix lane, how many transactions that write there are for each operation, on average.
    pub fn writing_transactions(&self) -> f64 {
        let (reads, transaction) =
            (f64::from(self.reads.unwrap_or(0)) / 100.0, self.transaction.unwrap_or(1) as f64);
        let writing = if self.reads_first { 1.0 - reads } else { 1.0 - reads.powf(transaction) };
        writing / transaction
    }

    fn check_mix(&self) -> Result<(), String> {
        if self.reads.is_none_or(|reads| reads > 100) {
            return Err("a mix lane needs `reads`, how many of 100 operations get a record: 0 to 100".into());
        }
        let most = TRANSACTION_MAX;
        if self.transaction.is_some_and(|transaction| transaction == 0 || transaction > most) {
            return Err(format!(
                "`transaction` is how many operations a transaction of its mix lane has: 1 to {most}"
            ));
        }
        match (self.lasts_ms, self.count) {
            (Some(lasts), _) if lasts == 0 || lasts > LASTS_MS_MAX => {
                Err(format!("its mix lane lasts {lasts} ms: 1 to {LASTS_MS_MAX}"))
            }
            (Some(_), Some(count)) if count != MIXED => {
                Err("its mix lane has `lasts_ms` and `count`: leave one out".into())
            }
            (_, Some(count)) if count > MIXED => {
                Err(format!("its mix lane has a count of {count}; a slice has at most {MIXED}"))
            }
            _ => Ok(()),
        }
    }
}
