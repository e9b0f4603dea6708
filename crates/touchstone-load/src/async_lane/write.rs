//! Writes requests as hyper takes them: in pieces that were looked at before the run, as far as they are always the same.

use super::connect::Written;
use crate::error::{Error, Result};
use crate::plan::{Plan, Request};
use crate::scenario::Http;
use crate::template::Template;
use crate::user::User;
use bytes::Bytes;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderName, HeaderValue, Method, Uri};
use http_body_util::Full;

/// What writes the requests of a plan.
pub(super) struct Writer {
    requests: Vec<Pieces>,
}

/// A request's pieces.
struct Pieces {
    /// All of it, where it is always the same.
    fixed: Option<Written>,
    method: Method,
    /// In HTTP/2 the place is a part of each request's URI; in HTTP/1.1 it is the header `host`.
    scheme: Option<Scheme>,
    headers: Vec<HeaderName>,
}

impl Writer {
    /// For the requests of a plan.
    pub(super) fn of(plan: &Plan) -> Result<Writer> {
        let scheme = if plan.target.is_secure { Scheme::HTTPS } else { Scheme::HTTP };
        let scheme = (plan.scenario.load.http == Http::Two).then_some(scheme);
        let requests = plan.requests.iter().map(|request| {
            pieces(request, scheme.clone())
                .map_err(|why| Error::input(format!("request `{}`: {why}", request.name)))
        });
        Ok(Writer { requests: requests.collect::<Result<_>>()? })
    }

    /// Writes a request for a user. Why it cannot be, where what the user has kept makes no request.
    pub(super) fn write(
        &self,
        number: usize,
        request: &Request,
        user: &mut User,
    ) -> std::result::Result<Written, String> {
        let pieces = &self.requests[number];
        match &pieces.fixed {
            Some(fixed) => Ok(fixed.clone()),
            None => write(pieces, request, user),
        }
    }
}

fn pieces(request: &Request, scheme: Option<Scheme>) -> std::result::Result<Pieces, String> {
    let method = Method::from_bytes(request.method.as_bytes()).map_err(|error| error.to_string())?;
    let headers = request.headers.iter().map(|(name, _)| HeaderName::from_bytes(name.as_bytes()));
    let headers = headers.collect::<std::result::Result<_, _>>().map_err(|error| error.to_string())?;
    let mut pieces = Pieces { fixed: None, method, scheme, headers };
    if request.fixed.is_some() {
        pieces.fixed = Some(write(&pieces, request, &mut User::new(0, 1, 0, Vec::new()))?);
    }
    Ok(pieces)
}

fn write(pieces: &Pieces, request: &Request, user: &mut User) -> std::result::Result<Written, String> {
    let mut text = |template: &Template| {
        let mut bytes = Vec::new();
        template.write(user, &mut bytes);
        Bytes::from(bytes)
    };
    let path = text(&request.path);
    let path = PathAndQuery::from_maybe_shared(path.clone())
        .map_err(|error| format!("`{}` is no path: {error}", String::from_utf8_lossy(&path)))?;
    let mut written = Written::new(Full::default());
    let mut authority = None;
    for (name, (_, template)) in pieces.headers.iter().zip(&request.headers) {
        let value = text(template);
        let wrong = || format!("`{name}: {}` is no header", String::from_utf8_lossy(&value));
        if *name == http::header::HOST && pieces.scheme.is_some() {
            authority = Some(Authority::from_maybe_shared(value.clone()).map_err(|_| wrong())?);
        } else {
            let value = HeaderValue::from_maybe_shared(value.clone()).map_err(|_| wrong())?;
            written.headers_mut().insert(name.clone(), value);
        }
    }
    *written.method_mut() = pieces.method.clone();
    *written.uri_mut() = match &pieces.scheme {
        None => Uri::from(path),
        Some(scheme) => {
            let mut parts = http::uri::Parts::default();
            (parts.scheme, parts.authority) = (Some(scheme.clone()), authority);
            parts.path_and_query = Some(path);
            Uri::from_parts(parts).map_err(|error| error.to_string())?
        }
    };
    if let Some(template) = &request.body {
        *written.body_mut() = Full::new(text(template));
    }
    Ok(written)
}
