//! Who asks, found out before a body is read: a stranger takes no room.

use super::App;
use crate::problem::Problem;
use crate::storage::{Client, Remembered};
use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use std::sync::Arc;

/// The device that asks, whose user may ask now. Its user stands in the request's extensions, for what reads the body.
pub(super) struct Asking(pub(super) Client);

impl FromRequestParts<Arc<App>> for Asking {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Asking, Problem> {
        let asking = async {
            let client = app.identity.client(&parts.headers).await?;
            app.admit(client)?;
            parts.extensions.insert(client.account());
            Ok(Asking(client))
        };
        asking.await.map_err(|problem: Problem| problem.before_body(&parts.headers))
    }
}

/// A device that asks for a page, and whose user may ask now.
pub(super) enum Downloading {
    /// The device was looked up.
    Known(Client),
    /// An earlier request with such headers was of this device: its right is found out together with its page.
    Remembered(Remembered, HeaderMap),
}

impl FromRequestParts<Arc<App>> for Downloading {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Downloading, Problem> {
        let Some(remembered) = app.identity.remembered(&parts.headers) else {
            let Asking(client) = Asking::from_request_parts(parts, app).await?;
            return Ok(Downloading::Known(client));
        };
        // Before the database has any work with it.
        app.allow(remembered.client().account())?;
        app.allow_answer(remembered.client().account())?;
        Ok(Downloading::Remembered(remembered, parts.headers.clone()))
    }
}

/// Whoever asks may send a body.
pub(super) struct Admitted;

impl FromRequestParts<Arc<App>> for Admitted {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Admitted, Problem> {
        let admitted = app.identity.admit(&parts.headers).await;
        admitted.map(|()| Admitted).map_err(|problem| problem.before_body(&parts.headers))
    }
}
