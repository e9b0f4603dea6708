//! Who asks, found out before a body is read: a stranger takes no room. A device that is remembered is believed until its body is there.

use super::App;
use crate::problem::Problem;
use crate::storage::{Account, Client, Remembered};
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

/// A device that asks, and whose user may ask now.
pub(super) enum Asker {
    /// The device was looked up.
    Known(Client),
    /// An earlier request with such headers was of this device: its right is found out together with what it asks for.
    Remembered(Unchecked),
}

/// A device that is remembered and whose right is not found out yet. If its client goes away while its body comes, or the storage cannot say now, the
/// device is forgotten, and its token doubted: so one that has lost its right may begin bodies until the first of them has ended, and not again.
pub(super) struct Unchecked {
    remembered: Remembered,
    headers: HeaderMap,
    app: Arc<App>,
    is_checked: bool,
}

impl FromRequestParts<Arc<App>> for Asker {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Asker, Problem> {
        let Some(remembered) = app.identity.remembered(&parts.headers) else {
            let Asking(client) = Asking::from_request_parts(parts, app).await?;
            return Ok(Asker::Known(client));
        };
        // Before the database has any work with it.
        let account = remembered.client().account();
        let may_ask = app.allow(account).and_then(|()| app.allow_answer(account));
        may_ask.map_err(|problem| problem.before_body(&parts.headers))?;
        parts.extensions.insert(account);
        let (headers, app) = (parts.headers.clone(), Arc::clone(app));
        Ok(Asker::Remembered(Unchecked { remembered, headers, app, is_checked: false }))
    }
}

impl Asker {
    /// Looks up a device that is only remembered, where its request fails before its right was found out: a stranger is told that first.
    pub(super) async fn check(self) -> Result<(), Problem> {
        if let Asker::Remembered(device) = self {
            let presence = Arc::clone(&device.app.presence);
            presence.asks(device.look_up().await?);
        }
        Ok(())
    }
}

impl Asker {
    /// The user that it is of, as far as is known yet.
    pub(super) fn account(&self) -> Account {
        match self {
            Asker::Known(client) => client.account(),
            Asker::Remembered(device) => device.remembered.client().account(),
        }
    }
}

impl Unchecked {
    /// The device, to ask for something by.
    pub(super) fn remembered(&self) -> Remembered {
        self.remembered.clone()
    }

    /// Notes that the device has its right, and that it asks.
    pub(super) fn confirm(mut self) -> Client {
        self.is_checked = true;
        self.app.presence.asks(self.remembered.client());
        self.remembered.client()
    }

    /// The device of the request's headers, looked up.
    pub(super) async fn look_up(mut self) -> Result<Client, Problem> {
        let client = self.app.identity.client(&self.headers).await?;
        self.is_checked = true;
        Ok(client)
    }
}

impl Drop for Unchecked {
    fn drop(&mut self) {
        if !self.is_checked {
            self.app.storage.forget_remembered(&self.remembered);
        }
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
