//! `touchstone man`: the manual page, made from the same text as `--help`.

use crate::Cli;
use clap::{Args, CommandFactory};
use std::process::ExitCode;

/// Prints the manual page
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  touchstone man > touchstone.1 && man ./touchstone.1")]
pub struct Man {}

impl Man {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let mut page = Vec::new();
        let command = Cli::command();
        clap_mangen::Man::new(command.clone()).render(&mut page)?;
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let mut section = Vec::new();
            clap_mangen::Man::new(verb.clone()).render_options_section(&mut section)?;
            let title = format!(".SH \"{} OPTIONS\"", verb.get_name().to_uppercase());
            page.extend(String::from_utf8(section)?.replacen(".SH OPTIONS", &title, 1).into_bytes());
        }
        crate::say::text(&String::from_utf8(page)?)?;
        Ok(ExitCode::SUCCESS)
    }
}
