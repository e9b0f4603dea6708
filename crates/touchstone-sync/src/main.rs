//! The `touchstone-sync` program.

use clap::Parser;
use std::process::ExitCode;
use touchstone_sync::command::Cli;
use touchstone_sync::exit;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { exit::USAGE.into() } else { ExitCode::SUCCESS };
        }
    };
    match cli.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("touchstone-sync: {error:#}");
            exit::of(&error).into()
        }
    }
}
