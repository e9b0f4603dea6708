//! The tracer: one thread that follows one process tree from its first call to its last breath.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use super::calls::{self, After};
use super::log::Log;
use super::proc::{Task, there};
use super::ptrace::{self, CallInfo, Status, Stop};
use super::syscalls::{Call, decode};
use crate::{Error, ErrorKind, EventKind, Trace};

/// Follows the tree of `leader`, which this thread has seized, until the leader ends; what is left of the tree is
/// killed then, and reaped.
///
/// # Errors
///
/// [`ErrorKind::Trace`] and [`ErrorKind::Limit`]; the tree is dead in every case.
pub(super) fn follow(leader: Task, log: Log) -> Result<Trace, Error> {
    let mut tracer = Tracer { log, tasks: HashSet::from([leader]), halfway: HashMap::new(), executed: false };
    match tracer.follow_leader(leader) {
        Ok(None) => Err(Error::new(ErrorKind::Start, "the program could not be executed")),
        followed => {
            tracer.end_the_rest();
            followed.map(|exit| tracer.log.finish(exit.expect("the other case is above")))
        }
    }
}

/// Whether a program that ended so, and that the recorder tried to kill, died of it.
pub(super) fn died_of_killing(exit: ExitStatus) -> bool {
    exit.signal() == Some(libc::SIGKILL)
}

struct Tracer {
    log: Log,
    tasks: HashSet<Task>,
    /// The tasks inside a call whose return is of interest.
    halfway: HashMap<Task, After>,
    /// Whether the leader runs its program yet, and no longer the lab's own between fork and exec.
    executed: bool,
}

impl Tracer {
    /// How the leader ended; `None` if that was before it executed its program. It is not reaped then: the caller's
    /// `Command::spawn`, which knows why, waits for it and would panic if it were gone.
    fn follow_leader(&mut self, leader: Task) -> Result<Option<ExitStatus>, Error> {
        let lost = |error| {
            let message =
                "the recorder lost hold of the program; record again, and report this if it persists";
            Error::caused_by(ErrorKind::Trace, message, error)
        };
        loop {
            if !self.executed && ptrace::has_ended(leader).map_err(lost)? {
                return Ok(None);
            }
            let Some((task, status)) = ptrace::wait().map_err(lost)? else {
                return Err(lost(io::Error::from_raw_os_error(libc::ECHILD)));
            };
            match status {
                Status::Ended(exit) => {
                    self.tasks.remove(&task);
                    self.halfway.remove(&task);
                    if task == leader {
                        return Ok(Some(exit));
                    }
                }
                Status::Stopped(stop) => {
                    self.tasks.insert(task);
                    // A task that vanishes at a stop was killed; its end is reported in its turn.
                    there(self.stopped(task, stop)).map_err(lost)?;
                }
            }
            if let Some(full) = self.log.full() {
                return Err(full);
            }
        }
    }

    fn stopped(&mut self, task: Task, stop: Stop) -> io::Result<()> {
        let mut signal = 0;
        match stop {
            Stop::CallBegins => self.call_begins(task)?,
            Stop::CallReturned => self.call_returned(task)?,
            Stop::Executed => {
                // The ids of its process's other threads are void now, its own former one among them.
                let former = ptrace::former_task(task)?;
                if former != task {
                    self.tasks.remove(&former);
                }
                self.halfway.remove(&former);
                self.halfway.remove(&task);
                self.executed = true;
            }
            Stop::Held => return ptrace::listen(task),
            Stop::Signal(pending) => signal = pending,
            Stop::Other => {}
        }
        match self.halfway.contains_key(&task) {
            true => ptrace::resume_until_return(task, signal),
            false => ptrace::resume(task, signal),
        }
    }

    fn call_begins(&mut self, task: Task) -> io::Result<()> {
        let Some(CallInfo::Begins { number, arguments }) = ptrace::call_info(task)? else { return Ok(()) };
        let call = decode(number, &arguments);
        if let Some(Call::Refuse { what }) = call {
            self.log.push(self.log.now(), EventKind::Unsupported { what });
            return ptrace::skip_call(task);
        }
        let Some(call) = call else { return Ok(()) };
        if let Some(after) = there(calls::before(&mut self.log, task, call))?.flatten() {
            self.halfway.insert(task, after);
        }
        Ok(())
    }

    fn call_returned(&mut self, task: Task) -> io::Result<()> {
        let Some(after) = self.halfway.remove(&task) else { return Ok(()) };
        match ptrace::call_info(task)? {
            Some(CallInfo::Returned { value }) if value >= 0 => {
                there(after(&mut self.log, value as u64)).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Kills and reaps every task that is left, also those that come into being meanwhile.
    fn end_the_rest(&mut self) {
        self.tasks.iter().for_each(|&task| ptrace::kill(task));
        while let Ok(Some((task, status))) = ptrace::wait() {
            if let Status::Stopped(_) = status {
                ptrace::kill(task);
                // Fails only if the task is dying, which is the aim.
                let _ = ptrace::resume(task, 0);
            }
        }
    }
}
