//! The service over HTTP: its paths, and what surrounds them. Each path is a file.

mod answer;
mod asking;
pub(crate) mod body;
mod devices;
mod document;
mod download;
pub(crate) mod full;
mod health;
mod integer;
mod object;
mod origins;
#[cfg(feature = "compression")]
mod packing;
mod page;
mod place;
mod register;
pub(crate) mod rest;
mod surroundings;
mod upload;
pub(crate) mod watch;

pub use answer::Version;
pub use document::OPENAPI;
#[cfg(feature = "openapi")]
pub use document::made as openapi;
pub use origins::{Origin, allowing};
pub(crate) use register::check_name;
pub(crate) use surroundings::request_id;
pub use surroundings::surrounded;

use crate::identity::Identity;
use crate::limits::Limits;
use crate::presence::Presence;
use crate::problem::{Kind, Problem};
use crate::shares::{AnswerRoom, Shares};
use crate::storage::{Account, Client, Storage};
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderName, Method, Uri};
use axum::routing::{get, post};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The header that names the device, of a browser's question whether it may be sent.
const DEVICE: HeaderName = HeaderName::from_static(crate::identity::DEVICE);

/// What a user is told whose answers take all the room.
pub(crate) const UNREAD: &str =
    "the answers that nobody has read yet take all the room that there is: read those, or ask again later";

/// What every path has at hand.
#[derive(Clone)]
pub struct App {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) identity: Arc<dyn Identity>,
    pub(crate) limits: Limits,
    /// Streams of `watch` that are open.
    pub(crate) streams: Shares,
    /// Answers that are not read yet.
    pub(crate) unread: Shares,
    /// Answers of everything that are under way.
    pub(crate) everything: Shares,
    /// Places of what is read for long answers, of each user and of all.
    pub(crate) places: Shares,
    pub(crate) places_of_all: Arc<Semaphore>,
    /// Bodies that are under way.
    pub(crate) bodies: Shares,
    /// Bytes of bodies that may still be under way.
    pub(crate) room: Arc<Semaphore>,
    /// Requests that users may still send; none where there is no limit.
    pub(crate) rates: Option<Arc<DefaultKeyedRateLimiter<Account>>>,
    /// Which devices have asked lately.
    pub(crate) presence: Arc<Presence>,
    /// Whose pages may ask from a browser.
    pub(crate) origins: Vec<Origin>,
    /// Ends the streams when the service is to end.
    pub(crate) ending: CancellationToken,
    /// The streams that have left their connections.
    pub(crate) streaming: TaskTracker,
}

impl App {
    /// The service over a storage.
    pub fn new(storage: Arc<dyn Storage>, identity: Arc<dyn Identity>, limits: Limits) -> App {
        let room = Arc::new(Semaphore::new(limits.room_bytes));
        let rates = limits.user_rate.map(|rate| Arc::new(RateLimiter::keyed(Quota::per_second(rate))));
        let [streams, unread, everything, places, bodies] = std::array::from_fn(|_| Shares::default());
        let (ending, streaming) = (CancellationToken::new(), TaskTracker::new());
        App {
            storage,
            identity,
            limits,
            streams,
            unread,
            everything,
            places,
            places_of_all: Arc::new(Semaphore::new(place::PLACES)),
            bodies,
            room,
            rates,
            presence: Arc::default(),
            origins: Vec::new(),
            ending,
            streaming,
        }
    }

    /// Lets pages of these origins ask from a browser.
    #[must_use]
    pub fn allowing(self, origins: Vec<Origin>) -> App {
        App { origins, ..self }
    }

    /// Ends what has no end of its own. Requests that are under way are answered.
    pub fn end(&self) {
        self.ending.cancel();
    }

    /// Waits until [`end`](App::end) is called.
    pub async fn ended(&self) {
        self.ending.cancelled().await;
    }

    /// Forgets how often users have asked that ask no more.
    pub(crate) fn trim(&self) {
        if let Some(rates) = &self.rates {
            rates.retain_recent();
            rates.shrink_to_fit();
        }
    }

    /// Notes that a device asks, unless its user may not ask now.
    fn admit(&self, client: Client) -> Result<(), Problem> {
        self.allow(client.account())?;
        self.allow_answer(client.account())?;
        self.presence.asks(client);
        Ok(())
    }

    /// Refuses a user whose answers wait to be read, and others where those of all users are too many.
    fn allow_answer(&self, account: Account) -> Result<(), Problem> {
        let Limits { unread_bytes, user_unread_bytes, .. } = self.limits;
        if self.unread.has_room(account, unread_bytes, user_unread_bytes) {
            return Ok(());
        }
        Err(Problem::new(Kind::Busy, UNREAD))
    }

    /// Counts an answer as a user's until it is read; none where those that wait to be read take all the room by now.
    fn hold(&self, account: Account, bytes: Vec<u8>) -> Option<Bytes> {
        let Limits { unread_bytes, user_unread_bytes, .. } = self.limits;
        let share = self.unread.take_where_room(account, bytes.len(), unread_bytes, user_unread_bytes);
        share.map(|share| share.of(bytes))
    }

    /// Room for what the answer to an upload of a user gives back.
    fn room_of_answer(&self, account: Account) -> AnswerRoom {
        let Limits { unread_bytes, user_unread_bytes, .. } = self.limits;
        AnswerRoom::of(self.unread.clone(), account, unread_bytes, user_unread_bytes)
    }

    /// Refuses a user whose devices ask too often.
    fn allow(&self, account: Account) -> Result<(), Problem> {
        match &self.rates {
            Some(rates) if rates.check_key(&account).is_err() => Err(Problem::new(
                Kind::TooMany,
                "the user's devices ask more often than is allowed: ask again later, and for more at a time",
            )),
            _ => Ok(()),
        }
    }
}

/// Every path of the service. The OpenAPI document has those of its interface.
pub fn router(app: App) -> Router {
    Router::new()
        .route("/v1/clients", post(register::register))
        .route("/v1/sync/delta", post(upload::upload).get(download::download))
        .route("/v1/sync/full", get(full::full))
        .route("/v1/sync/watch", get(watch::watch))
        .route("/v1/devices", get(devices::devices))
        .route("/health/live", get(health::alive))
        .route("/health/ready", get(health::ready))
        .route("/v1/openapi.json", get(async || answer::json(OPENAPI)))
        .merge(page::files())
        .fallback(no_path)
        .method_not_allowed_fallback(no_method)
        .with_state(Arc::new(app))
}

async fn no_path(uri: Uri) -> Problem {
    Problem::new(
        Kind::NotFound,
        format!("there is no path `{}`; /v1/openapi.json has all of them", uri.path()),
    )
}

async fn no_method(method: Method, uri: Uri) -> Problem {
    Problem::new(
        Kind::Method,
        format!("`{}` has no method {method}; /v1/openapi.json has its methods", uri.path()),
    )
}
