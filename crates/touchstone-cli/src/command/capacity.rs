//! `touchstone capacity`: how much each service of a case holds within limits, in an open loop.

use crate::interrupt::stop_on_signal;
use crate::{Context, exit, generator, say};
use anyhow::{Context as _, bail};
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::Ordering;
use std::time::Duration;
use touchstone::plan::{Choice, Plan, PlannedCase, PlannedSuite};
use touchstone::suite::Size;
use touchstone_runner::kits::Project;
use touchstone_runner::service::{Stage, Standing, Tools, with_service};
use touchstone_runner::session::Manners;
use touchstone_runner::{Error, ErrorKind};

/// Where every random choice comes from.
const SEED: u64 = 42;

/// How often a device changes something in the published reckoning, in seconds.
const EVERY_S: f64 = 600.0;

/// Searches how many iterations a second each service of a case holds within limits, and what that is in devices
#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0 done, also where a service holds nothing within the limits; 130 stopped by Ctrl-C, with what was found until then\n\n\
    Examples:\n  touchstone capacity plantodo/oo_cross\n  \
    touchstone capacity plantodo/oo_cross --contender fastapi-sqlalchemy@wal --limits 'p99 < 100ms, failures < 0.1%'"
)]
pub struct Capacity {
    /// A case whose arms are services, as `plantodo/oo_cross`
    #[arg(value_name = "CASE")]
    case: String,
    /// Of its contenders, only this one; may be given more than once
    #[arg(long = "contender", value_name = "CONTENDER")]
    contenders: Vec<String>,
    /// What must hold
    #[arg(long, value_name = "LIMITS", default_value = "p99 < 50ms, failures < 0.1%")]
    limits: String,
    /// Users, who begin iterations whether others are answered or not
    #[arg(long, value_name = "NUMBER", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    users: u32,
    /// The first rate, a second
    #[arg(long, value_name = "RATE", default_value_t = 25.0)]
    from: f64,
    /// How long a step is measured
    #[arg(long, value_name = "DURATION", default_value = "4s")]
    step: String,
    /// The folder for the databases: it chooses the disk. The system's folder for temporary files, unless given
    #[arg(long, value_name = "FOLDER")]
    scratch: Option<PathBuf>,
}

/// What a service holds.
#[derive(Serialize)]
struct Held {
    arm: String,
    /// Iterations a second that held, and that did not; none where there is no answer.
    holds: Option<f64>,
    fails: Option<f64>,
    /// Why there is no answer.
    why: Option<String>,
    /// Devices that do one iteration each in ten minutes.
    devices: Option<f64>,
}

impl Capacity {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let project = context.project()?;
        let plan = project.at_hand(&self.plan(&project)?)?;
        let stop = stop_on_signal()?;
        project.build(&plan, &stop, say::note)?;
        let tools = generator::of_plan(&project, &plan)?;
        let manners = Manners { limit: Duration::from_secs(120), stop };
        let case = &plan.cases[0];
        let stage = Stage { project: &project, case, manners: &manners, tools: &tools };
        let mut held = Vec::new();
        for arm in &case.arms {
            say::note(&format!("searching for what {} holds", arm.name));
            held.push(self.search(&stage, &arm.name)?);
            if manners.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        if context.json {
            say::json(&held)?;
        } else {
            say::text(&self.describe(case, &plan.suites[0], &held))?;
        }
        let is_stopped = manners.stop.load(Ordering::Relaxed);
        Ok(if is_stopped { ExitCode::from(exit::INTERRUPTED) } else { ExitCode::SUCCESS })
    }

    fn plan(&self, project: &Project) -> anyhow::Result<Plan> {
        let Some((suite, name)) = self.case.split_once('/') else {
            bail!(touchstone::Error::input(format!(
                "`{}` is not a case: write suite/case, such as plantodo/oo_cross",
                self.case
            )));
        };
        let suites = project.suites(&[suite.to_owned()])?;
        let choice = Choice {
            cases: vec![format!("{suite}/{name}")],
            contenders: self.contenders.clone(),
            size: Size::Full,
            seed: SEED,
            looks: vec![1],
        };
        let mut plan = Plan::new(&suites, &project.kits, &choice)?;
        for case in &mut plan.cases {
            let Some(load) = &mut case.load else {
                bail!(touchstone::Error::input(format!(
                    "`{}` has no load: its arms are no services",
                    self.case
                )));
            };
            load.users = self.users;
        }
        if plan.cases.len() != 1 {
            bail!(touchstone::Error::input(format!(
                "`{}` is {} cases: name one of them",
                self.case,
                plan.cases.len()
            )));
        }
        Ok(plan)
    }

    fn search(&self, stage: &Stage<'_>, arm: &str) -> anyhow::Result<Held> {
        let parent = self.scratch.clone().unwrap_or_else(std::env::temp_dir);
        let folder = tempfile::Builder::new()
            .prefix("touchstone-capacity")
            .tempdir_in(&parent)
            .with_context(|| format!("making a folder in {}", parent.display()))?;
        let out = folder.path().join("search");
        let scratch = folder.path().join("service");
        let asked =
            with_service(stage, arm, &scratch, SEED, |standing| self.ask(stage.tools, standing, &out))?;
        let none =
            |why: String| Held { arm: arm.into(), holds: None, fails: None, why: Some(why), devices: None };
        if let Err(why) = asked {
            return Ok(none(why));
        }
        let path = out.join("capacity.json");
        let Ok(text) = std::fs::read_to_string(&path) else {
            return Ok(none("the search came to no answer".into()));
        };
        let found: Value = serde_json::from_str(&text)?;
        let number = |pointer: &str| found.pointer(pointer).and_then(Value::as_f64);
        let holds = number("/found/holds/at");
        let why = holds.is_none().then(|| no_answer(&found));
        let devices = holds.map(|rate| rate * EVERY_S);
        Ok(Held { arm: arm.into(), holds, fails: number("/found/holds/not_at"), why, devices })
    }

    fn ask(&self, tools: &Tools, standing: &Standing, out: &Path) -> Result<(), Error> {
        let mut command = Command::new(&tools.generator);
        command.arg("capacity").arg(&standing.scenario).arg("--out").arg(out);
        command.args(["--limits", &self.limits, "--step", &self.step, "--arrivals", "poisson"]);
        command.args(["--from", &self.from.to_string(), "--connections", &self.users.to_string()]);
        if let Some(processor) = standing.processor {
            command.args(["--processors", &processor.to_string()]);
        }
        // Its live view is the user's; its own summary would stand before ours.
        let ended = command.stdout(std::process::Stdio::null()).status();
        let ended = ended
            .map_err(|error| Error::io(format_args!("cannot start {}", tools.generator.display()), &error))?;
        // It has said what makes no sense; another service would be asked the same.
        if ended.code() == Some(i32::from(exit::USAGE)) {
            return Err(Error::new(ErrorKind::Input, "the load generator refuses what it is asked (above)"));
        }
        Ok(())
    }

    fn describe(&self, case: &PlannedCase, suite: &PlannedSuite, held: &[Held]) -> String {
        let mut lines = vec![format!("{}: {}", case.id, case.title)];
        lines.push(format!("Open loop, Poisson, {} users, {}:", self.users, self.limits));
        for held in held {
            lines.push(match (held.holds, held.fails, held.devices) {
                (Some(holds), fails, Some(devices)) => {
                    let not = fails.map_or(String::new(), |fails| format!(" ({fails:.0} do not hold)"));
                    format!(
                        "  {}: {holds:.0} iterations a second{not}; of devices that do one in ten minutes, {devices:.0}",
                        held.arm
                    )
                }
                _ => format!("  {}: no answer: {}", held.arm, held.why.as_deref().unwrap_or("none")),
            });
        }
        let of_case = |claim: &&touchstone::suite::Claim| {
            claim.untested.as_ref().is_some_and(|untested| untested.case == case.name())
        };
        for claim in suite.claims.iter().filter(of_case) {
            let notes = claim.figures.iter().filter_map(|figure| figure.note.as_deref());
            let notes: Vec<&str> = notes.collect();
            let words = claim.words.as_deref().map_or(String::new(), |words| format!(": \"{words}\""));
            lines.push(format!("Published: {}{words}; {}", claim.statement, notes.join("; ")));
        }
        lines.join("\n") + "\n"
    }
}

/// Why a search has no answer.
fn no_answer(searched: &Value) -> String {
    let found = &searched["found"];
    if let Some(at) = found.pointer("/nothing/at") {
        return format!("not even {at} iterations a second hold");
    }
    if let Some(at) = found.pointer("/unsteady/at") {
        return format!(
            "what it holds changes: rates that had held did not when they were confirmed, the last of them {at} a second"
        );
    }
    let doubts = searched["doubts"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let doubts: Vec<&str> = doubts.collect();
    if doubts.is_empty() { "the search was stopped".into() } else { doubts.join("; ") }
}
