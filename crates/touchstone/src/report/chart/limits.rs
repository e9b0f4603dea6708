//! The chart of a case that reads or writes pages: what each contender does in a second beside what the machine could do at best when
//! the run began.

use super::{Chart, rounded};
use crate::estimate::ArmStatistics;
use crate::plan::PlannedCase;
use crate::record::{Ceiling, Environment, Record};
use crate::report::format;
use crate::report::view::{ArmView, CaseView};
use serde::Serialize;

/// What the lines are called.
const MEMORY: &str = "memory copies";
const DEVICE: &str = "device";

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
        memory_copies(ceiling, lanes, &record.environment).map(|copies| line(MEMORY, copies)),
        // Several threads ask the device for more than one page at a time.
        ceiling.device_per_second.filter(|_| lanes == 1).map(|device| line(DEVICE, device)),
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
    let caption = caption(ceiling, &lines, lanes);
    let data = Limits { rows: rows.collect(), lines };
    Some(Chart::new(
        "limits",
        format!("Pages a second and the machine's limits in {}", case.id),
        caption,
        &data,
    ))
}

/// How the chart is read: what each line is, and why one is missing.
fn caption(ceiling: &Ceiling, lines: &[Line], lanes: usize) -> String {
    let access = ceiling.access;
    let explained = |line: &Line| {
        let what = match line.name {
            DEVICE => {
                let order = if access.random { "at random" } else { "one after the other" };
                format!("{}s past the page cache {order}, one at a time", access.kind)
            }
            _ if lanes > 1 => {
                "out of memory that no cache holds into one page, by each thread that has a core".into()
            }
            _ => "out of memory that no cache holds into one page".into(),
        };
        format!("{} ({}), {what}", line.name, line.figure)
    };
    let lines: Vec<String> = lines.iter().map(explained).collect();
    let missing = ceiling.unmeasured.as_ref().map_or(String::new(), |why| format!(" One is missing: {why}."));
    format!(
        "Pages of {} in a second; a small dot is a launch. The dashed lines are what this machine did when the run began: {}.{missing}",
        format::bytes(access.operation_bytes as f64),
        lines.join("; ")
    )
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
