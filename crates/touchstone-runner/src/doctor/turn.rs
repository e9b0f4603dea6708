//! The time of an examination, shared out: each part has its turn and ends with it, so the whole ends in time.

use crate::error::{Error, ErrorKind, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Until which share of the total each part may take. A part that ends early leaves its time to those after it.
const REST: f64 = 0.06;
const CLOCK: f64 = 0.08;
const FLUSH: f64 = 0.20;
const FILES: f64 = 0.72;
const MEMORY: f64 = 0.80;
const SUBJECTS: f64 = 1.0;

/// When each part has to end.
pub(super) struct Timetable<'t> {
    begun: Instant,
    total: Duration,
    stop: &'t AtomicBool,
}

impl<'t> Timetable<'t> {
    pub fn new(begun: Instant, total: Duration, stop: &'t AtomicBool) -> Timetable<'t> {
        Timetable { begun, total, stop }
    }

    pub fn rest(&self) -> Turn<'t> {
        self.turn(REST)
    }

    pub fn clock(&self) -> Turn<'t> {
        self.turn(CLOCK)
    }

    pub fn flush(&self) -> Turn<'t> {
        self.turn(FLUSH)
    }

    pub fn files(&self) -> Turn<'t> {
        self.turn(FILES)
    }

    pub fn memory(&self) -> Turn<'t> {
        self.turn(MEMORY)
    }

    pub fn subjects(&self) -> Turn<'t> {
        self.turn(SUBJECTS)
    }

    fn turn(&self, share: f64) -> Turn<'t> {
        Turn { until: self.begun + self.total.mul_f64(share), stop: self.stop }
    }
}

/// The time that something may take.
pub(super) struct Turn<'t> {
    until: Instant,
    stop: &'t AtomicBool,
}

impl Turn<'_> {
    /// Whether it is time to end: the time is up, or the user wants it.
    pub fn over(&self) -> bool {
        Instant::now() >= self.until || self.stop.load(Ordering::Relaxed)
    }

    /// The time there is left.
    pub fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// One of `parts` equal parts of what is left, and no more than `limit`.
    pub fn part(&self, parts: usize, limit: Duration) -> Turn<'_> {
        let share = self.left() / parts.max(1) as u32;
        Turn { until: Instant::now() + share.min(limit), stop: self.stop }
    }

    /// Ends the examination where the user wants it.
    ///
    /// # Errors
    /// When the user asked to stop.
    pub fn go_on(&self) -> Result<()> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(Error::new(ErrorKind::Interrupted, "the examination was stopped")),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_ends_by_the_end_of_the_whole() {
        let stop = AtomicBool::new(false);
        let begun = Instant::now();
        let timetable = Timetable::new(begun, Duration::from_secs(10), &stop);
        let ends = [
            timetable.rest(),
            timetable.clock(),
            timetable.flush(),
            timetable.files(),
            timetable.memory(),
            timetable.subjects(),
        ];
        assert!(ends.windows(2).all(|pair| pair[0].until < pair[1].until));
        assert_eq!(ends[5].until, begun + Duration::from_secs(10));
    }

    #[test]
    fn no_time_is_over_at_once_and_has_no_parts() {
        let stop = AtomicBool::new(false);
        let timetable = Timetable::new(Instant::now(), Duration::ZERO, &stop);
        assert!(timetable.subjects().over());
        assert!(timetable.subjects().part(0, Duration::from_secs(1)).over());
        assert!(timetable.subjects().go_on().is_ok());
    }

    #[test]
    fn the_user_ends_any_turn() {
        let stop = AtomicBool::new(true);
        let turn = Timetable::new(Instant::now(), Duration::from_secs(60), &stop).files();
        assert!(turn.over());
        assert_eq!(turn.go_on().unwrap_err().kind(), ErrorKind::Interrupted);
    }
}
