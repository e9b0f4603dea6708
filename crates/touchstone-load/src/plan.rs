//! A scenario made ready to run: names are places, templates are parsed, addresses are known. Whatever is wrong with a scenario
//! is said here, before the first request.

mod bounds;
mod lines;
mod watch;

use crate::answer::{Capture, Check, Expectation, Place};
use crate::duration::Duration;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::limit::Limits;
use crate::room::BODY_BYTES_MAX;
use crate::scenario::{Arrivals, Http, Load, Phase, RATE_MAX, Scenario, Think};
use crate::schedule::{Intensity, Share, Stretch};
use crate::steer::USERS_MAX;
use crate::target::Target;
use crate::template::{Names, Template};
use crate::tls::Trust;
use crate::user::User;
use lines::Lines;
use rustix::thread::CpuSet;
use std::collections::BTreeMap;
use std::path::PathBuf;
use touchstone::name::{is_unreadable, there_are};
pub use watch::{Delivery, Watch};

/// The name of the phase in which users are set up. No other has it.
pub const SETUP: &str = "setup";
/// How many users there are where nobody says.
const USERS: u32 = 64;
/// More connections or threads than these are a mistake.
const CONNECTIONS_MAX: u32 = 60_000;
/// HTTP/2 numbers streams with 31 bits, and services allow some hundreds.
const STREAMS_MAX: u32 = 100_000;
const THREADS_MAX: u16 = 1_024;
const PHASES_MAX: usize = 1_000;
/// Workers of a fleet: with all their users, their numbers fit 32 bits.
const WORKERS_MAX: u64 = 1_000;
/// A schedule is at most this long: a week.
const SECONDS_MAX: f64 = 7.0 * 86_400.0;

/// A scenario, ready to run.
#[derive(Debug)]
pub struct Plan {
    /// What it was made from.
    pub scenario: Scenario,
    /// Where the service is.
    pub target: Target,
    /// What sends its requests.
    pub engine: Engine,
    /// Whose certificates are trusted.
    pub trust: Trust,
    /// What may be asked; behind it, what opens the streams of watches.
    pub requests: Vec<Request>,
    /// Streams that users hold open.
    pub watches: Vec<Watch>,
    /// What a user does in an iteration; the last is the setup, which may be empty.
    pub flows: Vec<Flow>,
    /// Whether the next start waits for an answer.
    pub is_closed: bool,
    /// One after the other.
    pub phases: Vec<Window>,
    /// All users of the run, those of other shards included.
    pub users: u32,
    /// Connections of the run at the most.
    pub connections: u32,
    /// What must hold.
    pub limits: Limits,
    /// Which part of the schedule and of the users is this process's.
    pub share: Share,
    value_names: Vec<String>,
    values: Vec<Vec<u8>>,
    lines: Lines,
}

/// A request, ready to be written.
#[derive(Debug)]
pub struct Request {
    /// Its name.
    pub name: String,
    /// What it is called in a report: its method and path, without a query.
    pub label: String,
    /// Its method.
    pub method: String,
    /// Whether the answer has no body whatever its headers say.
    pub is_head: bool,
    /// Whether it may be sent once more where a connection was closed before it was answered (RFC 9110, section 9.2.2).
    pub is_idempotent: bool,
    /// All of it, where it is always the same.
    pub fixed: Option<Vec<u8>>,
    /// Its path and query.
    pub path: Template,
    /// Its headers, with `Host`; not `Content-Length`.
    pub headers: Vec<(String, Template)>,
    /// Its body.
    pub body: Option<Template>,
    /// Whether the body may be too long by what users have captured.
    pub may_grow: bool,
    /// What its answer must be.
    pub expectation: Expectation,
    /// Which streams tell that it has been delivered.
    pub delivery: Option<Delivery>,
}

/// What a user does in an iteration.
#[derive(Debug)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// Requests by their number.
    pub steps: Vec<usize>,
    /// The share of iterations that are this flow or one before it.
    pub up_to: f64,
    /// How long a user waits between two steps.
    pub pause: Think,
}

/// A phase, with what is known of it.
#[derive(Clone, Debug)]
pub struct Window {
    /// Its name.
    pub name: String,
    /// When it begins, in nanoseconds after the beginning.
    pub begins_ns: u64,
    /// When it ends.
    pub ends_ns: u64,
    /// Whether it is a part of the totals.
    pub is_counted: bool,
    /// Starts a second, at its beginning and its end; 0 in a closed loop.
    pub rate: (f64, f64),
    /// Users, at its beginning and its end; 0 in an open loop.
    pub users: (u32, u32),
}

impl Plan {
    /// Makes a scenario ready. Looks the host's name up.
    ///
    /// # Errors
    /// When a name leads nowhere, a number makes no sense, or the host has no address.
    pub fn new(scenario: Scenario, share: Share) -> Result<Plan> {
        let plan = Plan::unplaced(scenario, share)?;
        Ok(Plan { target: Target::of(&plan.scenario.host)?.resolve()?, ..plan })
    }

    /// Makes a scenario ready for one worker of a fleet: a closed loop without an end, whose users are told while it runs. Its own
    /// phases are left out. `worker` is the worker's number in the fleet, from 0 on.
    ///
    /// # Errors
    /// As [`new`](Plan::new), and when there are more workers than numbers.
    pub fn of_fleet(mut scenario: Scenario, worker: u64) -> Result<Plan> {
        if worker >= WORKERS_MAX {
            return Err(Error::input(format!("a fleet has at most {WORKERS_MAX} workers")));
        }
        if !scenario.lines.is_empty() {
            return Err(Error::input("nobody knows how many users a fleet will have: leave `[lines]` out"));
        }
        if !scenario.watches.is_empty() {
            return Err(Error::input(
                "users of a fleet come and go, and hold no streams open: leave `[[watch]]` out",
            ));
        }
        let length = Duration::from_secs(SECONDS_MAX as u64);
        scenario.load.users = None;
        // As many as there are threads are enough to share out; more are made as they are told.
        let users = Some(u32::from(scenario.load.threads).max(1));
        scenario.phases =
            vec![Phase { name: Some("fleet".into()), length, users, counted: true, ..Phase::default() }];
        let mut plan = Plan::new(scenario, Share::WHOLE)?;
        plan.scenario.phases.clear();
        plan.connections = plan.scenario.load.connections.unwrap_or(CONNECTIONS_MAX);
        // Whatever a number is made of a user's, no other user of the fleet has it.
        (plan.share, plan.users) =
            (Share { number: worker, of: WORKERS_MAX }, WORKERS_MAX as u32 * USERS_MAX);
        Ok(plan)
    }

    /// As [`new`](Plan::new), without an address.
    fn unplaced(scenario: Scenario, share: Share) -> Result<Plan> {
        names_are_plain(&scenario)?;
        let target = Target::of(&scenario.host)?;
        let value_names = value_names(&scenario)?;
        let phases = windows(&scenario.phases)?;
        let is_closed = phases.iter().any(|phase| phase.users.1 > 0);
        let users_of_phases = phases.iter().map(|phase| phase.users.0.max(phase.users.1)).max().unwrap_or(0);
        let users = scenario.load.users.unwrap_or(if is_closed { users_of_phases } else { USERS });
        if users_of_phases > users {
            return Err(Error::input(format!(
                "a phase has {users_of_phases} users, and `load.users` says there are {users}: leave that out, or raise it"
            )));
        }
        let connections =
            scenario.load.connections.unwrap_or_else(|| usual_connections(&scenario.load, users, share));
        check_load(&scenario.load, users, connections, share)?;
        scenario.capacity.check()?;
        bounds::check(&scenario, phases.len())?;
        let mut requests = requests(&scenario, &target, &value_names)?;
        watch::deliver(&mut requests, &scenario, &value_names)?;
        let engine = Engine::of(&target, scenario.load.http);
        let watches = watch::watches(&scenario, engine, u64::from(users).div_ceil(share.of))?;
        let flows = flows(&scenario)?;
        watch::are_asked(&requests, &flows)?;
        let values = value_names
            .iter()
            .map(|name| scenario.values.get(name).cloned().unwrap_or_default().into_bytes());
        let values: Vec<Vec<u8>> = values.collect();
        let lines = lines::lines(&scenario, users, &value_names)?;
        bounds::place_values(&mut requests, &value_names, &values, &lines)?;
        let limits =
            scenario.limits.as_deref().map_or(Ok(Limits::default()), str::parse).map_err(Error::input)?;
        Ok(Plan {
            engine,
            trust: Trust::of(&scenario.load, &target)?,
            target,
            requests,
            watches,
            flows,
            is_closed,
            phases,
            users,
            connections,
            limits,
            share,
            value_names,
            values,
            lines,
            scenario,
        })
    }

    /// The rates of all phases.
    pub fn intensity(&self) -> Intensity {
        let stretch = |phase: &Window| Stretch {
            seconds: (phase.ends_ns - phase.begins_ns) as f64 / 1e9,
            from: phase.rate.0,
            to: phase.rate.1,
        };
        Intensity::new(&self.phases.iter().map(stretch).collect::<Vec<_>>())
    }

    /// How starts are spaced.
    pub fn arrivals(&self) -> Arrivals {
        self.scenario.load.arrivals
    }

    /// When the last phase ends, in nanoseconds after the beginning.
    pub fn ends_ns(&self) -> u64 {
        self.phases.last().map_or(0, |phase| phase.ends_ns)
    }

    /// The number of the flow that sets a user up.
    pub fn setup(&self) -> usize {
        self.flows.len() - 1
    }

    /// The flow of an iteration, by its number in the whole run.
    pub fn choose(&self, index: u64) -> usize {
        let chosen = &self.flows[..self.setup()];
        if chosen.len() == 1 {
            return 0;
        }
        // SplitMix64: the choice depends on the seed and the iteration alone, so shards choose as the whole would.
        let mut bits = (self.scenario.load.seed ^ 0x5bf0_3635)
            .wrapping_add((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let share = ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
        chosen.partition_point(|flow| flow.up_to <= share).min(chosen.len() - 1)
    }

    /// The users of a share, with the values that they begin with.
    pub fn users_of(&self, share: Share) -> Vec<User> {
        let numbers = (share.number..u64::from(self.users)).step_by(share.of as usize);
        numbers.map(|number| self.user(number)).collect()
    }

    /// Another user of a share, with the values that it begins with: `place` is how many of the share there are before it.
    pub fn user_of(&self, share: Share, place: usize) -> User {
        self.user(share.number + share.of * place as u64)
    }

    fn user(&self, number: u64) -> User {
        let mut values = self.values.clone();
        for (value, lines) in &self.lines {
            values[*value].clone_from(&lines[number as usize]);
        }
        User::new(number, u64::from(self.users), self.scenario.load.seed, values)
    }

    /// What must be the same in runs whose results are added: the scenario, without where it ran and what a machine of a fleet may
    /// have more of than another.
    pub fn digest(&self) -> u32 {
        let mut scenario = self.scenario.clone();
        scenario.host.clear();
        let Load { threads, processors, pacing, .. } = Load::default();
        scenario.load = Load { threads, processors, pacing, ca: None, ..scenario.load };
        scenario.lines.values_mut().for_each(|path| *path = PathBuf::new());
        crc32fast::hash(&serde_json::to_vec(&scenario).expect("a scenario is data"))
    }

    /// Streams of events that each user holds open.
    pub fn streams_each(&self) -> usize {
        self.watches.iter().map(|watch| watch.each as usize).sum()
    }

    /// Values by name, for messages.
    pub fn value_names(&self) -> &[String] {
        &self.value_names
    }
}

/// Refuses names that would do something where they are shown, or that are on two lines of a report.
fn names_are_plain(scenario: &Scenario) -> Result<()> {
    let phases = scenario.phases.iter().filter_map(|phase| Some(("phase", phase.name.as_ref()?)));
    let requests = scenario.requests.iter().map(|request| ("request", &request.name));
    let flows = scenario.flows.iter().map(|flow| ("flow", &flow.name));
    let watches = scenario.watches.iter().map(|watch| ("watch", &watch.name));
    let own = [("scenario", &scenario.name), ("scenario's summary", &scenario.summary)];
    let fragments = scenario.fragments.keys().map(|name| ("fragment", name));
    let all = own.into_iter().chain(phases).chain(requests).chain(flows).chain(watches).chain(fragments);
    for (what, name) in all {
        if let Some(letter) = name.chars().find(|letter| is_unreadable(*letter)) {
            return Err(Error::input(format!(
                "the {what} {name:?} has the character {letter:?}, which nobody can read: leave it out"
            )));
        }
    }
    Ok(())
}

fn value_names(scenario: &Scenario) -> Result<Vec<String>> {
    let captured = scenario.requests.iter().flat_map(|request| request.capture.keys());
    let said = scenario.values.keys().chain(scenario.lines.keys());
    let mut names: Vec<String> = said.chain(captured).cloned().collect();
    names.sort();
    names.dedup();
    for name in &names {
        let taken = crate::template::FIELDS.iter().any(|(field, _)| field.split(' ').next() == Some(name));
        let is_word =
            name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')) && !name.is_empty();
        if taken || scenario.fragments.contains_key(name) {
            return Err(Error::input(format!(
                "the value `{name}` has the name of a field or a fragment: rename it"
            )));
        }
        if !is_word {
            return Err(Error::input(format!(
                "the value `{name}` is no word: letters, digits, `_`, `-` and `.` make one"
            )));
        }
    }
    Ok(names)
}

fn windows(phases: &[Phase]) -> Result<Vec<Window>> {
    if phases.len() > PHASES_MAX {
        return Err(Error::input(format!(
            "there are {} phases, and at most {PHASES_MAX} are possible",
            phases.len()
        )));
    }
    let mut begins_ns = 0;
    let mut windows = Vec::new();
    for (at, phase) in phases.iter().enumerate() {
        let name = phase.name.clone().unwrap_or_else(|| (at + 1).to_string());
        let window =
            window(phase, begins_ns).map_err(|error| error.within(format_args!("phase `{name}`")))?;
        if name == SETUP {
            return Err(Error::input(format!(
                "the phase `{name}` has the name of what users do before the first: rename it"
            )));
        }
        if windows.iter().any(|other: &Window| other.name == name) {
            return Err(Error::input(format!("two phases are called `{name}`: rename one")));
        }
        begins_ns = window.ends_ns;
        windows.push(Window { name, ..window });
    }
    if begins_ns as f64 / 1e9 > SECONDS_MAX {
        return Err(Error::input("the phases together are longer than a week"));
    }
    let closed = windows.iter().filter(|window| window.users.1 > 0).count();
    if closed > 0 && closed < windows.len() {
        return Err(Error::input(
            "some phases say `rate` and others `users`: a scenario is an open or a closed loop",
        ));
    }
    if !windows.is_empty() && !windows.iter().any(|window| window.is_counted) {
        return Err(Error::input("no phase is counted: leave `counted = false` out of one"));
    }
    Ok(windows)
}

fn window(phase: &Phase, begins_ns: u64) -> Result<Window> {
    if phase.length.nanos() == 0 {
        return Err(Error::input("its length is 0"));
    }
    let (rate, users) = match (phase.rate, phase.users) {
        (Some(_), Some(_)) => {
            return Err(Error::input("it says `rate` and `users`: an open loop or a closed one"));
        }
        (None, None) => {
            return Err(Error::input("it says neither `rate` (an open loop) nor `users` (a closed one)"));
        }
        (Some(from), None) => ((from, phase.rate_to.unwrap_or(from)), (0, 0)),
        (None, Some(from)) => ((0.0, 0.0), (from, phase.users_to.unwrap_or(from))),
    };
    if (phase.rate_to.is_some() && phase.rate.is_none())
        || (phase.users_to.is_some() && phase.users.is_none())
    {
        return Err(Error::input("it says how it ends, and not how it begins"));
    }
    let is_rate = |rate: f64| (0.0..=RATE_MAX).contains(&rate);
    if !is_rate(rate.0) || !is_rate(rate.1) {
        return Err(Error::input(format!("a rate lies between 0 and {RATE_MAX} a second")));
    }
    if phase.rate.is_some() && rate.0 + rate.1 == 0.0 {
        return Err(Error::input("its rate is 0: nothing would start"));
    }
    if phase.users.is_some() && (users.0 == 0 || users.1 == 0) {
        return Err(Error::input("it has no users"));
    }
    let ends_ns = begins_ns.saturating_add(phase.length.nanos());
    Ok(Window { name: String::new(), begins_ns, ends_ns, is_counted: phase.counted, rate, users })
}

/// As many connections as the users need, where nobody says: in HTTP/2 as few as their streams allow, and one for each lane at least.
fn usual_connections(load: &Load, users: u32, share: Share) -> u32 {
    match load.http {
        Http::One => users.min(CONNECTIONS_MAX),
        Http::Two => {
            let lanes = share.of.saturating_mul(u64::from(load.threads));
            let lanes = u32::try_from(lanes).unwrap_or(u32::MAX);
            users.div_ceil(load.streams.max(1)).max(lanes).min(users).min(CONNECTIONS_MAX)
        }
    }
}

fn check_load(load: &Load, users: u32, connections: u32, share: Share) -> Result<()> {
    let threads = u32::from(load.threads);
    let between = |what: &str, said: u32, most: u32| match said {
        0 => Err(Error::input(format!("`load.{what}` is 0"))),
        said if said > most => {
            Err(Error::input(format!("`load.{what}` is {said}, and at most {most} are possible")))
        }
        _ => Ok(()),
    };
    between("users", users, USERS_MAX)?;
    between("connections", connections, CONNECTIONS_MAX)?;
    between("streams", load.streams, STREAMS_MAX)?;
    between("threads", threads, u32::from(THREADS_MAX))?;
    if load.timeout.nanos() == 0 {
        return Err(Error::input("`load.timeout` is 0: every request would fail"));
    }
    if let Some(processor) = load.processors.iter().find(|processor| **processor >= CpuSet::MAX_CPU) {
        let most = CpuSet::MAX_CPU - 1;
        let message = format!("`load.processors` has {processor}, and numbers of processors go to {most}");
        return Err(Error::input(message));
    }
    // Each thread of each shard has a share of the users, and a connection at least.
    let parts = share.of * u64::from(threads);
    for (what, said) in [("users", users), ("connections", connections)] {
        if u64::from(said) < parts {
            return Err(Error::input(format!(
                "{said} {what} cannot be shared out among {parts} threads of {} shards: say fewer threads, or more {what}",
                share.of
            )));
        }
    }
    Ok(())
}

fn requests(scenario: &Scenario, target: &Target, value_names: &[String]) -> Result<Vec<Request>> {
    if scenario.requests.is_empty() {
        return Err(Error::input("there is no `[[request]]`"));
    }
    let names = Names { values: value_names, fragments: &scenario.fragments };
    let mut requests: Vec<Request> = Vec::new();
    let openings: Vec<_> = watch::openings(scenario).collect();
    let own = scenario.requests.iter().map(|said| ("request", said));
    for (what, said) in own.chain(openings.iter().map(|said| ("watch", said))) {
        if requests.iter().any(|other| other.name == said.name) {
            return Err(Error::input(format!("the {what} `{}` has a name that stands twice", said.name)));
        }
        let made = request(said, target, &names)
            .map_err(|error| error.within(format_args!("{what} `{}`", said.name)))?;
        requests.push(made);
    }
    Ok(requests)
}

fn request(said: &crate::scenario::Request, target: &Target, names: &Names<'_>) -> Result<Request> {
    let method =
        said.method.clone().unwrap_or_else(|| if said.body.is_some() { "POST" } else { "GET" }.to_owned());
    if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(Error::input(format!(
            "`{method}` is no method: it is written in capital letters, as GET"
        )));
    }
    if !said.path.starts_with('/') {
        return Err(Error::input(format!("the path `{}` does not begin with `/`", said.path)));
    }
    if said.status.iter().any(|status| !(200..1_000).contains(status)) {
        return Err(Error::input("a status lies between 200 and 999"));
    }
    let path = Template::parse(&said.path, names).map_err(|error| error.within("path"))?;
    if let Some(byte) = bounds::refused(&path, Place::Path) {
        return Err(Error::input(format!(
            "the path {:?} has the byte {byte:#04x}, in itself or in a fragment, which cannot stand there: write `%{byte:02X}`",
            said.path
        )));
    }
    let headers = headers(said, target, names)?;
    let body = said.body.as_deref().map(|body| Template::parse(body, names)).transpose();
    let body = body.map_err(|error| error.within("body"))?;
    let value = |name: &str| names.values.iter().position(|value| value == name);
    if let Some(above) = said.check.rising.as_ref().and_then(|rising| rising.above.as_deref())
        && value(above).is_none()
    {
        return Err(Error::input(format!(
            "`above = \"{above}\"` is no value: {}",
            there_are(above, names.values)
        )));
    }
    let captures = said
        .capture
        .iter()
        .filter_map(|(name, capture)| Some((value(name)?, Capture::of(capture), Place::Body)));
    let (mut checks, own) = contained(&said.check.contains, names)?;
    checks.extend(Check::of(&said.check, value));
    let expectation =
        Expectation { statuses: said.status.clone(), checks, own, captures: captures.collect() };
    let folded = said.path.split(['?', '#']).next().unwrap_or_default();
    let mut request = Request {
        name: said.name.clone(),
        label: format!("{method} {folded}"),
        is_head: method == "HEAD",
        is_idempotent: matches!(method.as_str(), "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS" | "TRACE"),
        method,
        fixed: None,
        path,
        headers,
        body,
        may_grow: false,
        expectation,
        delivery: None,
    };
    let parts = [&request.path]
        .into_iter()
        .chain(request.headers.iter().map(|(_, value)| value))
        .chain(&request.body);
    if parts.into_iter().all(|part| part.fixed().is_some()) {
        let mut bytes = Vec::new();
        request.write(&mut User::new(0, 1, 0, Vec::new()), &mut Vec::new(), &mut bytes);
        request.fixed = Some(bytes);
    }
    Ok(request)
}

/// The texts that a body contains: those that are always the same, and those that are other for each user.
fn contained(texts: &[String], names: &Names<'_>) -> Result<(Vec<Check>, Vec<Template>)> {
    let (mut checks, mut own) = (Vec::new(), Vec::new());
    for text in texts {
        let template = Template::parse(text, names).map_err(|error| error.within("contains"))?;
        if !template.is_steady() {
            return Err(Error::input(format!(
                "contains `{text}`: what is another each time that it is written is in no answer; values, `${{user}}` and \
                 `${{iteration}}` can stand there"
            )));
        }
        match template.fixed() {
            Some(fixed) => checks.push(Check::contains(fixed)),
            None => own.push(template),
        }
    }
    Ok((checks, own))
}

fn headers(
    said: &crate::scenario::Request,
    target: &Target,
    names: &Names<'_>,
) -> Result<Vec<(String, Template)>> {
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    headers.insert("host".into(), target.authority.replace("${", "$${"));
    headers.insert("user-agent".into(), concat!("touchstone-load/", env!("CARGO_PKG_VERSION")).into());
    for (name, value) in &said.headers {
        let name = name.to_ascii_lowercase();
        if matches!(name.as_str(), "content-length" | "transfer-encoding" | "connection") {
            return Err(Error::input(format!("the header `{name}` is the generator's own")));
        }
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_token) || Place::Header.refuses(value.as_bytes()).is_some()
        {
            let header = format!("{name}: {value}");
            return Err(Error::input(format!("{header:?} is no header: it has no control characters")));
        }
        headers.insert(name, value.clone());
    }
    let parsed = headers.into_iter().map(|(name, value)| {
        let template =
            Template::parse(&value, names).map_err(|error| error.within(format_args!("header `{name}`")))?;
        Ok((name, template))
    });
    parsed.collect()
}

fn flows(scenario: &Scenario) -> Result<Vec<Flow>> {
    let number = |name: &String| {
        let names = || scenario.requests.iter().map(|request| request.name.as_str());
        names().position(|other| other == name).ok_or_else(|| {
            Error::input(format!("there is no request `{name}`: {}", there_are(name, names())))
        })
    };
    let mut flows = Vec::new();
    if scenario.flows.is_empty() {
        for (at, request) in scenario.requests.iter().enumerate() {
            if !scenario.setup.contains(&request.name) {
                let name = request.name.clone();
                flows.push(Flow { name, steps: vec![at], up_to: request.weight, pause: Think::None });
            }
        }
    }
    for said in &scenario.flows {
        let steps: Result<Vec<usize>> = said.steps.iter().map(number).collect();
        let steps = steps.map_err(|error| error.within(format_args!("flow `{}`", said.name)))?;
        if steps.is_empty() {
            return Err(Error::input(format!("the flow `{}` has no steps", said.name)));
        }
        flows.push(Flow { name: said.name.clone(), steps, up_to: said.weight, pause: said.pause });
    }
    if flows.is_empty() {
        return Err(Error::input("every request is a part of the setup: nothing is left to be measured"));
    }
    share_out(&mut flows)?;
    let steps: Result<Vec<usize>> = scenario.setup.iter().map(number).collect();
    let steps = steps.map_err(|error| error.within("setup"))?;
    flows.push(Flow { name: "setup".into(), steps, up_to: 1.0, pause: Think::None });
    Ok(flows)
}

/// Makes weights the shares up to which a flow is chosen.
fn share_out(flows: &mut [Flow]) -> Result<()> {
    if flows.iter().any(|flow| !flow.up_to.is_finite() || flow.up_to < 0.0) {
        return Err(Error::input("a weight is a number that is not negative"));
    }
    let total: f64 = flows.iter().map(|flow| flow.up_to).sum();
    if total <= 0.0 {
        return Err(Error::input("all weights are 0: nothing would be chosen"));
    }
    let mut up_to = 0.0;
    for flow in flows {
        up_to += flow.up_to / total;
        flow.up_to = up_to;
    }
    Ok(())
}

impl Request {
    /// Why its body is not written for a user: with what the user has captured, it would be too long.
    #[inline]
    pub fn too_long(&self, user: &User) -> Option<String> {
        let body = self.body.as_ref().filter(|_| self.may_grow)?;
        let bytes = body.bytes_most(&|number| user.values[number].len() as u64);
        (bytes > BODY_BYTES_MAX).then(|| {
            format!(
                "the body of the request `{}` may have {bytes} bytes with the values that were captured, and at most {BODY_BYTES_MAX} are \
                 possible",
                self.name
            )
        })
    }

    /// Appends the request to `into`. `body` is scratch.
    pub fn write(&self, user: &mut User, body: &mut Vec<u8>, into: &mut Vec<u8>) {
        if let Some(fixed) = &self.fixed {
            into.extend_from_slice(fixed);
            return;
        }
        into.extend_from_slice(self.method.as_bytes());
        into.push(b' ');
        self.path.write(user, into);
        into.extend_from_slice(b" HTTP/1.1\r\n");
        for (name, value) in &self.headers {
            into.extend_from_slice(name.as_bytes());
            into.extend_from_slice(b": ");
            value.write(user, into);
            into.extend_from_slice(b"\r\n");
        }
        if let Some(template) = &self.body {
            body.clear();
            template.write(user, body);
            into.extend_from_slice(b"content-length: ");
            into.extend_from_slice(itoa::Buffer::new().format(body.len()).as_bytes());
            into.extend_from_slice(b"\r\n");
        }
        into.extend_from_slice(b"\r\n");
        if self.body.is_some() {
            into.extend_from_slice(body);
        }
    }
}

#[cfg(test)]
mod tests;
