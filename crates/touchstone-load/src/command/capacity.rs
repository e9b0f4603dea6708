//! `touchstone-load capacity`: how much a service holds within limits.

use super::folder::Folder;
use super::offer::Offer;
use super::{say, stop_on_signal};
use crate::belief::Doubt;
use crate::capacity::Found;
use crate::course::Course;
use crate::duration::Duration;
use crate::error::Error;
use crate::exit;
use crate::limit::Limits;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::report::{count, duration, share};
use crate::run::run;
use crate::scenario::{Capacity as Asked, Phase, Scenario};
use crate::schedule::Share;
use crate::search::{Searched, Step};
use crate::trust::in_short;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Searches for the highest rate at which limits hold: it rises, halves the bracket, measures failing steps again (two of three) and
/// confirms the answer. Unless the limits say otherwise, failures < 1% is one of them
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    touchstone-load capacity http://127.0.0.1:8000/ --limits 'p99 < 50ms, failures < 0.1%'\n  \
    touchstone-load capacity upload.toml --from 200 --to 20000 --step 5s --out upload-capacity")]
pub(super) struct Capacity {
    #[command(flatten)]
    offer: Offer,
    /// The first rate, a second; 100 unless given
    #[arg(long, value_name = "RATE")]
    from: Option<f64>,
    /// The rate beyond which it is not searched; 1000000 unless given
    #[arg(long, value_name = "RATE")]
    to: Option<f64>,
    /// How long a step is measured; 3s unless given
    #[arg(long, value_name = "DURATION")]
    step: Option<Duration>,
    /// How long the answer is measured once more; 10s unless given
    #[arg(long, value_name = "DURATION")]
    confirm: Option<Duration>,
    /// The folder for the search, its page, and the outcome that confirmed its answer; it must not be there
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl Capacity {
    pub(super) fn run(self, json: bool) -> anyhow::Result<ExitCode> {
        let mut scenario = self.offer.scenario()?;
        let asked = &mut scenario.capacity;
        asked.from = self.from.unwrap_or(asked.from);
        asked.to = self.to.unwrap_or(asked.to);
        asked.step = self.step.unwrap_or(asked.step);
        asked.confirm = self.confirm.unwrap_or(asked.confirm);
        self.refuse_beyond_the_other(&scenario.capacity)?;
        scenario.capacity.check()?;
        let limits: Limits = match &scenario.limits {
            Some(limits) => limits.parse::<Limits>().map_err(Error::input)?.with_failures(),
            None => {
                return Err(Error::input(
                    "nothing says what must hold: add --limits 'p99 < 50ms, failures < 0.1%'",
                )
                .into());
            }
        };
        // What is wrong with the scenario is said before a folder is made for what it finds.
        self.offer.plan(at_rate(&scenario, scenario.capacity.from, scenario.capacity.step), Share::WHOLE)?;
        let folder = self.out.as_deref().map(Folder::make).transpose()?;
        let stop = stop_on_signal()?;
        let (searched, confirmed) = search(&scenario, &limits, &stop)?;
        if searched.doubts.is_empty() {
            searched
                .doubts_of_steps(|_| true)
                .iter()
                .for_each(|doubt| say::note(&format!("did not count: {doubt}")));
        }
        if let Some(folder) = folder {
            folder.fill_with_search(&searched, confirmed.as_ref())?;
        }
        tell(&searched, json)
    }
}

impl Capacity {
    /// Names the option that is beyond the other end of the search, where the command line says one of the two alone.
    fn refuse_beyond_the_other(&self, asked: &Asked) -> crate::error::Result<()> {
        let (from, to) = (asked.from, asked.to);
        match (self.from, self.to) {
            (Some(_), None) if from > to => {
                let message = format!(
                    "--from {from} is above {to}, beyond which it is not searched: give a lower rate"
                );
                Err(Error::input(message))
            }
            (None, Some(_)) if to < from => Err(Error::input(format!(
                "--to {to} is below {from}, the first rate: give a higher rate, or --from too"
            ))),
            _ => Ok(()),
        }
    }
}

/// Prints what a search has found. The status says how it ended.
pub(super) fn tell(searched: &Searched, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        say::json(searched)?;
    } else {
        say::text(&searched.told())?;
    }
    Ok(match searched.found {
        None if searched.doubts.is_empty() => exit::INTERRUPTED.into(),
        None => exit::INVALID.into(),
        Some(Found::Holds { .. }) => ExitCode::SUCCESS,
        Some(_) => exit::LIMIT.into(),
    })
}

/// Searches, and returns the outcome that confirmed the answer too.
fn search(
    scenario: &Scenario,
    limits: &Limits,
    stop: &AtomicBool,
) -> anyhow::Result<(Searched, Option<Outcome>)> {
    let asked = &scenario.capacity;
    let mut course = Course::new(scenario, limits);
    let mut confirmed = None;
    while let Some((rate, is_confirmation)) = course.ask() {
        let length = if is_confirmation { asked.confirm } else { asked.step };
        let plan = Plan::new(at_rate(scenario, rate, length), Share::WHOLE)?;
        let outcome = run(&plan, stop, |_| {})?;
        if stop.load(Ordering::Relaxed) {
            confirmed = None;
            break;
        }
        let step = course.take(Step::new(rate, is_confirmation, limits, &outcome), Doubt::of(&outcome));
        say::note(&line(step));
        confirmed = (is_confirmation && step.held).then_some(outcome);
    }
    let mut searched = course.searched();
    let confirmed = confirmed.filter(|_| searched.found.is_some());
    searched.ended_at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    Ok((searched, confirmed))
}

fn at_rate(scenario: &Scenario, rate: f64, length: Duration) -> Scenario {
    let phase = |name: &str, length, counted| Phase {
        name: Some(name.into()),
        length,
        rate: Some(rate),
        counted,
        ..Phase::default()
    };
    let mut phases = vec![phase("step", length, true)];
    if scenario.capacity.settle.nanos() > 0 {
        phases.insert(0, phase("settle", scenario.capacity.settle, false));
    }
    Scenario { phases, ..scenario.clone() }
}

fn line(step: &Step) -> String {
    let what = if step.is_confirmation { "confirming" } else { "step" };
    format!(
        "{what} {}/s: {} ({} requests/s, P50 {}, P99 {}, {} failed){}{}",
        count(step.rate.round()),
        if step.held { "holds" } else { "does not hold" },
        count(step.requests_a_second.round()),
        duration(step.p50_ns as f64),
        duration(step.p99_ns as f64),
        share(step.failed_share),
        step.why.as_ref().map_or(String::new(), |why| format!(": {why}")),
        if step.doubts.is_empty() {
            String::new()
        } else {
            // What was doubted in how many steps, and what helps, is told once in the end.
            let doubts: Vec<&str> = step.doubts.iter().map(|doubt| in_short(doubt)).collect();
            format!("; it does not count: {}", doubts.join("; "))
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        capacity: Capacity,
    }

    /// `--from 5000000` was refused as `capacity.to (--to)`, which nobody had given.
    #[test]
    fn the_option_that_is_beyond_the_other_end_is_named() {
        let refused = |words: &[&str]| {
            let cli = Cli::parse_from(
                [&["capacity", "http://127.0.0.1:1/", "--limits", "p99 < 1s"], words].concat(),
            );
            cli.capacity.run(false).expect_err("it makes no sense").to_string()
        };
        let from = refused(&["--from", "5000000"]);
        assert!(from.starts_with("--from 5000000 is above 1000000"), "{from}");
        let to = refused(&["--to", "8"]);
        assert!(to.starts_with("--to 8 is below 100"), "{to}");
        let both = refused(&["--from", "9", "--to", "8"]);
        assert!(both.contains("`capacity.to` is 8") && both.contains("--to"), "{both}");
    }
}
