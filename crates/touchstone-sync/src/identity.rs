//! Who asks. The service rests on tokens; a program that embeds it may know its users otherwise.

use crate::clock;
use crate::problem::{Kind, Problem};
use crate::storage::{Account, Client, Remembered, Storage};
use crate::token::TokenHash;
use async_trait::async_trait;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use std::sync::Arc;

/// The header that names the device.
pub const DEVICE: &str = "x-client";

/// Finds out who asks.
#[async_trait]
pub trait Identity: Send + Sync {
    /// The user who asks; `named` is the user that a registration names.
    async fn account(&self, headers: &HeaderMap, named: Option<&str>) -> Result<Account, Problem>;

    /// Whether whoever asks may send a body, before it is read.
    async fn admit(&self, headers: &HeaderMap) -> Result<(), Problem>;

    /// The device that asks.
    async fn client(&self, headers: &HeaderMap) -> Result<Client, Problem>;

    /// The device that asked with such headers before, where the storage remembers it: it is to be given a page or to store an upload by
    /// [`download_remembered`](Storage::download_remembered) and [`upload_remembered`](Storage::upload_remembered) alone.
    fn remembered(&self, _headers: &HeaderMap) -> Option<Remembered> {
        None
    }

    /// What of a request's headers says who asks: a stream keeps it, and asks again whether it may go on.
    fn kept(&self, headers: &HeaderMap) -> HeaderMap {
        headers.clone()
    }
}

/// A bearer token says whose a request is, and the header `x-client` which of the user's devices asks.
#[derive(Debug)]
pub struct Tokens {
    storage: Arc<dyn Storage>,
}

impl Tokens {
    /// Tokens that this storage keeps.
    pub fn of(storage: Arc<dyn Storage>) -> Tokens {
        Tokens { storage }
    }
}

#[async_trait]
impl Identity for Tokens {
    async fn account(&self, headers: &HeaderMap, named: Option<&str>) -> Result<Account, Problem> {
        let token = bearer(headers)?;
        let account = self.storage.account(&TokenHash::of(token), clock::seconds()).await?;
        let account = account.ok_or_else(no_token)?;
        if let Some(named) = named
            && self.storage.name_of(account).await?.as_deref() != Some(named)
        {
            let detail = format!(
                "the token is not of the user `{named}`, whom the registration names: ask with a token of `{named}`, or leave `user` out"
            );
            return Err(Problem::new(Kind::Forbidden, detail));
        }
        Ok(account)
    }

    async fn admit(&self, headers: &HeaderMap) -> Result<(), Problem> {
        self.account(headers, None).await.map(drop)
    }

    async fn client(&self, headers: &HeaderMap) -> Result<Client, Problem> {
        let token = bearer(headers)?;
        // A token that is no good is told of first.
        let named = device(headers);
        let known = named.as_ref().map_or("", |device| device);
        let asking = self.storage.asking(&TokenHash::of(token), clock::seconds(), known).await?;
        let (_, client) = asking.ok_or_else(no_token)?;
        let device = named?;
        client.ok_or_else(|| {
            Problem::new(
                Kind::UnknownDevice,
                format!("the token's user has no device `{device}`: register it with POST /v1/clients"),
            )
        })
    }

    fn remembered(&self, headers: &HeaderMap) -> Option<Remembered> {
        let token = TokenHash::of(bearer(headers).ok()?);
        self.storage.remembered(Some(&token), device(headers).ok()?)
    }

    fn kept(&self, headers: &HeaderMap) -> HeaderMap {
        let mut kept = HeaderMap::with_capacity(2);
        for name in [header::AUTHORIZATION, HeaderName::from_static(DEVICE)] {
            // Its bytes alone: a header is a part of all that was read with it, and would keep that.
            let value = headers.get(&name).and_then(|value| HeaderValue::from_bytes(value.as_bytes()).ok());
            kept.extend(value.map(|value| (name, value)));
        }
        kept
    }
}

/// A token that nobody has.
fn no_token() -> Problem {
    Problem::new(
        Kind::Unauthenticated,
        "the token is unknown, revoked or expired: ask the service's owner for another",
    )
}

/// The words of the request's bearer token.
fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
    let missing = || {
        let detail = "the request has no token: send one as `Authorization: Bearer …`; the service's owner makes it with \
                      `touchstone-sync token create`";
        Problem::new(Kind::Unauthenticated, detail)
    };
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().ok_or_else(missing)?;
    if values.next().is_some() {
        return Err(Problem::new(
            Kind::Unauthenticated,
            "the request has two headers `Authorization`: send one",
        ));
    }
    let words = value.to_str().ok().and_then(|value| value.split_once(' '));
    let token =
        words.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
    token.filter(|token| !token.is_empty()).ok_or_else(missing)
}

/// The device that the request names.
pub fn device(headers: &HeaderMap) -> Result<&str, Problem> {
    let mut values = headers.get_all(DEVICE).iter();
    let named = values.next().and_then(|value| value.to_str().ok()).filter(|name| !name.is_empty());
    match (named, values.next()) {
        (Some(name), None) => Ok(name),
        (_, Some(_)) => {
            Err(Problem::new(Kind::Malformed, "the request has two headers `x-client`: send one"))
        }
        (None, None) => Err(Problem::new(
            Kind::UnknownDevice,
            "the request names no device: send the name that it was registered by as `x-client`",
        )),
    }
}

/// Believes every request: a registration names its user, and the header `x-client` a device, whose names no two users share. For a
/// service that only its own machine reaches, such as one that is measured.
#[derive(Debug)]
pub struct Open {
    storage: Arc<dyn Storage>,
}

impl Open {
    /// Of the devices that this storage knows.
    pub fn of(storage: Arc<dyn Storage>) -> Open {
        Open { storage }
    }
}

#[async_trait]
impl Identity for Open {
    async fn account(&self, _headers: &HeaderMap, named: Option<&str>) -> Result<Account, Problem> {
        let named = named.ok_or_else(|| Problem::new(Kind::Malformed, "the registration names no `user`"))?;
        Ok(self.storage.user(named).await?)
    }

    async fn admit(&self, _headers: &HeaderMap) -> Result<(), Problem> {
        Ok(())
    }

    async fn client(&self, headers: &HeaderMap) -> Result<Client, Problem> {
        let device = device(headers)?;
        let known = self.storage.client_named(device).await?;
        known.ok_or_else(|| Problem::new(Kind::UnknownDevice, format!("no device `{device}` is registered")))
    }

    fn remembered(&self, headers: &HeaderMap) -> Option<Remembered> {
        self.storage.remembered(None, device(headers).ok()?)
    }
}
