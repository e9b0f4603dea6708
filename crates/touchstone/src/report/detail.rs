//! The tables that only the page shows: what stands behind a case's figures, arm by arm.

mod cost;
mod load;
mod settings;
mod subject;

pub(super) use subject::{Build, SubjectDetail, builds, subjects};

use super::format::{self, NONE};
use super::view::CaseView;
use crate::estimate::{ArmStatistics, CaseStatistics};
use crate::sample::Outcome;

/// A group of tables that the reader may open.
pub(super) struct Detail {
    /// What is inside, with its gist.
    pub summary: String,
    /// Something in it must not be overlooked.
    pub open: bool,
    /// Said before the tables.
    pub remark: Option<String>,
    pub grids: Vec<Grid>,
    pub plans: Vec<PlanGroup>,
}

/// A table with arms as rows.
pub(super) struct Grid {
    pub caption: String,
    pub columns: Vec<String>,
    pub rows: Vec<GridRow>,
}

/// One arm's row.
pub(super) struct GridRow {
    pub arm: String,
    pub cells: Vec<GridCell>,
}

/// One figure or word.
pub(super) struct GridCell {
    pub text: String,
    /// Said beneath it.
    pub note: Option<String>,
    /// `number`, `differs` or `wrong`: how the page sets it.
    pub class: &'static str,
}

/// Arms whose query plan is the same.
pub(super) struct PlanGroup {
    pub arms: String,
    pub lines: Vec<String>,
}

impl Detail {
    fn new(summary: String, open: bool) -> Detail {
        Detail { summary, open, remark: None, grids: Vec::new(), plans: Vec::new() }
    }
}

impl Grid {
    /// The columns with how they are set: a column of numbers has its heading at the right, too. Names of
    /// settings and counters may break after an underscore.
    pub(super) fn heads(&self) -> Vec<(String, &'static str)> {
        let class = |place: usize| {
            let numbers =
                self.rows.iter().any(|row| row.cells.get(place).is_some_and(|cell| cell.class == "number"));
            if numbers { "number" } else { "" }
        };
        self.columns
            .iter()
            .enumerate()
            .map(|(place, title)| (title.replace('_', "_\u{200b}"), class(place)))
            .collect()
    }
}

impl GridCell {
    fn number(text: Option<String>) -> GridCell {
        GridCell { text: text.unwrap_or_else(|| NONE.into()), note: None, class: "number" }
    }

    fn word(text: String) -> GridCell {
        GridCell { text, note: None, class: "" }
    }
}

/// Everything behind a case, in the order of its rows.
pub(super) fn of_case(case: &CaseView, statistics: &CaseStatistics) -> Vec<Detail> {
    let arms: Vec<&ArmStatistics> = case
        .arms
        .iter()
        .filter_map(|arm| statistics.arms.iter().find(|measured| measured.arm == arm.name))
        .filter(|arm| !arm.outcomes.is_empty())
        .collect();
    let details = [
        case.load.as_ref().map(load::detail),
        settings::detail(&arms, &case.baseline),
        parts(&arms),
        cost::latency(&arms, case.load.is_some()),
        cost::commits(&arms, statistics.flush_ns),
        plans(&arms),
        Some(launches(&arms, statistics)),
    ];
    details.into_iter().flatten().collect()
}

/// The parts of transactions with subscribers.
fn parts(arms: &[&ArmStatistics]) -> Option<Detail> {
    let row = |arm: &&ArmStatistics| {
        let parts = arm.parts?;
        let each = [parts.write_ns, parts.commit_ns, parts.delivery_ns, parts.depth_ns];
        let both = parts.commit_ns + parts.delivery_ns + parts.depth_ns;
        let cells = each.into_iter().chain([both]);
        let cells = cells.map(|ns| GridCell::number(Some(format::duration(ns)))).collect();
        Some(GridRow { arm: arm.arm.clone(), cells })
    };
    let rows: Vec<GridRow> = arms.iter().filter_map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let columns = ["Statements", "Commit", "Delivery", "Depth", "Commit, delivery and depth"];
    let grid = Grid {
        caption: "One transaction, each part the median: its statements; its commit; from there until the last \
                  subscriber has its update in its hand; and until all have read, copied or compared theirs, where \
                  the arm's variant says so."
            .into(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
    };
    Some(Detail { grids: vec![grid], ..Detail::new("Commit and delivery".into(), false) })
}

fn plans(arms: &[&ArmStatistics]) -> Option<Detail> {
    let mut groups: Vec<(&[String], Vec<&str>)> = Vec::new();
    for arm in arms.iter().filter(|arm| !arm.plan.is_empty()) {
        match groups.iter_mut().find(|(plan, _)| *plan == arm.plan) {
            Some((_, names)) => names.push(&arm.arm),
            None => groups.push((&arm.plan, vec![&arm.arm])),
        }
    }
    let counters = counters(arms);
    let summary = match (groups.len(), counters.is_some()) {
        (0, false) => return None,
        (0, true) => "Counters of the engine".to_owned(),
        (1, _) => "Query plan, the same for all that have one".into(),
        (number, _) => format!("Query plans, {number} of them"),
    };
    let summary =
        if !groups.is_empty() && counters.is_some() { format!("{summary}, and counters") } else { summary };
    let plans = groups
        .into_iter()
        .map(|(plan, arms)| PlanGroup { arms: format::listed(&arms), lines: plan.to_vec() })
        .collect();
    let grids = hits(arms).into_iter().chain(counters).collect();
    Some(Detail { grids, plans, ..Detail::new(summary, false) })
}

/// How often pages were found in the cache, beside the best that any pool of as many could do.
fn hits(arms: &[&ArmStatistics]) -> Option<Grid> {
    let percent = |share: Option<f64>| GridCell::number(share.map(|share| format!("{share:.2}")));
    let row = |arm: &&ArmStatistics| GridRow {
        arm: arm.arm.clone(),
        cells: vec![percent(arm.hit_percent()), percent(arm.best_hit_percent())],
    };
    let has_best = |arm: &&&ArmStatistics| arm.best_hits.is_some();
    let rows: Vec<GridRow> = arms.iter().filter(has_best).map(row).collect();
    (!rows.is_empty()).then(|| Grid {
        caption: "Of the gets of a slice, how many percent found their page in the pool. Best possible: a pool of as many pages that \
                  knows what comes (Belady); no policy can do more."
            .into(),
        columns: vec!["hits %".into(), "best possible %".into()],
        rows,
    })
}

fn counters(arms: &[&ArmStatistics]) -> Option<Grid> {
    let mut columns: Vec<String> = arms.iter().flat_map(|arm| arm.counters.keys().cloned()).collect();
    columns.sort();
    columns.dedup();
    columns.retain(|name| arms.iter().any(|arm| arm.counters.get(name).is_some_and(|value| *value != 0)));
    let row = |arm: &&ArmStatistics| GridRow {
        arm: arm.arm.clone(),
        cells: columns
            .iter()
            .map(|name| GridCell::number(arm.counters.get(name).map(|value| signed_count(*value))))
            .collect(),
    };
    let rows: Vec<GridRow> = arms.iter().filter(|arm| !arm.counters.is_empty()).map(row).collect();
    (!rows.is_empty() && !columns.is_empty()).then(|| Grid {
        caption: "What the engine itself counted over one slice; counters that stayed at 0 are left out."
            .into(),
        columns,
        rows,
    })
}

fn signed_count(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", format::count(value.unsigned_abs()))
}

fn launches(arms: &[&ArmStatistics], statistics: &CaseStatistics) -> Detail {
    let mut columns =
        vec!["Launches", "Time of one operation", "Processor time over wall time", "Idle slices"];
    let failing = arms.iter().any(|arm| !arm.errors.is_empty() || arm.missing > 0);
    if failing {
        columns.extend(["Failed operations", "Records found", "Records missing"]);
    }
    let rows = arms.iter().map(|arm| {
        let mut cells = vec![
            ends(arm),
            GridCell::number(arm.operation_ns.map(format::duration)),
            GridCell::number(arm.cpu_share.map(format::percent)),
            GridCell::number(arm.idle_share.map(format::percent)),
        ];
        if failing {
            let kinds: Vec<String> = arm
                .errors
                .iter()
                .map(|(kind, number)| format!("{} {kind}", format::count(*number)))
                .collect();
            cells.push(GridCell::number((!kinds.is_empty()).then(|| kinds.join(", "))));
            cells
                .extend([arm.found, arm.missing].map(|number| GridCell::number(Some(format::count(number)))));
        }
        GridRow { arm: arm.arm.clone(), cells }
    });
    let summary = if failing { "Launches, processor time, failures" } else { "Launches and processor time" };
    let grid = Grid {
        caption: format!("How launches ended and what the processor did.{}", noise(statistics)),
        columns: columns.into_iter().map(str::to_owned).collect(),
        rows: rows.collect(),
    };
    Detail { grids: vec![grid], ..Detail::new(summary.into(), false) }
}

/// `7 completed and 1 timed out`, with the first error beneath.
fn ends(arm: &ArmStatistics) -> GridCell {
    let ended: Vec<String> =
        arm.outcomes.iter().map(|(outcome, number)| format!("{number} {}", outcome_word(*outcome))).collect();
    GridCell { note: arm.error.clone(), ..GridCell::word(format::listed(&ended)) }
}

fn noise(statistics: &CaseStatistics) -> String {
    let noise = &statistics.noise;
    let told = [
        noise
            .cpu_pressure
            .map(|share| format!("some task waited for a processor {} of the time", format::percent(share))),
        noise.io_pressure.map(|share| format!("for the disk {}", format::percent(share))),
        noise
            .steal
            .filter(|share| *share > 0.0)
            .map(|share| format!("the host took {} for others", format::percent(share))),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    if told.is_empty() { String::new() } else { format!(" Meanwhile {}.", format::listed(&told)) }
}

fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Void => "void",
        Outcome::Unsupported => "unsupported",
        Outcome::TimedOut => "timed out",
        Outcome::Crashed => "crashed",
        Outcome::Failed => "failed",
    }
}
