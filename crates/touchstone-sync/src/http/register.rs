//! `POST /v1/clients`: makes a device known.

use super::App;
use super::answer::to_json;
use super::asking::Admitted;
use super::body::Body;
use crate::limits::NAME_BYTES_MAX;
use crate::problem::{Kind, Problem};
use crate::storage::{Error, Refusal};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A device of a user.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Registration {
    /// The user; the token says it too. Where that is another one, nothing is registered.
    #[serde(default)]
    #[cfg_attr(
        feature = "openapi",
        schema(min_length = 1, max_length = 256, pattern = "^[!-~]([ -~]*[!-~])?$")
    )]
    user: Option<String>,
    /// The device's name, made by the device: no other of the user has it.
    #[cfg_attr(
        feature = "openapi",
        schema(min_length = 1, max_length = 256, pattern = "^[!-~]([ -~]*[!-~])?$")
    )]
    device: String,
}

/// A device that is known now.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Registered {
    /// What the device sends as `x-client`.
    id: String,
    /// Whose device it is: the token's user.
    user: String,
    /// Which history the user's revisions are of.
    history: String,
}

/// Makes a device of the token's user known, and tells whose it is. One that is known stays as it is.
#[cfg_attr(
    feature = "openapi",
    utoipa::path(
        post,
        path = "/v1/clients",
        request_body = Registration,
        responses(
            (status = 200, description = "The device is known", body = Registered),
            (status = "4XX", description = "What is wrong with the request", body = Problem, content_type = "application/problem+json"),
            (status = "5XX", description = "Why it cannot be done now", body = Problem, content_type = "application/problem+json"),
        )
    )
)]
pub(super) async fn register(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    _: Admitted,
    body: Body<Registration>,
) -> Result<Response, Problem> {
    let registration = body.value;
    for (what, name) in [("user", registration.user.as_ref()), ("device", Some(&registration.device))] {
        name.map_or(Ok(()), |name| check_name(what, name))?;
    }
    let account = app.identity.account(&headers, registration.user.as_deref()).await?;
    app.allow(account)?;
    app.storage.register(account, &registration.device).await?;
    let user = app.storage.name_of(account).await?.ok_or(Error::Refused(Refusal::UnknownUser))?;
    let history = app.storage.standing(account).await?.history;
    Ok(to_json(&Registered { id: registration.device, user, history }))
}

/// Refuses a name that could not be sent in a header, or is longer than names are.
pub(crate) fn check_name(what: &str, name: &str) -> Result<(), Problem> {
    let is_sent = name.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && name.trim() == name;
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !is_sent {
        let detail = format!(
            "the {what}'s name has to be 1 to {NAME_BYTES_MAX} printable characters of ASCII, and no space at its ends: it has {} bytes",
            name.len()
        );
        return Err(Problem::new(Kind::Malformed, detail));
    }
    Ok(())
}
