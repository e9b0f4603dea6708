//! What the users of a case's load ask of a service, and what of it commits.

use super::PlannedArm;
use crate::suite::Scenario;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use touchstone_protocol::Setting;

/// The setting of a sync service that says whether a download stores how far its device is, and the word for that it does not.
const DOWNLOAD: &str = "download";
const READS: &str = "reads";

/// The load of a case, at this plan's size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedLoad {
    /// What the users ask.
    pub scenario: Scenario,
    /// How many users ask.
    pub users: u32,
    /// How long a window lasts, in milliseconds.
    pub window_ms: u64,
    /// How long load is offered before the first window of a launch.
    pub warm_ms: u64,
}

impl PlannedLoad {
    /// Whether users upload once they are set up.
    pub fn uploads(&self) -> bool {
        self.commits_share() > 0.0
    }

    /// Whether users download once they are set up.
    pub fn downloads(&self) -> bool {
        self.commits_share() < 1.0
    }

    /// Changes of an upload.
    pub fn changes(&self) -> u64 {
        self.scenario.asks.get("fragment").and_then(|all| all["changes"]["count"].as_u64()).unwrap_or(1)
    }

    /// Commits behind a request on average: the share of the uploads among all. Where nobody uploads, each download may keep how far its
    /// device is, and counts as one.
    pub fn commits_per_request(&self) -> f64 {
        if self.uploads() { self.commits_share() } else { 1.0 }
    }

    /// Whether a request may make an arm commit something: a service that is asked to store nothing on a download does so on uploads
    /// alone.
    pub fn commits(&self, arm: &PlannedArm) -> bool {
        let stores_nothing = arm.settings.get(DOWNLOAD).is_some_and(|asked| *asked == Setting::from(READS));
        self.uploads() || !stores_nothing
    }

    /// Of the requests of all flows, by their weights, the share that upload.
    fn commits_share(&self) -> f64 {
        let uploading = self.scenario.uploading();
        let (mut commits, mut all) = (0.0, 0.0);
        for flow in self.list("flow") {
            let weight = flow.get("weight").and_then(Value::as_f64).unwrap_or(1.0);
            for step in flow["steps"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                all += weight;
                commits += if uploading.contains(&step) { weight } else { 0.0 };
            }
        }
        if all > 0.0 { commits / all } else { 0.0 }
    }

    fn list(&self, name: &str) -> impl Iterator<Item = &Value> {
        self.scenario.asks.get(name).and_then(Value::as_array).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::DELTA;
    use serde_json::json;

    fn load(flows: Value) -> PlannedLoad {
        let asks = json!({
            "name": "scenario",
            "request": [
                { "name": "up", "path": DELTA, "body": "{}" },
                { "name": "down", "path": "/v1/sync/delta?cursor=0&limit=100" },
            ],
            "flow": flows,
        });
        let scenario = serde_json::from_value(asks).expect("it is a scenario");
        PlannedLoad { scenario, users: 4, window_ms: 1, warm_ms: 1 }
    }

    #[test]
    fn uploads_commit_and_downloads_do_where_nobody_uploads() {
        let cross = load(json!([{ "steps": ["up", "down"] }]));
        assert_eq!((cross.commits_per_request(), cross.uploads(), cross.downloads()), (0.5, true, true));
        let weighed = load(json!([{ "steps": ["up"], "weight": 1 }, { "steps": ["down"], "weight": 3 }]));
        assert_eq!(
            (weighed.commits_per_request(), weighed.uploads(), weighed.downloads()),
            (0.25, true, true)
        );
        let up = load(json!([{ "steps": ["up"] }]));
        assert_eq!((up.commits_per_request(), up.uploads(), up.downloads()), (1.0, true, false));
        let down = load(json!([{ "steps": ["down"] }]));
        assert_eq!((down.commits_per_request(), down.uploads(), down.downloads()), (1.0, false, true));
    }
}
