//! A scenario: what is asked of a service, by how many, and when. It is a file that people write; `docs/load-format.md` is its page.
//!
//! This module reads it. Whether its names lead anywhere is seen where it becomes a [`Plan`](crate::plan::Plan).

mod watch;

use crate::duration::Duration;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;

pub use watch::{Delivery, Watch};

/// No rate is higher, a second.
pub const RATE_MAX: f64 = 1e8;
/// How narrow a bracket may have to be. Below a thousandth, what differs is chance; above 1, no step would follow the first that failed.
const WITHIN: RangeInclusive<f64> = 0.001..=1.0;

/// What a scenario's file says.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// A name for files and reports.
    pub name: String,
    /// What it is for, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Where the service is, as `http://127.0.0.1:8000`.
    pub host: String,
    /// Requests that each user sends once, in this order, before the first phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    /// How the requests are offered.
    #[serde(default)]
    pub load: Load,
    /// One after the other.
    #[serde(default, rename = "phase")]
    pub phases: Vec<Phase>,
    /// Pieces of bodies that are repeated.
    #[serde(default, rename = "fragment", skip_serializing_if = "BTreeMap::is_empty")]
    pub fragments: BTreeMap<String, Fragment>,
    /// Texts by name, for every user the same until a capture sets another.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// Files by the name of a value, whose lines are what users begin with: the first line is that of user 0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lines: BTreeMap<String, PathBuf>,
    /// What may be asked.
    #[serde(rename = "request")]
    pub requests: Vec<Request>,
    /// Streams of events that users hold open.
    #[serde(default, rename = "watch", skip_serializing_if = "Vec::is_empty")]
    pub watches: Vec<Watch>,
    /// What a user does in an iteration; without any, each request that is no setup is a flow of its own.
    #[serde(default, rename = "flow", skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Flow>,
    /// What must hold of the counted phases, as `p99 < 50ms, failures < 0.1%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<String>,
    /// How the capacity is searched for.
    #[serde(default)]
    pub capacity: Capacity,
}

/// How the requests are offered, in all phases.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Load {
    /// How many users there are: each has its captured values, and is in one iteration at a time. 64, unless said; where a phase
    /// says `users`, as many as the largest of them.
    pub users: Option<u32>,
    /// Connections at the most. Unless said, one a user, and in HTTP/2 as few as their streams allow.
    pub connections: Option<u32>,
    /// The version of HTTP that is spoken.
    pub http: Http,
    /// Requests at a time on a connection of HTTP/2, at the most.
    pub streams: u32,
    /// Whether any certificate is taken for the service's.
    pub insecure: bool,
    /// A file of certificates (PEM) that are trusted, in the place of those that browsers trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// How starts are spaced in an open loop.
    pub arrivals: Arrivals,
    /// After this long a request has failed, and is counted with this latency.
    pub timeout: Duration,
    /// How long a user waits between two iterations of a closed loop: a duration, or two for a range.
    pub think: Think,
    /// How the generator waits for the next start.
    pub pacing: Pacing,
    /// Threads of the generator; 1, unless said.
    pub threads: u16,
    /// The processors that the threads are kept on, in turn; none, unless said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<usize>,
    /// Where every random choice comes from.
    pub seed: u64,
}

impl Default for Load {
    fn default() -> Load {
        Load {
            users: None,
            connections: None,
            http: Http::One,
            streams: 100,
            insecure: false,
            ca: None,
            arrivals: Arrivals::Constant,
            timeout: Duration::from_secs(10),
            think: Think::default(),
            pacing: Pacing::Sleep,
            threads: 1,
            processors: Vec::new(),
            seed: 42,
        }
    }
}

/// A version of HTTP; it is written as its number.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(try_from = "u8", into = "u8")]
pub enum Http {
    /// HTTP/1.1: one request at a time on a connection.
    #[default]
    One,
    /// HTTP/2: many at a time.
    Two,
}

impl TryFrom<u8> for Http {
    type Error = String;

    fn try_from(number: u8) -> std::result::Result<Http, String> {
        match number {
            1 => Ok(Http::One),
            2 => Ok(Http::Two),
            _ => Err(format!("HTTP {number} is not spoken: there are 1 and 2")),
        }
    }
}

impl From<Http> for u8 {
    fn from(http: Http) -> u8 {
        match http {
            Http::One => 1,
            Http::Two => 2,
        }
    }
}

impl fmt::Display for Http {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Http::One => "HTTP/1.1",
            Http::Two => "HTTP/2",
        })
    }
}

/// How starts are spaced.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Evenly.
    #[default]
    Constant,
    /// As of many users who know nothing of each other: a Poisson process.
    Poisson,
}

/// How the generator waits.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// In the kernel, with a timer of nanoseconds: some tens of microseconds late, and hardly any processor.
    #[default]
    Sleep,
    /// In the kernel until 60 µs before the start, then in a loop.
    Hybrid,
    /// In a loop that takes a whole processor.
    Spin,
}

/// A pause of a user: none, always the same, or evenly between two.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(
    untagged,
    expecting = "a pause is a duration, as \"50ms\", or a list of two, from the first to the second"
)]
pub enum Think {
    /// None.
    #[default]
    None,
    /// Always as long.
    Always(Duration),
    /// From the first to the second.
    Between(Duration, Duration),
}

/// A stretch of time with one way to offer load.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Its name in the report; by its number, unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How long it lasts.
    pub length: Duration,
    /// Starts a second: an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Starts a second at its end, which it approaches evenly; as at its beginning, unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_to: Option<f64>,
    /// Users that ask again as soon as they are answered: a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<u32>,
    /// Users at its end, who join one after the other; as at its beginning, unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users_to: Option<u32>,
    /// Whether it is a part of the totals; a warm-up is not.
    #[serde(default = "yes")]
    pub counted: bool,
}

fn yes() -> bool {
    true
}

/// A piece of a body that is repeated.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Fragment {
    /// How often.
    pub count: u32,
    /// Between two of them.
    #[serde(default)]
    pub separator: String,
    /// What is repeated; `${item}` is the number of the repetition.
    pub text: String,
}

/// One request, and what its answer must be.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Its name in flows and in the report.
    pub name: String,
    /// `GET`, unless said; `POST`, where there is a body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// From `/` on, with its query. Whatever its values: it is one row in the report.
    pub path: String,
    /// By name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// A text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Statuses that are right; those from 200 to 299, unless said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<u16>,
    /// What the user keeps of the answer, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capture: BTreeMap<String, Capture>,
    /// What must be true of the answer.
    #[serde(default, skip_serializing_if = "Check::is_empty")]
    pub check: Check,
    /// Which of the user's streams tell that it has been delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// How often it is chosen beside others, where there are no flows.
    #[serde(default = "one")]
    pub weight: f64,
}

fn one() -> f64 {
    1.0
}

/// What a user keeps of an answer. The first that is found.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "a capture is `{ after = \"…\", until = \"…\" }`, which may say `last = true`, or `{ json = \"/…\" }`, or `{ header = \"…\" }`"
)]
pub enum Capture {
    /// The text between two others, found without reading the body as JSON: the quickest.
    Text {
        /// What stands before it.
        after: String,
        /// What ends it.
        until: String,
        /// The last one of the body, and not the first.
        #[serde(default)]
        last: bool,
    },
    /// A value of a JSON body, by its pointer (RFC 6901), as `/items/0/id`.
    Json {
        /// The pointer.
        json: String,
    },
    /// A header of the answer.
    Header {
        /// Its name.
        header: String,
    },
}

/// What must be true of an answer besides its status.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Check {
    /// Texts that the body contains, with places that are the same for a whole step: values, `${user}` and `${iteration}`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
    /// Texts that the body does not contain.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// How many times a text stands in the body, as `{ text = '"id":', count = 100 }`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<Times>,
    /// Whole numbers of the body that rise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rising: Option<Rising>,
}

impl Check {
    fn is_empty(&self) -> bool {
        *self == Check::default()
    }
}

/// How many times a text stands in a body.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// The text.
    pub text: String,
    /// How many times.
    pub count: usize,
}

/// Whole numbers of a body, each of which is greater than the one before it.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Rising {
    /// What stands before each number.
    pub after: String,
    /// A value of the user's than which the first is greater, where it is a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<String>,
    /// Each is one more than the one before it, and the first one more than `above`.
    #[serde(default)]
    pub contiguous: bool,
}

/// What a user does in an iteration.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// Requests by name, one after the other. A failed one ends the iteration.
    pub steps: Vec<String>,
    /// How often it is chosen beside others.
    #[serde(default = "one")]
    pub weight: f64,
    /// How long a user waits between two steps.
    #[serde(default)]
    pub pause: Think,
}

/// How the capacity is searched for.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Capacity {
    /// Starts a second of the first step.
    pub from: f64,
    /// Starts a second beyond which it is not searched.
    pub to: f64,
    /// How long a step is measured.
    pub step: Duration,
    /// How long load is offered before that.
    pub settle: Duration,
    /// The bracket is narrow enough when its ends are this far apart, as a share.
    pub within: f64,
    /// How long the answer is measured once more.
    pub confirm: Duration,
}

impl Default for Capacity {
    fn default() -> Capacity {
        Capacity {
            from: 100.0,
            to: 1_000_000.0,
            step: Duration::from_secs(3),
            settle: Duration::from_nanos(500_000_000),
            within: 0.05,
            confirm: Duration::from_secs(10),
        }
    }
}

impl Capacity {
    /// Refuses a search that could not be made.
    ///
    /// # Errors
    /// Which of its keys makes no sense, and what would.
    pub fn check(&self) -> Result<()> {
        let wrong = |key: &str, said: &dyn fmt::Display, remedy: &str| {
            Err(Error::input(format!("`capacity.{key}` is {said}: {remedy}")))
        };
        if !(self.from > 0.0 && self.from.is_finite()) {
            return wrong("from", &self.from, "it is a rate above 0 (--from)");
        }
        if !(self.to >= self.from && self.to <= RATE_MAX) {
            let remedy = format!("it is a rate from `from`, {}, to {RATE_MAX} (--to)", self.from);
            return wrong("to", &self.to, &remedy);
        }
        if !WITHIN.contains(&self.within) {
            return wrong("within", &self.within, "it is a share from 0.001 to 1, as 0.05 for 5 %");
        }
        for (key, length) in [("step", self.step), ("confirm", self.confirm)] {
            if length.nanos() == 0 {
                return wrong(key, &length, &format!("nothing would be measured (--{key})"));
            }
        }
        Ok(())
    }
}

impl Scenario {
    /// Requests of an iteration, on average where flows have more and fewer, and where none fails: a failed one ends its iteration. A
    /// delivery counts as one.
    pub fn requests_an_iteration(&self) -> f64 {
        let rows = |request: &Request| 1.0 + f64::from(u8::from(request.delivery.is_some()));
        let named = |name: &String| self.requests.iter().find(|request| request.name == *name);
        let steps = |flow: &Flow| flow.steps.iter().filter_map(named).map(rows).sum::<f64>();
        let flows = self.flows.iter().map(|flow| (flow.weight, steps(flow)));
        let single = self.requests.iter().filter(|request| !self.setup.contains(&request.name));
        let single = single.map(|request| (request.weight, rows(request)));
        let all: Vec<(f64, f64)> = if self.flows.is_empty() { single.collect() } else { flows.collect() };
        let weights: f64 = all.iter().map(|(weight, _)| weight).sum();
        if weights <= 0.0 {
            return 1.0;
        }
        all.iter().map(|(weight, rows)| weight * rows).sum::<f64>() / weights
    }

    /// Whether a request waits for streams to tell of it.
    pub fn has_deliveries(&self) -> bool {
        self.requests.iter().any(|request| request.delivery.is_some())
    }

    /// Reads a scenario. `origin` is told in errors.
    ///
    /// # Errors
    /// When the text is no scenario; the message says on which line.
    pub fn parse(text: &str, origin: &str) -> Result<Scenario> {
        touchstone::written::read(text, origin).map_err(Error::input)
    }

    /// One request again and again: what is asked where a URL stands in the place of a file.
    pub fn of_url(host: String, path: String) -> Scenario {
        let request = Request {
            name: format!("GET {}", path.split(['?', '#']).next().unwrap_or_default()),
            method: None,
            path,
            headers: BTreeMap::new(),
            body: None,
            status: Vec::new(),
            capture: BTreeMap::new(),
            check: Check::default(),
            delivery: None,
            weight: 1.0,
        };
        Scenario {
            name: "url".into(),
            summary: String::new(),
            host,
            setup: Vec::new(),
            load: Load::default(),
            phases: Vec::new(),
            fragments: BTreeMap::new(),
            values: BTreeMap::new(),
            lines: BTreeMap::new(),
            requests: vec![request],
            watches: Vec::new(),
            flows: Vec::new(),
            limits: None,
            capacity: Capacity::default(),
        }
    }
}
