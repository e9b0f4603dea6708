//! Streams of events on sockets as they are: in chunks, with an end, and without what a request takes.

mod support;

use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use support::{Service, place};

/// A stream of `watch`, read byte by byte as it comes.
struct Raw {
    answer: BufReader<TcpStream>,
}

impl Raw {
    /// Asks in a version of HTTP, and sends more behind the request.
    fn ask(service: &Service, token: &str, version: &str, more: &str) -> Raw {
        let mut socket = TcpStream::connect(service.address.trim_start_matches("http://")).unwrap();
        write!(
            socket,
            "GET /v1/sync/watch {version}\r\nhost: x\r\nauthorization: Bearer {token}\r\nx-client: phone\r\n\r\n{more}"
        )
        .unwrap();
        Raw { answer: BufReader::new(socket) }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.answer.read_line(&mut line).unwrap();
        line.trim_end_matches("\r\n").to_owned()
    }

    /// The answer's status and headers.
    fn head(&mut self) -> Vec<String> {
        std::iter::from_fn(|| Some(self.line()).filter(|line| !line.is_empty())).collect()
    }

    /// The next chunk; none at the end.
    fn chunk(&mut self) -> Option<String> {
        let bytes = usize::from_str_radix(&self.line(), 16).unwrap();
        let mut chunk = vec![0; bytes];
        self.answer.read_exact(&mut chunk).unwrap();
        assert_eq!(self.line(), "", "a chunk has the length that it says");
        (bytes > 0).then(|| String::from_utf8(chunk).unwrap())
    }
}

fn event(cursor: u64) -> Option<String> {
    Some(format!("event: changes\ndata: {{\"cursor\":{cursor}}}\n\n"))
}

fn one_change() -> serde_json::Value {
    json!({"changes": [{"id": "a", "data": "1"}]})
}

#[test]
fn a_stream_is_chunks_until_the_service_ends_whatever_comes_behind_its_request() {
    let (_folder, store) = place();
    let service = Service::start(&store, &[]);
    let token = service.token("ada");
    let phone = service.device(&token, "phone");
    let again =
        format!("GET /v1/sync/delta HTTP/1.1\r\nauthorization: Bearer {token}\r\nx-client: phone\r\n\r\n");
    for more in ["", "x", &again] {
        let mut stream = Raw::ask(&service, &token, "HTTP/1.1", more);
        let head = stream.head();
        assert_eq!(head[0], "HTTP/1.1 200 OK");
        for header in ["content-type: text/event-stream", "transfer-encoding: chunked", "connection: close"] {
            assert!(head.iter().any(|line| line == header), "{head:?}");
        }
        let was = phone.get("/v1/sync/full").1["cursor"].as_u64().unwrap();
        assert_eq!(stream.chunk(), event(was));
        for cursor in was + 1..=was + 3 {
            phone.post("/v1/sync/delta", &one_change());
            assert_eq!(stream.chunk(), event(cursor));
            stream.answer.get_mut().write_all(b"more that nobody asked for").unwrap();
        }
    }
    let mut stream = Raw::ask(&service, &token, "HTTP/1.1", "");
    stream.head();
    assert_eq!(stream.chunk(), event(9));
    service.signal("TERM");
    assert_eq!(stream.chunk(), None, "it says that this is its end");
    assert_eq!(stream.answer.read_to_end(&mut Vec::new()).unwrap(), 0);
}

#[test]
fn a_client_that_knows_no_chunks_is_sent_events_as_they_are() {
    let (_folder, store) = place();
    let service = Service::start(&store, &[]);
    let token = service.token("ada");
    let phone = service.device(&token, "phone");
    let mut stream = Raw::ask(&service, &token, "HTTP/1.0", "");
    assert!(!stream.head().iter().any(|line| line.starts_with("transfer-encoding")));
    let mut told = || [(); 3].map(|()| stream.line().trim_end().to_owned());
    assert_eq!(told()[1], "data: {\"cursor\":0}");
    phone.post("/v1/sync/delta", &one_change());
    assert_eq!(told()[1], "data: {\"cursor\":1}");
}

#[test]
fn a_stream_whose_client_has_gone_is_none() {
    let (_folder, store) = place();
    let service = Service::start(&store, &[]);
    let token = service.token("ada");
    let phone = service.device(&token, "phone");
    let open = || phone.get("/v1/devices").1["devices"][0]["streams"].clone();
    let mut streams: Vec<Raw> = (0..3).map(|_| Raw::ask(&service, &token, "HTTP/1.1", "")).collect();
    streams.iter_mut().for_each(|stream| drop(stream.head()));
    assert_eq!(open(), 3);
    streams.truncate(1);
    while open() != 1 {
        std::thread::yield_now();
    }
}

/// Found by a user: the stream ended. By RFC 9112 a half-closed connection does not say that its client has gone.
#[test]
fn a_stream_goes_on_where_its_client_closes_its_side() {
    let (_folder, store) = place();
    let service = Service::start(&store, &[]);
    let token = service.token("ada");
    let phone = service.device(&token, "phone");
    let mut stream = Raw::ask(&service, &token, "HTTP/1.1", "");
    stream.head();
    assert_eq!(stream.chunk(), event(0));
    stream.answer.get_mut().shutdown(Shutdown::Write).unwrap();
    // Tried at once, and once more.
    assert_eq!([stream.chunk(), stream.chunk()], [(); 2].map(|()| Some(":\n\n".to_owned())));
    for cursor in 1..=3 {
        phone.post("/v1/sync/delta", &one_change());
        assert_eq!(stream.chunk(), event(cursor));
    }
    // What HTTP's machinery keeps goes on too.
    let mut stream = Raw::ask(&service, &token, "HTTP/1.0", "");
    stream.answer.get_mut().shutdown(Shutdown::Write).unwrap();
    stream.head();
    let mut told = || [(); 3].map(|()| stream.line().trim_end().to_owned());
    assert_eq!(told()[1], "data: {\"cursor\":3}");
    phone.post("/v1/sync/delta", &one_change());
    assert_eq!(told()[1], "data: {\"cursor\":4}");
}

/// Found by an attacker: one client that sent without end took a processor of the service.
#[test]
fn a_stream_whose_client_sends_on_and_on_ends() {
    let (_folder, store) = place();
    let service = Service::start(&store, &[]);
    let token = service.token("ada");
    service.device(&token, "phone");
    let mut stream = Raw::ask(&service, &token, "HTTP/1.1", "");
    stream.head();
    assert_eq!(stream.chunk(), event(0));
    let socket = stream.answer.get_mut();
    // Sooner or later the service has closed it, and takes no more.
    while socket.write_all(&[b'x'; 4096]).is_ok() {}
}

/// Bytes of memory that a process has.
#[cfg(target_os = "linux")]
fn memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// A request on a connection takes 20 KiB and more, most of it buffers. The allocator takes memory in large pieces,
/// now for one batch of streams and now for another (seen: from 0.1 to 12 KiB a stream), so the smallest batch counts.
#[cfg(target_os = "linux")]
#[test]
fn a_stream_takes_little_memory() {
    const STREAMS: u64 = 200;
    let (_folder, store) = place();
    let service = Service::start(&store, &["--user-streams", "1000"]);
    let token = service.token("ada");
    service.device(&token, "phone");
    let open = |number: u64| -> Vec<Raw> {
        let mut streams: Vec<Raw> = (0..number).map(|_| Raw::ask(&service, &token, "HTTP/1.1", "")).collect();
        for stream in &mut streams {
            stream.head();
            assert_eq!(stream.chunk(), event(0));
        }
        streams
    };
    // What the first ones take is there for all.
    let mut streams = open(STREAMS);
    let batches = [(); 3].map(|()| {
        let before = memory(service.child.id());
        streams.extend(open(STREAMS));
        memory(service.child.id()).saturating_sub(before) / STREAMS
    });
    assert!(batches.into_iter().min().unwrap() < 10 * 1024, "bytes each, by batch: {batches:?}");
}
