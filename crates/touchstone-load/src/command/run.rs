//! `touchstone-load FILE`: runs a scenario.

use super::folder::Folder;
use super::offer::{Offer, shard};
use super::{hold, say, stop_on_signal, watch};
use crate::error::Error;
use crate::exit;
use crate::memory::Process;
use crate::outcome::Outcome;
use crate::report;
use crate::requests::RequestsFile;
use crate::run::{Control, Start, run_with};
use crate::schedule::Share;
use clap::Args;
use jiff::Timestamp;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub(super) struct Run {
    #[command(flatten)]
    offer: Offer,
    /// Run only this part of the plan, as 3/10; `merge` adds the parts
    #[arg(long, value_name = "PART", value_parser = shard)]
    shard: Option<Share>,
    /// Begin the first phase at this time, as 2030-01-31T12:00:00Z, so that shards on several machines begin together
    #[arg(long, value_name = "TIME")]
    start_at: Option<Timestamp>,
    /// Set users up, write `ready` to standard error, and begin the first phase when a line comes on standard input or it ends
    #[arg(long, conflicts_with = "start_at")]
    hold: bool,
    /// The folder for the outcome, its log of latencies and its page; it must not be there
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// A file for every request that ended, a line of CSV for each; one that is there is written over
    #[arg(long, value_name = "FILE")]
    requests: Option<PathBuf>,
    /// The service's process on this machine, whose memory is then told: before streams of events are opened, and with them open
    #[arg(long, value_name = "NUMBER")]
    process: Option<u32>,
}

impl Run {
    pub(super) fn run(self, json: bool) -> anyhow::Result<ExitCode> {
        let scenario = self.offer.scenario()?;
        let plan = self.offer.plan(scenario, self.shard.unwrap_or(Share::WHOLE))?;
        if plan.phases.is_empty() {
            return Err(
                Error::input("nothing says how much to offer: add a `[[phase]]`, --rate or --users").into()
            );
        }
        let process = self.process.map(Process::of).transpose()?;
        let folder = self.out.as_deref().map(Folder::make).transpose()?;
        let requests = self.requests.as_deref().map(RequestsFile::make).transpose()?;
        let stop = stop_on_signal()?;
        let watch = watch::Watch::new(json);
        let told = || hold::until_told(&stop);
        let start = match self.start_at {
            Some(time) => Start::At(time.into()),
            None if self.hold => Start::Told(&told),
            None => Start::AtOnce,
        };
        let control = Control { start, requests: requests.as_ref(), process, ..Control::of(&stop) };
        let outcome = run_with(&plan, control, |progress| watch.show(progress));
        watch.clear();
        let outcome = outcome?;
        if let Some(folder) = folder {
            folder.fill(&outcome)?;
        }
        let status = tell(&outcome, json)?;
        // What was counted is told whatever became of the file.
        requests.map_or(Ok(()), RequestsFile::end)?;
        Ok(status)
    }
}

/// Prints an outcome. The status says how it ended.
pub(super) fn tell(outcome: &Outcome, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        say::json(outcome)?;
    } else {
        say::text(&report::summary(outcome, say::width()))?;
    }
    Ok(status(outcome).into())
}

fn status(outcome: &Outcome) -> u8 {
    if outcome.stopped.is_some() {
        exit::INTERRUPTED
    } else if !outcome.is_valid() {
        exit::INVALID
    } else if !outcome.is_held() {
        exit::LIMIT
    } else {
        0
    }
}
