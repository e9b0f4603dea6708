//! `GET /`: a page for a user, in any browser, which shows what `/v1/devices` says. It has nothing of anybody's in it.

use super::App;
use axum::Router;
use axum::http::header;
use axum::routing::get;
use std::sync::Arc;

/// The files of the page: path, type and contents.
const FILES: [(&str, &str, &str); 4] = [
    ("/", "text/html; charset=utf-8", include_str!("page/page.html")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("page/page.js")),
    ("/page.css", "text/css; charset=utf-8", include_str!("page/page.css")),
    ("/icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
];

/// The page's paths.
pub(super) fn files() -> Router<Arc<App>> {
    FILES.into_iter().fold(Router::new(), |router, (path, kind, contents)| {
        router.route(path, get(move || async move { ([(header::CONTENT_TYPE, kind)], contents) }))
    })
}
