//! The load generator's process: it is started for a window, waited for, and never outlives its window, its run or the lab.

use crate::error::{Error, ErrorKind, Result};
use crate::session::{Manners, Stop};
use crate::strays;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often a wait looks whether the user asked to stop.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// How much longer than its window the generator may take: users are set up before it, and the last answers come after it.
const LIMITS_BESIDE: u32 = 10;

/// A generator that asks.
pub(super) struct Generator {
    process: Child,
    handle: OwnedFd,
    folder: PathBuf,
    manners: Manners,
}

/// A generator that has ended.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// Its outcome, as it wrote it.
    pub(super) outcome: Vec<u8>,
    /// What it said last.
    pub(super) said: String,
    /// Its file of requests.
    pub(super) requests: String,
}

impl Generator {
    /// Starts it with a scenario, in a process group of its own: a Ctrl-C at the terminal is the lab's to answer.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(
        program: &Path,
        scenario: &str,
        folder: &Path,
        manners: &Manners,
    ) -> Result<Generator> {
        let file = folder.join("scenario.toml");
        fs::write(&file, scenario).map_err(|error| cannot("write", &file, &error))?;
        let output = |name: &str| {
            let path = folder.join(name);
            File::create(&path).map_err(|error| cannot("write", &path, &error))
        };
        let mut command = Command::new(program);
        command
            .args([file.as_os_str(), OsStr::new("--json"), OsStr::new("--hold"), OsStr::new("--requests")])
            .arg(requests(folder))
            .stdin(Stdio::piped())
            .stdout(output("outcome.json")?)
            .stderr(output("said")?)
            // It ends with the lab, however the lab ends.
            .env("TOUCHSTONE_LOAD_PARENT", std::process::id().to_string())
            .process_group(0);
        let _ = fs::remove_file(requests(folder));
        let mut process = command.spawn().map_err(|error| cannot("start", program, &error))?;
        // A service that ends meanwhile has not left it behind.
        strays::started(process.id(), None);
        match pidfd_open(pid_of(&process), PidfdFlags::empty()) {
            Ok(handle) => {
                Ok(Generator { process, handle, folder: folder.to_owned(), manners: manners.clone() })
            }
            Err(error) => {
                end(&mut process);
                Err(cannot("wait for", program, &error.into()))
            }
        }
    }

    /// Waits until its users are set up, or it has ended.
    ///
    /// # Errors
    /// When the user asks to stop, or neither happens in as long as a whole window may take.
    pub(super) fn wait_until_ready(&mut self) -> Result<()> {
        let path = self.folder.join("said");
        self.wait_until("set its users up", Duration::ZERO, || {
            fs::read(&path).is_ok_and(|said| is_ready(&said))
        })
    }

    /// Lets its users ask.
    pub(super) fn begin(&mut self) {
        drop(self.process.stdin.take());
    }

    /// Waits until some of what it asked has ended and been written down, or it has ended itself.
    ///
    /// # Errors
    /// When the user asks to stop, or neither happens in as long as a whole window may take.
    pub(super) fn wait_for_requests(&mut self) -> Result<()> {
        let path = requests(&self.folder);
        self.wait_until("ended a request", Duration::ZERO, || {
            fs::read(&path).is_ok_and(|text| has_request(&text))
        })
    }

    /// Lets it ask for that much longer, or until it ends.
    ///
    /// # Errors
    /// When the user asks to stop.
    pub(super) fn let_ask(&mut self, length: Duration) -> Result<()> {
        let until = Instant::now() + length;
        self.wait_until("asked for so long", length, || Instant::now() >= until)
    }

    /// Tells it to end now: what it has heard of until now is written down.
    pub(super) fn interrupt(&self) {
        let _ = kill_process(pid_of(&self.process), Signal::INT);
    }

    /// Waits until it has ended, which it does soon after that time.
    ///
    /// # Errors
    /// When the user asks to stop, it does not end, or its files cannot be read.
    pub(super) fn finish(mut self, length: Duration) -> Result<Ended> {
        self.wait_until("ended", length, || false)?;
        let status = self.process.wait().map_err(|error| cannot("wait for", &self.folder, &error))?;
        let read = |path: PathBuf| fs::read(&path).map_err(|error| cannot("read", &path, &error));
        let said = String::from_utf8_lossy(&read(self.folder.join("said"))?).into_owned();
        // A generator that could not begin has no requests.
        let requests = fs::read(requests(&self.folder)).unwrap_or_default();
        Ok(Ended {
            status,
            outcome: read(self.folder.join("outcome.json"))?,
            said,
            requests: String::from_utf8_lossy(&requests).into_owned(),
        })
    }

    /// Until it ends or something has happened.
    fn wait_until(
        &mut self,
        awaited: &str,
        length: Duration,
        mut has_happened: impl FnMut() -> bool,
    ) -> Result<()> {
        let gives_up = Instant::now() + length + self.manners.limit * LIMITS_BESIDE;
        loop {
            if self.manners.stop.load(Ordering::Relaxed) {
                return Err(Error::new(ErrorKind::Interrupted, "the run was stopped"));
            }
            let mut ends = [PollFd::new(&self.handle, PollFlags::IN)];
            // An interrupted wait looks again, as one that has waited long enough.
            let has_ended = poll(&mut ends, Some(&TICK)).is_ok_and(|ready| ready > 0);
            if has_ended || has_happened() {
                return Ok(());
            }
            if Instant::now() > gives_up {
                let waited = (length + self.manners.limit * LIMITS_BESIDE).as_secs();
                return Err(Error::new(
                    ErrorKind::Input,
                    format!("after {waited} s the load generator had not {awaited}, and was killed"),
                ));
            }
        }
    }
}

/// How long a program may take to end by itself once the user has asked to stop: a Ctrl-C at the terminal has reached it as well.
const ENDS_ITSELF: Duration = Duration::from_secs(2);

/// Lets a program run on the lab's own terminal. Where the lab alone is told to stop, the program is told too.
///
/// # Errors
/// When it cannot be started or waited for.
pub fn run_to_its_end(command: &mut Command, stop: &Stop) -> std::io::Result<ExitStatus> {
    let mut process = command.spawn()?;
    let handle = pidfd_open(pid_of(&process), PidfdFlags::empty())?;
    let mut tells_at = None;
    loop {
        let mut ends = [PollFd::new(&handle, PollFlags::IN)];
        if poll(&mut ends, Some(&TICK)).is_ok_and(|ready| ready > 0) {
            return process.wait();
        }
        if stop.load(Ordering::Relaxed) {
            let at = *tells_at.get_or_insert_with(|| Instant::now() + ENDS_ITSELF);
            if Instant::now() >= at {
                let _ = kill_process(pid_of(&process), Signal::INT);
                tells_at = Some(Instant::now() + ENDS_ITSELF);
            }
        }
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

/// Kills it. One that has ended and was waited for is not touched.
fn end(process: &mut Child) {
    let _ = process.kill();
    let _ = process.wait();
    strays::ended(process.id());
}

fn requests(folder: &Path) -> PathBuf {
    folder.join("requests.csv")
}

/// Whether a line behind the first is whole, and is not of what users do before they begin.
fn has_request(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().skip(1).any(|line| line.split(',').nth(3).is_some_and(|phase| phase != "setup"))
}

/// The line that a generator says when its users are set up.
pub(super) const READY: &str = "ready";

fn is_ready(said: &[u8]) -> bool {
    let said = String::from_utf8_lossy(said);
    said.split_inclusive('\n').any(|line| line.strip_suffix('\n') == Some(READY))
}

fn pid_of(process: &Child) -> Pid {
    Pid::from_child(process)
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::io(format_args!("cannot {what} {}", path.display()), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_set_up_once_the_line_that_says_so_is_whole() {
        assert!(!is_ready(b""));
        assert!(!is_ready(b"ready"));
        assert!(is_ready(b"a warning\nready\n"));
        assert!(!is_ready(b"it is not ready\n"));
    }

    #[test]
    fn users_ask_once_a_line_of_a_phase_is_whole() {
        let head = "began_ns,user,iteration,phase,request,status,failure,response_ns,service_ns\n";
        let setup = "-5,1,0,setup,begin,200,,14,13\n";
        assert!(!has_request(b""));
        assert!(!has_request(format!("{head}{setup}").as_bytes()));
        assert!(!has_request(format!("{head}{setup}5,1,1,window,upl").as_bytes()));
        assert!(has_request(format!("{head}{setup}5,1,1,window,upload,200,,14,13\n").as_bytes()));
    }
}
