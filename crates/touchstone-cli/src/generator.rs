//! The load generator and what else services are measured with: programs of the project that the command starts and does not link, built
//! where they are missing or may be old.

use anyhow::Context as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use touchstone::plan::Plan;
use touchstone_runner::kits::Project;
use touchstone_runner::service::Tools;
use touchstone_runner::{Error, ErrorKind};

/// The load generator's package and program.
const GENERATOR: &str = "touchstone-load";

/// The package of the library that makes flushes last, and its file.
const FLUSH: (&str, &str) = ("touchstone-flush", "libtouchstone_flush.so");

/// What the cases of a plan need: nothing is built for a plan without services.
///
/// # Errors
/// When something cannot be built.
pub fn of_plan(project: &Project, plan: &Plan) -> anyhow::Result<Tools> {
    let mut tools = Tools::default();
    if plan.cases.iter().any(|case| case.load.is_some()) {
        tools.generator = program(|| Ok(project.root.clone()))?;
    }
    if plan.cases.iter().flat_map(|case| &case.arms).any(|arm| arm.flush_us.is_some()) {
        tools.flush = build(&project.root, FLUSH.0, FLUSH.1)?;
    }
    Ok(tools)
}

/// The load generator's program. `root` is asked for the project where it must be built.
///
/// # Errors
/// When it cannot be built, or there is no project.
pub fn program(root: impl FnOnce() -> anyhow::Result<PathBuf>) -> anyhow::Result<PathBuf> {
    match beside()? {
        Some(program) => Ok(program),
        None => build(&root()?, GENERATOR, GENERATOR),
    }
}

/// The program beside the command, as an installation has it.
fn beside() -> anyhow::Result<Option<PathBuf>> {
    let own = std::env::current_exe().context("finding the command's own folder")?;
    let program = own.with_file_name(GENERATOR);
    Ok((program.exists() && !is_in_a_project(&own)).then_some(program))
}

/// Whether a program lies where cargo builds a project's: it may be older than its source.
fn is_in_a_project(program: &Path) -> bool {
    program.ancestors().any(|folder| folder.join("kits").is_dir() && folder.join("suites").is_dir())
}

fn build(root: &Path, package: &str, file: &str) -> anyhow::Result<PathBuf> {
    let arguments =
        ["build", "--quiet", "--release", "--locked", "--target-dir", "target", "--package", package];
    let status = Command::new("cargo").args(arguments).current_dir(root).status().map_err(|error| {
        let message = format!("{package} is not built, and cargo cannot be started: {error}");
        Error::new(ErrorKind::Missing, message)
    })?;
    if !status.success() {
        return Err(Error::new(ErrorKind::Build, format!("{package} could not be built")).into());
    }
    Ok(root.join("target/release").join(file))
}
