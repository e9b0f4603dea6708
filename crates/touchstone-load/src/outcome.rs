//! What a run leaves: everything that was counted, as a file that says how it came about and that can be added to others of its plan.

mod check;
mod watch;

use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::latency::Latencies;
use crate::limit::{Figures, Limits};
use crate::plan::{Plan, Window};
use crate::recorder::{Connections, Recorder, Row, WHOLE};
use crate::scenario::Scenario;
use crate::series::Series;
use crate::trust::{self, Machine, Thread};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::Path;

pub use crate::plan::SETUP;
pub use check::SHARDS_MAX;
pub use watch::WatchOutcome;

/// The version of the file's format.
pub const FORMAT: u32 = 1;

/// What a run, or several shards of one, have counted.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// The version of this format.
    pub format: u32,
    /// The version of the generator.
    pub version: String,
    /// When it ended, in UTC.
    pub ended_at: String,
    /// What was asked.
    pub scenario: Scenario,
    /// What sent the requests, and the protocol: `own, HTTP/1.1`.
    pub engine: String,
    /// What must be the same in outcomes that are added.
    pub plan_digest: u32,
    /// Whether the next start waited for an answer.
    pub is_closed: bool,
    /// Users of the whole run; of a worker of a fleet, the most that it had at once.
    pub users: u32,
    /// Connections of the whole run at the most.
    pub connections_most: u32,
    /// Which parts of the plan are in it, as `3/10`.
    pub shards: Vec<Shard>,
    /// Seconds after which it was stopped by hand, if it was.
    pub stopped: Option<f64>,
    /// The phases, the setup last.
    pub phases: Vec<PhaseOutcome>,
    /// What was counted, by phase and request.
    pub rows: Vec<RowOutcome>,
    /// When requests ended, setup excluded.
    pub series: Series,
    /// Connections, setup excluded.
    pub connections: ConnectionsOutcome,
    /// Streams of events, by watch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watches: Vec<WatchOutcome>,
    /// Iterations that were due.
    pub due: u64,
    /// Of these, not begun by the end.
    pub unsent: u64,
    /// The generator's threads.
    pub threads: Vec<Thread>,
    /// The machines of the shards.
    pub machines: Vec<Machine>,
    /// Why it cannot be believed; nothing, if it can.
    pub doubts: Vec<String>,
}

/// A part of a plan.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    /// From 1 on.
    pub number: u64,
    /// How many there are; 0 where workers of a fleet come and go.
    pub of: u64,
}

/// A phase as it was run.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct PhaseOutcome {
    /// Its name.
    pub name: String,
    /// When it began, in seconds after the first.
    pub begins: f64,
    /// How long it lasted.
    pub seconds: f64,
    /// Whether it is a part of the totals.
    pub is_counted: bool,
    /// Starts a second at its beginning and end; 0 in a closed loop.
    pub rate: (f64, f64),
    /// Users at its beginning and end; 0 in an open loop.
    pub users: (u32, u32),
}

/// What was counted of a request in a phase.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct RowOutcome {
    /// The phase.
    pub phase: String,
    /// The request's name.
    pub request: String,
    /// Its method and path.
    pub label: String,
    /// From the intended start to the end of the answer: an HdrHistogram in its format V2, in base 64.
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    pub response: Latencies,
    /// From the sending.
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    pub service: Latencies,
    /// How late the generator was.
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    pub lag: Latencies,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Failures by kind.
    pub failures: BTreeMap<Failure, u64>,
    /// What was wrong with the first of each kind.
    pub first_wrong: BTreeMap<Failure, String>,
    /// Bytes of requests that were answered.
    pub sent_bytes: u64,
    /// Bytes of their answers.
    pub received_bytes: u64,
    /// In a closed loop: requests, each by the share of its time that lies within the phase, in millionths. A request at the edge of two
    /// phases is a part of both, though it is counted where its iteration began. Rates are made of this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<u64>,
}

/// What became of connections.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ConnectionsOutcome {
    /// Made.
    pub made: u64,
    /// Closed by the service while idle.
    pub closed_idle: u64,
    /// Requests sent once more because of it.
    pub resent: u64,
}

fn to_text<S: Serializer>(latencies: &Latencies, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(latencies.to_bytes()))
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Latencies, D::Error> {
    let text = String::deserialize(deserializer)?;
    let bytes = STANDARD.decode(text).map_err(serde::de::Error::custom)?;
    Latencies::from_bytes(&bytes).map_err(serde::de::Error::custom)
}

impl Outcome {
    /// Of what lanes have counted.
    pub fn new(
        plan: &Plan,
        recorder: Recorder,
        threads: Vec<Thread>,
        machine: Machine,
        unsent: u64,
        stopped: Option<f64>,
    ) -> Outcome {
        let mut phases: Vec<PhaseOutcome> =
            plan.phases.iter().map(|phase| phase_outcome(phase, stopped)).collect();
        let ends = plan.ends_ns() as f64 / 1e9;
        phases.push(PhaseOutcome {
            name: SETUP.into(),
            begins: ends,
            seconds: 0.0,
            is_counted: false,
            rate: (0.0, 0.0),
            users: (0, 0),
        });
        let rows =
            recorder.rows().map(|(phase, request, row)| row_outcome(plan, &phases[phase].name, request, row));
        let rows = rows.collect();
        let watches = WatchOutcome::all(plan, &recorder.watches);
        let Connections { made, closed_idle, resent } = recorder.connections;
        let mut outcome = Outcome {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            ended_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            scenario: plan.scenario.clone(),
            engine: plan.engine.to_string(),
            plan_digest: plan.digest(),
            is_closed: plan.is_closed,
            users: plan.users,
            connections_most: plan.connections,
            shards: vec![Shard { number: plan.share.number + 1, of: plan.share.of }],
            stopped,
            phases,
            rows,
            series: recorder.series,
            connections: ConnectionsOutcome { made, closed_idle, resent },
            watches,
            due: recorder.due,
            unsent,
            threads,
            machines: vec![machine],
            doubts: Vec::new(),
        };
        outcome.doubt();
        outcome
    }

    /// Holds it against the generator's own limits.
    pub fn doubt(&mut self) {
        let all = self.total();
        let busy_most = self.threads.iter().map(|thread| thread.busy_share).fold(0.0, f64::max);
        let (lag_ns, service_ns) = (all.lag.quantile_ns(0.99) as f64, all.service.quantile_ns(0.5) as f64);
        self.doubts = trust::doubts(busy_most, lag_ns, service_ns, &self.scenario.load);
        if all.response.count() == 0 {
            self.doubts.push("no request of a counted phase has ended".into());
        }
    }

    /// Whether it can be believed.
    pub fn is_valid(&self) -> bool {
        self.doubts.is_empty()
    }

    /// Whether there were requests, and all failed: what was measured says nothing of answers.
    pub fn is_all_failed(&self) -> bool {
        let all = self.total();
        all.ended() > 0 && all.failed() >= all.ended()
    }

    /// What the counted phases must hold, as it was written; none, where nothing was. What that implies is not among it.
    pub fn limits(&self) -> Option<Limits> {
        self.scenario.limits.as_deref().and_then(|text| text.parse().ok())
    }

    /// Whether the service held what was asked of it: the limits and what they imply, and every stream of events. Without limits, a
    /// run that has measured failures alone is none that held.
    pub fn is_held(&self) -> bool {
        let holds = match self.limits() {
            Some(limits) => limits.with_failures().hold(&self.total()),
            None => !self.is_all_failed(),
        };
        holds && self.streams_lost() == 0
    }

    /// Streams of events that were refused, or ended before the run did.
    pub fn streams_lost(&self) -> u64 {
        self.watches.iter().map(|watch| watch.refused() + watch.broke()).sum()
    }

    /// Reads one.
    ///
    /// # Errors
    /// When it is not there, or no outcome.
    pub fn read(path: &Path) -> Result<Outcome> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::io(format_args!("reading {}", path.display()), &error))?;
        let format = serde_json::from_str::<Version>(&text).ok().map(|version| version.format);
        if let Some(format) = format.filter(|format| *format > FORMAT) {
            let message = format!(
                "{}: it is of format {format}, and this version reads up to {FORMAT}: use a newer one",
                path.display()
            );
            return Err(Error::input(message));
        }
        let outcome: Outcome = serde_json::from_str(&text).map_err(|error| {
            Error::input(format!("{}: it is no outcome of a load: {error}", path.display()))
        })?;
        outcome.check().map_err(|error| error.within(path.display()))?;
        Ok(outcome)
    }

    /// Refuses what no run can leave: numbers that are damaged, and sums that cannot be counted.
    ///
    /// # Errors
    /// What of it cannot be.
    pub fn check(&self) -> Result<()> {
        check::wrong(self).map_err(|why| Error::input(format!("damaged outcome: {why}")))
    }

    /// The counted seconds.
    pub fn counted_seconds(&self) -> f64 {
        self.phases.iter().filter(|phase| phase.is_counted).map(|phase| phase.seconds).sum()
    }

    /// The rows of counted phases, added by request, in the order of the scenario; deliveries by watch stand behind them.
    pub fn by_request(&self) -> Vec<RowOutcome> {
        let mut all: Vec<RowOutcome> = Vec::new();
        let requests = self.scenario.requests.iter().map(|request| &request.name);
        for name in requests.chain(self.scenario.watches.iter().map(|watch| &watch.name)) {
            let mine = self.rows.iter().filter(|row| row.request == *name && self.is_counted(row));
            let mut sum: Option<RowOutcome> = None;
            for row in mine {
                match &mut sum {
                    Some(sum) => sum.add(row),
                    None => sum = Some(row.clone()),
                }
            }
            all.extend(sum);
        }
        all
    }

    /// All counted rows, added.
    pub fn total(&self) -> RowOutcome {
        let mut sum = RowOutcome::empty();
        self.rows.iter().filter(|row| self.is_counted(row)).for_each(|row| sum.add(row));
        sum
    }

    /// Whether a row's phase is a part of the totals.
    pub fn is_counted(&self, row: &RowOutcome) -> bool {
        self.phases.iter().any(|phase| phase.is_counted && phase.name == row.phase)
    }

    /// Requests a second, in the counted phases.
    pub fn rate(&self) -> f64 {
        self.total().rate(self.counted_seconds()).unwrap_or(0.0)
    }
}

#[derive(Deserialize)]
struct Version {
    format: u32,
}

fn phase_outcome(phase: &Window, stopped: Option<f64>) -> PhaseOutcome {
    let (begins, ends) = (phase.begins_ns as f64 / 1e9, phase.ends_ns as f64 / 1e9);
    let ends = stopped.map_or(ends, |stopped| ends.min(stopped.max(begins)));
    PhaseOutcome {
        name: phase.name.clone(),
        begins,
        seconds: ends - begins,
        is_counted: phase.is_counted,
        rate: phase.rate,
        users: phase.users,
    }
}

fn row_outcome(plan: &Plan, phase: &str, request: usize, row: &Row) -> RowOutcome {
    let failures = Failure::ALL.into_iter().zip(row.failures).filter(|(_, count)| *count > 0);
    let wrong = Failure::ALL.into_iter().zip(&row.first_wrong);
    RowOutcome {
        phase: phase.into(),
        request: plan.requests[request].name.clone(),
        label: label(plan, phase, request),
        response: row.response.clone(),
        service: row.service.clone(),
        lag: row.lag.clone(),
        statuses: row.statuses.iter().copied().collect(),
        failures: failures.collect(),
        first_wrong: wrong.filter_map(|(failure, wrong)| Some((failure, wrong.clone()?))).collect(),
        sent_bytes: row.sent_bytes,
        received_bytes: row.received_bytes,
        within: (plan.is_closed && phase != SETUP).then_some(row.within),
    }
}

/// What opens a stream of events has a row in the setup; in phases, the row of the same number is of deliveries.
fn label(plan: &Plan, phase: &str, request: usize) -> String {
    let label = &plan.requests[request].label;
    let delivers = phase != SETUP && plan.watches.iter().any(|watch| watch.request == request);
    if delivers { format!("{label}, delivery") } else { label.clone() }
}

impl RowOutcome {
    /// One with nothing in it.
    pub fn empty() -> RowOutcome {
        RowOutcome {
            phase: String::new(),
            request: String::new(),
            label: String::new(),
            response: Latencies::default(),
            service: Latencies::default(),
            lag: Latencies::default(),
            statuses: BTreeMap::new(),
            failures: BTreeMap::new(),
            first_wrong: BTreeMap::new(),
            sent_bytes: 0,
            received_bytes: 0,
            within: None,
        }
    }

    /// Requests that ended, however.
    pub fn ended(&self) -> u64 {
        self.response.count()
    }

    /// Requests that failed.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Requests a second, over so many seconds; none, where there were none.
    pub fn rate(&self, seconds: f64) -> Option<f64> {
        (seconds > 0.0).then(|| self.millionths() as f64 / WHOLE as f64 / seconds)
    }

    /// Requests that rates are made of. Where requests are due at moments that no answer changes, those that were due are the rate.
    fn millionths(&self) -> u64 {
        self.within.unwrap_or_else(|| self.ended().saturating_mul(WHOLE))
    }

    /// Adds what was counted of the same request.
    pub fn add(&mut self, other: &RowOutcome) {
        if self.within.or(other.within).is_some() {
            self.within = Some(self.millionths().saturating_add(other.millionths()));
        }
        self.response.add(&other.response);
        self.service.add(&other.service);
        self.lag.add(&other.lag);
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        for (failure, count) in &other.failures {
            *self.failures.entry(*failure).or_default() += count;
        }
        for (failure, wrong) in &other.first_wrong {
            self.first_wrong.entry(*failure).or_insert_with(|| wrong.clone());
        }
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
    }
}

impl Figures for RowOutcome {
    fn quantile_ns(&self, quantile: f64) -> f64 {
        self.response.quantile_ns(quantile) as f64
    }

    fn mean_ns(&self) -> f64 {
        self.response.mean_ns()
    }

    fn max_ns(&self) -> f64 {
        self.response.max_ns() as f64
    }

    fn failed_share(&self) -> f64 {
        if self.ended() == 0 { 0.0 } else { self.failed() as f64 / self.ended() as f64 }
    }

    fn is_empty(&self) -> bool {
        self.ended() == 0
    }
}
