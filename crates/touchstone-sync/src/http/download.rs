//! `GET /v1/sync/delta`: the versions after a cursor.

use super::App;
use super::answer::{Version, counted_where_room};
use super::asking::Asker;
use super::integer;
use crate::change;
use crate::clock;
use crate::limits::{PAGE, PAGE_MAX};
use crate::problem::{Kind, Problem};
use crate::storage::{Client, Error};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which versions are wanted.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub(super) struct Wanted {
    /// Those after this revision.
    #[serde(default, deserialize_with = "integer::in_query")]
    #[cfg_attr(feature = "openapi", param(format = "uint64", maximum = 18446744073709551615_u64))]
    cursor: u64,
    /// At most so many.
    #[serde(default = "page", deserialize_with = "integer::in_query")]
    #[cfg_attr(feature = "openapi", param(value_type = u32, minimum = 1, maximum = 1000, default = 100))]
    limit: u64,
    /// Only what other devices than the asking one have made.
    #[serde(default)]
    others: bool,
    /// The history that the cursor is of.
    #[serde(default)]
    history: Option<String>,
}

/// Versions by revision.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Page {
    /// The versions.
    changes: Vec<Version>,
    /// The cursor to go on from.
    cursor: u64,
    /// Whether there may be versions beyond it, even where this page has none.
    more: bool,
}

fn page() -> u64 {
    PAGE.into()
}

/// A query that is not understood. What axum says begins with the parameter.
fn malformed(error: &QueryRejection) -> Problem {
    let words = error.body_text();
    let words = words.strip_prefix("Failed to deserialize query string: ").unwrap_or(&words);
    Problem::new(Kind::Malformed, format!("the query is not as it has to be: {words}"))
}

/// What is asked for.
fn read(wanted: Result<Query<Wanted>, QueryRejection>) -> Result<change::Download, Problem> {
    let Query(wanted) = wanted.map_err(|error| malformed(&error))?;
    let Wanted { cursor, limit, others, history } = wanted;
    match u32::try_from(limit) {
        Ok(limit) if (1..=PAGE_MAX).contains(&limit) => {
            Ok(change::Download { cursor, limit, others, history })
        }
        _ => {
            let detail = format!("`limit` is {limit}, and a page has 1 to {PAGE_MAX} versions");
            Err(Problem::new(Kind::Malformed, detail))
        }
    }
}

/// The page, and the device that it is given to.
async fn page_of(
    app: &App,
    asker: Asker,
    download: change::Download,
) -> Result<(Client, change::Page), Problem> {
    let client = match asker {
        Asker::Known(client) => client,
        Asker::Remembered(device) => {
            let remembered = device.remembered();
            let page = app.storage.download_remembered(remembered, clock::seconds(), download.clone()).await;
            match page {
                Ok(None) => {}
                Ok(Some(page)) => return Ok((device.confirm(), page)),
                // What is refused is refused to a device that has its right.
                Err(error @ Error::Refused(_)) => {
                    device.confirm();
                    return Err(error.into());
                }
                Err(error) => return Err(error.into()),
            }
            let client = device.look_up().await?;
            // The device may be another user's by now, so its limits are checked too. For the same user the request counts twice, once.
            app.admit(client)?;
            client
        }
    };
    let page = app.storage.download(client, download).await?;
    Ok((client, page))
}

/// The user's objects that were changed after a cursor, in the user's order. A device that follows its cursor is given each change
/// once; an object that was changed several times since is given once, with its newest state.
#[cfg_attr(
    feature = "openapi",
    utoipa::path(
        get,
        path = "/v1/sync/delta",
        params(Wanted, ("x-client" = String, Header, description = "The device")),
        responses(
            (status = 200, description = "The versions", body = Page),
            (status = 409, description = "The cursor is beyond the last revision, or of another history", body = Problem, content_type = "application/problem+json"),
            (status = 410, description = "Deletions after the cursor are forgotten: fetch everything", body = Problem, content_type = "application/problem+json"),
            (status = "4XX", description = "What is wrong with the request", body = Problem, content_type = "application/problem+json"),
            (status = "5XX", description = "Why it cannot be done now", body = Problem, content_type = "application/problem+json"),
        )
    )
)]
pub(super) async fn download(
    State(app): State<Arc<App>>,
    asker: Asker,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Response, Problem> {
    let download = match read(wanted) {
        Ok(download) => download,
        Err(problem) => return asker.check().await.and(Err(problem)),
    };
    let (client, page) = page_of(&app, asker, download).await?;
    let changes = page.versions.into_iter().map(Into::into).collect();
    let answer = Page { changes, cursor: page.cursor, more: page.more };
    let answer = counted_where_room(&app, client.account(), &answer)?;
    app.presence.was_given(client, page.cursor);
    Ok(answer)
}
