//! Errors as clients see them: problem details of RFC 9457. What a storage says of its failure goes to the log alone.

use crate::storage::{Error, Refusal};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// Seconds after which a client may ask again that was told so.
const RETRY_AFTER: &str = "1";

/// Bytes of a detail at most.
const DETAIL_BYTES_MAX: usize = 1_000;

/// What went wrong, and what to do about it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Problem {
    /// Which problem it is, as a path of this service: `/problems/cursor-lost`.
    #[serde(rename = "type")]
    kind: String,
    /// The problem in a few words, the same each time.
    title: &'static str,
    /// The status of the answer.
    status: u16,
    /// What failed, on which input, and what to do.
    detail: String,
    /// What the objects are that are not at the base which the upload names.
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<Vec<super::http::Version>>,
    /// Whether the connection ends with it.
    #[serde(skip)]
    ends: bool,
}

/// The problems that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No token, or one that is unknown, revoked or expired.
    Unauthenticated,
    /// The token's user has no such device.
    UnknownDevice,
    /// The token is of another user than the one that is named.
    Forbidden,
    /// The user has as many devices as are taken.
    TooManyDevices,
    /// The request is not what the OpenAPI document says.
    Malformed,
    /// The body is longer than is taken.
    TooLong,
    /// There is no such path.
    NotFound,
    /// The path has no such method.
    Method,
    /// The body is of another type than JSON.
    MediaType,
    /// The body did not come in time.
    TooSlow,
    /// The cursor is beyond the last revision.
    CursorAhead,
    /// Deletions after the cursor are forgotten.
    CursorLost,
    /// The revisions are of another history.
    OtherHistory,
    /// Objects are not at the base that is named.
    Conflict,
    /// The user asks more often than is allowed.
    TooMany,
    /// The service has more to do than it takes.
    Busy,
    /// The storage cannot be reached.
    Away,
    /// The storage has no room to write.
    Full,
    /// The service failed.
    Failed,
}

impl Kind {
    /// The last word of its type, its status, and its title.
    fn said(self) -> (&'static str, StatusCode, &'static str) {
        match self {
            Kind::Unauthenticated => ("unauthenticated", StatusCode::UNAUTHORIZED, "No valid token"),
            Kind::UnknownDevice => {
                ("unknown-device", StatusCode::UNAUTHORIZED, "The device is not registered")
            }
            Kind::Forbidden => ("forbidden", StatusCode::FORBIDDEN, "The token is another user's"),
            Kind::TooManyDevices => {
                ("too-many-devices", StatusCode::FORBIDDEN, "The user has too many devices")
            }
            Kind::Malformed => ("malformed", StatusCode::UNPROCESSABLE_ENTITY, "The request makes no sense"),
            Kind::TooLong => ("too-long", StatusCode::PAYLOAD_TOO_LARGE, "The request is too long"),
            Kind::NotFound => ("not-found", StatusCode::NOT_FOUND, "There is no such path"),
            Kind::Method => ("method", StatusCode::METHOD_NOT_ALLOWED, "The path has no such method"),
            Kind::MediaType => ("media-type", StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body is no JSON"),
            Kind::TooSlow => ("too-slow", StatusCode::REQUEST_TIMEOUT, "The request did not come in time"),
            Kind::CursorAhead => {
                ("cursor-ahead", StatusCode::CONFLICT, "The cursor is beyond the last revision")
            }
            Kind::CursorLost => ("cursor-lost", StatusCode::GONE, "Deletions after the cursor are forgotten"),
            Kind::OtherHistory => {
                ("other-history", StatusCode::CONFLICT, "The revisions are of another history")
            }
            Kind::Conflict => ("conflict", StatusCode::CONFLICT, "Objects were changed meanwhile"),
            Kind::TooMany => ("too-many", StatusCode::TOO_MANY_REQUESTS, "Too many requests"),
            Kind::Busy => ("busy", StatusCode::SERVICE_UNAVAILABLE, "The service has too much to do"),
            Kind::Away => ("away", StatusCode::SERVICE_UNAVAILABLE, "The storage is away"),
            Kind::Full => ("full", StatusCode::SERVICE_UNAVAILABLE, "The storage has no room"),
            Kind::Failed => ("failed", StatusCode::INTERNAL_SERVER_ERROR, "The service failed"),
        }
    }
}

/// A detail of a length that anybody reads: it may have a client's own words in it, as long as it sent them.
fn shortened(mut detail: String) -> String {
    if detail.len() > DETAIL_BYTES_MAX {
        detail.truncate(detail.floor_char_boundary(DETAIL_BYTES_MAX));
        detail.push('…');
    }
    detail
}

impl Problem {
    /// A problem, with what failed on which input.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Problem {
        let (word, status, title) = kind.said();
        Problem {
            kind: format!("/problems/{word}"),
            title,
            status: status.as_u16(),
            detail: shortened(detail.into()),
            current: None,
            ends: false,
        }
    }

    /// Told before the body of a request with these headers is read. The rest of the body stands where the next request would, so the
    /// connection ends, and HTTP/1 is told so: a client would else send its next request on it.
    pub(crate) fn before_body(self, headers: &HeaderMap) -> Problem {
        let ends = headers.contains_key(header::TRANSFER_ENCODING)
            || headers.get(header::CONTENT_LENGTH).is_some_and(|length| length != "0");
        Problem { ends, ..self }
    }

    /// Whether whoever asks is nobody who may.
    pub(crate) fn is_of_who_asks(&self) -> bool {
        [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].iter().any(|status| status.as_u16() == self.status)
    }

    /// What failed, on which input, and what to do.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    fn refused(refusal: Refusal) -> Problem {
        let kind = match refusal {
            Refusal::UnknownUser => Kind::Unauthenticated,
            Refusal::FutureCursor { .. } => Kind::CursorAhead,
            Refusal::LostCursor { .. } => Kind::CursorLost,
            Refusal::OtherHistory { .. } => Kind::OtherHistory,
            Refusal::TooManyDevices { .. } => Kind::TooManyDevices,
            Refusal::TooMuch { .. } => Kind::TooLong,
            Refusal::Conflict { .. } => Kind::Conflict,
        };
        let problem = Problem::new(kind, refusal.to_string());
        let Refusal::Conflict { current } = refusal else { return problem };
        Problem { current: Some(current.into_iter().map(Into::into).collect()), ..problem }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        match error {
            Error::Refused(refusal) => Problem::refused(refusal),
            Error::Busy => {
                Problem::new(Kind::Busy, "the storage has more to do than it takes: ask again later")
            }
            Error::Away => {
                Problem::new(Kind::Away, "the storage cannot be reached now: ask again when it is back")
            }
            Error::Full => {
                tracing::error!("the storage has no room to write: free some");
                Problem::new(
                    Kind::Full,
                    "the storage has no room, and nothing of this is stored: ask again when the service's owner has made some",
                )
            }
            Error::Failed(error) => {
                tracing::error!("the storage failed: {error:#}");
                Problem::new(Kind::Failed, "the storage failed; the service's log says why")
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).expect("it is one of those above");
        let body = serde_json::to_vec(&self).expect("texts and numbers are JSON");
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER));
        }
        if self.ends {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
