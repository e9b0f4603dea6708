//! What operations cost one by one: latency percentiles, and syncs and bytes per commit.

use super::{Detail, Grid, GridCell, GridRow};
use crate::estimate::ArmStatistics;
use crate::report::format;
use crate::sample::SyncCount;

pub(super) fn latency(arms: &[&ArmStatistics]) -> Option<Detail> {
    let with: Vec<_> = arms.iter().filter_map(|arm| Some((&arm.arm, arm.latency.as_ref()?))).collect();
    let columns = with.first()?.1.percentiles.iter().map(|point| percentile_name(point.percentile));
    let grid = Grid {
        caption:
            "Time of single operations over all launches, from a pass in which the clock is read after each; \
                  beneath, the interval by bootstrap over launches."
                .into(),
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
    Some(Detail { summary: "Latency percentiles".into(), open: false, grids: vec![grid], plans: Vec::new() })
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
    let flush = flush_ns.map_or(String::new(), |flush_ns| {
        format!(" One write and flush of 4 KiB takes {} in the same directory; flushes' time is that of a commit in this unit.", format::duration(flush_ns))
    });
    let mut columns = vec!["Syncs per commit", "Syncs, costliest", "Bytes per commit", "Commits counted"];
    columns.extend(flush_ns.map(|_| "Flushes' time"));
    columns.push("Files in the end");
    let grid = Grid {
        caption: format!(
            "Counted in an untimed pass of its own: syncs of the typical and of the costliest commit, and bytes \
             written over all commits, checkpoints included.{flush}"
        ),
        columns: columns.into_iter().map(str::to_owned).collect(),
        rows: with.iter().map(|arm| row(arm, flush_ns.is_some())).collect(),
    };
    Some(Detail {
        summary: "Syncs and bytes per commit".into(),
        open: false,
        grids: vec![grid],
        plans: Vec::new(),
    })
}

fn row(arm: &ArmStatistics, flushed: bool) -> GridRow {
    let counted = arm.syncs.as_ref().filter(|syncs| syncs.unavailable.is_none() && syncs.commits > 0);
    let number = |of: &dyn Fn(&SyncCount) -> String| GridCell::number(counted.map(of));
    let mut syncs = number(&|syncs| format::count(syncs.syncs_per_commit));
    syncs.note = arm.syncs.as_ref().and_then(|syncs| syncs.unavailable.clone());
    let mut bytes =
        GridCell::number(arm.syncs.as_ref().and_then(SyncCount::bytes_per_commit).map(format::bytes));
    bytes.note = counted
        .filter(|syncs| !syncs.mapped.is_empty())
        .map(|syncs| format!("without those mapped into memory: {}", syncs.mapped.join(", ")));
    let files: Vec<String> =
        arm.file_bytes.iter().map(|(name, size)| format!("{name} {}", format::bytes(*size as f64))).collect();
    let mut cells = vec![
        syncs,
        number(&|syncs| format::count(syncs.syncs_most)),
        bytes,
        number(&|syncs| format::count(syncs.commits)),
    ];
    if flushed {
        cells.push(GridCell::number(arm.flush_equivalents.map(format::ratio)));
    }
    cells.push(GridCell::word(files.join(", ")));
    GridRow { arm: arm.arm.clone(), cells }
}
