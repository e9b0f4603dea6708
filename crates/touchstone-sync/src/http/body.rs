//! The body of a request: read within its time and its room, unpacked where it is compressed, and an object of the one shape that is
//! wanted.

use super::App;
use super::object::Object;
use super::shares::Share;
use crate::limits::Limits;
use crate::problem::{Kind, Problem};
use crate::storage::Account;
use axum::extract::{FromRequest, Request};
use axum::http::header;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use std::error::Error;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

/// A body that was read and understood. It has its room until it is dropped.
pub(super) struct Body<T> {
    pub(super) value: T,
    /// What it takes of the room of all.
    pub(super) room: OwnedSemaphorePermit,
    /// What it takes of its user's share, until it is answered.
    pub(super) _share: Option<Share>,
}

/// Bytes of a body whose user is not known before it is read: it names a device.
const SMALL_BYTES_MAX: usize = 8 << 10;

/// Bytes that the request's body may have.
fn limit(request: &Request, app: &App) -> usize {
    let is_known = request.extensions().get::<Account>().is_some();
    if is_known { app.limits.body_bytes } else { app.limits.body_bytes.min(SMALL_BYTES_MAX) }
}

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Body<T>, Problem> {
        let room = check_head(&request).and_then(|()| room(&request, app));
        let (mut room, share) = room.map_err(|problem| problem.before_body(request.headers()))?;
        let limit = limit(&request, app);
        let body = Limited::new(request.into_body(), limit).collect();
        let read = timeout(app.limits.body_time, body).await.map_err(|_| {
            let seconds = app.limits.body_time.as_secs();
            Problem::new(Kind::TooSlow, format!("the body did not come within {seconds} s: send it again"))
        })?;
        let bytes = read.map_err(|error| unreadable(&*error, limit))?.to_bytes();
        drop(room.split(room.num_permits().saturating_sub(bytes.len())));
        match serde_json::from_slice::<Object<T>>(&bytes) {
            Ok(Object(value)) => Ok(Body { value, room, _share: share }),
            Err(error) => {
                Err(Problem::new(Kind::Malformed, format!("the body is not as it has to be: {error}")))
            }
        }
    }
}

/// Refuses what is no JSON, and what is packed in a way that is not known: what is known was unpacked before.
fn check_head(request: &Request) -> Result<(), Problem> {
    let header = |name| request.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    if let Some(packed) =
        header(header::CONTENT_ENCODING).filter(|packed| !packed.eq_ignore_ascii_case("identity"))
    {
        let detail = format!("the body is packed as `{packed}`: send it as `gzip`, as `zstd`, or as it is");
        return Err(Problem::new(Kind::MediaType, detail));
    }
    let given = header(header::CONTENT_TYPE);
    let essence = given.as_deref().and_then(|given| given.split(';').next()).unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let detail = format!(
        "the body's type is `{}`: send `Content-Type: application/json`",
        given.as_deref().unwrap_or("not said")
    );
    Err(Problem::new(Kind::MediaType, detail))
}

/// Room for the body, until it is answered. A body that does not say its length takes as much as a body may, and so does one that was
/// packed: its length is not said any more.
fn room(request: &Request, app: &App) -> Result<(OwnedSemaphorePermit, Option<Share>), Problem> {
    let limit = limit(request, app);
    let said =
        request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let bytes: usize = said.unwrap_or(limit);
    if bytes > limit {
        return Err(too_long(limit));
    }
    let busy = || {
        let detail = "the bodies that are under way take all the room that there is: ask again later";
        Problem::new(Kind::Busy, detail)
    };
    let account = request.extensions().get::<Account>().copied();
    let Limits { user_room_bytes, .. } = app.limits;
    if account.is_some_and(|account| !app.bodies.has_room(account, usize::MAX, user_room_bytes)) {
        return Err(busy());
    }
    let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
    let room = Arc::clone(&app.room).try_acquire_many_owned(permits).map_err(|_| busy())?;
    Ok((room, account.map(|account| app.bodies.take(account, bytes))))
}

fn unreadable(error: &(dyn Error + 'static), limit: usize) -> Problem {
    let mut cause = Some(error);
    while let Some(known) = cause {
        if known.is::<LengthLimitError>() {
            return too_long(limit);
        }
        cause = known.source();
    }
    Problem::new(Kind::Malformed, format!("the body cannot be read: {error}"))
}

fn too_long(limit: usize) -> Problem {
    Problem::new(Kind::TooLong, format!("a body has at most {limit} bytes: send fewer changes at a time"))
}
