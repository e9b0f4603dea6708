//! Whether a service is there, asked once before a run: what is wrong with all connections is told in a sentence, and not in a table of
//! failures.

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::scenario::Http;
use crate::tls;
use rustls::ClientConnection;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

/// What a client of HTTP/2 says first (RFC 9113, section 3.4), with settings that change nothing.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// The bytes before what a frame holds.
const FRAME_HEAD_BYTES: usize = 9;
/// The kind of frame that a service of HTTP/2 sends first.
const SETTINGS: u8 = 4;

/// Asks for one connection, with all that must be agreed on before the first request.
///
/// # Errors
/// When nobody answers, or in another protocol.
pub fn is_there(plan: &Plan) -> Result<()> {
    let timeout = Duration::from_nanos(plan.scenario.load.timeout.nanos());
    let mut why = None;
    for address in &plan.target.addresses {
        match TcpStream::connect_timeout(address, timeout) {
            Ok(stream) => {
                let limited =
                    stream.set_read_timeout(Some(timeout)).and(stream.set_write_timeout(Some(timeout)));
                limited.map_err(|error| Error::io("limiting how long a service is waited for", &error))?;
                return agree(plan, stream);
            }
            Err(error) => why = Some(error),
        }
    }
    let why = why.map(|error| error.to_string()).unwrap_or_default();
    Err(Error::unavailable(format!("no service answers at {}: {why} (start it first)", plan.scenario.host)))
}

fn agree(plan: &Plan, mut stream: TcpStream) -> Result<()> {
    match plan.engine {
        Engine::Own => Ok(()),
        Engine::Hyper { http, is_secure: true } => {
            let config = Arc::new(plan.trust.config(http));
            let mut tls = ClientConnection::new(config, tls::server_name(&plan.target)?)
                .map_err(|error| Error::unavailable(format!("no TLS: {error}")))?;
            while tls.is_handshaking() {
                tls.complete_io(&mut stream).map_err(|error| no_tls(plan, &tls::why(&error, http)))?;
            }
            match http {
                Http::Two if tls.alpn_protocol() != Some(tls::protocol(http)) => {
                    Err(no_tls(plan, tls::NO_HTTP2))
                }
                _ => Ok(()),
            }
        }
        Engine::Hyper { .. } => speaks_http2(plan, &mut stream),
    }
}

fn no_tls(plan: &Plan, why: &str) -> Error {
    Error::unavailable(format!("no connection to {}: {why}", plan.scenario.host))
}

fn speaks_http2(plan: &Plan, stream: &mut TcpStream) -> Result<()> {
    let mut head = [0; FRAME_HEAD_BYTES];
    let answered = stream.write_all(PREFACE).and_then(|()| stream.read_exact(&mut head));
    let why = match answered {
        Ok(()) if head[3] == SETTINGS => return Ok(()),
        Ok(()) if head.starts_with(b"HTTP/1") => "it answers in HTTP/1.1".to_owned(),
        Ok(()) => "what it answers is something else".to_owned(),
        Err(error) => match error.kind() {
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => "it does not answer".to_owned(),
            _ => "it closed the connection".to_owned(),
        },
    };
    Err(Error::unavailable(format!(
        "{} does not speak HTTP/2 without TLS: {why} (for HTTP/1.1 leave out `http = 2` and --http2)",
        plan.scenario.host
    )))
}
