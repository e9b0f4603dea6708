//! Building, running and judging a plan: what `bench`, `run`, `gate` and `calibrate` have in common.

use crate::interrupt::stop_on_signal;
use crate::progress::Bar;
use crate::say;
use anyhow::Context as _;
use clap::Args;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use touchstone::estimate::{STATISTICS_VERSION, Statistics, estimate};
use touchstone::plan::Plan;
use touchstone::record::{Manifest, RECORD_VERSION, Record, Status, file, read_versioned};
use touchstone::report::{Findings, html};
use touchstone::verdict::{Judgement, VERDICT_VERSION, judge};
use touchstone_runner::beside::Bench;
use touchstone_runner::environment::{environment, reaches_disk};
use touchstone_runner::kits::Project;
use touchstone_runner::run::{Setting, run};
use touchstone_runner::scratch::{self, Claim};
use touchstone_runner::session::Manners;
use touchstone_runner::target::refuse_unwritable;
use touchstone_runner::writer::{Writer, refuse_occupied, write_json, write_whole};
use touchstone_runner::{Error, ErrorKind};

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

/// A judged record.
pub struct Judged {
    /// The record's folder.
    pub folder: PathBuf,
    /// The record.
    pub record: Record,
    /// What its samples say.
    pub statistics: Statistics,
    /// What that means.
    pub judgement: Judgement,
}

impl Judged {
    /// Reads a record that was judged before. What stands in its files is what its samples say, or it is refused: a
    /// judgement that somebody edited is never rendered.
    ///
    /// # Errors
    /// When it was not judged, its files say something else than its samples, or it cannot be read.
    pub fn read(folder: &Path) -> anyhow::Result<Judged> {
        let record = Record::read(folder)?;
        let [statistics, verdict] = [file::STATISTICS, file::VERDICT].map(|name| folder.join(name));
        if !statistics.exists() || !verdict.exists() {
            let hint = format!("{} is not judged yet: run `touchstone judge` on it first", folder.display());
            return Err(touchstone::Error::record(hint).into());
        }
        let kept: Value = read_versioned(&statistics, "statistics_version", STATISTICS_VERSION)?;
        let decided: Value = read_versioned(&verdict, "verdict_version", VERDICT_VERSION)?;
        let judged = Judged::of(folder, record);
        refuse_edited(&statistics, &kept, &judged.statistics)?;
        refuse_edited(&verdict, &decided, &judged.judgement)?;
        Ok(judged)
    }

    /// Judges a record.
    fn of(folder: &Path, record: Record) -> Judged {
        let statistics = estimate(&record);
        let judgement = judge(&record.plan, &statistics.cases, &record.subjects);
        Judged { folder: folder.to_owned(), record, statistics, judgement }
    }

    /// As a renderer takes it.
    pub fn findings(&self) -> Findings<'_> {
        Findings { record: &self.record, statistics: &self.statistics.cases, judgement: &self.judgement }
    }

    /// Writes the page.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_report(&self) -> anyhow::Result<PathBuf> {
        let path = self.folder.join(file::REPORT);
        let remedy = "print it, which needs no place: `touchstone report RECORD --text`";
        write_whole(&path, html(&self.findings())?.as_bytes(), remedy)?;
        Ok(path)
    }
}

/// Builds the plan's drivers and runs it. Ctrl-C leaves a partial record, which `touchstone judge` reads like any other.
///
/// # Errors
/// When a driver cannot be built or the lab itself fails.
pub fn measure(project: &Project, plan: &Plan, arguments: &MeasureArguments) -> anyhow::Result<Judged> {
    let folder = arguments.out.clone().unwrap_or_else(|| default_folder(project, plan));
    let scratch = std::path::absolute(scratch::folder(arguments.scratch.as_deref(), &folder))?;
    // What can be refused is refused before minutes are spent on building.
    refuse_occupied(&folder)?;
    refuse_memory_disk(plan, &scratch)?;
    refuse_unwritable(&folder, "the record", "--out")?;
    if arguments.scratch.is_some() {
        refuse_unwritable(&scratch, "databases", "--scratch")?;
    }
    let plan = &project.at_hand(plan)?;
    plan.left_out.iter().for_each(|left_out| say::note(&format!("left out: {left_out}")));
    remove_abandoned(project, arguments, &folder);
    let stop = stop_on_signal()?;
    let mut bench = Bench::announce();
    tell_of_others(&bench.met());
    let built = project.build(plan, |subject| say::note(&format!("building {subject}")));
    // Ctrl-C in a terminal reaches the build tool as well, which then fails for no reason of its own.
    if stop.load(Ordering::Relaxed) {
        return Err(Error::new(ErrorKind::Interrupted, "stopped before the run began").into());
    }
    built?;
    let salt = arguments.salt.unwrap_or_else(random_salt);
    let manifest = Manifest {
        record_version: RECORD_VERSION,
        touchstone: env!("CARGO_PKG_VERSION").into(),
        started: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        status: Status::Running,
        reason: None,
        beside: bench.met().into_iter().collect(),
        command: command_line(),
        salt,
        elapsed_s: 0.0,
    };
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the record's folder {}", folder.display()))?;
    let folder = folder.canonicalize()?;
    let mut writer = Writer::create(&folder, manifest, plan, &environment(&scratch))?;
    let claim = Claim::new(scratch.clone())?;
    let began = Instant::now();
    let bar = Bar::new();
    let setting = Setting {
        project,
        manners: Manners { limit: Duration::from_secs_f64(arguments.limit), stop },
        scratch,
        salt,
        progress: &bar,
    };
    let ended = run(plan, &setting, &mut writer);
    drop(claim);
    bar.clear();
    let elapsed_s = began.elapsed().as_secs_f64();
    let finished = writer.finish(|manifest| {
        manifest.elapsed_s = elapsed_s;
        manifest.beside.extend(bench.came());
        match &ended {
            Ok(()) => manifest.status = Status::Complete,
            Err(error) => {
                manifest.status = Status::Partial;
                manifest.reason = Some(error.to_string());
            }
        }
    });
    match ended {
        Ok(()) => finished?,
        Err(error) => {
            say::note(&format!("the record so far is in {}", folder.display()));
            return Err(error.into());
        }
    }
    judge_folder(&folder)
}

/// A number that JSON's readers keep whole. The standard library seeds its hashes from the system's own randomness.
fn random_salt() -> u64 {
    RandomState::new().build_hasher().finish() >> 11
}

/// Judges the record in a folder and writes its statistics and verdict beside it.
///
/// # Errors
/// When the record cannot be read or the files cannot be written.
pub fn judge_folder(folder: &Path) -> anyhow::Result<Judged> {
    let judged = Judged::of(folder, Record::read(folder)?);
    let remedy = "copy the record to a folder that can be written to, and run `touchstone judge` there";
    write_json(&folder.join(file::STATISTICS), &judged.statistics, remedy)?;
    write_json(&folder.join(file::VERDICT), &judged.judgement, remedy)?;
    Ok(judged)
}

/// A file that was computed from the samples says what they say.
fn refuse_edited(path: &Path, kept: &Value, computed: &impl Serialize) -> anyhow::Result<()> {
    if *kept == serde_json::to_value(computed)? {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path).display();
    let message = format!(
        "{}: this is not what the record's samples say: it was edited, or another version of touchstone wrote it; run \
         `touchstone judge {folder}`, which decides from the samples again",
        path.display()
    );
    Err(touchstone::Error::record(message).into())
}

/// Killed runs could not remove their scratch folders: those that would lie beside this run's are removed now.
fn remove_abandoned(project: &Project, arguments: &MeasureArguments, record: &Path) {
    let (runs, record) = (project.root.join("runs"), std::path::absolute(record).unwrap_or_default());
    let of_records = [record.parent().unwrap_or(&runs), &runs];
    for folder in scratch::remove_abandoned(arguments.scratch.as_deref(), &of_records) {
        say::note(&format!("removed the scratch folder of a run that was killed: {}", folder.display()));
    }
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

/// A commit cannot reach a disk that is memory: its time would say nothing.
fn refuse_memory_disk(plan: &Plan, scratch: &Path) -> anyhow::Result<()> {
    match plan.cases.iter().find(|case| case.flushes) {
        Some(case) if !reaches_disk(scratch) => Err(Error::new(
            ErrorKind::Input,
            format!(
                "{} is memory, not a disk, and case {} measures commits that reach one: give a folder on a disk \
                 with --scratch",
                scratch.display(),
                case.id
            ),
        )
        .into()),
        _ => Ok(()),
    }
}

fn default_folder(project: &Project, plan: &Plan) -> PathBuf {
    let suites: Vec<&str> = plan.suites.iter().map(|suite| suite.name.as_str()).collect();
    let name = format!("{}-{}-{}", Timestamp::now().strftime("%Y%m%dT%H%M%SZ"), suites.join("-"), plan.size);
    project.root.join("runs").join(name)
}

/// The command as it can be typed again, without the path of the program.
fn command_line() -> String {
    let quote = |argument: String| {
        let plain = argument.chars().all(|c| c.is_ascii_alphanumeric() || "@#-_=./,:".contains(c));
        if plain && !argument.is_empty() {
            argument
        } else {
            format!("'{}'", argument.replace('\'', "'\\''"))
        }
    };
    let arguments: Vec<String> = std::env::args().skip(1).map(quote).collect();
    format!("touchstone {}", arguments.join(" "))
}
