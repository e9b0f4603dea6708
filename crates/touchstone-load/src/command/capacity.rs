//! `touchstone-load capacity`: how much a service holds within limits.

use super::offer::Offer;
use super::{say, stop_on_signal};
use crate::capacity::{Found, Next, Search};
use crate::duration::Duration;
use crate::error::Error;
use crate::exit;
use crate::limit::Limits;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::report::{duration, share};
use crate::run::run;
use crate::scenario::{Phase, Scenario};
use crate::schedule::Share;
use clap::Args;
use serde::Serialize;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// A step whose starts are begun so late that this share of them is left over has failed whatever its limits say.
const LEFT_SHARE_MAX: f64 = 0.02;

/// Searches for the highest rate at which limits hold: it rises, halves the bracket, measures failing steps again (two of three) and
/// confirms the answer
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    touchstone-load capacity http://127.0.0.1:8000/ --limits 'p99 < 50ms, failures < 0.1%'\n  \
    touchstone-load capacity upload.toml --from 200 --to 20000 --step 5s")]
pub(super) struct Capacity {
    #[command(flatten)]
    offer: Offer,
    /// The first rate, a second
    #[arg(long, value_name = "RATE")]
    from: Option<f64>,
    /// The rate beyond which it is not searched
    #[arg(long, value_name = "RATE")]
    to: Option<f64>,
    /// How long a step is measured
    #[arg(long, value_name = "DURATION")]
    step: Option<Duration>,
    /// How long the answer is measured once more
    #[arg(long, value_name = "DURATION")]
    confirm: Option<Duration>,
}

/// A step of a search.
#[derive(Clone, Debug, Serialize)]
struct Step {
    rate: f64,
    is_confirmation: bool,
    held: bool,
    requests_a_second: f64,
    p50_ns: u64,
    p99_ns: u64,
    failed_share: f64,
    why: Option<String>,
}

/// What a search tells machines.
#[derive(Serialize)]
struct Told<'t> {
    limits: &'t Limits,
    found: Option<Found>,
    doubts: Vec<String>,
    steps: Vec<Step>,
}

impl Capacity {
    pub(super) fn run(self, json: bool) -> anyhow::Result<ExitCode> {
        let mut scenario = self.offer.scenario()?;
        let asked = &mut scenario.capacity;
        asked.from = self.from.unwrap_or(asked.from);
        asked.to = self.to.unwrap_or(asked.to);
        asked.step = self.step.unwrap_or(asked.step);
        asked.confirm = self.confirm.unwrap_or(asked.confirm);
        let is_sane =
            asked.from > 0.0 && asked.to >= asked.from && asked.to.is_finite() && asked.within > 0.0;
        if !is_sane || asked.step.nanos() == 0 || asked.confirm.nanos() == 0 {
            return Err(Error::input(
                "a capacity is searched from a rate above 0 to one that is not below it, in steps that last",
            )
            .into());
        }
        let limits: Limits = match &scenario.limits {
            Some(limits) => limits.parse().map_err(Error::input)?,
            None => {
                return Err(Error::input(
                    "nothing says what must hold: add --limits 'p99 < 50ms, failures < 0.1%'",
                )
                .into());
            }
        };
        let stop = stop_on_signal()?;
        let (found, steps, doubts) = search(&scenario, &limits, &stop)?;
        if json {
            say::json(&Told { limits: &limits, found, doubts: doubts.clone(), steps })?;
        } else {
            say::text(&told(&limits, found, &doubts))?;
        }
        Ok(match found {
            None if doubts.is_empty() => exit::INTERRUPTED.into(),
            None => exit::INVALID.into(),
            Some(Found::Holds { .. }) => ExitCode::SUCCESS,
            Some(_) => exit::LIMIT.into(),
        })
    }
}

type Searched = (Option<Found>, Vec<Step>, Vec<String>);

fn search(scenario: &Scenario, limits: &Limits, stop: &AtomicBool) -> anyhow::Result<Searched> {
    let asked = &scenario.capacity;
    let mut search = Search::new(asked.from, asked.to, asked.within);
    let mut steps = Vec::new();
    loop {
        let (rate, is_confirmation) = match search.next() {
            Next::Step(rate) => (rate, false),
            Next::Confirm(rate) => (rate, true),
            Next::Done(found) => return Ok((Some(found), steps, Vec::new())),
        };
        let length = if is_confirmation { asked.confirm } else { asked.step };
        let plan = Plan::new(at_rate(scenario, rate, length), Share::WHOLE)?;
        let outcome = run(&plan, stop, |_| {})?;
        if stop.load(Ordering::Relaxed) {
            return Ok((None, steps, Vec::new()));
        }
        let step = step(rate, is_confirmation, limits, &outcome);
        say::note(&line(&step));
        let held = step.held;
        steps.push(step);
        // A generator at its limit says nothing of the service beyond it; what holds all the same is believed.
        if !held
            && !outcome.is_valid()
            && outcome.threads.iter().any(|thread| thread.busy_share > crate::trust::BUSY_SHARE_MAX)
        {
            return Ok((None, steps, outcome.doubts));
        }
        if let Some(found) = search.found(held) {
            return Ok((Some(found), steps, Vec::new()));
        }
    }
}

fn at_rate(scenario: &Scenario, rate: f64, length: Duration) -> Scenario {
    let phase = |name: &str, length, counted| Phase {
        name: Some(name.into()),
        length,
        rate: Some(rate),
        counted,
        ..Phase::default()
    };
    let mut phases = vec![phase("step", length, true)];
    if scenario.capacity.settle.nanos() > 0 {
        phases.insert(0, phase("settle", scenario.capacity.settle, false));
    }
    Scenario { phases, ..scenario.clone() }
}

fn step(rate: f64, is_confirmation: bool, limits: &Limits, outcome: &Outcome) -> Step {
    let all = outcome.total();
    let broken: Vec<String> =
        limits.0.iter().filter(|limit| !limit.holds(&all).1).map(|limit| format!("not {limit}")).collect();
    let left = outcome.unsent as f64 / outcome.due.max(1) as f64;
    let why = if left > LEFT_SHARE_MAX { Some(format!("{} were never begun", share(left))) } else { None };
    let why = why.or_else(|| (!broken.is_empty()).then(|| broken.join(", ")));
    Step {
        rate,
        is_confirmation,
        held: why.is_none(),
        requests_a_second: outcome.rate(),
        p50_ns: all.response.quantile_ns(0.5),
        p99_ns: all.response.quantile_ns(0.99),
        failed_share: crate::limit::Figures::failed_share(&all),
        why,
    }
}

fn line(step: &Step) -> String {
    let what = if step.is_confirmation { "confirming" } else { "step" };
    format!(
        "{what} {:.0}/s: {} ({:.0} requests/s, P50 {}, P99 {}, {} failed){}",
        step.rate,
        if step.held { "holds" } else { "does not hold" },
        step.requests_a_second,
        duration(step.p50_ns as f64),
        duration(step.p99_ns as f64),
        share(step.failed_share),
        step.why.as_ref().map_or(String::new(), |why| format!(": {why}"))
    )
}

fn told(limits: &Limits, found: Option<Found>, doubts: &[String]) -> String {
    match found {
        Some(Found::Holds { at, not_at: Some(not_at) }) => {
            format!("Capacity: {at:.0} starts a second hold {limits}; {not_at:.0} do not.\n")
        }
        Some(Found::Holds { at, not_at: None }) => {
            format!("Capacity: at least {at:.0} starts a second, as far as it was searched, hold {limits}.\n")
        }
        Some(Found::Nothing { at }) => {
            format!("No capacity: not even {at:.0} starts a second hold {limits}; try a lower --from.\n")
        }
        Some(Found::Unsteady { at }) => {
            format!(
                "No answer: rates that had held {limits} did not when they were confirmed, down to {at:.0} a second.\n"
            )
        }
        None if doubts.is_empty() => "Stopped before there was an answer.\n".into(),
        None => format!(
            "INVALID: the search came to the generator's limits, and not the service's: {}.\n",
            doubts.join("; ")
        ),
    }
}
