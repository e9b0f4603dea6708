//! Who asks, found out before a body is read: a stranger takes no room.

use super::App;
use crate::problem::Problem;
use crate::storage::Client;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;

/// The device that asks, whose user may ask now. Its user stands in the request's extensions, for what reads the body.
pub(super) struct Asking(pub(super) Client);

impl FromRequestParts<App> for Asking {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Asking, Problem> {
        let asking = async {
            let client = app.identity.client(&parts.headers).await?;
            app.allow(client.account())?;
            app.allow_answer(client.account())?;
            app.presence.asks(client);
            parts.extensions.insert(client.account());
            Ok(Asking(client))
        };
        asking.await.map_err(|problem: Problem| problem.before_body(&parts.headers))
    }
}

/// Whoever asks may send a body.
pub(super) struct Admitted;

impl FromRequestParts<App> for Admitted {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Admitted, Problem> {
        let admitted = app.identity.admit(&parts.headers).await;
        admitted.map(|()| Admitted).map_err(|problem| problem.before_body(&parts.headers))
    }
}
