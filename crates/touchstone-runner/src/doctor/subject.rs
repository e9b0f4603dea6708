//! What the drivers that are built link, in their own words. Nothing is built, and no database is opened.

use super::engine;
use crate::kits::Project;
use crate::session::{Manners, Session, Stop};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use touchstone::kit::Subject;

/// How long one driver may take to introduce itself.
const HELLO_LIMIT: Duration = Duration::from_secs(5);

/// Drivers asked at the same time, at the most: they only start and say who they are.
const WORKERS_MAX: usize = 4;

/// A subject and what was found of its driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubjectReport {
    /// The kit's language.
    pub language: String,
    /// The subject, as in the kit's table.
    pub subject: String,
    /// What was found.
    #[serde(flatten)]
    pub state: SubjectState,
}

/// What was found of a driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum SubjectState {
    /// It introduced itself.
    Linked {
        /// The subject's version.
        version: String,
        /// The database library really linked, with its version.
        engine: String,
        /// The engine's own source identification, where it has one.
        engine_source: String,
        /// How the engine was compiled.
        compile_options: Vec<String>,
        /// Whether the linked SQLite carries the WAL-reset fix; none for other engines.
        wal_reset_fix: Option<bool>,
    },
    /// Its program is not there: `touchstone bench` builds it.
    NotBuilt,
    /// Its program is there and did not introduce itself.
    Failed {
        /// Why.
        error: String,
    },
    /// There was no time left to ask.
    NotAsked,
}

/// Asks every driver that is built and meant to behave what it links, for no longer than `limit`.
pub fn subjects(project: &Project, limit: Duration, stop: &Stop) -> Vec<SubjectReport> {
    let until = Instant::now() + limit;
    // Drivers run in their kit's folder, where a relative path to them would lead nowhere.
    let root = std::path::absolute(&project.root).unwrap_or_else(|_| project.root.clone());
    let asked: Vec<(&str, &Subject)> =
        project.kits.subjects().filter(|(_, subject)| !subject.canary).collect();
    let next = AtomicUsize::new(0);
    let reports = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((language, subject)) = asked.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let state = Driver { root: &root, language, subject }.state(until, stop);
                    let (language, subject) = ((*language).to_owned(), subject.name.clone());
                    let report = SubjectReport { language, subject, state };
                    reports.lock().expect("no worker panics while holding it").push(report);
                }
            });
        }
    });
    let mut reports = reports.into_inner().expect("no worker panics while holding it");
    // In the order of the kits' tables again.
    let place = |report: &SubjectReport| asked.iter().position(|(_, subject)| subject.name == report.subject);
    reports.sort_by_key(place);
    reports
}

/// The driver of a subject.
struct Driver<'d> {
    root: &'d Path,
    language: &'d str,
    subject: &'d Subject,
}

impl Driver<'_> {
    fn state(&self, until: Instant, stop: &Stop) -> SubjectState {
        if !self.built() {
            return SubjectState::NotBuilt;
        }
        let limit = until.saturating_duration_since(Instant::now()).min(HELLO_LIMIT);
        if limit.is_zero() || stop.load(Ordering::Relaxed) {
            return SubjectState::NotAsked;
        }
        // Dropping the session ends the driver: it has opened nothing, and need not be waited for.
        let hello = Session::start(self.command(), Manners { limit, stop: Stop::clone(stop) })
            .and_then(|mut session| session.hello());
        match hello {
            Ok(hello) => SubjectState::Linked {
                wal_reset_fix: engine::carries_wal_reset_fix(&hello.engine),
                version: hello.version,
                engine: hello.engine,
                engine_source: hello.engine_source,
                compile_options: hello.compile_options,
            },
            Err(error) => SubjectState::Failed { error: self.without_root(&error.to_string()) },
        }
    }

    fn folder(&self) -> PathBuf {
        self.root.join("kits").join(self.language)
    }

    fn command(&self) -> Command {
        let program = &self.subject.run[0];
        // A bare name is looked up in PATH, as `python3`; a path is the kit's own.
        let program = if program.contains('/') { self.folder().join(program) } else { program.into() };
        let mut command = Command::new(program);
        command.args(&self.subject.run[1..]).current_dir(self.folder());
        command
    }

    /// Whether every file of its own that its command names is there.
    fn built(&self) -> bool {
        // An option, a list or a pattern of paths names no single file that could be looked for.
        let file =
            |word: &&String| word.contains('/') && !word.starts_with('-') && !word.contains([':', '*', '=']);
        self.subject.run.iter().filter(file).all(|word| self.folder().join(word).exists())
    }

    /// The folder that the project lies in is the user's own business.
    fn without_root(&self, message: &str) -> String {
        message.replace(&format!("{}/", self.root.display()), "")
    }
}
