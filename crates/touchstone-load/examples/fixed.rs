//! A service that answers every request with the same hundred bytes, as quickly as one thread can: what generators are compared on.
//! `/page` has a hundred items instead, and a cursor, which stays where it is.
//!
//! It reads only where the head of a request ends: a body must come with it. `cargo run --release --example fixed -- 127.0.0.1:8080`

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

const BODY: &str = r#"{"id":"00000000-0000-4000-8000-000000000000","text":"a hundred bytes, as a small document has","n":1}"#;

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".into());
    let listener = TcpListener::bind(&address)?;
    listener.set_nonblocking(true)?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &listener, epoll::EventData::new_u64(u64::MAX), epoll::EventFlags::IN)?;
    println!("answering on {address}");
    let (small, page) = (answer(BODY), answer(&page()));
    let mut connections: Vec<Option<TcpStream>> = Vec::new();
    let mut events: Vec<epoll::Event> = Vec::with_capacity(256);
    let mut scratch = vec![0; 64 * 1024];
    loop {
        events.clear();
        match epoll::wait(&epoll, spare_capacity(&mut events), None) {
            // Whoever stops it for a second and lets it go on interrupts the wait.
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let place = event.data.u64();
            if place == u64::MAX {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    let data = epoll::EventData::new_u64(connections.len() as u64);
                    epoll::add(&epoll, &stream, data, epoll::EventFlags::IN)?;
                    connections.push(Some(stream));
                }
                continue;
            }
            let slot = &mut connections[place as usize];
            let Some(stream) = slot else { continue };
            let is_there = match stream.read(&mut scratch) {
                Ok(0) => false,
                // Requests come whole from all generators that are compared.
                Ok(bytes) => {
                    let requests = memchr::memmem::find_iter(&scratch[..bytes], b"\r\n\r\n").count();
                    let answer = if scratch.starts_with(b"GET /page") { &page } else { &small };
                    (0..requests).all(|_| stream.write_all(answer.as_bytes()).is_ok())
                }
                Err(error) => error.kind() == ErrorKind::WouldBlock,
            };
            if !is_there {
                *slot = None;
            }
        }
    }
}

fn answer(body: &str) -> String {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ";
    format!("{head}{}\r\n\r\n{body}", body.len())
}

/// 25.7 KB, as a page of a sync service has.
fn page() -> String {
    let text = "a note of a length ".repeat(9);
    let item = |revision: usize| {
        let id = format!("00000000-0000-4000-8000-{revision:012}");
        format!(r#"{{"id":"{id}","revision":{revision},"kind":"update","text":"{text}"}}"#)
    };
    let items: Vec<String> = (1..=100).map(item).collect();
    format!(r#"{{"changes":[{}],"cursor":0}}"#, items.join(","))
}
