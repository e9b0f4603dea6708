//! What a launch uses up of its data: records that are inserted, new states that are written, and what each slice takes of them.

use super::mixed::{MIXED, MIXED_ROUNDS};
use super::{PlannedArm, PlannedCase, PlannedLane};
use std::ops::Range;
use touchstone_protocol::{Lane, Verb};

/// Operations in an order of gets: played round and round, so long that no cache can know it by heart.
pub const GETS: u64 = 1 << 17;

/// Objects that the transactions of a `deliver` lane change in turn, where one does not change more: their new states
/// are written round and round, so that a launch may have any number of transactions.
const DELIVERED_OBJECTS: u64 = 4096;

/// Rounds of new states: with two, what is written always differs from what is there.
const DELIVERED_ROUNDS: u64 = 2;

/// Slices of a launch that are not in blocks: warm-up, the latency stretch counted in slices, and the explained one.
const SLICES_BESIDE_BLOCKS: u64 = 60;

/// The most operations a calibrated slice may have, by verb. Inserts use up records and updates new states, which must
/// all be generated.
pub fn calibrated_count_max(verb: Verb) -> u64 {
    match verb {
        Verb::InsertOne | Verb::InsertMany | Verb::UpdateOne | Verb::UpdateMany => 512,
        Verb::Get => 1 << 16,
        Verb::Mix => MIXED / 4,
        Verb::ReadAll | Verb::Open | Verb::Find | Verb::DeleteMany => 1 << 10,
        Verb::Deliver => 1 << 8,
        Verb::Subscribe => 1 << 10,
    }
}

/// Where a slice starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// In the order of operations.
    pub operation: u64,
    /// Among the new states.
    pub state: u64,
}

impl PlannedCase {
    /// Records that its data must have: what is stored beforehand and what the inserts of a launch use up at most; and
    /// what is stored and deleted before that.
    pub fn records_needed(&self) -> u64 {
        let slice = |arm: &PlannedArm| arm.records_used(calibrated_count_max(Verb::InsertOne));
        let inserted =
            self.arms.iter().map(slice).max().unwrap_or(0).saturating_mul(self.slices_between_restores());
        let churned = if self.churn > 0 { self.dataset.records } else { 0 };
        self.filled.saturating_add(inserted).max(churned).max(1)
    }

    /// New states that its data must have: what the updates of a launch use up at most.
    pub fn states_needed(&self) -> u64 {
        if let Some(changed) = self.changed_objects() {
            return changed.saturating_mul(DELIVERED_ROUNDS);
        }
        if self.mix().is_some() {
            return self.filled.saturating_mul(MIXED_ROUNDS);
        }
        let slice = |arm: &PlannedArm| arm.states_used(calibrated_count_max(Verb::UpdateOne));
        self.arms.iter().map(slice).max().unwrap_or(0).saturating_mul(self.slices_between_restores())
    }

    /// How many objects the transactions of its `deliver` lanes change in a round, a whole number of transactions; none
    /// where it has no such lane.
    pub fn changed_objects(&self) -> Option<u64> {
        let mut deliver =
            self.arms.iter().flat_map(|arm| &arm.lanes).filter(|lane| lane.verb == Verb::Deliver);
        let lane = deliver.next()?;
        let changes = lane.changes.unwrap_or(1).max(1);
        let there = self.changeable(lane.unwatched);
        let objects = (there.end - there.start).min(DELIVERED_OBJECTS.max(changes));
        Some(objects / changes * changes)
    }

    /// The objects that `deliver` changes, by their numbers: those that are watched, or those that are not.
    pub fn changeable(&self, unwatched: bool) -> Range<u64> {
        let span = self.watch.as_ref().map_or(self.filled, |watch| watch.span).min(self.filled);
        if unwatched { span..self.filled } else { 0..span }
    }

    /// The lanes of an arm's slice that starts at `start`, with `calibrated` operations where the plan leaves the count open.
    /// Lanes that use up records or new states take theirs one after the other. So do gets that have an order, each slice from the
    /// order's own beginning.
    pub fn lanes_at(&self, arm: &PlannedArm, start: Start, calibrated: u64) -> Vec<Lane> {
        let is_ordered = self.order.is_some();
        let operation = if is_ordered { self.operations_before() } else { start.operation };
        let mut next = Start { operation, ..start };
        let lane = |(place, lane): (usize, &PlannedLane)| {
            let count = lane.operations(calibrated);
            let mut from = next.operation;
            if lane.verb.inserts() || is_ordered {
                next.operation += count;
            } else if lane.verb.updates() {
                from = next.state;
                next.state += lane.states_written(count);
            } else if lane.verb == Verb::DeleteMany {
                from = 0;
            } else if lane.verb == Verb::Mix {
                from += place as u64 * MIXED;
            }
            Lane {
                verb: lane.verb,
                from,
                count,
                held: lane.held,
                table: lane.table,
                above: lane.above,
                changes: lane.changes,
                depth: lane.depth,
                stretch: lane.stretch,
                transaction: lane.transaction,
                lasts_ms: lane.lasts_ms,
            }
        };
        arm.lanes.iter().enumerate().map(lane).collect()
    }

    fn slices_between_restores(&self) -> u64 {
        if self.restore { 1 } else { u64::from(self.blocks) * 2 + SLICES_BESIDE_BLOCKS }
    }
}

impl PlannedArm {
    /// How many records a slice uses up.
    pub fn records_used(&self, calibrated: u64) -> u64 {
        let inserting = self.lanes.iter().filter(|lane| lane.verb.inserts());
        inserting.map(|lane| lane.count.unwrap_or(calibrated)).fold(0, u64::saturating_add)
    }

    /// How many new states a slice uses up.
    pub fn states_used(&self, calibrated: u64) -> u64 {
        let written = |lane: &PlannedLane| lane.states_written(lane.count.unwrap_or(calibrated));
        self.lanes.iter().map(written).fold(0, u64::saturating_add)
    }
}

impl PlannedLane {
    /// Its operations in a slice: as many as it says or as were calibrated, in whole transactions.
    pub fn operations(&self, calibrated: u64) -> u64 {
        self.count.unwrap_or_else(|| calibrated.next_multiple_of(self.transaction.unwrap_or(1).max(1)))
    }

    /// How many new states so many of its operations write.
    pub fn states_written(&self, operations: u64) -> u64 {
        match self.verb {
            Verb::Deliver => operations.saturating_mul(self.changes.unwrap_or(1)),
            verb if verb.updates() => operations,
            _ => 0,
        }
    }
}
