//! One launch of a case: a fresh process and a fresh copy of the database for every arm, then the blocks.
//!
//! A subject that fails leaves the launch and its outcome says how; the others go on.

mod kept_times;
mod leaving;
mod played;
mod series;
mod template;
mod watching;

pub use played::Played;
pub use template::make_template;

use crate::data::{CaseData, Contents};
use crate::error::Result;
use crate::kits::Project;
use crate::place::Place;
use crate::plausible::{impossible, processors};
use crate::random::{Stream, random_order};
use crate::session::{Manners, Session, SessionError, SessionResult, unexpected};
use crate::surroundings::{Surroundings, nameless};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use template::plain;
use touchstone::plan::{PlannedArm, PlannedCase, Start};
use touchstone::record::{latency_path, series_path};
use touchstone::sample::Outcome;
use touchstone::suite::Cache;
use touchstone_protocol::{
    Failure, FailureKind, Hello, Lane, LaneSample, Plan, Reply, Request, Run, Settings, Verb,
};
use watching::Survey;

/// Everything a launch of a case plays with.
pub struct CaseContext<'s> {
    /// Where the drivers are.
    pub project: &'s Project,
    /// The case.
    pub case: &'s PlannedCase,
    /// Its data.
    pub data: &'s CaseData,
    /// How to speak to drivers.
    pub manners: &'s Manners,
}

/// Where a slice writes down what does not stand in its reply, if anywhere.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// The times of single operations, or of transactions where several are in one.
    pub latency: Option<PathBuf>,
    /// Latencies tenth by tenth of a second.
    pub series: Option<PathBuf>,
}

impl Kept {
    /// Removes what a driver has left of a slice that came to nothing: whoever judges the record would read it.
    fn discard(&self) {
        self.latency.iter().chain(&self.series).for_each(|path| discard(path));
    }

    /// Refuses, and removes, what the record could not be judged with.
    fn check(&self, played: &Played, arm: &PlannedArm) -> SessionResult<()> {
        if let Some(path) = &self.latency {
            kept_times::check(path, arm.times(played.operations()), arm.times(played.asked()))?;
        }
        match &self.series {
            Some(path) => series::check(path, played),
            None => Ok(()),
        }
    }
}

/// Removes whatever a driver has put in the place of a file. What cannot be removed says so when the record is read.
fn discard(path: &Path) {
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
}

/// An arm in a launch: its process, its database, and what became of it.
pub struct Player<'s> {
    context: &'s CaseContext<'s>,
    /// The arm.
    pub arm: &'s PlannedArm,
    /// Who answered.
    pub hello: Option<Hello>,
    place: Place,
    template: &'s Place,
    session: Option<Session>,
    /// What every process of the launch finds around it.
    surroundings: Surroundings,
    /// The processor that it is confined to.
    processor: Option<usize>,
    open: bool,
    /// What was seen of it while the database was opened for the next slice: nanoseconds, and bytes read.
    opening: Option<(u64, Option<u64>)>,
    survey: Survey,
    settings: Settings,
    /// What it has used up of the operations and the new states.
    next: Start,
    /// What its database must hold.
    contents: Contents,
    /// How it does a slice, once it has said so.
    plan: Plan,
    /// Records handed over to be stored, less those deleted again; those stored beforehand are among them.
    stored: u64,
    /// Of those, the ones whose storing was acknowledged.
    acknowledged: u64,
    /// Whether an operation of a slice failed, and with what the first did, once its process has ended.
    failing: bool,
    failed_with: Option<String>,
    outcome: Outcome,
    error: Option<String>,
}

impl<'s> Player<'s> {
    /// Copies the template and starts the driver, which is not waited for. One that cannot start is an outcome, not an error.
    ///
    /// # Errors
    /// When the lab itself fails, as on a full disk.
    pub fn enter(
        context: &'s CaseContext<'s>,
        arm: &'s PlannedArm,
        template: &'s Place,
        scratch: &Path,
        processor: Option<usize>,
        random: &mut Stream,
    ) -> Result<Player<'s>> {
        let place = Place::new(scratch.join(nameless(random)))?;
        place.restore(template)?;
        let mut player = Player {
            context,
            arm,
            hello: None,
            place,
            template,
            session: None,
            surroundings: Surroundings::new(scratch, random)?,
            processor,
            open: false,
            opening: None,
            survey: Survey::default(),
            settings: Settings::new(),
            next: Start::default(),
            contents: context.data.contents(),
            plan: Plan::default(),
            stored: context.case.filled,
            acknowledged: context.case.filled,
            failing: false,
            failed_with: None,
            outcome: Outcome::Completed,
            error: None,
        };
        let started = player.start()?;
        player.note(started);
        Ok(player)
    }

    /// Starts the driver, as every process of it in this launch is started.
    fn command(&self) -> Result<Command> {
        self.surroundings.around(self.context.project.command(self.arm)?)
    }

    /// Hears who the driver is, hands over the data, and opens the database. What fails ends its part.
    fn be_introduced(&mut self) {
        if self.plays() {
            let introduced = self.introduce();
            self.note(introduced);
        }
    }

    fn introduce(&mut self) -> SessionResult<()> {
        self.hear()?;
        self.require_capabilities()?;
        self.prepare()?;
        self.reopen_watching()
    }

    /// Starts its process and does not wait for it.
    fn start(&mut self) -> Result<SessionResult<()>> {
        let command = self.command()?;
        Ok(Session::start(command, self.context.manners.clone()).map(|mut session| {
            session.greet();
            self.session = Some(session);
        }))
    }

    /// Waits until its process says who it is.
    fn hear(&mut self) -> SessionResult<()> {
        let session = self.session.as_mut().expect("only what was started is heard");
        self.hello = Some(session.hello()?);
        Ok(())
    }

    fn require_capabilities(&self) -> SessionResult<()> {
        let has = &self.hello.as_ref().expect("it has said hello").capabilities;
        match self.context.case.capabilities(self.arm).iter().find(|wanted| !has.contains(wanted)) {
            None => Ok(()),
            Some(wanted) => Err(SessionError::Refused(Failure {
                kind: FailureKind::Unsupported,
                message: format!("the driver has no capability {wanted}"),
            })),
        }
    }

    fn prepare(&mut self) -> SessionResult<()> {
        let request = Request::Prepare {
            record: self.context.case.dataset.record,
            dataset: self.context.data.dataset_file(),
            operations: Some(self.context.data.operations_file.clone()),
            states: self.context.data.states_file(),
            subscriptions: self.context.data.subscriptions_file(),
        };
        let data = self.context.data;
        let wanted = (data.operations(), data.states(), data.subscriptions());
        match self.ask(&request)? {
            Reply::Prepare { operations, states, subscriptions, .. }
                if (operations, states, subscriptions) == wanted =>
            {
                Ok(())
            }
            Reply::Prepare { operations, states, subscriptions, .. } => Err(SessionError::Rubbish(format!(
                "it read {operations} operations of {}, {states} new states of {} and {subscriptions} subscriptions \
                 of {}",
                wanted.0, wanted.1, wanted.2
            ))),
            other => Err(unexpected("prepare", &other)),
        }
    }

    /// Whether it is still in the launch.
    pub fn plays(&self) -> bool {
        self.outcome == Outcome::Completed && self.session.is_some()
    }

    /// Brings the database to where a slice starts: put back, closed and opened, evicted, as the case says.
    ///
    /// # Errors
    /// When the lab itself fails.
    fn settle(&mut self) -> Result<SessionResult<()>> {
        let case = self.context.case;
        if case.cache == Cache::Warm && !case.restore {
            return Ok(Ok(()));
        }
        if let Err(error) = self.close() {
            return Ok(Err(error));
        }
        if case.restore {
            self.place.restore(self.template)?;
            self.next = Start::default();
            self.contents = self.context.data.contents();
            (self.stored, self.acknowledged) = (self.context.case.filled, self.context.case.filled);
        }
        if case.cache == Cache::Evicted {
            if let Err(strange) = plain(&self.place)? {
                return Ok(Err(strange));
            }
            self.place.evict()?;
        }
        let before = self.look(false);
        let began = Instant::now();
        let opened = self.reopen_watching();
        let opening_ns = began.elapsed().as_nanos() as u64;
        let read_bytes = self.look(false).since(&before).read_bytes;
        self.opening = Some((opening_ns, read_bytes));
        Ok(opened)
    }

    /// Runs one slice and checks its answer. `first` is the operation it starts from, for slices that store nothing.
    ///
    /// # Errors
    /// When the lab itself fails; the subject failing ends its part and gives `None`.
    pub fn slice(&mut self, first: u64, calibrated: u64, kept: Kept) -> Result<Option<Played>> {
        if !self.plays() {
            return Ok(None);
        }
        let settled = self.settle()?;
        let asked = settled.and_then(|()| self.ask_before());
        let played = asked.and_then(|()| self.play(first, calibrated, &kept));
        if played.is_err() {
            kept.discard();
        }
        Ok(self.note(played))
    }

    fn play(&mut self, first: u64, calibrated: u64, kept: &Kept) -> SessionResult<Played> {
        let lanes = self.lanes_at(first, calibrated);
        let reaches_disk = self.arm.awaits_disk();
        let before = self.look(reaches_disk);
        let Kept { latency, series } = kept.clone();
        let reply = self.ask(&Request::Run(Run { lanes: lanes.clone(), latency, series }))?;
        let witness = self.witness(&before, &self.look(reaches_disk));
        let Reply::Run(sample) = reply else { return Err(unexpected("run", &reply)) };
        if sample.lanes.len() != lanes.len() {
            return Err(SessionError::Rubbish(format!(
                "it answered {} of {} lanes",
                sample.lanes.len(),
                lanes.len()
            )));
        }
        if let Some(why) = impossible(&sample, &lanes, witness.waited_ns, processors()) {
            return Err(SessionError::Rubbish(why));
        }
        self.take_survey();
        let wrong: Vec<String> = lanes
            .iter()
            .zip(&sample.lanes)
            .filter(|_| !self.context.case.unchecked)
            .filter_map(|(lane, answer)| self.context.data.wrong(&self.contents, lane, &lanes, answer))
            .collect();
        self.next.operation += self.arm.records_used(calibrated);
        self.next.state += self.arm.states_used(calibrated);
        for (lane, answer) in lanes.iter().zip(&sample.lanes) {
            self.done(lane, answer);
        }
        let wrong = (!wrong.is_empty()).then(|| wrong.join("; "));
        if let Some(wrong) = &wrong {
            self.outcome = Outcome::Void;
            self.error = Some(wrong.clone());
        }
        let commits = self.context.data.commits(&lanes, &sample.lanes);
        let played = Played { lanes, sample, witness, wrong, commits };
        let kept = kept.check(&played, self.arm);
        if played.wrong.is_none() {
            kept?;
        }
        Ok(played)
    }

    /// Asks what comes before a slice, where its gets have an order that goes on from there. Nothing of it counts but that it is right.
    fn ask_before(&mut self) -> SessionResult<()> {
        let Some(lane) = self.context.case.asked_before() else { return Ok(()) };
        let reply = self.ask(&Request::Run(Run::of(vec![lane.clone()])))?;
        let Reply::Run(sample) = reply else { return Err(unexpected("run", &reply)) };
        let [answer] = &sample.lanes[..] else {
            return Err(SessionError::Rubbish(format!("it answered {} of 1 lanes", sample.lanes.len())));
        };
        match self.context.data.wrong(&self.contents, &lane, std::slice::from_ref(&lane), answer) {
            Some(wrong) => Err(SessionError::Wrong(wrong)),
            None => Ok(()),
        }
    }

    /// The lanes of a slice; what stores no records starts from operation `first`.
    fn lanes_at(&self, first: u64, calibrated: u64) -> Vec<Lane> {
        let inserts = self.arm.records_used(calibrated) > 0;
        let operation = if inserts { self.next.operation } else { first };
        self.context.case.lanes_at(self.arm, Start { operation, ..self.next }, calibrated)
    }

    /// What a lane did to the database.
    fn done(&mut self, lane: &Lane, answer: &LaneSample) {
        self.context.data.play(&mut self.contents, lane, answer);
        self.failing |= answer.failed() > 0;
        if lane.verb.inserts() {
            self.stored += lane.count;
            self.acknowledged = self.acknowledged.saturating_add(answer.answers);
        } else if lane.verb == Verb::DeleteMany {
            self.stored = self.stored.saturating_sub(answer.answers);
            self.acknowledged = self.acknowledged.saturating_sub(answer.answers);
        }
    }

    /// Opens, and subscribes where the case watches anything.
    fn reopen_watching(&mut self) -> SessionResult<()> {
        self.reopen()?;
        let Some(count) = self.context.case.watched_before(self.arm) else { return Ok(()) };
        match self.ask(&Request::Watch { count })? {
            Reply::Watch => Ok(()),
            other => Err(unexpected("watch", &other)),
        }
    }

    fn reopen(&mut self) -> SessionResult<()> {
        let request = Request::Open {
            directory: self.place.path().to_owned(),
            record: self.context.case.dataset.record,
            schema: self.arm.schema(self.context.case, false),
            settings: self.arm.settings.clone(),
        };
        match self.ask(&request)? {
            Reply::Open(opened) => {
                self.settings = opened.settings;
                self.open = true;
                Ok(())
            }
            other => Err(unexpected("open", &other)),
        }
    }

    fn close(&mut self) -> SessionResult<()> {
        if !std::mem::take(&mut self.open) {
            return Ok(());
        }
        match self.ask(&Request::Close)? {
            Reply::Close => Ok(()),
            other => Err(unexpected("close", &other)),
        }
    }

    fn ask(&mut self, request: &Request) -> SessionResult<Reply> {
        self.session.as_mut().expect("only an arm that plays is asked").ask(request)
    }

    /// Keeps a failure as the arm's outcome and ends its process.
    fn note<T>(&mut self, result: SessionResult<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.outcome = error.outcome();
                self.error = Some(error.to_string());
                self.session = None;
                None
            }
        }
    }
}

/// Where an arm's latencies of a launch go.
pub fn latency_file(record: &Path, case: &str, arm: &str, launch: usize) -> PathBuf {
    record.join(latency_path(case, arm, launch))
}

/// Where an arm's series of a launch goes.
pub fn series_file(record: &Path, case: &str, arm: &str, launch: usize) -> PathBuf {
    record.join(series_path(case, arm, launch))
}

/// Lets every arm enter, in random order: all processes are started before the first is waited for. The players come back in plan
/// order.
///
/// # Errors
/// When the lab itself fails.
pub fn enter_all<'s>(
    context: &'s CaseContext<'s>,
    arms: &[(&'s PlannedArm, &'s Place)],
    scratch: &Path,
    processor: Option<usize>,
    random: &mut Stream,
) -> Result<Vec<Player<'s>>> {
    let mut players: Vec<Option<Player<'s>>> = arms.iter().map(|_| None).collect();
    let order = random_order(arms.len(), random);
    for index in &order {
        let (arm, template) = arms[*index];
        players[*index] = Some(Player::enter(context, arm, template, scratch, processor, random)?);
    }
    for index in order {
        players[index].iter_mut().for_each(Player::be_introduced);
    }
    Ok(players.into_iter().flatten().collect())
}
