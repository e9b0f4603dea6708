//! One test of a fleet, from the first users until it is stopped: a steered run in a thread of its own.

use super::stats::stats;
use crate::error::{Error, Result};
use crate::outcome::{Outcome, Shard};
use crate::plan::Plan;
use crate::run::{Control, run_with};
use crate::scenario::Scenario;
use crate::steer::Steer;
use rmpv::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A test that goes on.
pub(super) struct Session {
    plan: Arc<Plan>,
    steer: Arc<Steer>,
    stop: Arc<AtomicBool>,
    run: JoinHandle<Result<Outcome>>,
    began: f64,
    /// The most users that have taken part at once.
    most: u32,
    /// Users by their class in the master's file. We know no classes: the master is told what it said.
    pub(super) classes: Value,
    /// Until when users who are in an iteration may end it, once the master has said to stop.
    pub(super) ends: Option<Instant>,
}

/// Seconds after the beginning of 1970.
pub(super) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

impl Session {
    /// Begins one without users.
    pub(super) fn begin(scenario: Scenario, worker: u64) -> Result<Session> {
        let plan = Arc::new(Plan::of_fleet(scenario, worker)?);
        let (steer, stop) = (Arc::new(Steer::default()), Arc::new(AtomicBool::new(false)));
        let run = {
            let (plan, steer, stop) = (Arc::clone(&plan), Arc::clone(&steer), Arc::clone(&stop));
            std::thread::spawn(move || {
                run_with(&plan, Control { steer: Some(&steer), ..Control::of(&stop) }, |_| {})
            })
        };
        let (began, classes) = (now(), Value::Map(Vec::new()));
        Ok(Session { plan, steer, stop, run, began, most: 0, classes, ends: None })
    }

    /// Lets so many users take part.
    pub(super) fn let_take_part(&mut self, users: u32, classes: Value) {
        self.steer.let_take_part(users);
        self.most = self.most.max(self.steer.users());
        self.classes = classes;
    }

    /// How many users take part.
    pub(super) fn users(&self) -> u32 {
        self.steer.users()
    }

    /// Lets nobody begin any more. Who is in an iteration may end it until then.
    pub(super) fn wind_down(&mut self, until: Instant) {
        self.steer.let_take_part(0);
        self.ends = Some(until);
    }

    /// Whether there is nothing left to wait for.
    pub(super) fn is_over(&self) -> bool {
        let is_late = self.ends.is_some_and(|ends| Instant::now() >= ends || self.steer.is_at_rest());
        is_late || self.run.is_finished()
    }

    /// What was counted since the last report, for the master.
    pub(super) fn report(&self) -> Vec<(Value, Value)> {
        stats(Some(&self.plan), &self.steer.take(), self.began)
    }

    /// Ends it. What it has not reported yet is reported now. `by_hand` says that it was not the master who ended it.
    pub(super) fn end(self, by_hand: bool) -> (Vec<(Value, Value)>, Result<Outcome>) {
        self.stop.store(true, Ordering::Relaxed);
        let outcome = self.run.join().unwrap_or_else(|_| Err(Error::unavailable("the lanes have panicked")));
        let report = stats(Some(&self.plan), &self.steer.take(), self.began);
        let most = self.most;
        let outcome = outcome.map(|mut outcome| {
            // Nobody knows how many workers a fleet will have had; users are those of this one, until they are added.
            outcome.shards.iter_mut().for_each(|shard| *shard = Shard { of: 0, ..*shard });
            outcome.users = most;
            outcome
                .phases
                .iter_mut()
                .filter(|phase| phase.is_counted)
                .for_each(|phase| phase.users = (most, most));
            if !by_hand {
                outcome.stopped = None;
            }
            outcome
        });
        (report, outcome)
    }
}
