//! The lab's part, in miniature: starts a driver, asks, and waits for the answer with a limit.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;
use touchstone_protocol::{Hello, Lane, PROTOCOL_VERSION, Reply, Request, Run, Sample, Settings, Verb};

/// Longer than any answer takes, even on a machine that builds something else beside.
const PATIENCE: Duration = Duration::from_secs(60);

/// A driver that is spoken to. It is killed when dropped.
pub struct Session {
    process: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

#[allow(dead_code, reason = "each test uses a part of it")]
impl Session {
    /// Starts the program.
    pub fn start(program: &str, arguments: &[&str]) -> Session {
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (said, lines) = channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| said.send(line)));
        Session { process, input, lines }
    }

    /// Says a line and waits for one; `None` if the driver ends instead.
    pub fn say(&mut self, line: &str) -> Option<String> {
        let input = self.input.as_mut().expect("the input is open");
        writeln!(input, "{line}").unwrap();
        self.hear(PATIENCE).expect("the driver answers in time")
    }

    /// Waits for a line; `None` if the driver ends instead.
    pub fn hear(&mut self, limit: Duration) -> Result<Option<String>, RecvTimeoutError> {
        match self.lines.recv_timeout(limit) {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(timeout) => Err(timeout),
        }
    }

    /// Makes a request and waits for the reply.
    pub fn ask(&mut self, request: &Request) -> Reply {
        let line = self.say(&serde_json::to_string(request).unwrap()).expect("the driver still runs");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// Makes a request without waiting.
    pub fn request(&mut self, request: &Request) {
        writeln!(self.input.as_mut().unwrap(), "{}", serde_json::to_string(request).unwrap()).unwrap();
    }

    /// Asks who the driver is.
    pub fn hello(&mut self) -> Hello {
        match self.ask(&Request::Hello { protocol: PROTOCOL_VERSION }) {
            Reply::Hello(hello) => hello,
            other => panic!("{other:?}"),
        }
    }

    /// Opens a database and returns the settings read back.
    pub fn open(&mut self, open: Request) -> Settings {
        match self.ask(&open) {
            Reply::Open(opened) => opened.settings,
            other => panic!("{other:?}"),
        }
    }

    /// Runs lanes.
    pub fn run(&mut self, lanes: &[Lane]) -> Sample {
        match self.ask(&Request::Run(Run::of(lanes.to_vec()))) {
            Reply::Run(sample) => sample,
            other => panic!("{lanes:?}: {other:?}"),
        }
    }

    /// Closes the input.
    pub fn hang_up(&mut self) {
        self.input = None;
    }

    /// Waits until the driver has ended.
    pub fn end(mut self) -> ExitStatus {
        assert_eq!(self.hear(PATIENCE), Ok(None), "the driver says nothing more");
        self.process.wait().unwrap()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A lane without a read transaction.
#[allow(dead_code, reason = "each test uses a part of it")]
pub fn lane(verb: Verb, from: u64, count: u64) -> Lane {
    Lane::new(verb, from, count)
}
