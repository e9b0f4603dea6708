//! A service of HTTP/1.1: a thread for each connection, which writes whatever bytes a test says.

use super::{Answering, Asked, Reply};
use rustix::net::sockopt::set_socket_linger;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A connection, with or without TLS.
trait Stream: Read + Write {
    /// Ends it.
    fn end(&mut self);
    /// Lets it be reset when it is dropped.
    fn reset(&mut self);
}

impl Stream for TcpStream {
    fn end(&mut self) {
        let _ = self.shutdown(Shutdown::Both);
    }

    fn reset(&mut self) {
        set_socket_linger(self, Some(Duration::ZERO)).expect("it is a socket");
    }
}

impl Stream for StreamOwned<ServerConnection, TcpStream> {
    fn end(&mut self) {
        self.conn.send_close_notify();
        let _ = self.flush();
        self.sock.end();
    }

    fn reset(&mut self) {
        self.sock.reset();
    }
}

/// Serves, for as long as the process lives.
pub(super) fn serve(
    listener: &TcpListener,
    tls: Option<Arc<ServerConfig>>,
    reply: &Arc<Answering>,
    counted: &AtomicU64,
) {
    let before = Arc::new(AtomicU64::new(0));
    for stream in listener.incoming().flatten() {
        counted.fetch_add(1, Ordering::Relaxed);
        stream.set_nodelay(true).expect("it is a socket");
        let (reply, before, tls) = (Arc::clone(reply), Arc::clone(&before), tls.clone());
        std::thread::spawn(move || match tls {
            None => answer(stream, &*reply, &before),
            Some(config) => {
                let tls = ServerConnection::new(config).expect("it is configured");
                answer(StreamOwned::new(tls, stream), &*reply, &before);
            }
        });
    }
}

fn answer(stream: impl Stream, reply: &Answering, before: &AtomicU64) {
    let mut stream = BufReader::new(stream);
    for before_here in 0.. {
        let Some((line, headers, body)) = read(&mut stream) else { return };
        let asked =
            Asked { line, headers, body, before: before.fetch_add(1, Ordering::Relaxed), before_here };
        let (bytes, is_last) = match reply(asked) {
            Reply::Bytes(bytes) => (bytes, false),
            Reply::BytesThenClose(bytes) => (bytes, true),
            Reply::Late(after, bytes) => {
                take(after);
                (bytes, false)
            }
            Reply::Endless => return endless(stream.get_mut()),
            Reply::Nothing => (Vec::new(), false),
            Reply::Close => (Vec::new(), true),
            Reply::Stream(write) => {
                // Who has gone away is written to in vain.
                let _ = write(stream.get_mut());
                return stream.get_mut().end();
            }
            Reply::Reset(bytes) => {
                let stream = stream.get_mut();
                let _ = stream.write_all(&bytes).and_then(|()| stream.flush());
                return stream.reset();
            }
        };
        let stream = stream.get_mut();
        let is_written = stream.write_all(&bytes).and_then(|()| stream.flush()).is_ok();
        if is_last || !is_written {
            return stream.end();
        }
    }
}

/// A body in chunks, until nobody takes it any more.
fn endless(stream: &mut impl Write) {
    let chunk = [b"10000\r\n".to_vec(), vec![b'x'; 0x10000], b"\r\n".to_vec()].concat();
    let mut written = stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while written.is_ok() {
        written = stream.write_all(&chunk);
    }
}

fn read(reader: &mut impl BufRead) -> Option<(String, Vec<String>, Vec<u8>)> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let (mut headers, mut length) = (Vec::new(), 0);
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header).ok()? == 0 {
            return None;
        }
        if header.trim().is_empty() {
            break;
        }
        let (name, value) = header.trim().split_once(": ")?;
        let name = name.to_ascii_lowercase();
        if name == "content-length" {
            length = value.parse().ok()?;
        }
        headers.push(format!("{name}: {value}"));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((line.trim().to_owned(), headers, body))
}

/// What a slow service does: it takes its time. No test waits with this for something to have happened.
fn take(time: Duration) {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        std::thread::park_timeout(left);
    }
}
