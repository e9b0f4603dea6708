//! The service's life: it listens, answers, and ends when it is asked to, with everything answered that it had accepted.

use crate::connection::MayLeave;
use crate::http::{App, allowing, router, surrounded};
use crate::tls::Tls;
use anyhow::{Context, Result};
use axum_server::{Handle, Server};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

/// How long requests may take that are under way when the service is to end.
pub(crate) const END_WITHIN: Duration = Duration::from_secs(20);

/// How long a client may take to send the head of its first request.
pub(crate) const HEAD_WITHIN: Duration = Duration::from_secs(10);

/// How long a connection may wait for its next request.
pub(crate) const IDLE_FOR: Duration = Duration::from_secs(75);

/// How long an address is waited for that is in use: an older service that was told to end may listen yet.
pub(crate) const LISTEN_WITHIN: Duration = Duration::from_secs(2);

/// How long the last bytes of streams may take.
const STREAMS_END_WITHIN: Duration = Duration::from_secs(1);

/// How often a client of HTTP/2 is asked whether it is there.
const ALIVE_EVERY: Duration = Duration::from_secs(20);

/// SIGINT and SIGTERM. From here on they end the service in order; before, they kill the process.
#[derive(Debug)]
pub struct Signals {
    interrupted: Signal,
    terminated: Signal,
    has_come: bool,
}

impl Signals {
    /// Begins to catch them.
    ///
    /// # Errors
    /// When the system gives no signals.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub fn catch() -> Result<Signals> {
        let caught = |kind| signal(kind).context("no signals");
        Ok(Signals {
            interrupted: caught(SignalKind::interrupt())?,
            terminated: caught(SignalKind::terminate())?,
            has_come: false,
        })
    }

    /// Whether one of them has come.
    pub(crate) async fn have_come(&mut self) -> bool {
        timeout(Duration::ZERO, self.come()).await.is_ok()
    }

    /// Waits for the first of them. Once it has come, it is there for whoever asks.
    pub(crate) async fn come(&mut self) {
        if !self.has_come {
            tokio::select! {
                _ = self.interrupted.recv() => {}
                _ = self.terminated.recv() => {}
            }
            self.has_come = true;
        }
    }
}

/// Answers on a socket that listens, until SIGINT or SIGTERM, or until [`App::end`] is called.
///
/// # Errors
/// When the socket cannot be used.
pub async fn serve(app: App, listening: TcpListener, tls: Option<Tls>, signals: Signals) -> Result<()> {
    listening.set_nonblocking(true).context("the socket that listens cannot be used")?;
    let handle = Handle::new();
    tokio::spawn(end(app.clone(), handle.clone(), signals));
    let (origins, streaming) = (app.origins.clone(), app.streaming.clone());
    let body_bytes = app.limits.body_bytes;
    let service = allowing(surrounded(router(app), body_bytes), &origins).into_make_service();
    match tls {
        None => {
            let server = axum_server::from_tcp(listening)?.acceptor(MayLeave);
            patient(server.handle(handle)).serve(service).await?;
        }
        Some(tls) => patient(tls.server(listening)?.handle(handle)).serve(service).await?,
    }
    // Streams that have left their connections end with the service, and say so to their clients.
    streaming.close();
    let _ = timeout(STREAMS_END_WITHIN, streaming.wait()).await;
    Ok(())
}

/// A server that waits for clients as long as it should, and no longer.
fn patient<A>(server: Server<SocketAddr, A>) -> Server<SocketAddr, A> {
    let mut server = server.first_request_timeout(HEAD_WITHIN);
    // A client that closes its side after its request waits for the answer: it has not gone. So one that has is not noticed before its answer.
    server.http_builder().http1().header_read_timeout(IDLE_FOR).half_close(true);
    server.http_builder().http2().keep_alive_interval(ALIVE_EVERY);
    server
}

/// Ends the streams and lets requests be answered, when the service is asked to end.
async fn end(app: App, handle: Handle<SocketAddr>, mut signals: Signals) {
    tokio::select! {
        () = signals.come() => {}
        () = app.ended() => {}
    }
    app.end();
    handle.graceful_shutdown(Some(END_WITHIN));
}
