//! The `touchstone-load` program.

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;
use touchstone_load::command::{Cli, tell_machines};
use touchstone_load::exit;

fn main() -> ExitCode {
    let json = std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json");
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            if !error.use_stderr() {
                return ExitCode::SUCCESS;
            }
            if json {
                tell_machines(exit::USAGE, error.to_string().lines().next().unwrap_or_default());
            }
            return exit::USAGE.into();
        }
    };
    match cli.run() {
        Ok(code) => code,
        Err(error) => {
            // The status says it too, where nobody reads standard error any more.
            let _ = writeln!(std::io::stderr(), "touchstone-load: {error:#}");
            let status = exit::of(&error);
            if json {
                tell_machines(status, &format!("{error:#}"));
            }
            status.into()
        }
    }
}
