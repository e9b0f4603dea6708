//! The service's requests, over HTTP.

use crate::wire::{Everything, Page, Problem, Registered, Registration, Told, Upload, Uploaded};
use crate::{Error, ErrorKind, Result};
use serde::de::DeserializeOwned;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::time::Duration;
use ureq::http::{Response, StatusCode};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

/// How long to wait for a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// How long an answer may take to begin. The service takes 30 seconds for a body at most, and then stores it.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// How long an answer that has begun may be silent. A stream says every 15 seconds that it is there.
const SILENT_FOR: Duration = Duration::from_secs(45);

/// Bytes of an answer at most: more than any user has, so that what is no service fills no memory without an end.
const ANSWER_BYTES_MAX: u64 = 4 << 30;

/// The longest time that a service may want to be left alone for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 3600);

/// What the TLS library says of a certificate that it does not take. It may pass all the same, as where a clock is set right.
const UNTRUSTED: &str = "invalid peer certificate";

/// Versions of a page.
const PAGE: u32 = 1_000;

/// Where the service is, and who asks.
#[derive(Clone, PartialEq, Eq)]
pub struct Service {
    url: String,
    token: String,
    /// What is trusted in place of the public authorities, in PEM.
    authorities: Option<Vec<u8>>,
}

impl Service {
    /// A service at an address such as `https://sync.example.org`, asked with a user's token, which `touchstone-sync token create` has
    /// made. The token travels with each request: an address of `http` is for this machine alone, or for a network that is trusted.
    ///
    /// ```
    /// use touchstone_sync_client::Service;
    ///
    /// let service = Service::new("https://sync.example.org", "tsync_…");
    /// // The token never tells itself.
    /// assert_eq!(format!("{service:?}"), r#"Service("https://sync.example.org")"#);
    /// ```
    pub fn new(url: impl Into<String>, token: impl Into<String>) -> Service {
        let (url, token): (String, String) = (url.into(), token.into());
        let (url, token) = (url.trim_end_matches('/').to_owned(), token.trim().to_owned());
        Service { url, token, authorities: None }
    }

    /// The same service, whose certificate is signed by one of these, in PEM, and by no other: the certificate of an authority of its
    /// owner's, or the service's own where it has signed itself. Without this the public authorities are trusted that Mozilla trusts;
    /// their list is a part of the library, and the system's is not looked at.
    #[must_use]
    pub fn trusting(self, authorities: impl Into<Vec<u8>>) -> Service {
        Service { authorities: Some(authorities.into()), ..self }
    }

    /// Refuses what could never be asked.
    pub(crate) fn check(&self) -> Result<()> {
        let is_web = ["http://", "https://"].iter().any(|scheme| self.url.starts_with(scheme));
        if !is_web {
            let text = format!("its address is `{}`: give one such as `https://sync.example.org`", self.url);
            return Err(Error::new(ErrorKind::Setting, text));
        }
        if self.token.is_empty() || !self.token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let text = "the token is empty, or has characters that no token has: give what `touchstone-sync token create` prints";
            return Err(Error::new(ErrorKind::Setting, text));
        }
        Ok(())
    }

    /// What asks it.
    pub(crate) fn agent(&self) -> Result<Agent> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .tls_config(TlsConfig::builder().root_certs(self.roots()?).build())
            .timeout_connect(Some(CONNECT_WITHIN))
            .timeout_recv_response(Some(ANSWER_WITHIN))
            .timeout_per_read(Some(SILENT_FOR))
            .timeout_per_write(Some(SILENT_FOR));
        Ok(config.build().into())
    }

    /// Whose signatures are trusted.
    fn roots(&self) -> Result<RootCerts> {
        let Some(pem) = &self.authorities else { return Ok(RootCerts::WebPki) };
        let mut certificates = Vec::new();
        for item in parse_pem(pem) {
            let item = item.map_err(|error| {
                Error::new(ErrorKind::Setting, format!("the certificates to trust cannot be read: {error}"))
            })?;
            if let PemItem::Certificate(certificate) = item {
                certificates.push(certificate);
            }
        }
        if certificates.is_empty() {
            let text = "there is no certificate in what is to be trusted: give what a file in PEM has, which begins with `-----BEGIN CERTIFICATE-----`";
            return Err(Error::new(ErrorKind::Setting, text));
        }
        Ok(RootCerts::from(certificates))
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Service").field(&self.url).finish()
    }
}

/// Why an answer is not the one that was wished for.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The service says why, and its caller may know what to do.
    Problem(Problem),
    Error(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

impl From<touchstone_store::Error> for Failure {
    fn from(error: touchstone_store::Error) -> Failure {
        Failure::Error(error.into())
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        match failure {
            Failure::Error(error) => error,
            Failure::Problem(problem) => {
                let is_stranger = problem.is("unauthenticated");
                let kind = if is_stranger { ErrorKind::Unauthenticated } else { ErrorKind::Refused };
                Error::new(kind, format!("{} ({})", problem.detail, problem.kind))
            }
        }
    }
}

/// What is asked for, or why not.
pub(crate) type Asked<T> = std::result::Result<T, Failure>;

/// Asks the service in the name of one copy.
pub(crate) struct Client {
    agent: Agent,
    service: Service,
    /// The name that this copy is registered by.
    name: String,
}

impl Client {
    pub(crate) fn new(agent: Agent, service: Service, name: String) -> Client {
        Client { agent, service, name }
    }

    /// Makes this copy known to the service, which says whose it is. Where it has to be of a user, it is registered for no other.
    pub(crate) fn register(&self, user: Option<&str>) -> Asked<Registered> {
        self.post("/v1/clients", &Registration { user, device: &self.name })
    }

    pub(crate) fn upload(&self, upload: &Upload<'_>) -> Asked<Uploaded> {
        self.post("/v1/sync/delta", upload)
    }

    /// A page of what other devices have made.
    pub(crate) fn download(&self, cursor: u64, history: &str) -> Asked<Page> {
        read(self.get(&format!("/v1/sync/delta?cursor={cursor}&limit={PAGE}&others=true&history={history}"))?)
    }

    pub(crate) fn everything(&self) -> Asked<Everything> {
        read(self.get("/v1/sync/full")?)
    }

    /// The user's revision as it rises; none where the service says that it is there. The stream has one kind of event, and one line of
    /// data in each, so its lines are all that is to be understood of the format.
    pub(crate) fn watch(&self) -> Asked<impl Iterator<Item = Result<Option<u64>>> + Send + use<>> {
        let answer = self.get("/v1/sync/watch")?;
        if answer.status() != StatusCode::OK {
            return Err(refused(answer));
        }
        let lines = BufReader::new(answer.into_body().into_reader()).lines();
        Ok(lines.map(|line| {
            let line = line.map_err(|error| Error::new(ErrorKind::Away, error.to_string()))?;
            line.strip_prefix("data:").map(told).transpose()
        }))
    }

    fn get(&self, path: &str) -> Result<Response<Body>> {
        let request = self.agent.get(format!("{}{path}", self.service.url));
        let request = request.header("authorization", format!("Bearer {}", self.service.token));
        request.header("x-client", &self.name).call().map_err(|error| self.failed(error))
    }

    fn post<T: DeserializeOwned>(&self, path: &str, body: &impl serde::Serialize) -> Asked<T> {
        let body = serde_json::to_vec(body).expect("texts and numbers are JSON");
        let request = self.agent.post(format!("{}{path}", self.service.url));
        let request = request.header("authorization", format!("Bearer {}", self.service.token));
        let request = request.header("x-client", &self.name).header("content-type", "application/json");
        read(request.send(&body[..]).map_err(|error| self.failed(error))?)
    }

    /// Why it is not asked, and where it was to be.
    fn failed(&self, error: ureq::Error) -> Error {
        let Service { url, .. } = &self.service;
        failed(error).of(url)
    }
}

fn told(data: &str) -> Result<u64> {
    let told: Told = serde_json::from_str(data.trim()).map_err(|error| answer(&error))?;
    Ok(told.cursor)
}

/// What an answer says, or the problem that it tells.
fn read<T: DeserializeOwned>(response: Response<Body>) -> Asked<T> {
    if response.status() != StatusCode::OK {
        return Err(refused(response));
    }
    let body = response.into_body().into_with_config().limit(ANSWER_BYTES_MAX);
    serde_json::from_reader(BufReader::new(body.reader())).map_err(|error| {
        match error.is_io() || error.is_eof() {
            // It ends before its end: the connection did.
            true => Failure::Error(Error::new(ErrorKind::Away, error.to_string())),
            false => Failure::Error(answer(&error)),
        }
    })
}

/// Why an answer is none. What passes by itself is as if the service was away.
fn refused(mut response: Response<Body>) -> Failure {
    let status = response.status();
    let seconds =
        response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let retry_after = seconds.map(|seconds| Duration::from_secs(seconds).min(RETRY_AFTER_MAX));
    let passes = status.is_server_error()
        || [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS].contains(&status);
    let text = match response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string() {
        Ok(text) => text,
        Err(error) => return Failure::Error(failed(error).after(retry_after)),
    };
    match serde_json::from_str::<Problem>(&text) {
        Ok(problem) if passes => {
            Failure::Error(Error::new(ErrorKind::Away, problem.detail).after(retry_after))
        }
        Ok(problem) => Failure::Problem(problem),
        Err(_) if passes => Failure::Error(
            Error::new(ErrorKind::Away, format!("it answers with status {status}")).after(retry_after),
        ),
        Err(_) => {
            let text =
                format!("status {status} without a problem detail: is the address that of a sync service?");
            Failure::Error(Error::new(ErrorKind::Answer, text))
        }
    }
}

/// Whether it is worth asking again: the network passes, what is wrong with the request stays.
fn failed(error: ureq::Error) -> Error {
    use ureq::Error::{ConnectProxyFailed, ConnectionFailed, HostNotFound, Io, Protocol, Timeout};
    let passes = matches!(
        error,
        Io(_) | Timeout(_) | HostNotFound | ConnectionFailed | Protocol(_) | ConnectProxyFailed(_)
    );
    let kind = if passes { ErrorKind::Away } else { ErrorKind::Setting };
    let mut text = error.to_string();
    if text.contains(UNTRUSTED) {
        text.push_str(": look at the address and at this device's clock; a certificate of no public authority has to be trusted by the program");
    }
    Error::new(kind, text)
}

fn answer(error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Answer, error.to_string())
}
