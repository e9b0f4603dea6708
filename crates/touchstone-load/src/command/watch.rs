//! A run as it goes on, on standard error: a line that is written anew on a terminal, a line now and then elsewhere.

use crate::report::{count, duration};
use crate::run::Progress;
use crate::series::{INTERVAL_NS, Interval, Series};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::Cell;
use std::io::IsTerminal;

/// How often a line is written where there is no terminal, in seconds.
const LINE_EVERY: f64 = 15.0;
/// What is shown is of the last second.
const SHOWN: usize = (1_000_000_000 / INTERVAL_NS) as usize;

/// What shows it.
pub(super) struct Watch {
    bar: ProgressBar,
    is_terminal: bool,
    next_line: Cell<f64>,
}

impl Watch {
    /// On a terminal a bar. Machines that read JSON see lines on standard error too.
    pub(super) fn new(_json: bool) -> Watch {
        let is_terminal = std::io::stderr().is_terminal();
        let bar = ProgressBar::with_draw_target(
            Some(1_000),
            if is_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() },
        );
        let style = ProgressStyle::with_template("{bar:20} {wide_msg}").expect("the template is well formed");
        bar.set_style(style);
        Watch { bar, is_terminal, next_line: Cell::new(LINE_EVERY) }
    }

    /// Shows where a run is.
    pub(super) fn show(&self, progress: &Progress<'_>) {
        let line = line(progress);
        let ends = progress.plan.ends_ns() as f64 / 1e9;
        let seconds = progress.seconds.unwrap_or_default();
        self.bar.set_position((seconds / ends.max(1e-9) * 1_000.0).min(1_000.0) as u64);
        self.bar.set_message(crate::plain::line(&line).into_owned());
        if !self.is_terminal && seconds >= self.next_line.get() {
            self.next_line.set(seconds + LINE_EVERY);
            super::say::note(&line);
        }
    }

    /// Takes the bar away.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

fn line(progress: &Progress<'_>) -> String {
    let Some(seconds) = progress.seconds else { return "setting users up".into() };
    let ends = progress.plan.ends_ns() as f64 / 1e9;
    let phase = progress.plan.phases.iter().find(|phase| (phase.ends_ns as f64 / 1e9) > seconds);
    let phase = phase.map_or("waiting for the last answers", |phase| phase.name.as_str());
    let last = last_second(progress.series);
    let failed: u64 = progress.series.0.iter().map(|interval| interval.failed).sum();
    format!(
        "{} of {} s, {phase}: {} a second, P50 {}, P99 {}, max {}, {} failed",
        count(seconds.round()),
        count(ends.round()),
        count(last.ended as f64),
        duration(last.quantile_ns(0.5) as f64),
        duration(last.quantile_ns(0.99) as f64),
        duration(last.max_ns as f64),
        count(failed as f64)
    )
}

fn last_second(series: &Series) -> Interval {
    let mut sum = Interval::default();
    series.0.iter().rev().take(SHOWN).for_each(|interval| sum.add(interval));
    sum
}
