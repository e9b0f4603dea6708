//! The file of all requests: it says of each what the outcome counts of all, whatever became of them, and is whole however a run ends.

use crate::service::{Asked, Reply, Speaks, answer, bytes_of, start, start_as};
use crate::{CLOSED, OPEN, scenario};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use touchstone_load::outcome::Outcome;
use touchstone_load::plan::Plan;
use touchstone_load::requests::{COLUMNS, RequestsFile};
use touchstone_load::run::{Control, run_with};
use touchstone_load::scenario::Scenario;
use touchstone_load::schedule::Share;

/// A request as its line tells it.
struct Line {
    began_ns: i64,
    user: u64,
    iteration: u64,
    phase: String,
    request: String,
    status: String,
    failure: String,
    response_ns: u64,
    service_ns: Option<u64>,
}

/// How many requests there are by phase, name, and what became of them.
type Counts = BTreeMap<(String, String, String), u64>;

fn read(path: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(path).expect("it was written");
    assert!(text.ends_with('\n'), "the last line is whole");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(COLUMNS.map(|(name, _)| name).join(",").as_str()));
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("`{text}` is no number"));
    let parsed = lines.map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), COLUMNS.len(), "{line}");
        Line {
            began_ns: fields[0].parse().expect("it is a number"),
            user: number(fields[1]),
            iteration: number(fields[2]),
            phase: fields[3].into(),
            request: fields[4].into(),
            status: fields[5].into(),
            failure: fields[6].into(),
            response_ns: number(fields[7]),
            service_ns: (!fields[8].is_empty()).then(|| number(fields[8])),
        }
    });
    parsed.collect()
}

fn play(scenario: Scenario, path: &Path) -> (Outcome, Vec<Line>) {
    let plan = Plan::new(scenario, Share::WHOLE).expect("nothing is wrong with it");
    let file = RequestsFile::make(path).expect("there is room");
    let stop = AtomicBool::new(false);
    let control = Control { requests: Some(&file), ..Control::of(&stop) };
    let outcome = run_with(&plan, control, |_| {}).expect("it runs");
    file.end().expect("there is room");
    (outcome, read(path))
}

/// All requests, the failed and each status, as lines tell of them.
fn told(lines: &[Line]) -> Counts {
    let mut counts = Counts::new();
    for line in lines {
        let place = |what: String| (line.phase.clone(), line.request.clone(), what);
        *counts.entry(place("ended".into())).or_default() += 1;
        if !line.failure.is_empty() {
            *counts.entry(place(line.failure.clone())).or_default() += 1;
        }
        if !line.status.is_empty() {
            *counts.entry(place(line.status.clone())).or_default() += 1;
        }
    }
    counts
}

/// The same, as the outcome counts it.
fn counted(outcome: &Outcome) -> Counts {
    let mut counts = Counts::new();
    for row in &outcome.rows {
        let place = |what: String| (row.phase.clone(), row.request.clone(), what);
        counts.insert(place("ended".into()), row.ended());
        counts.extend(row.failures.iter().map(|(kind, count)| (place(kind.word().into()), *count)));
        counts.extend(row.statuses.iter().map(|(status, count)| (place(status.to_string()), *count)));
    }
    counts
}

fn ended_ns(line: &Line) -> i64 {
    line.began_ns + line.response_ns as i64
}

/// A user's iterations are 0, 1, 2 and so on, and each has its steps one after the other.
fn assert_iterations(lines: &[Line]) {
    let mut iterations: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut ended: BTreeMap<u64, i64> = BTreeMap::new();
    for line in lines {
        iterations.entry(line.user).or_default().insert(line.iteration);
        let before = ended.insert(line.user, ended_ns(line));
        assert!(before.is_none_or(|before| before <= line.began_ns), "user {} is at two places", line.user);
    }
    for (user, iterations) in iterations {
        assert!(iterations.iter().copied().eq(0..iterations.len() as u64), "user {user}: {iterations:?}");
    }
}

const STEPS: &str = "setup = [\"register\"]\n[[request]]\nname = \"register\"\npath = \"/register\"\n\
                     [[request]]\nname = \"second\"\npath = \"/second\"\nmethod = \"POST\"\n\
                     [[flow]]\nname = \"both\"\nsteps = [\"ask\", \"second\"]\n";

#[test]
fn lines_say_of_each_request_what_the_outcome_counts_of_all() {
    let folder = tempfile::tempdir().expect("there is room");
    for speaks in Speaks::ALL {
        for (load, is_closed) in [(OPEN, false), (CLOSED, true)] {
            let service = start_as(speaks, |asked: Asked| match asked.before % 20 {
                _ if asked.line.contains("/register") => answer("fine"),
                7 => Reply::Bytes(bytes_of(500, "")),
                11 => answer("wrong"),
                13 if asked.line.contains("/second") => Reply::Close,
                17 => Reply::Nothing,
                _ => answer("fine"),
            });
            let load = format!("{STEPS}[load]\nthreads = 2\ntimeout = \"500ms\"\n{load}");
            let scenario = scenario(&service, &load, "check = { contains = [\"fine\"] }");
            let (outcome, lines) = play(scenario, &folder.path().join("requests.csv"));
            assert_eq!(told(&lines), counted(&outcome), "{speaks:?}");
            assert!(outcome.total().failures.len() >= 2, "{:?}", outcome.total().failures);
            let is_setup = |line: &Line| line.phase == "setup";
            assert!(lines.iter().all(|line| (ended_ns(line) < 0) == is_setup(line)), "{speaks:?}");
            assert!(lines.iter().filter(|line| is_setup(line)).all(|line| line.iteration == 0));
            if is_closed {
                assert_iterations(&lines);
            }
            assert!(lines.iter().all(|line| line.service_ns.is_none_or(|ns| ns <= line.response_ns)));
            // A timeout is noticed later than it is over.
            let in_time: Vec<i64> =
                lines.iter().filter(|line| line.failure != "timeout").map(ended_ns).collect();
            assert!(in_time.is_sorted(), "{speaks:?}");
        }
    }
}

#[test]
fn what_has_no_answer_at_the_end_is_in_it_but_for_what_never_had_a_user() {
    let folder = tempfile::tempdir().expect("there is room");
    for speaks in Speaks::ALL {
        let service = start_as(speaks, |_| Reply::Nothing);
        // The run gives up a timeout after its end, before the request that was sent last is overdue.
        let load = "[load]\nusers = 3\nconnections = 1\nstreams = 1\ntimeout = \"200ms\"\n\
                    [[phase]]\nlength = \"300ms\"\nrate = 100\n";
        let (outcome, lines) = play(scenario(&service, load, ""), &folder.path().join("requests.csv"));
        let all = outcome.total();
        assert_eq!((lines.len() as u64 + outcome.unsent, all.failed()), (all.ended(), all.ended()));
        let unsent: Vec<&Line> = lines.iter().filter(|line| line.failure == "unsent").collect();
        assert!(unsent.iter().all(|line| line.service_ns.is_none()) && !unsent.is_empty(), "{speaks:?}");
        assert!(lines.iter().all(|line| line.status.is_empty() && line.user < 3), "{speaks:?}");
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_touchstone-load"));
    command.args(arguments);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_file_is_whole_after_ctrl_c() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("requests.csv");
    let asked = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&asked);
    let service = start(move |_| {
        counting.fetch_add(1, Ordering::Relaxed);
        answer("fine")
    });
    let file = path.display().to_string();
    let run = ["--users", "4", "--for", "60s", "--threads", "2", "--json", "--requests", &file];
    let mut child = command(&[&[service.host.as_str()], &run[..]].concat());
    let child = child.stdout(Stdio::piped()).spawn().expect("the program can be started");
    while asked.load(Ordering::Relaxed) < 1_000 {
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    let outcome: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let outcome: Outcome = serde_json::from_value(outcome).expect("it is an outcome");
    let lines = read(&path);
    assert_eq!(told(&lines), counted(&outcome));
    assert!(lines.len() >= 900, "{}", lines.len());
    assert_iterations(&lines);
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_the_first_request() {
    let asked = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&asked);
    let service = start(move |_| {
        counting.fetch_add(1, Ordering::Relaxed);
        answer("fine")
    });
    let folder = tempfile::tempdir().expect("there is room");
    let missing = folder.path().join("missing/requests.csv").display().to_string();
    let output = command(&[&service.host, "--rate", "50", "--requests", &missing]).output();
    let output = output.expect("the program can be started");
    let told = said(&output);
    assert_eq!(output.status.code(), Some(74), "{told}");
    assert!(told.contains(&missing) && told.contains("--requests") && told.lines().count() == 1, "{told}");
    assert_eq!((asked.load(Ordering::Relaxed), service.connections.load(Ordering::Relaxed)), (0, 0));
}

/// The file is a pipe, and who reads it goes away: as with a disk that is full, nothing can be written from then on.
#[test]
fn what_was_counted_is_told_whatever_becomes_of_the_file() {
    let reads = Arc::new(Mutex::new(()));
    let reading = Arc::clone(&reads);
    let reading_still = reads.lock().expect("nobody has it");
    // Nothing is answered before the reader is gone.
    let service = start(move |_| {
        drop(reading.lock().expect("no test panics with it"));
        answer("fine")
    });
    let folder = tempfile::tempdir().expect("there is room");
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("there is mkfifo");
    assert!(made.success());
    let path = pipe.display().to_string();
    let run = [&service.host, "--rate", "200", "--for", "300ms", "--json", "--requests", &path];
    let child = command(&run).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("the program can be started");
    let reader = std::fs::File::open(&pipe).expect("it is there");
    let mut head = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(reader), &mut head).expect("it is text");
    drop(reading_still);
    let output = child.wait_with_output().expect("it ends");
    let told = said(&output);
    assert_eq!(output.status.code(), Some(74), "{told}");
    assert!(told.contains("--requests"), "{told}");
    let documents = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let documents: Vec<Value> = documents.map(|document| document.expect("it is JSON")).collect();
    assert_eq!((&documents[0]["due"], &documents[1]["error"]["exit"]), (&66.into(), &74.into()));
}

#[test]
fn it_is_for_single_runs_alone() {
    for arguments in [
        &["--requests", "all.csv", "worker", "upload.toml", "--master", "127.0.0.1:5557"][..],
        &["worker", "upload.toml", "--master", "127.0.0.1:5557", "--requests", "all.csv"],
        &["--requests", "all.csv", "capacity", "upload.toml"],
        &["capacity", "upload.toml", "--requests", "all.csv"],
    ] {
        let output = command(arguments).output().expect("the program can be started");
        assert_eq!(output.status.code(), Some(64), "{arguments:?}: {}", said(&output));
        assert!(
            said(&output).contains("--requests") || said(&output).contains("cannot be used with"),
            "{}",
            said(&output)
        );
        assert!(!Path::new("all.csv").exists());
    }
}
