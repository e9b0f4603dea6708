//! `touchstone load`: hands over to the load generator, which is a program of its own: the lab links none of it.

use crate::Context;
use anyhow::Context as _;
use clap::Args;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use touchstone_runner::{Error, ErrorKind};

/// The generator's package and program.
const PROGRAM: &str = "touchstone-load";

/// Offers load to an HTTP service: everything behind `load` goes to the program touchstone-load, which is built where it is missing
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "Examples:\n  \
        touchstone load --help\n  \
        touchstone load http://127.0.0.1:8000/ --rate 2000 --for 10s\n  \
        touchstone load capacity upload.toml --limits 'p99 < 50ms, failures < 0.1%'"
)]
pub struct Load {
    /// What the generator is told
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

impl Load {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let program = match beside()? {
            Some(program) => program,
            None => build(&context.project()?.root)?,
        };
        let mut command = Command::new(&program);
        command.args(&self.arguments);
        if context.json {
            command.arg("--json");
        }
        // This process becomes the generator: its signals, its status and its output are those of the command.
        let error = command.exec();
        Err(Error::io(format_args!("starting {}", program.display()), &error).into())
    }
}

/// The program beside the command, as an installation has it.
fn beside() -> anyhow::Result<Option<PathBuf>> {
    let own = std::env::current_exe().context("finding the command's own folder")?;
    let program = own.with_file_name(PROGRAM);
    Ok((program.exists() && !is_in_a_project(&own)).then_some(program))
}

/// Whether a program lies where cargo builds a project's: it may be older than its source.
fn is_in_a_project(program: &Path) -> bool {
    program.ancestors().any(|folder| folder.join("kits").is_dir() && folder.join("suites").is_dir())
}

fn build(root: &Path) -> anyhow::Result<PathBuf> {
    let arguments =
        ["build", "--quiet", "--release", "--locked", "--target-dir", "target", "--package", PROGRAM];
    let status = Command::new("cargo").args(arguments).current_dir(root).status().map_err(|error| {
        Error::new(
            ErrorKind::Missing,
            format!("the load generator is not built, and cargo cannot be started: {error}"),
        )
    })?;
    if !status.success() {
        return Err(Error::new(ErrorKind::Build, format!("{PROGRAM} could not be built")).into());
    }
    Ok(root.join("target/release").join(PROGRAM))
}
