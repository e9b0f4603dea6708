//! What surrounds every path: request ids, a line of the log, metrics, headers that keep answers where they belong, and packing.

#[cfg(feature = "compression")]
use super::packing;
use super::rest;
use crate::problem::{Kind, Problem};
use crate::prometheus;
use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http_body_util::Limited;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::Instant;
use tokio::task_local;
#[cfg(not(feature = "compression"))]
use tower::layer::util::Identity;
use tower::util::MapResponseLayer;
use tower_http::request_id::{MakeRequestId, PropagateRequestIdLayer, RequestId, SetRequestIdLayer};

/// Names the request in the log and in the answer, for whoever looks for it in both.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

task_local! {
    /// The id of the request that a task answers.
    static UNDER_ID: String;
}

/// The id of the request that is answered, to name it in the log; an empty text outside of any.
pub(crate) fn request_id() -> String {
    UNDER_ID.try_with(String::clone).unwrap_or_default()
}

/// Headers of every answer: nobody keeps it, nobody guesses its type, and no page shows it in a frame.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
];

/// Surrounds the paths of a router. What is packed has at most `body_bytes` bytes, as what is not: the limit of unpacked bytes bounds no body that
/// unpacks to nothing, and unpacking takes time for each of its parts.
///
/// The layers, the outermost first, are one to the router: it boxes each layer that it is given, and clones all of them for each one.
pub fn surrounded(router: Router, body_bytes: usize) -> Router {
    #[cfg(feature = "compression")]
    let (unpacking, packing) = (packing::unpacking(), packing::packing());
    #[cfg(not(feature = "compression"))]
    let (unpacking, packing) = (Identity::new(), Identity::new());
    router.layer((
        SetRequestIdLayer::new(REQUEST_ID, RandomId),
        PropagateRequestIdLayer::new(REQUEST_ID),
        MapResponseLayer::new(with_headers),
        from_fn(move |request, next: Next| {
            rest::taken(request, 2 * body_bytes, move |request| measured(bounded(request, body_bytes), next))
        }),
        unpacking,
        packing,
    ))
}

/// Gives each request a UUID of random numbers, which nobody has to be unable to guess.
#[derive(Clone, Copy)]
struct RandomId;

impl MakeRequestId for RandomId {
    fn make_request_id<B>(&mut self, _: &Request<B>) -> Option<RequestId> {
        let random = fastrand::u128(..).to_ne_bytes();
        let id = uuid::Builder::from_random_bytes(random).into_uuid().to_string();
        HeaderValue::try_from(id).ok().map(RequestId::new)
    }
}

/// Adds those of [`HEADERS`] that a path has not set itself.
fn with_headers<B>(mut response: Response<B>) -> Response<B> {
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// A request that is not answered yet. One whose client goes away ends too, as soon as that is known.
struct UnderWay;

impl UnderWay {
    fn begin() -> UnderWay {
        prometheus::under_way(1.0);
        UnderWay
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        prometheus::under_way(-1.0);
    }
}

/// What is answered where the code of a path has panicked: the mistake is the service's, and goes to the log.
fn panicked(what: Box<dyn Any + Send>) -> Response {
    let words =
        what.downcast_ref::<String>().map(String::as_str).or_else(|| what.downcast_ref::<&str>().copied());
    tracing::error!(request = request_id(), "a request panicked: {}", words.unwrap_or("without words"));
    Problem::new(Kind::Failed, "the service made a mistake; its log says which").into_response()
}

/// A request whose packed body breaks off behind so many bytes. The name of its packing is in small letters, as what unpacks it wants it: for HTTP all
/// are the same.
fn bounded(mut request: Request, body_bytes: usize) -> Request {
    let Some(packing) = request.headers_mut().get_mut(header::CONTENT_ENCODING) else { return request };
    if let Ok(small) = HeaderValue::from_bytes(&packing.as_bytes().to_ascii_lowercase()) {
        *packing = small;
    }
    request.map(|body| Body::new(Limited::new(body, body_bytes)))
}

/// Counts the request, and writes its line.
async fn measured(request: Request, next: Next) -> Response {
    let began = Instant::now();
    // The path as the router has it: what a client makes up becomes no row of the metrics.
    let path = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let method = match request.method().as_str() {
        known @ ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS") => known,
        _ => "other",
    };
    let method = method.to_owned();
    let id = request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned();
    let under_way = UnderWay::begin();
    let answered = UNDER_ID.scope(id.clone(), AssertUnwindSafe(next.run(request)).catch_unwind()).await;
    let response = answered.unwrap_or_else(panicked);
    drop(under_way);
    let (took, status) = (began.elapsed(), response.status());
    prometheus::answered([("method", &method), ("path", &path), ("status", status.as_str())], took);
    let (micros, status) = (u64::try_from(took.as_micros()).unwrap_or(u64::MAX), status.as_u16());
    if status >= 500 {
        tracing::warn!(request = id, method, path, status, micros, "answered");
    } else {
        tracing::debug!(request = id, method, path, status, micros, "answered");
    }
    response
}

#[cfg(test)]
mod tests {
    use super::{REQUEST_ID, surrounded};
    use axum::Router;
    use axum::body::Body;
    use axum::http::{Request, StatusCode, header};
    use axum::routing::get;
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    async fn panics() -> StatusCode {
        panic!("of the inside")
    }

    /// A request that panics is answered as any other: its client sees a problem with the request's id, and nothing of the mistake.
    #[tokio::test]
    async fn a_request_that_panics_is_answered() {
        let router = surrounded(Router::new().route("/panics", get(panics)), 1_000);
        let request = Request::get("/panics").body(Body::empty()).expect("it is a request");
        let answer = router.oneshot(request).await.expect("a router always answers");
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(answer.headers().contains_key(REQUEST_ID));
        assert_eq!(answer.headers()[header::CONTENT_TYPE], "application/problem+json");
        assert_eq!(answer.headers()[header::CACHE_CONTROL], "no-store");
        let body = answer.into_body().collect().await.expect("the body is whole").to_bytes();
        let body = std::str::from_utf8(&body).expect("it is JSON");
        assert!(body.contains("its log says which") && !body.contains("of the inside"), "{body}");
    }

    /// Found by an attacker: it was refused, and told to be sent as `gzip`.
    #[cfg(feature = "compression")]
    #[tokio::test]
    async fn the_name_of_a_packing_may_have_capital_letters() {
        let packed: [u8; 22] =
            [31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 174, 5, 0, 67, 191, 166, 163, 2, 0, 0, 0];
        let router = surrounded(Router::new().route("/", get(async |body: String| body)), 1_000);
        let request = Request::get("/").header(header::CONTENT_ENCODING, "GZip");
        let request = request.body(Body::from(packed.to_vec())).expect("it is a request");
        let answer = router.oneshot(request).await.expect("a router always answers");
        let body = answer.into_body().collect().await.expect("the body is whole").to_bytes();
        assert_eq!(body, "{}");
    }
}
