//! Loads: what users ask of a service over HTTP, in the load generator's own words, and how long a case listens to it.

use super::{BySize, Case, Suite};
use crate::name::there_are;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What users ask of a service: a scenario of the load generator without its host and its phases, which a run says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Its name in the suite.
    pub name: String,
    /// Everything else: the keys of a scenario, which the generator checks.
    #[serde(flatten)]
    pub asks: Map<String, Value>,
}

/// The load of a case: a closed loop of users, in windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadPlan {
    /// The scenario.
    pub scenario: String,
    /// How many users ask, each as soon as it is answered.
    pub users: BySize<u32>,
    /// How long a window lasts, in milliseconds: the slice of a service.
    pub window_ms: BySize<u64>,
    /// How long load is offered before the first window of a launch, in milliseconds.
    pub warm_ms: BySize<u64>,
}

impl Suite {
    /// The scenario of that name.
    pub(crate) fn scenario(&self, name: &str) -> Option<&Scenario> {
        self.scenarios.iter().find(|scenario| scenario.name == name)
    }

    /// A case has lanes or a load, and its load is one of the suite's.
    pub(super) fn check_load(&self, case: &Case) -> Result<(), String> {
        let Some(load) = &case.load else {
            if case.lanes.is_empty() {
                return Err("it has neither `lanes` nor a `load`, so there is nothing to do".into());
            }
            return Ok(());
        };
        if !case.lanes.is_empty() {
            return Err("it has `lanes` and a `load`: one is of libraries, the other of services".into());
        }
        if self.scenario(&load.scenario).is_none() {
            let known = self.scenarios.iter().map(|scenario| scenario.name.as_str());
            let known = there_are(&load.scenario, known);
            return Err(format!("there is no scenario `{}` in this suite; {known}", load.scenario));
        }
        Ok(())
    }
}
