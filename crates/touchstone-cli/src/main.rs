//! The `touchstone` command: turns published benchmarks into claims and re-tests them on this machine.

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;
use touchstone_cli::{Cli, exit, failure};

fn main() -> ExitCode {
    let json = failure::json_is_asked(std::env::args_os().skip(1));
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            if !error.use_stderr() {
                return ExitCode::SUCCESS;
            }
            if json {
                failure::tell(exit::USAGE, &failure::argument_message(&error));
            }
            return exit::USAGE.into();
        }
    };
    match cli.run() {
        Ok(code) => code,
        Err(error) => {
            // The status says it too, where nobody reads standard error any more.
            let _ = writeln!(std::io::stderr(), "touchstone: {error:#}");
            let status = exit::of(&error);
            if json {
                failure::tell(status, &format!("{error:#}"));
            }
            status.into()
        }
    }
}
