//! What users met who loaded a service: the measured windows of all launches together, as a page of a load test has it.

use crate::sample::{Endpoint, LoadWindow, Phase};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// What the windows of an arm say together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadStatistics {
    /// How long they were, in seconds.
    pub seconds: f64,
    /// How many users asked, each as soon as it was answered.
    pub users: u32,
    /// All requests of the windows.
    pub all: AskedStatistics,
    /// The same by endpoint; what users registered with comes first, and is not among all.
    pub endpoints: Vec<EndpointStatistics>,
    /// The greatest share of its processor that the generator took in a window.
    pub generator_busy: f64,
    /// Why the generator doubts its figures, and in how many windows it does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// Windows that it doubts.
    #[serde(default)]
    pub doubted: u64,
    /// All windows.
    pub windows: u64,
}

/// What was asked of one endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndpointStatistics {
    /// Method and path.
    pub label: String,
    /// Whether it was asked once by each user, before the windows of a launch.
    pub is_setup: bool,
    /// What came of it.
    pub asked: AskedStatistics,
    /// What was wrong with the first that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_wrong: Option<String>,
}

/// Requests and how long they took, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskedStatistics {
    /// How many were answered or failed.
    pub requests: u64,
    /// How many of them failed.
    pub failures: u64,
    /// Their mean.
    pub mean_ns: f64,
    /// What half of them did not exceed.
    pub p50_ns: u64,
    /// What 95 of 100 did not exceed.
    pub p95_ns: u64,
    /// What 99 of 100 did not exceed.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl AskedStatistics {
    fn of(latencies: &Histogram<u64>, failures: u64) -> AskedStatistics {
        let at = |quantile| latencies.value_at_quantile(quantile);
        AskedStatistics {
            requests: latencies.len(),
            failures,
            mean_ns: latencies.mean(),
            p50_ns: at(0.5),
            p95_ns: at(0.95),
            p99_ns: at(0.99),
            max_ns: latencies.max(),
        }
    }
}

impl LoadStatistics {
    /// Requests a second.
    pub fn rate(&self) -> f64 {
        self.all.requests as f64 / self.seconds
    }

    /// Of the windows of an arm; none where none was measured.
    pub(super) fn of(windows: &[&LoadWindow]) -> Option<LoadStatistics> {
        let measured: Vec<&LoadWindow> =
            windows.iter().copied().filter(|window| window.phase == Phase::Measure).collect();
        let first = measured.first()?;
        let mut endpoints: Vec<Added> = Vec::new();
        for window in windows {
            for endpoint in &window.endpoints {
                if endpoint.is_setup || window.phase == Phase::Measure {
                    Added::add(&mut endpoints, endpoint);
                }
            }
        }
        let mut all = empty();
        let mut failures = 0_u64;
        for endpoint in endpoints.iter().filter(|endpoint| !endpoint.is_setup) {
            // Whoever edits a record may put a histogram of other bounds there.
            let _ = all.add(&endpoint.latencies);
            failures = failures.saturating_add(endpoint.failures);
        }
        let mut doubts: Vec<String> = measured.iter().flat_map(|window| window.doubts.clone()).collect();
        doubts.sort();
        doubts.dedup();
        doubts.truncate(3);
        Some(LoadStatistics {
            seconds: measured.iter().map(|window| window.seconds).sum(),
            users: first.users,
            all: AskedStatistics::of(&all, failures),
            endpoints: endpoints.into_iter().map(Added::statistics).collect(),
            generator_busy: measured.iter().map(|window| window.generator_busy).fold(0.0, f64::max),
            doubts,
            doubted: measured.iter().filter(|window| !window.doubts.is_empty()).count() as u64,
            windows: measured.len() as u64,
        })
        .filter(|load| load.seconds > 0.0)
    }
}

fn empty() -> Histogram<u64> {
    Histogram::new(3).expect("three digits are possible")
}

/// An endpoint's counts over several windows.
struct Added {
    label: String,
    is_setup: bool,
    failures: u64,
    first_wrong: Option<String>,
    latencies: Histogram<u64>,
}

impl Added {
    fn add(all: &mut Vec<Added>, endpoint: &Endpoint) {
        let is_it = |known: &Added| known.label == endpoint.label && known.is_setup == endpoint.is_setup;
        let place = all.iter().position(is_it).unwrap_or_else(|| {
            all.push(Added {
                label: endpoint.label.clone(),
                is_setup: endpoint.is_setup,
                failures: 0,
                first_wrong: None,
                latencies: empty(),
            });
            all.len() - 1
        });
        let known = &mut all[place];
        known.failures = known.failures.saturating_add(endpoint.failures);
        known.first_wrong = known.first_wrong.take().or_else(|| endpoint.first_wrong.clone());
        if let Some(latencies) = endpoint.histogram() {
            let _ = known.latencies.add(latencies);
        }
    }

    fn statistics(self) -> EndpointStatistics {
        EndpointStatistics {
            asked: AskedStatistics::of(&self.latencies, self.failures),
            label: self.label,
            is_setup: self.is_setup,
            first_wrong: self.first_wrong,
        }
    }
}
