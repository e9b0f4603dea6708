//! A program that is being recorded: started, talked to, ended. The tracer has its own thread; this is its handle.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use super::log::Log;
use super::{filter, start, tracer};
use crate::{Error, ErrorKind, Options, Trace};

/// How long a killed tree may take to be gone.
const REAP_LIMIT: Duration = Duration::from_secs(10);

/// A program that is being recorded.
///
/// Its input and output are ordinary pipes: take them, and talk to the program while it is recorded. Dropping a
/// recording kills the program and everything that it started.
#[derive(Debug)]
pub struct Recording {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    killer: Killer,
    /// The tracer's last word; `None` once it has been heard.
    outcome: Option<Receiver<Result<Trace, Error>>>,
}

/// Ends a recorded program from any thread, for instance while another one waits for a reply.
#[derive(Clone, Debug)]
pub struct Killer {
    leader: Arc<OwnedFd>,
    used: Arc<AtomicBool>,
}

impl Recording {
    /// Starts `command` under the recorder, with piped input and output. Arguments, environment, working directory
    /// and standard error are as the command says. The program cannot gain privileges (`no_new_privs`), its
    /// `io_uring_setup` and `io_setup` fail with `ENOSYS`, and 32-bit programs in its tree are killed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Directory`] if the directory to watch is unusable, [`ErrorKind::Unavailable`] if tracing is
    /// refused, [`ErrorKind::Start`] if the program cannot be started.
    pub fn start(mut command: Command, options: Options) -> Result<Recording, Error> {
        let name = command.get_program().to_string_lossy().into_owned();
        let failed = |error| {
            Error::caused_by(ErrorKind::Start, format!("cannot start {name} under the recorder"), error)
        };

        let log = Log::new(&options)?;
        let program = filter::program().map_err(io::Error::other).map_err(failed)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let socket = start::prepare(&mut command, program).map_err(failed)?;
        let (seized_sender, seized) = mpsc::channel();
        let (outcome_sender, outcome) = mpsc::channel();
        thread::Builder::new()
            .name("recorder".to_string())
            .spawn(move || run_tracer(socket, log, &seized_sender, &outcome_sender))
            .map_err(failed)?;

        let spawned = command.spawn();
        // The command holds the child's end of the socket; if it did not fork, this is what tells the tracer.
        drop(command);
        let error = match (spawned, seized.recv()) {
            (Ok(child), Ok(Ok(leader))) => return Ok(Recording::of(child, leader, outcome)),
            (_, Ok(Err(error))) => return Err(error),
            (Err(error), _) => error,
            (Ok(_), Err(_)) => io::Error::other("its tracer died"),
        };
        Err(failed(error))
    }

    fn of(
        mut child: std::process::Child,
        leader: OwnedFd,
        outcome: Receiver<Result<Trace, Error>>,
    ) -> Recording {
        Recording {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            killer: Killer { leader: Arc::new(leader), used: Arc::default() },
            outcome: Some(outcome),
        }
    }

    /// The program's standard input; `None` the second time.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// The program's standard output; `None` the second time. Whoever takes it must read it, for a full pipe stops
    /// the program.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.stdout.take()
    }

    /// The program's standard error, if the command asked for a pipe; `None` the second time.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.stderr.take()
    }

    /// A handle that can kill the program from another thread.
    pub fn killer(&self) -> Killer {
        self.killer.clone()
    }

    /// Kills the program and everything that it started. [`Recording::finish`] still yields the trace up to there,
    /// without the calls that were under way; the last line that was read may be one of them. To have every mark,
    /// let the program end by itself.
    pub fn kill(&self) {
        self.killer.kill();
    }

    /// Closes the program's input unless it was taken, gives it `grace` to end by itself, and kills it otherwise.
    /// Output that was not taken is read and discarded meanwhile. When the program itself has ended, what is left of
    /// its tree is killed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Trace`] and [`ErrorKind::Limit`] if the recording failed on the way, [`ErrorKind::Stuck`] if the
    /// killed tree was not gone within ten seconds. That the program failed or was killed is no error.
    pub fn finish(mut self, grace: Duration) -> Result<Trace, Error> {
        drop(self.stdin.take());
        discard(self.stdout.take());
        discard(self.stderr.take());
        let outcome =
            self.outcome.take().expect("only finish takes the outcome, and it takes the recording too");
        let ended = match outcome.recv_timeout(grace) {
            Err(RecvTimeoutError::Timeout) => {
                self.kill();
                outcome.recv_timeout(REAP_LIMIT)
            }
            ended => ended,
        };
        let mut trace = last_word(ended)?;
        trace.killed = self.killer.used.load(Ordering::Relaxed) && tracer::died_of_killing(trace.exit);
        Ok(trace)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(outcome) = self.outcome.take() {
            self.kill();
            // Nobody is left to tell if this fails; the tracer goes on reaping for as long as the process lives.
            let _ = outcome.recv_timeout(REAP_LIMIT);
        }
    }
}

impl Killer {
    /// Kills the program and everything that it started; does nothing if it has ended already.
    pub fn kill(&self) {
        self.used.store(true, Ordering::Relaxed);
        // SAFETY: no signal information is passed. The handle names this process and no later one of the same id, and
        // its tracer kills the rest of the tree when this process has died.
        unsafe {
            let none = ptr::null::<libc::siginfo_t>();
            libc::syscall(libc::SYS_pidfd_send_signal, self.leader.as_raw_fd(), libc::SIGKILL, none, 0);
        }
    }
}

/// The tracer thread, from the child's greeting to the end of the tree.
fn run_tracer(
    mut socket: UnixStream,
    mut log: Log,
    seized: &Sender<Result<OwnedFd, Error>>,
    outcome: &Sender<Result<Trace, Error>>,
) {
    let refused = |error| {
        let remedy = "allow it (kernel.yama.ptrace_scope, container profile) and do not nest tracers";
        Error::caused_by(ErrorKind::Unavailable, format!("tracing was refused; {remedy}"), error)
    };
    let greeting = match start::receive(&mut socket) {
        Ok(Some(greeting)) => greeting,
        Ok(None) => return,
        Err(error) => return drop(seized.send(Err(refused(error)))),
    };
    log.stdout = Some(greeting.stdout);
    // A send fails only if the caller has gone, and then there is nobody to tell.
    match start::seize(&mut socket, greeting.task) {
        Ok(leader) => drop(seized.send(Ok(leader))),
        Err(error) => return drop(seized.send(Err(refused(error)))),
    }
    drop(outcome.send(tracer::follow(greeting.task, log)));
}

fn last_word(ended: Result<Result<Trace, Error>, RecvTimeoutError>) -> Result<Trace, Error> {
    let (kind, message) = match ended {
        Ok(outcome) => return outcome,
        Err(RecvTimeoutError::Timeout) => {
            (ErrorKind::Stuck, "the killed program is not gone; look for a task in state D on a hung disk")
        }
        Err(RecvTimeoutError::Disconnected) => {
            (ErrorKind::Trace, "the recorder's own thread panicked; its message is on standard error")
        }
    };
    Err(Error::new(kind, message))
}

/// Reads a pipe to its end, so that the program at its other side never waits.
fn discard(pipe: Option<impl io::Read + Send + 'static>) {
    if let Some(mut pipe) = pipe {
        thread::spawn(move || io::copy(&mut pipe, &mut io::sink()));
    }
}
