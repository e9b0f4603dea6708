//! `GET /v1/sync/full`: every object of the user, streamed.
//!
//! The answer is made of ranges of the user's order, up to the revision at which it begins. An object that is changed meanwhile moves
//! behind that revision, and is in what the device downloads after it. So nothing is held while a slow client reads.

use super::App;
use super::answer::{Version, json};
use super::asking::Asking;
use super::place::{Pauses, Place};
use crate::change::{self, Standing};
use crate::problem::{Kind, Problem};
use crate::storage::{self, Account};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use std::io::{Error, Write};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// Objects of one range: what a stream keeps in memory.
const RANGE: u32 = 256;

/// How long a stream waits for room for its next part before it breaks off: a client that reads one of its streams after the other would wait without end.
pub(crate) const ROOM_WITHIN: Duration = Duration::from_secs(60);

/// Answers of everything of one user that are under way. A client that has gone from one may be known to have only when its first part is made.
pub(crate) const EVERYTHING_OF_USER: usize = 64;

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
    let place = app.everything.take_one(client.account(), usize::MAX, EVERYTHING_OF_USER);
    let place = place.map_err(|_| {
        let text =
            format!("the user has {EVERYTHING_OF_USER} answers of everything under way already: read those");
        Problem::new(Kind::TooMany, text)
    })?;
    let standing = app.storage.standing(client.account()).await?;
    let mut response = json(Bytes::new());
    let parts = parts(app, client.account(), standing);
    *response.body_mut() = Body::from_stream(parts.map(move |part| {
        let _place = &place;
        part
    }));
    Ok(response)
}

/// The answer's bytes, and then none however often it is asked: what packs them asks again. Where the storage fails in the middle, the
/// stream ends with an error, and so does the connection: what the client has is no JSON, and is not taken for everything.
///
/// Each part is made by a task: a client that takes nothing may leave the stream unasked in the middle of a part, which would keep a connection of
/// the storage meanwhile.
fn parts(app: Arc<App>, account: Account, standing: Standing) -> impl Stream<Item = Result<Bytes, Error>> {
    stream::unfold(Part::Begin, move |part| {
        let (app, standing) = (app.clone(), standing.clone());
        async move {
            let (begin, after) = match part {
                Part::Begin => (b"{\"changes\":[".to_vec(), 0),
                Part::After(revision) => (Vec::new(), revision),
                Part::Ended => return None,
            };
            let made = AbortOnDropHandle::new(tokio::spawn(made(app, account, standing, begin, after)));
            let made = made.await.unwrap_or_else(|error| {
                tracing::error!("a part of everything was not made: {error}");
                None
            });
            match made {
                Some((bytes, next)) => Some((Ok(bytes), next)),
                None => Some((Err(Error::other("a part could not be made")), Part::Ended)),
            }
        }
    })
    .fuse()
}

/// The part of the objects behind a revision, counted until it is read, and where to go on. None where it cannot be made.
async fn made(
    app: Arc<App>,
    account: Account,
    Standing { revision, history }: Standing,
    mut bytes: Vec<u8>,
    after: u64,
) -> Option<(Bytes, Part)> {
    let (versions, _place) = range(&app, account, after, revision).await?;
    let last = versions.last().map(|version| version.revision);
    for (place, version) in versions.into_iter().enumerate() {
        if after > 0 || place > 0 {
            bytes.push(b',');
        }
        serde_json::to_writer(&mut bytes, &Version::from(version)).expect("texts and numbers are JSON");
    }
    let next = last.map_or(Part::Ended, Part::After);
    if last.is_none() {
        write!(bytes, "],\"history\":\"{history}\",\"cursor\":{revision}}}").expect("memory takes it");
    }
    Some((app.unread.hold(account, bytes), next))
}

/// The objects behind a revision, with the place in which they were read. None where there is none for too long, or the storage failed.
async fn range(app: &App, account: Account, after: u64, to: u64) -> Option<(Vec<change::Version>, Place)> {
    let until = Instant::now() + ROOM_WITHIN;
    let mut pauses = Pauses::default();
    loop {
        let Ok(place) = Place::take(app, account, until).await else {
            tracing::info!("a stream of everything ended: there was no room for its next part");
            return None;
        };
        match app.storage.objects(account, after, to, RANGE).await {
            Ok(versions) => return Some((versions, place)),
            // Without its place: a storage that is busy says so at once.
            Err(storage::Error::Busy) if Instant::now() < until => {
                drop(place);
                pauses.pause().await;
            }
            Err(error) => {
                let _ = Problem::from(error);
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::place::PLACES;
    use super::*;
    use crate::change::{Change, Upload};
    use crate::identity::Open;
    use crate::limits::Limits;
    use crate::storage::Storage;
    use crate::storage::embedded::Embedded;
    use axum::response::IntoResponse;
    use futures_util::poll;
    use std::pin::pin;
    use tokio::task::yield_now;
    use tokio::time::timeout;
    use touchstone_store::Store;

    /// Found by an attacker: requests for everything that were given up at once, of which there was no limit, had connections and memory for a minute.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_user_has_so_many_answers_of_everything_at_a_time() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let store = Store::open(folder.path().join("sync.db")).expect("a store can be made");
        let storage: Arc<dyn Storage> = Arc::new(Embedded::to_serve(store).expect("it can be served"));
        let account = storage.user("ada").await.expect("a user can be made");
        let phone = storage.register(account, "phone").await.expect("a device can be registered");
        let identity = Arc::new(Open::of(Arc::clone(&storage)));
        let app = Arc::new(App::new(storage, identity, Limits::default()));
        let everything = || full(State(Arc::clone(&app)), Asking(phone));
        let mut answers = Vec::new();
        for _ in 0..EVERYTHING_OF_USER {
            answers.push(everything().await.expect("it is begun"));
        }
        assert!(everything().await.is_err_and(|problem| problem.into_response().status() == 429));
        answers.pop();
        everything().await.expect("one has been given up");
    }

    /// Found by an attacker: what packs an answer leaves it unasked while nobody takes what is packed, and a part that was begun kept a connection of
    /// the storage and a place of its user meanwhile.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_part_that_was_begun_is_made_though_nobody_asks_for_it() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let store = Store::open(folder.path().join("sync.db")).expect("a store can be made");
        let storage: Arc<dyn Storage> = Arc::new(Embedded::to_serve(store).expect("it can be served"));
        let account = storage.user("ada").await.expect("a user can be made");
        let phone = storage.register(account, "phone").await.expect("a device can be registered");
        let change = Change { id: "list".into(), data: Some("milk".into()), base: None, name: None };
        let upload = Upload { changes: vec![change], ..Upload::default() };
        storage.upload(phone, upload, None).await.expect("it is stored");
        let app = Arc::new(App::new(
            Arc::clone(&storage),
            Arc::new(Open::of(Arc::clone(&storage))),
            Limits::default(),
        ));
        let standing = storage.standing(account).await.expect("the user has one");
        let mut parts = pin!(parts(Arc::clone(&app), account, standing));
        let all = app.places_of_all.acquire_many(u32::try_from(PLACES).expect("they are few")).await;
        assert!(poll!(parts.next()).is_pending(), "there is no place for it");
        drop(all);
        let made = async {
            while app.unread.has_room(account, usize::MAX, 1)
                || app.places_of_all.available_permits() < PLACES
            {
                yield_now().await;
            }
        };
        timeout(Duration::from_secs(60), made).await.expect("the part is made, and its place given back");
        let mut rest = 0;
        while let Some(part) = parts.next().await {
            rest += part.expect("it is made").len();
        }
        assert!(rest > 0 && app.unread.has_room(account, usize::MAX, 1), "nothing of it is counted any more");
        assert!(parts.next().await.is_none());
    }
}
