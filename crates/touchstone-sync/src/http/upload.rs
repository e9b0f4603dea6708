//! `POST /v1/sync/delta`: stores changes.

use super::App;
use super::answer::{Version, counted};
use super::asking::Asker;
use super::body::Body;
use super::integer;
use super::object::Object;
use crate::change;
use crate::clock;
use crate::limits::{Limits, NAME_BYTES_MAX};
use crate::problem::{Kind, Problem};
use crate::shares::{AnswerRoom, BodyRoom};
use crate::storage::{Client, Error, Tried};
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Changes that are stored together, all or none, in their order.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Upload {
    /// At least one.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1000))]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Change>))]
    changes: Vec<Object<Change>>,
    /// Up to which revision the device has seen the user's changes. Versions of other devices beyond it are given back where this
    /// upload takes their place.
    #[serde(default, deserialize_with = "integer::revision")]
    #[cfg_attr(feature = "openapi", schema(format = "uint64", maximum = 18446744073709551615_u64))]
    seen: u64,
    /// The history that the device's revisions are of.
    #[serde(default)]
    history: Option<String>,
}

/// An object's whole new state, or its end: `data`, or `deleted`.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    /// The object: 1 to 256 bytes of UTF-8.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 256, pattern = "^[^\\u0000]*$"))]
    id: String,
    /// Its new state.
    #[serde(default)]
    data: Option<String>,
    /// Whether it is deleted.
    #[serde(default)]
    deleted: bool,
    /// The revision that the device changed, 0 for an object that it made. Where the object has another, nothing of the upload is stored.
    #[serde(default, deserialize_with = "integer::revision_or_null")]
    #[cfg_attr(feature = "openapi", schema(format = "uint64", maximum = 18446744073709551615_u64))]
    base: Option<u64>,
    /// A name that the device made for this change, 1 to 256 bytes of UTF-8: what was stored under it is not stored again.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 256, pattern = "^[^\\u0000]*$"))]
    change: Option<String>,
}

/// What became of the changes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Uploaded {
    /// What other devices had stored, this one had not seen, and is no more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    overwritten: Vec<Version>,
    /// The revision of each change. That of a repeated one is from when it was stored.
    revisions: Vec<u64>,
    /// The revision of the last change.
    cursor: u64,
}

/// Stores changes of the device's user. An answer with status 200 says that they are kept.
#[cfg_attr(
    feature = "openapi",
    utoipa::path(
        post,
        path = "/v1/sync/delta",
        params(("x-client" = String, Header, description = "The device")),
        request_body = Upload,
        responses(
            (status = 200, description = "They are stored", body = Uploaded),
            (status = 409, description = "An object is not at its base, or the history is another; nothing is stored", body = Problem, content_type = "application/problem+json"),
            (status = "4XX", description = "What is wrong with the request", body = Problem, content_type = "application/problem+json"),
            (status = "5XX", description = "Why it cannot be done now", body = Problem, content_type = "application/problem+json"),
        )
    )
)]
pub(super) async fn upload(
    State(app): State<Arc<App>>,
    asker: Asker,
    body: Result<Body<Upload>, Problem>,
) -> Result<Response, Problem> {
    let understood =
        body.and_then(|Body { value, room }| checked(value, &app.limits).map(|upload| (upload, room)));
    let (upload, room) = match understood {
        Ok(understood) => understood,
        Err(problem) => return asker.check().await.and(Err(problem)),
    };
    // The body may have taken its time.
    app.allow_answer(asker.account())?;
    let mut answer = app.room_of_answer(asker.account());
    let upload = change::Upload { answer: answer.clone(), ..upload };
    let (client, uploaded) = match stored(&app, asker, upload, room, &mut answer).await {
        Ok(stored) => stored,
        // Nothing is stored, so it may be asked again.
        Err(problem) if problem.has_versions() => {
            return problem.held(|bytes| Some(answer.taken(bytes.len())?.of(bytes)));
        }
        Err(problem) => return Err(problem),
    };
    let change::Uploaded { revisions, overwritten } = uploaded;
    let cursor = revisions.last().copied().unwrap_or_default();
    let overwritten = overwritten.into_iter().map(Into::into).collect();
    // What is stored is told: a change without a name would be stored once more.
    Ok(counted(&app, client.account(), &answer, &Uploaded { overwritten, revisions, cursor }))
}

/// What became of an upload, and the device that it is of.
async fn stored(
    app: &App,
    asker: Asker,
    upload: change::Upload,
    room: BodyRoom,
    answer: &mut AnswerRoom,
) -> Result<(Client, change::Uploaded), Problem> {
    let device = match asker {
        Asker::Known(client) => return Ok((client, app.storage.upload(client, upload, Some(room)).await?)),
        Asker::Remembered(device) => device,
    };
    let remembered = device.remembered();
    match app.storage.upload_remembered(remembered, clock::seconds(), upload, Some(room)).await {
        Ok(Tried::Stored(uploaded)) => Ok((device.confirm(), uploaded)),
        Ok(Tried::Unknown(upload, room)) => {
            let client = device.look_up().await?;
            // The device may be another user's by now, so its limits are checked too. For the same user the request counts twice, once.
            app.admit(client)?;
            *answer = app.room_of_answer(client.account());
            let upload = change::Upload { answer: answer.clone(), ..upload };
            Ok((client, app.storage.upload(client, upload, room).await?))
        }
        // What is refused is refused to a device that has its right.
        Err(error @ Error::Refused(_)) => {
            device.confirm();
            Err(error.into())
        }
        Err(error) => Err(error.into()),
    }
}

fn checked(upload: Upload, limits: &Limits) -> Result<change::Upload, Problem> {
    let count = upload.changes.len();
    if count == 0 || count > limits.changes {
        let detail = format!("an upload has 1 to {} changes, and this one has {count}", limits.changes);
        return Err(Problem::new(Kind::Malformed, detail));
    }
    let changes = upload.changes.into_iter().enumerate();
    let changes = changes.map(|(place, Object(change))| {
        checked_change(change, limits)
            .map_err(|detail| Problem::new(Kind::Malformed, format!("`changes[{place}]`: {detail}")))
    });
    Ok(change::Upload {
        changes: changes.collect::<Result<_, _>>()?,
        seen: upload.seen,
        history: upload.history,
        answer: AnswerRoom::default(),
    })
}

fn checked_change(change: Change, limits: &Limits) -> Result<change::Change, String> {
    for (key, name) in [("id", Some(&change.id)), ("change", change.change.as_ref())] {
        if let Some(bytes) = name.map(String::len).filter(|bytes| !(1..=NAME_BYTES_MAX).contains(bytes)) {
            return Err(format!("its `{key}` has {bytes} bytes, and 1 to {NAME_BYTES_MAX} are taken"));
        }
    }
    if [Some(&change.id), change.change.as_ref()].into_iter().flatten().any(|name| name.contains('\0')) {
        return Err("a name of it has the character U+0000, which not every storage keeps in a name".into());
    }
    if change.data.is_some() == change.deleted {
        return Err("it has to have `data`, or `\"deleted\":true`, and not both".into());
    }
    if let Some(bytes) = change.data.as_ref().map(String::len).filter(|bytes| *bytes > limits.data_bytes) {
        return Err(format!("its `data` has {bytes} bytes, and {} are taken at most", limits.data_bytes));
    }
    let Change { id, data, base, change: name, .. } = change;
    Ok(change::Change { id, data, base, name })
}
