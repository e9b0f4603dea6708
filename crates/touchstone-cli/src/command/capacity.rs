//! `touchstone capacity`: how much each service of a case holds within limits, in an open loop.

mod found;
mod searches;
mod told;

use super::measure::Place;
use crate::interrupt::stop_on_signal;
use crate::{Context, exit, generator, say};
use anyhow::{Context as _, bail};
use clap::Args;
use found::Searched;
use searches::{Held, Searches};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;
use told::Told;
use touchstone::plan::{Choice, Plan, PlannedArm};
use touchstone::suite::Size;
use touchstone_runner::kits::Project;
use touchstone_runner::scratch::{Claim, SEARCHES};
use touchstone_runner::service::{
    ServiceContext, Standing, Tools, check_search, run_to_its_end, with_service,
};
use touchstone_runner::session::{Manners, Stop};
use touchstone_runner::writer::write_json;
use touchstone_runner::{Error, ErrorKind};

/// Where every random choice comes from.
const SEED: u64 = 42;

/// How long a service is waited for.
const LIMIT: Duration = Duration::from_secs(120);

/// Where searches go that find no place.
const REMEDY: &str = "give another folder with --out";

/// Searches how many iterations a second each service of a case holds within limits, and what that is in devices
///
/// It kills no service and counts no syncs: whether acknowledged changes are kept is what `touchstone bench` looks at.
#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0 done, also where a service holds nothing within the limits; 3 done, and an answer cannot be \
    believed, because the generator came to its own limits; 69 not one of the services could be searched; 130 stopped by Ctrl-C, \
    with what was found until then\n\n\
    Examples:\n  touchstone capacity plantodo/oo_cross\n  \
    touchstone capacity plantodo/oo_cross --contender fastapi-sqlalchemy@wal --limits 'p99 < 100ms, failures < 0.1%'"
)]
pub struct Capacity {
    /// A case whose arms are services, as `plantodo/oo_cross`
    #[arg(value_name = "CASE")]
    case: String,
    /// Of its contenders, only this one, as `fastapi-sqlalchemy@wal`; may be given more than once. All, unless given
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
    /// How the generator waits for a start: sleep, hybrid or spin; the suite's, or sleep, unless given
    #[arg(long, value_name = "PACING")]
    pacing: Option<String>,
    /// The folder for the searches: of each a folder with its steps and its page; runs/ and the time, unless given
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// The folder for the databases while they are measured: it chooses the disk. Inside the folder for the searches, unless given
    #[arg(long, value_name = "FOLDER")]
    scratch: Option<PathBuf>,
}

impl Capacity {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let project = context.project()?;
        let plan = self.plan(&project)?;
        let called = format!("{}-capacity", plan.cases[0].id.replace('/', "-"));
        let mut place = Place::at(&project, &plan, self.out.as_deref(), self.scratch.as_deref(), &called)?;
        let plan = project.at_hand(&plan)?;
        plan.left_out.iter().for_each(|left_out| say::note(&format!("left out: {left_out}")));
        let case = &plan.cases[0];
        let stop = stop_on_signal()?;
        let tools = self.build(&project, &plan, &stop)?;
        let folder = &place.record;
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        place.record = folder.canonicalize()?;
        let manners = Manners { limit: LIMIT, stop };
        let services = ServiceContext { project: &project, case, manners: &manners, tools: &tools };
        let (searches, ended) = self.search_all(&services, &place);
        let is_stopped = manners.stop.load(Ordering::Relaxed);
        let told = Told { case, suite: &plan.suites[0], named: self.suite() };
        conclude(context, &told, &searches, ended, is_stopped)
    }

    fn plan(&self, project: &Project) -> anyhow::Result<Plan> {
        // A suite may be given by its file, whose folders have slashes too.
        let Some((wanted, name)) = self.case.rsplit_once('/') else {
            bail!(touchstone::Error::input(format!(
                "`{}` is not a case: write suite/case, such as plantodo/oo_cross",
                self.case
            )));
        };
        let suites = project.suites(&[wanted.to_owned()])?;
        let choice = Choice {
            cases: vec![format!("{}/{name}", suites[0].name)],
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
            // A baseline is there to be compared with, and nothing is compared here.
            case.arms.retain(|arm| choice.asks_for(arm));
        }
        if plan.cases.len() != 1 {
            let names: Vec<&str> = plan.cases.iter().map(|case| case.id.as_str()).collect();
            bail!(touchstone::Error::input(format!(
                "`{}` is {} cases: name one of them, of {}",
                self.case,
                plan.cases.len(),
                names.join(", ")
            )));
        }
        Ok(plan)
    }

    /// Builds what is missing. What makes no sense is told before minutes are spent on that.
    fn build(&self, project: &Project, plan: &Plan, stop: &Stop) -> anyhow::Result<Tools> {
        let built = generator::of_plan(project, plan, stop).and_then(|tools| {
            check_search(&tools.generator, &plan.cases[0], &self.arguments())?;
            project.build(plan, stop, say::note)?;
            Ok(tools)
        });
        // Ctrl-C in a terminal reaches the build tool as well, which then fails for no reason of its own.
        if stop.load(Ordering::Relaxed) {
            let stopped = "stopped before the first search began";
            return Err(Error::new(ErrorKind::Interrupted, stopped).into());
        }
        built
    }

    /// The suite as the user named it.
    fn suite(&self) -> &str {
        self.case.rsplit_once('/').map_or("", |(suite, _)| suite)
    }

    /// Searches one service after the other. What was found until something went wrong is there all the same.
    fn search_all(&self, services: &ServiceContext<'_>, place: &Place) -> (Searches, anyhow::Result<()>) {
        let folder = place.record.display().to_string();
        let mut searches = Searches::new(&services.case.id, self.users, &self.limits, &folder);
        let mut search = || -> anyhow::Result<()> {
            let kept = place.record.join(SEARCHES);
            write_json(&kept, &searches, REMEDY)?;
            let claim = Claim::new(place.scratch.clone())?;
            for arm in &services.case.arms {
                say::note(&format!("searching for what {} holds", arm.name));
                let out = place.record.join(&arm.name);
                searches.add(self.search(services, arm, &place.scratch, &out)?);
                write_json(&kept, &searches, REMEDY)?;
                if services.manners.stop.load(Ordering::Relaxed) {
                    break;
                }
            }
            drop(claim);
            Ok(())
        };
        let ended = search();
        (searches, ended)
    }

    fn search(
        &self,
        services: &ServiceContext<'_>,
        arm: &PlannedArm,
        scratch: &Path,
        out: &Path,
    ) -> anyhow::Result<Held> {
        let ask = |standing: &Standing| self.ask(services, standing, out);
        let asked = with_service(services, &arm.name, &scratch.join("service"), SEED, ask)?;
        Ok(match asked {
            Err(why) => Held::not_searched(arm, why),
            Ok(stood) => Held::of(arm, &stood, Searched::read(out)?, out),
        })
    }

    /// What the generator is told, besides what it asks.
    fn arguments(&self) -> Vec<String> {
        let (from, users) = (self.from.to_string(), self.users.to_string());
        let words =
            ["--limits", &self.limits, "--step", &self.step, "--from", &from, "--connections", &users];
        let pacing = self.pacing.iter().flat_map(|pacing| ["--pacing", pacing]);
        words.into_iter().chain(["--arrivals", "poisson"]).chain(pacing).map(str::to_owned).collect()
    }

    /// Lets the generator search, and gives how it ended.
    fn ask(
        &self,
        services: &ServiceContext<'_>,
        standing: &Standing,
        out: &Path,
    ) -> Result<ExitStatus, Error> {
        let generator = &services.tools.generator;
        let mut command = Command::new(generator);
        command.arg("capacity").arg(&standing.scenario).args(self.arguments()).arg("--out").arg(out);
        // It ends with the lab, however the lab ends.
        command.env("TOUCHSTONE_LOAD_PARENT", std::process::id().to_string());
        if let Some(processor) = standing.processor {
            command.args(["--processors", &processor.to_string()]);
        }
        // Its live view is the user's; its own summary would stand before ours.
        let ended = run_to_its_end(command.stdout(Stdio::null()), &services.manners.stop);
        let ended =
            ended.map_err(|error| Error::io(format_args!("cannot start {}", generator.display()), &error))?;
        found::refuse_failed(ended)
    }
}

fn conclude(
    context: &Context,
    told: &Told<'_>,
    searches: &Searches,
    ended: anyhow::Result<()>,
    is_stopped: bool,
) -> anyhow::Result<ExitCode> {
    let ended =
        ended.and_then(|()| if is_stopped { Ok(()) } else { found::refuse_none(&searches.contenders) });
    if !context.json {
        say::text(&told.text(searches))?;
    } else if ended.is_ok() {
        // For machines an error is the document.
        say::json(searches)?;
    }
    ended?;
    Ok(match (is_stopped, searches.is_valid) {
        (true, _) => exit::INTERRUPTED.into(),
        (false, false) => exit::INVALID.into(),
        (false, true) => ExitCode::SUCCESS,
    })
}
