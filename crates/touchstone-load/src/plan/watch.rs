//! Watches and deliveries, ready to run: names are places, and what could not be held open is refused.

use super::{Flow, Request, there_are};
use crate::answer::leading_number;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::scenario::{self, Check, Scenario};
use memchr::memmem::Finder;
use std::collections::BTreeMap;

/// A process has fewer ports than 65,536 to one address of a service: its streams are at most so many.
const STREAMS_MAX: u64 = 60_000;

/// What events are asked for as, unless a scenario says otherwise.
const HEADERS: [(&str, &str); 2] = [("accept", "text/event-stream"), ("cache-control", "no-store")];

/// A watch, ready to be opened.
#[derive(Debug)]
pub struct Watch {
    /// The request that opens a stream, by its number in the plan. Its row in the setup counts openings, those in phases deliveries.
    pub request: usize,
    /// Streams of each user.
    pub each: u32,
    /// What stands before the number that an event tells.
    pub after: Option<Finder<'static>>,
}

/// When a request is delivered.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// The watch, by its number.
    pub watch: usize,
    /// The value of the user's that has the number, by its number.
    pub reaches: usize,
}

impl Watch {
    /// The greatest number that an event's data tell.
    pub fn number(&self, data: &[u8]) -> Option<u64> {
        let after = self.after.as_ref()?;
        after.find_iter(data).filter_map(|at| leading_number(&data[at + after.needle().len()..])).max()
    }
}

/// The requests that open streams. They stand behind a scenario's own.
pub(super) fn openings(scenario: &Scenario) -> impl Iterator<Item = scenario::Request> + '_ {
    scenario.watches.iter().map(|watch| {
        let usual = HEADERS.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let own = watch.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        scenario::Request {
            name: watch.name.clone(),
            method: None,
            path: watch.path.clone(),
            headers: usual.into_iter().chain(own).collect(),
            body: None,
            // Whoever reads events gives up at every other status, as browsers do.
            status: vec![200],
            capture: BTreeMap::new(),
            check: Check::default(),
            delivery: None,
            weight: 1.0,
        }
    })
}

/// A scenario's watches, of a process that has so many of the users.
pub(super) fn watches(scenario: &Scenario, engine: Engine, users: u64) -> Result<Vec<Watch>> {
    if !scenario.watches.is_empty() && engine != Engine::Own {
        return Err(Error::input(format!(
            "a `[[watch]]` is held open in HTTP/1.1 without TLS alone, and this is {engine}: give such a `host`, without `http = 2`"
        )));
    }
    let streams: u64 = scenario.watches.iter().map(|watch| u64::from(watch.each) * users).sum();
    if streams > STREAMS_MAX {
        return Err(Error::input(format!(
            "{users} users hold {streams} streams of events, and at most {STREAMS_MAX} are possible: say fewer `load.users`, or a lower \
             `each` of a `[[watch]]`"
        )));
    }
    let own = scenario.requests.len();
    let watches = scenario.watches.iter().enumerate().map(|(number, said)| {
        if said.each == 0 {
            return Err(Error::input(format!(
                "`each` of the watch `{}` is 0: leave the watch out",
                said.name
            )));
        }
        let after = said.after.as_ref().map(|after| Finder::new(after).into_owned());
        Ok(Watch { request: own + number, each: said.each, after })
    });
    watches.collect()
}

/// Tells requests which streams deliver them.
pub(super) fn deliver(requests: &mut [Request], scenario: &Scenario, values: &[String]) -> Result<()> {
    for (request, said) in requests.iter_mut().zip(&scenario.requests) {
        request.delivery = said
            .delivery
            .as_ref()
            .map(|delivery| of_delivery(delivery, said, scenario, values))
            .transpose()
            .map_err(|error| error.within(format_args!("`delivery` of the request `{}`", said.name)))?;
    }
    Ok(())
}

/// Refuses a delivery that nothing would wait for. The last of the flows is the setup.
pub(super) fn are_asked(requests: &[Request], flows: &[Flow]) -> Result<()> {
    let is_asked = |request: usize| flows.iter().rev().skip(1).any(|flow| flow.steps.contains(&request));
    match requests.iter().enumerate().find(|(at, request)| request.delivery.is_some() && !is_asked(*at)) {
        None => Ok(()),
        Some((_, request)) => Err(Error::input(format!(
            "`delivery` of the request `{}`: no iteration asks it, and in the setup no stream is open: leave the delivery out",
            request.name
        ))),
    }
}

fn of_delivery(
    said: &scenario::Delivery,
    of: &scenario::Request,
    scenario: &Scenario,
    values: &[String],
) -> Result<Delivery> {
    let names = || scenario.watches.iter().map(|watch| watch.name.as_str());
    let watch = names().position(|name| name == said.watch).ok_or_else(|| {
        Error::input(format!("there is no watch `{}`: {}", said.watch, there_are(&said.watch, names())))
    })?;
    if scenario.watches[watch].after.is_none() {
        return Err(Error::input(format!(
            "the watch `{}` does not say what stands before the number that its events tell: give it `after`",
            said.watch
        )));
    }
    let captured = || of.capture.keys().map(String::as_str);
    let reaches = values.iter().position(|name| *name == said.reaches);
    // A number that was kept of another answer would have been told long ago.
    match reaches.filter(|_| of.capture.contains_key(&said.reaches)) {
        Some(reaches) => Ok(Delivery { watch, reaches }),
        None => Err(Error::input(format!(
            "`reaches = \"{}\"` is no value that this request captures: {}",
            said.reaches,
            there_are(&said.reaches, captured())
        ))),
    }
}
