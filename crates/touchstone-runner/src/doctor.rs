//! `touchstone doctor`: what this machine can do at best, and what about it would spoil a measurement.
//!
//! Goals: the limits that a result cannot pass (clock, flush, file, memory), the machine's own noise, what the built
//! drivers link, and warnings with a remedy, in a bounded time. Not goals: comparing subjects, building them, or
//! keeping anything: a diagnosis is printed, and nothing is left behind.

mod ceiling;
mod clock;
mod engine;
mod files;
mod flush;
mod memory;
mod page;
mod render;
mod rest;
#[cfg(test)]
mod sample;
mod subject;
mod turn;
mod units;
mod warning;

pub use ceiling::ceilings;
pub use clock::Clock;
pub use files::{FileRate, Files, Operation, Pattern, Route};
pub use flush::Flushes;
pub use memory::CopyRate;
pub use rest::Noise;
pub use subject::{SubjectReport, SubjectState, subjects};
pub use warning::Warning;

use crate::environment::{Facts, Limits};
use crate::error::Result;
use crate::kits::Project;
use crate::noise::NoiseMeter;
use crate::session::Stop;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use touchstone::record::Environment;
use turn::Timetable;

/// The version of the diagnosis's format.
pub const DIAGNOSIS_VERSION: u32 = 1;

/// How long an examination may take. Each part has a share of it and ends with its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// For everything together.
    pub total: Duration,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { total: Duration::from_secs(16) }
    }
}

/// What to examine, and how.
pub struct Examination<'e> {
    /// The directory that databases would be measured in. It must be there and writable.
    pub directory: &'e Path,
    /// The project whose built drivers are asked what they link; without one none are.
    pub project: Option<&'e Project>,
    /// The time there is.
    pub budget: Budget,
    /// Set when the user asks to stop.
    pub stop: Stop,
}

/// What was found. Holds no path, no host name and no user, so that it can be shown to others as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// [`DIAGNOSIS_VERSION`].
    pub diagnosis_version: u32,
    /// What should be known before anything here is measured, the worst first.
    pub warnings: Vec<Warning>,
    /// Machine, system, storage, limits and toolchain.
    pub environment: Environment,
    /// What telling the time costs.
    pub clock: Clock,
    /// What a durable write costs.
    pub flushes: Flushes,
    /// What reading and writing a file yields.
    pub files: Files,
    /// What copying memory yields, by size.
    pub memory: Vec<CopyRate>,
    /// What else the machine was doing.
    pub noise: Noise,
    /// Why syncs cannot be counted here, where they cannot.
    pub recorder_unavailable: Option<String>,
    /// Every subject that is meant to behave, and what its driver links.
    pub subjects: Vec<SubjectReport>,
    /// How long the examination took, in seconds.
    pub elapsed_s: f64,
}

/// How many bytes this machine copies in memory in a second, beyond its caches; none where that could not be measured. It takes
/// half a second.
#[must_use]
pub fn copied_per_second() -> Option<f64> {
    const BUDGET: Duration = Duration::from_secs(2);
    let stop = AtomicBool::new(false);
    let timetable = Timetable::new(Instant::now(), BUDGET, &stop);
    memory::measure_largest(&Limits::read(), &timetable.memory())
}

/// Examines the machine. `say` is told what is being done.
///
/// # Errors
/// When the directory is not there or cannot be written, its disk is full, or the user stops it. No file is left.
pub fn examine(examination: &Examination<'_>, say: impl Fn(&str)) -> Result<Diagnosis> {
    let Examination { directory, project, budget, ref stop } = *examination;
    let begun = Instant::now();
    let timetable = Timetable::new(begun, budget.total, stop);
    // First of all the one thing that can be wrong with what was asked for: the directory.
    let probe = crate::probe::FlushProbe::new(directory)?;
    say("reading what the system tells of itself");
    let facts = Facts::read(directory);
    say("listening to the machine at rest");
    let at_rest = rest::listen(&timetable.rest())?;
    let meter = NoiseMeter::start();
    say("reading the clock");
    let clock = Clock::measure(&timetable.clock())?;
    say("flushing");
    let flushes = Flushes::measure(probe, &timetable.flush())?;
    say("reading and writing a file");
    let files = Files::measure(directory, &facts.storage, &timetable.files())?;
    say("copying memory");
    let memory = memory::measure(&facts.limits, &timetable.memory())?;
    let noise = Noise { at_rest, examination: meter.stop() };
    say("looking whether syncs can be counted");
    let recorder_unavailable = touchstone_recorder::unavailable();
    say("asking the drivers what they link");
    let turn = timetable.subjects();
    let subjects = project.map_or(Vec::new(), |project| subjects(project, turn.left(), stop));
    turn.go_on()?;
    let mut diagnosis = Diagnosis {
        diagnosis_version: DIAGNOSIS_VERSION,
        warnings: Vec::new(),
        environment: facts.texts(),
        clock,
        flushes,
        files,
        memory,
        noise,
        recorder_unavailable,
        subjects,
        elapsed_s: begun.elapsed().as_secs_f64(),
    };
    diagnosis.warnings = warning::warnings(&facts, &diagnosis);
    Ok(diagnosis)
}
