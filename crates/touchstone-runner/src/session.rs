//! A conversation with one driver process: one request, one reply, a limit on everything.
//!
//! Whatever the process does (floods, hangs, dies, speaks rubbish) comes back as a [`SessionError`], and the
//! process group is gone when the session is dropped.

use crate::strays;
use crate::task::tracer;
use crate::words::why_ended;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process, kill_process_group, pidfd_open, set_child_subreaper,
    set_parent_process_death_signal,
};
use serde_json::Value;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};
use touchstone::name::{is_unreadable, make_plain};
use touchstone::sample::Outcome;
use touchstone_protocol::{Failure, FailureKind, Hello, LINE_BYTES_MAX, PROTOCOL_VERSION, Reply, Request};

/// What is kept of a driver's standard error.
const STDERR_BYTES_MAX: usize = 64 << 10;

/// How long a driver may take to leave after `quit`.
const QUIT_LIMIT: Duration = Duration::from_secs(10);

/// How long a driver that closed its output may take to end.
const LEAVE_LIMIT: Duration = Duration::from_secs(2);

/// Why a conversation went wrong.
#[derive(Debug)]
pub enum SessionError {
    /// No reply within the limit.
    TimedOut(Duration),
    /// The process ended, or could not be started.
    Ended(String),
    /// It said something that is not a reply to what was asked.
    Rubbish(String),
    /// It answered something else than what is stored.
    Wrong(String),
    /// It answered with an error.
    Refused(Failure),
    /// The user asked to stop.
    Stopped,
}

impl SessionError {
    /// How the arm's part in the launch ends with this.
    pub fn outcome(&self) -> Outcome {
        match self {
            SessionError::TimedOut(_) => Outcome::TimedOut,
            SessionError::Ended(_) | SessionError::Rubbish(_) => Outcome::Crashed,
            SessionError::Wrong(_) => Outcome::Void,
            SessionError::Refused(failure) if failure.kind == FailureKind::Unsupported => {
                Outcome::Unsupported
            }
            SessionError::Refused(_) | SessionError::Stopped => Outcome::Failed,
        }
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionError::TimedOut(limit) => write!(formatter, "no reply within {} s", limit.as_secs_f64()),
            SessionError::Ended(how) => write!(formatter, "the driver ended: {how}"),
            SessionError::Rubbish(what) => write!(formatter, "the driver broke the protocol: {what}"),
            SessionError::Wrong(wrong) => formatter.write_str(wrong),
            SessionError::Refused(failure) => write!(formatter, "{failure}"),
            SessionError::Stopped => formatter.write_str("the run was stopped"),
        }
    }
}

/// A result of a conversation.
pub type SessionResult<T> = Result<T, SessionError>;

/// Set when the user asks to stop; every wait for a driver looks at it.
pub type Stop = Arc<AtomicBool>;

/// How often a wait looks whether the user asked to stop.
const STOP_CHECK: Duration = Duration::from_millis(200);

/// What every conversation of a run has in common.
#[derive(Clone, Debug)]
pub struct Manners {
    /// How long a driver may take for one reply.
    pub limit: Duration,
    /// Whether the user asked to stop.
    pub stop: Stop,
}

/// How often a wait for a process that was killed looks whether another traces it.
const TRACED_CHECK: Duration = Duration::from_millis(20);

/// A driver process that is spoken to.
pub struct Session {
    stdin: File,
    stdout: File,
    unread: Vec<u8>,
    process: Option<Child>,
    /// Readable once the process has ended, whoever still holds its output open.
    end: Option<OwnedFd>,
    stderr: Option<LastWords>,
    manners: Manners,
    /// Whether asking for its introduction went well, where nobody has waited for the reply yet.
    greeted: Option<SessionResult<()>>,
    /// How long the last reply was waited for.
    waited: Duration,
    /// How long it was, in bytes.
    replied: u64,
}

impl Session {
    /// Starts a driver in a process group of its own, which dies with the lab. What it starts stays its child when it loses its
    /// parent, and so is seen as its own.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn start(mut command: Command, manners: Manners) -> SessionResult<Session> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        // SAFETY: between fork and exec only async-signal-safe system calls are made.
        unsafe {
            command.pre_exec(|| {
                set_parent_process_death_signal(Some(Signal::KILL))?;
                // A system that does not let it leaves them to the lab.
                let _ = set_child_subreaper(Some(getpid()));
                Ok(())
            });
        }
        let program = command.get_program().to_string_lossy().into_owned();
        let mut process = command
            .spawn()
            .map_err(|error| SessionError::Ended(format!("cannot start {program}: {error}")))?;
        let home = command.get_envs().find(|(name, _)| *name == "HOME").and_then(|(_, home)| home);
        strays::started(process.id(), home.map(OsStr::to_owned));
        let stdin = OwnedFd::from(process.stdin.take().expect("stdin was piped"));
        let stdout = OwnedFd::from(process.stdout.take().expect("stdout was piped"));
        let stderr = keep_tail(process.stderr.take().expect("stderr was piped"));
        let mut session = Session::over(stdin, stdout, manners);
        session.end = pidfd_open(pid_of(&process), PidfdFlags::empty()).ok();
        session.process = Some(process);
        session.stderr = Some(stderr);
        Ok(session)
    }

    /// Speaks over pipes to a process that somebody else looks after.
    pub fn over(stdin: OwnedFd, stdout: OwnedFd, manners: Manners) -> Session {
        // Where the system refuses, a request waits for who reads it.
        let _ = ioctl_fionbio(&stdin, true);
        Session {
            stdin: stdin.into(),
            stdout: stdout.into(),
            unread: Vec::new(),
            process: None,
            end: None,
            stderr: None,
            manners,
            greeted: None,
            waited: Duration::ZERO,
            replied: 0,
        }
    }

    /// Asks for the driver's introduction and does not wait, so that several start at once. What goes wrong [`Session::hello`]
    /// tells.
    pub fn greet(&mut self) {
        if self.greeted.is_none() {
            let sent = self.send(&Request::Hello { protocol: PROTOCOL_VERSION });
            self.greeted = Some(sent.map(drop));
        }
    }

    /// Asks for the driver's introduction, unless that was done, and refuses another protocol version.
    ///
    /// # Errors
    /// As [`Session::ask`].
    pub fn hello(&mut self) -> SessionResult<Hello> {
        self.greet();
        self.greeted.take().unwrap_or(Ok(()))?;
        // It may have had to wait for others until it is heard: its limit begins here.
        match self.receive(Instant::now(), Duration::ZERO)? {
            Reply::Hello(hello) if hello.protocol == PROTOCOL_VERSION => Ok(hello),
            Reply::Hello(hello) => Err(SessionError::Rubbish(format!(
                "it speaks protocol version {}, the lab speaks {PROTOCOL_VERSION}: build the kit again",
                hello.protocol
            ))),
            other => Err(unexpected("hello", &other)),
        }
    }

    /// Sends a request and waits for its reply.
    ///
    /// # Errors
    /// When no reply comes within the limit, the process ends, it says anything but a reply, or it refuses.
    pub fn ask(&mut self, request: &Request) -> SessionResult<Reply> {
        let asked = self.send(request)?;
        self.receive(asked, lasting(request))
    }

    /// Sends a request, and tells when that began.
    fn send(&mut self, request: &Request) -> SessionResult<Instant> {
        let mut line = serde_json::to_vec(request).expect("a request is always JSON");
        line.push(b'\n');
        let asked = Instant::now();
        self.write_line(&line, asked + self.manners.limit)?;
        Ok(asked)
    }

    /// A driver that reads no requests fills its pipe, and is not waited for longer than for a reply.
    fn write_line(&mut self, mut line: &[u8], deadline: Instant) -> SessionResult<()> {
        while !line.is_empty() {
            match self.stdin.write(line) {
                Ok(count) => line = &line[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if !self.wait(&self.stdin, PollFlags::OUT, deadline)? {
                        return Err(self.ended());
                    }
                }
                Err(_) => return Err(self.ended()),
            }
        }
        Ok(())
    }

    /// Hears the reply to what was asked then and itself lasts so long.
    fn receive(&mut self, asked: Instant, lasting: Duration) -> SessionResult<Reply> {
        let line = self.read_line(asked + lasting + self.manners.limit)?;
        self.waited = asked.elapsed();
        self.replied = line.len() as u64 + 1;
        let rubbish = |error: serde_json::Error| {
            SessionError::Rubbish(format!("`{}` is not a reply: {error}", excerpt(&line)))
        };
        let mut reply: Value = serde_json::from_slice(&line).map_err(rubbish)?;
        make_plain(&mut reply);
        match serde_json::from_value(reply).map_err(rubbish)? {
            Reply::Error(failure) => Err(SessionError::Refused(failure)),
            reply => Ok(reply),
        }
    }

    /// Asks the driver to leave and waits until it has.
    ///
    /// # Errors
    /// When it does not leave, or not with status 0.
    pub fn quit(mut self) -> SessionResult<()> {
        self.manners.limit = QUIT_LIMIT;
        self.ask(&Request::Quit)?;
        let Some(mut process) = self.process.take() else { return Ok(()) };
        match wait_or_kill(&mut process, QUIT_LIMIT) {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(SessionError::Ended(describe(status))),
            Err(error) => Err(SessionError::Ended(error.to_string())),
        }
    }

    /// How long the last reply was waited for, in nanoseconds.
    pub fn waited_ns(&self) -> u64 {
        self.waited.as_nanos() as u64
    }

    /// How many bytes the last reply had, which the driver wrote as it writes its files.
    pub(crate) fn replied_bytes(&self) -> u64 {
        self.replied
    }

    /// The driver's process, as the system numbers it; none where somebody else looks after it.
    pub(crate) fn process(&self) -> Option<u32> {
        Some(self.process.as_ref()?.id())
    }

    /// How the process ended, where it has by now, and nobody asked it to.
    pub(crate) fn died(&mut self) -> Option<SessionError> {
        self.died_within(Duration::ZERO)
    }

    /// The same, where it ends within that time: a process that has closed its connections may still be on its way out.
    pub(crate) fn died_within(&mut self, time: Duration) -> Option<SessionError> {
        let end = self.end.as_ref()?;
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
        let has_ended =
            poll(&mut [PollFd::new(end, PollFlags::IN)], Some(&time)).is_ok_and(|ready| ready > 0);
        has_ended.then(|| self.ended())
    }

    /// What it says on standard error until it ends, to be heard then; none where that is somebody else's already.
    pub(crate) fn last_words(&mut self) -> Option<LastWords> {
        self.stderr.take()
    }

    fn read_line(&mut self, deadline: Instant) -> SessionResult<Vec<u8>> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.unread[searched..].iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.unread.drain(..=searched + end).collect();
                line.pop();
                if !self.unread.is_empty() {
                    return Err(SessionError::Rubbish(format!(
                        "it said more than one line: `{}`",
                        excerpt(&self.unread)
                    )));
                }
                return Ok(line);
            }
            searched = self.unread.len();
            if searched > LINE_BYTES_MAX {
                return Err(SessionError::Rubbish(format!(
                    "it floods its output: a line of over {LINE_BYTES_MAX} bytes"
                )));
            }
            let mut chunk = [0; 16 << 10];
            let more = self.wait(&self.stdout, PollFlags::IN, deadline)?;
            match if more { self.stdout.read(&mut chunk) } else { Ok(0) } {
                Ok(0) if self.unread.is_empty() => return Err(self.ended()),
                Ok(0) => {
                    let cut = excerpt(&self.unread);
                    return Err(SessionError::Rubbish(format!(
                        "it stopped in the middle of a line: `{cut}`"
                    )));
                }
                Ok(count) => self.unread.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(SessionError::Ended(error.to_string())),
            }
        }
    }

    /// Waits until there is something to read, or room to write; `false` where the process has ended and there is none.
    fn wait(&self, pipe: &File, ready: PollFlags, deadline: Instant) -> SessionResult<bool> {
        let mut waits = vec![PollFd::new(pipe, ready)];
        waits.extend(self.end.iter().map(|end| PollFd::new(end, PollFlags::IN)));
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(SessionError::TimedOut(self.manners.limit));
            }
            if self.manners.stop.load(Ordering::Relaxed) {
                return Err(SessionError::Stopped);
            }
            let step = left.min(STOP_CHECK);
            let timeout = Timespec { tv_sec: step.as_secs() as i64, tv_nsec: i64::from(step.subsec_nanos()) };
            match poll(&mut waits, Some(&timeout)) {
                Ok(0) | Err(Errno::INTR) => {}
                // Its last words may have come between the look at its output and the one at its end.
                Ok(_) if waits[0].revents().is_empty() => return Ok(is_ready(pipe, ready)),
                Ok(_) => return Ok(true),
                Err(error) => return Err(SessionError::Ended(error.to_string())),
            }
        }
    }

    /// The process has closed its end: how did it go?
    fn ended(&mut self) -> SessionError {
        let Some(mut process) = self.process.take() else {
            return SessionError::Ended("its pipe closed".into());
        };
        let how = match wait_or_kill(&mut process, LEAVE_LIMIT) {
            Ok(status) => describe(status),
            Err(error) => error.to_string(),
        };
        let stderr = self.last_words().map(LastWords::hear).unwrap_or_default();
        match why_ended(&stderr) {
            Some(words) => SessionError::Ended(format!("{how}, last saying: {words}")),
            None => SessionError::Ended(how),
        }
    }
}

fn is_ready(pipe: &File, ready: PollFlags) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(pipe, ready)], Some(&now)).is_ok_and(|ready| ready > 0)
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            kill_group(process);
            let _ = wait(process);
        }
    }
}

/// Waits for a process that is about to end, then ends it where it has not, and whatever it left behind. The group
/// is killed before the process is reaped, while its number cannot be another's.
/// How long what is asked lasts by itself: a run by the clock.
fn lasting(request: &Request) -> Duration {
    let Request::Run(run) = request else { return Duration::ZERO };
    Duration::from_millis(run.lanes.iter().filter_map(|lane| lane.lasts_ms).max().unwrap_or(0))
}

fn wait_or_kill(process: &mut Child, limit: Duration) -> std::io::Result<ExitStatus> {
    if let Ok(handle) = pidfd_open(pid_of(process), PidfdFlags::empty()) {
        let timeout = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: 0 };
        while let Err(Errno::INTR) = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&timeout)) {}
    }
    kill_group(process);
    wait(process)
}

/// Waits for a process that was killed or has ended, and ends what it has left behind.
fn wait(process: &mut Child) -> std::io::Result<ExitStatus> {
    let status = wait_unless_traced(process);
    strays::ended(process.id());
    status
}

/// One that another process traces is that one's to wait for first, which may never do so: it is given up after a while.
fn wait_unless_traced(process: &mut Child) -> std::io::Result<ExitStatus> {
    let handle = pidfd_open(pid_of(process), PidfdFlags::empty());
    let (step, began) = (Timespec { tv_sec: 0, tv_nsec: TRACED_CHECK.as_nanos() as i64 }, Instant::now());
    loop {
        if let Some(status) = process.try_wait()? {
            return Ok(status);
        }
        match &handle {
            Ok(handle) => drop(poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&step))),
            Err(_) => return process.wait(),
        }
        if let Some(status) = process.try_wait()? {
            return Ok(status);
        }
        if let Some(tracer) = tracer(process.id()) {
            if began.elapsed() > LEAVE_LIMIT {
                let why = format!("killed, and kept by process {tracer}, which traces it");
                return Err(std::io::Error::other(why));
            }
            // Once it has ended its handle is ready at once.
            std::thread::sleep(TRACED_CHECK);
        }
    }
}

/// The group's number is its leader's, so this must come before the leader is reaped. The leader may have left its group.
fn kill_group(process: &Child) {
    let _ = kill_process_group(pid_of(process), Signal::KILL);
    let _ = kill_process(pid_of(process), Signal::KILL);
}

fn pid_of(process: &Child) -> Pid {
    Pid::from_raw(process.id() as i32).expect("a child has a process id")
}

/// The reply was one, but to another request.
pub fn unexpected(asked: &str, reply: &Reply) -> SessionError {
    let said = serde_json::to_string(reply).unwrap_or_default();
    SessionError::Rubbish(format!("asked for {asked}, it answered {}", excerpt(said.as_bytes())))
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (_, Some(signal)) => format!("killed by signal {signal}"),
        _ => "no exit status".into(),
    }
}

fn excerpt(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().take(80).filter(|character| !is_unreadable(*character)).collect()
}

/// The end of what a driver says on standard error.
pub(crate) struct LastWords(Receiver<Vec<u8>>);

impl LastWords {
    /// Waits until nobody can say more, or for a while: a process that left the group may hold the pipe's other end open.
    pub(crate) fn hear(self) -> String {
        let said = self.0.recv_timeout(LEAVE_LIMIT).unwrap_or_default();
        String::from_utf8_lossy(&said).into_owned()
    }
}

fn keep_tail(mut pipe: impl Read + Send + 'static) -> LastWords {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut tail = Vec::new();
        let mut chunk = [0; 4 << 10];
        while let Ok(count @ 1..) = pipe.read(&mut chunk) {
            tail.extend_from_slice(&chunk[..count]);
            let excess = tail.len().saturating_sub(STDERR_BYTES_MAX);
            tail.drain(..excess);
        }
        // Nobody may want to know.
        let _ = sender.send(tail);
    });
    LastWords(receiver)
}
