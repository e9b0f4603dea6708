//! `GET /v1/sync/watch`: server-sent events that say when there is something to download.

use super::App;
use super::asking::Asking;
use super::streams::{Full, Permit};
use crate::identity::Identity;
use crate::limits::Limits;
use crate::presence::Streaming;
use crate::problem::{Kind, Problem};
use crate::storage::{Client, Watch};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, stream};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

/// How often a stream without news says that it is there, so that nobody between closes it.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

/// How often a stream asks whether its token is valid yet: it goes on for no longer after the token has ended.
const ADMITTED_EVERY: Duration = Duration::from_secs(15);

/// A stream, and what ends with it.
struct Watching {
    watch: Watch,
    ending: CancellationToken,
    is_first: bool,
    identity: Arc<dyn Identity>,
    /// Who asks, as the request said it.
    who: HeaderMap,
    client: Client,
    admitted: Interval,
    _streaming: Streaming,
    _permit: Permit,
}

/// A stream of events `changes`, each with the user's last revision: one at once, and one whenever it has risen. Several changes may be
/// one event. Where the stream ends, ask again and download. It ends within 15 seconds after its token.
#[utoipa::path(
    get,
    path = "/v1/sync/watch",
    params(("x-client" = String, Header, description = "The device")),
    responses(
        (status = 200, description = "`event: changes` with `data: {\"cursor\":7}`", body = String, content_type = "text/event-stream"),
        (status = "4XX", description = "What is wrong with the request", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "Why it cannot be done now", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn watch(
    State(app): State<App>,
    Asking(client): Asking,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let limits = &app.limits;
    let permit = app.streams.open(client.account(), limits.streams, limits.user_streams);
    let permit = permit.map_err(|full| refused(&full, limits))?;
    let watch = app.storage.watch(client.account()).await?;
    let streaming = app.presence.streams(client);
    let watching = Watching {
        watch,
        ending: app.ending,
        is_first: true,
        who: app.identity.kept(&headers),
        identity: app.identity,
        client,
        admitted: admitted(),
        _streaming: streaming,
        _permit: permit,
    };
    Ok(Sse::new(stream::unfold(watching, next)).keep_alive(KeepAlive::new().interval(ALIVE_EVERY)))
}

fn refused(full: &Full, limits: &Limits) -> Problem {
    let most = limits.streams;
    let of_user = limits.user_streams;
    match full {
        Full::All => Problem::new(
            Kind::Busy,
            format!("there are {most} open streams already, as many as are allowed: ask again later"),
        ),
        Full::OfUser => Problem::new(
            Kind::TooMany,
            format!(
                "the user has {of_user} open streams already, as many as are allowed: close some, or ask again later"
            ),
        ),
    }
}

/// When a stream asks again: never twice at once to make up for what was late.
fn admitted() -> Interval {
    let mut admitted = interval_at(Instant::now() + ADMITTED_EVERY, ADMITTED_EVERY);
    admitted.set_missed_tick_behavior(MissedTickBehavior::Delay);
    admitted
}

impl Watching {
    /// Waits until the last revision has risen; none where the stream ends.
    async fn risen(&mut self) -> Option<()> {
        loop {
            tokio::select! {
                changed = self.watch.revisions.changed() => return changed.ok(),
                () = self.ending.cancelled() => return None,
                _ = self.admitted.tick() => {}
            }
            if !self.is_admitted().await {
                return None;
            }
        }
    }

    /// Whether the request would be answered now as it was. Where nobody can say, as while the storage is away, it is.
    async fn is_admitted(&self) -> bool {
        match self.identity.client(&self.who).await {
            Ok(client) => client == self.client,
            Err(problem) => !problem.is_of_who_asks(),
        }
    }
}

async fn next(mut watching: Watching) -> Option<(Result<Event, Infallible>, Watching)> {
    if !watching.is_first {
        watching.risen().await?;
    }
    watching.is_first = false;
    let revision = *watching.watch.revisions.borrow_and_update();
    let event = Event::default().event("changes").data(format!("{{\"cursor\":{revision}}}"));
    Some((Ok(event), watching))
}
