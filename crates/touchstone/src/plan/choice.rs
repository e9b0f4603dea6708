//! Which part of the suites is planned: their cases and contenders by name.

use super::PlannedArm;
use crate::error::{Error, Result};
use crate::name::{meant, nearest};
use crate::suite::{ArmSpec, Case, Size, Suite};
use std::collections::BTreeSet;

/// Which part of the suites to plan, and how much of it.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Cases by name (`read` or `wcdb/read`); all where empty.
    pub cases: Vec<String>,
    /// Contenders, as `subject`, `subject@profile` or a whole arm's name; all where empty. Baselines and floors stay, in cases
    /// that are named or have one of them.
    pub contenders: Vec<String>,
    /// How much is run.
    pub size: Size,
    /// Where every random choice comes from.
    pub seed: u64,
    /// After how many launches to look, ascending.
    pub looks: Vec<usize>,
}

impl Choice {
    /// Whether an arm is one of the contenders that were asked for: a baseline that runs beside them is none.
    pub fn asks_for(&self, arm: &PlannedArm) -> bool {
        let contender = &arm.contender;
        let is_named = |wanted: &String| {
            *wanted == arm.name || *wanted == contender.to_string() || *wanted == contender.subject
        };
        self.contenders.is_empty() || self.contenders.iter().any(is_named)
    }

    pub(super) fn check(&self, suites: &[Suite]) -> Result<()> {
        for wanted in &self.cases {
            let named = |suite: &Suite, case: &Case| {
                let scaled = case.at(self.size).into_iter();
                scaled.map(|scaled| scaled.id).any(|id| is_named(wanted, &suite.name, &case.id, &id))
            };
            if !suites.iter().any(|suite| suite.cases.iter().any(|case| named(suite, case))) {
                let scaled = |suite: &Suite| {
                    suite.cases.iter().flat_map(|case| case.at(self.size)).collect::<Vec<_>>()
                };
                let known: Vec<String> = suites
                    .iter()
                    .flat_map(|s| scaled(s).into_iter().map(move |case| format!("{}/{}", s.name, case.id)))
                    .collect();
                // A case may be given without its suite, and is as near then.
                let own = |id: &str| id.split_once('/').map_or(id, |(_, own)| own).to_owned();
                let own: Vec<String> = known.iter().map(|id| own(id)).collect();
                let near = nearest(wanted, known.iter().chain(&own).map(String::as_str));
                return Err(Error::input(format!(
                    "there is no case `{wanted}` in the {} size; {}",
                    self.size,
                    meant(near, &format!("there are {}", known.join(", ")))
                )));
            }
        }
        for wanted in &self.contenders {
            let arms = suites
                .iter()
                .flat_map(|suite| suite.cases.iter().filter(|case| self.takes_any_of(&suite.name, case)))
                .flat_map(|case| &case.arms);
            if !arms.clone().any(|arm| arm_matches(wanted, arm)) {
                let whole: BTreeSet<String> = arms.clone().map(ArmSpec::name).collect();
                let parts =
                    arms.flat_map(|arm| [arm.contender().to_string(), arm.contender().subject.clone()]);
                let names: Vec<String> = whole.iter().cloned().chain(parts).collect();
                let all = whole.into_iter().collect::<Vec<_>>().join(", ");
                return Err(Error::input(format!(
                    "no case of those has a contender `{wanted}`; {}",
                    meant(nearest(wanted, names.iter().map(String::as_str)), &format!("they have {all}"))
                )));
            }
        }
        Ok(())
    }

    fn takes_any_of(&self, suite: &str, case: &Case) -> bool {
        case.at(self.size).into_iter().any(|scaled| self.takes_case(suite, &case.id, &scaled.id))
    }

    pub(super) fn takes_case(&self, suite: &str, case: &str, scaled: &str) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|wanted| is_named(wanted, suite, case, scaled))
    }

    /// Whether a case was named, or has a contender that was: of the others only baselines would run, and be compared with
    /// nothing.
    pub(super) fn concerns(&self, case: &Case) -> bool {
        let is_wanted = |arm: &ArmSpec| self.contenders.iter().any(|wanted| arm_matches(wanted, arm));
        !self.cases.is_empty() || self.contenders.is_empty() || case.arms.iter().any(is_wanted)
    }

    pub(super) fn takes_arm(&self, case: &Case, arm: &ArmSpec) -> bool {
        let name = arm.name();
        self.contenders.is_empty()
            || name == case.baseline
            || Some(&name) == case.floor.as_ref()
            || self.contenders.iter().any(|wanted| arm_matches(wanted, arm))
    }
}

fn case_matches(wanted: &str, suite: &str, case: &str) -> bool {
    wanted == case || wanted.split_once('/') == Some((suite, case))
}

/// A case with scales is wanted by its own name, which is all of them, or by one scale's.
fn is_named(wanted: &str, suite: &str, case: &str, scaled: &str) -> bool {
    case_matches(wanted, suite, case) || case_matches(wanted, suite, scaled)
}

fn arm_matches(wanted: &str, arm: &ArmSpec) -> bool {
    wanted == arm.name() || wanted == arm.contender().to_string() || wanted == arm.contender().subject
}
