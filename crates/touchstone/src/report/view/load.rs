//! What users met who loaded the services of a case, in the layout of a load test's page: the page's own rows first.

use crate::estimate::{ArmStatistics, AskedStatistics, CaseStatistics};
use crate::plan::PlannedCase;
use crate::report::format::{self, NONE};
use crate::suite::PublishedLoad;

/// The headings of its columns.
pub(in crate::report) const COLUMNS: [&str; 9] =
    ["requests", "failed", "share", "average", "P50", "P95", "P99", "max", "a second"];

/// The same of endpoints, which have fewer.
pub(in crate::report) const ENDPOINT_COLUMNS: [&str; 7] =
    ["requests", "failed", "average", "P50", "P95", "P99", "max"];

/// A case's tables.
pub(in crate::report) struct LoadTables {
    pub all: Vec<LoadRow>,
    pub endpoints: Vec<LoadRow>,
    /// What is to be said beneath them.
    pub notes: Vec<String>,
}

/// An arm, or what the page has.
pub(in crate::report) struct LoadRow {
    pub name: String,
    pub cells: Vec<String>,
}

/// The tables of a case whose arms are services; none of any other.
pub(in crate::report) fn of(
    case: &PlannedCase,
    statistics: &CaseStatistics,
    published: &[PublishedLoad],
) -> Option<LoadTables> {
    case.load.as_ref()?;
    let name = case.id.split_once('/').map_or(case.id.as_str(), |(_, name)| name);
    let published = || published.iter().filter(|row| row.case == name);
    let whole = published().filter(|row| row.endpoint.is_none()).map(whole_of_page);
    let parts = published().filter_map(endpoint_of_page);
    let arms = || statistics.arms.iter().filter(|arm| arm.load.is_some());
    Some(LoadTables {
        all: whole.chain(arms().filter_map(whole_of_arm)).collect(),
        endpoints: parts.chain(arms().flat_map(endpoints_of_arm)).collect(),
        notes: arms()
            .filter_map(|arm| saved(arm, statistics, &case.baseline))
            .chain(arms().filter_map(doubted))
            .collect(),
    })
}

fn whole_of_page(row: &PublishedLoad) -> LoadRow {
    LoadRow {
        name: format!("the page, {}", row.of),
        cells: vec![
            grouped(row.requests),
            row.failures.map_or(NONE.into(), grouped),
            row.failures.map_or(NONE.into(), |failures| percent(failures, row.requests)),
            ms(row.average_ms),
            row.p50_ms.map_or(NONE.into(), ms),
            row.p95_ms.map_or(NONE.into(), ms),
            row.p99_ms.map_or(NONE.into(), ms),
            ms(row.max_ms),
            row.per_second.map_or(NONE.into(), |rate| format!("{rate:.1}")),
        ],
    }
}

fn endpoint_of_page(row: &PublishedLoad) -> Option<LoadRow> {
    Some(LoadRow {
        name: format!("the page, {}: {}", row.of, row.endpoint.as_ref()?),
        cells: vec![
            grouped(row.requests),
            row.failures.map_or(NONE.into(), grouped),
            ms(row.average_ms),
            row.p50_ms.map_or(NONE.into(), ms),
            row.p95_ms.map_or(NONE.into(), ms),
            row.p99_ms.map_or(NONE.into(), ms),
            ms(row.max_ms),
        ],
    })
}

fn whole_of_arm(arm: &ArmStatistics) -> Option<LoadRow> {
    let load = arm.load.as_ref()?;
    let mut cells = vec![
        grouped(load.all.requests),
        grouped(load.all.failures),
        percent(load.all.failures, load.all.requests),
    ];
    cells.extend(times(&load.all));
    cells.push(format!("{:.1}", load.rate()));
    Some(LoadRow { name: arm.arm.clone(), cells })
}

fn endpoints_of_arm(arm: &ArmStatistics) -> Vec<LoadRow> {
    let endpoints = arm.load.iter().flat_map(|load| &load.endpoints);
    let row = |endpoint: &crate::estimate::EndpointStatistics| {
        let asked = &endpoint.asked;
        let first = if endpoint.is_setup { " (once a user)" } else { "" };
        let mut cells = vec![grouped(asked.requests), grouped(asked.failures)];
        cells.extend(times(asked));
        LoadRow { name: format!("{}: {}{first}", arm.arm, endpoint.label), cells }
    };
    endpoints.map(row).collect()
}

fn times(asked: &AskedStatistics) -> [String; 5] {
    let of_ns = |ns: f64| ms(ns / 1e6);
    [
        of_ns(asked.mean_ns),
        of_ns(asked.p50_ns as f64),
        of_ns(asked.p95_ns as f64),
        of_ns(asked.p99_ns as f64),
        of_ns(asked.max_ns as f64),
    ]
}

/// What an arm takes less of a request's time than the baseline: a rate says users over time, so the time a request is its inverse.
fn saved(arm: &ArmStatistics, statistics: &CaseStatistics, baseline: &str) -> Option<String> {
    let (mine, theirs) = (arm.operation_ns?, statistics.arm(baseline)?.operation_ns?);
    (arm.arm != baseline).then(|| {
        let (here, there) = (mine / 1e6, theirs / 1e6);
        format!("{} takes {here:.2} ms a request, {baseline} {there:.2}: {:+.2} ms", arm.arm, here - there)
    })
}

fn doubted(arm: &ArmStatistics) -> Option<String> {
    let load = arm.load.as_ref().filter(|load| load.doubted > 0)?;
    let why = load.doubts.join("; ");
    Some(format!("the generator doubts {} of {} windows of {}: {why}", load.doubted, load.windows, arm.arm))
}

fn grouped(number: u64) -> String {
    format::grouped(number as f64)
}

fn ms(ms: f64) -> String {
    format!("{ms:.2} ms")
}

fn percent(part: u64, of: u64) -> String {
    format!("{:.2} %", part as f64 / (of as f64).max(1.0) * 100.0)
}
