//! What the lanes of a plan must say: each by its verb, beside the others of its arm, and for what its case stores and watches.

use super::Checked;
use crate::plan::{GETS, PlannedArm, PlannedCase, PlannedLane, setting};
use touchstone_protocol::{RecordKind, Verb};

/// The least space between priorities where some objects move and others stay: each round of new states has a place
/// of its own there.
const SPACING_MIN: u64 = 4;

impl PlannedCase {
    /// What a lane with subscribers asks of the case.
    fn check_subscribers(&self, arm: &PlannedArm, lane: &PlannedLane) -> Checked {
        let alone = arm.lanes.len() == 1 && lane.table == 1 && !lane.held;
        if lane.verb.watches() && (self.watch.is_none() || !alone) {
            return Err(format!(
                "a {} lane needs a `watch` in its case, and runs alone, on table 1",
                lane.verb
            ));
        }
        if lane.verb == Verb::Subscribe && self.watch.as_ref().is_some_and(|watch| watch.subscriptions == 0) {
            return Err("its subscribe lane begins one of 0 subscriptions: at least 1".into());
        }
        self.check_deliver(lane)
    }

    fn check_deliver(&self, lane: &PlannedLane) -> Checked {
        if lane.verb != Verb::Deliver {
            if lane.changes.is_some() || lane.unwatched || lane.depth.is_some() || lane.stretch.is_some() {
                return Err(format!(
                    "`changes`, `unwatched`, `depth` and `stretch` go with deliver, and its lane does {}",
                    lane.verb
                ));
            }
            return Ok(());
        }
        let first = self.arms.iter().flat_map(|arm| &arm.lanes).find(|lane| lane.verb == Verb::Deliver);
        if first.is_some_and(|first| (first.changes, first.unwatched) != (lane.changes, lane.unwatched)) {
            return Err("the deliver lanes of a case change the same objects: make two cases of them".into());
        }
        let there = self.changeable(lane.unwatched);
        let there = there.end - there.start;
        let changes = lane.changes.unwrap_or(0);
        if changes == 0 || changes > there {
            return Err(format!(
                "its transactions change {changes} of {there} objects: at least 1, at most all"
            ));
        }
        if changes < there && self.dataset.spacing < SPACING_MIN {
            return Err(format!(
                "some of its objects move between others that stay: say `spacing = {SPACING_MIN}` for its dataset"
            ));
        }
        Ok(())
    }

    /// What the lanes ask of this case's records, tables and restoring.
    pub(super) fn check_lanes(&self, arm: &PlannedArm) -> Checked {
        for lane in &arm.lanes {
            let (verb, record) = (lane.verb, self.dataset.record);
            self.check_subscribers(arm, lane)?;
            if !Verb::OF_MIXED_RECORDS.contains(&verb) && record != RecordKind::Doc {
                return Err(format!(
                    "its {verb} lane needs a dataset of `doc`, and `{}` is of {record}",
                    self.dataset.name
                ));
            }
            if lane.table == 0 || lane.table > self.tables {
                return Err(format!(
                    "its {verb} lane is on table {}; `tables` numbers them 1 to {}",
                    lane.table, self.tables
                ));
            }
            if verb.updates() && self.tables_used() > 1 {
                return Err("new states are made for the objects of one table: an update goes with lanes on table 1 only".into());
            }
            if verb == Verb::UpdateMany && lane.count > Some(self.filled) {
                return Err(format!(
                    "its update-many lane writes over more objects than the {} stored",
                    self.filled
                ));
            }
            if verb == Verb::DeleteMany && !self.restore {
                return Err(
                    "a delete-many lane leaves nothing for the next slice: say `restore = true`".into()
                );
            }
        }
        Ok(())
    }

    /// What the lanes need to be stored at the start.
    pub(super) fn check_stored(&self, arm: &PlannedArm) -> Checked {
        for PlannedLane { verb, table, .. } in &arm.lanes {
            if matches!(verb, Verb::Get | Verb::Open) && *table > 1 {
                return Err(format!(
                    "{verb} asks for what the first table holds: a {verb} lane goes on table 1 only"
                ));
            }
            // Of an empty database, whoever opens nothing answers right.
            let needs = matches!(verb, Verb::Get | Verb::Open | Verb::Find | Verb::DeleteMany | Verb::Mix)
                || verb.updates();
            if needs && self.share_of(self.filled, *table).is_empty() {
                return Err(format!(
                    "its {verb} lane finds nothing: `filled` is {}, and table {table} has no share of that",
                    self.filled
                ));
            }
        }
        Ok(())
    }
}

impl PlannedArm {
    pub(super) fn check(&self) -> Checked {
        // Claims know an arm by its name, and what runs is its contender.
        let contender = self.contender.to_string();
        if self.name.split('#').next() != Some(contender.as_str()) {
            return Err(format!(
                "its contender is `{contender}`: name it so, with `#` and a variant where there is one"
            ));
        }
        setting::check_values(&self.settings)?;
        self.lanes.iter().try_for_each(PlannedLane::check)?;
        for (place, lane) in self.lanes.iter().enumerate() {
            let (before, after) = (&self.lanes[..place], &self.lanes[place + 1..]);
            let beside = before.iter().chain(after).filter(|other| other.table == lane.table);
            beside.map(|other| other.verb).try_for_each(|other| lane.check_beside(other))?;
        }
        Ok(())
    }
}

impl PlannedLane {
    fn check(&self) -> Checked {
        match (self.verb, self.count) {
            (verb, Some(0)) => Err(format!("its {verb} lane has a count of 0, so there is nothing to do")),
            (Verb::Get, Some(count)) if count > GETS => {
                Err(format!("its get lane has a count of {count}; a slice has at most {GETS}"))
            }
            (Verb::InsertMany | Verb::UpdateMany, None) => {
                Err(format!("an {} lane needs `count`, the records in its commit", self.verb))
            }
            (Verb::Find, _) if self.above.is_none() => Err("a find lane needs `above`, the bound".into()),
            (Verb::DeleteMany, count) if count != Some(1) => {
                Err("a delete-many lane has a count of 1: it deletes all there is".into())
            }
            (verb, _) if self.held && verb.writes() => {
                Err(format!("`held` holds a read transaction open, and its {verb} lane writes"))
            }
            _ => Ok(()),
        }
    }

    /// What is right of two lanes on one table must not hang on how their threads happen to meet. Beside whole
    /// transactions that insert, one that looks at the whole table sees all of each or nothing of it.
    fn check_beside(&self, other: Verb) -> Checked {
        let verb = self.verb;
        let unknown = match verb {
            Verb::Get => other.writes(),
            Verb::ReadAll | Verb::Find => matches!(other, Verb::InsertOne | Verb::UpdateOne),
            Verb::UpdateOne | Verb::UpdateMany | Verb::DeleteMany | Verb::Deliver => other.writes(),
            Verb::InsertOne | Verb::InsertMany | Verb::Open | Verb::Subscribe => false,
            // Its lanes have keys of their own.
            Verb::Mix => other != Verb::Mix,
        };
        if unknown {
            return Err(format!(
                "its {verb} lane is beside one that does {other} on the same table, and nobody could say what is right: \
                 give them tables of their own"
            ));
        }
        Ok(())
    }
}
