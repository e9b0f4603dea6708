//! What is offered: a scenario's file or a URL, and what the command line says otherwise.

use crate::duration::Duration;
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::SHARDS_MAX;
use crate::plan::Plan;
use crate::scenario::{Arrivals, Http, Pacing, Phase, Scenario};
use crate::schedule::Share;
use clap::Args;
use std::path::{Path, PathBuf};

/// Where the options of a scenario come from. What is not given is as the scenario's file says; what its help names is so where the file
/// says nothing either.
#[derive(Args, Debug, Default)]
pub(super) struct Offer {
    /// A scenario's file, or a URL that is asked for again and again
    #[arg(value_name = "FILE|URL")]
    pub(super) what: Option<String>,
    /// Where the service is, in the place of the scenario's own host
    #[arg(long, value_name = "URL")]
    host: Option<String>,
    /// Starts a second, in the place of the scenario's phases: an open loop
    #[arg(long, value_name = "RATE", conflicts_with = "users")]
    rate: Option<f64>,
    /// Users that ask again as soon as they are answered, in the place of the scenario's phases: a closed loop
    #[arg(long, value_name = "NUMBER")]
    users: Option<u32>,
    /// How long load is offered and counted, where --rate or --users is given; 10s unless given
    #[arg(long = "for", value_name = "DURATION")]
    length: Option<Duration>,
    /// How long load is offered before that, uncounted; a tenth of --for unless given
    #[arg(long, value_name = "DURATION")]
    warm_up: Option<Duration>,
    /// How starts are spaced: constant or poisson; constant unless given
    #[arg(long, value_name = "SPACING", value_parser = arrivals)]
    arrivals: Option<Arrivals>,
    /// Connections at the most; one a user unless given, and with --http2 as few as their streams allow
    #[arg(long, value_name = "NUMBER")]
    connections: Option<u32>,
    /// Speak HTTP/2: by agreement over TLS, and without asking where the host is http://
    #[arg(long)]
    http2: bool,
    /// Requests at a time on a connection of HTTP/2, at the most; 100 unless given
    #[arg(long, value_name = "NUMBER")]
    streams: Option<u32>,
    /// Take any certificate for the service's; the report says so
    #[arg(long)]
    insecure: bool,
    /// Certificates that are trusted (PEM), in the place of those that browsers trust
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// After this long a request has failed; 10s unless given
    #[arg(long, value_name = "DURATION")]
    timeout: Option<Duration>,
    /// Threads of the generator; 1 unless given
    #[arg(long, value_name = "NUMBER")]
    threads: Option<u16>,
    /// The processors that the threads are kept on, in turn, as 1 or 2,3; any unless given
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    processors: Option<Vec<usize>>,
    /// How the generator waits for a start: sleep, hybrid or spin; sleep unless given
    #[arg(long, value_name = "PACING", value_parser = pacing)]
    pacing: Option<Pacing>,
    /// Where every random choice comes from; 42 unless given
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// What must hold, as 'p99 < 50ms, failures < 0.1%'; nothing unless given, and failures < 1% where limits name times alone
    #[arg(long, value_name = "LIMITS")]
    pub(super) limits: Option<String>,
}

fn arrivals(text: &str) -> std::result::Result<Arrivals, String> {
    match text {
        "constant" => Ok(Arrivals::Constant),
        "poisson" => Ok(Arrivals::Poisson),
        _ => Err("there are constant and poisson".into()),
    }
}

fn pacing(text: &str) -> std::result::Result<Pacing, String> {
    match text {
        "sleep" => Ok(Pacing::Sleep),
        "hybrid" => Ok(Pacing::Hybrid),
        "spin" => Ok(Pacing::Spin),
        _ => Err("there are sleep, hybrid and spin".into()),
    }
}

impl Offer {
    /// The scenario, with what the command line says.
    pub(super) fn scenario(&self) -> Result<Scenario> {
        let Some(what) = self.what.as_deref() else {
            return Err(Error::input(
                "what is asked for is missing: give a scenario's file or a URL (--help has examples)",
            ));
        };
        let mut scenario = if what.contains("://") { of_url(what)? } else { of_file(Path::new(what))? };
        if let Some(host) = &self.host {
            scenario.host.clone_from(host);
        }
        if let Some(phases) = self.phases()? {
            scenario.phases = phases;
            // A population of the file's own phases is none of these.
            scenario.load.users = if self.users.is_some() { None } else { scenario.load.users };
        }
        let load = &mut scenario.load;
        load.arrivals = self.arrivals.unwrap_or(load.arrivals);
        load.connections = self.connections.or(load.connections);
        load.http = if self.http2 { Http::Two } else { load.http };
        load.streams = self.streams.unwrap_or(load.streams);
        load.insecure |= self.insecure;
        load.ca = self.ca.clone().or(load.ca.take());
        load.timeout = self.timeout.unwrap_or(load.timeout);
        load.threads = self.threads.unwrap_or(load.threads);
        load.pacing = self.pacing.unwrap_or(load.pacing);
        load.seed = self.seed.unwrap_or(load.seed);
        if let Some(processors) = &self.processors {
            load.processors.clone_from(processors);
        }
        scenario.limits = self.limits.clone().or(scenario.limits);
        Ok(scenario)
    }

    /// The plan of the scenario. What is wrong with it is told with the file that it stands in.
    pub(super) fn plan(&self, scenario: Scenario, share: Share) -> Result<Plan> {
        let file = self.what.as_deref().filter(|what| !what.contains("://"));
        Plan::new(scenario, share).map_err(|error| match file {
            Some(file) if error.kind() == ErrorKind::Input => error.within(file),
            _ => error,
        })
    }

    /// Whether the command line says how much to offer, or for how long.
    pub(super) fn says_how_much(&self) -> bool {
        self.rate.is_some() || self.users.is_some() || self.length.is_some() || self.warm_up.is_some()
    }

    /// The phases that the command line asks for.
    fn phases(&self) -> Result<Option<Vec<Phase>>> {
        if self.rate.is_none() && self.users.is_none() {
            if self.length.is_some() || self.warm_up.is_some() {
                return Err(Error::input(
                    "--for and --warm-up say how long, and nothing says how much: add --rate or --users",
                ));
            }
            return Ok(None);
        }
        let length = self.length.unwrap_or(Duration::from_secs(10));
        let warm_up = self.warm_up.unwrap_or(Duration::from_nanos(length.nanos() / 10));
        let phase = |name: &str, length, counted| Phase {
            name: Some(name.into()),
            length,
            rate: self.rate,
            users: self.users,
            counted,
            ..Phase::default()
        };
        let mut phases = Vec::new();
        if warm_up.nanos() > 0 {
            phases.push(phase("warm-up", warm_up, false));
        }
        phases.push(phase("load", length, true));
        Ok(Some(phases))
    }
}

fn of_file(path: &Path) -> Result<Scenario> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let remedy = "give a scenario's file, or a URL with its http://";
        Error::input(format!("{} cannot be read: {error} ({remedy})", path.display()))
    })?;
    Scenario::parse(&text, &path.display().to_string())
}

fn of_url(url: &str) -> Result<Scenario> {
    let after = url.find("://").map_or(0, |at| at + 3);
    let at = url[after..].find('/').map_or(url.len(), |at| at + after);
    let path = if at == url.len() { "/" } else { &url[at..] };
    Ok(Scenario::of_url(url[..at].to_owned(), path.replace("${", "$${")))
}

/// Reads `3/10`.
pub(super) fn shard(text: &str) -> std::result::Result<Share, String> {
    let wrong = || format!("`{text}` is no shard: write it as 3/10, from 1/10 to 10/10");
    let (number, of) = text.split_once('/').ok_or_else(wrong)?;
    let (number, of): (u64, u64) = (number.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
    if (1..=of).contains(&number) && of <= SHARDS_MAX {
        Ok(Share { number: number - 1, of })
    } else {
        Err(wrong())
    }
}
