//! What is shown while a run goes on: each lane puts up what it has counted, ten times a second.

use crate::recorder::Recorder;
use crate::series::{INTERVAL_NS, Series};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a lane puts up its intervals.
#[derive(Debug, Default)]
pub struct Board {
    /// How many intervals are up.
    told: AtomicU64,
    series: Mutex<Series>,
}

impl Board {
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

    /// The intervals that are up, from one on.
    pub fn since(&self, from: usize) -> Series {
        let series = self.series.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        Series(series.0.get(from..).unwrap_or_default().to_vec())
    }
}
