//! The `touchstone` command: turns published benchmarks into claims and re-tests them on this machine.

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;
use touchstone_cli::{Cli, exit};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { exit::USAGE.into() } else { ExitCode::SUCCESS };
        }
    };
    match cli.run() {
        Ok(code) => code,
        Err(error) => {
            // The status says it too, where nobody reads standard error any more.
            let _ = writeln!(std::io::stderr(), "touchstone: {error:#}");
            exit::of(&error).into()
        }
    }
}
