//! Numbers of a suite that whoever plans sets otherwise: `couch/get.blocks=40`. The suite's file stays as it is; the plan
//! keeps what was set, and the suite's own number beside it.

use super::{Choice, Plan};
use crate::error::{Error, Result};
use crate::kit::Kits;
use crate::name::there_are;
use crate::suite::{ArmSpec, BySize, Case, LanePlan, Size, Suite};
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use touchstone_protocol::RecordKind;

/// The numbers of a case that can be set.
const NUMBERS: [&str; 17] = [
    "blocks",
    "changes",
    "churn",
    "count",
    "filled",
    "get_record",
    "lasts_ms",
    "records",
    "scales",
    "slice_ms",
    "span",
    "stride",
    "subscriptions",
    "tables",
    "transaction",
    "value_bytes",
    "width",
];

/// One number of a case, set otherwise than its suite does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    suite: String,
    case: String,
    number: String,
    value: u64,
}

/// What a plan keeps of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overridden {
    /// The number, as the suite's file calls it.
    pub number: String,
    /// What was set.
    pub here: u64,
    /// What the suite has at this size; none where it leaves the number open.
    pub suite: Option<u64>,
}

impl FromStr for Override {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Override, String> {
        let grammar = || format!("`{text}` is not SUITE/CASE.NUMBER=VALUE, such as couch/get.blocks=40");
        let (place, value) = text.split_once('=').ok_or_else(grammar)?;
        let (case, number) = place.rsplit_once('.').ok_or_else(grammar)?;
        let (suite, case) = case.split_once('/').ok_or_else(grammar)?;
        if !NUMBERS.contains(&number) {
            return Err(format!("no case has a number `{number}`; {}", there_are(number, NUMBERS)));
        }
        let value = value
            .replace('_', "")
            .parse()
            .map_err(|_| format!("`{value}` is no whole number, such as 40"))?;
        Ok(Override { suite: suite.into(), case: case.into(), number: number.into(), value })
    }
}

impl Plan {
    /// Plans suites with some of their numbers set otherwise.
    ///
    /// # Errors
    /// As [`Plan::new`], and when a case or its number is not there to be set.
    pub fn with(
        mut suites: Vec<Suite>,
        overrides: &[Override],
        kits: &Kits,
        choice: &Choice,
    ) -> Result<Plan> {
        let mut set: Vec<(&Override, Overridden)> = Vec::new();
        for wanted in overrides {
            if set.iter().any(|(known, _)| known.is_of_the_same(wanted)) {
                return Err(wanted.refused("it is set twice; say it once".into()));
            }
            set.push((wanted, wanted.apply(&mut suites, choice.size)?));
        }
        let mut plan = Plan::new(&suites, kits, choice)?;
        for case in &mut plan.cases {
            let name = case.scale_of.as_deref().unwrap_or(case.name());
            let mine = set.iter().filter(|(wanted, _)| wanted.suite == case.suite() && wanted.case == name);
            case.overridden = mine.map(|(_, overridden)| overridden.clone()).collect();
        }
        Ok(plan)
    }
}

impl Override {
    fn apply(&self, suites: &mut [Suite], size: Size) -> Result<Overridden> {
        let names: Vec<String> = suites.iter().map(|suite| suite.name.clone()).collect();
        let Some(suite) = suites.iter_mut().find(|suite| suite.name == self.suite) else {
            return Err(self.refused(format!(
                "no suite `{}` is planned; {}",
                self.suite,
                there_are(&self.suite, names)
            )));
        };
        let names: Vec<String> = suite.cases.iter().map(|case| case.id.clone()).collect();
        let Some(place) = suite.cases.iter().position(|case| case.id == self.case) else {
            return Err(self.refused(format!(
                "the suite has no case `{}`; {}",
                self.case,
                there_are(&self.case, names)
            )));
        };
        if let Some(why) = self.without_effect(suite, &suite.cases[place], size) {
            return Err(self.refused(why));
        }
        let before = match self.number.as_str() {
            "records" | "value_bytes" => self.set_data(suite, place, size),
            _ => self.set_case(&mut suite.cases[place], size)?,
        };
        Ok(Overridden { number: self.number.clone(), here: self.value, suite: before })
    }

    fn is_of_the_same(&self, other: &Override) -> bool {
        (&self.suite, &self.case, &self.number) == (&other.suite, &other.case, &other.number)
    }

    /// Why the number would be set and change nothing.
    fn without_effect(&self, suite: &Suite, case: &Case, size: Size) -> Option<String> {
        let has_scales = case.at(size).iter().any(|scaled| scaled.scale.is_some());
        if has_scales && case.scaled.to_string() == self.number {
            let names: Vec<String> = case.at(size).into_iter().map(|scaled| scaled.id).collect();
            return Some(format!(
                "each of its scales sets its own; plan one of them: --case {}",
                names.join(", ")
            ));
        }
        let dataset = suite.datasets.iter().find(|dataset| dataset.name == case.dataset)?;
        let is_doc = dataset.record == RecordKind::Doc;
        (is_doc && self.number == "value_bytes").then(|| "objects have no values of a given size".into())
    }

    /// Other cases keep their dataset: this one gets its own.
    fn set_data(&self, suite: &mut Suite, place: usize, size: Size) -> Option<u64> {
        let case = &mut suite.cases[place];
        let mut dataset = suite.datasets.iter().find(|dataset| dataset.name == case.dataset)?.clone();
        let before = if self.number == "records" {
            let before = dataset.records.at(size);
            set(&mut dataset.records, size, self.value);
            Some(before)
        } else {
            dataset.value_bytes.replace(self.value)
        };
        let own = format!("{}-of-{}", dataset.name, case.id);
        if case.dataset != own {
            dataset.name.clone_from(&own);
            case.dataset = own;
            suite.datasets.push(dataset);
        } else if let Some(known) = suite.datasets.iter_mut().find(|known| known.name == own) {
            *known = dataset;
        }
        before
    }

    fn set_case(&self, case: &mut Case, size: Size) -> Result<Option<u64>> {
        let small =
            u32::try_from(self.value).map_err(|_| self.refused(format!("{} is too large", self.value)));
        let value = self.value;
        Ok(match self.number.as_str() {
            "blocks" => set_open(&mut case.blocks, size, small?).map(u64::from),
            "slice_ms" => set_open(&mut case.slice_ms, size, small?).map(u64::from),
            "churn" => set_open(&mut case.churn, size, small?).map(u64::from),
            "tables" => {
                let before = case.tables.at(size);
                set(&mut case.tables, size, small?);
                Some(before.into())
            }
            "filled" => set_open(&mut case.filled, size, value),
            "get_record" => set_open(&mut case.get_record, size, value),
            "scales" => {
                let before = case.scales.as_ref().map(|scales| scales.at(size));
                if before.is_none() {
                    return Err(self.refused("the case has no scales".into()));
                }
                case.scales = Some(BySize::Same(vec![value]));
                before.and_then(|scales| scales.last().copied())
            }
            "count" | "changes" | "transaction" | "lasts_ms" => self.set_lanes(case, size)?,
            _ => self.set_watch(case, size)?,
        })
    }

    fn set_watch(&self, case: &mut Case, size: Size) -> Result<Option<u64>> {
        let Some(watch) = &mut case.watch else {
            return Err(self.refused("the case watches nothing".into()));
        };
        Ok(match self.number.as_str() {
            "subscriptions" => {
                let before = watch.subscriptions.at(size);
                set(&mut watch.subscriptions, size, self.value);
                Some(before)
            }
            "width" => set_open(&mut watch.width, size, self.value),
            "stride" => set_open(&mut watch.stride, size, self.value),
            _ => set_open(&mut watch.span, size, self.value),
        })
    }

    /// Sets it for every lane that has it.
    fn set_lanes(&self, case: &mut Case, size: Size) -> Result<Option<u64>> {
        let varied = case.arms.iter_mut().filter_map(|arm| match arm {
            ArmSpec::Varied(arm) => arm.lanes.as_mut(),
            ArmSpec::Plain(_) => None,
        });
        let lanes = case.lanes.iter_mut().chain(varied.flatten());
        let number = |lane: &mut LanePlan| -> Option<u64> {
            let number = match self.number.as_str() {
                "count" => &mut lane.count,
                "changes" => &mut lane.changes,
                "transaction" => &mut lane.transaction,
                _ => &mut lane.lasts_ms,
            };
            let before = number.as_ref()?.at(size);
            set_open(number, size, self.value);
            Some(before)
        };
        let before: Vec<u64> = lanes.filter_map(number).collect();
        match before.iter().max() {
            Some(most) => Ok(Some(*most)),
            None => Err(self.refused(format!("no lane of the case says its `{}`", self.number))),
        }
    }

    fn refused(&self, why: String) -> Error {
        let Override { suite, case, number, value } = self;
        Error::input(format!("cannot set {suite}/{case}.{number}={value}: {why}"))
    }
}

/// Sets a number at one size; at the other it stays.
fn set<T: Clone>(number: &mut BySize<T>, size: Size, value: T) {
    let (quick, full) = (number.at(Size::Quick), number.at(Size::Full));
    *number = match size {
        Size::Quick => BySize::Each { quick: value, full },
        Size::Full => BySize::Each { quick, full: value },
    };
}

/// The same for one that the suite may leave open; says what it was.
fn set_open<T: Clone>(number: &mut Option<BySize<T>>, size: Size, value: T) -> Option<T> {
    match number {
        Some(known) => {
            let before = known.at(size);
            set(known, size, value);
            Some(before)
        }
        None => {
            *number = Some(BySize::Same(value));
            None
        }
    }
}
