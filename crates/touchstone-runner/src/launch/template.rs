//! Templates: the database that every launch of an arm starts from, made with the driver's own means.

use super::CaseContext;
use crate::error::Result;
use crate::place::Place;
use crate::random::Stream;
use crate::session::{Manners, Session, SessionError, SessionResult};
use crate::surroundings::{Surroundings, nameless};
use std::path::Path;
use std::process::Command;
use touchstone::plan::PlannedArm;
use touchstone_protocol::{Failure, FailureKind, Request};

/// Makes the database that every launch of an arm starts from, with the driver's own means.
///
/// # Errors
/// When the lab itself fails. A subject that cannot make its database is an outcome: the second result.
pub fn make_template(
    context: &CaseContext<'_>,
    arm: &PlannedArm,
    scratch: &Path,
    random: &mut Stream,
) -> Result<SessionResult<Place>> {
    let place = Place::new(scratch.join(nameless(random)))?;
    let surroundings = Surroundings::new(scratch, random)?;
    let command = surroundings.around(context.project.command(arm)?)?;
    if let Err(error) = fill(context, arm, &place, command) {
        return Ok(Err(error));
    }
    Ok(plain(&place)?.map(|()| place))
}

/// What the lab cannot copy is a thing that this driver cannot do here, and no fault of the lab's.
pub(super) fn plain(place: &Place) -> Result<SessionResult<()>> {
    let refused = |message| SessionError::Refused(Failure { kind: FailureKind::Unsupported, message });
    Ok(place.strange()?.map_or(Ok(()), |strange| Err(refused(strange))))
}

fn fill(context: &CaseContext<'_>, arm: &PlannedArm, place: &Place, command: Command) -> SessionResult<()> {
    // Making 10,000 tables or storing millions of records is no slice: it may take ten times as long.
    let manners = Manners { limit: context.manners.limit * 10, ..context.manners.clone() };
    let mut session = Session::start(command, manners)?;
    session.hello()?;
    let case = context.case;
    let record = case.dataset.record;
    let dataset = context.data.dataset_file();
    session.ask(&Request::Prepare {
        record,
        dataset,
        operations: None,
        states: None,
        subscriptions: None,
    })?;
    session.ask(&Request::Open {
        directory: place.path().to_owned(),
        record,
        schema: arm.schema(case, true),
        settings: arm.settings.clone(),
    })?;
    let tables = 1..=case.tables_used();
    for table in tables.clone().filter(|_| case.churn > 0) {
        let churned = case.share_of(case.dataset.records, table);
        let count = churned.end - churned.start;
        session.ask(&Request::Churn { from: churned.start, count, table, times: case.churn })?;
    }
    for table in tables {
        let stored = case.share_of(case.filled, table);
        session.ask(&Request::Fill { from: stored.start, count: stored.end - stored.start, table })?;
    }
    session.ask(&Request::Close)?;
    session.quit()
}
