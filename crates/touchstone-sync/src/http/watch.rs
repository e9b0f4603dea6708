//! `GET /v1/sync/watch`: server-sent events that say when there is something to download.

use super::App;
use super::asking::Asking;
use crate::connection::{Leaving, Socket};
use crate::identity::Identity;
use crate::limits::Limits;
use crate::presence::Streaming;
use crate::problem::{Kind, Problem};
use crate::shares::{Full, Share};
use crate::storage::{Client, Watch};
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Version, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How often a stream says that it is there, so that nobody between closes it, and asks whether its token is valid yet: it goes on for no
/// longer after the token has ended.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

/// Bytes that a client may send behind its request.
pub(crate) const UNASKED_MAX: usize = 64 << 10;

/// How soon a stream is tried once more whose client has closed its side of the connection.
const TRIED_AFTER: Duration = Duration::from_secs(1);

/// What a stream says that has no news.
const ALIVE: Bytes = Bytes::from_static(b":\n\n");

/// A stream, and what ends with it.
struct Watching {
    watch: Watch,
    ending: CancellationToken,
    identity: Arc<dyn Identity>,
    /// Who asks, as the request said it.
    who: HeaderMap,
    client: Client,
    alive: Interval,
    _streaming: Streaming,
    _place: Share,
}

/// An event of a stream, by its fields: tools that read the document check each event with it.
#[cfg(feature = "openapi")]
#[derive(utoipa::ToSchema)]
#[schema(as = Event)]
#[expect(dead_code, reason = "it describes what is sent as bytes")]
struct Described {
    /// `changes`
    event: String,
    /// JSON, such as `{"cursor":7}`
    data: String,
}

/// A stream of events `changes`, each with the user's last revision: one at once, and one whenever it has risen. Several changes may be
/// one event. Where the stream ends, ask again and download. It ends within 15 seconds after its token.
#[cfg_attr(
    feature = "openapi",
    utoipa::path(
        get,
        path = "/v1/sync/watch",
        params(("x-client" = String, Header, description = "The device")),
        responses(
            (status = 200, description = "`event: changes` with `data: {\"cursor\":7}`", body = Described, content_type = "text/event-stream"),
            (status = "4XX", description = "What is wrong with the request", body = Problem, content_type = "application/problem+json"),
            (status = "5XX", description = "Why it cannot be done now", body = Problem, content_type = "application/problem+json"),
        )
    )
)]
pub(super) async fn watch(
    State(app): State<Arc<App>>,
    Asking(client): Asking,
    version: Version,
    leaving: Option<Extension<Leaving>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let limits = &app.limits;
    let place = app.streams.take_one(client.account(), limits.streams, limits.user_streams);
    let place = place.map_err(|full| refused(&full, limits))?;
    let watch = app.storage.watch(client.account()).await?;
    let streaming = app.presence.streams(client);
    let watching = Watching {
        watch,
        ending: app.ending.clone(),
        who: app.identity.kept(&headers),
        identity: Arc::clone(&app.identity),
        client,
        alive: alive(),
        _streaming: streaming,
        _place: place,
    };
    let kind = [(header::CONTENT_TYPE, "text/event-stream")];
    Ok(match leaving {
        Some(Extension(leaving)) if version == Version::HTTP_11 => {
            let body = Body::from_stream(leave(leaving, watching, app.streaming.clone()));
            (kind, [(header::CONNECTION, "close")], body).into_response()
        }
        _ => (kind, Body::from_stream(stay(watching))).into_response(),
    })
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

/// Never twice at once to make up for what was late.
fn alive() -> Interval {
    let mut alive = interval_at(Instant::now() + ALIVE_EVERY, ALIVE_EVERY);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    alive
}

impl Watching {
    /// The event of the user's last revision.
    fn event(&mut self) -> Bytes {
        let revision = *self.watch.revisions.borrow_and_update();
        format!("event: changes\ndata: {{\"cursor\":{revision}}}\n\n").into()
    }

    /// What is sent next, when there is something; none where the stream ends.
    async fn next(&mut self) -> Option<Bytes> {
        tokio::select! {
            risen = self.watch.revisions.changed() => risen.ok().map(|()| self.event()),
            () = self.ending.cancelled() => None,
            _ = self.alive.tick() => tokio::select! {
                is_admitted = self.is_admitted() => is_admitted.then_some(ALIVE),
                () = self.ending.cancelled() => None,
            },
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

/// A stream in the connection of its request.
fn stay(mut watching: Watching) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let first = watching.event();
    let rest =
        stream::unfold(watching, |mut watching| async move { Some((watching.next().await?, watching)) });
    stream::iter([first]).chain(rest).map(Ok)
}

/// A stream whose connection leaves HTTP's machinery with the first event.
fn leave(
    leaving: Leaving,
    mut watching: Watching,
    streaming: TaskTracker,
) -> impl Stream<Item = Result<Bytes, HasLeft>> {
    let first = watching.event();
    let mut beginning = Some((first, watching));
    stream::poll_fn(move |_| match beginning.take() {
        Some((first, watching)) => {
            streaming.spawn(go_on(leaving.ask(), watching));
            Poll::Ready(Some(Ok(first)))
        }
        None if leaving.has_left() => Poll::Ready(Some(Err(HasLeft))),
        None => Poll::Pending,
    })
}

/// Ends what HTTP's machinery has of a connection.
#[derive(Debug)]
struct HasLeft;

impl fmt::Display for HasLeft {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the connection has left")
    }
}

impl Error for HasLeft {}

/// Goes on with a stream, chunk by chunk, until it ends or its client has gone.
///
/// A client that closes its side of the connection may wait for events all the same, and one that has gone has closed it too. So something is sent to
/// it at once: where nobody is there any more the system says so, and what is sent next fails.
async fn go_on(socket: oneshot::Receiver<Socket>, mut watching: Watching) {
    let Ok(mut socket) = socket.await else { return };
    let (mut unasked, mut is_open) = (0, true);
    loop {
        let next = tokio::select! {
            next = watching.next() => next,
            may_be_there = closed(&mut socket, &mut unasked), if is_open => {
                if !may_be_there {
                    return;
                }
                is_open = false;
                watching.alive.reset_after(TRIED_AFTER);
                Some(ALIVE)
            }
        };
        let Some(sent) = next else { break };
        if socket.write_all(&chunk(&sent)).await.is_err() {
            return;
        }
    }
    // Its client may be there yet, and is told that this is the end.
    let _ = socket.write_all(b"0\r\n\r\n").await;
    let _ = socket.shutdown().await;
}

/// A chunk of HTTP/1.1.
fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// Waits until the client closes its side of the connection, and says whether it may be there yet. What it sends meanwhile asks for nothing, and
/// nobody answers it: one that sends more than the rest of a request is let go.
async fn closed(socket: &mut Socket, unasked: &mut usize) -> bool {
    let mut unread = [0; 64];
    while *unasked <= UNASKED_MAX {
        match socket.read(&mut unread).await {
            Ok(0) => return true,
            Ok(bytes) => *unasked += bytes,
            Err(_) => return false,
        }
    }
    false
}
