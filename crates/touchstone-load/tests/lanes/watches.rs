//! Streams of events that users hold open, and requests that they tell of: of an honest service, and of those that tell nothing, end
//! streams, refuse them, or write events in every way that is allowed, or not. Each has one outcome, and nothing waits for ever.

use crate::service::{Asked, Reply, Service, answer, bytes_of, start};
use crate::{CLOSED, OPEN, failures, play, play_share, scenario};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, listen, socket_with};
use std::collections::BTreeMap;
use std::io::{Result, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use touchstone_load::events::EVENT_BYTES_MAX;
use touchstone_load::failure::Failure;
use touchstone_load::limit::Figures;
use touchstone_load::memory::Process;
use touchstone_load::merge::merge;
use touchstone_load::outcome::{Outcome, RowOutcome, SETUP, WatchOutcome};
use touchstone_load::page;
use touchstone_load::plan::Plan;
use touchstone_load::report::summary;
use touchstone_load::requests::RequestsFile;
use touchstone_load::run::{Control, run_with};
use touchstone_load::scenario::Scenario;
use touchstone_load::schedule::Share;

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n";
const WATCH: &str = "[[watch]]\nname = \"changes\"\npath = \"/watch\"\nheaders = { x-user = \"${user}\" }\nafter = '\"cursor\":'\n";
const UPLOAD: &str = "method = \"POST\"\nheaders = { x-user = \"${user}\" }\n\
                      capture = { cursor = { after = '\"cursor\":', until = \"}\" } }\n\
                      delivery = { watch = \"changes\", reaches = \"cursor\" }";
/// A start for each of eight users.
const ONCE: &str = "[load]\nusers = 8\n[[phase]]\nlength = \"400ms\"\nrate = 20\n";
/// The same, of users who do not wait for long.
const IMPATIENT: &str = "[load]\nusers = 8\ntimeout = \"300ms\"\n[[phase]]\nlength = \"400ms\"\nrate = 20\n";

/// What is answered in the place of a stream, how that counts, and a part of what is told of it.
type NoStream = (fn() -> Reply, Failure, &'static str);

/// The revision of each user, and who waits for the next.
#[derive(Default)]
struct Feed {
    revisions: Mutex<BTreeMap<String, u64>>,
    risen: Condvar,
}

impl Feed {
    fn rise(&self, user: &str) -> u64 {
        let mut revisions = self.revisions.lock().unwrap_or_else(PoisonError::into_inner);
        let revision = revisions.entry(user.to_owned()).or_default();
        *revision += 1;
        let revision = *revision;
        self.risen.notify_all();
        revision
    }

    /// The revision of a user, when it is above another.
    fn above(&self, user: &str, last: Option<u64>) -> u64 {
        let mut revisions = self.revisions.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let revision = revisions.get(user).copied().unwrap_or_default();
            if last.is_none_or(|last| revision > last) {
                return revision;
            }
            revisions = self.risen.wait(revisions).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn user_of(asked: &Asked) -> String {
    asked.headers.iter().find_map(|header| header.strip_prefix("x-user: ")).unwrap_or_default().to_owned()
}

/// A service whose uploads raise their user's revision, and whose streams write the user's revision at once and whenever it has risen.
/// `tell` writes an event.
fn watched(
    head: &'static str,
    tell: impl Fn(&mut dyn Write, u64) -> Result<()> + Clone + Send + Sync + 'static,
    upload: impl Fn(u64) -> Reply + Send + Sync + 'static,
) -> Service {
    let feed = Arc::new(Feed::default());
    start(move |asked: Asked| {
        let user = user_of(&asked);
        if !asked.line.starts_with("GET /watch ") {
            return upload(feed.rise(&user));
        }
        assert!(asked.headers.contains(&"accept: text/event-stream".to_owned()), "{:?}", asked.headers);
        let (feed, tell) = (Arc::clone(&feed), tell.clone());
        Reply::Stream(Box::new(move |to| {
            to.write_all(format!("{HEAD}{head}\r\n").as_bytes())?;
            let mut last = None;
            loop {
                let revision = feed.above(&user, last);
                last = Some(revision);
                tell(to, revision)?;
            }
        }))
    })
}

fn plain(to: &mut dyn Write, revision: u64) -> Result<()> {
    to.write_all(format!("event: changes\ndata: {{\"cursor\":{revision}}}\n\n").as_bytes())
}

fn acknowledged(revision: u64) -> Reply {
    answer(&format!("{{\"cursor\":{revision}}}"))
}

fn honest() -> Service {
    watched("", plain, acknowledged)
}

fn rows(outcome: &Outcome) -> (RowOutcome, RowOutcome) {
    let rows = outcome.by_request();
    let row =
        |name: &str| rows.iter().find(|row| row.request == name).cloned().unwrap_or_else(RowOutcome::empty);
    (row("ask"), row("changes"))
}

fn openings(outcome: &Outcome) -> &RowOutcome {
    let is_one = |row: &&RowOutcome| row.phase == SETUP && row.request == "changes";
    outcome.rows.iter().find(is_one).expect("streams were asked for")
}

#[test]
fn a_delivery_is_a_row_of_its_own_and_every_stream_is_counted() {
    let service = honest();
    let outcome = play(scenario(&service, &format!("[load]\nusers = 8\n{WATCH}each = 2\n{OPEN}"), UPLOAD));
    let (uploads, deliveries) = rows(&outcome);
    assert_eq!((uploads.ended(), deliveries.ended(), failures(&outcome)), (200, 200, vec![]));
    assert_eq!(deliveries.label, "GET /watch, delivery");
    assert_eq!((openings(&outcome).ended(), &openings(&outcome).statuses), (16, &[(200, 16)].into()));
    let [watch] = &outcome.watches[..] else { panic!("one: {:?}", outcome.watches) };
    assert_eq!((watch.asked, watch.opened, watch.broke(), watch.held()), (16, 16, 0, 16));
    // One event a change and stream; the first of a stream may come when the phase has begun.
    assert!((400..=416).contains(&watch.events), "{}", watch.events);
    // A delivery ends no earlier than its event, and counts from the start of its request.
    assert!(deliveries.lag.count() == 200 && deliveries.service.count() == 200);
    assert!(outcome.is_held() && outcome.streams_lost() == 0);
    let text = summary(&outcome, 100);
    assert!(!text.contains("DID NOT HOLD"), "{text}");
    assert!(text.contains("Streams, GET /watch: 16 asked for, 16 opened"), "{text}");
    let html = page::of_outcome(&outcome).expect("it is written");
    assert!(html.contains("Percentiles of GET /watch, delivery") && html.contains("Streams of events"));
}

#[test]
fn a_closed_loop_goes_on_when_its_change_is_delivered() {
    let service = honest();
    let outcome = play(scenario(&service, &format!("{WATCH}{CLOSED}"), UPLOAD));
    let (uploads, deliveries) = rows(&outcome);
    assert!(uploads.ended() > 4 && failures(&outcome).is_empty(), "{:?}", failures(&outcome));
    assert_eq!(uploads.ended(), deliveries.ended());
    assert!(deliveries.within.is_some_and(|within| within > 0));
    assert!(!summary(&outcome, 100).contains("Little's law"), "nobody knows how many waited");
}

/// Of two times of one service, one is longer because the service waits in it.
#[test]
fn an_event_counts_from_when_it_came_before_the_answer_or_behind_it() {
    let late = |to: &mut dyn Write, revision: u64| {
        std::thread::park_timeout(Duration::from_millis(if revision > 0 { 40 } else { 0 }));
        plain(to, revision)
    };
    let load = format!("{WATCH}{ONCE}");
    let (uploads, deliveries) = rows(&play(scenario(&watched("", late, acknowledged), &load, UPLOAD)));
    assert_eq!((uploads.ended(), deliveries.ended(), deliveries.failed()), (8, 8, 0));
    assert!(deliveries.service.quantile_ns(0.5) > uploads.service.quantile_ns(0.5));
    let early = |revision: u64| {
        Reply::Late(Duration::from_millis(40), bytes_of(200, &format!("{{\"cursor\":{revision}}}")))
    };
    let (uploads, deliveries) = rows(&play(scenario(&watched("", plain, early), &load, UPLOAD)));
    assert_eq!((uploads.ended(), deliveries.ended(), deliveries.failed()), (8, 8, 0));
    assert!(deliveries.service.quantile_ns(0.5) < uploads.service.quantile_ns(0.5));
}

/// A service that tells nothing for 300 ms in the middle: what was due meanwhile has waited, though none of it was sent.
#[test]
fn a_stall_of_events_is_in_the_deliveries_of_what_was_due_meanwhile() {
    let stalled = |to: &mut dyn Write, revision: u64| {
        let end = Instant::now() + Duration::from_millis(if revision == 100 { 300 } else { 0 });
        while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            std::thread::park_timeout(left);
        }
        plain(to, revision)
    };
    let service = watched("", stalled, acknowledged);
    let outcome = play(scenario(&service, &format!("[load]\nusers = 1\n{WATCH}{OPEN}"), UPLOAD));
    let (_, deliveries) = rows(&outcome);
    assert_eq!((deliveries.ended(), deliveries.failed()), (200, 0));
    // One waits for 300 ms, and behind it 119 more, each 2.5 ms less.
    assert!(deliveries.quantile_ns(0.9) > 200e6, "{}", deliveries.quantile_ns(0.9));
    assert!(deliveries.service.quantile_ns(0.5) < deliveries.response.quantile_ns(0.8));
}

#[test]
fn events_are_read_however_they_are_written() {
    // Every byte is a chunk of its own; comments, carriage returns, and data of two lines.
    let tell = |to: &mut dyn Write, revision: u64| {
        let event = format!(
            ": alive\r\n\r\nid: {revision}\r\nevent: changes\r\ndata: {{\"a\":1,\r\ndata:\"cursor\":{revision}}}\r\n\r\n"
        );
        event.bytes().try_for_each(|byte| to.write_all(&[b'1', b'\r', b'\n', byte, b'\r', b'\n']))
    };
    let service = watched("Transfer-Encoding: chunked\r\n", tell, acknowledged);
    let outcome = play(scenario(&service, &format!("{WATCH}{ONCE}"), UPLOAD));
    assert_eq!((rows(&outcome).1.ended(), failures(&outcome)), (8, vec![]));
}

#[test]
fn a_service_that_tells_nothing_fails_its_deliveries_alone() {
    let silent = |to: &mut dyn Write, revision: u64| if revision > 0 { Ok(()) } else { plain(to, revision) };
    let load = format!("limits = \"p99 < 10s\"\n{WATCH}{IMPATIENT}");
    let outcome = play(scenario(&watched("", silent, acknowledged), &load, UPLOAD));
    let (uploads, deliveries) = rows(&outcome);
    assert_eq!((uploads.ended(), uploads.failed()), (8, 0));
    assert_eq!((deliveries.ended(), &deliveries.failures), (8, &[(Failure::Timeout, 8)].into()));
    let wrong = &deliveries.first_wrong[&Failure::Timeout];
    assert!(wrong.contains("1 is not told of: the last was 0"), "{wrong}");
    // A timeout is counted with its value, however late it was noticed.
    for quantile in [0.0, 1.0] {
        let ns = deliveries.service.quantile_ns(quantile) as f64;
        assert!((ns / 300e6 - 1.0).abs() < 0.002, "{ns}");
    }
    assert!(outcome.watches[0].held() == 8 && !outcome.is_held());
}

#[test]
fn a_service_that_ends_streams_has_them_counted_and_fails_what_waits_for_them() {
    let ends = |to: &mut dyn Write, revision: u64| match revision {
        0 => plain(to, revision),
        _ => Err(std::io::Error::other("the test says so")),
    };
    let load = ONCE.replace("rate = 20", "rate = 40");
    let outcome = play(scenario(&watched("", ends, acknowledged), &format!("{WATCH}{load}"), UPLOAD));
    let (uploads, deliveries) = rows(&outcome);
    assert_eq!((uploads.ended(), uploads.failed()), (16, 0));
    assert_eq!((deliveries.ended(), &deliveries.failures), (16, &[(Failure::Closed, 16)].into()));
    assert_eq!(deliveries.first_wrong[&Failure::Closed], "a stream of the user's is not open");
    let watch = &outcome.watches[0];
    assert_eq!((watch.opened, watch.held(), &watch.broken), (8, 0, &[(Failure::Closed, 8)].into()));
    assert_eq!(watch.first_broken[&Failure::Closed], "the service ended the stream");
    assert!(
        summary(&outcome, 100).replace('\n', " ").contains("Broke: 8, the first with: the service ended")
    );
}

#[test]
fn refused_streams_are_counted_with_their_status() {
    let watching = Arc::new(AtomicU64::new(0));
    let service = start(move |asked: Asked| {
        if !asked.line.starts_with("GET /watch ") {
            return answer("fine");
        }
        match watching.fetch_add(1, Ordering::Relaxed) {
            0..5 => Reply::Bytes(format!("{HEAD}\r\n").into_bytes()),
            _ => Reply::Bytes(bytes_of(503, "there are 5 open streams already")),
        }
    });
    let outcome = play(scenario(&service, &format!("{WATCH}{ONCE}"), ""));
    let watch = &outcome.watches[0];
    assert_eq!((watch.asked, watch.opened, watch.refused(), watch.held()), (8, 5, 3, 5));
    let opening = openings(&outcome);
    assert_eq!(
        (&opening.statuses, &opening.failures),
        (&[(200, 5), (503, 3)].into(), &[(Failure::Status, 3)].into())
    );
    let wrong = &opening.first_wrong[&Failure::Status];
    assert!(wrong.contains("status 503") && wrong.contains("5 open streams already"), "{wrong}");
    assert_eq!((rows(&outcome).0.ended(), failures(&outcome)), (8, vec![]));
    assert!(!outcome.is_held(), "three devices would not have heard of anything");
    let text = summary(&outcome, 100).replace('\n', " ");
    assert!(text.contains("THE SERVICE DID NOT HOLD ALL OF THEM"), "{text}");
    assert!(text.contains("8 asked for, 5 opened, 3 refused (either within P50 "), "{text}");
    assert!(summary(&outcome, 100).contains("Failed, GET /watch (setup): 3 status"));
}

/// Whatever answers in the place of a stream is a refusal, told with what it was; requests go on.
#[test]
fn what_is_no_stream_is_refused_with_what_it_was() {
    let cases: [NoStream; 6] = [
        (|| answer("fine"), Failure::Check, "no stream of events (text/event-stream), but no content-type"),
        (|| Reply::Bytes(b"HTTP/1.1 204 None\r\n\r\n".to_vec()), Failure::Status, "status 204"),
        (|| Reply::Bytes(b"nonsense\r\n\r\n".to_vec()), Failure::Malformed, "not HTTP"),
        (|| Reply::Close, Failure::Closed, "ended within the response"),
        (|| Reply::Nothing, Failure::Timeout, "no answer within 300ms"),
        (|| Reply::Stream(Box::new(|to| to.write_all(HEAD.as_bytes()))), Failure::Closed, "ended within"),
    ];
    for (reply, failure, why) in cases {
        let service =
            start(move |asked: Asked| if asked.line.contains("/watch") { reply() } else { answer("fine") });
        let outcome = play(scenario(&service, &format!("{WATCH}{IMPATIENT}"), ""));
        let (opening, watch) = (openings(&outcome), &outcome.watches[0]);
        assert_eq!((watch.asked, watch.opened, &opening.failures), (8, 0, &[(failure, 8)].into()));
        assert!(opening.first_wrong[&failure].contains(why), "{failure}: {:?}", opening.first_wrong);
        assert_eq!((rows(&outcome).0.ended(), failures(&outcome)), (8, vec![]), "{failure}");
    }
}

#[test]
fn an_event_without_end_ends_its_stream() {
    let service = start(|asked: Asked| {
        if !asked.line.contains("/watch") {
            return answer("fine");
        }
        Reply::Stream(Box::new(|to| {
            to.write_all(format!("{HEAD}\r\ndata: ").as_bytes())?;
            loop {
                to.write_all(&[b'x'; 1 << 16])?;
            }
        }))
    });
    let outcome = play(scenario(&service, &format!("{WATCH}{ONCE}"), ""));
    let watch = &outcome.watches[0];
    assert_eq!((watch.opened, &watch.broken), (8, &[(Failure::TooLong, 8)].into()));
    let why = &watch.first_broken[&Failure::TooLong];
    assert!(why.contains(&format!("longer than {} KiB", EVENT_BYTES_MAX >> 10)), "{why}");
    assert_eq!((rows(&outcome).0.ended(), failures(&outcome)), (8, vec![]));
}

/// An answer whose number was told long ago is of no change.
#[test]
fn an_answer_that_tells_of_nothing_new_is_not_delivered() {
    let service = watched("", plain, |_| answer("{\"cursor\":0}"));
    // The first event of each stream says 0, and the first phase lets all come.
    let warm_up = "[[phase]]\nlength = \"200ms\"\nrate = 0.001\ncounted = false\n";
    let load = ONCE.replace("[[phase]]", &format!("{warm_up}[[phase]]"));
    let outcome = play(scenario(&service, &format!("{WATCH}{load}"), UPLOAD));
    let (_, deliveries) = rows(&outcome);
    assert_eq!(deliveries.failures, [(Failure::Check, 8)].into(), "{:?}", deliveries.first_wrong);
    let wrong = &deliveries.first_wrong[&Failure::Check];
    assert!(wrong.contains("0 was told before the request, whose answer has 0"), "{wrong}");
}

/// Regression: what a stream told while a request waited for a connection was taken for what the service told of the request.
#[test]
fn what_is_told_before_a_request_is_sent_is_not_of_it() {
    let uploads = Arc::new(AtomicU64::new(0));
    let feed = Arc::new(Feed::default());
    let service = start(move |asked: Asked| {
        if !asked.line.starts_with("GET /watch ") {
            // The first one changes something, and is told of long before it is answered; the second one changes nothing.
            if uploads.fetch_add(1, Ordering::Relaxed) > 0 {
                return acknowledged(1);
            }
            std::thread::park_timeout(Duration::from_millis(150));
            let revision = feed.rise("all");
            return Reply::Late(
                Duration::from_millis(150),
                bytes_of(200, &format!("{{\"cursor\":{revision}}}")),
            );
        }
        let feed = Arc::clone(&feed);
        Reply::Stream(Box::new(move |to| {
            to.write_all(format!("{HEAD}\r\n").as_bytes())?;
            let mut last = 0;
            loop {
                last = feed.above("all", Some(last));
                plain(to, last)?;
            }
        }))
    });
    let load = "[load]\nusers = 2\nconnections = 1\n[[phase]]\nlength = \"50ms\"\nrate = 40\n";
    let (uploads, deliveries) = rows(&play(scenario(&service, &format!("{WATCH}{load}"), UPLOAD)));
    assert_eq!((uploads.ended(), uploads.failed()), (2, 0));
    assert_eq!((deliveries.ended(), &deliveries.failures), (2, &[(Failure::Check, 1)].into()));
}

fn run_until_stopped(scenario: Scenario) -> Outcome {
    let plan = Plan::new(scenario, Share::WHOLE).expect("nothing is wrong with it");
    let stop = AtomicBool::new(false);
    let show = |progress: &touchstone_load::run::Progress<'_>| {
        stop.store(progress.seconds.is_some_and(|seconds| seconds > 0.0), Ordering::Relaxed);
    };
    run_with(&plan, Control::of(&stop), show).expect("it runs")
}

#[test]
fn a_run_that_is_stopped_waits_for_no_event() {
    let silent = |to: &mut dyn Write, revision: u64| if revision > 0 { Ok(()) } else { plain(to, revision) };
    let service = watched("", silent, acknowledged);
    let load = format!("{WATCH}[load]\ntimeout = \"1m\"\n[[phase]]\nlength = \"1m\"\nusers = 4\n");
    let outcome = run_until_stopped(scenario(&service, &load, UPLOAD));
    let (uploads, deliveries) = rows(&outcome);
    assert_eq!((uploads.ended(), deliveries.ended(), outcome.watches[0].held()), (4, 0, 4));
    assert!(outcome.stopped.is_some() && deliveries.within.is_some_and(|within| within > 0));
}

/// Regression: streams that were being opened when a run was stopped were told as refused by the service.
#[test]
fn a_run_that_is_stopped_while_streams_are_opened_says_of_none_that_it_was_refused() {
    let stop = Arc::new(AtomicBool::new(false));
    let stopping = Arc::clone(&stop);
    let service = start(move |asked: Asked| match asked.before {
        0..3 => Reply::Stream(Box::new(|to| {
            to.write_all(format!("{HEAD}\r\n").as_bytes())?;
            loop {
                std::thread::park();
            }
        })),
        _ => {
            stopping.store(true, Ordering::Relaxed);
            Reply::Nothing
        }
    });
    let plan = Plan::new(scenario(&service, &format!("{WATCH}{ONCE}"), ""), Share::WHOLE).expect("it is one");
    let outcome = run_with(&plan, Control::of(&stop), |_| {}).expect("it runs");
    let refused: u64 = outcome.watches.iter().map(WatchOutcome::refused).sum();
    assert_eq!((refused, outcome.streams_lost()), (0, 0), "{:?}", outcome.watches);
    assert!(outcome.stopped.is_some() && !summary(&outcome, 100).contains("DID NOT HOLD"));
}

/// A service whose queue of connections is full takes none, and refuses none.
#[test]
fn a_stream_that_gets_no_connection_in_time_has_no_connection() {
    let listener = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .expect("there is room");
    bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    // The look for the service fills it.
    listen(&listener, 0).expect("it is bound");
    let address = SocketAddr::try_from(getsockname(&listener).expect("it is bound")).expect("it is of IP");
    let text = format!(
        "name = \"t\"\nhost = \"http://{address}\"\n{WATCH}{IMPATIENT}[[request]]\nname = \"ask\"\npath = \"/\"\n"
    );
    let outcome = play(Scenario::parse(&text, "test.toml").expect("it is one"));
    let opening = openings(&outcome);
    assert_eq!((outcome.watches[0].opened, &opening.failures), (0, &[(Failure::Connect, 8)].into()));
    assert_eq!(opening.first_wrong[&Failure::Connect], "no answer within 300ms");
}

/// Regression: a lane that had so many streams read them for as long as all of them brought more, before the first phase.
#[test]
fn streams_that_bring_more_than_can_be_read_let_a_run_begin_and_end() {
    let service = start(|asked: Asked| {
        if !asked.line.contains("/watch") {
            return answer("fine");
        }
        Reply::Stream(Box::new(|to| {
            to.write_all(format!("{HEAD}\r\n").as_bytes())?;
            let comments = format!("{:1023}\n", ":").repeat(64);
            loop {
                to.write_all(comments.as_bytes())?;
            }
        }))
    });
    let load = "[load]\nusers = 300\nconnections = 1\n[[phase]]\nlength = \"50ms\"\nrate = 20\n";
    let outcome = play(scenario(&service, &format!("{WATCH}{load}"), ""));
    assert_eq!((outcome.watches[0].held(), rows(&outcome).0.ended()), (300, 1));
}

#[test]
fn shards_are_added_and_read_again() {
    let service = honest();
    let scenario = scenario(&service, &format!("{WATCH}{ONCE}"), UPLOAD);
    let parts = [0, 1].map(|number| play_share(scenario.clone(), Share { number, of: 2 }));
    let sum = merge(parts.into()).expect("they are of one plan");
    assert_eq!((sum.watches[0].asked, sum.watches[0].opened, rows(&sum).1.ended()), (8, 8, 8));
    let text = serde_json::to_string(&sum).expect("it is data");
    assert_eq!(serde_json::from_str::<Outcome>(&text).expect("it is one"), sum);
    sum.check().expect("it is one");
    for (place, count) in [("/watches/0/opened", 9), ("/watches/0/broken", 9)] {
        let mut damaged = serde_json::to_value(&sum).expect("it is data");
        let place = damaged.pointer_mut(place).expect(place);
        *place = if place.is_object() { serde_json::json!({ "closed": count }) } else { count.into() };
        let damaged: Outcome = serde_json::from_value(damaged).expect("it has the form of one");
        let told = damaged.check().expect_err("it cannot be").to_string();
        assert!(told.contains("more streams of `changes` were open than"), "{told}");
    }
}

#[test]
fn openings_and_deliveries_have_lines_among_the_requests() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("requests.csv");
    let service = honest();
    let plan =
        Plan::new(scenario(&service, &format!("{WATCH}{ONCE}"), UPLOAD), Share::WHOLE).expect("it is one");
    let file = RequestsFile::make(&path).expect("there is room");
    let stop = AtomicBool::new(false);
    run_with(&plan, Control { requests: Some(&file), ..Control::of(&stop) }, |_| {}).expect("it runs");
    file.end().expect("there is room");
    let text = std::fs::read_to_string(&path).expect("it was written");
    let lines = |part: &str| text.lines().filter(|line| line.contains(part)).count();
    assert_eq!(
        (lines(",setup,changes,200,,"), lines(",1,ask,200,,"), lines(",1,changes,,,")),
        (8, 8, 8),
        "{text}"
    );
}

/// The service is a part of this process.
#[test]
fn the_memory_of_the_services_process_is_told() {
    let service = honest();
    let plan =
        Plan::new(scenario(&service, &format!("{WATCH}{ONCE}"), UPLOAD), Share::WHOLE).expect("it is one");
    let process = Some(Process::of(std::process::id()).expect("it is there"));
    let stop = AtomicBool::new(false);
    let outcome = run_with(&plan, Control { process, ..Control::of(&stop) }, |_| {}).expect("it runs");
    let memory = outcome.machines[0].service.expect("a process was named");
    let (before, open) = (memory.before.expect("it was there"), memory.open.expect("it was there"));
    assert!(before.pss_bytes > 0 && open.pss_bytes > 0 && memory.rss_bytes_most > 0);
    assert_eq!(memory.grown_bytes(), Some(open.pss_bytes as i64 - before.pss_bytes as i64));
    let text = summary(&outcome, 100).replace('\n', " ");
    assert!(text.contains(&format!("Memory of the service: process {}: PSS", std::process::id())), "{text}");
    assert!(text.contains("bytes a stream; RSS"), "{text}");
}
