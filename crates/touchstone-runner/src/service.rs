//! One launch of a case whose arms are services: a fresh process and a fresh copy of the database for each, windows of load in the
//! place of slices, and then the question whether everything that was acknowledged is there.

mod api;
mod check;
mod counted;
mod ended;
mod ending;
mod generator;
mod held;
mod processors;
mod rest;
pub(crate) mod run;
mod scene;
mod standing;
mod template;
mod window;

pub use check::{check_search, check_windows};
use counted::record_syncs;
pub use ended::failed_by_itself;
pub use generator::run_to_its_end;
pub use standing::{Standing, Stood, with_service};

use crate::error::Result;
use crate::kits::Project;
use crate::place::Place;
use crate::random::Stream;
use crate::session::{Manners, Session, SessionError, SessionResult, unexpected};
use crate::surroundings::{Surroundings, nameless};
use crate::task::{children, threads};
use crate::witness::Seen;
use api::{Api, Change, Fault, PAGE};
use held::Held;
use processors::Sides;
use rand::Rng;
use rest::Rest;
use scene::Scene;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use touchstone::plan::{PlannedArm, PlannedCase, PlannedLoad};
use touchstone::sample::{LoadWindow, Outcome, Phase, Slice, Witness};
use touchstone_protocol::{Failure, FailureKind, Hello, LaneSample, Reply, Request, Served, Settings, Usage};
use window::{Counted, Upload, Window};

/// What a service must be able to do.
const CAPABILITY: &str = "change.serve";

/// Bytes of a change that the lab uploads itself.
const LAB_BYTES: u64 = 100;

/// What loads services, and what slows their flushes.
#[derive(Clone, Debug, Default)]
pub struct Tools {
    /// The load generator's program; where no case is a load, nobody asks.
    pub generator: PathBuf,
    /// The library that makes a flush last as long as an arm says.
    pub flush: PathBuf,
}

/// Everything a launch of a service's case plays with.
pub struct ServiceContext<'s> {
    /// Where the kits are.
    pub project: &'s Project,
    /// The case.
    pub case: &'s PlannedCase,
    /// How to speak to kits.
    pub manners: &'s Manners,
    /// What loads services.
    pub tools: &'s Tools,
}

impl ServiceContext<'_> {
    fn load(&self) -> &PlannedLoad {
        self.case.load.as_ref().expect("a service's case has a load")
    }

    /// The command that starts an arm's kit, surrounded.
    fn command(&self, arm: &PlannedArm, around: &Surroundings) -> Result<Command> {
        let mut command = around.around(self.project.command(arm)?)?;
        if let Some(us) = arm.flush_us {
            command.env("LD_PRELOAD", &self.tools.flush).env("TOUCHSTONE_FLUSH_US", us.to_string());
        }
        Ok(command)
    }
}

/// A window that was played, as its two lines of the record.
pub(crate) struct Played {
    pub(crate) slice: Slice,
    pub(crate) load: LoadWindow,
    pub(crate) latencies_ns: Vec<u64>,
}

/// Where a window stands in its launch.
#[derive(Clone, Copy)]
pub(crate) struct At {
    pub(crate) launch: usize,
    pub(crate) phase: Phase,
    pub(crate) block: u32,
    pub(crate) position: u32,
}

/// An arm in a launch: its process, its database, and what its users know.
pub(crate) struct Servant<'s> {
    context: &'s ServiceContext<'s>,
    pub(crate) arm: &'s PlannedArm,
    pub(crate) hello: Option<Hello>,
    place: Place,
    /// The generator's files.
    desk: Place,
    surroundings: Surroundings,
    session: Option<Session>,
    sides: Sides,
    port: u16,
    settings: Settings,
    /// By user.
    held: Vec<Held>,
    /// Where each user's changes begin that are not from the template.
    cursors: Vec<u64>,
    windows: u64,
    threads: Option<u64>,
    children: Option<u64>,
    strayed: Option<String>,
    rest: Rest,
    /// How its process ended that nobody had asked to.
    died: Option<String>,
    outcome: Outcome,
    error: Option<String>,
}

impl<'s> Servant<'s> {
    /// Copies the template and starts the process, which is not waited for.
    ///
    /// # Errors
    /// When the lab itself fails.
    pub(crate) fn enter(
        context: &'s ServiceContext<'s>,
        arm: &'s PlannedArm,
        template: &template::Template,
        scratch: &Path,
        random: &mut Stream,
    ) -> Result<Servant<'s>> {
        let place = Place::new(scratch.join(nameless(random)))?;
        place.restore(&template.place)?;
        let mut servant = Servant {
            context,
            arm,
            hello: None,
            place,
            desk: Place::new(scratch.join(nameless(random)))?,
            surroundings: Surroundings::new(scratch, random)?,
            session: None,
            sides: Sides::of_this_machine(),
            port: 0,
            settings: Settings::new(),
            held: (0..context.load().users as usize)
                .map(|user| Held::new(user, context.case.filled, context.case.dataset.value_bytes))
                .collect(),
            cursors: template.cursors.clone(),
            windows: 0,
            threads: None,
            children: None,
            strayed: None,
            rest: Rest::default(),
            died: None,
            outcome: Outcome::Completed,
            error: None,
        };
        servant.start()?;
        Ok(servant)
    }

    /// Whether it is still in the launch.
    pub(crate) fn plays(&self) -> bool {
        self.outcome == Outcome::Completed && self.session.is_some()
    }

    /// Waits until it serves.
    pub(crate) fn be_introduced(&mut self) {
        if self.plays() {
            let served = self.serve();
            self.note(served);
        }
    }

    fn start(&mut self) -> Result<()> {
        let command = self.context.command(self.arm, &self.surroundings)?;
        let started = Session::start(command, self.context.manners.clone());
        self.session = self.note(started.map(|mut session| {
            session.greet();
            session
        }));
        Ok(())
    }

    fn serve(&mut self) -> SessionResult<()> {
        let session = self.session.as_mut().expect("only what was started serves");
        let hello = session.hello()?;
        require(&hello, self.arm)?;
        let served = serve(session, self.place.path(), self.arm)?;
        session.process().into_iter().for_each(|process| self.sides.confine(process));
        (self.port, self.settings) = (served.port, served.settings);
        self.hello = Some(hello);
        Ok(())
    }

    /// Lets users ask for a window's time. A service that fails ends its part and gives `None`.
    ///
    /// # Errors
    /// When the lab itself fails.
    pub(crate) fn window(&mut self, at: At, length_ms: u64, random: &mut Stream) -> Result<Option<Played>> {
        if !self.plays() {
            return Ok(None);
        }
        let process = self.session.as_ref().and_then(Session::process).unwrap_or_default();
        let awaits = self.arm.class.reaches_disk();
        // A thread that was being started when the others were confined is confined now.
        self.sides.confine(process);
        self.rest.end(process);
        let mut begun = None;
        let begins =
            || begun = Some((Seen::now(process, awaits), processors::cpu_ns(process), Instant::now()));
        let counted = self.begin_window(length_ms, random).run(begins)?;
        let (before, cpu_before, began) = begun.expect("a window that was played has begun");
        let waited_ns = began.elapsed().as_nanos() as u64;
        let seen = Seen::now(process, awaits).since(&before);
        let cpu_ns = processors::cpu_ns(process).saturating_sub(cpu_before);
        self.rest.begin(process);
        self.threads = self.threads.max(threads(process));
        self.children = self.children.max(children(process));
        self.strayed = self.strayed.take().or_else(|| self.sides.strayed(process));
        if counted.is_err() {
            self.note_death_behind();
        }
        let Some(counted) = self.note(counted.map_err(failed)) else { return Ok(None) };
        self.remember(&counted.uploads);
        let witness = Witness {
            waited_ns,
            read_bytes: seen.read_bytes,
            written_bytes: seen.written_bytes,
            flushes: seen.flushes,
            ..Witness::default()
        };
        Ok(Some(self.played(at, counted, witness, cpu_ns)))
    }

    /// The next window, whose changes are unlike those of any other.
    fn begin_window(&mut self, length_ms: u64, random: &mut Stream) -> Window<'_> {
        let load = self.context.load();
        let text = scene::text(self.context.case.dataset.value_bytes, random);
        self.held.iter_mut().for_each(|held| held.begin_window(load.changes(), &text));
        let number = self.windows;
        self.windows += 1;
        Window {
            generator: &self.context.tools.generator,
            scene: Scene {
                load,
                port: self.port,
                run: format!("w{number}"),
                text,
                seed: random.next_u64(),
                length_ms,
                is_first: number == 0,
                processor: self.sides.generator(),
            },
            folder: self.desk.path(),
            manners: self.context.manners,
        }
    }

    fn remember(&mut self, uploads: &[Upload]) {
        for upload in uploads {
            if let Some(held) = self.held.get_mut(upload.user) {
                held.note(upload.iteration, upload.is_acknowledged);
            }
        }
    }

    fn played(&self, at: At, counted: Counted, witness: Witness, cpu_ns: u64) -> Played {
        let (case, arm) = (self.context.case.id.clone(), self.arm.name.clone());
        let lane = LaneSample {
            wall_ns: counted.wall_ns,
            answers: counted.answered,
            digest: String::new(),
            errors: counted.failures,
            delivery: None,
            played: None,
        };
        let slice = Slice {
            case: case.clone(),
            launch: at.launch,
            arm: arm.clone(),
            phase: at.phase,
            block: at.block,
            position: at.position,
            operations: counted.answered,
            wall_ns: counted.wall_ns,
            cpu_ns,
            lanes: vec![lane],
            usage: Usage {
                read_bytes: witness.read_bytes.unwrap_or(0),
                written_bytes: witness.written_bytes.unwrap_or(0),
                ..Usage::default()
            },
            witness: Some(witness),
            commits: None,
            wrong: None,
        };
        let load = LoadWindow {
            case,
            launch: at.launch,
            arm,
            phase: at.phase,
            block: at.block,
            position: at.position,
            seconds: counted.wall_ns as f64 / 1e9,
            users: self.context.load().users,
            endpoints: counted.endpoints,
            generator_busy: counted.generator_busy,
            doubts: counted.doubts,
        };
        Played { slice, load, latencies_ns: counted.latencies_ns }
    }

    /// Asks the same question before and after an upload: who answers from an old answer is found out while it lives.
    pub(crate) fn ask_twice(&mut self) {
        if self.plays() {
            let asked = self.asked_twice();
            self.judge(asked);
            self.session
                .as_ref()
                .and_then(Session::process)
                .into_iter()
                .for_each(|process| self.rest.begin(process));
        }
    }

    fn asked_twice(&mut self) -> std::result::Result<(), Fault> {
        let api = self.api();
        for user in 0..self.held.len() {
            let (name, device) = (template::user(user), template::device(user));
            let cursor = self.cursors[user];
            let before = self.downloaded(&api, user, cursor)?;
            let (id, data) = template::change(&format!("lab-{user}-asked"), LAB_BYTES);
            api.upload(&device, &[(id.clone(), data.clone())])?;
            self.held[user].acknowledge(id.clone(), data);
            let after = self.downloaded(&api, user, cursor)?;
            let has = |change: &Change| change.id == id;
            if !after.last().is_some_and(has) || after[..after.len() - 1] != before {
                return Err(Fault::Wrong(format!(
                    "a device of {name} downloaded from the same cursor before and after an upload of one change: {} \
                     changes and then {}, the last of which should be that one",
                    before.len(),
                    after.len()
                )));
            }
        }
        Ok(())
    }

    /// Everything that a device is given after a cursor, where that is not more than there can be.
    fn downloaded(&self, api: &Api, user: usize, cursor: u64) -> std::result::Result<Vec<Change>, Fault> {
        let most = self.held[user].most();
        let mut all = Vec::new();
        let keep = |change| {
            all.push(change);
            if all.len() as u64 > most {
                let name = template::user(user);
                return Err(format!(
                    "a device of {name} was given more than {most} changes, which are all of {name}'s"
                ));
            }
            Ok(())
        };
        api.follow(&template::device(user), cursor, PAGE, keep)?;
        Ok(all)
    }

    fn api(&self) -> Api {
        Api::new(self.port, self.context.manners)
    }

    /// A wrong answer makes the launch void, and one that does not come is a failure.
    fn judge(&mut self, judged: std::result::Result<(), Fault>) {
        let (outcome, why) = match judged {
            Ok(()) => return,
            Err(Fault::Wrong(why)) => (Outcome::Void, why),
            Err(Fault::Failed(why)) => (Outcome::Failed, why),
        };
        self.note_death_behind();
        (self.outcome, self.error, self.session) = (outcome, Some(why), None);
    }

    /// Keeps a failure as the arm's outcome and ends its process.
    fn note<T>(&mut self, result: SessionResult<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                (self.outcome, self.error, self.session) = (error.outcome(), Some(error.to_string()), None);
                None
            }
        }
    }
}

/// A failure of the service as a failure of its conversation.
fn failed(message: String) -> SessionError {
    SessionError::Refused(Failure { kind: FailureKind::Other, message })
}

/// A service of an arm is a service, and the one that was asked for.
fn require(hello: &Hello, arm: &PlannedArm) -> SessionResult<()> {
    let wanted = &arm.contender.subject;
    let message = if hello.subject != *wanted {
        format!(
            "its driver says that it is `{}`, and `{wanted}` was asked for: the row of `{wanted}` in kit.toml starts another subject",
            hello.subject
        )
    } else if !hello.capabilities.iter().any(|known| known == CAPABILITY) {
        format!("the driver has no capability {CAPABILITY}: it is no service")
    } else {
        return Ok(());
    };
    Err(SessionError::Refused(Failure { kind: FailureKind::Unsupported, message }))
}

fn serve(session: &mut Session, directory: &Path, arm: &PlannedArm) -> SessionResult<Served> {
    let request = Request::Serve { directory: directory.to_owned(), port: 0, settings: arm.settings.clone() };
    match session.ask(&request)? {
        Reply::Serve(served) => Ok(served),
        other => Err(unexpected("serve", &other)),
    }
}
