//! `touchstone-load worker`: offers load as a worker of a Locust fleet.

use super::folder::Folder;
use super::offer::Offer;
use super::{say, stop_on_signal};
use crate::duration::Duration;
use crate::error::{Error, Result};
use crate::exit;
use crate::fleet::{End, Event, Settings, work};
use crate::outcome::Outcome;
use crate::report::count;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Offers load as a worker of a Locust fleet: Locust's master says how many users there are and shows what they count. Each test that
/// it starts leaves its exact outcome
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  \
    locust --master -f locustfile.py\n  \
    touchstone-load worker upload.toml --master 127.0.0.1:5557 --out worker-record")]
pub(super) struct Worker {
    #[command(flatten)]
    offer: Offer,
    /// Locust's master; its port is 5557 unless given
    #[arg(long, value_name = "HOST:PORT")]
    master: String,
    /// How long the master may say nothing before the worker gives up
    #[arg(long, value_name = "DURATION", default_value = "60s")]
    patience: Duration,
    /// The folder for the outcomes, one folder a test, numbered from 1; it must not be there
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

const PORT: u16 = 5557;

impl Worker {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        if self.offer.says_how_much() {
            return Err(Error::input(
                "Locust's master says how many users there are, and for how long: leave --rate, --users, --for and --warm-up out",
            )
            .into());
        }
        let settings = Settings {
            master: with_port(&self.master)?,
            patience: std::time::Duration::from_nanos(self.patience.nanos()),
            scenario: self.offer.scenario()?,
        };
        // What is wrong with the scenario is said now, and not when the first users come.
        crate::plan::Plan::of_fleet(settings.scenario.clone(), 0)?;
        let mut record = Record::make(self.out.as_deref())?;
        let stop = stop_on_signal()?;
        let ended = work(&settings, &stop, &mut |event| tell(event, &settings, &mut record));
        record.written?;
        Ok(match ended? {
            End::Quit => ExitCode::SUCCESS,
            End::Stopped => exit::INTERRUPTED.into(),
        })
    }
}

/// The master with its port.
fn with_port(master: &str) -> Result<String> {
    let is_bare = !master.contains(':') || master.ends_with(']');
    let master = if is_bare { format!("{master}:{PORT}") } else { master.to_owned() };
    let (host, port) = master.rsplit_once(':').unwrap_or_default();
    if host.is_empty() || port.parse::<u16>().is_err() || host.contains('/') {
        return Err(Error::input(format!("`{master}` is no master: write it as 127.0.0.1:5557")));
    }
    Ok(master)
}

fn tell(event: Event, settings: &Settings, record: &mut Record) {
    let master = &settings.master;
    match event {
        Event::Ready(number) => {
            say::note(&format!("ready: the master at {master} knows this worker by number {number}"))
        }
        Event::Users(users) => say::note(&format!("{} users", count(f64::from(users)))),
        Event::Ended(outcome) => record.keep(&outcome),
        Event::Failed(error) => say::note(&format!("the test cannot go on: {error}")),
        Event::Lost(why) => say::note(&format!("the connection to the master at {master} is lost: {why}")),
    }
}

/// Where outcomes go.
struct Record {
    folder: Option<PathBuf>,
    tests: u32,
    /// What went wrong with the first that could not be written. The worker goes on: the master counts on it.
    written: anyhow::Result<()>,
}

impl Record {
    fn make(folder: Option<&Path>) -> Result<Record> {
        if let Some(folder) = folder {
            Folder::make(folder)?;
        }
        Ok(Record { folder: folder.map(Path::to_owned), tests: 0, written: Ok(()) })
    }

    fn keep(&mut self, outcome: &Outcome) {
        self.tests += 1;
        let all = outcome.total();
        say::note(&format!(
            "test {} has ended: {} requests, {} failed",
            self.tests,
            count(all.ended() as f64),
            count(all.failed() as f64)
        ));
        let Some(folder) = &self.folder else { return };
        let place = folder.join(self.tests.to_string());
        let written =
            Folder::make(&place).map_err(anyhow::Error::from).and_then(|folder| folder.fill(outcome));
        if let Err(error) = written {
            say::note(&format!("{error:#}"));
            self.written = std::mem::replace(&mut self.written, Ok(())).and(Err(error));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_master_has_a_port() {
        for (text, expected) in [
            ("127.0.0.1:5560", Some("127.0.0.1:5560")),
            ("locust-master", Some("locust-master:5557")),
            ("[::1]", Some("[::1]:5557")),
            ("[::1]:7", Some("[::1]:7")),
            ("http://a:1", None),
            ("a:b", None),
            (":1", None),
        ] {
            assert_eq!(with_port(text).ok().as_deref(), expected, "{text}");
        }
    }
}
