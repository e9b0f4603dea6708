//! Syncs and bytes per commit: an untimed pass of each writing arm under the recorder.
//!
//! Every commit is a request of its own, so the reply that acknowledges it cuts the trace where it belongs.

use crate::error::{Error, ErrorKind, Result};
use crate::launch::CaseContext;
use crate::place::Place;
use crate::random::Stream;
use crate::session::{Manners, Session, SessionError, SessionResult};
use crate::surroundings::{Surroundings, nameless};
use crate::writer::Writer;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;
use touchstone::kit::DurabilityClass;
use touchstone::plan::PlannedArm;
use touchstone::record::file;
use touchstone::sample::SyncCount;
use touchstone_protocol::{Lane, Request, Run, Verb};
use touchstone_recorder::{Kept, Options, Recording, Trace};

/// Commits recorded of an arm: odd, so that the median is one of them.
pub(crate) const COMMITS: u64 = 41;

/// Of a commit's records one byte in so many must have reached the disk.
pub(crate) const KEPT_SHARE: u64 = 4;

/// How long a driver may take to leave once it was asked to.
const GRACE: Duration = Duration::from_secs(10);

/// Records every writing arm of a case with a single lane, a commit at a time. `templates` are those of the arms that
/// were still in the run at its end.
///
/// # Errors
/// When the lab itself fails or the user stops it. An arm that cannot be recorded has a line that says why.
pub fn record_syncs(
    context: &CaseContext<'_>,
    templates: &[(&PlannedArm, &Place)],
    scratch: &Path,
    random: &mut Stream,
    writer: &mut Writer,
) -> Result<()> {
    let unavailable = touchstone_recorder::unavailable();
    for arm in context.case.arms.iter().filter(|arm| arm.commit().is_some()) {
        let template = templates.iter().find(|(known, _)| known.name == arm.name);
        let counted = match (&unavailable, template) {
            (Some(why), _) => Err(why.clone()),
            (None, None) => Err("it did not complete its launches".to_owned()),
            (None, Some((_, template))) => {
                let place = Place::new(scratch.join(nameless(random)))?;
                place.restore(template)?;
                let surroundings = Surroundings::new(scratch, random)?;
                let command = surroundings.around(context.project.command(arm)?)?;
                Recorded { context, arm }.pass(command, place.path())
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

/// A commit that is recorded: what is asked for, and how many bytes of it must have been kept.
struct Commit {
    lane: Lane,
    bytes: u64,
}

struct Recorded<'r> {
    context: &'r CaseContext<'r>,
    arm: &'r PlannedArm,
}

impl Recorded<'_> {
    fn pass(&self, command: Command, directory: &Path) -> std::result::Result<SyncCount, String> {
        let talk = |session| self.talk(session, directory).map_err(|error| error.to_string());
        let trace = traced(command, directory, self.context.manners, talk)?;
        let count = self.count(&trace);
        let (asked, seen) = (self.commits().len() as u64, count.commits);
        if seen < asked {
            return Err(format!("{asked} commits were asked for, and {seen} replies to them were seen"));
        }
        Ok(count)
    }

    fn talk(&self, mut session: Session, directory: &Path) -> SessionResult<()> {
        session.hello()?;
        let record = self.context.case.dataset.record;
        session.ask(&Request::Prepare {
            record,
            dataset: self.context.data.dataset_file(),
            operations: Some(self.context.data.operations_file.clone()),
            states: self.context.data.states_file(),
            subscriptions: None,
        })?;
        session.ask(&Request::Open {
            directory: directory.to_owned(),
            record,
            schema: self.arm.schema(self.context.case, false),
            settings: self.arm.settings.clone(),
        })?;
        for Commit { lane, .. } in self.commits() {
            session.ask(&Request::Run(Run::of(vec![lane])))?;
        }
        session.ask(&Request::Close)?;
        match session.ask(&Request::Quit) {
            Ok(_) | Err(SessionError::Ended(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// As many commits as the operations suffice for, or the new states; everything can be deleted once. Of a mixed load those
    /// transactions that write.
    fn commits(&self) -> Vec<Commit> {
        let (verb, operations) = self.arm.commit().expect("only committing arms are recorded");
        let there = match verb {
            Verb::DeleteMany => 1,
            verb if verb.updates() => self.context.data.states(),
            _ => self.context.data.operations(),
        };
        let commit = |number| {
            let from = number * operations;
            let plain = Lane { table: self.arm.lanes[0].table, ..Lane::new(verb, from, operations) };
            let lane = Lane { transaction: self.arm.lanes[0].transaction, ..plain };
            Commit { bytes: self.bytes_to_keep(&lane), lane }
        };
        let writes = |commit: &Commit| verb != Verb::Mix || commit.bytes > 0;
        (0..there / operations.max(1)).map(commit).filter(writes).take(COMMITS as usize).collect()
    }

    /// Bytes that must have reached the disk for a commit: a quarter of its records as the lab writes them, for an engine may
    /// compress. Nothing is left of what is deleted.
    fn bytes_to_keep(&self, lane: &Lane) -> u64 {
        let data = self.context.data;
        let bytes = match lane.verb {
            Verb::DeleteMany => 0,
            Verb::Mix => data.bytes_of_state() * data.updates_of(lane),
            verb if verb.updates() => data.bytes_of_state() * lane.count,
            _ => data.bytes_of_record() * lane.count,
        };
        bytes / KEPT_SHARE
    }

    fn is_durable(&self, kept: &Kept, commit: &Commit) -> bool {
        let named = self.arm.class != DurabilityClass::Strict || !kept.name_is_unkept;
        named && kept.covers(commit.bytes)
    }

    fn count(&self, trace: &Trace) -> SyncCount {
        let stretches = trace.between_marks();
        let kept = trace.kept_between_marks();
        let of = |name: &str| -> Vec<Kept> {
            let ends =
                stretches.iter().map(|stretch| stretch.ended_by.is_some_and(|line| replies(line, name)));
            kept.iter().zip(ends).filter(|(_, ends)| *ends).map(|(kept, _)| *kept).collect()
        };
        let commits = of("run");
        let asked = self.commits();
        let first = stretches
            .iter()
            .position(|stretch| stretch.ended_by.is_some_and(|line| replies(line, "run")))
            .unwrap_or(kept.len());
        let both = || commits.iter().zip(&asked);
        let written = both().filter(|(kept, commit)| kept.bytes >= commit.bytes).count() as u64;
        let durable = both().filter(|(kept, commit)| self.is_durable(kept, commit)).count() as u64;
        let (case, arm) = (&self.context.case.id, &self.arm.name);
        SyncCount {
            syncs_at_close: of("close").iter().map(|close| close.awaited).sum(),
            written_commits: Some(written),
            syncs_to_end: Some(kept.iter().skip(first).map(|stretch| stretch.awaited).sum()),
            durable_commits: Some(durable),
            ..sum_up(case, arm, trace, &commits)
        }
    }
}

/// Starts a program under the recorder, lets `talk` speak to it, and gives what it did until it had ended.
pub(crate) fn traced(
    mut command: Command,
    directory: &Path,
    manners: &Manners,
    talk: impl FnOnce(Session) -> std::result::Result<(), String>,
) -> std::result::Result<Trace, String> {
    // What it says there nobody keeps in this pass, and the lab's own standard error is the user's.
    command.stderr(Stdio::null());
    let mut recording =
        Recording::start(command, Options::new(directory)).map_err(|error| error.to_string())?;
    let pipes = recording.take_stdin().zip(recording.take_stdout());
    let (stdin, stdout) = pipes.ok_or("the recorder kept the driver's pipes")?;
    let talked = talk(Session::over(stdin.into(), stdout.into(), manners.clone()));
    if talked.is_err() {
        recording.kill();
    }
    let trace = recording.finish(GRACE).map_err(|error| error.to_string())?;
    talked.map(|()| trace)
}

/// What the commits of a trace cost; nothing is said of which were kept, nor of what came after them.
pub(crate) fn sum_up(case: &str, arm: &str, trace: &Trace, commits: &[Kept]) -> SyncCount {
    let sorted = |part: fn(&Kept) -> u64| {
        let mut parts: Vec<u64> = commits.iter().map(part).collect();
        parts.sort_unstable();
        parts
    };
    let (syncs, bytes) = (sorted(|commit| commit.awaited), sorted(|commit| commit.bytes));
    let sum = |part: fn(&Kept) -> u64| commits.iter().map(part).sum();
    let of_path = |path: &&Path| Some(path.file_name()?.to_string_lossy().into_owned());
    SyncCount {
        case: case.to_owned(),
        arm: arm.to_owned(),
        unavailable: None,
        commits: commits.len() as u64,
        syncs_per_commit: syncs.get(syncs.len() / 2).copied().unwrap_or(0),
        syncs_most: syncs.last().copied().unwrap_or(0),
        syncs: sum(|commit| commit.awaited),
        syncs_at_close: 0,
        idle_syncs: sum(|commit| commit.idle_syncs),
        synchronous_writes: sum(|commit| commit.synchronous_writes),
        durable_commits: None,
        bytes_written: sum(|commit| commit.bytes),
        bytes_of_median: bytes.get(bytes.len() / 2).copied(),
        written_commits: None,
        syncs_to_end: None,
        refused: trace.unsupported().into_iter().map(str::to_owned).collect(),
        mapped: trace.mapped_files().iter().filter_map(of_path).collect(),
    }
}

/// Whether a line is a reply of that name. No kit's JSON is written as another's.
pub(crate) fn replies(line: &str, name: &str) -> bool {
    let reply = serde_json::from_str::<serde_json::Value>(line);
    reply.is_ok_and(|reply| reply["reply"] == name)
}

#[cfg(test)]
mod tests {
    use super::replies;

    #[test]
    fn a_reply_is_one_however_its_json_is_spaced() {
        assert!(replies(r#"{"reply":"run","wall_ns":1}"#, "run"));
        assert!(replies(r#"{"wall_ns": 1, "reply": "run"}"#, "run"));
        assert!(!replies(r#"{"reply":"close"}"#, "run"));
        assert!(!replies(r#"the log says "reply":"run""#, "run"));
    }
}
