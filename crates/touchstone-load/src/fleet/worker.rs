//! The conversation with the master: what it says is done, what it must know is told, and when it is gone that is an error.

use super::gauge::{Gauge, memory_bytes};
use super::message::{Message, entry, map, number};
use super::session::{Session, now as seconds_now};
use super::stats::stats;
use super::wire::Wire;
use crate::error::{Error, Result};
use crate::outcome::Outcome;
use crate::scenario::Scenario;
use rmpv::Value;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is looked whether something is due.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// As Locust's own workers do it: the master takes a worker for lost that says nothing for three seconds.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(1);
const REPORT_EVERY: Duration = Duration::from_secs(3);
/// Who was not acknowledged says once more that it is ready.
const READY_EVERY: Duration = Duration::from_secs(5);
/// How long it is tried at a time to reach a master that is gone: meanwhile nothing else is done.
const CONNECT_WITHIN: Duration = Duration::from_millis(400);
/// A worker of another software says this in the place of a version, and the master does not compare it with its own.
const ANY_VERSION: i64 = -1;
/// The longest that users may take to end when they are stopped, whatever the master says.
const STOP_S_MAX: f64 = 86_400.0;

/// What a worker is told by who starts it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The master, as `host:port`.
    pub master: String,
    /// How long the master may say nothing, at the beginning and later.
    pub patience: Duration,
    /// What its users do.
    pub scenario: Scenario,
}

/// What a worker tells who has started it.
#[derive(Debug)]
pub enum Event {
    /// The master knows it, by this number.
    Ready(u64),
    /// So many users take part.
    Users(u32),
    /// A test is over; this was counted.
    Ended(Box<Outcome>),
    /// A test could not go on.
    Failed(Error),
    /// The connection is lost, for this reason. It is tried to connect again.
    Lost(String),
}

/// Why a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The master said so.
    Quit,
    /// `stop` said so.
    Stopped,
}

/// Works for a master until it says to quit, or `stop` does.
///
/// # Errors
/// When there is no master, it speaks another protocol, or it has said nothing for as long as the patience lasts.
pub fn work(settings: &Settings, stop: &AtomicBool, tell: &mut dyn FnMut(Event)) -> Result<End> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::io("making what waits for the master", &error))?;
    runtime.block_on(async {
        let mut worker = Worker::new(settings, tell);
        let ended = worker.work(stop).await;
        worker.end(ended).await
    })
}

struct Worker<'w> {
    settings: &'w Settings,
    tell: &'w mut dyn FnMut(Event),
    name: String,
    wire: Option<Wire>,
    /// Why there is no connection.
    lost: String,
    /// The worker's number, once the master knows it.
    number: Option<u64>,
    session: Option<Session>,
    gauge: Gauge,
    /// When the master was last heard.
    heard: Instant,
    next_heartbeat: Instant,
    next_report: Instant,
    next_ready: Instant,
    /// What is older has been overtaken by another message.
    last_spawn: f64,
    /// How long users may take to end when they are stopped, as the master last said.
    stop_within: Duration,
}

impl<'w> Worker<'w> {
    fn new(settings: &'w Settings, tell: &'w mut dyn FnMut(Event)) -> Worker<'w> {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let chance = || RandomState::new().build_hasher().finish();
        let now = Instant::now();
        Worker {
            settings,
            tell,
            name: format!("{host}_{:016x}{:016x}", chance(), chance()),
            wire: None,
            lost: "nobody listens there".into(),
            number: None,
            session: None,
            gauge: Gauge::new(settings.scenario.load.threads),
            heard: now,
            next_heartbeat: now + HEARTBEAT_EVERY,
            next_report: now + REPORT_EVERY,
            next_ready: now,
            last_spawn: 0.0,
            stop_within: Duration::ZERO,
        }
    }

    async fn work(&mut self, stop: &AtomicBool) -> Result<End> {
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(End::Stopped);
            }
            let silent = self.heard.elapsed();
            if silent >= self.settings.patience {
                return Err(self.no_master(silent));
            }
            if self.wire.is_none() {
                self.connect(self.settings.patience - silent).await;
            }
            match self.receive().await {
                Some(Ok(message)) => {
                    self.heard = Instant::now();
                    if let Some(end) = self.obey(message).await? {
                        return Ok(end);
                    }
                }
                Some(Err(why)) => self.lose(why),
                None => {}
            }
            self.do_what_is_due().await;
        }
    }

    /// The next message, if it comes soon.
    async fn receive(&mut self) -> Option<std::result::Result<Message, String>> {
        match &mut self.wire {
            Some(wire) => tokio::time::timeout(LOOK_EVERY, wire.receive()).await.ok(),
            None => {
                tokio::time::sleep(LOOK_EVERY).await;
                None
            }
        }
    }

    fn no_master(&self, silent: Duration) -> Error {
        let master = &self.settings.master;
        let seconds = silent.as_secs_f64();
        let what = match (&self.wire, self.number) {
            (None, None) => {
                format!("no Locust master answers at {master} within {seconds:.0} s: {}", self.lost)
            }
            (Some(_), None) => format!(
                "what listens at {master} has not acknowledged this worker within {seconds:.0} s: is it a master of Locust 2?"
            ),
            (None, _) => format!("the Locust master at {master} is gone for {seconds:.0} s: {}", self.lost),
            (Some(_), _) => format!("the Locust master at {master} has said nothing for {seconds:.0} s"),
        };
        Error::unavailable(format!(
            "{what} (start it with `locust --master`, or see --master and --patience)"
        ))
    }

    async fn connect(&mut self, left: Duration) {
        match Wire::connect(&self.settings.master, &self.name, CONNECT_WITHIN.min(left)).await {
            Ok(wire) => {
                self.wire = Some(wire);
                // While a test goes on the master knows us, or has to ask: saying that we are ready would end it there.
                if self.session.is_none() {
                    self.next_ready = Instant::now();
                    self.say_ready().await;
                }
            }
            Err(why) => self.lost = why,
        }
    }

    fn lose(&mut self, why: String) {
        if self.wire.take().is_some() {
            self.lost.clone_from(&why);
            (self.tell)(Event::Lost(why));
        }
    }

    async fn send(&mut self, kind: &str, data: Value) {
        let message = Message { kind: kind.into(), data, node: self.name.clone() };
        if let Some(wire) = &mut self.wire
            && let Err(why) = wire.send(&message).await
        {
            self.lose(why);
        }
    }

    async fn say_ready(&mut self) {
        self.next_ready = Instant::now() + READY_EVERY;
        self.send("client_ready", ANY_VERSION.into()).await;
    }

    async fn do_what_is_due(&mut self) {
        let now = Instant::now();
        if self.number.is_none() && now >= self.next_ready {
            self.say_ready().await;
        }
        if self.number.is_some() && now >= self.next_heartbeat {
            self.next_heartbeat = now + HEARTBEAT_EVERY;
            let state = if self.session.is_some() { "running" } else { "ready" };
            let data = map([
                ("state", state.into()),
                ("current_cpu_usage", self.gauge.busy_percent().into()),
                ("current_memory_usage", memory_bytes().into()),
            ]);
            self.send("heartbeat", data).await;
        }
        // Without a connection it is kept, until there is one.
        if self.number.is_some() && now >= self.next_report && self.wire.is_some() {
            self.next_report = now + REPORT_EVERY;
            let counted = match &self.session {
                Some(session) => session.report(),
                None => stats(None, &[], seconds_now()),
            };
            self.report(counted).await;
        }
        if self.session.as_ref().is_some_and(Session::is_over) {
            self.end_session(false).await;
            self.send("client_stopped", Value::Nil).await;
            self.say_ready().await;
        }
    }

    fn users(&self) -> [(&'static str, Value); 2] {
        let (users, classes) = match &self.session {
            Some(session) => (session.users(), session.classes.clone()),
            None => (0, Value::Map(Vec::new())),
        };
        [("user_classes_count", classes), ("user_count", users.into())]
    }

    async fn report(&mut self, mut counted: Vec<(Value, Value)>) {
        counted.extend(self.users().map(|(key, value)| (key.into(), value)));
        self.send("stats", Value::Map(counted)).await;
    }

    /// Does what the master says.
    async fn obey(&mut self, message: Message) -> Result<Option<End>> {
        match message.kind.as_str() {
            "ack" => {
                // Masters before 2.10.2 give no number.
                let number = entry(&message.data, "index").and_then(Value::as_u64).unwrap_or(0);
                if self.number.replace(number).is_none() {
                    (self.tell)(Event::Ready(number));
                }
            }
            "spawn" => self.spawn(&message.data).await?,
            "stop" => self.stop().await,
            "quit" => return Ok(Some(End::Quit)),
            "reconnect" => self.lose("the master asks to connect again".into()),
            // Being heard is what a heartbeat is for; the rest is for workers that run Python.
            _ => {}
        }
        Ok(None)
    }

    async fn spawn(&mut self, job: &Value) -> Result<()> {
        let Some((users, classes)) = users_of(job) else {
            return Err(Error::unavailable(format!(
                "the master at {} does not say how many users of each class there are: it is none of Locust 2, use one from 2.0 on",
                self.settings.master
            )));
        };
        let at = entry(job, "timestamp").and_then(number).unwrap_or(f64::MAX);
        if at <= self.last_spawn {
            return Ok(());
        }
        self.last_spawn = at;
        self.send("spawning", Value::Nil).await;
        if self.session.as_ref().is_some_and(|session| session.ends.is_some()) {
            self.end_session(false).await;
        }
        if self.session.is_none() {
            let mut scenario = self.settings.scenario.clone();
            if let Some(host) = entry(job, "host").and_then(Value::as_str).filter(|host| !host.is_empty()) {
                scenario.host = host.trim_end_matches('/').to_owned();
            }
            match Session::begin(scenario, self.number.unwrap_or(0)) {
                Ok(session) => self.session = Some(session),
                Err(error) => {
                    self.fail(error).await;
                    return Ok(());
                }
            }
        }
        if let Some(session) = &mut self.session {
            session.let_take_part(users, classes);
            (self.tell)(Event::Users(session.users()));
        }
        let told = map(self.users());
        self.send("spawning_complete", told).await;
        self.stop_within = stop_within(job);
        Ok(())
    }

    async fn stop(&mut self) {
        match &mut self.session {
            Some(session) => session.wind_down(Instant::now() + self.stop_within),
            None => {
                self.send("client_stopped", Value::Nil).await;
                self.say_ready().await;
            }
        }
    }

    /// Ends the test, and tells everybody what it has counted.
    async fn end_session(&mut self, by_hand: bool) {
        let Some(session) = self.session.take() else { return };
        let (counted, outcome) = session.end(by_hand);
        self.report(counted).await;
        match outcome {
            Ok(outcome) => (self.tell)(Event::Ended(Box::new(outcome))),
            Err(error) => self.fail(error).await,
        }
    }

    /// Tells of what could not go on, here and on the master's page.
    async fn fail(&mut self, error: Error) {
        let data = map([("msg", error.to_string().into()), ("traceback", "touchstone-load\n".into())]);
        self.send("exception", data).await;
        (self.tell)(Event::Failed(error));
    }

    /// Leaves, however the work ended.
    async fn end(mut self, ended: Result<End>) -> Result<End> {
        self.end_session(!matches!(ended, Ok(End::Quit))).await;
        if matches!(ended, Ok(End::Stopped)) {
            self.send("quit", Value::Nil).await;
        }
        if let Some(wire) = self.wire.take() {
            wire.end().await;
        }
        ended
    }
}

/// How long users may take to end, as a `spawn` says; not at all, where it says no length of time.
fn stop_within(job: &Value) -> Duration {
    let said = entry(job, "stop_timeout").and_then(number).filter(|seconds| *seconds > 0.0);
    Duration::from_secs_f64(said.unwrap_or(0.0).min(STOP_S_MAX))
}

/// How many users a `spawn` asks for, and by which classes.
fn users_of(job: &Value) -> Option<(u32, Value)> {
    let classes = entry(job, "user_classes_count")?;
    let counts = classes.as_map()?.iter().map(|(_, count)| count.as_u64().unwrap_or(0));
    let users = counts.fold(0u64, u64::saturating_add);
    Some((u32::try_from(users).unwrap_or(u32::MAX), classes.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A master that said a time that is none, or more users than can be counted, ended the worker with a panic.
    #[test]
    fn whatever_a_master_says_is_a_time_and_a_number() {
        let day = Duration::from_secs_f64(STOP_S_MAX);
        for (said, expected) in [
            (Value::from(1.5), Duration::from_millis(1_500)),
            (f64::NAN.into(), Duration::ZERO),
            ((-3.0).into(), Duration::ZERO),
            ((-3).into(), Duration::ZERO),
            (f64::INFINITY.into(), day),
            (f64::NEG_INFINITY.into(), Duration::ZERO),
            (f64::MAX.into(), day),
            (u64::MAX.into(), day),
            ("soon".into(), Duration::ZERO),
        ] {
            assert_eq!(stop_within(&map([("stop_timeout", said.clone())])), expected, "{said}");
        }
        let classes = map([("A", u64::MAX.into()), ("B", 7.into()), ("C", (-1).into())]);
        let users = users_of(&map([("user_classes_count", classes)])).map(|(users, _)| users);
        assert_eq!((users, users_of(&Value::Nil)), (Some(u32::MAX), None));
    }
}
