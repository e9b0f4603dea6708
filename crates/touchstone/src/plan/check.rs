//! What a plan must say to be run at all. A person may have edited it, so nothing is taken for granted.

use super::{GETS, Plan, PlannedArm, PlannedCase, PlannedLane};
use crate::name::{file_name, unique};
use touchstone_protocol::Verb;

/// The most bytes of records a case may need: they are generated once and held by the lab and by every driver.
const DATA_BYTES_MAX: u64 = 16 << 30;

/// What a record takes in memory besides its value.
const RECORD_BYTES: u64 = 64;

type Checked = Result<(), String>;

impl Plan {
    /// Says what about the plan could never be run, in words that name the place.
    pub(super) fn check(&self) -> Checked {
        if self.looks.first().is_none_or(|first| *first == 0) || !self.looks.is_sorted_by(|a, b| a < b) {
            return Err(
                "`looks` are the launches after which to look: at least one, ascending, from 1".into()
            );
        }
        if self.family == 0 {
            return Err("`family` counts the comparisons corrected together: at least 1".into());
        }
        unique("suite", self.suites.iter().map(|suite| &suite.name))?;
        unique("case", self.cases.iter().map(|case| &case.id))?;
        for case in &self.cases {
            let checked = self.check_id(case).and_then(|()| case.check());
            checked.map_err(|message| format!("case `{}`: {message}", case.id))?;
        }
        Ok(())
    }

    fn check_id(&self, case: &PlannedCase) -> Checked {
        let Some((suite, name)) = case.id.split_once('/') else {
            return Err("an id is suite/case, such as wcdb/read".into());
        };
        file_name(suite).and_then(|()| file_name(name))?;
        if self.suites.iter().any(|known| known.name == suite) {
            return Ok(());
        }
        Err(format!("there is no suite `{suite}` in this plan"))
    }
}

impl PlannedCase {
    fn check(&self) -> Checked {
        if !(self.margin > 0.0 && self.margin < 1.0) {
            return Err(format!("its margin {} is not a share between 0 and 1, such as 0.01", self.margin));
        }
        if self.blocks == 0 || self.tables == 0 {
            return Err("it needs at least one block and one table".into());
        }
        unique("arm", self.arms.iter().map(|arm| &arm.name))?;
        for (role, arm) in [("baseline", Some(&self.baseline)), ("floor", self.floor.as_ref())] {
            if let Some(arm) = arm.filter(|arm| self.arm(arm).is_none()) {
                return Err(format!("its {role} `{arm}` is not one of its arms"));
            }
        }
        for arm in &self.arms {
            let checked = file_name(&arm.name).and_then(|()| arm.check());
            checked.map_err(|message| format!("arm `{}`: {message}", arm.name))?;
        }
        file_name(&self.dataset.name).map_err(|message| format!("its dataset: {message}"))?;
        self.check_data()
    }

    fn check_data(&self) -> Checked {
        let dataset = &self.dataset;
        if self.filled > dataset.records {
            return Err(format!(
                "it is filled with {} records, but dataset `{}` has {}",
                self.filled, dataset.name, dataset.records
            ));
        }
        let records = self.records_needed();
        let bytes = records.saturating_mul(dataset.value_bytes.saturating_add(RECORD_BYTES));
        if bytes > DATA_BYTES_MAX || records > u64::from(u32::MAX) {
            return Err(format!(
                "it needs {records} records of {} bytes, all in memory: over {} GiB; ask for fewer or smaller ones",
                dataset.value_bytes,
                DATA_BYTES_MAX >> 30
            ));
        }
        Ok(())
    }
}

impl PlannedArm {
    fn check(&self) -> Checked {
        if self.lanes.is_empty() {
            return Err("it has no lanes, so there is nothing to do".into());
        }
        self.lanes.iter().try_for_each(PlannedLane::check)
    }
}

impl PlannedLane {
    fn check(&self) -> Checked {
        match (self.verb, self.count) {
            (verb, Some(0)) => Err(format!("its {verb} lane has a count of 0, so there is nothing to do")),
            (Verb::Get, Some(count)) if count > GETS => {
                Err(format!("its get lane has a count of {count}; a slice has at most {GETS}"))
            }
            (Verb::InsertMany, None) => {
                Err("an insert-many lane needs `count`, the records in its commit".into())
            }
            _ => Ok(()),
        }
    }
}
