//! A service with a capacity that does not depend on the machine: it works for the same time on each request, on one at a time. It only
//! waits for that time, and whoever is late in telling the answer makes no other request later. What a search for a capacity is tried on.
//!
//! `cargo run --release --example steady -- 127.0.0.1:8080 1000` answers a thousand a second

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone";

fn main() -> std::io::Result<()> {
    let mut said = std::env::args().skip(1);
    let address = said.next().unwrap_or_else(|| "127.0.0.1:8080".into());
    let a_second: f64 = said.next().and_then(|text| text.parse().ok()).unwrap_or(1_000.0);
    let work = Duration::from_secs_f64(1.0 / a_second);
    let listener = TcpListener::bind(&address)?;
    println!("answering on {address}");
    let free_at = Arc::new(Mutex::new(Instant::now()));
    for stream in listener.incoming() {
        let (stream, free_at) = (stream?, Arc::clone(&free_at));
        std::thread::spawn(move || serve(stream, work, &free_at));
    }
    Ok(())
}

fn serve(mut stream: TcpStream, work: Duration, free_at: &Mutex<Instant>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut asked = [0; 4_096];
    // Requests come whole, one at a time.
    while stream.read(&mut asked)? > 0 {
        let done_at = {
            let mut free_at = free_at.lock().expect("nothing panics with it");
            *free_at = (*free_at).max(Instant::now()) + work;
            *free_at
        };
        std::thread::sleep(done_at.saturating_duration_since(Instant::now()));
        stream.write_all(ANSWER)?;
    }
    Ok(())
}
