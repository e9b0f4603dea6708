//! Connections: none waits without end for a client that does not read, and one that has become a stream of events leaves HTTP's machinery.
//!
//! That machinery keeps buffers and state of 20 KiB for a request that is answered and for the next one. All that a stream needs is a socket, and
//! there are thousands of streams. So whoever answers a request may ask for the socket, and has it as soon as everything is sent that was
//! answered until then; for the machinery the connection has ended.

use axum_server::accept::Accept;
use std::future::{Ready, ready};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_io_timeout::TimeoutWriter;
use tower_http::add_extension::AddExtension;

/// How long a client may take no byte of what it is answered.
pub(crate) const TAKEN_WITHIN: Duration = Duration::from_secs(60);

/// A socket whose writes fail where the client takes nothing for too long.
pub(crate) type Socket = Pin<Box<TimeoutWriter<TcpStream>>>;

fn socket(tcp: TcpStream) -> io::Result<Socket> {
    // An answer is one write: nothing comes that would be sent with it.
    tcp.set_nodelay(true)?;
    // What the system has taken is not what the client has: it may be gone without a word.
    #[cfg(target_os = "linux")]
    socket2::SockRef::from(&tcp).set_tcp_user_timeout(Some(TAKEN_WITHIN))?;
    let mut socket = TimeoutWriter::new(tcp);
    socket.set_timeout(Some(TAKEN_WITHIN));
    Ok(Box::pin(socket))
}

/// Accepts what TLS is spoken over.
#[cfg(feature = "tls")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain;

#[cfg(feature = "tls")]
impl<S> Accept<TcpStream, S> for Plain {
    type Stream = Socket;
    type Service = S;
    type Future = Ready<io::Result<(Socket, S)>>;

    fn accept(&self, tcp: TcpStream, service: S) -> Self::Future {
        ready(socket(tcp).map(|socket| (socket, service)))
    }
}

/// Accepts connections that may leave. Requests find [`Leaving`] among their extensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MayLeave;

impl<S> Accept<TcpStream, S> for MayLeave {
    type Stream = Connection;
    type Service = AddExtension<S, Leaving>;
    type Future = Ready<io::Result<(Connection, Self::Service)>>;

    fn accept(&self, tcp: TcpStream, service: S) -> Self::Future {
        ready(socket(tcp).map(|socket| {
            let leaving = Leaving::default();
            let service = AddExtension::new(service, leaving.clone());
            (Connection { socket: Some(socket), leaving }, service)
        }))
    }
}

/// What a connection and its requests share: whether it leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leaving {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Stays,
    /// Somebody waits for the socket.
    Asked(oneshot::Sender<Socket>),
    Left,
}

impl Leaving {
    /// Asks for the socket. It is given when all is sent that is answered until now, and never where the connection ends before.
    pub(crate) fn ask(&self) -> oneshot::Receiver<Socket> {
        let (sender, receiver) = oneshot::channel();
        *self.lock() = State::Asked(sender);
        receiver
    }

    /// Whether the socket is given away.
    pub(crate) fn has_left(&self) -> bool {
        matches!(*self.lock(), State::Left)
    }

    /// Whoever waits for the socket, where somebody does.
    fn leave(&self) -> Option<oneshot::Sender<Socket>> {
        let mut state = self.lock();
        match std::mem::take(&mut *state) {
            State::Asked(sender) => {
                *state = State::Left;
                Some(sender)
            }
            other => {
                *state = other;
                None
            }
        }
    }

    /// Nothing that holds the lock can panic.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection as HTTP's machinery has it: its client seems to have gone when it has left.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: Option<Socket>,
    leaving: Leaving,
}

impl Connection {
    fn socket(&mut self) -> io::Result<Pin<&mut TimeoutWriter<TcpStream>>> {
        match &mut self.socket {
            Some(socket) => Ok(socket.as_mut()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Some(socket) => socket.as_mut().poll_read(context, buffer),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.socket()?.poll_write(context, bytes)
    }

    /// Is asked for when all that was answered is written.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(mut socket) = self.socket.take() else { return Poll::Ready(Ok(())) };
        let flushed = socket.as_mut().poll_flush(context);
        let asking = if flushed.is_ready() { self.leaving.leave() } else { None };
        match asking {
            Some(asking) => {
                // Whoever asked may have gone: then the socket is closed.
                let _ = asking.send(socket);
                // The machinery waits for the socket, which wakes others now.
                context.waker().wake_by_ref();
            }
            None => self.socket = Some(socket),
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Some(socket) => socket.as_mut().poll_shutdown(context),
            None => Poll::Ready(Ok(())),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.socket()?.poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.as_ref().is_some_and(|socket| socket.is_write_vectored())
    }
}
