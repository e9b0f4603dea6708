//! The command line. Each verb is a file.

mod capacity;
mod folder;
mod hold;
mod merge;
mod offer;
mod parent;
mod report;
mod run;
mod say;
mod watch;
mod worker;

pub use parent::PARENT;

use clap::{Args, ColorChoice, Parser, Subcommand};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Offers load to an HTTP service, and tells what it did with it. Latencies count from the intended start of each request, so a
/// stall of the service is in them; a result beyond the generator's own limits is said to be invalid.
#[derive(Debug, Parser)]
#[command(
    name = "touchstone-load",
    version,
    color = ColorChoice::Auto,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
        touchstone-load http://127.0.0.1:8000/ --rate 2000 --for 10s   an open loop\n  \
        touchstone-load http://127.0.0.1:8000/ --users 8 --for 20s     a closed loop\n  \
        touchstone-load upload.toml --out upload-record                a scenario; its record in a folder\n  \
        touchstone-load upload.toml --requests upload.csv              a line for every request that ended\n  \
        touchstone-load capacity upload.toml --limits 'p99 < 50ms, failures < 0.1%'\n  \
        touchstone-load upload.toml --shard 1/2 --out one              half of it, here; the other half elsewhere\n  \
        touchstone-load merge one two --out both\n  \
        touchstone-load worker upload.toml --master 127.0.0.1:5557     a worker of a Locust fleet\n\n\
        What is not given is as the scenario's file says.\n\n\
        Exit status: 0 done, 1 a limit does not hold, every request failed or a stream was lost, 3 invalid, 64 makes no sense, 69 no service, 74 input or output, 130 stopped"
)]
pub struct Cli {
    #[command(flatten)]
    run: run::Run,
    /// Print for machines: one JSON document on standard output, errors too
    #[arg(long, global = true, display_order = 901)]
    json: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Capacity(Box<capacity::Capacity>),
    Merge(merge::Merge),
    Report(report::Report),
    Worker(Box<worker::Worker>),
    Completions(Completions),
}

/// Prints completions for a shell
#[derive(Args, Debug)]
struct Completions {
    /// For which shell
    shell: clap_complete::Shell,
}

impl Cli {
    /// Does what was asked, and says how it ended.
    ///
    /// # Errors
    /// When it could not be done; [`exit::of`](crate::exit::of) gives the status for it.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        parent::end_with_it()?;
        match self.command {
            None => self.run.run(self.json),
            Some(Command::Capacity(capacity)) => capacity.run(self.json),
            Some(Command::Merge(merge)) => merge.run(self.json),
            Some(Command::Report(report)) => report.run(self.json),
            Some(Command::Worker(worker)) => worker.run(),
            Some(Command::Completions(completions)) => {
                let mut command = <Cli as clap::CommandFactory>::command();
                // Into memory first: what writes it takes a reader that has gone away, as `head` does, for a mistake of its own.
                let mut script = Vec::new();
                clap_complete::generate(completions.shell, &mut command, "touchstone-load", &mut script);
                say::bytes(&script)?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

/// A flag that Ctrl-C sets. The second ends the program at once.
fn stop_on_signal() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the shutdown looks at the flag before the registration after it sets it.
        signal_hook::flag::register_conditional_shutdown(
            signal,
            i32::from(crate::exit::INTERRUPTED),
            Arc::clone(&stop),
        )?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// An error for machines, as the lab prints it: `{"error": {"kind": "usage", "message": "…", "exit": 64}}`.
pub fn tell_machines(status: u8, message: &str) {
    let error = serde_json::json!({ "kind": crate::exit::kind(status), "message": message, "exit": status });
    let _ = say::json(&serde_json::json!({ "error": error }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Capacity, Load};
    use clap::CommandFactory;

    /// What an option is where nobody gives it stands in its help, and is what the code says.
    #[test]
    fn help_names_the_defaults_there_are() {
        let (load, capacity) = (Load::default(), Capacity::default());
        let command = Cli::command();
        let help = |verb: Option<&str>, option: &str| {
            let command = verb.map_or(&command, |verb| command.find_subcommand(verb).expect(verb));
            let found = command.get_arguments().find(|argument| argument.get_id() == option).expect(option);
            found.get_help().map(ToString::to_string).unwrap_or_default()
        };
        for (verb, option, default) in [
            (None, "arrivals", format!("{:?}", load.arrivals).to_lowercase()),
            (None, "streams", load.streams.to_string()),
            (None, "timeout", load.timeout.to_string().replace(' ', "")),
            (None, "threads", load.threads.to_string()),
            (None, "pacing", format!("{:?}", load.pacing).to_lowercase()),
            (None, "seed", load.seed.to_string()),
            (Some("capacity"), "from", capacity.from.to_string()),
            (Some("capacity"), "to", capacity.to.to_string()),
            (Some("capacity"), "step", capacity.step.to_string().replace(' ', "")),
            (Some("capacity"), "confirm", capacity.confirm.to_string().replace(' ', "")),
        ] {
            let said = help(verb, option);
            assert!(said.ends_with(&format!("; {default} unless given")), "--{option}: {said} ({default})");
        }
    }
}
