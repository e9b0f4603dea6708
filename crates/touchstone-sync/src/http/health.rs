//! `GET /health/live` and `GET /health/ready`: for whoever starts and restarts the service.

use super::App;
use crate::problem::{Kind, Problem};
use axum::extract::State;
use std::sync::Arc;

/// The process answers.
#[cfg_attr(
    feature = "openapi",
    utoipa::path(
        get,
        path = "/health/live",
        security(()),
        responses((status = 200, description = "It answers", body = String, content_type = "text/plain"))
    )
)]
pub(super) async fn alive() -> &'static str {
    "alive\n"
}

/// The storage can be read and written, and the service is not about to end.
#[cfg_attr(
    feature = "openapi",
    utoipa::path(
        get,
        path = "/health/ready",
        security(()),
        responses(
            (status = 200, description = "It takes requests", body = String, content_type = "text/plain"),
            (status = "5XX", description = "Why it takes none", body = Problem, content_type = "application/problem+json"),
        )
    )
)]
pub(super) async fn ready(State(app): State<Arc<App>>) -> Result<&'static str, Problem> {
    if app.ending.is_cancelled() {
        return Err(Problem::new(Kind::Busy, "the service is about to end"));
    }
    app.storage.check().await?;
    Ok("ready\n")
}
