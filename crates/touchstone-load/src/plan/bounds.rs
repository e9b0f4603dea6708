//! How much a scenario may ask for, and what values may stand where: what would take all memory, or make two requests of one, is refused
//! with its key before the first request.

use super::Request;
use super::lines::Lines;
use crate::answer::{KEPT_BYTES_MAX, Place};
use crate::error::{Error, Result};
use crate::room::BODY_BYTES_MAX;
use crate::scenario::{Scenario, Think};
use crate::template::{Part, Template};

/// More requests than these are a mistake. So are more flows, and more steps of one.
const REQUESTS_MAX: usize = 1_000;
/// A row for each request, phase and thread, of nearly a megabyte: histograms are as large as they may have to be.
const ROWS_MAX: usize = 10_000;
/// A fragment is repeated at most so often.
const COUNT_MAX: u32 = 1_000_000;

/// Refuses more than a run can have.
pub(super) fn check(scenario: &Scenario, phases: usize) -> Result<()> {
    let between = |what: &str, said: usize| match said {
        said if said > REQUESTS_MAX => {
            Err(Error::input(format!("there are {said} {what}, and at most {REQUESTS_MAX} are possible")))
        }
        _ => Ok(()),
    };
    between("requests (`[[request]]`)", scenario.requests.len())?;
    between("watches (`[[watch]]`)", scenario.watches.len())?;
    between("flows (`[[flow]]`)", scenario.flows.len())?;
    between("requests of the setup (`setup`)", scenario.setup.len())?;
    for flow in &scenario.flows {
        between(&format!("`steps` of the flow `{}`", flow.name), flow.steps.len())?;
        in_order(&flow.pause)
            .map_err(|why| Error::input(format!("`pause` of the flow `{}` {why}", flow.name)))?;
    }
    in_order(&scenario.load.think).map_err(|why| Error::input(format!("`load.think` {why}")))?;
    // The setup is a phase too.
    let threads = usize::from(scenario.load.threads);
    let requests = scenario.requests.len() + scenario.watches.len();
    let rows = (phases + 1).saturating_mul(requests).saturating_mul(threads);
    if rows > ROWS_MAX {
        return Err(Error::input(format!(
            "{requests} requests in {phases} phases, counted by {threads} threads, take {rows} rows of a megabyte each, and at most \
             {ROWS_MAX} are possible: say fewer `[[phase]]`s, `[[request]]`s or `load.threads`"
        )));
    }
    let most = scenario.fragments.iter().find(|(_, fragment)| fragment.count > COUNT_MAX);
    most.map_or(Ok(()), |(name, fragment)| {
        let count = fragment.count;
        Err(Error::input(format!("`fragment.{name}.count` is {count}, and at most {COUNT_MAX} are possible")))
    })
}

fn in_order(think: &Think) -> std::result::Result<(), String> {
    match think {
        Think::Between(least, most) if least > most => {
            Err(format!("goes from {least} to {most}: write the shorter one first"))
        }
        _ => Ok(()),
    }
}

/// The first byte of a template's own texts that cannot stand in a place.
pub(super) fn refused(template: &Template, place: Place) -> Option<u8> {
    template.parts().into_iter().find_map(|part| match part {
        Part::Text(text) => place.refuses(text),
        Part::Value(_) => None,
    })
}

/// Refuses values that cannot stand where requests take them, and tells captures where theirs will. Bodies have a bound too.
pub(super) fn place_values(
    requests: &mut [Request],
    names: &[String],
    values: &[Vec<u8>],
    lines: &Lines,
) -> Result<()> {
    let mut places = vec![Place::Body; values.len()];
    for request in requests.iter() {
        let headers = request.headers.iter().map(|(_, value)| (value, Place::Header));
        for (template, place) in headers.chain([(&request.path, Place::Path)]) {
            let name = &request.name;
            if let Some(byte) = refused(template, place) {
                let place = place.word();
                return Err(Error::input(format!(
                    "a fragment in the {place} of the request `{name}` has the byte {byte:#04x}, which cannot stand there: take it out"
                )));
            }
            for part in template.parts() {
                let Part::Value(number) = part else { continue };
                places[number] = places[number].max(place);
                if let Some(byte) = place.refuses(&values[number]) {
                    return Err(Error::input(format!(
                        "`values.{}` has the byte {byte:#04x}, which cannot stand in the {} of the request `{name}`: take it out, or write \
                         it as `%{byte:02X}` where it is for a path",
                        names[number],
                        place.word()
                    )));
                }
            }
        }
    }
    for (number, lines) in lines {
        let place = places[*number];
        if let Some((at, byte)) =
            lines.iter().enumerate().find_map(|(at, line)| Some((at, place.refuses(line)?)))
        {
            return Err(Error::input(format!(
                "line {} of `lines.{}` has the byte {byte:#04x}, which cannot stand in the {} that it goes into: take it out",
                at + 1,
                names[*number],
                place.word()
            )));
        }
    }
    bound_bodies(requests, values, lines)?;
    for (number, _, place) in requests.iter_mut().flat_map(|request| &mut request.expectation.captures) {
        *place = places[*number];
    }
    Ok(())
}

/// Refuses bodies that are too long with the values that users begin with. Where they can become so by what is captured, it is looked
/// at each time.
fn bound_bodies(requests: &mut [Request], values: &[Vec<u8>], lines: &Lines) -> Result<()> {
    let mut begins: Vec<u64> = values.iter().map(|value| value.len() as u64).collect();
    for (number, lines) in lines {
        begins[*number] = lines.iter().map(Vec::len).max().unwrap_or_default() as u64;
    }
    let mut most = begins.clone();
    for (number, ..) in requests.iter().flat_map(|request| &request.expectation.captures) {
        most[*number] = most[*number].max(KEPT_BYTES_MAX as u64);
    }
    for request in requests {
        let Some(body) = &request.body else { continue };
        let bytes = body.bytes_most(&|number| begins[number]);
        if bytes > BODY_BYTES_MAX {
            return Err(Error::input(format!(
                "the body of the request `{}` may have {bytes} bytes, and at most {BODY_BYTES_MAX} are possible: lower the `count` of its \
                 fragments",
                request.name
            )));
        }
        request.may_grow = body.bytes_most(&|number| most[number]) > BODY_BYTES_MAX;
    }
    Ok(())
}
