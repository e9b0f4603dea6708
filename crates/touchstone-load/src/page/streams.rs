//! Streams of events: how many were open, how many were lost and why, and what they take of the service's memory.

use crate::outcome::{Outcome, SETUP, WatchOutcome};
use crate::report::{count, duration, memory};

/// What stands above the columns, after the watch's own.
pub(super) const HEADS: [&str; 9] = [
    "Asked for",
    "Opened",
    "Opening P50",
    "Opening P99",
    "Refused",
    "Broke",
    "Open at the end",
    "Events",
    "Events a second",
];
/// The places of what was lost.
const LOST: [usize; 2] = [4, 5];

/// The streams of a watch, in words.
pub(super) struct Row {
    /// The watch.
    pub label: String,
    /// In the order of the heads, each with its class.
    pub cells: Vec<(&'static str, String)>,
    /// How many streams broke in each way, and what was wrong with the first.
    pub broken: Vec<(String, String)>,
}

/// All watches.
pub(super) struct Streams {
    /// A row each.
    pub rows: Vec<Row>,
    /// How many streams were refused, or broke, where any was.
    pub lost: Option<String>,
    /// What the service's process had of memory.
    pub memories: Vec<String>,
}

impl Streams {
    pub(super) fn new(outcome: &Outcome) -> Streams {
        let seconds = outcome.phases.iter().map(|phase| phase.seconds).sum::<f64>();
        let memories = outcome.machines.iter().filter_map(|machine| machine.service.as_ref());
        Streams {
            rows: outcome.watches.iter().map(|watch| row(outcome, watch, seconds)).collect(),
            lost: Some(outcome.streams_lost()).filter(|lost| *lost > 0).map(|lost| count(lost as f64)),
            memories: memories.map(|service| memory(outcome, service)).collect(),
        }
    }

    /// Whether there is anything to tell.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.memories.is_empty()
    }

    /// What stands above the columns.
    pub(super) fn heads(&self) -> [&'static str; 9] {
        HEADS
    }
}

fn row(outcome: &Outcome, watch: &WatchOutcome, seconds: f64) -> Row {
    let opening = outcome.rows.iter().find(|row| row.phase == SETUP && row.request == watch.watch);
    let took =
        |quantile| opening.map_or("–".into(), |row| duration(row.response.quantile_ns(quantile) as f64));
    let numbers = [watch.refused(), watch.broke()];
    let texts = [
        count(watch.asked as f64),
        count(watch.opened as f64),
        took(0.5),
        took(0.99),
        count(numbers[0] as f64),
        count(numbers[1] as f64),
        count(watch.held() as f64),
        count(watch.events as f64),
        count((watch.events as f64 / seconds.max(1e-9)).round()),
    ];
    let class = |at| {
        let is_lost = LOST.iter().zip(numbers).any(|(place, lost)| *place == at && lost > 0);
        if is_lost { "number wrong" } else { "number" }
    };
    let broken = watch.broken.iter().map(|(failure, times)| {
        let first = watch.first_broken.get(failure).cloned().unwrap_or_default();
        (count(*times as f64), first)
    });
    Row {
        label: watch.label.clone(),
        cells: texts.into_iter().enumerate().map(|(at, text)| (class(at), text)).collect(),
        broken: broken.collect(),
    }
}
