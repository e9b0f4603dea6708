//! A window of load on a service, as its generator counted it.

use super::{Phase, read_load_histogram};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use serde::{Deserialize, Deserializer, Serialize};

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
    #[serde(deserialize_with = "readable")]
    pub latencies: String,
}

/// Refuses a histogram that cannot be read, where its line is known: its requests would be missing without a word.
fn readable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    read(&text).map_err(serde::de::Error::custom)?;
    Ok(text)
}

fn read(text: &str) -> Result<Histogram<u64>, String> {
    let bytes = STANDARD.decode(text).map_err(|error| format!("its histogram is no base 64: {error}"))?;
    read_load_histogram(&bytes)
}

impl Endpoint {
    /// Its latencies; none where they are no histogram, as no endpoint of a record is that was read.
    pub fn histogram(&self) -> Option<Histogram<u64>> {
        read(&self.latencies).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    use serde_json::json;

    /// A line with a damaged histogram was read as one of no requests.
    #[test]
    fn an_endpoint_without_a_readable_histogram_is_refused() {
        let times = Histogram::<u64>::new_with_bounds(1, super::super::LOAD_NS_MAX, 3);
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&times.expect("such bounds are possible"), &mut bytes)
            .expect("there is room");
        let endpoint = |bytes: &[u8]| {
            let line = json!({ "request": "a", "label": "GET /", "failures": 0, "latencies": STANDARD.encode(bytes) });
            serde_json::from_value::<Endpoint>(line)
        };
        assert!(endpoint(&bytes).is_ok_and(|endpoint| endpoint.histogram().is_some()));
        let cut = endpoint(&bytes[..bytes.len() / 2]).expect_err("it is cut off").to_string();
        assert!(cut.contains("histogram"), "{cut}");
    }
}
