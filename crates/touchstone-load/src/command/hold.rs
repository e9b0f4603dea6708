//! `--hold`: users are set up, and the run waits until it is told to begin the first phase.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// What standard error has when all users are set up, in a line of its own.
const READY: &str = "ready";

/// How often the wait looks whether the run was stopped.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// Says that all users are set up, and returns when standard input has a line or has ended, or the run is stopped.
pub(super) fn until_told(stop: &AtomicBool) {
    let is_stopped = || stop.load(Ordering::Relaxed);
    if is_stopped() {
        return;
    }
    // Nobody may read it.
    let _ = writeln!(io::stderr(), "{READY}");
    let input = io::stdin();
    while !is_stopped() {
        let mut waiting = [PollFd::new(&input, PollFlags::IN)];
        match poll(&mut waiting, Some(&TICK)) {
            Ok(0) | Err(Errno::INTR) => {}
            // Where the system cannot tell whether there is a line, nothing is waited for.
            Ok(_) | Err(_) => return,
        }
    }
}
