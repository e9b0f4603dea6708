//! Workers of a fleet and a master that is played by the test: each message of the conversation, and masters that are none.
//!
//! The same with Locust itself is `locust.rs`.

#[allow(dead_code, reason = "not every test needs all that a service can do")]
mod service;

use rmpv::Value;
use service::{Reply, Service, answer, start};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use touchstone_load::fleet::{EXACT, Message, entry, map};
use touchstone_load::outcome::Outcome;
use zeromq::{RouterSocket, Socket, SocketRecv, SocketSend, ZmqMessage};

/// Longer than anything here takes: what waits for it has failed.
const AT_MOST: Duration = Duration::from_secs(30);

/// A master.
struct Master {
    socket: RouterSocket,
    address: String,
    /// The worker that it has heard last.
    worker: Vec<u8>,
}

impl Master {
    async fn listen() -> Master {
        let mut socket = RouterSocket::new();
        let endpoint = socket.bind("tcp://127.0.0.1:0").await.expect("a port is free").to_string();
        let address = endpoint.trim_start_matches("tcp://").to_owned();
        Master { socket, address, worker: Vec::new() }
    }

    /// The next message of this kind; others than heartbeats and reports must not come before it.
    async fn hears(&mut self, kind: &str) -> Message {
        loop {
            let received = tokio::time::timeout(AT_MOST, self.socket.recv()).await;
            let parts = received.unwrap_or_else(|_| panic!("no `{kind}` came")).expect("it is received");
            let mut parts = parts.into_vec();
            let message = Message::from_bytes(&parts.pop().expect("there is one")).expect("it is one");
            self.worker = parts[0].to_vec();
            assert_eq!(self.worker, message.node.as_bytes(), "its identity is its name");
            if message.kind == kind {
                return message;
            }
            assert!(["heartbeat", "stats"].contains(&message.kind.as_str()), "{message:?} before `{kind}`");
        }
    }

    async fn says(&mut self, kind: &str, data: Value) {
        let node = String::from_utf8(self.worker.clone()).expect("it is a name");
        let message = Message { kind: kind.into(), data, node };
        let mut parts = ZmqMessage::from(message.to_bytes());
        parts.push_front(self.worker.clone().into());
        self.socket.send(parts).await.expect("the worker is there");
    }

    async fn acknowledges(&mut self, index: u64) {
        let ready = self.hears("client_ready").await;
        assert_eq!(ready.data, Value::from(-1));
        self.says("ack", map([("index", index.into())])).await;
    }

    async fn spawns(&mut self, timestamp: f64, users: u64) {
        let classes = map([("One", users.into()), ("Other", 1.into())]);
        let job = map([
            ("timestamp", timestamp.into()),
            ("user_classes_count", classes),
            ("host", Value::Nil),
            ("stop_timeout", Value::Nil),
            ("parsed_options", map([])),
        ]);
        self.says("spawn", job).await;
    }
}

fn run(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("the system has what it needs").block_on(future);
}

fn service() -> Service {
    start(|_| Reply::Late(Duration::from_millis(1), service::bytes_of(200, "fine")))
}

fn worker(scenario: &str, master: &str, more: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_touchstone-load"));
    command.args(["worker", scenario, "--master", master]).args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it was built")
}

fn ended(worker: Child) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = worker.wait_with_output().expect("it ends");
    (status.code(), String::from_utf8(stderr).expect("it is text"))
}

/// The same, while what the master has said leaves.
async fn ends(worker: Child) -> (Option<i32>, String) {
    tokio::task::spawn_blocking(|| ended(worker)).await.expect("it does not panic")
}

fn whole(value: &Value, key: &str) -> u64 {
    entry(value, key).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {key} in {value}"))
}

#[test]
fn a_test_is_started_changed_stopped_and_started_again() {
    let service = service();
    let folder = tempfile::tempdir().expect("there is room");
    let out = folder.path().join("out");
    run(async {
        let mut master = Master::listen().await;
        let worker = worker(&service.host, &master.address, &["--out", out.to_str().expect("it is text")]);
        master.acknowledges(3).await;
        for test in ["1", "2"] {
            for users in [4, 9, 2] {
                let at = users as f64 + if test == "2" { 100.0 } else { 0.0 };
                // The second time it is older than what has been done.
                master.spawns(at + if users == 2 { 50.0 } else { 0.0 }, users).await;
                master.hears("spawning").await;
                let told = master.hears("spawning_complete").await.data;
                assert_eq!(whole(&told, "user_count"), users + 1);
                let classes = entry(&told, "user_classes_count").expect("they are told");
                assert_eq!((whole(classes, "One"), whole(classes, "Other")), (users, 1));
                master.spawns(at - 0.5, 1_000).await;
            }
            let heartbeat = master.hears("heartbeat").await.data;
            assert_eq!(entry(&heartbeat, "state"), Some(&Value::from("running")));
            assert!(whole(&heartbeat, "current_memory_usage") > 100_000);
            let mut requests = 0;
            while requests == 0 {
                let report = master.hears("stats").await.data;
                assert_eq!(whole(&report, "user_count"), 3);
                requests += whole(entry(&report, "stats_total").expect("there is one"), "num_requests");
            }
            master.says("stop", Value::Nil).await;
            // All that is left is told before the worker has stopped.
            let (last, rows) = loop {
                let report = master.hears("stats").await.data;
                requests += whole(entry(&report, "stats_total").expect("there is one"), "num_requests");
                let users = whole(&report, "user_count");
                if users == 0 {
                    break (requests, entry(&report, EXACT).cloned());
                }
            };
            assert!(rows.is_some_and(|rows| rows.is_array()));
            master.hears("client_stopped").await;
            master.acknowledges(3).await;
            let outcome = Outcome::read(&out.join(test).join("outcome.json")).expect("it was written");
            assert_eq!((outcome.total().ended(), outcome.users, outcome.stopped), (last, 10, None));
            assert_eq!((outcome.shards[0].number, outcome.shards[0].of), (4, 0));
        }
        master.says("quit", Value::Nil).await;
        let (status, said) = ends(worker).await;
        assert_eq!(status, Some(0), "{said}");
    });
}

#[test]
fn users_are_set_up_when_they_join() {
    let service = start(|asked| {
        let is_setup = asked.line.contains("/enter");
        if is_setup && asked.before == 0 { Reply::Bytes(service::bytes_of(503, "")) } else { answer("fine") }
    });
    let folder = tempfile::tempdir().expect("there is room");
    let (file, out) = (folder.path().join("s.toml"), folder.path().join("out"));
    let text = format!(
        "name = \"s\"\nhost = \"{}\"\nsetup = [\"enter\"]\nload = {{ think = \"5ms\", threads = 2 }}\n\
         [[request]]\nname = \"enter\"\npath = \"/enter\"\n[[request]]\nname = \"ask\"\npath = \"/ask\"\n",
        service.host
    );
    std::fs::write(&file, text).expect("there is room");
    run(async {
        let mut master = Master::listen().await;
        let args = ["--out", out.to_str().expect("it is text")];
        let worker = worker(file.to_str().expect("it is text"), &master.address, &args);
        master.acknowledges(0).await;
        for (at, users) in [(1.0, 2), (2.0, 6), (3.0, 1), (4.0, 7)] {
            master.spawns(at, users).await;
            master.hears("spawning").await;
            master.hears("spawning_complete").await;
        }
        // Two reports are later than the second in which the failed one was tried again.
        master.hears("stats").await;
        master.hears("stats").await;
        master.says("quit", Value::Nil).await;
        assert_eq!(ends(worker).await.0, Some(0));
    });
    let outcome = Outcome::read(&out.join("1").join("outcome.json")).expect("it was written");
    let setup: Vec<_> = outcome.rows.iter().filter(|row| row.phase == "setup").collect();
    // Eight users, one of which failed at first.
    assert_eq!((setup[0].ended(), setup[0].failed()), (9, 1));
    assert!(outcome.total().ended() > 0 && outcome.total().failed() == 0);
}

#[test]
fn where_no_master_is_an_error_names_it() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let nobody = nobody.expect("a port is free").to_string();
    let web = start(|_| answer("<html>"));
    let web = web.host.trim_start_matches("http://").to_owned();
    for master in [nobody, web] {
        let (status, said) = ended(worker("http://127.0.0.1:1", &master, &["--patience", "1s"]));
        assert_eq!(status, Some(69), "{said}");
        assert!(said.contains("no Locust master answers at") && said.contains(&master), "{said}");
    }
}

#[test]
fn a_master_that_says_nothing_is_given_up() {
    run(async {
        let mut master = Master::listen().await;
        let silent = worker("http://127.0.0.1:1", &master.address, &["--patience", "1s"]);
        master.hears("client_ready").await;
        let (status, said) = ends(silent).await;
        assert_eq!(status, Some(69));
        assert!(said.contains("not acknowledged") && said.contains(&master.address), "{said}");
        let later = worker("http://127.0.0.1:1", &master.address, &["--patience", "1s"]);
        master.acknowledges(0).await;
        let (status, said) = ends(later).await;
        assert_eq!(status, Some(69));
        assert!(said.contains("has said nothing for 1 s") && said.contains(&master.address), "{said}");
    });
}

#[test]
fn a_master_of_an_old_version_is_told_apart() {
    run(async {
        let mut master = Master::listen().await;
        let worker = worker("http://127.0.0.1:1", &master.address, &[]);
        master.acknowledges(0).await;
        // What Locust 1 says.
        master.says("spawn", map([("spawn_rate", 1.0.into()), ("num_users", 5.into())])).await;
        let (status, said) = ends(worker).await;
        assert_eq!(status, Some(69));
        assert!(said.contains("none of Locust 2") && said.contains(&master.address), "{said}");
    });
}

#[test]
fn how_much_is_the_masters_to_say() {
    let (status, said) = ended(worker("http://127.0.0.1:1", "127.0.0.1", &["--users", "3"]));
    assert_eq!(status, Some(64));
    assert!(said.contains("leave --rate, --users"), "{said}");
}
