//! The service itself, in this process, behind what a network does to requests and answers.
#![allow(dead_code, reason = "each test program uses its own part of this")]

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http_body_util::BodyExt;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::future::pending;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use touchstone_store::Store;
use touchstone_sync::http::{App, allowing, router, surrounded};
use touchstone_sync::identity::Tokens;
use touchstone_sync::limits::Limits;
use touchstone_sync::storage::Storage;
use touchstone_sync::storage::embedded::Embedded;
use touchstone_sync::token::Token;
use touchstone_sync_client::{Options, Replica, Retry, Service};
use tower::ServiceExt;

/// How long a test waits for what has to come: a bound of its failure, and no measure.
pub const COMES_WITHIN: Duration = Duration::from_secs(60);

/// What a network does to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: it is answered.
    None,
    /// It never comes to the service.
    LosesRequest,
    /// The service has done it, and nobody is told.
    LosesAnswer,
    /// The service has done it, and the answer does not come until the client goes away.
    HoldsAnswer,
    /// Something before the service has too much to do.
    Busy,
}

/// A change that the service has stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub client: String,
    pub id: String,
    pub data: Option<String>,
    pub name: String,
    pub revision: u64,
}

/// The service that is asked now, and what is done to requests.
struct Front {
    now: RwLock<(App, Router)>,
    faults: Mutex<VecDeque<Fault>>,
    stored: Mutex<Vec<Stored>>,
    more_stored: Condvar,
    asked: Mutex<Vec<String>>,
}

impl Front {
    async fn answer(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let Ok(body) = body.collect().await else { return StatusCode::BAD_REQUEST.into_response() };
        let body = body.to_bytes();
        let path = format!("{} {}", parts.method, parts.uri.path());
        self.asked.lock().unwrap().push(path.clone());
        let fault = self.faults.lock().unwrap().pop_front().unwrap_or(Fault::None);
        match fault {
            Fault::LosesRequest => return broken(),
            Fault::Busy => return (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "0")]).into_response(),
            Fault::None | Fault::LosesAnswer | Fault::HoldsAnswer => {}
        }
        let headers = parts.headers.clone();
        let router = self.now.read().unwrap().1.clone();
        let answer = router.oneshot(Request::from_parts(parts, Body::from(body.clone()))).await;
        let mut answer = answer.unwrap_or_else(|never| match never {});
        if path == "POST /v1/sync/delta" && answer.status() == StatusCode::OK {
            let (parts, told) = answer.into_parts();
            let told = told.collect().await.expect("the service has answered").to_bytes();
            self.note(&headers, &body, &told);
            answer = Response::from_parts(parts, Body::from(told));
        }
        match fault {
            Fault::LosesAnswer => broken(),
            Fault::HoldsAnswer => pending().await,
            _ => answer,
        }
    }

    fn note(&self, headers: &HeaderMap, body: &Bytes, told: &Bytes) {
        let [body, told]: [Value; 2] =
            [body, told].map(|json| serde_json::from_slice(json).expect("it is JSON"));
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let changes = body["changes"].as_array().unwrap().iter();
        let stored = changes.zip(told["revisions"].as_array().unwrap()).map(|(change, revision)| Stored {
            client: headers["x-client"].to_str().unwrap().to_owned(),
            id: text(&change["id"]).unwrap(),
            data: text(&change["data"]),
            name: text(&change["change"]).unwrap(),
            revision: revision.as_u64().unwrap(),
        });
        self.stored.lock().unwrap().extend(stored);
        self.more_stored.notify_all();
    }
}

/// An answer whose connection ends in its midst.
fn broken() -> Response {
    let lost = stream::iter([Err::<Bytes, _>(std::io::Error::other("the network has lost it"))]);
    Response::builder().header("content-length", "100").body(Body::from_stream(lost)).expect("it is one")
}

/// A service, and what its owner does.
pub struct Hosted {
    front: Arc<Front>,
    runtime: Runtime,
    limits: Mutex<Limits>,
    storage: Mutex<Arc<Embedded>>,
    pub folder: TempDir,
    pub address: String,
    pub token: String,
}

impl Hosted {
    pub fn start() -> Hosted {
        Hosted::limited(Limits::default())
    }

    pub fn limited(limits: Limits) -> Hosted {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("service.db")).unwrap();
        let storage = runtime.block_on(async { Arc::new(Embedded::new(store).unwrap()) });
        let front = Arc::new(Front {
            now: RwLock::new(app(&storage, &limits)),
            faults: Mutex::default(),
            stored: Mutex::default(),
            more_stored: Condvar::new(),
            asked: Mutex::default(),
        });
        let token = runtime.block_on(token(&storage, "ada"));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::clone(&front);
        let paths = Router::new().fallback(move |request: Request| {
            let front = Arc::clone(&asked);
            async move { front.answer(request).await }
        });
        runtime.spawn(async move { axum::serve(listener, paths).await });
        Hosted {
            front,
            runtime,
            limits: Mutex::new(limits),
            storage: Mutex::new(storage),
            folder,
            address,
            token,
        }
    }

    fn serve(&self, store: Store) {
        let storage = self.runtime.block_on(async { Arc::new(Embedded::new(store).unwrap()) });
        *self.front.now.write().unwrap() = app(&storage, &self.limits.lock().unwrap());
        *self.storage.lock().unwrap() = storage;
    }

    /// A copy of the service's store.
    pub fn backup(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        self.storage.lock().unwrap().store().backup(&path).unwrap();
        path
    }

    /// Serves a backup from now on, as `touchstone-sync restore` makes it.
    pub fn restore(&self, backup: &Path) {
        let store = Store::open(backup).unwrap();
        Embedded::begin_histories(&store).unwrap();
        self.serve(store);
    }

    /// Serves an older state of the store from now on, of which nobody has said that it is one.
    pub fn go_back(&self, backup: &Path) {
        self.serve(Store::open(backup).unwrap());
    }

    /// Forgets every deletion and every name of a change.
    pub fn forget(&self) {
        let storage = Arc::clone(&self.storage.lock().unwrap());
        self.runtime.block_on(storage.forget(i64::MAX)).unwrap();
    }

    /// Another token, of any user.
    pub fn token_of(&self, user: &str) -> String {
        let storage = Arc::clone(&self.storage.lock().unwrap());
        self.runtime.block_on(token(&storage, user))
    }

    /// The devices of a user, by name.
    pub fn devices(&self, user: &str) -> Vec<String> {
        let storage = Arc::clone(&self.storage.lock().unwrap());
        self.runtime.block_on(async {
            let account = storage.user(user).await.unwrap();
            storage.devices(account).await.unwrap().into_iter().map(|known| known.name).collect()
        })
    }

    /// Makes a device of a user known, as another program may have done before.
    pub fn register(&self, user: &str, device: &str) {
        let storage = Arc::clone(&self.storage.lock().unwrap());
        self.runtime.block_on(async {
            let account = storage.user(user).await.unwrap();
            storage.register(account, device).await.unwrap();
        });
    }

    /// Makes every token unknown.
    pub fn revoke(&self) {
        let storage = Arc::clone(&self.storage.lock().unwrap());
        self.runtime.block_on(async {
            for token in storage.tokens(None).await.unwrap() {
                storage.revoke(&token.name).await.unwrap();
            }
        });
    }

    /// Takes other limits from now on.
    pub fn limit(&self, limits: Limits) {
        *self.limits.lock().unwrap() = limits;
        self.end_streams();
    }

    /// Ends the streams that are open, as a service does that is started anew.
    pub fn end_streams(&self) {
        let storage = Arc::clone(&self.storage.lock().unwrap());
        let mut now = self.front.now.write().unwrap();
        now.0.end();
        *now = app(&storage, &self.limits.lock().unwrap());
    }

    /// What is done to the next requests, and to no others.
    pub fn faults(&self, faults: &[Fault]) {
        *self.front.faults.lock().unwrap() = faults.iter().copied().collect();
    }

    /// What was stored, in the order of its revisions.
    pub fn stored(&self) -> Vec<Stored> {
        let mut stored = self.front.stored.lock().unwrap().clone();
        stored.sort_by_key(|stored| stored.revision);
        stored
    }

    /// Waits until so many changes were stored, or stored again.
    pub fn wait_stored(&self, count: usize) {
        let stored = self.front.stored.lock().unwrap();
        let waited =
            self.front.more_stored.wait_timeout_while(stored, COMES_WITHIN, |stored| stored.len() < count);
        assert!(!waited.unwrap().1.timed_out(), "{count} changes are stored in time");
    }

    /// What was asked so far.
    pub fn asked(&self) -> Vec<String> {
        self.front.asked.lock().unwrap().clone()
    }

    pub fn service(&self) -> Service {
        Service::new(&self.address, &self.token)
    }

    /// How a test opens copies: a service that is away is asked once.
    pub fn options(&self) -> Options {
        Options::new(self.service()).retry(quick(1))
    }

    /// A copy of its own file.
    pub fn copy(&self, name: &str) -> Replica {
        self.options().device(name).open(self.path(name)).unwrap()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.db"))
    }
}

/// A new token of a user, who is made where there is none.
async fn token(storage: &Embedded, user: &str) -> String {
    let token = Token::make().unwrap();
    let account = storage.user(user).await.unwrap();
    storage.keep_token(account, &token.hash(), 0, None).await.unwrap();
    token.reveal().to_owned()
}

fn app(storage: &Arc<Embedded>, limits: &Limits) -> (App, Router) {
    let storage: Arc<dyn Storage> = Arc::clone(storage) as _;
    let app = App::new(Arc::clone(&storage), Arc::new(Tokens::of(storage)), limits.clone());
    // The example's page is opened as a file.
    let origins = ["null".parse().expect("that is one")];
    (app.clone(), allowing(surrounded(router(app), limits.body_bytes), &origins))
}

/// A patience that no test has to wait for.
pub fn quick(attempts: u32) -> Retry {
    let mut retry = Retry::default();
    (retry.least, retry.most, retry.attempts) =
        (Duration::from_millis(1), Duration::from_millis(4), attempts);
    retry
}

/// Objects and their data.
pub fn shown(replica: &Replica) -> BTreeMap<String, String> {
    replica.list().unwrap().into_iter().map(|item| (item.id, item.data.unwrap_or_default())).collect()
}

/// What a copy is expected to show.
pub fn texts<const N: usize>(texts: [(&str, &str); N]) -> BTreeMap<String, String> {
    texts.into_iter().map(|(id, data)| (id.to_owned(), data.to_owned())).collect()
}
