//! A window of load: the generator is started with the case's scenario, and what it counted becomes a slice.

use crate::error::{Error, ErrorKind, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use touchstone::plan::PlannedLoad;
use touchstone::sample::Endpoint;

/// Where devices upload and download.
const DELTA: &str = "/v1/sync/delta";

/// Statuses of the generator that come with figures: done, a limit does not hold, its own limits were passed.
const WITH_FIGURES: [i32; 3] = [0, 1, 3];

/// What a window is asked to be.
pub(super) struct Window<'w> {
    /// The generator's program.
    pub(super) generator: &'w Path,
    pub(super) load: &'w PlannedLoad,
    pub(super) port: u16,
    /// What makes its objects' names unlike those of any other window.
    pub(super) run: String,
    pub(super) seed: u64,
    pub(super) length_ms: u64,
    /// Whether users do all that a user does first, or only what later steps of theirs need.
    pub(super) is_first: bool,
    /// The processor that the generator is kept on, where there are several.
    pub(super) processor: Option<usize>,
    /// For the scenario and the generator's files.
    pub(super) folder: &'w Path,
}

/// What came of a window.
pub(super) struct Counted {
    /// Requests that were answered as they should be, and their users' mean time until the last of them ended.
    pub(super) answered: u64,
    pub(super) wall_ns: u64,
    /// Requests that failed, by kind.
    pub(super) failures: BTreeMap<String, u64>,
    /// How long each request took, in the order of their ends.
    pub(super) latencies_ns: Vec<u64>,
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) generator_busy: f64,
    pub(super) doubts: Vec<String>,
    /// Uploads by user: the names of their objects, and whether they were acknowledged.
    pub(super) uploads: Vec<Upload>,
}

/// Objects that a user sent in one request.
pub(super) struct Upload {
    pub(super) user: u32,
    pub(super) ids: Vec<String>,
    pub(super) is_acknowledged: bool,
}

#[derive(Deserialize)]
struct Outcome {
    rows: Vec<Row>,
    threads: Vec<Thread>,
    doubts: Vec<String>,
}

#[derive(Deserialize)]
struct Row {
    phase: String,
    request: String,
    label: String,
    response: String,
    failures: BTreeMap<String, u64>,
    first_wrong: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Thread {
    busy_share: f64,
}

/// A line of the generator's file of requests.
struct Line<'l> {
    began_ns: i64,
    user: u32,
    iteration: u64,
    is_setup: bool,
    request: &'l str,
    failure: &'l str,
    response_ns: u64,
}

impl Window<'_> {
    /// Lets users ask for so long. The second result is what the generator says where it has no figures: the service's doing.
    ///
    /// # Errors
    /// When the lab itself fails.
    pub(super) fn run(&self) -> Result<std::result::Result<Counted, String>> {
        let scenario = self.folder.join("scenario.toml");
        let requests = self.folder.join("requests.csv");
        let text = self.written(&self.scenario())?;
        write(&scenario, &text)?;
        let output = Command::new(self.generator)
            .args([scenario.as_os_str(), "--json".as_ref(), "--requests".as_ref(), requests.as_os_str()])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Error::io(format_args!("cannot start {}", self.generator.display()), &error))?;
        if !output.status.code().is_some_and(|code| WITH_FIGURES.contains(&code)) {
            return Ok(Err(said(&output)));
        }
        let outcome: Outcome = serde_json::from_slice(&output.stdout).map_err(|error| {
            Error::new(ErrorKind::Input, format!("the load generator's outcome cannot be read: {error}"))
        })?;
        let lines = fs::read_to_string(&requests)
            .map_err(|error| Error::io(format_args!("cannot read {}", requests.display()), &error))?;
        Ok(Ok(self.counted(outcome, &lines)))
    }

    /// The suite's scenario with what a run alone knows: where the service is, how long and how many ask, names, a seed.
    fn scenario(&self) -> Value {
        let mut asks: Map<String, Value> = self.load.scenario.asks.clone();
        asks.insert("name".into(), json!(self.load.scenario.name));
        asks.insert("host".into(), json!(format!("http://127.0.0.1:{}", self.port)));
        let mut phase = json!({ "name": "window", "users": self.load.users });
        phase["length"] = json!(format!("{}ms", self.length_ms));
        asks.insert("phase".into(), json!([phase]));
        let load = asks.entry("load").or_insert_with(|| json!({}));
        load["seed"] = json!(self.seed >> 1);
        if let Some(processor) = self.processor {
            load["processors"] = json!([processor]);
        }
        let values = asks.entry("values").or_insert_with(|| json!({}));
        values["run"] = json!(self.run);
        if !self.is_first {
            let uploads = self.uploading();
            if let Some(setup) = asks.get_mut("setup").and_then(Value::as_array_mut) {
                setup.retain(|name| {
                    name.as_str().is_some_and(|name| uploads.iter().any(|known| known == name))
                });
            }
        }
        Value::Object(asks)
    }

    /// The scenario's text for whoever says how much is asked: without phases, and with names that no step of a search has twice.
    ///
    /// # Errors
    /// When the scenario cannot be written.
    pub(super) fn open_ended(&self) -> Result<String> {
        let mut scenario = self.scenario();
        if let Some(asks) = scenario.as_object_mut() {
            asks.remove("phase");
            asks["load"]["users"] = json!(self.load.users);
        }
        Ok(self.written(&scenario)?.replace("${run}", "${uuid}"))
    }

    fn written(&self, scenario: &Value) -> Result<String> {
        toml::to_string(scenario).map_err(|error| {
            let name = &self.load.scenario.name;
            Error::new(ErrorKind::Input, format!("the scenario `{name}` cannot be written: {error}"))
        })
    }

    /// The names of the requests that upload.
    fn uploading(&self) -> Vec<String> {
        let requests = self.load.scenario.asks.get("request").and_then(Value::as_array);
        let uploads = requests
            .into_iter()
            .flatten()
            .filter(|request| request["path"].as_str() == Some(DELTA) && request.get("body").is_some());
        uploads.filter_map(|request| Some(request["name"].as_str()?.to_owned())).collect()
    }

    /// How many changes an upload has.
    fn changes(&self) -> u64 {
        self.load.scenario.asks.get("fragment").and_then(|all| all["changes"]["count"].as_u64()).unwrap_or(0)
    }

    fn counted(&self, outcome: Outcome, text: &str) -> Counted {
        let (uploading, changes) = (self.uploading(), self.changes());
        let mut counted = Counted {
            answered: 0,
            wall_ns: 0,
            failures: BTreeMap::new(),
            latencies_ns: Vec::new(),
            endpoints: outcome.rows.into_iter().map(endpoint).collect(),
            generator_busy: outcome.threads.iter().map(|thread| thread.busy_share).fold(0.0, f64::max),
            doubts: outcome.doubts,
            uploads: Vec::new(),
        };
        counted.endpoints.sort_by_key(|endpoint| !endpoint.is_setup);
        let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
        for line in text.lines().skip(1).filter_map(Line::parse) {
            if uploading.iter().any(|name| name == line.request) {
                let id = |item| format!("{}-{}-{}-{item}", self.run, line.user, line.iteration);
                counted.uploads.push(Upload {
                    user: line.user,
                    ids: (0..changes).map(id).collect(),
                    is_acknowledged: line.failure.is_empty(),
                });
            }
            if line.is_setup {
                continue;
            }
            let ended_ns = line.began_ns.max(0) as u64 + line.response_ns;
            let end = ends.entry(line.user).or_default();
            *end = ended_ns.max(*end);
            counted.latencies_ns.push(line.response_ns);
            if line.failure.is_empty() {
                counted.answered += 1;
            } else {
                *counted.failures.entry(line.failure.to_owned()).or_default() += 1;
            }
        }
        // Each user asks until its last answer, a little longer than the window: what they did is held against that.
        counted.wall_ns = ends.values().sum::<u64>() / (ends.len() as u64).max(1);
        counted
    }
}

impl<'l> Line<'l> {
    /// Of `began_ns,user,iteration,phase,request,status,failure,response_ns,service_ns`. The lab's scenarios have no name with a comma.
    fn parse(line: &'l str) -> Option<Line<'l>> {
        let fields: Vec<&str> = line.split(',').collect();
        let [began_ns, user, iteration, phase, request, _, failure, response_ns, _] = fields[..] else {
            return None;
        };
        Some(Line {
            began_ns: began_ns.parse().ok()?,
            user: user.parse().ok()?,
            iteration: iteration.parse().ok()?,
            is_setup: phase == "setup",
            request,
            failure,
            response_ns: response_ns.parse().ok()?,
        })
    }
}

fn endpoint(row: Row) -> Endpoint {
    Endpoint {
        request: row.request,
        label: row.label,
        failures: row.failures.values().sum(),
        first_wrong: row.first_wrong.into_values().next(),
        is_setup: row.phase == "setup",
        latencies: row.response,
    }
}

/// What the generator said last, in a line.
fn said(output: &std::process::Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
    format!("the load generator ended with {}: {}", output.status, last.trim())
}

fn write(path: &PathBuf, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| Error::io(format_args!("cannot write {}", path.display()), &error))
}
