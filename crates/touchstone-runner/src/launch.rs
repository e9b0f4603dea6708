//! One launch of a case: a fresh process and a fresh copy of the database for every arm, then the blocks.
//!
//! A subject that fails leaves the launch and its outcome says how; the others go on.

use crate::data::{CaseData, Contents};
use crate::error::Result;
use crate::header::contradicted;
use crate::kits::Project;
use crate::place::Place;
use crate::plausible::{impossible, processors};
use crate::random::{Stream, random_order};
use crate::session::{Manners, Session, SessionError, SessionResult, unexpected};
use crate::surroundings::{Surroundings, nameless};
use crate::task::{children, strayed, threads};
use crate::witness::Seen;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use touchstone::kit::DurabilityClass;
use touchstone::plan::{PlannedArm, PlannedCase, Start};
use touchstone::record::latency_path;
use touchstone::sample::{Launch, NOT_EXPLAINED, Outcome, Phase, Slice, Witness};
use touchstone::suite::Cache;
use touchstone_protocol::{
    Failure, FailureKind, Hello, Lane, LaneSample, Plan, Reply, Request, Run, Sample, Settings, Verb,
};

/// Everything a launch of a case plays with.
pub struct Stage<'s> {
    /// Where the drivers are.
    pub project: &'s Project,
    /// The case.
    pub case: &'s PlannedCase,
    /// Its data.
    pub data: &'s CaseData,
    /// How to speak to drivers.
    pub manners: &'s Manners,
}

/// An arm in a launch: its process, its database, and what became of it.
pub struct Player<'s> {
    stage: &'s Stage<'s>,
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
    /// Records handed over to be stored, less those deleted again; those stored beforehand are among them.
    stored: u64,
    /// Of those, the ones whose storing was acknowledged.
    acknowledged: u64,
    outcome: Outcome,
    error: Option<String>,
}

impl<'s> Player<'s> {
    /// Copies the template and starts the driver. A driver that cannot start is an outcome, not an error.
    ///
    /// # Errors
    /// When the lab itself fails, as on a full disk.
    pub fn enter(
        stage: &'s Stage<'s>,
        arm: &'s PlannedArm,
        template: &'s Place,
        scratch: &Path,
        processor: Option<usize>,
        random: &mut Stream,
    ) -> Result<Player<'s>> {
        let place = Place::new(scratch.join(nameless(random)))?;
        place.restore(template)?;
        let mut player = Player {
            stage,
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
            contents: stage.data.contents(),
            stored: stage.case.filled,
            acknowledged: stage.case.filled,
            outcome: Outcome::Completed,
            error: None,
        };
        let command = player.command()?;
        let entered = player.introduce(command);
        player.note(entered);
        Ok(player)
    }

    /// Starts the driver, as every process of it in this launch is started.
    fn command(&self) -> Result<Command> {
        self.surroundings.around(self.stage.project.command(self.arm)?)
    }

    fn introduce(&mut self, command: Command) -> SessionResult<()> {
        self.start(command)?;
        self.require_capabilities()?;
        self.prepare()?;
        self.reopen_watching()
    }

    fn start(&mut self, command: Command) -> SessionResult<()> {
        let mut session = Session::start(command, self.stage.manners.clone())?;
        self.hello = Some(session.hello()?);
        self.session = Some(session);
        Ok(())
    }

    fn require_capabilities(&self) -> SessionResult<()> {
        let has = &self.hello.as_ref().expect("it has said hello").capabilities;
        let record = self.stage.case.dataset.record;
        for lane in &self.arm.lanes {
            let held = lane.held.then(|| format!("{record}.held"));
            let types = if self.stage.case.typed { "typed" } else { "tables" };
            let tables = (lane.table > 1).then(|| format!("{record}.{types}"));
            let watched =
                self.stage.case.watch.as_ref().map(|watch| format!("{record}.watch-{}", watch.watched));
            let verb = Some(format!("{record}.{}", lane.verb));
            for wanted in [verb, held, tables, watched].into_iter().flatten() {
                if !has.contains(&wanted) {
                    return Err(SessionError::Refused(Failure {
                        kind: FailureKind::Unsupported,
                        message: format!("the driver has no capability {wanted}"),
                    }));
                }
            }
        }
        Ok(())
    }

    fn prepare(&mut self) -> SessionResult<()> {
        let request = Request::Prepare {
            record: self.stage.case.dataset.record,
            dataset: self.stage.data.dataset_file(),
            operations: Some(self.stage.data.operations_file.clone()),
            states: self.stage.data.states_file(),
            subscriptions: self.stage.data.subscriptions_file(),
        };
        let data = self.stage.data;
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
        let case = self.stage.case;
        if case.cache == Cache::Warm && !case.restore {
            return Ok(Ok(()));
        }
        if let Err(error) = self.close() {
            return Ok(Err(error));
        }
        if case.restore {
            self.place.restore(self.template)?;
            self.next = Start::default();
            self.contents = self.stage.data.contents();
            (self.stored, self.acknowledged) = (self.stage.case.filled, self.stage.case.filled);
        }
        if case.cache == Cache::Evicted {
            if let Err(strange) = plain(&self.place)? {
                return Ok(Err(strange));
            }
            self.place.evict()?;
        }
        let before = self.look(false);
        let opened = self.reopen_watching();
        let read_bytes = self.look(false).since(&before).read_bytes;
        self.opening = Some((self.waited_ns(), read_bytes));
        Ok(opened)
    }

    /// Runs one slice and checks its answer. `first` is the operation it starts from, for slices that store nothing.
    ///
    /// # Errors
    /// When the lab itself fails; the subject failing ends its part and gives `None`.
    pub fn slice(&mut self, first: u64, calibrated: u64, latency: Option<PathBuf>) -> Result<Option<Played>> {
        if !self.plays() {
            return Ok(None);
        }
        let settled = self.settle()?;
        let played = settled.and_then(|()| self.play(first, calibrated, latency));
        Ok(self.note(played))
    }

    fn play(&mut self, first: u64, calibrated: u64, latency: Option<PathBuf>) -> SessionResult<Played> {
        let lanes = self.lanes_at(first, calibrated);
        let reaches_disk = self.arm.awaits_disk();
        let before = self.look(reaches_disk);
        let reply = self.ask(&Request::Run(Run { lanes: lanes.clone(), latency }))?;
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
            .filter(|_| !self.stage.case.unchecked)
            .filter_map(|(lane, answer)| self.stage.data.wrong(&self.contents, lane, &lanes, answer))
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
        Ok(Played { lanes, sample, witness, wrong })
    }

    /// What the system counts of the driver's process now.
    fn look(&self, flushes: bool) -> Seen {
        let process = self.session.as_ref().and_then(Session::process);
        process.map_or_else(Seen::default, |process| Seen::now(process, flushes))
    }

    fn waited_ns(&self) -> u64 {
        self.session.as_ref().map_or(0, Session::waited_ns)
    }

    /// What was seen from before the slice to after it, and of the opening before that.
    fn witness(&mut self, before: &Seen, after: &Seen) -> Witness {
        let seen = after.since(before);
        let (opening_ns, opening_read_bytes) = self.opening.take().unzip();
        let replied = self.session.as_ref().map_or(0, Session::replied_bytes);
        Witness {
            waited_ns: self.waited_ns(),
            opening_ns,
            opening_read_bytes: opening_read_bytes.flatten(),
            read_bytes: seen.read_bytes,
            written_bytes: seen.written_bytes.map(|bytes| bytes.saturating_sub(replied)),
            flushes: seen.flushes,
            tasks_made: after.tasks_since(before),
        }
    }

    /// Looks at what the process consists of, and keeps the most of it.
    fn take_survey(&mut self) {
        let Some(process) = self.session.as_ref().and_then(Session::process) else { return };
        self.survey.threads = self.survey.threads.max(threads(process));
        self.survey.children = self.survey.children.max(children(process));
        let strays = || self.processor.and_then(|processor| strayed(process, processor));
        self.survey.strayed = self.survey.strayed.take().or_else(strays);
    }

    /// The lanes of a slice; what stores no records starts from operation `first`.
    fn lanes_at(&self, first: u64, calibrated: u64) -> Vec<Lane> {
        let inserts = self.arm.records_used(calibrated) > 0;
        let operation = if inserts { self.next.operation } else { first };
        self.arm.lanes_at(Start { operation, ..self.next }, calibrated)
    }

    /// What a lane did to the database.
    fn done(&mut self, lane: &Lane, answer: &LaneSample) {
        self.stage.data.play(&mut self.contents, lane, answer);
        if lane.verb.inserts() {
            self.stored += lane.count;
            self.acknowledged += answer.answers;
        } else if lane.verb == Verb::DeleteMany {
            self.stored = self.stored.saturating_sub(answer.answers);
            self.acknowledged = self.acknowledged.saturating_sub(answer.answers);
        }
    }

    /// Says in the first launch how it does a slice, then looks for everything that was acknowledged, and leaves.
    ///
    /// # Errors
    /// When the lab itself fails.
    pub fn leave(mut self, launch: usize, calibrated: u64) -> Result<Launch> {
        // What stores something is explained last, for nobody checks it. All else is explained by the process that played: it
        // may have kept what it no longer asks its engine for.
        let explains = launch == 0;
        let before = explains && !self.arm.writes();
        let mut plan = if before { self.explained(calibrated)? } else { Plan::default() };
        let mut counted = None;
        if self.plays() && !self.stage.case.unchecked {
            let checked = self.check_anew()?;
            counted = self.note(checked);
        }
        let found = counted.unwrap_or(0);
        let stored = self.stored;
        let file_bytes = self.place.file_bytes();
        let contradicted = self.contradicted(&file_bytes);
        if explains && !before {
            plan = self.explained(calibrated)?;
        }
        if let Some(session) = self.session.take().filter(|_| self.outcome == Outcome::Completed) {
            let left = session.quit();
            self.note(left);
        }
        self.settings.extend(contradicted);
        // A part that was cut short has nothing to compare: it is not missing what nobody looked for.
        let whole = counted.is_some() && self.outcome == Outcome::Completed;
        Ok(Launch {
            case: self.stage.case.id.clone(),
            launch,
            arm: self.arm.name.clone(),
            outcome: self.outcome,
            error: self.error.take(),
            calibrated,
            processor: self.processor,
            threads: self.survey.threads,
            children: self.survey.children,
            strayed: self.survey.strayed.take(),
            settings: std::mem::take(&mut self.settings),
            expected: if whole { stored } else { found },
            found,
            plan: plan.plan,
            counters: plan.counters,
            file_bytes,
        })
    }

    /// What the files of its closed database say otherwise than it told.
    fn contradicted(&self, files: &BTreeMap<String, u64>) -> Settings {
        let paths: Vec<PathBuf> = files.keys().map(|file| self.place.path().join(file)).collect();
        contradicted(paths.iter().map(PathBuf::as_path), &self.settings)
    }

    /// How it does a slice; nothing of an arm that has failed.
    fn explained(&mut self, calibrated: u64) -> Result<Plan> {
        if !self.plays() {
            return Ok(Plan::default());
        }
        let explained = self.explain(calibrated)?;
        Ok(self.note(explained).unwrap_or_default())
    }

    /// Ends the process that played, starts another one, and lets that look. Killed, the first can neither write down what it
    /// only kept in memory nor tell the second; a class that promises nothing after that is closed instead.
    fn check_anew(&mut self) -> Result<SessionResult<u64>> {
        if self.arm.class == DurabilityClass::None {
            if let Err(error) = self.close() {
                return Ok(Err(error));
            }
            if let Some(Err(error)) = self.session.take().map(Session::quit) {
                return Ok(Err(error));
            }
        }
        self.session = None;
        self.open = false;
        let command = self.command()?;
        Ok(self.start(command).and_then(|()| self.prepare_nothing()).and_then(|()| self.check()))
    }

    /// So that it need not read data to tell what it finds.
    fn prepare_nothing(&mut self) -> SessionResult<()> {
        let reply = self.ask(&Request::Prepare {
            record: self.stage.case.dataset.record,
            dataset: self.stage.data.empty_file.clone(),
            operations: None,
            states: None,
            subscriptions: None,
        })?;
        match reply {
            Reply::Prepare { .. } => Ok(()),
            other => Err(unexpected("prepare", &other)),
        }
    }

    /// How it does a slice, off the clock.
    fn explain(&mut self, calibrated: u64) -> Result<SessionResult<Plan>> {
        if self.arm.writes() {
            let prepared = self.prepare();
            if self.note(prepared).is_none() {
                return Ok(Ok(Plan::default()));
            }
        }
        let settled = self.settle()?;
        let open = |player: &mut Self| if player.open { Ok(()) } else { player.reopen_watching() };
        Ok(settled.and_then(|()| open(self)).and_then(|()| self.explain_slice(calibrated)))
    }

    fn explain_slice(&mut self, calibrated: u64) -> SessionResult<Plan> {
        let lanes = self.lanes_at(0, calibrated);
        let plan = match self.ask(&Request::Explain { lanes }) {
            Ok(Reply::Explain(plan)) => plan,
            Ok(other) => return Err(unexpected("explain", &other)),
            // Not to explain is a missing capability; it costs the report a row, not the subject its result.
            Err(SessionError::Refused(failure)) if failure.kind == FailureKind::Unsupported => {
                Plan::default()
            }
            Err(SessionError::Refused(failure)) => {
                Plan { plan: vec![format!("{NOT_EXPLAINED} {failure}")], ..Plan::default() }
            }
            Err(error) => return Err(error),
        };
        self.close()?;
        Ok(plan)
    }

    fn check(&mut self) -> SessionResult<u64> {
        self.reopen()?;
        let (mut found, mut differs) = (0, None);
        for table in 1..=self.stage.case.tables_used() {
            let reply = self.ask(&Request::Check { table })?;
            let Reply::Check { answers, digest } = reply else { return Err(unexpected("check", &reply)) };
            found += answers;
            let right = self.stage.data.content(&self.contents, table);
            if right.is_some_and(|(_, right)| digest != right) {
                differs = differs.or(Some((table, digest)));
            }
        }
        self.close()?;
        let acknowledged = self.acknowledged;
        let wrong = match differs {
            _ if found != acknowledged => {
                Some(format!("{found} records are there, {acknowledged} were acknowledged"))
            }
            Some((table, digest)) => Some(self.differs(table, &digest)),
            None => None,
        };
        if let Some(wrong) = wrong {
            self.outcome = Outcome::Void;
            self.error = Some(wrong);
        }
        Ok(found)
    }

    fn differs(&self, table: u32, digest: &str) -> String {
        let (_, right) = self.stage.data.content(&self.contents, table).unwrap_or_default();
        let of = if table == 1 { String::new() } else { format!(" of table {table}") };
        format!("the database's content{of} has digest {digest}, the right one is {right}")
    }

    /// Opens, and subscribes where the case watches anything.
    fn reopen_watching(&mut self) -> SessionResult<()> {
        self.reopen()?;
        let Some(count) = self.stage.case.watched_before(self.arm) else { return Ok(()) };
        match self.ask(&Request::Watch { count })? {
            Reply::Watch => Ok(()),
            other => Err(unexpected("watch", &other)),
        }
    }

    fn reopen(&mut self) -> SessionResult<()> {
        let request = Request::Open {
            directory: self.place.path().to_owned(),
            record: self.stage.case.dataset.record,
            schema: self.arm.schema(self.stage.case, false),
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

/// What a driver's process was seen to consist of, at the most.
#[derive(Default)]
struct Survey {
    threads: Option<u64>,
    children: Option<u64>,
    strayed: Option<String>,
}

/// A slice that was played.
pub struct Played {
    /// What was asked.
    pub lanes: Vec<Lane>,
    /// What came.
    pub sample: Sample,
    /// What the lab saw of it.
    pub witness: Witness,
    /// What was wrong with it.
    pub wrong: Option<String>,
}

impl Played {
    /// As a line of the record.
    pub fn line(
        &self,
        case: &str,
        launch: usize,
        arm: &str,
        phase: Phase,
        block: u32,
        position: u32,
    ) -> Slice {
        Slice {
            case: case.to_owned(),
            launch,
            arm: arm.to_owned(),
            phase,
            block,
            position,
            operations: self.operations(),
            wall_ns: self.sample.wall_ns,
            cpu_ns: self.sample.cpu_ns,
            lanes: self.sample.lanes.clone(),
            usage: self.sample.usage,
            witness: Some(self.witness),
            wrong: self.wrong.clone(),
        }
    }

    /// Records answered or acknowledged, over all lanes; for `open`, the times it was opened, for `deliver`, its
    /// transactions, and for `subscribe`, the first results.
    pub fn operations(&self) -> u64 {
        let lanes = self.lanes.iter().zip(&self.sample.lanes);
        lanes
            .map(
                |(lane, answer)| {
                    if matches!(lane.verb, Verb::Open | Verb::Deliver) { lane.count } else { answer.answers }
                },
            )
            .sum()
    }
}

/// Where an arm's latencies of a launch go.
pub fn latency_file(record: &Path, case: &str, arm: &str, launch: usize) -> PathBuf {
    record.join(latency_path(case, arm, launch))
}

/// Lets every arm enter, in random order; the players come back in plan order.
///
/// # Errors
/// When the lab itself fails.
pub fn enter_all<'s>(
    stage: &'s Stage<'s>,
    arms: &[(&'s PlannedArm, &'s Place)],
    scratch: &Path,
    processor: Option<usize>,
    random: &mut Stream,
) -> Result<Vec<Player<'s>>> {
    let mut players: Vec<Option<Player<'s>>> = arms.iter().map(|_| None).collect();
    for index in random_order(arms.len(), random) {
        let (arm, template) = arms[index];
        players[index] = Some(Player::enter(stage, arm, template, scratch, processor, random)?);
    }
    Ok(players.into_iter().flatten().collect())
}

/// Makes the database that every launch of an arm starts from, with the driver's own means.
///
/// # Errors
/// When the lab itself fails. A subject that cannot make its database is an outcome: the second result.
pub fn make_template(
    stage: &Stage<'_>,
    arm: &PlannedArm,
    scratch: &Path,
    random: &mut Stream,
) -> Result<SessionResult<Place>> {
    let place = Place::new(scratch.join(nameless(random)))?;
    let surroundings = Surroundings::new(scratch, random)?;
    let command = surroundings.around(stage.project.command(arm)?)?;
    if let Err(error) = fill(stage, arm, &place, command) {
        return Ok(Err(error));
    }
    Ok(plain(&place)?.map(|()| place))
}

/// What the lab cannot copy is a thing that this driver cannot do here, and no fault of the lab's.
fn plain(place: &Place) -> Result<SessionResult<()>> {
    let refused = |message| SessionError::Refused(Failure { kind: FailureKind::Unsupported, message });
    Ok(place.strange()?.map_or(Ok(()), |strange| Err(refused(strange))))
}

fn fill(stage: &Stage<'_>, arm: &PlannedArm, place: &Place, command: Command) -> SessionResult<()> {
    // Making 10,000 tables or storing millions of records is no slice: it may take ten times as long.
    let manners = Manners { limit: stage.manners.limit * 10, ..stage.manners.clone() };
    let mut session = Session::start(command, manners)?;
    session.hello()?;
    let case = stage.case;
    let record = case.dataset.record;
    let dataset = stage.data.dataset_file();
    session.ask(&Request::Prepare {
        record,
        dataset,
        operations: None,
        states: None,
        subscriptions: None,
    })?;
    session.ask(&Request::Open {
        directory: place.path().to_owned(),
        record,
        schema: arm.schema(case, true),
        settings: arm.settings.clone(),
    })?;
    let tables = 1..=case.tables_used();
    for table in tables.clone().filter(|_| case.churn > 0) {
        let churned = case.share_of(case.dataset.records, table);
        let count = churned.end - churned.start;
        session.ask(&Request::Churn { from: churned.start, count, table, times: case.churn })?;
    }
    for table in tables {
        let stored = case.share_of(case.filled, table);
        session.ask(&Request::Fill { from: stored.start, count: stored.end - stored.start, table })?;
    }
    session.ask(&Request::Close)?;
    session.quit()
}
