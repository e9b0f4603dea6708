//! What a worker reports: Locust's own figures, which are rounded, and beside them the histograms that they were made of.

use super::message::map;
use crate::failure::Failure;
use crate::latency::Latencies;
use crate::plan::Plan;
use crate::recorder::Row;
use crate::steer::Counted;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmpv::Value;
use std::collections::BTreeMap;

/// Locust passes over what stands under this key; it holds the exact histograms.
pub const EXACT: &str = "touchstone";
/// What Locust calls all requests together.
const ALL: &str = "Aggregated";

/// Figures of one request, as Locust keeps them.
#[derive(Debug, Default)]
struct Entry {
    requests: u64,
    failures: u64,
    sum_ms: f64,
    min_ms: Option<f64>,
    max_ms: f64,
    bytes: u64,
    times: BTreeMap<u64, u64>,
    by_second: BTreeMap<u64, u64>,
    failures_by_second: BTreeMap<u64, u64>,
    last: Option<f64>,
}

/// A response time as Locust rounds it, with two digits: 147 ms is 150, and 3,432 is 3,400.
fn rounded(ms: f64) -> u64 {
    let to = if ms < 100.0 {
        1.0
    } else if ms < 1_000.0 {
        10.0
    } else if ms < 10_000.0 {
        100.0
    } else {
        1_000.0
    };
    // Python rounds halves to the even neighbour.
    ((ms / to).round_ties_even() * to) as u64
}

impl Entry {
    fn add(&mut self, row: &Row, at: f64) {
        let (ended, failed) = (row.ended(), row.failed());
        if ended == 0 {
            return;
        }
        self.requests += ended;
        self.failures += failed;
        self.sum_ms += row.response.mean_ns() * ended as f64 / 1e6;
        let least = row.response.histogram().min() as f64 / 1e6;
        self.min_ms = Some(self.min_ms.map_or(least, |known| known.min(least)));
        self.max_ms = self.max_ms.max(row.response.max_ns() as f64 / 1e6);
        self.bytes += row.received_bytes;
        for (ns, count) in row.response.recorded() {
            *self.times.entry(rounded(ns as f64 / 1e6)).or_default() += count;
        }
        *self.by_second.entry(at as u64).or_default() += ended;
        if failed > 0 {
            *self.failures_by_second.entry(at as u64).or_default() += failed;
        }
        self.last = Some(self.last.map_or(at, |known| known.max(at)));
    }

    fn to_value(&self, method: &str, name: &str, since: f64) -> Value {
        let counts = |counts: &BTreeMap<u64, u64>| {
            Value::Map(counts.iter().map(|(key, count)| ((*key).into(), (*count).into())).collect())
        };
        map([
            ("name", name.into()),
            ("method", method.into()),
            ("last_request_timestamp", self.last.map_or(Value::Nil, Value::from)),
            ("start_time", since.into()),
            ("num_requests", self.requests.into()),
            ("num_none_requests", 0.into()),
            ("num_failures", self.failures.into()),
            ("total_response_time", self.sum_ms.into()),
            ("max_response_time", self.max_ms.into()),
            ("min_response_time", self.min_ms.map_or(Value::Nil, Value::from)),
            ("total_content_length", self.bytes.into()),
            ("response_times", counts(&self.times)),
            ("num_reqs_per_sec", counts(&self.by_second)),
            ("num_fail_per_sec", counts(&self.failures_by_second)),
        ])
    }
}

/// What Locust calls a request: its name, without the method that stands in a column of its own.
fn name_of(plan: &Plan, request: usize) -> (&str, &str) {
    let request = &plan.requests[request];
    let name = request.name.strip_prefix(&request.method).map_or(request.name.as_str(), str::trim_start);
    (&request.method, if name.is_empty() { &request.name } else { name })
}

/// The data of a `stats` message about what was counted since the last one. `since` is when the test began, in seconds after 1970.
pub(super) fn stats(plan: Option<&Plan>, counted: &[Counted], since: f64) -> Vec<(Value, Value)> {
    let mut entries: BTreeMap<usize, Entry> = BTreeMap::new();
    let mut all = Entry::default();
    let mut rows: BTreeMap<(usize, usize), Row> = BTreeMap::new();
    for counted in counted {
        for (phase, request, row) in counted.recorder.rows() {
            entries.entry(request).or_default().add(row, counted.at);
            all.add(row, counted.at);
            rows.entry((phase, request)).or_default().add(row);
        }
    }
    let names = |request: usize| plan.map_or(("", ""), |plan| name_of(plan, request));
    let told = entries.iter().filter(|(_, entry)| entry.requests > 0).map(|(request, entry)| {
        let (method, name) = names(*request);
        entry.to_value(method, name, since)
    });
    let now = counted.iter().map(|counted| counted.at).fold(since, f64::max);
    let errors = rows.iter().flat_map(|((_, request), row)| errors(names(*request), row, now));
    let exact = plan.map(|plan| rows.iter().map(|(place, row)| exact(plan, *place, row)).collect());
    vec![
        ("stats".into(), Value::Array(told.collect())),
        ("stats_total".into(), all.to_value("", ALL, since)),
        ("errors".into(), Value::Map(errors.collect())),
        (EXACT.into(), Value::Array(exact.unwrap_or_default())),
    ]
}

/// A row's failures, one entry for each kind. The key is only what equal errors of several workers have in common.
fn errors<'r>(
    (method, name): (&'r str, &'r str),
    row: &'r Row,
    now: f64,
) -> impl Iterator<Item = (Value, Value)> {
    let kinds = Failure::ALL.into_iter().filter(|kind| row.failures[kind.index()] > 0);
    kinds.map(move |kind| {
        let told = row.first_wrong[kind.index()].clone().unwrap_or_else(|| kind.to_string());
        let error = map([
            ("name", name.into()),
            ("method", method.into()),
            ("error", told.into()),
            ("occurrences", row.failures[kind.index()].into()),
            ("first_seen", now.into()),
            ("last_seen", now.into()),
        ]);
        (format!("{method}.{name}.{kind}").into(), error)
    })
}

/// A row's histograms, as an outcome has them.
fn exact(plan: &Plan, (phase, request): (usize, usize), row: &Row) -> Value {
    let text = |latencies: &Latencies| Value::from(STANDARD.encode(latencies.to_bytes()));
    map([
        ("request", plan.requests[request].name.as_str().into()),
        ("is_setup", (phase == plan.phases.len()).into()),
        ("failed", row.failed().into()),
        ("response", text(&row.response)),
        ("service", text(&row.service)),
        ("lag", text(&row.lag)),
    ])
}

#[cfg(test)]
mod tests;
