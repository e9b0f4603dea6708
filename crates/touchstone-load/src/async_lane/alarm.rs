//! A timer of nanoseconds: the runtime's own counts milliseconds.

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;
use std::task::Context;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A timer that wakes the lane.
pub(super) struct Alarm {
    timer: AsyncFd<OwnedFd>,
    /// When it will ring; never, if it is not set.
    rings_at_ns: u64,
}

impl Alarm {
    /// One that is not set.
    pub(super) fn new() -> io::Result<Alarm> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // SAFETY: an `OwnedFd` is open for as long as it is there, and is always the same.
        let timer = unsafe { AsyncFd::register_with_interest(timer, Interest::READABLE) }?;
        Ok(Alarm { timer, rings_at_ns: u64::MAX })
    }

    /// Lets it ring at a moment, or before it: one that is set for an earlier moment stays, which spares a call for each time that the
    /// lane is woken by something else.
    pub(super) fn ring_at(&mut self, now_ns: u64, at_ns: u64) -> io::Result<()> {
        if (now_ns..=at_ns).contains(&self.rings_at_ns) {
            return Ok(());
        }
        self.rings_at_ns = at_ns;
        // A timer that is set to 0 does not ring.
        let ahead_ns = (at_ns - now_ns).max(1);
        let ahead = Timespec {
            tv_sec: (ahead_ns / 1_000_000_000) as i64,
            tv_nsec: (ahead_ns % 1_000_000_000) as i64,
        };
        let once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Itimerspec { it_interval: once, it_value: ahead };
        timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::empty(), &value)?;
        Ok(())
    }

    /// Whether it has rung. If not, the lane is woken when it does.
    pub(super) fn has_rung(&mut self, context: &mut Context<'_>) -> bool {
        let mut has_rung = false;
        // Asked until it would wait: only then it is remembered whom to wake. What it counts need not be read, for the queue tells each
        // ringing once.
        while let std::task::Poll::Ready(Ok(mut ready)) = self.timer.poll_read_ready(context) {
            ready.clear_ready();
            self.rings_at_ns = u64::MAX;
            has_rung = true;
        }
        has_rung
    }
}
