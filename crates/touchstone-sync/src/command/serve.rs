//! `touchstone-sync serve`: answers requests until it is asked to end.

use super::Kept;
use crate::http::{App, Origin};
use crate::identity::Tokens;
use crate::limits::{Limits, REMEMBER};
use crate::patience::patiently;
use crate::prometheus::Metrics;
use crate::serve::{LISTEN_WITHIN, Signals, serve};
use crate::storage::Storage;
use crate::tls::Tls;
use crate::upkeep;
use anyhow::{Context, Result, bail};
use clap::Args;
use futures_util::FutureExt;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::SockRef;
use std::io::{self, ErrorKind, IsTerminal};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

/// How long the storage may take to open once the service is told to end: it may be waiting for another.
const OPENS_WITHIN: Duration = Duration::from_secs(5);

/// Files that the service has open beside its streams: the store's, and connections of other requests.
const FILES_BESIDE_STREAMS: usize = 100;

/// Serve until SIGINT or SIGTERM
#[derive(Args, Debug)]
pub(super) struct Serve {
    /// The address and the port to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", env = "TOUCHSTONE_SYNC_LISTEN")]
    listen: SocketAddr,
    /// The certificate, in PEM; with it the service speaks TLS
    #[arg(long, value_name = "FILE", requires = "key", hide = cfg!(not(feature = "tls")), env = "TOUCHSTONE_SYNC_CERTIFICATE")]
    certificate: Option<PathBuf>,
    /// The certificate's private key, in PEM
    #[arg(long, value_name = "FILE", requires = "certificate", hide = cfg!(not(feature = "tls")), env = "TOUCHSTONE_SYNC_KEY")]
    key: Option<PathBuf>,
    /// Requests that the devices of a user may send in a second; as many as there are, unless said
    #[arg(long, value_name = "NUMBER", env = "TOUCHSTONE_SYNC_USER_RATE")]
    user_rate: Option<NonZeroU32>,
    /// Streams of `watch` that may be open together
    #[arg(long, value_name = "NUMBER", default_value_t = Limits::default().streams, env = "TOUCHSTONE_SYNC_STREAMS")]
    streams: usize,
    /// Streams of `watch` of a user that may be open together
    #[arg(long, value_name = "NUMBER", default_value_t = Limits::default().user_streams, env = "TOUCHSTONE_SYNC_USER_STREAMS")]
    user_streams: usize,
    /// For how long deletions and names of changes are remembered, such as `2160h`: a device that was away for longer fetches everything
    #[arg(long, value_name = "TIME", default_value = REMEMBER, env = "TOUCHSTONE_SYNC_REMEMBER")]
    remember: humantime::Duration,
    /// The address and the port to tell metrics at, at the path `/metrics`; nowhere, unless said
    #[arg(long, value_name = "ADDRESS", hide = cfg!(not(feature = "prometheus")), env = "TOUCHSTONE_SYNC_METRICS")]
    metrics: Option<SocketAddr>,
    /// An origin whose pages may ask from a browser, such as `https://notes.example.org`, or `null` for files; may be said again
    #[arg(long, value_name = "ORIGIN", value_delimiter = ',', env = "TOUCHSTONE_SYNC_ALLOW_ORIGIN")]
    allow_origin: Vec<Origin>,
    /// Threads that answer; as many as there are processors, unless said
    #[arg(long, value_name = "NUMBER", env = "TOUCHSTONE_SYNC_THREADS")]
    threads: Option<usize>,
    /// What is logged: `warn`, `info`, `debug` with a line for each request; parts of the program may have levels of their own, as `info,h2=debug`
    #[arg(long, value_name = "LEVEL", default_value = "info", env = "TOUCHSTONE_SYNC_LOG")]
    log: String,
    #[command(flatten)]
    kept: Kept,
}

/// Tells metrics, until it cannot.
async fn told(metrics: Metrics, listening: TcpListener) {
    if let Err(error) = metrics.tell(listening).await {
        tracing::error!("metrics are told no more: {error:#}");
    }
}

/// Ends the service when its storage can store nothing more. Begun again, the service reads what the disk has.
async fn end_when_broken(storage: Arc<dyn Storage>, app: App) -> anyhow::Error {
    let error = storage.broken().await;
    tracing::error!("nothing more can be stored, and the service ends: {error:#}");
    app.end();
    error.context("nothing more can be stored: look at the disk, and start the service again")
}

/// Listens, as soon as an older service does no longer that was told to end just now.
fn listen(address: SocketAddr) -> Result<TcpListener> {
    let is_in_use = |error: &io::Error| error.kind() == ErrorKind::AddrInUse;
    let listening = patiently(
        LISTEN_WITHIN,
        || TcpListener::bind(address).and_then(with_many_waiting),
        is_in_use,
        || tracing::info!("{address} is in use, and waited for: an older service may be ending"),
    );
    let remedy = if listening.as_ref().is_err_and(is_in_use) {
        ", where another program listens: end it, or give another address"
    } else {
        ""
    };
    listening.with_context(|| format!("cannot listen on {address}{remedy}"))
}

/// Lets as many clients wait for the service as the system allows: after a restart all of them come at once.
fn with_many_waiting(listening: TcpListener) -> io::Result<TcpListener> {
    SockRef::from(&listening).listen(i32::MAX)?;
    Ok(listening)
}

/// Whether two addresses are the same, or one is the wildcard address that includes the other.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let (a, b) = (one.ip().to_canonical(), other.ip().to_canonical());
    let has = |all: IpAddr, it: IpAddr| all.is_unspecified() && (all.is_ipv6() || it.is_ipv4());
    one.port() == other.port() && one.port() != 0 && (a == b || has(a, b) || has(b, a))
}

/// The level, and the levels of parts of the program, as `info,h2=debug` has them. A part without a level is refused: it is more often a level that
/// is misspelled.
fn levels(text: &str) -> Option<Targets> {
    let named = |level: &str| level.parse::<LevelFilter>().ok().filter(|_| !level.is_empty());
    let is_part = |part: &str| part.chars().all(|one| one.is_ascii_alphanumeric() || "_-:.".contains(one));
    text.split(',').try_fold(Targets::new(), |levels, directive| match directive.trim().split_once('=') {
        None => Some(levels.with_default(named(directive.trim())?)),
        Some((part, level)) if !part.is_empty() && is_part(part) => {
            Some(levels.with_target(part, named(level)?))
        }
        Some(_) => None,
    })
}

impl Serve {
    pub(super) fn run(self) -> Result<()> {
        self.log()?;
        let runtime = self.runtime()?;
        let tls = match self.certificate.as_ref().zip(self.key.as_ref()) {
            Some((certificate, key)) => Some(runtime.block_on(Tls::read(certificate, key))?),
            None => None,
        };
        let metrics = self.metrics.map(|_| Metrics::measure()).transpose()?;
        // A service that cannot listen makes and changes nothing. It listens when the storage is open, so that no client is connected before.
        drop(self.listen()?);
        // A service that has opened its storage ends in order, however soon it is told to.
        let mut signals = runtime.block_on(async { Signals::catch() })?;
        let Some(storage) = runtime.block_on(self.storage(&mut signals))? else {
            // Nothing waits for a thread that opens it yet.
            runtime.shutdown_background();
            tracing::info!("ended");
            return Ok(());
        };
        let limits = Limits {
            user_rate: self.user_rate,
            streams: self.streams,
            user_streams: self.user_streams,
            ..Limits::default()
        };
        let app = App::new(Arc::clone(&storage), Arc::new(Tokens::of(Arc::clone(&storage))), limits);
        let app = app.allowing(self.allow_origin.clone());
        let (listening, told_at) = match self.listen() {
            Err(error) if runtime.block_on(signals.have_come()) => {
                tracing::warn!("told to end: {error:#}");
                tracing::info!("ended");
                return Ok(());
            }
            listening => listening?,
        };
        if let Some((metrics, told_at)) = metrics.zip(told_at) {
            tracing::info!("metrics are told at http://{}/metrics", told_at.local_addr()?);
            runtime.spawn(told(metrics, told_at));
        }
        self.raise_files();
        let scheme = if tls.is_some() { "https" } else { "http" };
        tracing::info!("serving {} on {scheme}://{}", self.kept.shown(), listening.local_addr()?);
        let served = runtime.block_on(async {
            let broken = tokio::spawn(end_when_broken(Arc::clone(&storage), app.clone()));
            let forgetting = tokio::spawn(upkeep::forget(storage, self.remember.into()));
            let trimming = tokio::spawn(upkeep::trim(app.clone()));
            let served = serve(app, listening, tls, signals).await;
            // Otherwise they would say that their work was cut off.
            forgetting.abort();
            trimming.abort();
            match broken.now_or_never() {
                Some(Ok(error)) => Err(error),
                _ => served,
            }
        });
        tracing::info!("ended");
        served
    }

    /// The sockets that listen for requests and for those who ask for metrics.
    fn listen(&self) -> Result<(TcpListener, Option<TcpListener>)> {
        let listening = listen(self.listen)?;
        let Some(metrics) = self.metrics else { return Ok((listening, None)) };
        if overlap(metrics, self.listen) && TcpListener::bind(metrics).is_err() {
            drop(listening);
            // It may be another program's as well.
            drop(listen(metrics)?);
            bail!("`--metrics` is the address of `--listen`: give it another port");
        }
        Ok((listening, Some(listen(metrics)?)))
    }

    /// Opens the storage; none where the service is told to end, and it is not open soon.
    async fn storage(&self, signals: &mut Signals) -> Result<Option<Arc<dyn Storage>>> {
        let opening = self.kept.serve();
        tokio::pin!(opening);
        tokio::select! {
            biased;
            opened = &mut opening => return opened.map(Some),
            () = signals.come() => {}
        }
        Ok(match timeout(OPENS_WITHIN, opening).await {
            Ok(Ok(storage)) => Some(storage),
            Ok(Err(error)) => {
                tracing::warn!("told to end, and the storage was not opened: {error:#}");
                None
            }
            Err(_) => {
                tracing::warn!("told to end while {} was opened", self.kept.shown());
                None
            }
        })
    }

    /// Takes as many files as the system gives: each connection and each stream is one.
    fn raise_files(&self) {
        let known = getrlimit(Resource::Nofile);
        let most = known.maximum.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        let raised = setrlimit(Resource::Nofile, Rlimit { current: known.maximum, ..known });
        if raised.is_err() || most < self.streams.saturating_add(FILES_BESIDE_STREAMS) {
            tracing::warn!(
                "{most} files may be open, which is too few for {} streams: raise `ulimit -n`, or allow fewer `--streams`",
                self.streams
            );
        }
    }

    fn runtime(&self) -> Result<Runtime> {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        if let Some(threads) = self.threads {
            runtime.worker_threads(threads.max(1));
        }
        runtime.enable_all().build().context("the system gives no threads")
    }

    /// Lines for people on a terminal, JSON for those who collect them.
    fn log(&self) -> Result<()> {
        let levels = levels(&self.log).with_context(|| {
            format!("`--log {}` is no level: give one such as `warn` or `info,h2=debug`", self.log)
        })?;
        let log = tracing_subscriber::registry().with(levels);
        let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
        if io::stderr().is_terminal() {
            let is_coloured = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            log.with(lines.with_ansi(is_coloured)).init();
        } else {
            log.with(lines.json().flatten_event(true)).init();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by an attacker: with metrics at an address that `0.0.0.0` has, clients were connected and never answered.
    #[test]
    fn addresses_overlap_where_one_socket_would_have_the_others_clients() {
        let overlap = |one: &str, other: &str| overlap(one.parse().unwrap(), other.parse().unwrap());
        for (one, other) in [
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "0.0.0.0:80"),
            ("[::]:80", "127.0.0.1:80"),
            ("[::ffff:127.0.0.1]:80", "127.0.0.1:80"),
        ] {
            assert!(overlap(one, other) && overlap(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("127.0.0.1:80", "127.0.0.1:81"),
            ("127.0.0.1:80", "127.0.0.2:80"),
            ("0.0.0.0:80", "[::1]:80"),
            ("0.0.0.0:0", "0.0.0.0:0"),
        ] {
            assert!(!overlap(one, other) && !overlap(other, one), "{one} {other}");
        }
    }
}
