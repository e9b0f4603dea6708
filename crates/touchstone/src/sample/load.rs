//! A window of load on a service, as its generator counted it.

use super::Phase;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use serde::{Deserialize, Serialize};

/// What users asked of a service in a window. A line of `loads.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadWindow {
    /// The case.
    pub case: String,
    /// The launch, from 0.
    pub launch: usize,
    /// The arm.
    pub arm: String,
    /// Why it ran.
    pub phase: Phase,
    /// The block, from 0.
    pub block: u32,
    /// Its place in the block.
    pub position: u32,
    /// How long it was, in seconds.
    pub seconds: f64,
    /// How many users asked.
    pub users: u32,
    /// What they asked for, in the scenario's order; what they registered with comes first.
    pub endpoints: Vec<Endpoint>,
    /// The share of its processor's time that the generator took.
    pub generator_busy: f64,
    /// Why the generator doubts its own figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

/// What was asked of one endpoint in a window, whatever the query's values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The request's name in the scenario.
    pub request: String,
    /// Method and path.
    pub label: String,
    /// Requests that failed.
    pub failures: u64,
    /// What was wrong with the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_wrong: Option<String>,
    /// Whether it was asked once by each user, before the window.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_setup: bool,
    /// From when a request was due to the end of its answer, in nanoseconds: an HdrHistogram in its format V2, in base 64.
    pub latencies: String,
}

impl Endpoint {
    /// Its latencies; none where somebody has edited them into something else.
    pub fn histogram(&self) -> Option<Histogram<u64>> {
        let bytes = STANDARD.decode(&self.latencies).ok()?;
        Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
    }
}
