//! Two workers and Locust itself, with its web page and without: what its master counts is what our outcomes hold.
//!
//! TOUCHSTONE_LOCUST names Locust's program. Where it is not set these tests say so, and pass.

#[allow(dead_code, reason = "not every test needs all that a service can do")]
mod service;

use service::{Reply, Service, start};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use touchstone_load::latency::Latencies;
use touchstone_load::merge::merge;
use touchstone_load::outcome::Outcome;

/// Longer than anything here takes: what waits for it has failed.
const AT_MOST: Duration = Duration::from_secs(60);
const ASK_EVERY: Duration = Duration::from_millis(200);

/// A program that runs, and what it says. It is killed where the test fails.
struct Running {
    child: Child,
    said: Receiver<String>,
    all: Vec<String>,
}

impl Running {
    fn start(command: &mut Command) -> Running {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the program is there");
        let (sender, said) = channel();
        let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Running { child, said, all: Vec::new() }
    }

    /// Waits until it says this.
    fn says(&mut self, what: &str) -> String {
        let until = Instant::now() + AT_MOST;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.said.recv_timeout(left) {
                Ok(line) => {
                    println!("    {line}");
                    self.all.push(line);
                }
                Err(_) => panic!("it did not say `{what}`, but: {:#?}", self.all),
            }
            let line = self.all.last().expect("one was pushed");
            if line.contains(what) {
                return line.clone();
            }
        }
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).expect("it runs");
    }

    /// Waits for its end.
    fn ends(&mut self) -> (Option<i32>, String) {
        let status = self.child.wait().expect("it ends");
        let rest: Vec<String> = self.said.iter().collect();
        rest.iter().for_each(|line| println!("    {line}"));
        (status.code(), rest.join("\n"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder, a service, and the ports of a master.
struct Fleet {
    locust: PathBuf,
    folder: tempfile::TempDir,
    service: Service,
    asked: Arc<AtomicU64>,
    port: u16,
    web: u16,
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("one is free").port()
}

impl Fleet {
    /// None, with a message, where Locust is not there.
    fn new() -> Option<Fleet> {
        let Some(locust) = std::env::var_os("TOUCHSTONE_LOCUST") else {
            println!("skipped: TOUCHSTONE_LOCUST does not name Locust's program");
            return None;
        };
        let asked = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&asked);
        let service = start(move |asked| {
            counted.fetch_add(1, Ordering::Relaxed);
            let status = if asked.line.contains("/wrong") { 500 } else { 200 };
            Reply::Late(Duration::from_millis(2), service::bytes_of(status, "fine"))
        });
        let folder = tempfile::tempdir().expect("there is room");
        let text = format!(
            "name = \"fleet\"\nhost = \"{}\"\n[[request]]\nname = \"read\"\npath = \"/read\"\nweight = 9\n\
             [[request]]\nname = \"break\"\npath = \"/wrong\"\n",
            service.host
        );
        std::fs::write(folder.path().join("fleet.toml"), text).expect("there is room");
        Some(Fleet { locust: locust.into(), folder, service, asked, port: free_port(), web: free_port() })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn master(&self, more: &[&str]) -> Command {
        let mut command = Command::new(&self.locust);
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/locustfile.py");
        command.arg("-f").arg(file).args([
            "--master",
            "--master-bind-host",
            "127.0.0.1",
            "--master-bind-port",
        ]);
        command.arg(self.port.to_string()).args(more).env("TOUCHSTONE_EXACT", self.at("exact.jsonl"));
        command.current_dir(self.folder.path());
        command
    }

    fn worker(&self, name: &str, more: &[&str]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_touchstone-load"));
        command
            .arg("worker")
            .arg(self.at("fleet.toml"))
            .arg("--master")
            .arg(format!("127.0.0.1:{}", self.port));
        Running::start(command.arg("--out").arg(self.at(name)).args(more))
    }

    /// Asks the master's web page.
    fn web(&self, method: &str, path: &str, form: &str) -> Option<serde_json::Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.web)).ok()?;
        let head = format!(
            "{method} {path} HTTP/1.0\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
            form.len()
        );
        stream.write_all(head.as_bytes()).ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()
    }

    /// Asks for the master's statistics until they are as they should be.
    fn until(&self, what: &str, is_so: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
        let until = Instant::now() + AT_MOST;
        let mut last = None;
        while Instant::now() < until {
            last = self.web("GET", "/stats/requests", "");
            if let Some(found) = last.take_if(|found| is_so(found)) {
                return found;
            }
            std::thread::park_timeout(ASK_EVERY);
        }
        panic!("not {what}: {last:#?}");
    }

    fn swarm(&self, users: u64) {
        let told = self.web("POST", "/swarm", &format!("user_count={users}&spawn_rate=10&host="));
        assert_eq!(told.expect("it answers")["success"], true);
        let told = self.until("spawned", |stats| stats["user_count"] == users && stats["state"] == "running");
        let workers = told["workers"].as_array().expect("they are told");
        let each: Vec<_> = workers.iter().map(|worker| worker["user_count"].as_u64().unwrap_or(0)).collect();
        println!("{users} users over {} workers: {each:?}", workers.len());
        assert_eq!((each.len(), each.iter().sum::<u64>()), (2, users));
        assert!(each.iter().all(|mine| mine.abs_diff(users / 2) <= 1), "{each:?}");
    }

    /// The sum of both workers' exact outcomes of a test.
    fn outcome(&self, test: &str) -> Outcome {
        let read = |name: &str| Outcome::read(&self.at(name).join(test).join("outcome.json"));
        merge(vec![read("one").expect("it was written"), read("two").expect("it was written")])
            .expect("they are of one fleet")
    }
}

/// How many workers the master knows, whatever they do; its own count of them is not in all versions.
fn workers(stats: &serde_json::Value) -> usize {
    stats["workers"].as_array().map_or(0, Vec::len)
}

fn requests(stats: &serde_json::Value) -> u64 {
    let rows = stats["stats"].as_array().into_iter().flatten();
    rows.filter(|row| row["name"] == "Aggregated").filter_map(|row| row["num_requests"].as_u64()).sum()
}

/// The sum of the histograms that came along with the reports.
fn pushed(path: &Path) -> Latencies {
    use base64::Engine;
    let mut sum = Latencies::default();
    for line in std::fs::read_to_string(path).expect("the master has kept them").lines() {
        let report: serde_json::Value = serde_json::from_str(line).expect("it is JSON");
        for row in report["rows"].as_array().expect("they are rows") {
            let text = row["response"].as_str().expect("it is a text");
            let bytes = base64::engine::general_purpose::STANDARD.decode(text).expect("it is base 64");
            sum.add(&Latencies::from_bytes(&bytes).expect("it is a histogram"));
        }
    }
    sum
}

#[test]
fn a_fleet_is_driven_from_locusts_web_page() {
    let Some(fleet) = Fleet::new() else { return };
    let web = fleet.web.to_string();
    let mut master = Running::start(&mut fleet.master(&["--web-host", "127.0.0.1", "--web-port", &web]));
    let mut one = fleet.worker("one", &[]);
    let mut two = fleet.worker("two", &["--threads", "2", "--patience", "3s"]);
    master.says("2 workers connected");
    fleet.until("there", |stats| workers(stats) == 2);
    let mut all = Latencies::default();
    for (test, users) in [("1", [8, 20, 5]), ("2", [3, 2, 4])] {
        let before = fleet.asked.load(Ordering::Relaxed);
        for users in users {
            fleet.swarm(users);
        }
        let seen =
            fleet.until("counted", |stats| requests(stats) > 500 && stats["total_rps"].as_f64() > Some(1.0));
        println!("test {test}: {} a second now, {:.3} failed", seen["total_rps"], seen["fail_ratio"]);
        let stops = fleet.web("POST", "/stop", "").or_else(|| fleet.web("GET", "/stop", ""));
        assert_eq!(stops.expect("it answers")["success"], true);
        let stopped = fleet.until("stopped", |stats| stats["state"] == "stopped" && workers(stats) == 2);
        let (told, outcome) = (requests(&stopped), fleet.outcome(test));
        let exact = outcome.total();
        all.add(&exact.response);
        let asked = fleet.asked.load(Ordering::Relaxed) - before;
        println!(
            "test {test}: the master counts {told}, our outcomes {}, the service was asked {asked}",
            exact.ended()
        );
        assert_eq!(told, exact.ended(), "what is in flight when it stops is counted by neither");
        assert!(asked >= told && asked - told <= users[2], "{asked} and {told}");
        assert_eq!(stopped["errors"][0]["occurrences"], exact.failed());
        assert_eq!((outcome.shards.len(), outcome.stopped), (2, None));
    }
    assert_eq!(pushed(&fleet.at("exact.jsonl")).to_bytes(), all.to_bytes(), "what was pushed is exact");
    println!("the histograms that came along are the outcomes' to the last count: {} requests", all.count());
    one.signal(rustix::process::Signal::INT);
    println!("a worker is interrupted: {}", master.says("quit. 1 workers ready"));
    assert_eq!(one.ends().0, Some(130));
    master.child.kill().expect("it runs");
    let (status, said) = two.ends();
    assert_eq!(status, Some(69), "{said}");
    assert!(said.contains(&format!("the Locust master at 127.0.0.1:{} is gone", fleet.port)), "{said}");
    assert!(fleet.service.connections.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_fleet_is_driven_without_a_page() {
    let Some(fleet) = Fleet::new() else { return };
    let options = ["--headless", "-u", "9", "-r", "9", "-t", "4s", "--expect-workers", "2", "--json"];
    let mut command = fleet.master(&options);
    let mut master = Running::start(command.stdout(Stdio::piped()));
    let (mut one, mut two) = (fleet.worker("one", &[]), fleet.worker("two", &[]));
    master.says("All users spawned");
    assert_eq!((one.ends().0, two.ends().0), (Some(0), Some(0)));
    let mut text = String::new();
    master.child.stdout.take().expect("it is piped").read_to_string(&mut text).expect("it is text");
    let rows: Vec<serde_json::Value> = serde_json::from_str(&text).expect("it is JSON");
    let told: u64 = rows.iter().filter_map(|row| row["num_requests"].as_u64()).sum();
    let exact = fleet.outcome("1").total();
    println!("the master counts {told} at the end of its time, our outcomes {}", exact.ended());
    assert!(told > 100 && told == exact.ended(), "{told} and {}", exact.ended());
}
