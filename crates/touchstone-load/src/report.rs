//! An outcome in words, for a terminal. Everything here is worked out from the outcome, and nothing is decided.

mod figure;
mod log;
mod watch;

pub use figure::{count, duration, seconds, share};
pub use log::histogram_log;
pub(crate) use watch::memory;

use crate::limit::{Figure, Limit, Limits};
use crate::outcome::{Outcome, RowOutcome, SETUP};
use crate::plain::line;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, Table, Width, presets};
use std::fmt::Write;

/// As wide as a summary is at most.
pub const WIDTH_MAX: u16 = 100;

/// The summary of a run, ending with a line break.
pub fn summary(outcome: &Outcome, width: u16) -> String {
    let width = width.clamp(40, WIDTH_MAX);
    let mut text = format!("{}\n\n", line(&heading(outcome)));
    text += &format!("{}\n\n", table(outcome, width));
    text += &wrapped(&notes(outcome), width);
    text
}

fn heading(outcome: &Outcome) -> String {
    let counted = outcome.counted_seconds();
    let rest: f64 = outcome.phases.iter().filter(|phase| !phase.is_counted).map(|phase| phase.seconds).sum();
    let warmed = if rest > 0.0 { format!(" after {}", seconds(rest)) } else { String::new() };
    let stopped =
        outcome.stopped.map_or(String::new(), |at| format!("; PARTIAL: stopped after {}", seconds(at)));
    let shards = match outcome.shards.as_slice() {
        [shard] if shard.of == 1 => String::new(),
        workers if workers[0].of == 0 => format!(", workers of a fleet: {}", workers.len()),
        shards => format!(", {} of {} shards", shards.len(), shards[0].of),
    };
    format!(
        "{}: {}, {} counted{warmed}{shards}, {}{stopped}",
        outcome.scenario.name,
        offered(outcome),
        seconds(counted),
        outcome.scenario.host
    )
}

/// What was offered: what kind of loop, and how much.
pub(crate) fn offered(outcome: &Outcome) -> String {
    let counted: Vec<_> = outcome.phases.iter().filter(|phase| phase.is_counted).collect();
    let ends = |of: fn(&crate::outcome::PhaseOutcome) -> (f64, f64)| {
        let all: Vec<f64> = counted.iter().flat_map(|phase| [of(phase).0, of(phase).1]).collect();
        let (least, most) =
            (all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(0.0, f64::max));
        if least == most { count(most) } else { format!("{} to {}", count(least), count(most)) }
    };
    if outcome.is_closed {
        let users = ends(|phase| (f64::from(phase.users.0), f64::from(phase.users.1)));
        format!("closed loop of {users} users")
    } else {
        format!("open loop of {} iterations a second", ends(|phase| phase.rate))
    }
}

/// One row a request, and one for all.
fn table(outcome: &Outcome, width: u16) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_width(width);
    let head = ["request", "requests", "failed", "a second", "mean", "P50", "P95", "P99", "max"];
    table.set_header(head.iter().enumerate().map(|(at, head)| cell(at, (*head).to_owned())));
    let seconds = outcome.counted_seconds();
    let setup: Vec<&RowOutcome> = outcome.rows.iter().filter(|row| row.phase == SETUP).collect();
    for row in &setup {
        table.add_row(cells(format!("{} (setup)", row.label), row, None));
    }
    let rows = outcome.by_request();
    for row in &rows {
        table.add_row(cells(row.label.clone(), row, Some(seconds)));
    }
    if rows.len() > 1 {
        table.add_row(cells("all".into(), &outcome.total(), Some(seconds)));
    }
    if let Some(column) = table.column_mut(0) {
        column.set_constraint(ColumnConstraint::UpperBoundary(Width::Percentage(40)));
    }
    table.trim_fmt()
}

fn cells(label: String, row: &RowOutcome, seconds: Option<f64>) -> Vec<Cell> {
    let quantile = |quantile| duration(row.response.quantile_ns(quantile) as f64);
    let rate = seconds.and_then(|seconds| row.rate(seconds)).map_or("–".to_owned(), count);
    let all = [
        label,
        count(row.ended() as f64),
        count(row.failed() as f64),
        rate,
        duration(row.response.mean_ns()),
        quantile(0.5),
        quantile(0.95),
        quantile(0.99),
        duration(row.response.max_ns() as f64),
    ];
    all.into_iter().enumerate().map(|(at, text)| cell(at, text)).collect()
}

fn cell(at: usize, text: String) -> Cell {
    Cell::new(line(&text)).set_alignment(if at == 0 { CellAlignment::Left } else { CellAlignment::Right })
}

/// What is to be said beneath the table, a paragraph each.
fn notes(outcome: &Outcome) -> Vec<String> {
    let all = outcome.total();
    let mut notes = vec![times(outcome, &all)];
    if outcome.is_closed {
        notes.extend(waiting(outcome, &all).map(|waiting| {
            format!(
                "Little's law: rate times mean is {waiting:.2}, the users that waited for an answer at a time, of {}.",
                count(f64::from(outcome.users))
            )
        }));
    } else if outcome.unsent > 0 {
        notes.push(format!(
            "Backlog: {} of {} starts were due and had not begun when the run ended; they are counted as failed.",
            count(outcome.unsent as f64),
            count(outcome.due as f64)
        ));
    }
    // A setup goes on where streams of events are refused.
    let is_told = |row: &&RowOutcome| outcome.is_counted(row) || row.phase == SETUP;
    for row in outcome.rows.iter().filter(is_told).filter(|row| !row.failures.is_empty()) {
        notes.push(failed(row));
    }
    notes.extend(watch::streams(outcome));
    notes.extend(watch::memories(outcome));
    notes.push(generator(outcome));
    if let Some(limits) = outcome.limits() {
        notes.push(held(&limits, &all));
    }
    notes.push(verdict(outcome));
    notes
}

/// Users that waited for an answer at a time. Nobody knows it where requests are delivered: a delivery has the time of its request in it.
pub(crate) fn waiting(outcome: &Outcome, all: &RowOutcome) -> Option<f64> {
    let waiting = all.rate(outcome.counted_seconds()).unwrap_or(0.0) * all.response.mean_ns() / 1e9;
    (!outcome.scenario.has_deliveries()).then_some(waiting)
}

fn times(outcome: &Outcome, all: &RowOutcome) -> String {
    let at = |latencies: &crate::latency::Latencies| {
        format!(
            "P50 {}, P99 {}",
            duration(latencies.quantile_ns(0.5) as f64),
            duration(latencies.quantile_ns(0.99) as f64)
        )
    };
    let from = if outcome.is_closed {
        "from the moment at which the user was ready"
    } else {
        "from the intended start"
    };
    format!(
        "Times are counted {from}. From the sending: {}. The generator sent late by: {}.",
        at(&all.service),
        at(&all.lag)
    )
}

fn failed(row: &RowOutcome) -> String {
    let mut text = format!("Failed, {} ({}): ", row.label, row.phase);
    for (at, (failure, times)) in row.failures.iter().enumerate() {
        let comma = if at > 0 { "; " } else { "" };
        let _ = write!(text, "{comma}{} {failure}", count(*times as f64));
        if let Some(wrong) = row.first_wrong.get(failure).filter(|wrong| **wrong != failure.to_string()) {
            let _ = write!(text, ", the first with: {wrong}");
        }
    }
    text
}

fn generator(outcome: &Outcome) -> String {
    let threads = outcome.threads.iter().map(|thread| {
        let place =
            thread.processor.map_or("a processor".to_owned(), |processor| format!("processor {processor}"));
        format!("{:.0} % of {place}", thread.busy_share * 100.0)
    });
    let threads: Vec<String> = threads.collect();
    let pacing = format!("{:?}", outcome.scenario.load.pacing).to_lowercase();
    let mut text = format!(
        "Generator: {}; its threads took {}; pacing: {pacing}; {} connections made, {} closed by the service while idle, \
         {} requests sent once more.",
        outcome.engine,
        threads.join(", "),
        count(outcome.connections.made as f64),
        count(outcome.connections.closed_idle as f64),
        count(outcome.connections.resent as f64)
    );
    if outcome.scenario.load.insecure {
        text += " Any certificate was taken for the service's: whom the requests went to is not known.";
    }
    for machine in &outcome.machines {
        let pressure = machine.cpu_pressure.map_or(String::new(), |share| {
            format!(", some program waited for a processor in {:.0} % of the time", share * 100.0)
        });
        let _ = write!(
            text,
            " Machine: other programs kept {:.2} processors busy, {:.1} % were taken by its host{pressure}.",
            machine.others_busy,
            machine.steal_share * 100.0
        );
    }
    text
}

fn held(limits: &Limits, all: &RowOutcome) -> String {
    let said = |limit: &Limit, implied: &str| {
        let (found, holds) = limit.holds(all);
        let found = match limit.figure {
            Figure::Failures => share(found),
            _ => duration(found),
        };
        format!("{limit}{implied} {} ({found})", if holds { "holds" } else { "DOES NOT HOLD" })
    };
    let written = limits.0.iter().map(|limit| said(limit, ""));
    let each = written.chain(limits.implied().into_iter().map(|limit| said(&limit, " (implied)")));
    format!("Limits: {}.", each.collect::<Vec<_>>().join("; "))
}

fn verdict(outcome: &Outcome) -> String {
    if outcome.is_valid() && outcome.is_all_failed() {
        "NO REQUEST WAS ANSWERED AS IT SHOULD BE: the generator kept within its own limits, and these are the times of failures.".to_owned()
    } else if outcome.is_valid() {
        "Valid: the generator kept within its own limits.".to_owned()
    } else {
        format!("INVALID: {}.", outcome.doubts.join("; "))
    }
}

/// Paragraphs, each broken into lines.
fn wrapped(paragraphs: &[String], width: u16) -> String {
    let mut text = String::new();
    for paragraph in paragraphs {
        let mut column = 0;
        for word in line(paragraph).split(' ') {
            let letters = word.chars().count();
            if column > 0 && column + 1 + letters > usize::from(width) {
                text.push('\n');
                column = 0;
            }
            if column > 0 {
                text.push(' ');
                column += 1;
            }
            text += word;
            column += letters;
        }
        text.push('\n');
    }
    text
}
