//! The lab's own requests to a sync service, as `protocol/services.md` has them: to fill it, and to look at what it holds.

use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use ureq::Agent;

/// Changes of a page, as devices ask for them.
pub(super) const PAGE: usize = 100;

/// A sync service on a port of 127.0.0.1.
pub(super) struct Api {
    agent: Agent,
    host: String,
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

impl Api {
    /// Each request is waited for so long.
    pub(super) fn new(port: u16, limit: Duration) -> Api {
        let config = Agent::config_builder().timeout_global(Some(limit)).http_status_as_error(false);
        // As the generator asks: the service itself, whatever proxy the environment names, and what it answers, not another place.
        let config = config.proxy(None).max_redirects(0);
        Api { agent: config.build().into(), host: format!("http://127.0.0.1:{port}") }
    }

    /// Makes a device of a user known.
    pub(super) fn register(&self, user: &str, device: &str) -> Result<(), String> {
        let body = json!({ "user": user, "device": device });
        self.post::<Value>("/v1/clients", None, &body).map(drop)
    }

    /// Uploads objects' states, and gives the cursor that was answered.
    pub(super) fn upload(&self, client: &str, changes: &[(String, String)]) -> Result<u64, String> {
        let changes: Vec<Value> =
            changes.iter().map(|(id, data)| json!({ "id": id, "data": data })).collect();
        let stored: Stored = self.post("/v1/sync/delta", Some(client), &json!({ "changes": changes }))?;
        Ok(stored.cursor)
    }

    /// One page of changes after a cursor.
    pub(super) fn download(&self, client: &str, cursor: u64) -> Result<Page, String> {
        let path = format!("/v1/sync/delta?cursor={cursor}&limit={PAGE}");
        let answer = self.agent.get(format!("{}{path}", self.host)).header("x-client", client).call();
        read(&format!("GET {path}"), answer)
    }

    /// Every change after a cursor, page by page, as a device follows it.
    pub(super) fn follow(&self, client: &str, mut cursor: u64) -> Result<Vec<Change>, String> {
        let mut all = Vec::new();
        loop {
            let page = self.download(client, cursor)?;
            let is_last = !page.more || page.changes.is_empty();
            if page.changes.len() > PAGE {
                return Err(format!("a page of at most {PAGE} changes has {}", page.changes.len()));
            }
            all.extend(page.changes);
            if is_last {
                return Ok(all);
            }
            if page.cursor <= cursor {
                return Err(format!(
                    "after cursor {cursor} comes {}, and it says that there is more",
                    page.cursor
                ));
            }
            cursor = page.cursor;
        }
    }

    fn post<T: for<'de> Deserialize<'de>>(
        &self,
        path: &str,
        client: Option<&str>,
        body: &Value,
    ) -> Result<T, String> {
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
) -> Result<T, String> {
    let mut answer = answer.map_err(|error| format!("{asked}: {error}"))?;
    let status = answer.status();
    let text = answer.body_mut().read_to_string().map_err(|error| format!("{asked}: {error}"))?;
    if !status.is_success() {
        let text: String = text.chars().take(200).collect();
        return Err(format!("{asked}: status {}: {text}", status.as_u16()));
    }
    serde_json::from_str(&text)
        .map_err(|error| format!("{asked}: its answer is not what the protocol says: {error}"))
}
