//! Pages of other origins that may ask the service from a browser. Unless its owner says so, none may.
//!
//! Requests have a token in a header and no cookie, so a page that may ask has nothing to ask with before its user gives it a token.

use axum::Router;
use axum::http::{HeaderValue, Method, header};
use std::str::FromStr;
use std::time::Duration;
use tower_http::cors::{Any, CorsLayer};

/// How long a browser need not ask again whether it may ask.
const ALLOWED_FOR: Duration = Duration::from_secs(3600);

/// Where pages come from: `https://notes.example.org`, `null` for files of the browser's own machine, or `*` for anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(HeaderValue);

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Origin, String> {
        let host = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let is_origin =
            host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@', '*', ' ']));
        let value = HeaderValue::from_str(text).ok().filter(|_| is_origin || ["null", "*"].contains(&text));
        value.map(Origin).ok_or_else(|| {
            "an origin is a scheme, a host and maybe a port, without a path: `https://notes.example.org`; `null` is that of a \
             page which is opened as a file, and `*` stands for any"
                .into()
        })
    }
}

/// Lets pages of these origins ask.
pub fn allowing(router: Router, origins: &[Origin]) -> Router {
    if origins.is_empty() {
        return router;
    }
    let cors = CorsLayer::new()
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([header::AUTHORIZATION, header::CONTENT_TYPE, super::DEVICE])
        .expose_headers([header::RETRY_AFTER])
        .max_age(ALLOWED_FOR);
    router.layer(if origins.iter().any(|origin| origin.0 == "*") {
        cors.allow_origin(Any)
    } else {
        cors.allow_origin(origins.iter().map(|origin| origin.0.clone()).collect::<Vec<_>>())
    })
}
