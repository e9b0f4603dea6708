//! Syncs and bytes of an iteration of a load: an untimed pass of each service under the recorder, in which the lab asks alone.
//!
//! The recorder cuts its trace where the service's process answers the lab, so the lab asks who it is after each iteration.

use super::{Api, Stage, require, serve, template};
use crate::error::{Error, ErrorKind, Result};
use crate::place::Place;
use crate::random::Stream;
use crate::recorded::{COMMITS, GRACE, replies, sum_up};
use crate::session::{Session, SessionError};
use crate::surroundings::{Surroundings, nameless};
use crate::writer::Writer;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use touchstone::kit::DurabilityClass;
use touchstone::plan::PlannedArm;
use touchstone::record::file;
use touchstone::sample::SyncCount;
use touchstone_protocol::Request;
use touchstone_recorder::{Kept, Options, Recording};

/// Records every arm, an iteration at a time.
///
/// # Errors
/// When the lab itself fails or the user stops it. An arm that cannot be recorded has a line that says why.
pub(crate) fn record_syncs(
    stage: &Stage<'_>,
    arms: &[(&PlannedArm, &template::Template)],
    scratch: &Path,
    random: &mut Stream,
    writer: &mut Writer,
) -> Result<()> {
    for (arm, template) in arms {
        let place = Place::new(scratch.join(nameless(random)))?;
        place.restore(&template.place)?;
        let surroundings = Surroundings::new(scratch, random)?;
        let command = stage.command(arm, &surroundings)?;
        let counted = match touchstone_recorder::unavailable() {
            Some(why) => Err(why),
            None => pass(stage, arm, template, command, place.path()),
        };
        if stage.manners.stop.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Interrupted, "the run was stopped"));
        }
        let count = counted.unwrap_or_else(|why| SyncCount::unavailable(&stage.case.id, &arm.name, &why));
        writer.line(file::SYNCS, &count)?;
    }
    writer.flush()
}

fn pass(
    stage: &Stage<'_>,
    arm: &PlannedArm,
    template: &template::Template,
    mut command: Command,
    directory: &Path,
) -> std::result::Result<SyncCount, String> {
    command.stderr(Stdio::null());
    let mut recording =
        Recording::start(command, Options::new(directory)).map_err(|error| error.to_string())?;
    let pipes = recording.take_stdin().zip(recording.take_stdout());
    let (stdin, stdout) = pipes.ok_or("the recorder kept the service's pipes")?;
    let session = Session::over(stdin.into(), stdout.into(), stage.manners.clone());
    let talked = talk(stage, arm, template, session, directory);
    if talked.is_err() {
        recording.kill();
    }
    let trace = recording.finish(GRACE).map_err(|error| error.to_string())?;
    talked?;
    // The first introduction stands before the service served.
    let ends: Vec<bool> = trace
        .between_marks()
        .iter()
        .map(|stretch| stretch.ended_by.is_some_and(|line| replies(line, "hello")))
        .collect();
    let first = ends.iter().position(|ends| *ends).map_or(0, |at| at + 1);
    let iterations: Vec<usize> = (first..ends.len()).filter(|at| ends[*at]).collect();
    let kept = trace.kept_between_marks();
    let commits: Vec<Kept> = iterations.iter().map(|at| kept[*at]).collect();
    if (commits.len() as u64) < COMMITS {
        return Err(format!(
            "{COMMITS} iterations were asked for, and {} replies after them were seen",
            commits.len()
        ));
    }
    let strict = arm.class == DurabilityClass::Strict;
    let is_durable = |commit: &Kept| !(strict && commit.name_is_unkept) && commit.covers(0);
    Ok(sum_up(&stage.case.id, &arm.name, &trace, &commits, is_durable))
}

fn talk(
    stage: &Stage<'_>,
    arm: &PlannedArm,
    template: &template::Template,
    mut session: Session,
    directory: &Path,
) -> std::result::Result<(), String> {
    let told = |error: SessionError| error.to_string();
    let hello = session.hello().map_err(told)?;
    require(&hello).map_err(told)?;
    let served = serve(&mut session, directory, arm).map_err(told)?;
    let api = Api::new(served.port, stage.manners.limit);
    let steps = Steps::of(&stage.load().scenario.asks);
    let device = template::device(0);
    let mut cursor = template.cursors.first().copied().unwrap_or(0);
    for number in 0..COMMITS {
        if steps.uploads {
            let change = |item| (format!("lab-{number}-{item}"), format!("lab-{number}-{item} counted"));
            let changes: Vec<_> = (0..steps.changes).map(change).collect();
            let after = api.upload(&device, &changes)?;
            cursor = if steps.downloads { cursor } else { after };
        }
        if steps.downloads {
            cursor = api.download(&device, cursor)?.cursor;
        }
        session.hello().map_err(told)?;
    }
    session.ask(&Request::Close).map_err(told)?;
    match session.ask(&Request::Quit) {
        Ok(_) | Err(SessionError::Ended(_)) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// What an iteration of a scenario does.
struct Steps {
    uploads: bool,
    downloads: bool,
    changes: u64,
}

impl Steps {
    fn of(asks: &serde_json::Map<String, Value>) -> Steps {
        let requests = asks.get("request").and_then(Value::as_array).cloned().unwrap_or_default();
        let flows = asks.get("flow").and_then(Value::as_array).cloned().unwrap_or_default();
        let steps: Vec<&str> = flows
            .iter()
            .filter_map(|flow| flow["steps"].as_array())
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let does = |with_body: bool| {
            requests.iter().any(|request| {
                let is_step = request["name"].as_str().is_some_and(|name| steps.contains(&name));
                is_step && request.get("body").is_some() == with_body
            })
        };
        let changes = asks.get("fragment").and_then(|all| all["changes"]["count"].as_u64()).unwrap_or(1);
        Steps { uploads: does(true), downloads: does(false), changes }
    }
}
