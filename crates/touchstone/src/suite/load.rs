//! Loads: what users ask of a service over HTTP, in the load generator's own words, and how long a case listens to it.

use super::{BySize, Case, Suite};
use crate::name::there_are;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where devices upload and download.
pub const DELTA: &str = "/v1/sync/delta";

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

/// A row of the page's own tables of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedLoad {
    /// The case that it is of.
    pub case: String,
    /// Of which of the page's runs it is, as `before`.
    pub of: String,
    /// The endpoint; all requests, unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Requests.
    pub requests: u64,
    /// How many of them failed, where the page says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<u64>,
    /// Their average response time, in milliseconds.
    pub average_ms: f64,
    /// The time that half of them did not exceed, where the page says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<f64>,
    /// The time that 95 of 100 did not exceed, where the page says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_ms: Option<f64>,
    /// The time that 99 of 100 did not exceed, where the page says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
    /// The longest.
    pub max_ms: f64,
    /// Requests a second, where the page says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_second: Option<f64>,
}

impl Suite {
    /// The page's rows are of cases that there are.
    pub(super) fn check_published_loads(&self) -> Result<(), String> {
        let is_there = |row: &&PublishedLoad| !self.cases.iter().any(|case| case.id == row.case);
        match self.published_loads.iter().find(is_there) {
            Some(row) => {
                Err(format!("a `published_load` is of case `{}`, which this suite has not", row.case))
            }
            None => Ok(()),
        }
    }

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

impl Scenario {
    /// The names of the requests that upload.
    pub fn uploading(&self) -> Vec<&str> {
        self.uploads().filter_map(|request| request["name"].as_str()).collect()
    }

    /// The names of the requests that a user does before each window, where they are of its setup: those that upload, and those of whose
    /// answers it keeps something.
    pub fn setting_up(&self) -> Vec<&str> {
        let keeps = |request: &&Value| request.get("capture").is_some();
        let keeping = self.requests().filter(keeps).filter_map(|request| request["name"].as_str());
        self.uploading().into_iter().chain(keeping).collect()
    }

    fn uploads(&self) -> impl Iterator<Item = &Value> {
        let uploads =
            |request: &&Value| request["path"].as_str() == Some(DELTA) && request.get("body").is_some();
        self.requests().filter(uploads)
    }

    fn requests(&self) -> impl Iterator<Item = &Value> {
        self.asks.get("request").and_then(Value::as_array).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_user_keeps_of_answers_it_is_given_anew_before_each_window() {
        let asks = json!({ "name": "s", "request": [
            { "name": "register", "path": "/v1/clients", "body": "{}" },
            { "name": "full", "path": "/v1/sync/full", "capture": { "cursor": {} } },
            { "name": "begin", "path": DELTA, "body": "{}" },
            { "name": "download", "path": "/v1/sync/delta?cursor=0" },
        ] });
        let scenario: Scenario = serde_json::from_value(asks).expect("it is a scenario");
        assert_eq!((scenario.uploading(), scenario.setting_up()), (vec!["begin"], vec!["begin", "full"]));
    }
}
