//! The service over HTTP: its paths, and what surrounds them. Each path is a file.

mod answer;
mod asking;
pub(crate) mod body;
mod devices;
mod download;
mod full;
mod health;
mod integer;
mod object;
mod origins;
mod page;
mod register;
mod surroundings;
mod upload;
pub(crate) mod watch;

pub use answer::Version;
pub use origins::{Origin, allowing};
pub(crate) use register::check_name;
pub use surroundings::surrounded;

use crate::identity::Identity;
use crate::limits::Limits;
use crate::presence::Presence;
use crate::problem::{Kind, Problem};
use crate::shares::Shares;
use crate::storage::{Account, Client, Storage};
use axum::Router;
use axum::http::{HeaderName, Method, Uri};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The header that names the device, of a browser's question whether it may be sent.
const DEVICE: HeaderName = HeaderName::from_static(crate::identity::DEVICE);

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

#[derive(OpenApi)]
#[openapi(
    info(
        title = "touchstone-sync",
        description = "Devices of one user upload changes of objects, and download those of the user's other devices.",
        license(name = "MIT OR Apache-2.0")
    ),
    modifiers(&Bearer),
    security(("token" = []))
)]
struct Document;

/// How a request says who asks.
struct Bearer;

impl utoipa::Modify for Bearer {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        components.add_security_scheme("token", scheme);
    }
}

impl App {
    /// The service over a storage.
    pub fn new(storage: Arc<dyn Storage>, identity: Arc<dyn Identity>, limits: Limits) -> App {
        let room = Arc::new(Semaphore::new(limits.room_bytes));
        let rates = limits.user_rate.map(|rate| Arc::new(RateLimiter::keyed(Quota::per_second(rate))));
        let (streams, unread, bodies) = (Shares::default(), Shares::default(), Shares::default());
        let (ending, streaming) = (CancellationToken::new(), TaskTracker::new());
        App {
            storage,
            identity,
            limits,
            streams,
            unread,
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
        let detail = "the answers that nobody has read yet take all the room that there is: read those, or ask again later";
        Err(Problem::new(Kind::Busy, detail))
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

fn described() -> OpenApiRouter<Arc<App>> {
    let mut router = OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(register::register))
        .routes(routes!(upload::upload, download::download))
        .routes(routes!(full::full))
        .routes(routes!(watch::watch))
        .routes(routes!(devices::devices))
        .routes(routes!(health::alive))
        .routes(routes!(health::ready));
    upload::describe(router.get_openapi_mut());
    router
}

/// The OpenAPI document, made from the code.
pub fn openapi() -> utoipa::openapi::OpenApi {
    described().split_for_parts().1
}

/// Every path of the service.
pub fn router(app: App) -> Router {
    let (router, document) = described().split_for_parts();
    let document = axum::Json(document);
    let router =
        router.route("/v1/openapi.json", axum::routing::get(move || async move { document.clone() }));
    router
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
