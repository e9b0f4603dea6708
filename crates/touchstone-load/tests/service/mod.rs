//! A service for tests, on a port of its own: a real one, on sockets, which answers as a test says and misbehaves on purpose.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a service does with a request.
pub enum Reply {
    /// These bytes, and the connection stays.
    Bytes(Vec<u8>),
    /// These bytes, and then the connection is closed.
    BytesThenClose(Vec<u8>),
    /// These bytes, after so long.
    Late(Duration, Vec<u8>),
    /// Nothing, ever; the connection stays.
    Nothing,
    /// The connection is closed at once.
    Close,
}

/// A request as it came.
pub struct Asked {
    /// Its first line.
    pub line: String,
    /// Its body.
    pub body: Vec<u8>,
    /// How many came before it, on all connections.
    pub before: u64,
    /// How many came before it on its connection.
    pub before_here: u64,
}

/// A service.
pub struct Service {
    /// Where it is.
    pub host: String,
    /// How many connections were made to it.
    pub connections: Arc<AtomicU64>,
}

/// Starts one. It ends with the test's process.
pub fn start(reply: impl Fn(Asked) -> Reply + Send + Sync + 'static) -> Service {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let host = format!("http://{}", listener.local_addr().expect("it is bound"));
    let connections = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&connections);
    let reply = Arc::new(reply);
    let before = Arc::new(AtomicU64::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::Relaxed);
            let (reply, before) = (Arc::clone(&reply), Arc::clone(&before));
            std::thread::spawn(move || serve(stream, &*reply, &before));
        }
    });
    Service { host, connections }
}

fn serve(stream: TcpStream, reply: &dyn Fn(Asked) -> Reply, before: &AtomicU64) {
    let mut reader = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
    let mut writer = stream;
    writer.set_nodelay(true).expect("it is a socket");
    for before_here in 0.. {
        let Some((line, body)) = read(&mut reader) else { return };
        let asked = Asked { line, body, before: before.fetch_add(1, Ordering::Relaxed), before_here };
        match reply(asked) {
            Reply::Bytes(bytes) => {
                if writer.write_all(&bytes).is_err() {
                    return;
                }
            }
            Reply::Late(after, bytes) => {
                take(after);
                if writer.write_all(&bytes).is_err() {
                    return;
                }
            }
            Reply::BytesThenClose(bytes) => {
                let _ = writer.write_all(&bytes);
                let _ = writer.shutdown(Shutdown::Both);
                return;
            }
            Reply::Nothing => {}
            Reply::Close => {
                let _ = writer.shutdown(Shutdown::Both);
                return;
            }
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut length = 0;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header).ok()? == 0 {
            return None;
        }
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((line.trim().to_owned(), body))
}

/// What a slow service does: it takes its time. No test waits with this for something to have happened.
fn take(time: Duration) {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        std::thread::park_timeout(left);
    }
}

/// A plain answer.
pub fn answer(body: &str) -> Reply {
    Reply::Bytes(bytes_of(200, body))
}

/// The bytes of an answer.
pub fn bytes_of(status: u16, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} It is\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
