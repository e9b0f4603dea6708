//! What stands at the top: what was offered, to whom and when, and whether it can be believed.

use crate::merge::missing;
use crate::outcome::{Outcome, SETUP};
use crate::report::{count, offered, seconds};
use crate::scenario::{Arrivals, Scenario};
use crate::search::Searched;
use serde_json::Value;

/// Letters of a scenario that are shown; a body may be long.
const SCENARIO_LETTERS_MOST: usize = 20_000;

/// The head of a page.
pub(super) struct Heading {
    /// The title.
    pub title: String,
    /// What it is for, in the scenario's words.
    pub summary: String,
    /// What a search has found, in a sentence.
    pub answer: Option<String>,
    /// Whether that is an answer.
    pub is_answered: bool,
    /// Facts by name.
    pub facts: Vec<(&'static str, String)>,
    /// When it was written, and by which version.
    pub ended_at: String,
    /// The version of the generator.
    pub version: String,
}

impl Heading {
    pub(super) fn of_outcome(outcome: &Outcome) -> Heading {
        let scenario = &outcome.scenario;
        let mut facts = vec![("Offered", offered_said(outcome)), ("Service", scenario.host.clone())];
        facts.push(("Ended", when(&outcome.ended_at)));
        if !(outcome.shards.len() == 1 && outcome.shards[0].of == 1) {
            facts.push(("Shards", shards(outcome)));
        }
        facts.push(("Phases", phases(outcome)));
        facts.push(("Generator", generator(scenario, &outcome.version)));
        Heading {
            title: format!("{}: {}", scenario.name, offered(outcome)),
            summary: scenario.summary.clone(),
            answer: None,
            is_answered: false,
            facts,
            ended_at: when(&outcome.ended_at),
            version: outcome.version.clone(),
        }
    }

    pub(super) fn of_search(searched: &Searched) -> Heading {
        let scenario = &searched.scenario;
        let asked = &scenario.capacity;
        let looked = format!(
            "from {} to {} iterations a second, in steps of {} after {} that are not counted, until the bracket is within {:.0} %; the answer \
             is measured once more for {}",
            count(asked.from),
            count(asked.to),
            asked.step,
            asked.settle,
            asked.within * 100.0,
            asked.confirm
        );
        Heading {
            title: format!("{}: how much it holds", scenario.name),
            summary: scenario.summary.clone(),
            answer: Some(searched.told().trim_end().to_owned()),
            is_answered: searched.found.is_some(),
            facts: vec![
                ("Limits", searched.limits.to_string()),
                ("Searched", looked),
                ("Service", scenario.host.clone()),
                ("Ended", when(&searched.ended_at)),
                ("Generator", generator(scenario, &searched.version)),
            ],
            ended_at: when(&searched.ended_at),
            version: searched.version.clone(),
        }
    }
}

/// Whether an outcome can be believed, and is whole.
pub(super) struct Verdict {
    /// Why it cannot be believed; nothing, if it can.
    pub doubts: Vec<String>,
    /// What is missing in it.
    pub partial: Vec<String>,
    /// Whether every request failed.
    pub is_all_failed: bool,
}

impl Verdict {
    pub(super) fn new(outcome: &Outcome) -> Verdict {
        let mut partial = Vec::new();
        if let Some(at) = outcome.stopped {
            partial
                .push(format!("it was stopped after {}, and has what was counted until then", seconds(at)));
        }
        let missing = missing(outcome);
        if !missing.is_empty() && missing.len() < outcome.shards.first().map_or(0, |shard| shard.of as usize)
        {
            let first: Vec<String> = missing.iter().take(20).map(ToString::to_string).collect();
            let more = if missing.len() > first.len() { " and others" } else { "" };
            partial.push(format!(
                "{} of {} shards of the plan are not in it: {}{more}",
                missing.len(),
                outcome.shards[0].of,
                first.join(", ")
            ));
        }
        Verdict { doubts: outcome.doubts.clone(), partial, is_all_failed: outcome.is_all_failed() }
    }
}

fn offered_said(outcome: &Outcome) -> String {
    let uncounted: f64 =
        outcome.phases.iter().filter(|phase| !phase.is_counted).map(|phase| phase.seconds).sum();
    let spaced = match outcome.scenario.load.arrivals {
        _ if outcome.is_closed => "",
        Arrivals::Constant => ", evenly spaced",
        Arrivals::Poisson => ", spaced as a Poisson process",
    };
    let warmed =
        if uncounted > 0.0 { format!(", and {} that are not", seconds(uncounted)) } else { String::new() };
    format!(
        "{}{spaced}; {} that are counted{warmed}; {} users over {} connections at the most",
        offered(outcome),
        seconds(outcome.counted_seconds()),
        count(f64::from(outcome.users)),
        count(f64::from(outcome.connections_most))
    )
}

fn phases(outcome: &Outcome) -> String {
    let phases = outcome.phases.iter().filter(|phase| phase.name != SETUP && phase.seconds > 0.0);
    let said = phases.map(|phase| {
        let ends =
            if outcome.is_closed { (f64::from(phase.users.0), f64::from(phase.users.1)) } else { phase.rate };
        let unit = if outcome.is_closed { " users" } else { "/s" };
        let offered = if ends.0 == ends.1 {
            format!("{}{unit}", count(ends.0))
        } else {
            format!("{} to {}{unit}", count(ends.0), count(ends.1))
        };
        let uncounted = if phase.is_counted { "" } else { ", not counted" };
        format!("{} ({}, {offered}{uncounted})", phase.name, seconds(phase.seconds))
    });
    said.collect::<Vec<_>>().join(", ")
}

fn shards(outcome: &Outcome) -> String {
    match outcome.shards.as_slice() {
        [shard] => format!("{} of {}", shard.number, shard.of),
        shards => format!("{} of {}, added", shards.len(), shards[0].of),
    }
}

fn generator(scenario: &Scenario, version: &str) -> String {
    let load = &scenario.load;
    let threads = if load.threads == 1 { "thread" } else { "threads" };
    format!(
        "touchstone-load {version}, {} {threads}, pacing {}, timeout {}, seed {}",
        load.threads,
        format!("{:?}", load.pacing).to_lowercase(),
        load.timeout,
        load.seed
    )
}

/// `2026-11-25T01:02:03Z` as people read it.
fn when(at: &str) -> String {
    at.replace('T', " ").trim_end_matches('Z').to_owned() + " UTC"
}

/// The scenario as a file, cut where it is long; none, where it cannot be written as one.
pub(super) fn scenario(scenario: &Scenario) -> Option<String> {
    let mut value = serde_json::to_value(scenario).ok()?;
    without_nothing(&mut value);
    let text = toml::to_string_pretty(&value).ok()?;
    match text.char_indices().nth(SCENARIO_LETTERS_MOST) {
        Some((at, _)) => Some(format!("{}\n… (outcome.json has all of it)", &text[..at])),
        None => Some(text),
    }
}

/// TOML has no word for nothing: what is not said is left out.
fn without_nothing(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(without_nothing);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nothing),
        _ => {}
    }
}
