//! The program as a user runs it: what it prints, what it leaves, and how it ends.

use super::service::{Reply, Service, answer, bytes_of, start};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use touchstone_load::command::PARENT;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_touchstone-load"));
    command.args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program can be started")
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Not every machine of these tests is quiet enough for a valid result, and none of them is about that.
fn is_done(output: &Output) -> bool {
    [0, 3].contains(&status(output))
}

#[test]
fn a_url_is_asked_and_told_of() {
    let service = start(|_| answer("fine"));
    let output = run(&[&service.host, "--rate", "200", "--for", "300ms"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(is_done(&output), "{}", said(&output));
    assert!(text.contains("open loop of 200 iterations a second") && text.contains("GET /"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn mistakes_end_with_64_and_a_sentence_that_names_them() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("broken.toml");
    std::fs::write(&file, "name = \"x\"\nhots = \"http://a\"\n").expect("there is room");
    let file = file.display().to_string();
    let reversed = folder.path().join("reversed.toml");
    let text = "name = \"x\"\nhost = \"http://127.0.0.1:1\"\n[load]\nthink = [\"5s\", \"1s\"]\n[[request]]\nname = \"a\"\npath = \"/\"\n";
    std::fs::write(&reversed, text).expect("there is room");
    let reversed = reversed.display().to_string();
    let cases: [(&[&str], &str); 12] = [
        (&[&reversed, "--rate", "5"], "reversed.toml: `load.think` goes from 5s to 1s"),
        (&["capacity", &reversed, "--limits", "p99 < 1s"], "reversed.toml: `load.think` goes from 5s to 1s"),
        (&["capacity", "http://127.0.0.1:1", "--limits", "p99 < 1s", "--from", "0"], "`capacity.from` is 0"),
        (&[], "scenario's file or a URL"),
        (&["missing.toml"], "missing.toml cannot be read"),
        (&[&file], "hots"),
        (&["http://127.0.0.1:1"], "--rate or --users"),
        (&["http://127.0.0.1:1", "--for", "3s"], "add --rate or --users"),
        (&["http://127.0.0.1:1", "--rate", "5", "--for", "3"], "no duration"),
        (&["http://127.0.0.1:1", "--rate", "5", "--shard", "3/2"], "no shard"),
        (&["http://127.0.0.1:1", "--rate", "5", "--limits", "p99 > 1s"], "no limit"),
        (&["capacity", "http://127.0.0.1:1"], "what must hold"),
    ];
    for (arguments, part) in cases {
        let output = run(arguments);
        assert_eq!(status(&output), 64, "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(part), "{arguments:?}: {}", said(&output));
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

/// What a file, an argument or a service says moved the terminal of whoever read the message.
#[test]
fn no_word_of_others_commands_a_terminal() {
    const NASTY: &str = "x\u{1b}[2J\u{202e}y";
    let service = start(|_| Reply::Bytes(bytes_of(503, &format!("{NASTY}\nValid: yes"))));
    let folder = tempfile::tempdir().expect("a folder can be made");
    let scenario = |name: &str, text: &str| {
        let file = folder.path().join(name).display().to_string();
        let rest = "[[phase]]\nlength = \"100ms\"\nrate = 50\n[[request]]\nname = \"a\"\npath = \"/\"\n";
        std::fs::write(&file, format!("host = \"{}\"\n{text}\n{rest}", service.host)).expect("there is room");
        file
    };
    let named = scenario("named.toml", "name = \"x\\u001b[2J\"");
    let keyed = scenario("keyed.toml", "\"x\\u001b[2J\" = 1");
    let raw = scenario("raw.toml", &format!("{NASTY} = 1"));
    let set_up = "name = \"s\"\nsetup = [\"b\"]\n[[request]]\nname = \"b\"\npath = \"/b\"";
    let set_up = scenario("set-up.toml", set_up);
    let out = folder.path().join(NASTY).display().to_string();
    let cases: [(&[&str], i32); 7] = [
        (&[&named], 64),
        (&[&keyed], 64),
        (&[&raw], 64),
        (&[NASTY], 64),
        (&[&format!("--{NASTY}")], 64),
        (&["report", &out], 74),
        (&[&set_up], 69),
    ];
    for (arguments, expected) in cases {
        let output = run(arguments);
        let told = said(&output);
        assert_eq!(status(&output), expected, "{arguments:?}: {told:?}");
        assert!(!told.contains(['\u{1b}', '\u{202e}']) && !told.is_empty(), "{arguments:?}: {told:?}");
        assert!(!told.lines().any(|line| line.starts_with("Valid")), "{told}");
    }
    let output = run(&[&service.host, "--rate", "50", "--for", "100ms", "--json"]);
    let text = String::from_utf8_lossy(&output.stdout).replace("503: ", "503: \\u001b[2J\\nValid: yes ");
    let edited = folder.path().join("edited.json");
    std::fs::write(&edited, text.replace("\"name\": \"url\"", "\"name\": \"u\\u001b[2J\\nValid: u\""))
        .expect("room");
    let output = run(&["report", &edited.display().to_string()]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("503:  [2J Valid: yes") && told.starts_with("u [2J Valid: u: open loop"), "{told}");
}

/// What somebody wrote is 64, and what the system refuses is 74, on whichever path it comes.
#[test]
fn what_makes_no_sense_is_64_and_what_the_system_refuses_is_74() {
    let service = start(|_| answer("fine"));
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let file = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("there is room");
        path(name)
    };
    let (words, old, missing) = (file("a.json", "words"), file("b.json", "{\"format\":99}"), path("missing"));
    let within = format!("{words}/within");
    let host = service.host.as_str();
    let cases: [(&[&str], i32, &str); 9] = [
        (&["report", &words], 64, "usage"),
        (&["report", &old], 64, "usage"),
        (&["merge", &words, &words], 64, "usage"),
        (&[host, "--rate", "0"], 64, "usage"),
        (&[host, "--rate", "5", "--limits", "p99"], 64, "usage"),
        (&["report", &missing], 74, "io"),
        (&["merge", &missing], 74, "io"),
        (&[host, "--rate", "50", "--for", "100ms", "--out", &within], 74, "io"),
        (&[host, "--rate", "50", "--for", "100ms", "--requests", &within], 74, "io"),
    ];
    for (arguments, expected, kind) in cases {
        let output = run(&[arguments, &["--json"]].concat());
        assert_eq!(status(&output), expected, "{arguments:?}: {}", said(&output));
        let document: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        assert_eq!(
            (&document["error"]["kind"], &document["error"]["exit"]),
            (&kind.into(), &expected.into())
        );
        assert!(said(&output).starts_with("touchstone-load: "), "{}", said(&output));
    }
    // A disk that is full.
    let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    let output =
        command(&[host, "--rate", "50", "--for", "100ms"]).stdout(full).stderr(Stdio::piped()).output();
    assert_eq!(status(&output.expect("the program can be started")), 74);
}

#[test]
fn a_mistake_is_told_to_machines_too() {
    let output = run(&["missing.toml", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!((&document["error"]["kind"], &document["error"]["exit"]), (&"usage".into(), &64.into()));
}

#[test]
fn a_service_that_is_not_up_ends_with_69() {
    let output = run(&["http://127.0.0.1:1", "--rate", "5"]);
    assert_eq!(status(&output), 69, "{}", said(&output));
    assert!(said(&output).contains("start it first"), "{}", said(&output));
}

#[test]
fn a_limit_that_does_not_hold_is_a_status() {
    let service = start(|_| Reply::Bytes(bytes_of(500, "broken")));
    let output = run(&[&service.host, "--rate", "100", "--for", "300ms", "--limits", "failures < 1%"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!([1, 3].contains(&status(&output)), "{}", said(&output));
    assert!(
        text.contains("failures < 1% DOES NOT HOLD (100 %)") && text.contains("status 500: broken"),
        "{text}"
    );
}

/// A run that had measured nothing but failures ended as one that was well.
#[test]
fn a_run_of_failures_is_no_success() {
    let service = start(|_| Reply::Bytes(bytes_of(500, "broken")));
    for limits in [&[][..], &["--limits", "p95 < 1h"]] {
        let output = run(&[&[service.host.as_str(), "--rate", "100", "--for", "300ms"], limits].concat());
        assert!([1, 3].contains(&status(&output)), "{limits:?}: {}", said(&output));
    }
}

#[test]
fn a_folder_keeps_the_outcome_and_is_not_written_over() {
    let service = start(|_| answer("fine"));
    let folder = tempfile::tempdir().expect("a folder can be made");
    let out = folder.path().join("record").display().to_string();
    let arguments = [&service.host, "--rate", "200", "--for", "200ms", "--out", &out];
    assert!(is_done(&run(&arguments)));
    let first = run(&["report", &out]);
    assert!(is_done(&first) && first.stdout.starts_with(b"url: open loop"), "{}", said(&first));
    let log = std::fs::read_to_string(Path::new(&out).join("latencies.hlog")).expect("it was written");
    assert!(log.contains("Tag=load/GET_//response,") && log.contains("Tag=load/GET_//lag,"), "{log}");
    let again = run(&arguments);
    assert_eq!(status(&again), 64, "{}", said(&again));
    let remedy =
        "record is there already, and nothing is written over: remove it, or name another with --out";
    assert!(said(&again).contains(remedy), "{}", said(&again));
}

#[test]
fn parts_are_added_and_strangers_refused() {
    let service = start(|_| answer("fine"));
    let folder = tempfile::tempdir().expect("a folder can be made");
    let part = |name: &str, shard: &str, rate: &str| {
        let out = folder.path().join(name).display().to_string();
        let output = run(&[&service.host, "--rate", rate, "--for", "200ms", "--shard", shard, "--out", &out]);
        assert!(is_done(&output), "{}", said(&output));
        out
    };
    let (one, two, other) =
        (part("one", "1/2", "200"), part("two", "2/2", "200"), part("other", "2/2", "300"));
    let sum = run(&["merge", &one, &two, "--json"]);
    let sum: Value = serde_json::from_slice(&sum.stdout).expect("it is JSON");
    assert_eq!(sum["due"], 44, "40 of the load, and 4 of the warm-up");
    let half = run(&["merge", &one]);
    assert!(is_done(&half) && said(&half).contains("1 of its shards are missing (2)"), "{}", said(&half));
    for (strangers, part) in [([&one, &other], "different plans"), ([&one, &one], "there twice")] {
        let refused = run(&["merge", strangers[0], strangers[1]]);
        assert_eq!(status(&refused), 64);
        assert!(said(&refused).contains(part), "{}", said(&refused));
    }
}

#[test]
fn ctrl_c_tells_what_was_counted_and_leaves_no_process() {
    let asked = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&asked);
    let service = start(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        answer("fine")
    });
    let mut child = command(&[&service.host, "--rate", "500", "--for", "60s", "--warm-up", "0s", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    while asked.load(Ordering::Relaxed) < 100 {
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    let mut text = String::new();
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped"));
    while lines.read_line(&mut text).expect("it is text") > 0 {}
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let outcome: Value = serde_json::from_str(&text).expect("it is JSON");
    assert!(outcome["stopped"].as_f64().is_some_and(|seconds| seconds < 60.0), "{}", outcome["stopped"]);
    assert!(outcome["due"].as_u64().is_some_and(|due| due >= 99), "{}", outcome["due"]);
    assert_eq!(outcome["unsent"], 0);
}

/// A service that tells which lines it is asked for, and a scenario of a request that sets a user up and one of a phase.
fn held(folder: &Path, length: &str) -> (Service, Receiver<String>, Child) {
    let (sender, lines) = channel();
    let sender = Mutex::new(sender);
    let service = start(move |asked| {
        // After the test nobody listens.
        let _ = sender.lock().expect("nobody panics with it").send(asked.line);
        answer("fine")
    });
    let file = folder.join("held.toml");
    std::fs::write(&file, with_setup(&service.host, length)).expect("there is room");
    let child = hold(&file);
    (service, lines, child)
}

/// The next line that the service is asked for, where there is one within a time in which a run that has begun asks thirty.
fn next(lines: &Receiver<String>) -> Option<String> {
    lines.recv_timeout(Duration::from_millis(300)).ok()
}

/// Whether users are set up, and then nothing is asked.
fn only_sets_up(lines: &Receiver<String>) -> bool {
    let asked: Vec<String> = std::iter::from_fn(|| next(lines)).collect();
    !asked.is_empty() && asked.iter().all(|line| line.contains("/begin"))
}

fn with_setup(host: &str, length: &str) -> String {
    format!(
        "host = \"{host}\"\nname = \"held\"\nsetup = [\"begin\"]\n[[phase]]\nlength = \"{length}\"\nrate = 100\n\
         [[request]]\nname = \"begin\"\npath = \"/begin\"\n[[request]]\nname = \"ask\"\npath = \"/ask\"\n"
    )
}

fn hold(scenario: &Path) -> Child {
    let mut child = command(&[&scenario.display().to_string(), "--hold", "--json"]);
    let child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    child.spawn().expect("the program can be started")
}

/// Waits for the line, and gives the rest of what the program says.
fn wait_until_ready(child: &mut Child) -> BufReader<ChildStderr> {
    let mut said = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    said.read_line(&mut line).expect("it is text");
    assert_eq!(line, "ready\n");
    said
}

#[test]
fn a_run_that_is_held_begins_when_it_is_told_to() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (_service, lines, mut child) = held(folder.path(), "100ms");
    let _said = wait_until_ready(&mut child);
    assert!(only_sets_up(&lines));
    drop(child.stdin.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(is_done(&output), "{output:?}");
    assert!(lines.try_iter().any(|line| line.contains("/ask")));
}

#[test]
fn a_run_that_is_held_can_be_stopped() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (_service, lines, mut child) = held(folder.path(), "10s");
    let _said = wait_until_ready(&mut child);
    assert!(only_sets_up(&lines));
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(lines.try_iter().next(), None);
}

/// A service that answers whatever it is asked, and closes all connections that it has when it is told to.
fn closing() -> (String, impl FnOnce()) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let host = format!("http://{}", listener.local_addr().expect("it is bound"));
    let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    let noted = Arc::clone(&open);
    std::thread::spawn(move || {
        for stream in listener.incoming().map(|stream| stream.expect("it is accepted")) {
            noted.lock().expect("nobody panics with it").push(stream.try_clone().expect("there are handles"));
            std::thread::spawn(move || answer_all(stream));
        }
    });
    let close = move || {
        for stream in open.lock().expect("nobody panics with it").drain(..) {
            stream.shutdown(Shutdown::Both).expect("it is open");
        }
    };
    (host, close)
}

fn answer_all(mut stream: TcpStream) {
    let asked = BufReader::new(stream.try_clone().expect("there are handles"));
    for line in asked.lines() {
        match line {
            Ok(line) if line.is_empty() => {}
            Ok(_) => continue,
            Err(_) => return,
        }
        if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").is_err() {
            return;
        }
    }
}

/// A request that may not be sent twice failed on a connection that the service had closed meanwhile.
#[test]
fn connections_that_are_closed_while_a_run_is_held_are_not_asked_on() {
    let (host, close) = closing();
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("held.toml");
    let ask = "\nname = \"ask\"\n";
    let scenario = with_setup(&host, "300ms").replace(ask, &format!("{ask}method = \"POST\"\n"));
    std::fs::write(&file, scenario).expect("there is room");
    let mut child = hold(&file);
    let _said = wait_until_ready(&mut child);
    close();
    drop(child.stdin.take());
    let output = child.wait_with_output().expect("it ends");
    let outcome: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let rows = outcome["rows"].as_array().expect("they are a list");
    assert!(rows.iter().any(|row| row["label"] == "POST /ask"), "{outcome}");
    let fails = |row: &Value| row["failures"] != json!({});
    assert!(!rows.iter().any(fails), "{outcome}");
}

/// It said that users were set up, and waited to be told to begin.
#[test]
fn a_run_that_is_held_ends_where_a_setup_fails() {
    let service = start(|_| Reply::Bytes(bytes_of(500, "no")));
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("held.toml");
    std::fs::write(&file, with_setup(&service.host, "100ms")).expect("there is room");
    let mut child = hold(&file);
    let input = child.stdin.take();
    let output = child.wait_with_output().expect("it ends");
    drop(input);
    assert_eq!(status(&output), 69, "{output:?}");
    assert!(!said(&output).contains("ready"), "{output:?}");
}

/// The doubt about such steps was lost, and the search was told as one that somebody had stopped.
#[test]
fn a_search_whose_steps_end_before_a_request_does_is_invalid() {
    let service = start(|_| answer("fine"));
    let words = ["capacity", &service.host, "--limits", "p99 < 1s", "--from", "1", "--step", "100ms"];
    let output = run(&words);
    assert_eq!(status(&output), 3, "{output:?}");
}

/// The generator of a lab that was killed went on for ten seconds, on what the next lab measured.
#[test]
fn a_generator_ends_with_the_process_that_has_started_it() {
    let asked = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&asked);
    let service = start(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        answer("fine")
    });
    let program = env!("CARGO_BIN_EXE_touchstone-load");
    let mut parent = Command::new("sh")
        .args(["-c", &format!("{PARENT}=$$ \"$@\" & wait"), "sh", program])
        .args([&service.host, "--rate", "500", "--for", "30s", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    while asked.load(Ordering::Relaxed) < 10 {
        std::thread::yield_now();
    }
    parent.kill().expect("it runs");
    // The pipe ends when the last process ends that has it.
    let mut text = String::new();
    let mut told = parent.stdout.take().expect("it is piped");
    told.read_to_string(&mut text).expect("it is text");
    parent.wait().expect("it has ended");
    assert_eq!(text, "", "it told an outcome, 30 s later");
}

#[test]
fn a_generator_that_another_process_started_does_not_begin() {
    let output = command(&["http://127.0.0.1:1", "--rate", "5"]).env(PARENT, "1").output();
    let output = output.expect("the program can be started");
    assert_eq!(status(&output), 130, "{}", said(&output));
    assert!(said(&output).contains(PARENT), "{}", said(&output));
}

#[test]
fn a_capacity_is_searched_for_and_confirmed() {
    let service = start(|_| answer("fine"));
    let search = ["capacity", &service.host, "--limits", "failures < 1%", "--from", "50", "--to", "200"];
    let output = run(&[&search[..], &["--step", "100ms", "--confirm", "100ms"]].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(status(&output), 0, "{}", said(&output));
    assert!(text.starts_with("Capacity: at least 200 iterations a second"), "{text}");
    assert!(said(&output).contains("step 50/s: holds") && said(&output).contains("confirming 200/s: holds"));
}

/// A service that answered nothing but errors held every rate whose limits named times alone.
#[test]
fn a_service_that_fails_everything_has_no_capacity_and_no_valid_result() {
    let service = start(|_| Reply::Bytes(bytes_of(500, "broken")));
    let search = ["capacity", &service.host, "--limits", "max < 1h", "--from", "50", "--to", "200"];
    let output = run(&[&search[..], &["--step", "100ms", "--confirm", "100ms"]].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(status(&output), 1, "{text} {}", said(&output));
    assert!(
        text.starts_with("No capacity: not even 50 iterations a second hold max < 1h, failures < 1%"),
        "{text}"
    );
    let output = run(&[&service.host, "--rate", "50", "--for", "200ms"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.contains("Valid:"), "{text}");
    assert!(text.contains("NO REQUEST WAS ANSWERED") || status(&output) == 3, "{text}");
}

/// What confirmed an answer was beyond the generator's own limits, and nothing said so.
#[test]
fn an_answer_that_nothing_valid_confirms_is_told_as_at_least_with_the_reason() {
    let service = start(|_| answer("fine"));
    let folder = tempfile::tempdir().expect("a folder can be made");
    let out = folder.path().join("search").display().to_string();
    // A thread that never waits takes all of its processor.
    let search =
        ["capacity", &service.host, "--limits", "max < 1h", "--from", "50", "--to", "100", "--out", &out];
    let output = run(&[&search[..], &["--step", "100ms", "--confirm", "100ms", "--pacing", "spin"]].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(status(&output), 0, "{text} {}", said(&output));
    assert!(text.starts_with("Capacity: at least 100 iterations a second hold"), "{text}");
    assert!(text.contains("came to the generator's own limits") && text.contains("(1 of 4 steps)"), "{text}");
    assert_eq!(said(&output).matches("confirming 100/s: holds").count(), 2, "{}", said(&output));
    let told = run(&["report", &out]);
    assert_eq!((status(&told), told.stdout), (0, output.stdout));
}

#[test]
fn completions_are_made() {
    let output = run(&["completions", "bash"]);
    assert!(status(&output) == 0 && output.stdout.starts_with(b"_touchstone__load()"));
}

/// `head` has what it wants and goes: writing to it was a panic.
#[test]
fn a_reader_that_goes_away_is_no_mistake() {
    for arguments in [&["completions", "bash"][..], &["--help"], &["completions", "--help"]] {
        let (reader, writer) = std::io::pipe().expect("the system has pipes");
        drop(reader);
        let output = command(arguments).stdout(writer).stderr(Stdio::piped()).output();
        let output = output.expect("the program can be started");
        assert_eq!((status(&output), said(&output).as_str()), (0, ""), "{arguments:?}");
    }
}
