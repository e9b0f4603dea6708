//! What operations cost one by one: latency percentiles, and syncs and bytes per commit.

use super::{Detail, Grid, GridCell, GridRow};
use crate::estimate::ArmStatistics;
use crate::report::format;
use crate::sample::SyncCount;
use std::collections::BTreeMap;

/// Where latencies of libraries are from.
const OF_A_PASS: &str = "Time of single operations over all launches, from a pass in which the clock is read after each; \
                         beneath, the interval by bootstrap over launches.";

/// Where those of services are from: the load generator times every request, so they need no pass.
const OF_WINDOWS: &str = "Response time of single requests over all launches, from the windows of load that rates are of; \
                          beneath, the interval by bootstrap over launches.";

/// `is_load` says that the arms are services.
pub(super) fn latency(arms: &[&ArmStatistics], is_load: bool) -> Option<Detail> {
    let with: Vec<_> = arms.iter().filter_map(|arm| Some((&arm.arm, arm.latency.as_ref()?))).collect();
    let columns = with.first()?.1.percentiles.iter().map(|point| percentile_name(point.percentile));
    let grid = Grid {
        caption: if is_load { OF_WINDOWS } else { OF_A_PASS }.into(),
        columns: columns.chain(["Operations".to_owned()]).collect(),
        rows: with
            .iter()
            .map(|(arm, latency)| {
                let shown = |ns: u64| format::duration(ns as f64);
                let mut cells: Vec<GridCell> = latency
                    .percentiles
                    .iter()
                    .map(|point| GridCell {
                        text: shown(point.latency_ns),
                        note: point.interval_ns.map(|(low, high)| format!("{}–{}", shown(low), shown(high))),
                        class: "number",
                    })
                    .collect();
                cells.push(GridCell::number(Some(format::count(latency.operations))));
                GridRow { arm: (*arm).clone(), cells }
            })
            .collect(),
    };
    Some(Detail { grids: vec![grid], ..Detail::new("Latency percentiles".into(), false) })
}

/// `p50`, `p99.9`, `longest`.
fn percentile_name(percentile: f64) -> String {
    if percentile >= 100.0 { "Longest".into() } else { format!("p{percentile}") }
}

pub(super) fn commits(arms: &[&ArmStatistics], flush_ns: Option<f64>) -> Option<Detail> {
    let with: Vec<&&ArmStatistics> =
        arms.iter().filter(|arm| arm.syncs.is_some() || arm.flush_equivalents.is_some()).collect();
    if with.is_empty() {
        return None;
    }
    let mut columns =
        vec!["Syncs per commit", "Syncs, costliest", "Syncs at close", "Bytes per commit", "Commits counted"];
    columns.extend(flush_ns.map(|_| "Commit in flushes"));
    columns.push("Files in the end");
    let grid = Grid {
        caption: commits_caption(&with, flush_ns),
        columns: columns.into_iter().map(str::to_owned).collect(),
        rows: with.iter().map(|arm| row(arm, flush_ns.is_some())).collect(),
    };
    Some(Detail { grids: vec![grid], ..Detail::new("Syncs and bytes per commit".into(), false) })
}

fn commits_caption(arms: &[&&ArmStatistics], flush_ns: Option<f64>) -> String {
    let mut caption =
        "Counted in an untimed pass of its own: syncs of the typical and of the costliest commit, and bytes \
                       written over all commits, checkpoints included."
            .to_owned();
    let mut mapped: Vec<&str> = arms
        .iter()
        .filter_map(|arm| arm.syncs.as_ref())
        .flat_map(|syncs| &syncs.mapped)
        .map(String::as_str)
        .collect();
    mapped.sort_unstable();
    mapped.dedup();
    if !mapped.is_empty() {
        caption += &format!(" Not counted: bytes written through a mapping of {}.", format::listed(&mapped));
    }
    if let Some(flush_ns) = flush_ns {
        let flush = format::duration(flush_ns);
        caption += &format!(" One flush, the lab's own write of 4 KiB in the same directory, takes {flush}.");
    }
    caption
}

fn row(arm: &ArmStatistics, flushed: bool) -> GridRow {
    let counted = arm.syncs.as_ref().filter(|syncs| syncs.unavailable.is_none() && syncs.commits > 0);
    let number = |of: fn(&SyncCount) -> u64| GridCell::number(counted.map(of).map(format::count));
    let unavailable = arm.syncs.as_ref().and_then(|syncs| syncs.unavailable.clone());
    let bytes_per_commit = arm.syncs.as_ref().and_then(SyncCount::bytes_per_commit);
    let mut cells = vec![
        GridCell { note: unavailable, ..number(|syncs| syncs.syncs_per_commit) },
        number(|syncs| syncs.syncs_most),
        number(|syncs| syncs.syncs_at_close),
        GridCell::number(bytes_per_commit.map(format::bytes)),
        number(|syncs| syncs.commits),
    ];
    if flushed {
        cells.push(GridCell::number(arm.flush_equivalents.map(format::ratio)));
    }
    cells.push(GridCell::word(files(&arm.file_bytes)));
    GridRow { arm: arm.arm.clone(), cells }
}

/// More files than this are told together: a database may be a tree of thousands.
const FILES_NAMED_MAX: usize = 8;

/// A database's files with their sizes.
fn files(file_bytes: &BTreeMap<String, u64>) -> String {
    let told =
        |name: &str, size: u64| format!("{name} {}", format::bytes(size as f64)).replace(' ', "\u{a0}");
    if file_bytes.len() > FILES_NAMED_MAX {
        return told(
            &format!("{} files,", file_bytes.len()),
            file_bytes.values().copied().fold(0, u64::saturating_add),
        );
    }
    file_bytes.iter().map(|(name, size)| told(name, *size)).collect::<Vec<String>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_files_are_named_and_many_are_told_together() {
        let of = |count: u64| files(&(0..count).map(|number| (format!("table/{number}"), 100)).collect());
        assert_eq!(of(2), "table/0\u{a0}100\u{a0}B, table/1\u{a0}100\u{a0}B");
        assert_eq!(of(9), "9\u{a0}files,\u{a0}900\u{a0}B");
    }
}
