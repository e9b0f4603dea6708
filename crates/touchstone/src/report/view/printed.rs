//! The page's own tables as they are printed, with the doubts that follow from their figures, and what was measured here where a case
//! asks the same.

use super::Findings;
use crate::estimate::ArmStatistics;
use crate::plan::{PlannedCase, PlannedSuite};
use crate::report::format::{self, NONE};
use crate::suite::{PublishedFlag, PublishedRow, flags_of_rows};

/// One of the page's tables.
pub(in crate::report) struct PrintedTable {
    pub title: String,
    /// The heads of what it prints.
    pub heads: Vec<&'static str>,
    pub rows: Vec<PrintedRow>,
}

/// A row of it.
pub(in crate::report) struct PrintedRow {
    pub of: String,
    /// As many as the table has heads.
    pub printed: Vec<String>,
    pub flags: Vec<PrintedFlag>,
    /// `2.41 M/s, 3.09 %`: what the case found, in the same quantities.
    pub here: Option<String>,
    /// `page-pool@lru in hit-rate-32`.
    pub asked: Option<String>,
}

/// A doubt about a printed row.
pub(in crate::report) struct PrintedFlag {
    pub kind: String,
    pub arithmetic: String,
}

/// A quantity that rows may print, and the same of what was measured here.
struct Quantity {
    head: &'static str,
    printed: fn(&PublishedRow) -> Option<f64>,
    unit: &'static str,
    here: fn(&PlannedCase, &ArmStatistics) -> Option<String>,
}

const QUANTITIES: [Quantity; 11] = [
    Quantity { head: "threads", printed: |row| row.threads.map(f64::from), unit: "", here: |_, _| None },
    Quantity {
        head: "operations",
        printed: |row| row.operations.map(|count| count as f64),
        unit: "",
        here: |_, _| None,
    },
    Quantity { head: "lasted", printed: |row| row.seconds, unit: " s", here: |_, _| None },
    Quantity {
        head: "rate",
        printed: |row| row.per_second,
        unit: "/s",
        here: |_, arm| arm.operation_ns.map(format::rate),
    },
    Quantity { head: "bytes", printed: |row| row.mib_per_second, unit: " MiB/s", here: bytes_per_second },
    Quantity {
        head: "hits",
        printed: |row| row.hit_percent,
        unit: " %",
        here: |_, arm| arm.hit_percent().map(|percent| format!("{percent:.2} %")),
    },
    Quantity {
        head: "average",
        printed: |row| row.average_ms,
        unit: " ms",
        here: |_, arm| arm.operation_ns.map(format::duration),
    },
    Quantity { head: "P50", printed: |row| row.p50_ms, unit: " ms", here: |_, arm| latency(arm, 50.0) },
    Quantity { head: "P95", printed: |row| row.p95_ms, unit: " ms", here: |_, arm| latency(arm, 95.0) },
    Quantity { head: "P99", printed: |row| row.p99_ms, unit: " ms", here: |_, arm| latency(arm, 99.0) },
    Quantity { head: "longest", printed: |row| row.max_ms, unit: " ms", here: |_, arm| latency(arm, 100.0) },
];

fn bytes_per_second(case: &PlannedCase, arm: &ArmStatistics) -> Option<String> {
    let bytes = case.operation_bytes? as f64 * 1e9 / arm.operation_ns?;
    Some(format!("{} MiB/s", format::grouped((bytes / f64::from(1 << 20)).round())))
}

fn latency(arm: &ArmStatistics, percentile: f64) -> Option<String> {
    arm.latency.as_ref()?.latency_ns(percentile).map(|ns| format::duration(ns as f64))
}

/// The tables of a suite's page in the order in which its rows stand; those of loads have a place of their own.
pub(super) fn tables(findings: &Findings<'_>, suite: &PlannedSuite) -> Vec<PrintedTable> {
    let rows = &suite.published_rows;
    let flags = flags_of_rows(rows, memory(findings));
    let mut titles: Vec<&str> = Vec::new();
    for row in rows {
        if !titles.contains(&row.table.as_str()) {
            titles.push(&row.table);
        }
    }
    let table = |title: &str| {
        let rows: Vec<&PublishedRow> = rows.iter().filter(|row| row.table == title).collect();
        let printed = |quantity: &&Quantity| rows.iter().any(|row| (quantity.printed)(row).is_some());
        let quantities: Vec<&Quantity> = QUANTITIES.iter().filter(printed).collect();
        PrintedTable {
            title: title.to_owned(),
            heads: quantities.iter().map(|quantity| quantity.head).collect(),
            rows: rows.iter().map(|row| view(findings, suite, row, &quantities, &flags)).collect(),
        }
    };
    titles.into_iter().map(table).collect()
}

fn view(
    findings: &Findings<'_>,
    suite: &PlannedSuite,
    row: &PublishedRow,
    quantities: &[&Quantity],
    flags: &[PublishedFlag],
) -> PrintedRow {
    let printed = |quantity: &&Quantity| {
        (quantity.printed)(row).map_or(NONE.into(), |value| match quantity.unit {
            // As the page prints them: 99.50 and not 99.5.
            " %" => format!("{value:.2} %"),
            unit => format!("{}{unit}", format::grouped(value)),
        })
    };
    let answer = answer(findings, suite, row);
    let here = answer.and_then(|(case, arm)| {
        let mine = quantities.iter().filter(|quantity| (quantity.printed)(row).is_some());
        let found: Vec<String> = mine.filter_map(|quantity| (quantity.here)(case, arm)).collect();
        (!found.is_empty()).then(|| found.join(", "))
    });
    PrintedRow {
        of: row.of.clone(),
        printed: quantities.iter().map(printed).collect(),
        flags: flags.iter().flat_map(|flag| of_row(flag, row)).collect(),
        asked: row.case.as_ref().zip(row.arm.as_ref()).map(|(case, arm)| format!("{arm} in {case}")),
        here,
    }
}

/// The arm that was asked the same, where it was run.
fn answer<'f>(
    findings: &Findings<'f>,
    suite: &PlannedSuite,
    row: &PublishedRow,
) -> Option<(&'f PlannedCase, &'f ArmStatistics)> {
    let (name, arm) = (row.case.as_ref()?, row.arm.as_ref()?);
    let mut cases = findings.record.plan.cases.iter().zip(findings.statistics);
    let (case, statistics) = cases.find(|(case, _)| case.suite() == suite.name && case.name() == *name)?;
    Some((case, statistics.arm(arm)?))
}

fn of_row(flag: &PublishedFlag, row: &PublishedRow) -> Vec<PrintedFlag> {
    let mine = flag.rows.iter().filter(|known| known.table == row.table && known.of == row.of);
    mine.map(|known| PrintedFlag { kind: flag.kind.to_string(), arithmetic: known.arithmetic.clone() })
        .collect()
}

/// How many bytes this machine copied in a second at best when the run began, where that was measured.
fn memory(findings: &Findings<'_>) -> Option<f64> {
    let copied = findings
        .record
        .ceilings
        .iter()
        .filter_map(|ceiling| Some(ceiling.copies_per_second? * ceiling.access.operation_bytes as f64));
    copied.reduce(f64::max)
}
