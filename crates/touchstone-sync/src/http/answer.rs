//! Answers in JSON, written as they are read: a page of versions is a buffer, and never a tree.

use super::{App, UNREAD};
use crate::change;
use crate::problem::{Kind, Problem};
use crate::shares::AnswerRoom;
use crate::storage::Account;
use axum::body::Bytes;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// A state of an object.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Version {
    /// The object.
    id: String,
    /// Its place in the user's order.
    revision: u64,
    /// The state; left out where the object is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<String>,
    /// Whether the object is deleted; left out where it is not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    deleted: bool,
}

impl From<change::Version> for Version {
    fn from(version: change::Version) -> Version {
        let change::Version { id, revision, data } = version;
        Version { id, revision, deleted: data.is_none(), data }
    }
}

/// An answer of JSON that nobody may keep.
pub(super) fn json(body: impl Into<Bytes>) -> Response {
    let mut response = body.into().into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Any value as JSON.
pub(super) fn to_json(value: &impl Serialize) -> Response {
    json(bytes(value))
}

/// The same, of a user, whose length depends on what the user has: it is counted until it is read, in the room that was taken for it.
pub(super) fn counted(app: &App, account: Account, room: &AnswerRoom, value: &impl Serialize) -> Response {
    let bytes = bytes(value);
    let share = room.taken(bytes.len()).unwrap_or_else(|| app.unread.take(account, bytes.len()));
    json(share.of(bytes))
}

/// The same, where there is room for it.
///
/// # Errors
/// Where there is none: then nothing was done that would have to be told.
pub(super) fn counted_where_room(
    app: &App,
    account: Account,
    value: &impl Serialize,
) -> Result<Response, Problem> {
    // As many as there are may have been asked for at once: what has no room now is not written.
    app.allow_answer(account)?;
    let held = app.hold(account, bytes(value));
    held.map(json).ok_or_else(|| Problem::new(Kind::Busy, UNREAD))
}

fn bytes(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("texts and numbers are JSON")
}
