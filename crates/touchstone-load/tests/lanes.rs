//! Runs against real services, good ones and bad ones, in every protocol that is spoken, and so with both engines. Nothing here asserts
//! a time: counts, kinds and order are asserted.

#[path = "lanes/agreement.rs"]
mod agreement;
#[path = "lanes/command.rs"]
mod command;
#[path = "lanes/requests.rs"]
mod requests;
mod service;
#[path = "lanes/streams.rs"]
mod streams;
#[path = "lanes/watches.rs"]
mod watches;

use service::{Asked, Reply, Service, Speaks, answer, bytes_of, start, start_as};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use touchstone_load::failure::Failure;
use touchstone_load::limit::Figures;
use touchstone_load::merge::merge;
use touchstone_load::outcome::Outcome;
use touchstone_load::plan::Plan;
use touchstone_load::run::run;
use touchstone_load::scenario::Scenario;
use touchstone_load::schedule::Share;
use touchstone_load::series::INTERVAL_NS;

/// A scenario of one request; `more` stands before it.
fn scenario(service: &Service, more: &str, request: &str) -> Scenario {
    let text = format!(
        "name = \"test\"\nhost = \"{}\"\n{more}\n[[request]]\nname = \"ask\"\npath = \"/ask\"\n{request}\n",
        service.host
    );
    let mut scenario = Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}\n{text}"));
    service.agree(&mut scenario);
    scenario
}

fn play(scenario: Scenario) -> Outcome {
    play_share(scenario, Share::WHOLE)
}

fn play_share(scenario: Scenario, share: Share) -> Outcome {
    let plan = Plan::new(scenario, share).expect("nothing is wrong with it");
    run(&plan, &AtomicBool::new(false), |_| {}).expect("it runs")
}

const OPEN: &str = "[[phase]]\nlength = \"500ms\"\nrate = 400\n";
const WARM_UP: &str = "[[phase]]\nname = \"warm-up\"\nlength = \"100ms\"\nusers = 8\ncounted = false\n";
const CLOSED: &str = "[[phase]]\nlength = \"300ms\"\nusers = 4\n";

fn failures(outcome: &Outcome) -> Vec<(Failure, u64)> {
    outcome.total().failures.into_iter().collect()
}

#[test]
fn every_start_of_an_open_loop_is_accounted_for() {
    for speaks in Speaks::ALL {
        let asked = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&asked);
        let service = start_as(speaks, move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            answer("fine")
        });
        let outcome = play(scenario(&service, OPEN, ""));
        assert_eq!((outcome.due, outcome.total().ended(), outcome.unsent), (200, 200, 0), "{speaks:?}");
        assert_eq!((failures(&outcome), asked.load(Ordering::Relaxed)), (vec![], 200));
        assert_eq!(outcome.total().statuses, [(200, 200)].into());
        let in_series: u64 = outcome.series.0.iter().map(|interval| interval.ended).sum();
        assert_eq!(in_series, 200);
    }
}

/// A service that stands still for 300 ms in the middle: what was due meanwhile has waited, though none of it was sent.
#[test]
fn a_stall_is_in_the_latencies_of_what_was_due_meanwhile() {
    for speaks in Speaks::ALL {
        let service = start_as(speaks, |asked: Asked| {
            let stall = if asked.before == 100 { 300 } else { 0 };
            Reply::Late(Duration::from_millis(stall), bytes_of(200, "fine"))
        });
        let outcome = play(scenario(&service, &format!("[load]\nusers = 1\n{OPEN}"), ""));
        let all = outcome.total();
        assert_eq!((outcome.due, all.ended(), all.failed()), (200, 200, 0));
        // One waits for 300 ms, and behind it 119 more, each 2.5 ms less: that does not depend on how quick this machine is.
        assert!(all.quantile_ns(0.9) > 200e6, "{}", all.quantile_ns(0.9));
        let waited_ns: f64 = all.response.recorded().map(|(ns, count)| ns as f64 * count as f64).sum();
        assert!(waited_ns > 100.0 * 150e6, "{waited_ns}");
        assert!(all.service.quantile_ns(0.5) < all.response.quantile_ns(0.8));
        // They waited for their user, which the service kept, and not for the generator.
        assert!(all.lag.quantile_ns(0.9) < all.response.quantile_ns(0.9) / 2);
    }
}

#[test]
fn a_closed_loop_obeys_littles_law() {
    for speaks in Speaks::ALL {
        let service = start_as(speaks, |_| Reply::Late(Duration::from_millis(2), bytes_of(200, "fine")));
        let outcome = play(scenario(&service, CLOSED, ""));
        let all = outcome.total();
        // Who does not think waits all the time. A thousandth is what a histogram's mean is off by, and the end of the phase cuts one
        // request of each user, which may be longer than the mean.
        let busy = outcome.rate() * all.mean_ns() / 1e9;
        let cut = 4.0 * all.max_ns() / 1e9 / outcome.counted_seconds();
        assert!((busy - 4.0).abs() < 0.008 + cut, "{busy}, {speaks:?}");
        // In HTTP/2 one connection carries them all, unless more are asked for.
        let made = if speaks.is_second() { 1 } else { 4 };
        assert_eq!((outcome.connections.made, failures(&outcome)), (made, vec![]), "{speaks:?}");
    }
}

/// A phase of a second had two answers a user, and 16 a second were told of a service that answers 8 users every 0.9 s.
#[test]
fn answers_after_the_end_of_a_phase_make_no_higher_rate() {
    for (speaks, warm_up) in Speaks::ALL.into_iter().flat_map(|speaks| [(speaks, ""), (speaks, WARM_UP)]) {
        let service = start_as(speaks, |_| Reply::Late(Duration::from_millis(180), bytes_of(200, "fine")));
        let load = format!("{warm_up}[[phase]]\nname = \"all\"\nlength = \"200ms\"\nusers = 8\n");
        let outcome = play(scenario(&service, &load, ""));
        let rate = outcome.rate();
        assert!(outcome.total().ended() >= 8 && rate <= 8.0 / 0.18, "{rate} a second, {speaks:?}");
        let halves = [0, 1].map(|number| {
            let scenario = scenario(&service, &load.replace("= 8", "= 3"), "");
            play_share(scenario, Share { number, of: 2 })
        });
        let sum = merge(halves.to_vec()).expect("they are of one plan");
        assert!(halves[0].rate() <= 2.0 / 0.18 && sum.rate() <= 3.0 / 0.18, "{speaks:?}");
        let within = halves.map(|half| half.total().within.expect("the loop is closed"));
        assert_eq!(sum.total().within, Some(within[0] + within[1]), "{speaks:?}");
    }
}

/// The rate tells as many requests as have ended in the phase, but for one of each user that either edge cuts.
fn assert_rate_is_of_the_ends(outcome: &Outcome, what: &str) {
    let phase = outcome.phases.iter().find(|phase| phase.is_counted).expect("one is counted");
    let interval = |seconds: f64| (seconds * 1e9).round() as usize / INTERVAL_NS as usize;
    let (begins, ends) = (interval(phase.begins), interval(phase.begins + phase.seconds));
    let ended: u64 = outcome.series.0.iter().take(ends).skip(begins).map(|interval| interval.ended).sum();
    let told = outcome.rate() * outcome.counted_seconds();
    let apart = (told - ended as f64).abs();
    assert!(apart <= f64::from(outcome.users), "{what}: {told} were told, {ended} have ended");
}

/// Seven slow users and a quick one: 581 a second were told of 72, for the slow ones had begun in the warm-up.
#[test]
fn users_of_unequal_speed_make_no_other_rate() {
    for (speaks, warm_up) in Speaks::ALL.into_iter().flat_map(|speaks| [(speaks, ""), (speaks, WARM_UP)]) {
        let service = start_as(speaks, |asked: Asked| {
            let ms = if asked.line.contains("/ask/0") { 2 } else { 700 };
            Reply::Late(Duration::from_millis(ms), bytes_of(200, "fine"))
        });
        let load = format!("{warm_up}[[phase]]\nname = \"all\"\nlength = \"500ms\"\nusers = 8\n");
        let mut scenario = scenario(&service, &load, "");
        scenario.requests[0].path = "/ask/${user}".into();
        let outcome = play(scenario);
        assert_rate_is_of_the_ends(&outcome, &format!("{speaks:?} {warm_up}"));
    }
}

/// A service that answers one after the other: who began last waits for all others, and in a short phase for longer than it lasts.
#[test]
fn a_service_that_answers_one_after_the_other_makes_no_other_rate() {
    for warm_up in ["", WARM_UP] {
        let free_at = Mutex::new(Instant::now());
        let service = start_as(Speaks::Plain, move |_| {
            let mut free_at = free_at.lock().expect("no test panics with it");
            *free_at = Instant::now().max(*free_at) + Duration::from_millis(20);
            Reply::Late(free_at.duration_since(Instant::now()), bytes_of(200, "fine"))
        });
        let load = format!("{warm_up}[[phase]]\nname = \"all\"\nlength = \"200ms\"\nusers = 8\n");
        assert_rate_is_of_the_ends(&play(scenario(&service, &load, "")), warm_up);
    }
}

#[test]
fn equal_users_make_the_rate_that_has_ended() {
    for (speaks, warm_up) in Speaks::ALL.into_iter().flat_map(|speaks| [(speaks, ""), (speaks, WARM_UP)]) {
        let service = start_as(speaks, |_| Reply::Late(Duration::from_millis(30), bytes_of(200, "fine")));
        let load = format!("{warm_up}[[phase]]\nname = \"all\"\nlength = \"300ms\"\nusers = 8\n");
        assert_rate_is_of_the_ends(&play(scenario(&service, &load, "")), &format!("{speaks:?} {warm_up}"));
    }
}

#[test]
fn more_users_than_connections_take_turns() {
    for speaks in Speaks::ALL {
        let service = start_as(speaks, |_| answer("fine"));
        let load = "[load]\nconnections = 8\n[[phase]]\nlength = \"300ms\"\nusers = 64\n";
        let outcome = play(scenario(&service, load, ""));
        assert_eq!((outcome.connections.made, failures(&outcome)), (8, vec![]));
        // The one connection that asks whether the service is there is not the run's.
        assert_eq!(service.connections.load(Ordering::Relaxed), 9);
        assert!(outcome.total().ended() > 64);
    }
}

#[test]
fn what_a_service_does_wrong_is_told_by_its_kind() {
    type Answering = fn(Asked) -> Reply;
    const RAW: usize = 4;
    let services: [(&str, Answering, &str, Failure); 12] = [
        ("rubbish", |_| Reply::Bytes(b"220 mail.example ESMTP\r\n".to_vec()), "", Failure::Malformed),
        (
            "a cut body",
            |_| Reply::BytesThenClose(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec()),
            "",
            Failure::Closed,
        ),
        (
            "headers without end",
            |_| Reply::Bytes([b"HTTP/1.1 200 OK\r\n".to_vec(), b"A: b\r\n".repeat(20_000)].concat()),
            "",
            Failure::Malformed,
        ),
        (
            "a reset within an answer",
            |_| Reply::Reset(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec()),
            "",
            Failure::Closed,
        ),
        ("a reset and no answer", |_| Reply::Reset(Vec::new()), "", Failure::Closed),
        (
            "an answer that comes too late",
            |_| Reply::Late(Duration::from_millis(600), bytes_of(200, "fine")),
            "",
            Failure::Timeout,
        ),
        ("no answer but an end", |_| Reply::Close, "", Failure::Closed),
        ("never an answer", |_| Reply::Nothing, "", Failure::Timeout),
        ("another status", |_| Reply::Bytes(bytes_of(500, "it broke")), "", Failure::Status),
        (
            "a status that is not the one",
            |_| Reply::Bytes(bytes_of(200, "")),
            "status = [201]",
            Failure::Status,
        ),
        ("another text", |_| answer("no"), "check = { contains = [\"yes\"] }", Failure::Check),
        ("nothing to keep", |_| answer("{}"), "capture = { id = { json = \"/id\" } }", Failure::Capture),
    ];
    for (at, (name, answering, request, expected)) in services.into_iter().enumerate() {
        // What is no HTTP/1.1 at all cannot be said in HTTP/2.
        for speaks in Speaks::ALL.into_iter().filter(|speaks| at >= RAW || !speaks.is_second()) {
            let service = start_as(speaks, answering);
            // A busy machine is late itself: who answers is given the time for it.
            let timeout = if expected == Failure::Timeout { "200ms" } else { "10s" };
            let load =
                format!("[load]\ntimeout = \"{timeout}\"\n[[phase]]\nlength = \"100ms\"\nrate = 100\n");
            let outcome = play(scenario(&service, &load, request));
            assert_eq!(failures(&outcome), [(expected, 10)], "{name}, {speaks:?}");
            assert_eq!((outcome.due, outcome.total().ended()), (10, 10), "{name}, {speaks:?}");
            if expected == Failure::Timeout {
                let service_ns = outcome.total().service;
                assert!(
                    service_ns.recorded().all(|(ns, _)| (200_000_000..200_300_000).contains(&ns)),
                    "{name}, {speaks:?}"
                );
            }
        }
    }
}

#[test]
fn a_service_that_resets_now_and_then_costs_those_requests_alone() {
    for speaks in Speaks::ALL {
        let service = start_as(
            speaks,
            |asked: Asked| if asked.before % 10 == 9 { Reply::Close } else { answer("fine") },
        );
        // A POST is not sent again: the service may have done it.
        let outcome = play(scenario(&service, OPEN, "method = \"POST\""));
        assert_eq!((outcome.total().ended(), failures(&outcome)), (200, vec![(Failure::Closed, 20)]));
        assert_eq!(outcome.connections.resent, 0);
    }
}

#[test]
fn a_connection_that_was_closed_while_idle_is_replaced_in_silence() {
    for speaks in Speaks::FIRST {
        // Each connection is closed after two answers, without a word in them.
        let service = start_as(speaks, |asked: Asked| {
            let bytes = bytes_of(200, "fine");
            if asked.before_here == 1 { Reply::BytesThenClose(bytes) } else { Reply::Bytes(bytes) }
        });
        let outcome = play(scenario(&service, OPEN, ""));
        assert_eq!((outcome.total().ended(), failures(&outcome)), (200, vec![]));
        assert!(outcome.connections.made >= 100, "{:?}", outcome.connections);
        assert!(
            outcome.connections.closed_idle + outcome.connections.resent > 0,
            "{:?}",
            outcome.connections
        );
    }
}

#[test]
fn a_service_that_says_it_closes_is_believed() {
    for speaks in Speaks::FIRST {
        let service = start_as(speaks, |_| {
            Reply::BytesThenClose(
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok".to_vec(),
            )
        });
        let outcome = play(scenario(&service, OPEN, ""));
        assert_eq!((outcome.connections.made, failures(&outcome)), (200, vec![]));
    }
}

/// A value of 100 KB, captured from an answer, made a body of 100 MB of a fragment.
#[test]
fn a_body_that_captured_values_make_too_long_is_not_sent() {
    for speaks in Speaks::ALL {
        let seen = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&seen);
        let service = start_as(speaks, move |asked: Asked| {
            counted.fetch_add(u64::from(asked.line.contains("/grown")), Ordering::Relaxed);
            answer(&format!("<{}>", "x".repeat(100_000)))
        });
        let more = "capture = { v = { after = \"<\", until = \">\" } }\n[[request]]\nname = \"grown\"\nmethod = \"POST\"\n\
                    path = \"/grown\"\nbody = \"${f}\"\n[[flow]]\nname = \"both\"\nsteps = [\"ask\", \"grown\"]\n[fragment.f]\n\
                    count = 1000\ntext = \"${v}\"";
        let outcome = play(scenario(&service, "[[phase]]\nlength = \"100ms\"\nrate = 100\n", more));
        assert_eq!(
            (failures(&outcome), seen.load(Ordering::Relaxed)),
            (vec![(Failure::TooLong, 10)], 0),
            "{speaks:?}"
        );
        let told = &outcome.total().first_wrong[&Failure::TooLong];
        assert!(told.contains("the body of the request `grown` may have 100000000 bytes"), "{told}");
    }
}

#[test]
fn chunks_and_interim_answers_are_read() {
    for speaks in Speaks::FIRST {
        let service = start_as(speaks, |_| {
            Reply::Bytes(
                b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"
                    .to_vec(),
            )
        });
        let outcome = play(scenario(&service, OPEN, "check = { contains = [\"abcdef\"] }"));
        assert_eq!((outcome.total().ended(), failures(&outcome)), (200, vec![]));
    }
}

#[test]
fn users_are_set_up_and_keep_what_they_were_given() {
    for speaks in Speaks::ALL {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&seen);
        let service = start_as(speaks, move |asked: Asked| {
            if asked.line.starts_with("POST /register") {
                return answer(&format!("{{\"token\":\"t{}\"}}", String::from_utf8_lossy(&asked.body)));
            }
            kept.lock().expect("no test panics with it").push(asked.line);
            answer("fine")
        });
        let setup = "setup = [\"register\"]\n[[request]]\nname = \"register\"\npath = \"/register\"\nbody = \"${user}\"\n\
                     capture = { token = { json = \"/token\" } }\n";
        let text = scenario(&service, &format!("{setup}{CLOSED}"), "");
        let mut text = text;
        text.requests[1].path = "/ask?t=${token}&n=${sequence}".into();
        let outcome = play(text);
        assert_eq!(failures(&outcome), vec![]);
        let setups: Vec<_> = outcome.rows.iter().filter(|row| row.phase == "setup").collect();
        assert_eq!((setups.len(), setups[0].ended()), (1, 4));
        let mut seen = seen.lock().expect("no test panics with it").clone();
        let all = seen.len();
        for user in 0..4 {
            assert!(seen.iter().any(|line| line.contains(&format!("t=t{user}&"))), "{user}");
        }
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), all, "a sequence has no number twice");
    }
}

#[test]
fn a_setup_that_fails_is_told_before_anything_is_measured() {
    for speaks in Speaks::ALL {
        let service = start_as(speaks, |_| Reply::Bytes(bytes_of(503, "not yet")));
        let setup = "setup = [\"register\"]\n[[request]]\nname = \"register\"\npath = \"/register\"\n";
        let plan = Plan::new(scenario(&service, &format!("{setup}{CLOSED}"), ""), Share::WHOLE)
            .expect("it is right");
        let error = run(&plan, &AtomicBool::new(false), |_| {}).expect_err("it cannot begin").to_string();
        assert!(error.contains("register") && error.contains("503") && error.contains("not yet"), "{error}");
    }
}

#[test]
fn steps_of_a_flow_follow_each_other_and_a_failed_one_ends_it() {
    for speaks in Speaks::ALL {
        let service = start_as(speaks, |asked: Asked| {
            if asked.line.contains("/second") && asked.before % 4 == 3 {
                return Reply::Bytes(bytes_of(500, ""));
            }
            answer("\"cursor\":7,")
        });
        let flows = "[[flow]]\nname = \"both\"\nsteps = [\"ask\", \"second\", \"third\"]\n\
                     [[request]]\nname = \"second\"\npath = \"/second?c=${cursor}\"\n[[request]]\nname = \"third\"\npath = \"/third\"\n";
        let capture = "capture = { cursor = { after = '\"cursor\":', until = \",\" } }";
        let outcome = play(scenario(&service, &format!("{flows}{OPEN}"), capture));
        let count = |name: &str| {
            let rows = outcome.by_request();
            rows.iter().find(|row| row.request == name).map_or((0, 0), |row| (row.ended(), row.failed()))
        };
        let (asked, second, third) = (count("ask"), count("second"), count("third"));
        assert_eq!((asked, second.0, third.1), ((200, 0), 200, 0));
        assert_eq!(third.0, second.0 - second.1);
    }
}

#[test]
fn shards_together_ask_what_one_run_asks() {
    for speaks in Speaks::ALL {
        let lines = || Arc::new(Mutex::new(Vec::new()));
        let (whole, parts) = (lines(), lines());
        let serve = |into: &Arc<Mutex<Vec<String>>>| {
            let into = Arc::clone(into);
            start_as(speaks, move |asked: Asked| {
                into.lock().expect("no test panics with it").push(asked.line);
                answer("fine")
            })
        };
        let flows = "[[flow]]\nname = \"a\"\nsteps = [\"ask\"]\n[[flow]]\nname = \"b\"\nsteps = [\"other\"]\n\
                     [[request]]\nname = \"other\"\npath = \"/other\"\n";
        let load = format!("{flows}[load]\narrivals = \"poisson\"\nthreads = 2\n{OPEN}");
        let one = play(scenario(&serve(&whole), &load, ""));
        let service = serve(&parts);
        // A machine with more processors may use them.
        let shards = (0..3).map(|number| {
            let load = load.replace("threads = 2", &format!("threads = {}", number + 1));
            play_share(scenario(&service, &load, ""), Share { number, of: 3 })
        });
        let sum = merge(shards.collect()).expect("they are of one plan");
        assert_eq!((sum.due, sum.total().ended(), sum.shards.len()), (one.due, one.total().ended(), 3));
        let sorted = |lines: Arc<Mutex<Vec<String>>>| {
            let mut lines = lines.lock().expect("no test panics with it").clone();
            lines.sort();
            lines
        };
        assert_eq!(sorted(whole), sorted(parts));
    }
}

#[test]
fn outcomes_that_do_not_belong_together_are_refused() {
    let service = start(|_| answer("fine"));
    let half = |rate: &str, number| {
        play_share(scenario(&service, &OPEN.replace("400", rate), ""), Share { number, of: 2 })
    };
    let (first, second) = (half("400", 0), half("400", 1));
    let other = half("500", 1);
    assert!(merge(vec![first.clone(), second.clone()]).is_ok());
    let error = |all| merge(all).expect_err("they do not").to_string();
    assert!(error(vec![first.clone(), other]).contains("different plans"));
    assert!(error(vec![first.clone(), first]).contains("there twice"));
}

#[test]
fn an_outcome_is_read_as_it_was_written() {
    let service = start(|_| answer("fine"));
    let outcome = play(scenario(&service, OPEN, ""));
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("outcome.json");
    std::fs::write(&path, serde_json::to_string(&outcome).expect("it is data")).expect("there is room");
    assert_eq!(Outcome::read(&path).expect("it was just written"), outcome);
    std::fs::write(&path, "{\"format\": 99}").expect("there is room");
    assert!(Outcome::read(&path).expect_err("it is of a version to come").to_string().contains("newer"));
}

/// A damaged outcome was an index that is none, a time that is none, or a sum that wraps.
#[test]
fn an_outcome_that_no_run_can_leave_is_refused() {
    let service = start(|_| answer("fine"));
    let outcome = play(scenario(&service, OPEN, ""));
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("outcome.json");
    let histogram = serde_json::to_value(&outcome).expect("it is data")["rows"][0]["response"].clone();
    let histogram = histogram.as_str().expect("it is text").to_owned();
    for (place, value, part) in [
        ("/series/0/first_band", 60.into(), "interval 0 of its series has more than 44 bands"),
        ("/phases/0/seconds", (-1.0).into(), "the phase `1` has a time that is none"),
        ("/shards", serde_json::json!([]), "its shards are no parts of one plan"),
        ("/shards/0/of", u64::MAX.into(), "its shards are no parts of one plan"),
        ("/rows/0/statuses/200", u64::MAX.into(), "more statuses than can be counted"),
        ("/rows/0/sent_bytes", u64::MAX.into(), "more sent bytes than can be counted"),
        ("/due", u64::MAX.into(), "more starts than can be counted"),
        ("/rows/0/response", histogram.replacen("HIST", "HISU", 1).into(), "histogram"),
        ("/rows/0/response", histogram[..histogram.len() / 8 * 4].into(), "histogram"),
    ] {
        let mut damaged = serde_json::to_value(&outcome).expect("it is data");
        *damaged.pointer_mut(place).expect(place) = value;
        std::fs::write(&path, damaged.to_string()).expect("there is room");
        let error = Outcome::read(&path).expect_err(place);
        assert_eq!(error.kind(), touchstone_load::ErrorKind::Input);
        let told = error.to_string();
        assert!(told.contains(part) && told.contains("outcome.json") && !told.contains('\n'), "{told}");
    }
    let parts = [1, 2].map(|number| {
        let mut part = outcome.clone();
        part.shards[0] = touchstone_load::outcome::Shard { number, of: 2 };
        part.rows[0].sent_bytes = 1 << 53;
        part
    });
    let told = merge(parts.to_vec()).expect_err("they are too many").to_string();
    assert!(told.contains("the sum: damaged outcome: it has more sent bytes than can be counted"), "{told}");
}

#[test]
fn a_run_that_is_stopped_tells_what_it_has() {
    for speaks in Speaks::ALL {
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let service = start_as(speaks, move |asked: Asked| {
            if asked.before == 50 {
                stopping.store(true, Ordering::Relaxed);
            }
            answer("fine")
        });
        // One user: who asks for the 51st time has been answered 50 times.
        let load = "[load]\nusers = 1\n[[phase]]\nlength = \"60s\"\nrate = 400\n";
        let plan = Plan::new(scenario(&service, load, ""), Share::WHOLE);
        let plan = plan.expect("nothing is wrong with it");
        let outcome = run(&plan, &stop, |_| {}).expect("it runs");
        assert!(
            outcome.stopped.is_some() && outcome.total().ended() >= 50 && outcome.unsent == 0,
            "{outcome:?}"
        );
        assert_eq!(failures(&outcome), vec![]);
    }
}

#[test]
fn a_service_that_is_not_there_is_told_in_a_sentence() {
    for speaks in Speaks::ALL {
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("one is free");
        let service =
            Service::of(format!("http{}://{port}", if speaks == Speaks::Tls { "s" } else { "" }), speaks);
        let plan = Plan::new(scenario(&service, OPEN, ""), Share::WHOLE).expect("nothing is wrong with it");
        let error = run(&plan, &AtomicBool::new(false), |_| {}).expect_err("nobody answers").to_string();
        assert!(error.contains("no service answers at http") && error.contains("start it"), "{error}");
    }
}

/// Each of 20,000 users that waited for the one connection failed on the stack of the one before it, which had no room for as many.
#[test]
fn however_many_wait_their_connections_may_all_fail() {
    const WAITING: usize = 20_000;
    // The address of a broadcast takes no connection, and the system says so at once.
    let nowhere: std::net::SocketAddr = "255.255.255.255:9".parse().expect("it is an address");
    let service = start(|asked: Asked| match asked.before {
        0 => Reply::BytesThenClose(
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok".to_vec(),
        ),
        _ => answer("fine"),
    });
    let load = format!(
        "[load]\nconnections = 1\nthink = \"1h\"\n[[phase]]\nlength = \"100ms\"\nusers = {WAITING}\n"
    );
    let mut plan = Plan::new(scenario(&service, &load, ""), Share::WHOLE).expect("nothing is wrong with it");
    plan.target.addresses.extend(vec![nowhere; WAITING - 1]);
    let outcome = run(&plan, &AtomicBool::new(false), |_| {}).expect("it runs");
    let failed = vec![(Failure::Connect, WAITING as u64 - 1)];
    assert_eq!((outcome.total().ended(), failures(&outcome)), (WAITING as u64, failed));
}

#[test]
fn users_join_a_closed_loop_one_after_the_other() {
    for speaks in Speaks::ALL {
        let service = start_as(speaks, |_| Reply::Late(Duration::from_millis(1), bytes_of(200, "fine")));
        let load = "[[phase]]\nlength = \"400ms\"\nusers = 1\nusers_to = 8\n[[phase]]\nlength = \"100ms\"\nusers = 2\n";
        let outcome = play(scenario(&service, load, ""));
        assert_eq!((outcome.users, failures(&outcome)), (8, vec![]));
        assert!(outcome.connections.made <= 8, "{:?}", outcome.connections);
        let rows: Vec<_> = outcome.rows.iter().map(|row| (row.phase.as_str(), row.ended() > 0)).collect();
        assert_eq!(rows, [("1", true), ("2", true)]);
    }
}

#[test]
fn think_time_is_not_a_latency() {
    for speaks in Speaks::ALL {
        let service = start_as(speaks, |_| answer("fine"));
        let load = "[load]\nthink = [\"20ms\", \"30ms\"]\n[[phase]]\nlength = \"400ms\"\nusers = 4\n";
        let outcome = play(scenario(&service, load, ""));
        // At most one every 20 ms and user, and one at the beginning.
        assert!(outcome.total().ended() <= 4 * 21, "{}", outcome.total().ended());
        assert!(outcome.total().ended() > 4);
    }
}
