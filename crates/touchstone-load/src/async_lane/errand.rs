//! One request and its answer: what a task does that knows neither the user nor the plan, and what its failures mean.

use super::connect::{Sender, Written};
use crate::answer::Answer;
use crate::failure::Failure;
use crate::response::Malformed;
use crate::room::{BODY_BYTES_MAX, Taken};
use bytes::{Bytes, BytesMut};
use http::header::{CONNECTION, HeaderMap};
use http::{Response, Version};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use std::error::Error;

/// A whole answer.
pub(super) struct Received {
    status: u16,
    headers: HeaderMap,
    body: Bytes,
    /// The room that it takes for as long as it is there.
    _taken: Taken,
    /// Whether the connection may be used again, as far as the answer says.
    pub(super) keeps: bool,
}

impl Answer for Received {
    fn status(&self) -> u16 {
        self.status
    }

    fn body(&self) -> &[u8] {
        &self.body
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.get(name).map(http::HeaderValue::as_bytes)
    }
}

/// A request without an answer.
pub(super) struct Lost {
    /// How it counts.
    pub(super) failure: Failure,
    /// What is told of it.
    pub(super) detail: String,
    /// The request, where none of it was sent: whatever it is, it may be sent again.
    pub(super) unsent: Option<Box<Written>>,
    /// Which requests may then be sent once more.
    pub(super) resend: Resend,
}

/// Which requests may be sent once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resend {
    /// None.
    Never,
    /// Those that may be repeated: the connection has ended in a way in which an idle one may.
    Repeatable,
    /// All: the service says that it has not looked at it.
    Any,
}

/// Sends a request and receives the answer, which takes its room.
pub(super) async fn run(sender: &mut Sender, request: Written, taken: Taken) -> Result<Received, Lost> {
    if let Err(error) = sender.ready().await {
        return Err(Lost { unsent: Some(Box::new(request)), ..lost(&error) });
    }
    match sender.send(request).await {
        Ok(response) => receive(response, taken).await,
        Err(mut error) => {
            let unsent = error.take_message().map(Box::new);
            Err(Lost { unsent, ..lost(error.error()) })
        }
    }
}

async fn receive(response: Response<Incoming>, mut taken: Taken) -> Result<Received, Lost> {
    let keeps = keeps(&response);
    let (head, mut incoming) = response.into_parts();
    if incoming.size_hint().lower() > BODY_BYTES_MAX {
        return Err(refused(Malformed::TooLong));
    }
    let mut body = Bytes::new();
    let mut joined = BytesMut::new();
    while !incoming.is_end_stream() {
        let Some(frame) = incoming.frame().await else { break };
        let frame = frame.map_err(|error| Lost { resend: Resend::Never, ..cut(&error) })?;
        let Ok(data) = frame.into_data() else { continue };
        let bytes = (joined.len() + body.len() + data.len()) as u64;
        if bytes > BODY_BYTES_MAX {
            return Err(refused(Malformed::TooLong));
        }
        if !taken.hold(bytes) {
            return Err(refused(Malformed::NoRoom));
        }
        // Most bodies come in one piece, which need not be copied.
        if body.is_empty() && joined.is_empty() {
            body = data;
        } else {
            joined.extend_from_slice(&std::mem::take(&mut body));
            joined.extend_from_slice(&data);
        }
    }
    if !joined.is_empty() {
        body = joined.freeze();
    }
    Ok(Received { status: head.status.as_u16(), headers: head.headers, body, _taken: taken, keeps })
}

/// An answer that is not taken for what it is.
fn refused(why: Malformed) -> Lost {
    Lost { failure: why.failure(), detail: why.to_string(), unsent: None, resend: Resend::Never }
}

/// Whether the service says that it keeps the connection (RFC 9112, section 9.3).
fn keeps(response: &Response<Incoming>) -> bool {
    let says = |word: &str| {
        let values = response.headers().get_all(CONNECTION).iter();
        values
            .filter_map(|value| value.to_str().ok())
            .any(|value| value.split(',').any(|said| said.trim().eq_ignore_ascii_case(word)))
    };
    match response.version() {
        Version::HTTP_2 => true,
        Version::HTTP_10 => says("keep-alive") && !says("close"),
        _ => !says("close"),
    }
}

/// What an error within a body means.
fn cut(error: &hyper::Error) -> Lost {
    let lost = lost(error);
    if lost.failure == Failure::Closed && of_http2(error).is_none() {
        return Lost { detail: Malformed::Cut.to_string(), ..lost };
    }
    lost
}

fn of_http2(error: &hyper::Error) -> Option<&h2::Error> {
    error.source()?.downcast_ref()
}

/// What an error of hyper's means.
fn lost(error: &hyper::Error) -> Lost {
    let of = |failure, detail, resend| Lost { failure, detail, unsent: None, resend };
    if let Some(error) = of_http2(error) {
        let reason = error.reason().map_or_else(|| error.to_string(), |reason| reason.to_string());
        // What this side complains of, the other has said wrongly.
        if error.is_library() {
            return of(Failure::Malformed, format!("what came is not HTTP/2: {reason}"), Resend::Never);
        }
        if error.is_reset() {
            // A stream that was refused was not worked on, nor one that came after the last that is named where a service goes away without
            // an error (RFC 9113, section 8.7): to such streams alone that is told.
            let is_refused = error.reason() == Some(h2::Reason::REFUSED_STREAM);
            let resend = if is_refused { Resend::Any } else { Resend::Never };
            return of(Failure::Closed, format!("the service reset the stream: {reason}"), resend);
        }
        if error.is_go_away() {
            let is_friendly = error.reason() == Some(h2::Reason::NO_ERROR);
            let resend = if is_friendly { Resend::Any } else { Resend::Never };
            return of(Failure::Closed, format!("the service ended the connection: {reason}"), resend);
        }
    }
    if error.is_parse() {
        let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        return of(Failure::Malformed, format!("the head is not HTTP: {why}"), Resend::Never);
    }
    if error.is_user() {
        return of(Failure::Malformed, format!("the request is not HTTP: {error}"), Resend::Never);
    }
    of(Failure::Closed, Failure::Closed.to_string(), Resend::Repeatable)
}
