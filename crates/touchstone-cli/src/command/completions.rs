//! `touchstone completions`: completions for a shell.

use crate::Cli;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::process::ExitCode;

/// Prints completions for a shell
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  touchstone completions bash > /etc/bash_completion.d/touchstone")]
pub struct Completions {
    /// For which shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let mut completions = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "touchstone", &mut completions);
        crate::say::text(&String::from_utf8(completions)?)?;
        Ok(ExitCode::SUCCESS)
    }
}
