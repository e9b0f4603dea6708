//! The chart of a case that reads or writes pages: what each contender does in a second beside what the machine could do at best when
//! the run began.

use super::{Chart, rounded};
use crate::estimate::ArmStatistics;
use crate::plan::PlannedCase;
use crate::record::{Ceiling, Environment, Record};
use crate::report::format;
use crate::report::view::{ArmView, CaseView};
use serde::Serialize;

#[derive(Serialize)]
struct Limits<'a> {
    rows: Vec<Row<'a>>,
    lines: Vec<Line>,
}

#[derive(Serialize)]
struct Row<'a> {
    arm: &'a str,
    per_second: f64,
    launches: Vec<f64>,
    /// The figure, and the same in bytes.
    figure: String,
}

#[derive(Serialize)]
struct Line {
    name: &'static str,
    per_second: f64,
    figure: String,
}

/// None where nothing was measured that could be drawn as a limit.
pub(super) fn limits(case: &CaseView, arms: &[(&ArmView, &ArmStatistics)], record: &Record) -> Option<Chart> {
    let planned = record.plan.case(&case.id)?;
    let access = planned.access()?;
    let ceiling = record.ceilings.iter().find(|known| known.access == access)?;
    let said = |per_second: f64| {
        let bytes = format::bytes(per_second * access.operation_bytes as f64);
        format!("{}, {bytes}/s", format::per_second(per_second))
    };
    let lanes = lanes(planned);
    let line =
        |name, per_second: f64| Line { name, per_second: rounded(per_second), figure: said(per_second) };
    let lines: Vec<Line> = [
        memory_copies(ceiling, lanes, &record.environment).map(|copies| line("memory copies", copies)),
        // Several threads ask the device for more than one page at a time.
        ceiling.device_per_second.filter(|_| lanes == 1).map(|device| line("device", device)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let row = |(arm, measured): &(&'_ ArmView, &ArmStatistics)| {
        let per_second = 1e9 / measured.operation_ns?;
        let launches = measured.launches.iter().map(|launch| rounded(1e9 / launch.operation_ns)).collect();
        Some((arm.name.clone(), per_second, launches))
    };
    let found: Vec<(String, f64, Vec<f64>)> = arms.iter().filter_map(row).collect();
    if lines.is_empty() || found.is_empty() {
        return None;
    }
    let rows = found.iter().map(|(arm, per_second, launches)| Row {
        arm,
        per_second: rounded(*per_second),
        launches: launches.clone(),
        figure: said(*per_second),
    });
    let order = if access.random { "at random" } else { "one after the other" };
    let lines_said: Vec<String> =
        lines.iter().map(|line| format!("{}: {}", line.name, line.figure)).collect();
    let caption = format!(
        "Pages of {} in a second; a small dot is a launch. Dashed: what this machine did when the run began. Memory copies are out of \
         memory that no cache holds into one page{}; the device {}s pages past the cache {order}, one at a time. {}.",
        format::bytes(access.operation_bytes as f64),
        if lanes > 1 { ", once for each thread that has a core" } else { "" },
        access.kind,
        lines_said.join("; ")
    );
    let data = Limits { rows: rows.collect(), lines };
    Some(Chart::new(
        "limits",
        format!("Pages a second and the machine's limits in {}", case.id),
        caption,
        &data,
    ))
}

/// How many threads ask, of the contender that has the most.
fn lanes(case: &PlannedCase) -> usize {
    case.arms.iter().map(|arm| arm.lanes.len()).max().unwrap_or(1)
}

/// As many threads copy at once as there are cores for.
fn memory_copies(ceiling: &Ceiling, lanes: usize, environment: &Environment) -> Option<f64> {
    let at_once = if lanes == 1 { 1 } else { lanes.min(cores(environment)?) };
    Some(ceiling.copies_per_second? * at_once as f64)
}

/// How many cores there are to run on, by the environment of a record.
pub(super) fn cores(environment: &Environment) -> Option<usize> {
    let said = environment.get("machine")?.get("cores")?;
    said.split(|character: char| !character.is_ascii_digit()).find(|number| !number.is_empty())?.parse().ok()
}
