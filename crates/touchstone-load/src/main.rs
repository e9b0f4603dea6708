//! The `touchstone-load` program.

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;
use touchstone_load::command::{Cli, tell_machines};
use touchstone_load::exit;
use touchstone_load::plain::lines;

fn main() -> ExitCode {
    let json = std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json");
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            if !error.use_stderr() {
                let _ = error.print();
                return ExitCode::SUCCESS;
            }
            tell_usage(&error);
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
            let _ = writeln!(std::io::stderr(), "touchstone-load: {}", lines(&format!("{error:#}")));
            let status = exit::of(&error);
            if json {
                tell_machines(status, &format!("{error:#}"));
            }
            status.into()
        }
    }
}

/// What is wrong with the command line, in colours, unless a word of it would do something where it is shown.
fn tell_usage(error: &clap::Error) {
    let text = error.to_string();
    let shown = lines(&text);
    let _ = if shown == text { error.print() } else { std::io::stderr().write_all(shown.as_bytes()) };
}
