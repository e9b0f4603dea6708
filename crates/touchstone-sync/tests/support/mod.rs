//! A service of its own process, as its users start it, and a client that asks it.
#![allow(dead_code, reason = "each test program uses its own part of this")]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use ureq::http::Response;
use ureq::{Agent, Body};

/// How long an answer's head may take, on however slow a machine.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(120);

/// The program.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_touchstone-sync"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TOUCHSTONE_SYNC_") {
            command.env_remove(name);
        }
    }
    command
}

/// A service at work.
pub struct Service {
    pub child: Child,
    pub address: String,
    pub store: PathBuf,
    /// What it said until it listened.
    pub said: String,
    agent: Agent,
}

impl Service {
    /// Starts it on a port that is free, and waits until it listens.
    pub fn start(store: &Path, more: &[&str]) -> Service {
        let mut command = program();
        command.args(["serve", "--listen", "127.0.0.1:0", "--store"]).arg(store).args(more);
        Service::of(command.stderr(Stdio::piped()).spawn().expect("the program starts"), store)
    }

    /// One that was started, and whose standard error is piped.
    pub fn of(mut child: Child, store: &Path) -> Service {
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let mut said = String::new();
        let address = loop {
            let line = lines.next().expect("it says where it listens").expect("its words can be read");
            said.push_str(&line);
            if let Some((_, rest)) = line.split_once("serving ") {
                break after_scheme(rest).to_owned();
            }
        };
        // Nobody reads on: a pipe that is full would stop the service.
        std::thread::spawn(move || lines.for_each(drop));
        // No test hangs on an answer that does not come.
        let config = Agent::config_builder().http_status_as_error(false).proxy(None);
        let config = config.timeout_recv_response(Some(GIVEN_UP_AFTER)).build();
        Service {
            child,
            address: format!("http://{address}"),
            store: store.to_owned(),
            said,
            agent: config.into(),
        }
    }

    /// Where it tells metrics, as it said.
    pub fn metrics(&self) -> String {
        let (_, told) = self.said.split_once("metrics are told").expect("it tells metrics");
        format!("http://{}", after_scheme(told))
    }

    /// A token of a user, made beside the service that runs.
    pub fn token(&self, user: &str) -> String {
        token(&self.store, user)
    }

    /// Whoever asks with a token for a device, which is registered.
    pub fn device(&self, token: &str, device: &str) -> Device<'_> {
        let known = Device { service: self, token: token.to_owned(), device: device.to_owned() };
        let (status, answer) = known.post("/v1/clients", &json!({ "device": device }));
        assert_eq!(status, 200, "{answer}");
        known
    }

    /// The text of any address, asked without a token.
    pub fn text(&self, address: &str) -> String {
        let mut answer = self.agent.get(address).call().expect("it answers");
        answer.body_mut().read_to_string().expect("it is text")
    }

    /// The status of a path that is asked without a token.
    pub fn status(&self, path: &str) -> u16 {
        self.agent.get(format!("{}{path}", self.address)).call().expect("it answers").status().as_u16()
    }

    /// Asks again and again whether it is ready.
    pub fn wait_ready(&self) {
        while self.status("/health/ready") != 200 {
            std::thread::yield_now();
        }
    }

    pub fn signal(&self, signal: &str) {
        let kill = Command::new("kill").args(["-s", signal, &self.child.id().to_string()]).status();
        assert!(kill.expect("there is a kill").success());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn token(store: &Path, user: &str) -> String {
    let made = program().args(["token", "create", "--user", user, "--store"]).arg(store).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

/// The address and the path behind `http://`.
pub fn after_scheme(line: &str) -> &str {
    let (_, rest) = line.split_once("http://").expect("it has an address");
    rest.split(['"', ' ']).next().expect("a split has a first part")
}

/// A folder, and the path of a store within it.
pub fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("there is room");
    let store = folder.path().join("sync.db");
    (folder, store)
}

/// A device of a user.
pub struct Device<'s> {
    pub service: &'s Service,
    pub token: String,
    pub device: String,
}

impl Device<'_> {
    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send(path, body.to_string().as_bytes(), &[]).expect("it answers")
    }

    /// A body as it is, with more headers.
    pub fn send(&self, path: &str, body: &[u8], more: &[(&str, &str)]) -> Result<(u16, Value), ureq::Error> {
        let mut request = self.service.agent.post(format!("{}{path}", self.service.address));
        request = request.header("authorization", format!("Bearer {}", self.token));
        request = request.header("x-client", &self.device);
        if more.iter().all(|(name, _)| *name != "content-type") {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in more {
            request = request.header(*name, *value);
        }
        read(request.send(body)?)
    }

    pub fn get(&self, path: &str) -> (u16, Value) {
        self.try_get(path).expect("it answers")
    }

    pub fn try_get(&self, path: &str) -> Result<(u16, Value), ureq::Error> {
        read(self.stream(path)?)
    }

    /// An answer that is not read yet.
    pub fn stream(&self, path: &str) -> Result<Response<Body>, ureq::Error> {
        self.stream_with(path, &[])
    }

    /// The same, asked with more headers.
    pub fn stream_with(&self, path: &str, more: &[(&str, &str)]) -> Result<Response<Body>, ureq::Error> {
        let mut request = self.service.agent.get(format!("{}{path}", self.service.address));
        request = request.header("authorization", format!("Bearer {}", self.token));
        request = request.header("x-client", &self.device);
        for (name, value) in more {
            request = request.header(*name, *value);
        }
        request.call()
    }

    /// Everything after a cursor, page by page.
    pub fn follow(&self, mut cursor: u64) -> Vec<Value> {
        let mut changes = Vec::new();
        loop {
            let (status, page) = self.get(&format!("/v1/sync/delta?cursor={cursor}&limit=1000"));
            assert_eq!(status, 200, "{page}");
            changes.extend(page["changes"].as_array().expect("a page has changes").iter().cloned());
            cursor = page["cursor"].as_u64().expect("a page has a cursor");
            if page["more"] == false {
                return changes;
            }
        }
    }
}

fn read(mut answer: Response<Body>) -> Result<(u16, Value), ureq::Error> {
    let text = answer.body_mut().with_config().limit(1 << 30).read_to_string()?;
    let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok((answer.status().as_u16(), value))
}
