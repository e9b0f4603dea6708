//! Making a connection: TCP, TLS where the host says so, and what HTTP agrees on first.

use super::counted::{Counted, Counts};
use super::inbox::{Event, Inbox};
use super::pool::Key;
use crate::engine::Engine;
use crate::error::Result;
use crate::plan::Plan;
use crate::scenario::Http;
use crate::tls;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio_rustls::TlsConnector;

/// A request as hyper sends it.
pub(super) type Written = Request<Full<Bytes>>;

/// What sends requests on a connection.
pub(super) enum Sender {
    /// One at a time.
    One(http1::SendRequest<Full<Bytes>>),
    /// Many.
    Two(http2::SendRequest<Full<Bytes>>),
}

impl Sender {
    /// Another for the same connection, where it carries several requests at a time.
    pub(super) fn another(&self) -> Option<Sender> {
        match self {
            Sender::One(_) => None,
            Sender::Two(sender) => Some(Sender::Two(sender.clone())),
        }
    }

    /// Waits until the connection has room for a request.
    pub(super) async fn ready(&mut self) -> hyper::Result<()> {
        match self {
            Sender::One(sender) => sender.ready().await,
            Sender::Two(sender) => sender.ready().await,
        }
    }

    /// Sends a request. The head of the answer.
    pub(super) async fn send(
        &mut self,
        request: Written,
    ) -> std::result::Result<Response<Incoming>, TrySendError<Written>> {
        match self {
            Sender::One(sender) => sender.try_send_request(request).await,
            Sender::Two(sender) => sender.try_send_request(request).await,
        }
    }

    /// Whether it is known that nothing can be sent any more.
    pub(super) fn is_closed(&self) -> bool {
        match self {
            Sender::One(sender) => sender.is_closed(),
            Sender::Two(sender) => sender.is_closed(),
        }
    }
}

/// A connection that was made.
pub(super) struct Made {
    /// What sends on it.
    pub(super) sender: Sender,
    /// Its bytes.
    pub(super) counts: Rc<Counts>,
    /// The task that moves them.
    pub(super) driver: AbortHandle,
}

/// What makes connections.
pub(super) struct Connector {
    tls: Option<(TlsConnector, ServerName<'static>)>,
    http: Http,
    streams: usize,
}

/// Runs the tasks of an HTTP/2 connection on the lane's thread.
#[derive(Clone)]
struct Here;

impl<F: Future<Output: 'static> + 'static> hyper::rt::Executor<F> for Here {
    fn execute(&self, task: F) {
        tokio::task::spawn_local(task);
    }
}

impl Connector {
    /// For a plan's target.
    pub(super) fn of(plan: &Plan) -> Result<Connector> {
        let (http, streams) = (plan.scenario.load.http, plan.scenario.load.streams as usize);
        let tls = match plan.engine {
            Engine::Hyper { is_secure: true, .. } => {
                // Each lane has its own, with the sessions that it resumes.
                let config = Arc::new(plan.trust.config(http));
                Some((TlsConnector::from(config), tls::server_name(&plan.target)?))
            }
            _ => None,
        };
        Ok(Connector { tls, http, streams })
    }

    /// Makes one. Why there is none, in words.
    pub(super) async fn make(
        &self,
        address: SocketAddr,
        key: Key,
        inbox: Rc<Inbox>,
    ) -> std::result::Result<Made, String> {
        let no_connection = |error: io::Error| format!("no connection: {error}");
        let stream = TcpStream::connect(address).await.map_err(no_connection)?;
        stream.set_nodelay(true).map_err(no_connection)?;
        let Some((connector, name)) = &self.tls else {
            return self.agree(stream, key, inbox).await;
        };
        let stream = connector.connect(name.clone(), stream).await;
        let stream = stream.map_err(|error| format!("no TLS: {}", tls::why(&error, self.http)))?;
        if self.http == Http::Two && stream.get_ref().1.alpn_protocol() != Some(tls::protocol(self.http)) {
            return Err(format!("no TLS: {}", tls::NO_HTTP2));
        }
        self.agree(stream, key, inbox).await
    }

    async fn agree<S: AsyncRead + AsyncWrite + Unpin + 'static>(
        &self,
        stream: S,
        key: Key,
        inbox: Rc<Inbox>,
    ) -> std::result::Result<Made, String> {
        let counts = Rc::new(Counts::default());
        let stream = TokioIo::new(Counted::new(stream, Rc::clone(&counts)));
        let no_http = |error: hyper::Error| format!("no {}: {error}", self.http);
        let (sender, driver) = match self.http {
            Http::One => {
                let (sender, connection) = http1::Builder::new().handshake(stream).await.map_err(no_http)?;
                (Sender::One(sender), drive(connection, key, inbox))
            }
            Http::Two => {
                let mut builder = http2::Builder::new(Here);
                builder.initial_max_send_streams(self.streams);
                let (sender, connection) = builder.handshake(stream).await.map_err(no_http)?;
                (Sender::Two(sender), drive(connection, key, inbox))
            }
        };
        Ok(Made { sender, counts, driver })
    }
}

/// Lets a connection move its bytes until it ends. Why it does, those learn who wait for an answer.
fn drive<C: Future<Output: 'static> + 'static>(connection: C, key: Key, inbox: Rc<Inbox>) -> AbortHandle {
    tokio::task::spawn_local(async move {
        connection.await;
        inbox.put(Event::Gone { key });
    })
    .abort_handle()
}
