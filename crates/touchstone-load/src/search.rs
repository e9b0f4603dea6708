//! What a search for a capacity leaves: its steps, and its answer, as a file that says how it came about.

use crate::capacity::{Found, Search};
use crate::error::{Error, Result};
use crate::limit::{Figures, Limits};
use crate::outcome::Outcome;
use crate::report::{count, share};
use crate::scenario::Scenario;
use crate::trust::is_same;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The version of the file's format.
pub const FORMAT: u32 = 1;
/// A step whose starts are begun so late that this share of them is left over has failed whatever its limits say.
const LEFT_SHARE_MAX: f64 = 0.02;

/// A search, as far as it came.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Searched {
    /// The version of this format.
    pub format: u32,
    /// The version of the generator.
    pub version: String,
    /// When it ended, in UTC.
    pub ended_at: String,
    /// What was asked; its phases are replaced by each step's own.
    pub scenario: Scenario,
    /// What must hold.
    pub limits: Limits,
    /// The answer; none, where the search did not come to one.
    pub found: Option<Found>,
    /// Why there is none, but for a search that was stopped; or why it is told as *at least*: the generator came to its limits.
    pub doubts: Vec<String>,
    /// What was measured, in order.
    pub steps: Vec<Step>,
}

/// A step of a search.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Starts a second that were offered.
    pub rate: f64,
    /// Whether it measured an answer once more, for longer.
    pub is_confirmation: bool,
    /// Whether the limits held.
    pub held: bool,
    /// Requests that ended, a second.
    pub requests_a_second: f64,
    /// The median of the response times.
    pub p50_ns: u64,
    /// Their 99th percentile.
    pub p99_ns: u64,
    /// The share of requests that failed.
    pub failed_share: f64,
    /// Why it did not hold.
    pub why: Option<String>,
    /// Why it cannot be believed and does not count; nothing, where it does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

impl Step {
    /// Of what was counted at a rate, with its doubts.
    pub fn new(rate: f64, is_confirmation: bool, limits: &Limits, outcome: &Outcome) -> Step {
        let all = outcome.total();
        let broken: Vec<String> = limits.0.iter().filter_map(|limit| limit.broken(&all)).collect();
        let left = outcome.unsent as f64 / outcome.due.max(1) as f64;
        let why = (left > LEFT_SHARE_MAX).then(|| format!("{} were never begun", share(left)));
        let why = why.or_else(|| (all.ended() == 0).then(|| "no request has ended".into()));
        let lost = outcome.streams_lost();
        let why = why.or_else(|| {
            (lost > 0).then(|| format!("{} streams of events were refused or broke", count(lost as f64)))
        });
        let why = why.or_else(|| (!broken.is_empty()).then(|| broken.join(", ")));
        Step {
            rate,
            is_confirmation,
            held: why.is_none(),
            requests_a_second: outcome.rate(),
            p50_ns: all.response.quantile_ns(0.5),
            p99_ns: all.response.quantile_ns(0.99),
            failed_share: all.failed_share(),
            why,
            doubts: outcome.doubts.clone(),
        }
    }
}

impl Searched {
    /// One that has not begun.
    pub fn new(scenario: &Scenario, limits: &Limits) -> Searched {
        Searched {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            ended_at: String::new(),
            scenario: scenario.clone(),
            limits: limits.clone(),
            found: None,
            doubts: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Reads one.
    ///
    /// # Errors
    /// When it is not there, or no search.
    pub fn read(path: &Path) -> Result<Searched> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::io(format_args!("reading {}", path.display()), &error))?;
        serde_json::from_str(&text).map_err(|error| {
            Error::input(format!("{}: it is no search for a capacity: {error}", path.display()))
        })
    }

    /// What is known after each step: the highest rate that held, and the lowest that did not.
    pub fn brackets(&self) -> Vec<(Option<f64>, Option<f64>)> {
        let asked = &self.scenario.capacity;
        let mut search = Search::new(asked.from, asked.to, asked.within);
        let after = self.steps.iter().map(|step| {
            if step.is_confirmation {
                search.confirm_at(step.rate);
            }
            if step.doubts.is_empty() {
                search.found(step.held);
            }
            search.bracket()
        });
        after.collect()
    }

    /// Why steps did not count: each doubt once, as it was last, with how many steps had it.
    pub fn doubts_of_steps(&self, is_told: impl Fn(&str) -> bool) -> Vec<String> {
        let mut told: Vec<(&str, usize)> = Vec::new();
        for doubt in self.steps.iter().flat_map(|step| &step.doubts).filter(|doubt| is_told(doubt)) {
            match told.iter_mut().find(|(other, _)| is_same(other, doubt)) {
                Some((last, steps)) => (*last, *steps) = (doubt, *steps + 1),
                None => told.push((doubt, 1)),
            }
        }
        let all = self.steps.len();
        told.into_iter().map(|(doubt, steps)| format!("{doubt} ({steps} of {all} steps)")).collect()
    }

    /// The rate of each confirmation, in order, believed or not.
    fn confirmed(&self) -> impl Iterator<Item = f64> {
        self.steps.iter().filter(|step| step.is_confirmation).map(|step| step.rate)
    }

    /// The answer in a sentence, ending with a line break.
    pub fn told(&self) -> String {
        let limits = &self.limits;
        let rate = |rate: f64| count(rate.round());
        match self.found {
            Some(Found::Holds { at, not_at }) if !self.doubts.is_empty() => {
                let at = rate(at);
                let not_at = not_at.map(|not_at| format!("; {} do not", rate(not_at))).unwrap_or_default();
                let doubts = self.doubts.join("; ");
                format!(
                    "Capacity: at least {at} iterations a second hold {limits}{not_at}. The search came to the generator's own limits, \
                     which can only lengthen what is measured: {doubts}.\n"
                )
            }
            Some(Found::Holds { at, not_at: Some(not_at) }) => {
                let (at, not_at) = (rate(at), rate(not_at));
                format!("Capacity: {at} iterations a second hold {limits}; {not_at} do not.\n")
            }
            Some(Found::Holds { at, not_at: None }) => {
                let at = rate(at);
                format!(
                    "Capacity: at least {at} iterations a second, as far as it was searched, hold {limits}.\n"
                )
            }
            Some(Found::Nothing { at }) => {
                let at = rate(at);
                format!("No capacity: not even {at} iterations a second hold {limits}; try a lower --from.\n")
            }
            Some(Found::Unsteady { at }) => {
                let at = rate(at);
                format!(
                    "No answer: rates that had held {limits} did not when they were confirmed, down to {at} a second.\n"
                )
            }
            None if self.doubts.is_empty() => "Stopped before there was an answer.\n".into(),
            None if let Some((first, last)) = self.confirmed().next().zip(self.confirmed().last()) => {
                format!(
                    "INVALID: {} iterations a second held {limits}, but no run confirmed that rate or a lower one (the last was {}): {}.\n",
                    rate(first),
                    rate(last),
                    self.doubts.join("; ")
                )
            }
            None => {
                format!("INVALID: the search came to the generator's limits: {}.\n", self.doubts.join("; "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three steps in which the generator was late printed the same doubt with its remedy three times, and the answer once more.
    #[test]
    fn a_doubt_of_several_steps_is_told_once() {
        let scenario = Scenario::of_url("http://127.0.0.1:1".into(), "/".into());
        let mut searched = Searched::new(&scenario, &"p99 < 1s".parse().expect("it is a limit"));
        let late = |us: u64| format!("the generator sent late: 99 % within {us} µs: let nothing else use it");
        let steps = [vec![], vec![late(300)], vec![late(90), "a thread, busy".into()], vec![late(120)]];
        searched.steps = steps
            .map(|doubts| Step {
                rate: 100.0,
                is_confirmation: false,
                held: false,
                requests_a_second: 100.0,
                p50_ns: 1,
                p99_ns: 1,
                failed_share: 0.0,
                why: None,
                doubts,
            })
            .into();
        let told = [format!("{} (3 of 4 steps)", late(120)), "a thread, busy (1 of 4 steps)".into()];
        assert_eq!(searched.doubts_of_steps(|_| true), told);
    }
}
