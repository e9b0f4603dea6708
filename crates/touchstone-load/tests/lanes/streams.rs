//! What is particular to the engine for TLS and HTTP/2: streams that share a connection, long bodies, connections that end in a friendly
//! way, and requests that cannot be written.

use crate::service::{Asked, Reply, Speaks, answer, bytes_of, start_as};
use crate::{OPEN, failures, play, scenario};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use touchstone_load::failure::Failure;

/// Those of the engine for TLS and HTTP/2.
const HYPER: [Speaks; 3] = [Speaks::Tls, Speaks::Second, Speaks::SecondTls];

#[test]
fn as_many_streams_share_a_connection_as_they_may() {
    let service = start_as(Speaks::Second, |_| Reply::Late(Duration::from_millis(10), bytes_of(200, "")));
    let load = "[load]\nconnections = 2\nstreams = 3\n[[phase]]\nlength = \"300ms\"\nusers = 32\n";
    let outcome = play(scenario(&service, load, ""));
    assert_eq!((outcome.connections.made, failures(&outcome)), (2, vec![]));
    // Six at a time, of 10 ms at least; those who wait at the end are answered too.
    let ended = outcome.total().ended();
    assert!(ended <= 6 * 31 + 32, "{ended}");
    assert!(ended >= 32, "{ended}");
}

#[test]
fn connections_are_as_few_as_the_streams_allow_unless_more_are_asked_for() {
    let service = start_as(Speaks::Second, |_| answer("fine"));
    for (load, made) in [
        ("[load]\nstreams = 10\n[[phase]]\nlength = \"200ms\"\nusers = 25\n", 3),
        ("[load]\nthreads = 2\n[[phase]]\nlength = \"200ms\"\nusers = 25\n", 2),
        ("[load]\nconnections = 5\n[[phase]]\nlength = \"200ms\"\nusers = 25\n", 5),
    ] {
        let outcome = play(scenario(&service, load, ""));
        assert_eq!((outcome.connections.made, failures(&outcome)), (made, vec![]), "{load}");
    }
}

#[test]
fn a_connection_that_takes_no_more_is_replaced_in_silence() {
    for speaks in [Speaks::Second, Speaks::SecondTls] {
        // It says that it goes away, with the twentieth answer; what is under way is answered, and what came too late was not looked at.
        let service = start_as(speaks, |asked: Asked| {
            let bytes = bytes_of(200, "fine");
            if asked.before_here == 19 { Reply::BytesThenClose(bytes) } else { Reply::Bytes(bytes) }
        });
        for more in ["", "method = \"POST\"\nbody = \"x\""] {
            let outcome = play(scenario(&service, OPEN, more));
            let all = outcome.total();
            assert_eq!(
                (all.ended(), all.failures),
                (200, [].into()),
                "{speaks:?} {more} {:?}",
                all.first_wrong
            );
            assert!(outcome.connections.made > 1, "{speaks:?} {:?}", outcome.connections);
        }
    }
}

#[test]
fn long_bodies_go_both_ways() {
    let body = "0123456789abcdef".repeat(20_000);
    let sent = body.clone();
    for speaks in Speaks::ALL {
        let (expected, answered) = (sent.clone(), format!("{body}end"));
        let service = start_as(speaks, move |asked: Asked| {
            let is_whole = asked.body == expected.as_bytes();
            Reply::Bytes(bytes_of(if is_whole { 200 } else { 400 }, &answered))
        });
        let load = "[[phase]]\nlength = \"200ms\"\nrate = 100\n";
        let mut scenario = scenario(&service, load, "check = { contains = [\"fend\"] }");
        scenario.requests[0].body = Some(sent.clone());
        let outcome = play(scenario);
        assert_eq!((outcome.total().ended(), failures(&outcome)), (20, vec![]), "{speaks:?}");
        let all = outcome.total();
        let bytes = 20 * body.len() as u64;
        for counted in [all.sent_bytes, all.received_bytes] {
            assert!(counted > bytes && counted < bytes + 20 * 2_000, "{speaks:?}: {counted} of {bytes}");
        }
    }
}

/// All that came was kept, up to 1 GiB for each connection.
#[test]
fn a_body_without_end_is_refused() {
    for speaks in Speaks::ALL {
        let service = start_as(speaks, |_| Reply::Endless);
        let load = "[load]\ntimeout = \"5m\"\n[[phase]]\nlength = \"100ms\"\nrate = 20\n";
        let all = play(scenario(&service, load, "")).total();
        assert_eq!(all.failures, [(Failure::TooLong, 2)].into(), "{speaks:?} {:?}", all.first_wrong);
        assert_eq!(all.first_wrong[&Failure::TooLong], "the body is longer than 64 MiB", "{speaks:?}");
    }
}

#[test]
fn a_body_that_says_it_is_too_long_is_refused_at_its_head() {
    for speaks in Speaks::FIRST {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n";
        let service = start_as(speaks, |_| Reply::Bytes(head.into()));
        let load = "[load]\ntimeout = \"5m\"\n[[phase]]\nlength = \"100ms\"\nrate = 20\n";
        let outcome = play(scenario(&service, load, ""));
        assert_eq!(failures(&outcome), [(Failure::TooLong, 2)], "{speaks:?}");
    }
}

#[test]
fn headers_are_sent_and_kept() {
    for speaks in Speaks::ALL {
        let service = start_as(speaks, |asked: Asked| {
            let is_right = match asked.line.split(' ').nth(1) {
                Some("/ask") => {
                    asked.headers.iter().any(|header| header.starts_with("authorization: Bearer "))
                }
                Some("/next") => asked.headers.contains(&"if-match: \"x\"".to_owned()),
                _ => false,
            };
            let status = if is_right { 204 } else { 400 };
            let head = format!("HTTP/1.1 {status} It is\r\nETag: \"x\"\r\nContent-Length: 0\r\n\r\n");
            Reply::Bytes(head.into_bytes())
        });
        let flows = "[[flow]]\nname = \"both\"\nsteps = [\"ask\", \"next\"]\n\
                     [[request]]\nname = \"next\"\npath = \"/next\"\nheaders = { If-Match = \"${tag}\" }\n";
        let request =
            "headers = { Authorization = \"Bearer ${user}\" }\ncapture = { tag = { header = \"etag\" } }";
        let outcome = play(scenario(&service, &format!("{flows}{OPEN}"), request));
        assert_eq!((outcome.total().ended(), failures(&outcome)), (400, vec![]), "{speaks:?}");
    }
}

/// What hyper takes for no path is told; the own engine sends what a scenario says.
#[test]
fn a_request_that_cannot_be_written_is_told() {
    for speaks in HYPER {
        let service = start_as(speaks, |_| answer("fine"));
        let flows = "[values]\nid = \"a<b\"\n";
        let mut scenario = scenario(&service, &format!("{flows}{OPEN}"), "");
        scenario.requests[0].path = "/ask/${id}".into();
        let all = play(scenario).total();
        assert_eq!(all.failures, [(Failure::Malformed, 200)].into(), "{speaks:?}");
        let wrong = &all.first_wrong[&Failure::Malformed];
        assert!(wrong.contains("`/ask/a<b` is no path"), "{wrong}");
    }
}

/// A service whose answer has a line break in what goes into a path made the generator ask for something else.
#[test]
fn no_answer_makes_two_requests_of_one() {
    for speaks in Speaks::ALL {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&lines);
        let service = start_as(speaks, move |asked: Asked| {
            seen.lock().expect("no test panics with it").push(asked.line);
            answer("<1 HTTP/1.1\r\nHost: a\r\n\r\nDELETE /all>")
        });
        let flows = "[[flow]]\nname = \"both\"\nsteps = [\"ask\", \"next\"]\n\
                     [[request]]\nname = \"next\"\npath = \"/next/${id}\"\n";
        let capture = "capture = { id = { after = \"<\", until = \">\" } }";
        let outcome = play(scenario(&service, &format!("{flows}{OPEN}"), capture));
        assert_eq!(failures(&outcome), [(Failure::Capture, 200)], "{speaks:?}");
        let wrong = &outcome.total().first_wrong[&Failure::Capture];
        assert!(wrong.contains("has the byte 0x20, which cannot stand in the path"), "{wrong}");
        let lines = lines.lock().expect("no test panics with it");
        assert!(lines.iter().all(|line| line.starts_with("GET /ask ")), "{speaks:?}: {lines:?}");
    }
}

#[test]
fn every_pacing_begins_every_start() {
    for speaks in HYPER {
        for pacing in ["sleep", "hybrid", "spin"] {
            let asked = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&asked);
            let service = start_as(speaks, move |_| {
                counted.fetch_add(1, Ordering::Relaxed);
                answer("fine")
            });
            let load = format!("[load]\npacing = \"{pacing}\"\n[[phase]]\nlength = \"200ms\"\nrate = 200\n");
            let outcome = play(scenario(&service, &load, ""));
            assert_eq!((outcome.due, outcome.total().ended(), outcome.unsent), (40, 40, 0), "{pacing}");
            assert_eq!(asked.load(Ordering::Relaxed), 40, "{speaks:?} {pacing}");
        }
    }
}

/// A timeout of one stream leaves the others on its connection alone.
#[test]
fn a_stream_that_is_given_up_costs_itself_alone() {
    for speaks in [Speaks::Second, Speaks::SecondTls] {
        let service = start_as(
            speaks,
            |asked: Asked| if asked.before % 20 == 7 { Reply::Nothing } else { answer("fine") },
        );
        let outcome = play(scenario(&service, &format!("[load]\ntimeout = \"1s\"\n{OPEN}"), ""));
        assert_eq!((outcome.total().ended(), failures(&outcome)), (200, vec![(Failure::Timeout, 10)]));
        assert_eq!(outcome.connections.made, 1, "{speaks:?}");
    }
}
