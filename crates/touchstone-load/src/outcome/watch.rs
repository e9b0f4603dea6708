//! What became of streams of events, as a run leaves it.

use crate::failure::Failure;
use crate::plan::Plan;
use crate::watched::Watched;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What became of the streams of a watch. Why some were refused stands in the row of the setup that has the watch's name.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct WatchOutcome {
    /// The watch's name.
    pub watch: String,
    /// Its method and path.
    pub label: String,
    /// Streams that were asked for, before the first phase.
    pub asked: u64,
    /// Of these, opened; the others were refused.
    pub opened: u64,
    /// Of these, ended before the run did, by how.
    pub broken: BTreeMap<Failure, u64>,
    /// What was wrong with the first of each kind.
    pub first_broken: BTreeMap<Failure, String>,
    /// Events since the first phase began.
    pub events: u64,
    /// Bytes of the streams since then.
    pub received_bytes: u64,
}

impl WatchOutcome {
    /// Of each watch of a plan, what lanes have counted.
    pub(super) fn all(plan: &Plan, counted: &[Watched]) -> Vec<WatchOutcome> {
        let of = |(watch, watched): (&crate::plan::Watch, &Watched)| {
            let request = &plan.requests[watch.request];
            let broken = Failure::ALL.into_iter().zip(watched.broken).filter(|(_, count)| *count > 0);
            let first = Failure::ALL.into_iter().zip(&watched.first_broken);
            WatchOutcome {
                watch: request.name.clone(),
                label: request.label.clone(),
                asked: watched.asked,
                opened: watched.opened,
                broken: broken.collect(),
                first_broken: first.filter_map(|(failure, first)| Some((failure, first.clone()?))).collect(),
                events: watched.events,
                received_bytes: watched.received_bytes,
            }
        };
        plan.watches.iter().zip(counted).map(of).collect()
    }

    /// Streams that were not opened.
    pub fn refused(&self) -> u64 {
        self.asked.saturating_sub(self.opened)
    }

    /// Streams that were opened and ended before the run did.
    pub fn broke(&self) -> u64 {
        self.broken.values().sum()
    }

    /// Streams that were open in the end.
    pub fn held(&self) -> u64 {
        self.opened.saturating_sub(self.broke())
    }

    /// Adds what was counted of the same watch.
    pub fn add(&mut self, other: &WatchOutcome) {
        self.asked += other.asked;
        self.opened += other.opened;
        for (failure, count) in &other.broken {
            *self.broken.entry(*failure).or_default() += count;
        }
        for (failure, first) in &other.first_broken {
            self.first_broken.entry(*failure).or_insert_with(|| first.clone());
        }
        self.events += other.events;
        self.received_bytes += other.received_bytes;
    }
}
