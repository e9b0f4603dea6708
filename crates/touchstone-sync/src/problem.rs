//! Errors as clients see them: problem details of RFC 9457. What a storage says of its failure goes to the log alone.

use crate::http::request_id;
use crate::storage::{Error, Refusal};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Seconds after which a client may ask again that was told so.
const RETRY_AFTER: &str = "1";

/// Bytes of a detail at most.
pub(crate) const DETAIL_BYTES_MAX: usize = 1_000;

/// What went wrong, and what to do about it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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

/// A row for each problem: what it means, its name, the last word of its type, its status, its title, and what a client does about it.
macro_rules! problems {
    ($($(#[doc = $meaning:literal])+ $kind:ident: $word:literal, $status:ident, $title:literal, $remedy:literal;)+) => {
        /// The problems that there are.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($(#[doc = $meaning])+ $kind,)+
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Kind] = &[$(Kind::$kind),+];

            /// What is always said of it.
            pub(crate) fn said(self) -> Said {
                match self {
                    $(Kind::$kind => Said {
                        word: $word,
                        status: StatusCode::$status,
                        title: $title,
                        meaning: concat!($($meaning),+),
                        remedy: $remedy,
                    },)+
                }
            }
        }
    };
}

/// What is always said of a problem.
pub(crate) struct Said {
    /// The last word of its type.
    pub(crate) word: &'static str,
    pub(crate) status: StatusCode,
    title: &'static str,
    /// When it is told, for the guide.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "the guide is of the whole program"))]
    pub(crate) meaning: &'static str,
    /// What a client does about it, for the guide.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "the guide is of the whole program"))]
    pub(crate) remedy: &'static str,
}

problems! {
    /// No token, or one that is unknown, revoked or expired.
    Unauthenticated: "unauthenticated", UNAUTHORIZED, "No valid token",
        "ask the service's owner for a token";
    /// The token's user has no such device.
    UnknownDevice: "unknown-device", UNAUTHORIZED, "The device is not registered",
        "register the device with `POST /v1/clients`, and ask again";
    /// The token is of another user than the one that is named.
    Forbidden: "forbidden", FORBIDDEN, "The token is another user's",
        "ask with a token of the user that is named, or leave `user` out";
    /// The user has as many devices as are taken.
    TooManyDevices: "too-many-devices", FORBIDDEN, "The user has too many devices",
        "register with the name of a device that is no more";
    /// The request is not what the OpenAPI document says.
    Malformed: "malformed", UNPROCESSABLE_ENTITY, "The request makes no sense",
        "do not send it again as it is; where one change is wrong, `detail` begins with its place, as `changes[3]` or `changes[3].base`";
    /// The body is longer than is taken, or the versions that would be given back are.
    TooLong: "too-long", PAYLOAD_TOO_LARGE, "The request is too long",
        "send fewer changes at a time";
    /// There is no such path.
    NotFound: "not-found", NOT_FOUND, "There is no such path",
        "look at the service's address; `/v1/openapi.json` has every path";
    /// The path has no such method.
    Method: "method", METHOD_NOT_ALLOWED, "The path has no such method",
        "take one that `/v1/openapi.json` has";
    /// The body is of another type than JSON, or packed in an unknown way.
    MediaType: "media-type", UNSUPPORTED_MEDIA_TYPE, "The body is no JSON",
        "send `content-type: application/json`, and the body as it is, or packed with `gzip` or `zstd`";
    /// The body did not come in time.
    TooSlow: "too-slow", REQUEST_TIMEOUT, "The request did not come in time",
        "send it again";
    /// The cursor is beyond the last revision.
    CursorAhead: "cursor-ahead", CONFLICT, "The cursor is beyond the last revision",
        "fetch everything with `GET /v1/sync/full`, and go on from its cursor";
    /// Deletions after the cursor are forgotten.
    CursorLost: "cursor-lost", GONE, "Deletions after the cursor are forgotten",
        "fetch everything with `GET /v1/sync/full`, and go on from its cursor";
    /// The revisions are of another history.
    OtherHistory: "other-history", CONFLICT, "The revisions are of another history",
        "fetch everything with `GET /v1/sync/full`, and go on from its cursor, with its `history`";
    /// Objects are not at the base that is named.
    Conflict: "conflict", CONFLICT, "Objects were changed meanwhile",
        "make the changes anew on what `current` has, with its revisions as `base`";
    /// The user's devices ask more often than is allowed, or have too many streams.
    TooMany: "too-many", TOO_MANY_REQUESTS, "Too many requests",
        "wait for the seconds of `retry-after`; then ask less often, and for more at a time";
    /// The service has more to do than it takes.
    Busy: "busy", SERVICE_UNAVAILABLE, "The service has too much to do",
        "wait for the seconds of `retry-after`, and longer each time";
    /// The storage cannot be reached.
    Away: "away", SERVICE_UNAVAILABLE, "The storage is away",
        "as for `busy`; the upload may be stored, so send it again with the same names of its changes";
    /// The storage has no room to write.
    Full: "full", SERVICE_UNAVAILABLE, "The storage has no room",
        "as for `busy`; downloads are answered meanwhile";
    /// The service failed.
    Failed: "failed", INTERNAL_SERVER_ERROR, "The service failed",
        "tell the service's owner the `x-request-id` of the answer, which the log has; an upload is sent again as for `away`";
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
        let Said { word, status, title, .. } = kind.said();
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

    /// Whether it has versions of objects, and is as long as these are.
    pub(crate) fn has_versions(&self) -> bool {
        self.current.is_some()
    }

    /// The answer, which is held until it is read.
    ///
    /// # Errors
    /// Where there is no room for it.
    pub(crate) fn held(self, hold: impl FnOnce(Vec<u8>) -> Option<Bytes>) -> Result<Response, Problem> {
        let body = hold(self.bytes()).ok_or_else(|| Problem::new(Kind::Busy, crate::http::UNREAD))?;
        Ok(self.with_body(body))
    }

    fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers are JSON")
    }

    fn with_body(&self, body: impl Into<Body>) -> Response {
        let status = StatusCode::from_u16(self.status).expect("it is one of those above");
        let mut response = (status, body.into()).into_response();
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

    fn refused(refusal: Refusal) -> Problem {
        let kind = match refusal {
            Refusal::UnknownUser => Kind::Unauthenticated,
            Refusal::FutureCursor { .. } => Kind::CursorAhead,
            Refusal::LostCursor { .. } => Kind::CursorLost,
            Refusal::OtherHistory { .. } => Kind::OtherHistory,
            Refusal::TooManyDevices { .. } => Kind::TooManyDevices,
            Refusal::TooMuch { .. } => Kind::TooLong,
            Refusal::Unread { .. } => Kind::Busy,
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
                tracing::error!(request = request_id(), "the storage has no room to write: free some");
                Problem::new(
                    Kind::Full,
                    "the storage has no room, and nothing of this is stored: ask again when the service's owner has made some",
                )
            }
            Error::Failed(error) => {
                tracing::error!(request = request_id(), "the storage failed: {error:#}");
                Problem::new(Kind::Failed, "the storage failed; the service's log says why")
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        self.with_body(self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_problem_has_a_type_of_its_own() {
        let words: BTreeSet<&str> = Kind::ALL.iter().map(|kind| kind.said().word).collect();
        assert_eq!(words.len(), Kind::ALL.len());
    }

    /// It was told as if the token was another user's.
    #[test]
    fn too_many_devices_are_told_as_such() {
        let problem = Problem::from(Error::from(Refusal::TooManyDevices { most: 7 }));
        assert_eq!((problem.kind.as_str(), problem.status), ("/problems/too-many-devices", 403));
        assert!(problem.detail().contains("has 7 devices"), "{}", problem.detail());
    }
}
