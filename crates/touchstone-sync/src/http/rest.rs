//! The rest of a body whose request is refused before it is read. A client that sends its body to the end before it reads the answer would find the
//! connection closed, and never see why: so a rest that is not much is taken, and given up. The answer does not wait for it.

use crate::problem::Kind;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header;
use axum::response::Response;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::timeout;

/// How long the rest of a body may take to come.
pub(crate) const REST_WITHIN: Duration = Duration::from_secs(30);

/// Where a body lies that is read no more.
type Left = Arc<Mutex<Option<Body>>>;

/// A body that is kept when it is read no more.
struct Lent {
    body: Body,
    left: Left,
    has_begun: bool,
    /// Whether the client sends nothing until the body is asked for.
    waits: bool,
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.has_begun = true;
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let is_sent = self.has_begun || !self.waits;
        if is_sent && !self.body.is_end_stream() {
            let body = std::mem::take(&mut self.body);
            *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}

/// Answers a request, and takes the rest of its body where that is refused and has at most so many bytes.
pub(super) async fn taken<F: Future<Output = Response>>(
    request: Request,
    most: usize,
    answered: impl FnOnce(Request) -> F,
) -> Response {
    if request.body().is_end_stream() {
        return answered(request).await;
    }
    let waits = request.headers().contains_key(header::EXPECT);
    let left = Left::default();
    let request =
        request.map(|body| Body::new(Lent { body, left: Arc::clone(&left), has_begun: false, waits }));
    let response = answered(request).await;
    let rest = left.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(rest) = rest.filter(|rest| is_awaited(&response) && rest.size_hint().lower() <= most as u64) {
        tokio::spawn(timeout(REST_WITHIN, take(rest, most)));
    }
    response
}

/// Whether the request is refused, and more of its body may come: it has not taken too long already.
fn is_awaited(response: &Response) -> bool {
    !response.status().is_success() && response.status() != Kind::TooSlow.said().status
}

/// Takes what comes, up to so many bytes.
async fn take(mut rest: Body, most: usize) {
    let mut bytes = 0;
    while let Some(Ok(frame)) = rest.frame().await {
        bytes += frame.data_ref().map_or(0, Bytes::len);
        if bytes > most {
            return;
        }
    }
}
