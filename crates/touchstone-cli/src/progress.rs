//! Progress on standard error: a bar on a terminal, a line now and then elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::cell::{Cell, RefCell};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use touchstone_runner::run::Progress;

/// How often a line is written where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(15);

/// A bar, or lines.
pub struct Bar {
    bar: ProgressBar,
    terminal: bool,
    total: Cell<u64>,
    done: Cell<u64>,
    last_line: RefCell<Option<Instant>>,
}

impl Bar {
    /// A bar that shows nothing until it is told to begin.
    pub fn new() -> Bar {
        let bar = ProgressBar::hidden();
        let style = ProgressStyle::with_template("{bar:24} {pos:>4}/{len} launches  {elapsed}  {wide_msg}");
        bar.set_style(style.expect("the template is well formed"));
        Bar {
            bar,
            terminal: std::io::stderr().is_terminal(),
            total: Cell::new(0),
            done: Cell::new(0),
            last_line: RefCell::new(None),
        }
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn begin(&self, launches: u64) {
        self.total.set(launches);
        self.bar.set_length(launches);
        if self.terminal {
            self.bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
            self.bar.enable_steady_tick(Duration::from_millis(250));
        }
    }

    fn doing(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        let mut last = self.last_line.borrow_mut();
        if !self.terminal && last.is_none_or(|last| last.elapsed() >= LINE_EVERY) {
            crate::say::note(&format!("{}/{} launches: {what}", self.done.get(), self.total.get()));
            *last = Some(Instant::now());
        }
    }

    fn advance(&self, launches: u64) {
        self.done.set(self.done.get() + launches);
        self.bar.inc(launches);
    }
}
