//! What a plan must say to be run at all. A person may have edited it, so nothing is taken for granted.

mod lane;

use super::{Plan, PlannedArm, PlannedCase, PlannedSuite, SLICE_MS};
use crate::error::Error;
use crate::name::{file_name, unique};
use crate::suite::{By, Claim, ClaimTest, Published, Scaled, Suite, case_item};
use crate::written::Mistake;
use std::ops::RangeInclusive;
use touchstone_protocol::{RecordKind, TYPED_TABLES, Verb, Watched};

/// The most bytes of records a case may need: they are generated once and held by the lab and by every driver.
const DATA_BYTES_MAX: u64 = 16 << 30;

/// What a record takes in memory besides its value.
const RECORD_BYTES: u64 = 64;

/// What an object takes in memory.
const DOC_BYTES: u64 = 256;

/// What the lab's knowledge of a record takes, in each table that lanes use.
const KNOWN_BYTES: u64 = 4;

/// The most often that records are churned: a file has the same free pages long before.
const CHURN_MAX: u32 = 1_000;

/// How many milliseconds a slice of calibrated length may take.
const SLICE_MS_RANGE: RangeInclusive<u32> = 1..=1_000;

/// The most subscriptions of a case.
const SUBSCRIPTIONS_MAX: u64 = 1 << 20;

type Checked = Result<(), String>;

/// What is wrong with a plan, and with something of which of its suites.
#[derive(Debug)]
pub(super) struct Fault {
    /// Empty where it is with none of them.
    suite: String,
    mistake: Mistake,
}

impl Fault {
    /// With something that is named in its suite alone.
    fn of(suite: &str, mistake: Mistake) -> Fault {
        let message = format!("suite `{suite}`: {}", mistake.message);
        Fault { suite: suite.into(), mistake: Mistake { message, ..mistake } }
    }

    /// As an error of whoever planned these suites, with its place in their files.
    pub(super) fn in_suites(self, suites: &[Suite]) -> Error {
        match suites.iter().find(|known| known.name == self.suite) {
            Some(suite) => suite.told(&self.mistake),
            None => Error::input(self.mistake.message),
        }
    }

    /// As an error of the file that the plan was read from.
    pub(super) fn in_plan(self, origin: &str) -> Error {
        Error::input(format!("{origin}: {}", self.mistake.message))
    }
}

impl From<String> for Fault {
    fn from(message: String) -> Fault {
        Fault { suite: String::new(), mistake: message.into() }
    }
}

impl Plan {
    /// Says what about the plan could never be run, in words that name the place.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.looks.first().is_none_or(|first| *first == 0) || !self.looks.is_sorted_by(|a, b| a < b) {
            let message = "`looks` are the launches after which to look: at least one, ascending, from 1";
            return Err(message.to_owned().into());
        }
        if self.family == 0 {
            return Err("`family` counts the comparisons corrected together: at least 1".to_owned().into());
        }
        unique("suite", self.suites.iter().map(|suite| &suite.name))?;
        unique("case", self.cases.iter().map(|case| &case.id))?;
        for suite in &self.suites {
            let published = Published {
                references: &suite.references,
                stand_ins: &suite.stand_ins,
                rows: &suite.published_rows,
                claims: &suite.claims,
            };
            published.check().map_err(|mistake| Fault::of(&suite.name, mistake))?;
        }
        for case in &self.cases {
            let checked =
                self.check_id(case).and_then(|()| case.check()).and_then(|()| case.check_among_scales());
            checked
                .map_err(|message| Fault { suite: case.suite().into(), mistake: case.mistake(&message) })?;
        }
        self.suites
            .iter()
            .try_for_each(|suite| self.check_ground(suite).map_err(|mistake| Fault::of(&suite.name, mistake)))
    }

    /// What a page says is decided by contenders that behave, on answers that are checked.
    fn check_ground(&self, suite: &PlannedSuite) -> Result<(), Mistake> {
        for claim in suite.claims.iter().filter(|claim| claim.by == By::Page) {
            for test in &claim.tests {
                self.check_test_ground(suite, claim, test).map_err(|message| {
                    Mistake::of(claim.item(), format!("claim `{}` of the page: {message}", claim.id))
                })?;
            }
        }
        Ok(())
    }

    fn check_test_ground(&self, suite: &PlannedSuite, claim: &Claim, test: &ClaimTest) -> Checked {
        let named = [Some(&test.case), test.against_case.as_ref()];
        let asked = |case: &&PlannedCase| {
            let names = [Some(case.name()), case.scale_of.as_deref()];
            let is_named = |name: &String| names.contains(&Some(name.as_str()));
            case.suite() == suite.name && named.into_iter().flatten().any(is_named)
        };
        let arms: Vec<String> = claim
            .pairs_of(test)
            .into_iter()
            .flat_map(|pair| [Some(pair.arm), pair.against])
            .flatten()
            .collect();
        for case in self.cases.iter().filter(asked) {
            if case.unchecked {
                return Err(format!(
                    "its case `{}` leaves answers unchecked, and decides nothing: ask another case, or say `by = \"ours\"`",
                    case.name()
                ));
            }
            if let Some(arm) = case.arms.iter().find(|arm| arm.canary && arms.contains(&arm.name)) {
                return Err(format!(
                    "it asks `{}`, a canary, which decides nothing: ask another arm, or say `by = \"ours\"`",
                    arm.name
                ));
            }
        }
        Ok(())
    }

    fn check_id(&self, case: &PlannedCase) -> Checked {
        let Some((suite, name)) = case.id.split_once('/') else {
            return Err("an id is suite/case, such as couch/get".into());
        };
        file_name(suite).and_then(|()| file_name(name))?;
        if self.suites.iter().any(|known| known.name == suite) {
            return Ok(());
        }
        Err(format!("there is no suite `{suite}` in this plan"))
    }
}

impl PlannedCase {
    /// What is wrong with it, in its suite's file, which has its scales as one case.
    fn mistake(&self, message: &str) -> Mistake {
        let written = self.scale_of.as_deref().unwrap_or(self.name());
        Mistake::of(case_item(written), format!("case `{}`: {message}", self.id))
    }

    fn check(&self) -> Checked {
        if !(self.margin > 0.0 && self.margin < 1.0) {
            return Err(format!("its margin {} is not a share between 0 and 1, such as 0.01", self.margin));
        }
        if self.blocks == 0 || self.tables == 0 {
            return Err("it needs at least one block and one table".into());
        }
        if !SLICE_MS_RANGE.contains(&self.slice_ms) {
            let (least, most) = (SLICE_MS_RANGE.start(), SLICE_MS_RANGE.end());
            return Err(format!("its slice_ms is {}; a slice takes {least} to {most} ms", self.slice_ms));
        }
        let mut lanes = self.arms.iter().flat_map(|arm| &arm.lanes);
        if self.slice_ms != SLICE_MS && lanes.all(|lane| lane.count.is_some()) {
            return Err(
                "its slice_ms says nothing: each of its lanes has a `count`, or goes by the clock".into()
            );
        }
        self.check_scale()?;
        unique("arm", self.arms.iter().map(|arm| &arm.name))?;
        for (role, arm) in [("baseline", Some(&self.baseline)), ("floor", self.floor.as_ref())] {
            if let Some(arm) = arm.filter(|arm| self.arm(arm).is_none()) {
                return Err(format!("its {role} `{arm}` is not one of its arms"));
            }
        }
        file_name(&self.dataset.name).map_err(|message| format!("its dataset: {message}"))?;
        self.check_typed()?;
        self.check_churn()?;
        self.check_watch()?;
        self.check_data()?;
        if let Some(load) = &self.load {
            let name = &load.scenario.name;
            load.scenario.check_followed().map_err(|message| format!("its scenario `{name}`: {message}"))?;
        }
        for arm in &self.arms {
            let checked = file_name(&arm.name)
                .and_then(|()| self.check_load(arm))
                .and_then(|()| arm.check())
                .and_then(|()| self.check_lanes(arm))
                .and_then(|()| self.check_stored(arm));
            checked.map_err(|message| format!("arm `{}`: {message}", arm.name))?;
        }
        self.check_get_record()?;
        self.check_order()?;
        self.check_mix()?;
        if self.operation_bytes == Some(0) {
            return Err("its `operation_bytes` are 0: leave the key out where no bytes are counted".into());
        }
        let has =
            |of: fn(Verb) -> bool| self.arms.iter().flat_map(|arm| &arm.lanes).any(|lane| of(lane.verb));
        if has(|verb| verb == Verb::Get) && has(Verb::inserts) {
            return Err(
                "it has lanes that get and lanes that insert, which take different orders of operations: \
                        make two cases of them"
                    .into(),
            );
        }
        Ok(())
    }

    /// An arm has lanes, or the case a load.
    fn check_load(&self, arm: &PlannedArm) -> Checked {
        let Some(load) = &self.load else {
            if arm.flush_us.is_some() {
                return Err(
                    "its `flush_us` is how long a flush of a service takes, and its case has no `load`: leave it out".into()
                );
            }
            if arm.lanes.is_empty() {
                return Err("it has no lanes, so there is nothing to do".into());
            }
            return Ok(());
        };
        if !arm.serves || !arm.lanes.is_empty() || self.dataset.record != RecordKind::Row || self.tables != 1
        {
            return Err("a service bears a load over rows of one table, and plays no lanes".into());
        }
        if load.users == 0 || load.window_ms == 0 {
            return Err("its `load` needs at least one user and a window of at least 1 ms".into());
        }
        Ok(())
    }

    /// A scale is the number of what it counts.
    fn check_scale(&self) -> Checked {
        let Some(scale) = self.scale else { return Ok(()) };
        self.check_scaled()?;
        let deliver =
            || self.arms.iter().flat_map(|arm| &arm.lanes).filter(|lane| lane.verb == Verb::Deliver);
        let other = match self.scaled {
            Scaled::Records => Some(self.dataset.records).filter(|records| *records != scale),
            Scaled::Subscriptions => {
                self.watch.as_ref().map(|watch| watch.subscriptions).filter(|number| *number != scale)
            }
            Scaled::Changes => deliver().filter_map(|lane| lane.changes).find(|changes| *changes != scale),
        };
        match other {
            None => Ok(()),
            Some(other) => Err(format!(
                "its `scale` is {scale}, and it has {other} {}: they are one number",
                self.scaled
            )),
        }
    }

    /// What is scaled makes a difference to what its lanes do.
    fn check_scaled(&self) -> Checked {
        let all_deliver = self.arms.iter().all(|arm| arm.lanes.iter().any(|lane| lane.verb == Verb::Deliver));
        match self.scaled {
            Scaled::Subscriptions | Scaled::Changes if !all_deliver => {
                Err(format!("its scales are of {}: each arm needs a deliver lane", self.scaled))
            }
            Scaled::Records if self.arms.iter().any(|arm| !self.stores_all(arm)) => Err(format!(
                "its scales are of records, of which {} are stored at each of them: leave out `filled`, or insert the others \
                 with insert-many lanes without a `count`",
                self.filled
            )),
            _ => Ok(()),
        }
    }

    /// Whether an arm works on as many records as its dataset has: they are stored at the start, or its lanes insert the
    /// others. Lanes without a count share those equally, and may leave fewer than there are lanes.
    fn stores_all(&self, arm: &PlannedArm) -> bool {
        if self.filled >= self.dataset.records {
            return true;
        }
        let counts: Vec<Option<u64>> =
            arm.lanes.iter().filter(|lane| lane.verb == Verb::InsertMany).map(|lane| lane.count).collect();
        let stored = counts.iter().flatten().fold(self.filled, |stored, count| stored.saturating_add(*count));
        stored <= self.dataset.records && self.dataset.records - stored < counts.len() as u64
    }

    fn check_among_scales(&self) -> Checked {
        match self.scale {
            Some(scale) if !self.scales.is_empty() && !self.scales.contains(&scale) => Err(format!(
                "its `scale` {scale} is not among its `scales`, which are all of its size: add it, or plan again"
            )),
            _ => Ok(()),
        }
    }

    fn check_get_record(&self) -> Checked {
        let Some(record) = self.get_record else { return Ok(()) };
        if !self.has_lane(Verb::Get) {
            return Err("`get_record` says what gets ask for, and no lane of it gets".into());
        }
        let stored = self.share_of(self.filled, 1).end;
        if record >= stored {
            return Err(format!(
                "its `get_record` is {record}; the records stored on the first table are numbered 0 to {}",
                stored.saturating_sub(1)
            ));
        }
        Ok(())
    }

    fn check_typed(&self) -> Checked {
        if self.typed && (self.dataset.record != RecordKind::Doc || self.tables != TYPED_TABLES) {
            return Err(format!(
                "`typed` tables are the {TYPED_TABLES} of the page's types of object: it needs a dataset of `doc` and \
                 `tables = {TYPED_TABLES}`"
            ));
        }
        Ok(())
    }

    fn check_churn(&self) -> Checked {
        if self.churn > 0 && self.dataset.record != RecordKind::Doc {
            return Err(format!(
                "`churn` deletes again what it stores, and nothing deletes a {}",
                self.dataset.record
            ));
        }
        if self.churn > CHURN_MAX {
            return Err(format!(
                "its `churn` of {} is over {CHURN_MAX}, which changes a file no more",
                self.churn
            ));
        }
        Ok(())
    }

    fn check_watch(&self) -> Checked {
        let Some(watch) = &self.watch else { return Ok(()) };
        if self.dataset.record != RecordKind::Doc || self.dataset.spacing == 0 {
            return Err(
                "`watch` needs a dataset of `doc` with a `spacing`, so that no two priorities are the same"
                    .into(),
            );
        }
        let windows = watch.watched == Watched::Window;
        if windows != (watch.width > 0) || (!windows && (watch.limit.is_some() || watch.stride.is_some())) {
            return Err(
                "a window has a `width`, and only a window has one, or a `stride` or a `limit`".into()
            );
        }
        if watch.span == 0 || watch.span > self.filled {
            return Err(format!(
                "`span` is {} of the {} objects stored: at least 1, at most all",
                watch.span, self.filled
            ));
        }
        let reach = watch.stride.unwrap_or(0).saturating_mul(watch.subscriptions.saturating_sub(1));
        if watch.width.saturating_add(reach) > watch.span {
            return Err(format!(
                "its windows reach over more than the {} objects that may be watched",
                watch.span
            ));
        }
        if watch.limit == Some(0) || watch.subscriptions > SUBSCRIPTIONS_MAX {
            return Err(format!(
                "a `limit` is at least 1, and there are at most {SUBSCRIPTIONS_MAX} subscriptions"
            ));
        }
        Ok(())
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
        let each = match dataset.record {
            RecordKind::Doc => DOC_BYTES,
            _ => dataset.value_bytes.saturating_add(RECORD_BYTES),
        };
        let all = records.saturating_add(self.states_needed());
        let tables = u64::from(self.tables_used());
        let known = records.saturating_mul(tables).saturating_mul(KNOWN_BYTES);
        // The highest number stands for no record.
        if all.saturating_mul(each).saturating_add(known) > DATA_BYTES_MAX || all >= u64::from(u32::MAX) {
            return Err(format!(
                "it needs {all} records of {each} bytes, known of {tables} tables, all in memory: over {} GiB; ask \
                 for fewer or smaller ones",
                DATA_BYTES_MAX >> 30
            ));
        }
        Ok(())
    }
}
