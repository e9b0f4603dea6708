//! Waiting for the next event or the next start, whichever comes first.

use crate::journey::Wait;
use crate::scenario::Pacing;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;

/// Before a start the kernel is left this early, where the rest is waited for in a loop: longer than it is ever late when it is not
/// kept from running.
pub const SPIN_NS: u64 = 60_000;

/// Asks the kernel to be punctual: by default it may be 50 µs late, to wake less often.
pub fn be_punctual() {
    // A kernel that refuses is less punctual, and the send lag says so.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// Waits for events; where the next start is what ends it, as punctually as the pacing says.
///
/// # Errors
/// What the system says.
pub fn wait(
    epoll: &OwnedFd,
    events: &mut Vec<epoll::Event>,
    wait: Wait,
    pacing: Pacing,
) -> rustix::io::Result<()> {
    let wait_ns = match pacing {
        Pacing::Sleep => wait.ns,
        Pacing::Hybrid if wait.is_for_start => wait.ns.saturating_sub(SPIN_NS),
        Pacing::Hybrid => wait.ns,
        Pacing::Spin => 0,
    };
    let timeout =
        Timespec { tv_sec: (wait_ns / 1_000_000_000) as i64, tv_nsec: (wait_ns % 1_000_000_000) as i64 };
    events.clear();
    match epoll::wait(epoll, spare_capacity(events), Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error),
    }
}
