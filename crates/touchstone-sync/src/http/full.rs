//! `GET /v1/sync/full`: every object of the user, streamed.
//!
//! The answer is made of ranges of the user's order, up to the revision at which it begins. An object that is changed meanwhile moves
//! behind that revision, and is in what the device downloads after it. So nothing is held while a slow client reads.

use super::App;
use super::answer::{Version, json};
use super::asking::Asking;
use crate::change::Standing;
use crate::problem::Problem;
use crate::shares::Share;
use crate::storage::Account;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use std::io::{Error, Write};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Objects of one range: what a stream keeps in memory.
const RANGE: u32 = 256;

/// Ranges of one user that are read at the same time.
const RANGES_OF_USER: usize = 4;

/// How often a stream looks whether there is room for its next range.
const ROOM_EVERY: Duration = Duration::from_millis(50);

/// Every object of the user, and where to go on from.
#[cfg(feature = "openapi")]
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "it describes what is streamed, and is never whole in memory")]
pub(super) struct Everything {
    /// The objects, by revision; of deleted ones, none.
    changes: Vec<Version>,
    /// Which history revisions are of.
    history: String,
    /// The cursor to download from.
    cursor: u64,
}

/// Where a stream stands.
enum Part {
    Begin,
    After(u64),
    Ended,
}

/// Every object of the device's user, by revision, with the cursor to go on from. An object that is changed while it is sent may be
/// left out: it is in what follows the cursor.
#[cfg_attr(
    feature = "openapi",
    utoipa::path(
        get,
        path = "/v1/sync/full",
        params(("x-client" = String, Header, description = "The device")),
        responses(
            (status = 200, description = "Every object", body = Everything),
            (status = "4XX", description = "What is wrong with the request", body = Problem, content_type = "application/problem+json"),
            (status = "5XX", description = "Why it cannot be done now", body = Problem, content_type = "application/problem+json"),
        )
    )
)]
pub(super) async fn full(State(app): State<Arc<App>>, Asking(client): Asking) -> Result<Response, Problem> {
    let standing = app.storage.standing(client.account()).await?;
    let mut response = json(Bytes::new());
    *response.body_mut() = Body::from_stream(parts(app, client.account(), standing));
    Ok(response)
}

/// The answer's bytes, and then none however often it is asked: what packs them asks again. Where the storage fails in the middle, the
/// stream ends with an error, and so does the connection: what the client has is no JSON, and is not taken for everything.
fn parts(app: Arc<App>, account: Account, standing: Standing) -> impl Stream<Item = Result<Bytes, Error>> {
    stream::unfold(Part::Begin, move |part| {
        let (app, standing) = (app.clone(), standing.clone());
        async move {
            let (mut bytes, after) = match part {
                Part::Begin => (b"{\"changes\":[".to_vec(), 0),
                Part::After(revision) => (Vec::new(), revision),
                Part::Ended => return None,
            };
            let room = room(&app, account).await;
            let range = match app.storage.objects(account, after, standing.revision, RANGE).await {
                Ok(range) => range,
                Err(error) => {
                    let _ = Problem::from(error);
                    return Some((Err(Error::other("the storage failed")), Part::Ended));
                }
            };
            let last = range.last().map(|version| version.revision);
            for (place, version) in range.into_iter().enumerate() {
                if after > 0 || place > 0 {
                    bytes.push(b',');
                }
                serde_json::to_writer(&mut bytes, &Version::from(version))
                    .expect("texts and numbers are JSON");
            }
            let next = match last {
                Some(last) => Part::After(last),
                None => {
                    let Standing { revision, history } = standing;
                    write!(bytes, "],\"history\":\"{history}\",\"cursor\":{revision}}}")
                        .expect("memory takes it");
                    Part::Ended
                }
            };
            let part = app.unread.hold(account, bytes);
            drop(room);
            Some((Ok(part), next))
        }
    })
    .fuse()
}

/// A range's place, from when the user's answers that are not read have room for more. Those that are read at the same time have looked before
/// each other is counted, so they are few.
async fn room(app: &App, account: Account) -> Share {
    loop {
        let place = app.ranges.take_one(account, usize::MAX, RANGES_OF_USER);
        match place {
            Ok(place) if app.allow_answer(account).is_ok() => return place,
            _ => sleep(ROOM_EVERY).await,
        }
    }
}
