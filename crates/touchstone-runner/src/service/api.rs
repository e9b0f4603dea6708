//! The lab's own requests to a sync service, as `protocol/services.md` has them: to fill it, and to look at what it holds.

use crate::session::{Manners, Stop};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt;
use std::sync::atomic::Ordering;
use ureq::Agent;

/// Changes of a page, as devices ask for them.
pub(super) const PAGE: u64 = 100;

/// Most changes of a page, as the protocol has it.
const PAGE_MAX: u64 = 1_000;

/// Bytes of a page's data, where the lab downloads everything.
const PAGE_BYTES: u64 = 2_000_000;

/// The longest answer that is read: more than any page of what the lab asks for.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// A sync service on a port of 127.0.0.1.
pub(super) struct Api {
    agent: Agent,
    host: String,
    stop: Stop,
}

/// What a service does not do that the protocol says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It does not answer, or says that it cannot.
    Failed(String),
    /// It answers, and not what it should.
    Wrong(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Fault::Failed(why) | Fault::Wrong(why)) = self;
        formatter.write_str(why)
    }
}

/// An object's state with its revision.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) id: String,
    pub(super) revision: u64,
    pub(super) data: String,
}

/// What a download gives.
#[derive(Debug, Deserialize)]
pub(super) struct Page {
    pub(super) changes: Vec<Change>,
    pub(super) cursor: u64,
    pub(super) more: bool,
}

#[derive(Deserialize)]
struct Stored {
    cursor: u64,
}

/// Changes of a page of everything, where each has so many bytes.
pub(super) fn page_of(bytes: u64) -> u64 {
    (PAGE_BYTES / bytes.max(1)).clamp(1, PAGE_MAX)
}

impl Api {
    /// Each request is waited for so long as a kit's reply is.
    pub(super) fn new(port: u16, manners: &Manners) -> Api {
        let config = Agent::config_builder().timeout_global(Some(manners.limit)).http_status_as_error(false);
        // As the generator asks: the service itself, whatever proxy the environment names, and what it answers, not another place. A
        // service is not told by a header which of the two asks.
        let config = config.proxy(None).max_redirects(0).accept("").accept_encoding("");
        let config = config.user_agent(concat!("touchstone-load/", env!("CARGO_PKG_VERSION")));
        let host = format!("http://127.0.0.1:{port}");
        Api { agent: config.build().into(), host, stop: manners.stop.clone() }
    }

    /// Makes a device of a user known.
    pub(super) fn register(&self, user: &str, device: &str) -> Result<(), Fault> {
        let body = json!({ "user": user, "device": device });
        self.post::<Value>("/v1/clients", None, &body).map(drop)
    }

    /// Uploads objects' states, and gives the cursor that was answered.
    pub(super) fn upload(&self, client: &str, changes: &[(String, String)]) -> Result<u64, Fault> {
        let changes: Vec<Value> =
            changes.iter().map(|(id, data)| json!({ "id": id, "data": data })).collect();
        let stored: Stored = self.post("/v1/sync/delta", Some(client), &json!({ "changes": changes }))?;
        Ok(stored.cursor)
    }

    /// One page of changes after a cursor.
    pub(super) fn download(&self, client: &str, cursor: u64, limit: u64) -> Result<Page, Fault> {
        let path = format!("/v1/sync/delta?cursor={cursor}&limit={limit}");
        let answer = self.agent.get(format!("{}{path}", self.host)).header("x-client", client).call();
        let page: Page = read(&format!("GET {path}"), answer)?;
        if page.changes.len() as u64 > limit {
            let wrong = format!("a page of at most {limit} changes has {}", page.changes.len());
            return Err(Fault::Wrong(wrong));
        }
        Ok(page)
    }

    /// Every change after a cursor, page by page, as a device follows it, and the cursor behind the last. `take` says what is wrong with one.
    pub(super) fn follow(
        &self,
        client: &str,
        mut cursor: u64,
        limit: u64,
        mut take: impl FnMut(Change) -> Result<(), String>,
    ) -> Result<u64, Fault> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Fault::Failed("the run was stopped".into()));
            }
            let page = self.download(client, cursor, limit)?;
            let (last, is_last) = (page.changes.last().map(|change| change.revision), !page.more);
            page.changes.into_iter().try_for_each(&mut take).map_err(Fault::Wrong)?;
            if page.cursor != last.unwrap_or(cursor) {
                let last = last.map_or_else(|| "no change".into(), |last| format!("revision {last}"));
                return Err(Fault::Wrong(format!(
                    "a page after cursor {cursor} ends with {last}, and its cursor is {}",
                    page.cursor
                )));
            }
            if is_last {
                return Ok(page.cursor);
            }
            if page.cursor <= cursor {
                return Err(Fault::Wrong(format!(
                    "after cursor {cursor} comes {}, and it says that there is more",
                    page.cursor
                )));
            }
            cursor = page.cursor;
        }
    }

    fn post<T: for<'de> Deserialize<'de>>(
        &self,
        path: &str,
        client: Option<&str>,
        body: &Value,
    ) -> Result<T, Fault> {
        let mut request = self.agent.post(format!("{}{path}", self.host)).content_type("application/json");
        if let Some(client) = client {
            request = request.header("x-client", client);
        }
        read(&format!("POST {path}"), request.send(body.to_string()))
    }
}

fn read<T: for<'de> Deserialize<'de>>(
    asked: &str,
    answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
) -> Result<T, Fault> {
    let failed = |error: ureq::Error| Fault::Failed(format!("{asked}: {error}"));
    let mut answer = answer.map_err(failed)?;
    let status = answer.status();
    let text = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string().map_err(failed)?;
    if !status.is_success() {
        let text: String = text.chars().take(200).collect();
        return Err(Fault::Failed(format!("{asked}: status {}: {text}", status.as_u16())));
    }
    let other = |error| Fault::Wrong(format!("{asked}: its answer is not what the protocol says: {error}"));
    serde_json::from_str(&text).map_err(other)
}
