//! What is shown while a run goes on: each lane puts up what it has counted, ten times a second.

use crate::recorder::Recorder;
use crate::requests::Outlet;
use crate::series::{INTERVAL_NS, Series};
use crate::steer::Steer;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where a lane puts up its intervals.
#[derive(Debug, Default)]
pub struct Board {
    /// How many intervals are up.
    told: AtomicU64,
    series: Mutex<Series>,
    /// Rows of a steered loop, with the moment that they are of.
    rows: Mutex<Vec<(u64, Recorder)>>,
    is_at_rest: AtomicBool,
    /// What tells a steered loop how many users take part.
    steer: Option<Arc<Steer>>,
    /// Where the lane hands over every request that has ended.
    outlet: Option<Outlet>,
}

impl Board {
    /// An empty one; with what steers the loop, where something does, and where its requests go, where somebody wants them.
    pub fn of(steer: Option<Arc<Steer>>, outlet: Option<Outlet>) -> Board {
        Board { steer, outlet, ..Board::default() }
    }

    /// Where the lane hands over every request that has ended.
    pub fn outlet(&self) -> Option<&Outlet> {
        self.outlet.as_ref()
    }

    /// What steers the loop.
    pub fn steer(&self) -> Option<&Steer> {
        self.steer.as_deref()
    }

    /// Puts up the intervals that are over. Costs nothing while none is.
    pub fn tell(&self, recorder: &Recorder, now_ns: u64) {
        let over = (now_ns / INTERVAL_NS).min(recorder.series.0.len() as u64);
        let told = self.told.load(Ordering::Relaxed);
        if over > told {
            let mut series = self.series.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            series.0.extend_from_slice(&recorder.series.0[told as usize..over as usize]);
            self.told.store(over, Ordering::Relaxed);
        }
    }

    /// Puts up rows, which are of so many nanoseconds after the beginning.
    pub fn put_up(&self, at_ns: u64, rows: Recorder) {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).push((at_ns, rows));
    }

    /// Takes the rows that are up.
    pub fn take(&self) -> Vec<(u64, Recorder)> {
        std::mem::take(&mut self.rows.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Says whether a steered loop does nothing now.
    pub fn tell_at_rest(&self, is_at_rest: bool) {
        self.is_at_rest.store(is_at_rest, Ordering::Relaxed);
    }

    /// Whether a steered loop did nothing when it last said so.
    pub fn is_at_rest(&self) -> bool {
        self.is_at_rest.load(Ordering::Relaxed)
    }

    /// The intervals that are up, from one on.
    pub fn since(&self, from: usize) -> Series {
        let series = self.series.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        Series(series.0.get(from..).unwrap_or_default().to_vec())
    }
}
