//! The connection to Locust's master: a DEALER of ZeroMQ, whose identity is the worker's name.

use super::message::Message;
use std::time::Duration;
use zeromq::{
    DealerRecvHalf, DealerSendHalf, DealerSocket, Socket, SocketOptions, SocketRecv, SocketSend, ZmqError,
};

/// What was sent last has this long to leave: sending only puts a message into a queue.
const LEAVING: Duration = Duration::from_millis(200);

/// A connection. Its halves are apart, so that a message may come while another is sent.
pub(super) struct Wire {
    sender: DealerSendHalf,
    receiver: DealerRecvHalf,
}

impl Wire {
    /// Connects to `host:port`, and tries again while nobody listens there, for so long.
    pub(super) async fn connect(master: &str, name: &str, within: Duration) -> Result<Wire, String> {
        let mut options = SocketOptions::default();
        options.peer_identity(name.parse().map_err(told)?);
        options.connect_timeout(within);
        let mut socket = DealerSocket::with_options(options);
        socket.connect(&format!("tcp://{master}")).await.map_err(told)?;
        let (sender, receiver) = socket.split();
        Ok(Wire { sender, receiver })
    }

    pub(super) async fn send(&mut self, message: &Message) -> Result<(), String> {
        self.sender.send(message.to_bytes().into()).await.map_err(told)
    }

    /// The next message. Nothing is lost where this is given up while it waits.
    pub(super) async fn receive(&mut self) -> Result<Message, String> {
        let parts = self.receiver.recv().await.map_err(told)?;
        let last = parts.into_vec().pop().unwrap_or_default();
        Message::from_bytes(&last).map_err(|why| format!("a message of it is not Locust's: {why}"))
    }

    /// Ends the connection when all has been sent.
    pub(super) async fn end(self) {
        drop(self);
        tokio::time::sleep(LEAVING).await;
    }
}

fn told(error: ZmqError) -> String {
    match error {
        ZmqError::ConnectTimeout(_) => "nobody who speaks ZeroMQ listens there".into(),
        ZmqError::ReturnToSender { .. } => "it has closed the connection".into(),
        other => other.to_string(),
    }
}
