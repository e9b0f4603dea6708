//! The database that every launch of a service starts from: users with a device each, and what they have uploaded long before.

use super::api::Fault;
use super::{Api, ServiceContext, failed, require, serve};
use crate::error::Result;
use crate::place::Place;
use crate::random::Stream;
use crate::session::{Manners, Session, SessionResult};
use crate::surroundings::{Surroundings, nameless};
use std::path::Path;
use touchstone::plan::PlannedArm;
use touchstone_protocol::Request;

/// Changes of an upload while a database is filled.
const BATCH: u64 = 500;

/// A database, and where each user's changes end in it.
pub(crate) struct Template {
    pub(super) place: Place,
    pub(super) cursors: Vec<u64>,
}

/// A user's name. A scenario calls user `${user}` so.
pub(super) fn user(number: usize) -> String {
    format!("user-{number}")
}

/// The name of a user's first device.
pub(super) fn device(number: usize) -> String {
    format!("device-{number}")
}

/// The name of a user's object in the template.
pub(super) fn seed(user: usize, number: u64) -> String {
    format!("seed-{user}-{number}")
}

/// An object of that name, with so many bytes of data, which begin with its name.
pub(super) fn change(id: &str, bytes: u64) -> (String, String) {
    let rest = (bytes as usize).saturating_sub(id.len() + 1);
    (id.to_owned(), format!("{id} {}", "s".repeat(rest)))
}

/// Makes the database that every launch of an arm starts from, over HTTP.
///
/// # Errors
/// When the lab itself fails. A service that cannot make its database is an outcome: the second result.
pub(crate) fn make_template(
    context: &ServiceContext<'_>,
    arm: &PlannedArm,
    scratch: &Path,
    random: &mut Stream,
) -> Result<SessionResult<Template>> {
    let place = Place::new(scratch.join(nameless(random)))?;
    let surroundings = Surroundings::new(scratch, random)?;
    let command = context.command(arm, &surroundings)?;
    Ok(fill(context, arm, &place, command).map(|cursors| Template { place, cursors }))
}

fn fill(
    context: &ServiceContext<'_>,
    arm: &PlannedArm,
    place: &Place,
    command: std::process::Command,
) -> SessionResult<Vec<u64>> {
    // Uploading many changes is no window: it may take ten times as long.
    let manners = Manners { limit: context.manners.limit * 10, ..context.manners.clone() };
    let mut session = Session::start(command, manners.clone())?;
    require(&session.hello()?, arm)?;
    let served = serve(&mut session, place.path(), arm)?;
    let api = Api::new(served.port, &manners);
    let mut cursors = Vec::new();
    for number in 0..context.load().users as usize {
        let filled = fill_user(&api, number, context);
        cursors.push(filled.map_err(|fault| session.died().unwrap_or_else(|| failed(fault.to_string())))?);
    }
    session.ask(&Request::Close)?;
    session.quit()?;
    Ok(cursors)
}

fn fill_user(api: &Api, number: usize, context: &ServiceContext<'_>) -> std::result::Result<u64, Fault> {
    let (stored, bytes) = (context.case.filled, context.case.dataset.value_bytes);
    let device = device(number);
    api.register(&user(number), &device)?;
    let mut cursor = 0;
    for from in (0..stored).step_by(BATCH as usize) {
        let one = |at: u64| change(&seed(number, at), bytes);
        let changes: Vec<(String, String)> = (from..stored.min(from + BATCH)).map(one).collect();
        cursor = api.upload(&device, &changes)?;
    }
    Ok(cursor)
}
