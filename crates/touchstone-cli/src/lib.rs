//! The command line as a library, so that its help, man page and completions can be made and tested from it.

mod command;
pub mod exit;
pub mod failure;
mod generator;
mod interrupt;
mod progress;
mod say;

use clap::{ColorChoice, Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use touchstone_runner::kits::Project;

/// Re-tests the claims of published storage benchmarks on this machine, in your own language, with checked answers,
/// honest statistics and counted syncs.
#[derive(Debug, Parser)]
#[command(
    name = "touchstone",
    version,
    color = ColorChoice::Auto,
    after_help = "Examples:\n  \
        touchstone bench                         every suite, quick: a quarter of an hour\n  \
        touchstone bench --suite couch           one suite\n  \
        touchstone bench --case wcdb/read --contender rusqlite --size full\n  \
        touchstone gate --case couch/get --baseline rusqlite@delete-full --candidate rusqlite@wal-normal\n  \
        touchstone doctor                        what this machine can and cannot show\n\n\
        suite > plan > run > judge > report: every arrow is a command and a file; `bench` does them all.\n\
        Exit status: docs/exit-codes.md"
)]
pub struct Cli {
    /// The folder that holds suites/ and kits/; the nearest at or above the current one, unless given
    #[arg(long, global = true, value_name = "FOLDER", display_order = 900)]
    root: Option<PathBuf>,
    /// Print for machines: one JSON document on standard output, errors too
    #[arg(long, global = true, display_order = 901)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Bench(command::bench::Bench),
    Plan(command::plan::Plan),
    Run(command::run::Run),
    Judge(command::judge::Judge),
    Report(command::report::Report),
    List(command::list::List),
    Doctor(command::doctor::Doctor),
    Calibrate(command::calibrate::Calibrate),
    Gate(command::gate::Gate),
    Load(command::load::Load),
    Capacity(command::capacity::Capacity),
    Completions(command::completions::Completions),
    Man(command::man::Man),
}

/// What every command is handed.
struct Context {
    root: Option<PathBuf>,
    json: bool,
}

impl Context {
    fn project(&self) -> anyhow::Result<Project> {
        Ok(Project::open(self.root.as_deref())?)
    }
}

impl Cli {
    /// Does what was asked and says how it ended.
    ///
    /// # Errors
    /// When it could not be done; [`exit::of`] gives the status for it.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let context = Context { root: self.root, json: self.json };
        match self.command {
            Command::Bench(bench) => bench.run(&context),
            Command::Plan(plan) => plan.run(&context),
            Command::Run(run) => run.run(&context),
            Command::Judge(judge) => judge.run(&context),
            Command::Report(report) => report.run(&context),
            Command::List(list) => list.run(&context),
            Command::Doctor(doctor) => doctor.run(&context),
            Command::Calibrate(calibrate) => calibrate.run(&context),
            Command::Gate(gate) => gate.run(&context),
            Command::Load(load) => load.run(&context),
            Command::Capacity(capacity) => capacity.run(&context),
            Command::Completions(completions) => completions.run(),
            Command::Man(man) => man.run(),
        }
    }
}
