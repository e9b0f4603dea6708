//! A service of HTTP/2: hyper's, on one thread, which translates what a test says in HTTP/1.1.

use super::{Answering, Asked, Reply};
use http::{HeaderName, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::TcpListener;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

/// A body.
type Answer = Either<Full<Bytes>, Endless>;

/// One that does not end.
struct Endless;

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 0x10000])))))
    }
}

/// Serves, for as long as the process lives.
pub(super) fn serve(
    listener: &TcpListener,
    tls: Option<Arc<ServerConfig>>,
    reply: Arc<Answering>,
    counted: Arc<AtomicU64>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let tls = tls.map(TlsAcceptor::from);
    let before = Arc::new(AtomicU64::new(0));
    runtime.expect("the system has an event queue").block_on(async {
        listener.set_nonblocking(true).expect("it is a socket");
        let listener = listener.try_clone().expect("a socket can be cloned");
        let listener = tokio::net::TcpListener::from_std(listener).expect("it is a socket");
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            stream.set_nodelay(true).expect("it is a socket");
            let (reply, before, tls) = (Arc::clone(&reply), Arc::clone(&before), tls.clone());
            tokio::spawn(async move {
                match tls {
                    None => connection(stream, reply, before).await,
                    Some(tls) => {
                        // The one that asks whether the service is there goes away in the middle.
                        let Ok(stream) = tls.accept(stream).await else { return };
                        connection(stream, reply, before).await;
                    }
                }
            });
        }
    });
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    reply: Arc<Answering>,
    before: Arc<AtomicU64>,
) {
    let ends = Arc::new(AtomicBool::new(false));
    let here = Arc::new(AtomicU64::new(0));
    let service = service_fn(|request| {
        let (reply, before) = (Arc::clone(&reply), Arc::clone(&before));
        let (ends, before_here) = (Arc::clone(&ends), here.fetch_add(1, Ordering::Relaxed));
        answer(request, reply, before.fetch_add(1, Ordering::Relaxed), before_here, ends)
    });
    let mut connection =
        pin!(Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service));
    let mut is_ending = false;
    let _ = poll_fn(|context| {
        loop {
            let polled = connection.as_mut().poll(context);
            if polled.is_ready() || is_ending || !ends.load(Ordering::Relaxed) {
                return polled;
            }
            is_ending = true;
            connection.as_mut().graceful_shutdown();
        }
    })
    .await;
}

async fn answer(
    request: Request<Incoming>,
    reply: Arc<Answering>,
    before: u64,
    before_here: u64,
    ends: Arc<AtomicBool>,
) -> Result<Response<Answer>, String> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let line = format!("{} {path} HTTP/2", request.method());
    let header = |(name, value): (&HeaderName, &HeaderValue)| {
        format!("{name}: {}", String::from_utf8_lossy(value.as_bytes()))
    };
    let headers = request.headers().iter().map(header).collect();
    let body = request.into_body().collect().await.map_err(|error| error.to_string())?;
    let asked = Asked { line, headers, body: body.to_bytes().to_vec(), before, before_here };
    match reply(asked) {
        Reply::Bytes(bytes) => Ok(translated(&bytes)),
        Reply::BytesThenClose(bytes) => {
            ends.store(true, Ordering::Relaxed);
            Ok(translated(&bytes))
        }
        Reply::Late(after, bytes) => {
            tokio::time::sleep(after).await;
            Ok(translated(&bytes))
        }
        Reply::Endless => Ok(Response::new(Either::Right(Endless))),
        Reply::Nothing => std::future::pending().await,
        Reply::Close | Reply::Reset(_) | Reply::Stream(_) => Err("the test says so".into()),
    }
}

/// The status and the body of an answer in HTTP/1.1.
fn translated(bytes: &[u8]) -> Response<Answer> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").expect("it has a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok());
    let mut response = Response::builder().status(status.expect("it has a status"));
    for (name, value) in head.lines().skip(1).filter_map(|line| line.split_once(": ")) {
        response = response.header(name, value);
    }
    response.body(Either::Left(Full::new(Bytes::from(body.to_owned())))).expect("it is a response")
}
