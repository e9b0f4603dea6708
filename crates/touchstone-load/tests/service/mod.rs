//! A service for tests, on a port of its own: a real one, on sockets, which answers as a test says and misbehaves on purpose. It speaks
//! whichever protocol a test wants; over TLS with a certificate that is made for it.

mod certificate;
mod first;
mod second;

pub use certificate::Certificate;
use std::io::Write;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use touchstone_load::scenario::{Http, Scenario};

/// What a service speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// HTTP/1.1.
    Plain,
    /// HTTP/1.1 over TLS.
    Tls,
    /// HTTP/2, without agreeing on it.
    Second,
    /// HTTP/2 over TLS.
    SecondTls,
}

impl Speaks {
    /// Everything.
    pub const ALL: [Speaks; 4] = [Speaks::Plain, Speaks::Tls, Speaks::Second, Speaks::SecondTls];
    /// HTTP/1.1, in which a service answers with whatever bytes it likes.
    pub const FIRST: [Speaks; 2] = [Speaks::Plain, Speaks::Tls];

    /// Whether it is HTTP/2.
    pub fn is_second(self) -> bool {
        matches!(self, Speaks::Second | Speaks::SecondTls)
    }

    fn is_secure(self) -> bool {
        matches!(self, Speaks::Tls | Speaks::SecondTls)
    }
}

/// What a service does with a request.
pub enum Reply {
    /// These bytes, and the connection stays. In HTTP/2 they are translated.
    Bytes(Vec<u8>),
    /// These bytes, and then the connection is closed; in HTTP/2, as soon as all others on it are answered.
    BytesThenClose(Vec<u8>),
    /// These bytes, after so long.
    Late(Duration, Vec<u8>),
    /// A body without end.
    Endless,
    /// Nothing, ever; the connection stays.
    Nothing,
    /// The connection is closed at once; in HTTP/2, the stream.
    Close,
    /// These bytes, and then the connection is reset, as when a process dies; in HTTP/2, the stream.
    Reset(Vec<u8>),
    /// What this writes, for as long as it likes, and then the connection is closed; not in HTTP/2.
    Stream(Box<Writing>),
}

/// What writes an answer that takes its time.
pub type Writing = dyn FnOnce(&mut dyn Write) -> std::io::Result<()> + Send;

/// A request as it came.
pub struct Asked {
    /// Its first line.
    pub line: String,
    /// Its headers, `name: value` each, their names in small letters.
    pub headers: Vec<String>,
    /// Its body.
    pub body: Vec<u8>,
    /// How many came before it, on all connections.
    pub before: u64,
    /// How many came before it on its connection.
    pub before_here: u64,
}

/// What answers.
pub type Answering = dyn Fn(Asked) -> Reply + Send + Sync;

/// A service.
pub struct Service {
    /// Where it is.
    pub host: String,
    /// What it speaks.
    pub speaks: Speaks,
    /// How many connections were made to it.
    pub connections: Arc<AtomicU64>,
    certificate: Option<Certificate>,
}

impl Service {
    /// One that is not there.
    pub fn of(host: String, speaks: Speaks) -> Service {
        Service { host, speaks, connections: Arc::default(), certificate: None }
    }

    /// The file of its certificate.
    pub fn ca(&self) -> Option<PathBuf> {
        self.certificate.as_ref().map(Certificate::file)
    }

    /// Lets a scenario speak as it does.
    pub fn agree(&self, scenario: &mut Scenario) {
        scenario.load.http = if self.speaks.is_second() { Http::Two } else { Http::One };
        scenario.load.ca = self.ca();
    }
}

/// Starts one that speaks HTTP/1.1. It ends with the test's process.
pub fn start(reply: impl Fn(Asked) -> Reply + Send + Sync + 'static) -> Service {
    start_as(Speaks::Plain, reply)
}

/// Starts one.
pub fn start_as(speaks: Speaks, reply: impl Fn(Asked) -> Reply + Send + Sync + 'static) -> Service {
    let certificate = speaks.is_secure().then(Certificate::usual);
    start_with(speaks, certificate, reply)
}

/// Starts one with a certificate of the test's own.
pub fn start_with(
    speaks: Speaks,
    certificate: Option<Certificate>,
    reply: impl Fn(Asked) -> Reply + Send + Sync + 'static,
) -> Service {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let protocol = if speaks.is_secure() { "https" } else { "http" };
    let host = format!("{protocol}://{}", listener.local_addr().expect("it is bound"));
    let connections = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&connections);
    let reply: Arc<Answering> = Arc::new(reply);
    let protocol = if speaks.is_second() { "h2" } else { "http/1.1" };
    let tls = certificate.as_ref().map(|certificate| certificate.config(protocol));
    std::thread::spawn(move || {
        if speaks.is_second() {
            second::serve(&listener, tls, reply, counted);
        } else {
            first::serve(&listener, tls, &reply, &counted);
        }
    });
    Service { host, speaks, connections, certificate }
}

/// A plain answer.
pub fn answer(body: &str) -> Reply {
    Reply::Bytes(bytes_of(200, body))
}

/// The bytes of an answer.
pub fn bytes_of(status: u16, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} It is\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
