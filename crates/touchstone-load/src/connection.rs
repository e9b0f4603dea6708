//! A connection that never waits: what cannot be done at once is done when the system says that it can.

use crate::response::Response;
use crate::room::Taken;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, ipproto, recv, send, socket_with,
    sockopt,
};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is being made, for a user.
    Connecting,
    /// A user waits for its answer.
    Busy,
    /// Nobody uses it.
    Idle,
}

/// A connection to the service.
#[derive(Debug)]
pub struct Connection {
    socket: OwnedFd,
    /// What it is doing.
    pub state: State,
    /// The user that it works for, by its place in the lane.
    pub user: usize,
    /// When its request was sent first, or since when it is being made.
    pub since_ns: u64,
    /// The answer as it comes.
    pub response: Response,
    /// Whether an answer has come on it before.
    pub is_used: bool,
    /// Whether its request is one that was sent before on another.
    pub is_resent: bool,
    /// The request.
    pub out: Vec<u8>,
    written: usize,
}

/// What became of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// All is sent.
    All,
    /// The rest must wait.
    Waits,
    /// The connection is of no more use.
    Broken(Errno),
}

impl Connection {
    /// Begins to make one, with room for its answers.
    ///
    /// # Errors
    /// What the system says.
    pub fn begin(
        address: SocketAddr,
        user: usize,
        now_ns: u64,
        taken: Taken,
    ) -> rustix::io::Result<Connection> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        match connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error),
        }
        Ok(Connection {
            socket,
            state: State::Connecting,
            user,
            since_ns: now_ns,
            response: Response::within(taken),
            is_used: false,
            is_resent: false,
            out: Vec::new(),
            written: 0,
        })
    }

    /// Whether it was made, now that the system says that something is known of it.
    ///
    /// # Errors
    /// Why it was not.
    pub fn made(&self) -> rustix::io::Result<()> {
        sockopt::socket_error(&self.socket)?
    }

    /// Makes it ready for a request, which the caller writes to `out`.
    pub fn prepare(&mut self) {
        self.out.clear();
        self.written = 0;
        self.response.clear();
    }

    /// Sends what is left of the request.
    pub fn send(&mut self) -> Sent {
        while self.written < self.out.len() {
            match send(&self.socket, &self.out[self.written..], SendFlags::NOSIGNAL) {
                Ok(sent) => self.written += sent,
                Err(Errno::AGAIN) => return Sent::Waits,
                Err(Errno::INTR) => {}
                Err(error) => return Sent::Broken(error),
            }
        }
        Sent::All
    }

    /// Takes what has come, at most as much as `scratch` holds. How many bytes it was: 0 at the connection's end.
    ///
    /// # Errors
    /// What the system says; nothing has come where it says [`Errno::AGAIN`].
    pub fn receive(&mut self, scratch: &mut [u8]) -> rustix::io::Result<usize> {
        loop {
            match recv(&self.socket, &mut *scratch, RecvFlags::empty()) {
                Ok((bytes, _)) => {
                    self.response.buffer().extend_from_slice(&scratch[..bytes]);
                    return Ok(bytes);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
