//! Building, running and judging a plan: what `bench`, `run`, `gate` and `calibrate` have in common.

mod command_line;
mod judged;
mod part;
mod place;

pub use judged::{Judged, judge_folder};
pub use place::Place;

use crate::interrupt::stop_on_signal;
use crate::progress::Bar;
use crate::{generator, say};
use anyhow::Context as _;
use clap::Args;
use command_line::command_line;
use jiff::Timestamp;
use part::Part;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use touchstone::plan::Plan;
use touchstone::record::{Manifest, RECORD_VERSION, Status, file};
use touchstone_runner::beside::Bench;
use touchstone_runner::doctor::ceilings;
use touchstone_runner::environment::environment;
use touchstone_runner::kits::Project;
use touchstone_runner::run::{Setting, run};
use touchstone_runner::scratch::Claim;
use touchstone_runner::service::check_windows;
use touchstone_runner::session::{Manners, Session, Stop};
use touchstone_runner::strays;
use touchstone_runner::writer::Writer;
use touchstone_runner::{Error, ErrorKind};

/// How long a program may take to say who it is.
pub(super) const HELLO_LIMIT: Duration = Duration::from_secs(5);

/// Where and how to run.
#[derive(Args, Clone, Debug)]
pub struct MeasureArguments {
    /// The folder for the record; runs/ and the time, unless given
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// The folder for the databases while they are measured: it chooses the disk. Inside the record, unless given
    #[arg(long, value_name = "FOLDER")]
    pub scratch: Option<PathBuf>,
    /// Seconds a driver may take for one reply before it counts as hanging
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0, value_parser = positive_seconds)]
    pub limit: f64,
    /// Plays a run again with its values: the `salt` of its record. Drawn at random unless given, so that no answer of an
    /// earlier run is one of this
    #[arg(long, value_name = "SALT")]
    pub salt: Option<u64>,
}

fn positive_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds < 1e6 => Ok(seconds),
        _ => Err("give a number of seconds above 0, such as 120".into()),
    }
}

/// Builds the plan's drivers and runs it. Ctrl-C leaves a partial record, which `touchstone judge` reads like any other.
///
/// # Errors
/// When a driver cannot be built or the lab itself fails.
pub fn measure(project: &Project, plan: &Plan, arguments: &MeasureArguments) -> anyhow::Result<Judged> {
    let record = measure_only(project, plan, arguments).map_err(Stopped::into_error)?;
    judge_folder(&record)
}

/// The same without judging: gives the record's folder.
///
/// # Errors
/// As [`measure`]; what was measured until then comes with the error.
pub fn measure_only(
    project: &Project,
    plan: &Plan,
    arguments: &MeasureArguments,
) -> Result<PathBuf, Stopped> {
    let mut measuring = Measuring::new(project, plan, arguments)?;
    let whole = [measuring.plan.clone()];
    measuring.play(&whole, |_| Ok(()))?;
    Ok(measuring.place.record)
}

/// Does the same a suite at a time, those first that need the fewest drivers: `tell` is handed each suite as it is judged,
/// while the next ones wait to be built.
///
/// # Errors
/// As [`measure`]; what was measured until then is judged and comes with the error.
pub fn measure_by_suite(
    project: &Project,
    plan: &Plan,
    arguments: &MeasureArguments,
    mut tell: impl FnMut(&Judged) -> anyhow::Result<()>,
) -> Result<Judged, Stopped> {
    let mut measuring = Measuring::new(project, plan, arguments)?;
    let parts = part::by_suite(&measuring.plan);
    let folder = measuring.place.record.clone();
    measuring.play(&parts, |part| tell(&part.judge(&folder)?))?;
    Ok(judge_folder(&measuring.place.record)?)
}

/// Why a run did not reach its end, with what it left.
pub struct Stopped {
    /// Why.
    pub error: anyhow::Error,
    /// The record that can be judged; none where nothing was measured yet.
    pub record: Option<PathBuf>,
}

impl Stopped {
    fn into_error(self) -> anyhow::Error {
        self.error
    }
}

impl<E: Into<anyhow::Error>> From<E> for Stopped {
    fn from(error: E) -> Stopped {
        Stopped { error: error.into(), record: None }
    }
}

/// A plan on its way to a record.
struct Measuring<'m> {
    project: &'m Project,
    plan: Plan,
    place: Place,
    limit: Duration,
    salt: u64,
    stop: Stop,
    bench: Bench,
}

impl<'m> Measuring<'m> {
    fn new(project: &'m Project, plan: &Plan, arguments: &MeasureArguments) -> anyhow::Result<Measuring<'m>> {
        let place = Place::new(project, plan, arguments)?;
        let plan = project.at_hand(plan)?;
        plan.left_out.iter().for_each(|left_out| say::note(&format!("left out: {left_out}")));
        let stop = stop_on_signal()?;
        let mut bench = Bench::announce();
        tell_of_others(&bench.met());
        let limit = Duration::from_secs_f64(arguments.limit);
        let salt = arguments.salt.unwrap_or_else(random_salt);
        Ok(Measuring { project, plan, place, limit, salt, stop, bench })
    }

    /// Builds and runs the parts one after the other, into one record. `done` is told of each but the only one.
    fn play(
        &mut self,
        parts: &[Plan],
        mut done: impl FnMut(&Part<'_>) -> anyhow::Result<()>,
    ) -> Result<(), Stopped> {
        let Some(first) = parts.first() else { return Ok(()) };
        self.build(first, "stopped before the run began")?;
        let mut writer = self.begin()?;
        let began = Instant::now();
        let mut ended = Ok(());
        for (number, plan) in parts.iter().enumerate() {
            let mut part = Part { plan, number, elapsed_s: 0.0 };
            let part_began = Instant::now();
            ended = self.play_part(&part, &mut writer);
            part.elapsed_s = part_began.elapsed().as_secs_f64();
            if ended.is_ok() && parts.len() > 1 {
                ended = done(&part);
            }
            if ended.is_err() {
                break;
            }
        }
        self.finish(&mut writer, began, ended)
    }

    fn play_part(&self, part: &Part<'_>, writer: &mut Writer) -> anyhow::Result<()> {
        // The first was built before the record was begun: what cannot be built leaves none.
        if part.number > 0 {
            self.build(part.plan, "the run was stopped")?;
        }
        let claim = Claim::new(self.place.scratch.clone())?;
        let (project, why) = self.project.with_programs_apart(part.plan, &self.place.scratch, answers)?;
        if let Some(why) = why {
            say::note(&format!(
                "each arm of the gate runs its program where it lies, so the baseline's code, which two arms run, stays warmer than the \
                 candidate's: {why}"
            ));
        }
        let bar = Bar::new();
        let setting = Setting {
            project: &project,
            manners: Manners { limit: self.limit, stop: self.stop.clone() },
            tools: generator::of_plan(self.project, part.plan, &self.stop)?,
            scratch: self.place.scratch.clone(),
            salt: self.salt,
            progress: &bar,
        };
        // What the machine can do at best is measured before others are: a line in the charts of what is read and written.
        for ceiling in ceilings(part.plan, &self.place.scratch, &self.stop)? {
            writer.line(file::CEILINGS, &ceiling)?;
        }
        let ended = run(part.plan, &setting, writer).and_then(|()| writer.flush());
        drop(claim);
        bar.clear();
        Ok(ended?)
    }

    fn build(&self, plan: &Plan, stopped: &str) -> anyhow::Result<()> {
        // A mistake in a scenario is told before minutes are spent on building what it is of.
        let built = generator::of_plan(self.project, plan, &self.stop).and_then(|tools| {
            plan.cases.iter().try_for_each(|case| check_windows(&tools.generator, case))?;
            Ok(self.project.build(plan, &self.stop, say::note)?)
        });
        // Ctrl-C in a terminal reaches the build tool as well, which then fails for no reason of its own.
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Interrupted, stopped).into());
        }
        built
    }

    fn begin(&mut self) -> anyhow::Result<Writer> {
        let manifest = Manifest {
            record_version: RECORD_VERSION,
            touchstone: env!("CARGO_PKG_VERSION").into(),
            started: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            status: Status::Running,
            reason: None,
            beside: self.bench.met().into_iter().collect(),
            command: command_line(std::env::args().skip(1)),
            salt: self.salt,
            elapsed_s: 0.0,
        };
        let folder = &self.place.record;
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the record's folder {}", folder.display()))?;
        self.place.record = folder.canonicalize()?;
        Ok(Writer::create(&self.place.record, manifest, &self.plan, &environment(&self.place.scratch))?)
    }

    fn finish(
        &mut self,
        writer: &mut Writer,
        began: Instant,
        ended: anyhow::Result<()>,
    ) -> Result<(), Stopped> {
        let finished = writer.finish(|manifest| {
            manifest.elapsed_s = began.elapsed().as_secs_f64();
            manifest.beside.extend(self.bench.came());
            match &ended {
                Ok(()) => manifest.status = Status::Complete,
                Err(error) => {
                    manifest.status = Status::Partial;
                    manifest.reason = Some(format!("{error:#}"));
                }
            }
        });
        match ended {
            Ok(()) => Ok(finished?),
            Err(error) => {
                say::note(&format!("the record so far is in {}", self.place.record.display()));
                Err(Stopped { error, record: Some(self.place.record.clone()) })
            }
        }
    }
}

/// Whether a copy of a driver says who it is, or why not: it may not run from elsewhere, and a scratch folder may be mounted with noexec.
fn answers(copy: Command) -> Result<(), String> {
    // A process that a program leaves behind would outlive the question.
    let _adoption = strays::adopt();
    let manners = Manners { limit: HELLO_LIMIT, stop: Stop::default() };
    let answered = Session::start(copy, manners).and_then(|mut session| session.hello());
    answered.map(drop).map_err(|error| error.to_string())
}

fn tell_of_others(processes: &BTreeSet<u32>) {
    if processes.is_empty() {
        return;
    }
    let processes: Vec<String> = processes.iter().map(u32::to_string).collect();
    say::note(&format!(
        "warning: another bench measures on this machine already (process {}): each disturbs the other, and the record \
         will say so; end one of them for figures to believe",
        processes.join(", ")
    ));
}

/// A number that JSON's readers keep whole. The standard library seeds its hashes from the system's own randomness.
fn random_salt() -> u64 {
    RandomState::new().build_hasher().finish() >> 11
}
