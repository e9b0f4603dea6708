//! `touchstone load`: hands over to the load generator, which is a program of its own: the lab links none of it.

use crate::{Context, generator};
use clap::Args;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use touchstone_runner::Error;
use touchstone_runner::session::Stop;

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
        let program = generator::program(|| Ok(context.project()?.root), &Stop::default())?;
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
