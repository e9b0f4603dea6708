//! `GET /v1/devices`: the user's devices, and how far each is.

use super::answer::counted_where_room;
use super::place::Place;
use super::{App, UNREAD};
use crate::presence::Seen;
use crate::problem::{Kind, Problem};
use crate::shares::Full;
use crate::storage::Known;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a list waits for its place.
const PLACE_WITHIN: Duration = Duration::from_secs(5);

/// Where all places are taken until then.
const NO_PLACE: &str = "the service makes as many long answers as it may at a time";

/// A user's devices.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Devices {
    /// The user.
    user: String,
    /// The user's last revision.
    revision: u64,
    /// The devices, by name.
    devices: Vec<Device>,
}

/// A device, and what it has asked of this process of the service.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
struct Device {
    /// Its name.
    device: String,
    /// The cursor of its last download; left out where it has not downloaded since the process began.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<u64>,
    /// Revisions beyond that cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<u64>,
    /// Milliseconds since its last request; left out where it has asked nothing since the process began.
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_ms: Option<u64>,
    /// Streams of `watch` that it has open.
    streams: usize,
}

impl Device {
    fn of(known: Known, seen: Option<Seen>, revision: u64) -> Device {
        let cursor = seen.and_then(|seen| seen.cursor);
        Device {
            device: known.name,
            cursor,
            behind: cursor.map(|cursor| revision.saturating_sub(cursor)),
            idle_ms: seen.map(|seen| u64::try_from(seen.ago.as_millis()).unwrap_or(u64::MAX)),
            streams: seen.map_or(0, |seen| seen.streams),
        }
    }
}

/// The devices of the token's user. What they have done is known of this process alone, and since it began.
#[cfg_attr(
    feature = "openapi",
    utoipa::path(
        get,
        path = "/v1/devices",
        responses(
            (status = 200, description = "The devices", body = Devices),
            (status = "4XX", description = "What is wrong with the request", body = Problem, content_type = "application/problem+json"),
            (status = "5XX", description = "Why it cannot be done now", body = Problem, content_type = "application/problem+json"),
        )
    )
)]
pub(super) async fn devices(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    let account = app.identity.account(&headers, None).await?;
    app.allow(account)?;
    app.allow_answer(account)?;
    let user = app.storage.name_of(account).await?.unwrap_or_default();
    // A list may be long, and waits for the storage once more.
    let _place = Place::take(&app, account, Instant::now() + PLACE_WITHIN)
        .await
        .map_err(|full| Problem::new(Kind::Busy, if full == Full::All { NO_PLACE } else { UNREAD }))?;
    let known = app.storage.devices(account).await?;
    // Read last: a device is never beyond it.
    let revision = app.storage.standing(account).await?.revision;
    let devices = known.into_iter().map(|known| {
        let seen = app.presence.of(known.client);
        Device::of(known, seen, revision)
    });
    counted_where_room(&app, account, &Devices { user, revision, devices: devices.collect() })
}
