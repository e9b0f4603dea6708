//! Syncs and bytes of an iteration of a load: an untimed pass of each service under the recorder, in which the lab asks alone.
//!
//! The recorder cuts its trace where the service's process answers the lab, so the lab asks who it is after each iteration.

use super::api::{Fault, PAGE};
use super::ending::of_itself;
use super::{Api, ServiceContext, require, serve, template};
use crate::error::{Error, ErrorKind, Result};
use crate::place::Place;
use crate::random::Stream;
use crate::recorded::{COMMITS, KEPT_SHARE, replies, sum_up, traced};
use crate::session::{Session, SessionError};
use crate::surroundings::{Surroundings, nameless};
use crate::writer::Writer;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;
use touchstone::kit::DurabilityClass;
use touchstone::plan::PlannedArm;
use touchstone::record::file;
use touchstone::sample::SyncCount;
use touchstone_protocol::Request;
use touchstone_recorder::Kept;

/// Records every arm, an iteration at a time.
///
/// # Errors
/// When the lab itself fails or the user stops it. An arm that cannot be recorded has a line that says why.
pub(crate) fn record_syncs(
    context: &ServiceContext<'_>,
    playing: &[(&PlannedArm, &template::Template)],
    scratch: &Path,
    random: &mut Stream,
    writer: &mut Writer,
) -> Result<()> {
    let unavailable = touchstone_recorder::unavailable();
    for arm in &context.case.arms {
        let template = playing.iter().find(|(known, _)| known.name == arm.name);
        let counted = match (&unavailable, template) {
            (Some(why), _) => Err(why.clone()),
            (None, None) => Err("it did not complete its launches".to_owned()),
            (None, Some((_, template))) => {
                let place = Place::new(scratch.join(nameless(random)))?;
                place.restore(&template.place)?;
                let surroundings = Surroundings::new(scratch, random)?;
                let command = context.command(arm, &surroundings)?;
                Pass { context, arm, template, steps: Steps::of(context) }.run(command, place.path())
            }
        };
        if context.manners.stop.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Interrupted, "the run was stopped"));
        }
        let count = counted.unwrap_or_else(|why| SyncCount::unavailable(&context.case.id, &arm.name, &why));
        writer.line(file::SYNCS, &count)?;
    }
    writer.flush()
}

/// The pass of one arm.
struct Pass<'p> {
    context: &'p ServiceContext<'p>,
    arm: &'p PlannedArm,
    template: &'p template::Template,
    steps: Steps,
}

impl Pass<'_> {
    fn run(&self, command: Command, directory: &Path) -> std::result::Result<SyncCount, String> {
        let trace =
            traced(command, directory, self.context.manners, |session| self.talk(session, directory))?;
        // The first introduction stands before the service served.
        let ends = trace.between_marks();
        let after = ends.iter().map(|stretch| stretch.ended_by.is_some_and(|line| replies(line, "hello")));
        let kept = trace.kept_between_marks();
        let iterations = kept.iter().zip(after).filter(|(_, is_after)| *is_after).skip(1);
        let iterations: Vec<Kept> = iterations.map(|(kept, _)| *kept).collect();
        let seen = iterations.len() as u64;
        if seen < COMMITS {
            return Err(format!(
                "{COMMITS} iterations were asked for, and {seen} replies after them were seen"
            ));
        }
        let least = self.steps.bytes() / KEPT_SHARE;
        let named = |kept: &Kept| self.arm.class != DurabilityClass::Strict || !kept.name_is_unkept;
        let durable = iterations.iter().filter(|kept| named(kept) && kept.covers(least)).count();
        let written = iterations.iter().filter(|kept| kept.bytes >= least).count() as u64;
        let (case, arm) = (&self.context.case.id, &self.arm.name);
        Ok(SyncCount {
            written_commits: Some(written),
            durable_commits: Some(durable as u64),
            ..sum_up(case, arm, &trace, &iterations)
        })
    }

    fn talk(&self, mut session: Session, directory: &Path) -> std::result::Result<(), String> {
        let told = |error: SessionError| error.to_string();
        require(&session.hello().map_err(told)?, self.arm).map_err(told)?;
        let served = serve(&mut session, directory, self.arm).map_err(told)?;
        let api = Api::new(served.port, self.context.manners);
        let mut cursor = self.template.cursors.first().copied().unwrap_or(0);
        for number in 0..COMMITS {
            let taken = self.steps.take(&api, number, &mut cursor);
            taken.map_err(|fault| session.died().map_or_else(|| fault.to_string(), of_itself))?;
            session.hello().map_err(told)?;
        }
        session.ask(&Request::Close).map_err(told)?;
        match session.ask(&Request::Quit) {
            Ok(_) | Err(SessionError::Ended(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// What an iteration of a scenario does.
struct Steps {
    uploads: bool,
    downloads: bool,
    /// Changes of an upload, and bytes of each.
    changes: u64,
    change_bytes: u64,
}

impl Steps {
    fn of(context: &ServiceContext<'_>) -> Steps {
        let load = context.load();
        Steps {
            uploads: load.uploads(),
            downloads: load.downloads(),
            changes: load.changes(),
            change_bytes: context.case.dataset.value_bytes,
        }
    }

    /// Bytes of data that an iteration stores, where it uploads.
    fn bytes(&self) -> u64 {
        if self.uploads { self.changes * self.change_bytes } else { 0 }
    }

    /// One iteration. A download is from where the user stood before the upload.
    fn take(&self, api: &Api, number: u64, cursor: &mut u64) -> std::result::Result<(), Fault> {
        let device = template::device(0);
        if self.uploads {
            let change = |item| template::change(&format!("lab-{number}-{item}"), self.change_bytes);
            let changes: Vec<_> = (0..self.changes).map(change).collect();
            let after = api.upload(&device, &changes)?;
            *cursor = if self.downloads { *cursor } else { after };
        }
        if self.downloads {
            *cursor = api.download(&device, *cursor, PAGE)?.cursor;
        }
        Ok(())
    }
}
