//! The body of a request: read within its time and its room, unpacked where it is compressed, and an object of the one shape that is
//! wanted.

use super::App;
use super::object::Object;
use crate::problem::{Kind, Problem};
use crate::shares::{BodyRoom, Share};
use crate::storage::Account;
use axum::extract::{FromRequest, Request};
use axum::http::header;
use http_body_util::{BodyExt, LengthLimitError};
use serde::de::DeserializeOwned;
use std::error::Error;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

/// A body that was read and understood. It has its room until it is dropped.
pub(super) struct Body<T> {
    pub(super) value: T,
    pub(super) room: BodyRoom,
}

/// Bytes of a body whose user is not known before it is read: it names a device.
pub(crate) const SMALL_BYTES_MAX: usize = 8 << 10;

/// What a client does about a packing that is not known.
const KNOWN: &str = if cfg!(feature = "compression") {
    "send it as `gzip`, as `zstd`, or as it is"
} else {
    "this build unpacks none, send it as it is"
};

/// Bytes of room that a body takes at least when it turns out to need more.
const PIECE_BYTES: usize = 16 << 10;

/// Bytes that the request's body may have.
fn limit(request: &Request, app: &App) -> usize {
    let is_known = request.extensions().get::<Account>().is_some();
    if is_known { app.limits.body_bytes } else { app.limits.body_bytes.min(SMALL_BYTES_MAX) }
}

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Body<T>, Problem> {
        let room = check_head(&request).and_then(|()| Room::begin(&request, app));
        let mut room = room.map_err(|problem| problem.before_body(request.headers()))?;
        let read = timeout(app.limits.body_time, read(request.into_body(), &mut room)).await;
        let bytes = read.map_err(|_| {
            let seconds = app.limits.body_time.as_secs();
            Problem::new(Kind::TooSlow, format!("the body did not come within {seconds} s: send it again"))
        })??;
        let Room { mut permits, share, .. } = room;
        drop(permits.split(permits.num_permits().saturating_sub(bytes.len())));
        match serde_json::from_slice::<Object<T>>(&bytes) {
            Ok(Object(value)) => Ok(Body { value, room: BodyRoom { _of_all: permits, _of_user: share } }),
            Err(error) => Err(malformed::<T>(&bytes, &error)),
        }
    }
}

/// A body that is not understood. Where it is JSON, and a part of it is another than it has to be, `detail` begins with the place of that part:
/// the body is read once more to know it, as places are not kept while bodies are read that are as they have to be.
fn malformed<T: DeserializeOwned>(bytes: &[u8], error: &serde_json::Error) -> Problem {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let again = serde_path_to_error::deserialize::<_, Object<T>>(&mut json);
    let place = again.err().map(|error| error.path().to_string()).filter(|place| place != ".");
    let detail = match place {
        Some(place) if error.is_data() => format!("`{place}`: it is not as it has to be: {error}"),
        _ => format!("the body is not as it has to be: {error}"),
    };
    Problem::new(Kind::Malformed, detail)
}

/// The bytes of a body, for each of which there is room.
async fn read(mut body: axum::body::Body, room: &mut Room<'_>) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| unread(&error, room.limit))?;
        // Trailers say nothing here.
        let Ok(data) = frame.into_data() else { continue };
        room.reach(bytes.len() + data.len())?;
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

/// Why a body cannot be read to its end: it is longer than a packed one may be, or is no packed one.
fn unread(error: &axum::Error, limit: usize) -> Problem {
    match is_of_length(error) {
        true => too_long(limit),
        false => Problem::new(Kind::Malformed, format!("the body cannot be read: {error}")),
    }
}

fn is_of_length(error: &(dyn Error + 'static)) -> bool {
    error.is::<LengthLimitError>() || error.source().is_some_and(is_of_length)
}

/// Refuses what is no JSON, and what is packed in a way that is not known: what is known was unpacked before.
fn check_head(request: &Request) -> Result<(), Problem> {
    let header = |name| request.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    if let Some(packed) =
        header(header::CONTENT_ENCODING).filter(|packed| !packed.eq_ignore_ascii_case("identity"))
    {
        let detail = format!("the body is packed as `{packed}`: {KNOWN}");
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

/// Room for a body, until it is answered: of the memory of all, and of its user's share. A body that says its length takes that at once.
/// One that does not takes more as it comes, and so does one that is packed: its length is that of the packed bytes.
struct Room<'a> {
    app: &'a App,
    account: Option<Account>,
    limit: usize,
    permits: OwnedSemaphorePermit,
    share: Option<Share>,
}

impl<'a> Room<'a> {
    /// # Errors
    /// If the body is longer than a body may be, or there is no room for it.
    fn begin(request: &Request, app: &'a App) -> Result<Room<'a>, Problem> {
        let said = request.headers().get(header::CONTENT_LENGTH);
        let said = said.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
        let account = request.extensions().get::<Account>().copied();
        let permits = Arc::clone(&app.room).try_acquire_many_owned(0).map_err(|_| no_room())?;
        let share = account.map(|account| app.bodies.take(account, 0));
        let mut room = Room { app, account, limit: limit(request, app), permits, share };
        room.take(said.unwrap_or_default())?;
        Ok(room)
    }

    /// Has room for so many bytes.
    ///
    /// # Errors
    /// If a body may not be so long, or there is no room for it.
    fn reach(&mut self, bytes: usize) -> Result<(), Problem> {
        match bytes.saturating_sub(self.permits.num_permits()) {
            0 => Ok(()),
            lacking if bytes > self.limit => self.take(lacking),
            lacking => self.take(lacking.max(PIECE_BYTES).min(self.limit - self.permits.num_permits())),
        }
    }

    /// Takes room for so many bytes more.
    fn take(&mut self, bytes: usize) -> Result<(), Problem> {
        if self.permits.num_permits() + bytes > self.limit {
            return Err(too_long(self.limit));
        }
        let most = self.app.limits.user_room_bytes;
        if self.account.is_some_and(|account| !self.app.bodies.has_room(account, usize::MAX, most)) {
            return Err(no_room());
        }
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        let permits = Arc::clone(&self.app.room).try_acquire_many_owned(permits);
        self.permits.merge(permits.map_err(|_| no_room())?);
        if let Some(share) = &mut self.share {
            share.grow(bytes);
        }
        Ok(())
    }
}

fn no_room() -> Problem {
    Problem::new(Kind::Busy, "the bodies that are under way take all the room that there is: ask again later")
}

fn too_long(limit: usize) -> Problem {
    let remedy = match limit {
        SMALL_BYTES_MAX => "give the device a shorter name",
        _ => "send fewer changes at a time",
    };
    Problem::new(Kind::TooLong, format!("a body has at most {limit} bytes here: {remedy}"))
}
