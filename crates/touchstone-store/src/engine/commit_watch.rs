//! Commit watch: reports commits of other processes. A watcher, a thread that waits for commits, sleeps at a futex: the
//! word of the write-ahead log's (WAL's) index that every commit changes. Each watcher has a bit in that index. A store
//! that has committed reads the bits from memory and wakes the watchers whose bits are set. Writers that are no stores
//! wake nobody. So a watcher also polls: 1 ms after it last saw a change, then at growing pauses of up to 10 ms.
//!
//! The bits are hints and need no clean-up. A lost bit is set again at the watcher's next look. The bit of a process
//! that has died is cleared by a store that has called for it in vain for some time.

use super::log::{LogIndex, LogState};
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering, fence};
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// The pauses between two looks: the first after a change, and the longest. A look costs some microseconds.
const LOOKS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(10));
/// After this many calls in a row that woke nobody, the watchers are taken for dead.
const VAIN_MAX: u32 = 256;
/// Looks at a half-written header: the first so many yield to its writer; after so many the writer is taken for dead.
const HALF_WRITTEN_MAX: (u32, u32) = (100, 120);

/// A store's commit watch: its writer rings it, and its watcher waits for the rings of other stores. Like the index, it
/// is not used after this process has closed its last connection to the file.
pub(crate) struct CommitWatch {
    index: LogIndex,
    /// The bit of this store's watcher; 0 if there is none.
    own: AtomicU16,
    /// The number of calls in a row that woke nobody.
    vain: AtomicU32,
    /// The pause until the next look, in microseconds.
    pause_us: AtomicU32,
    looks: (Duration, Duration),
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The log's state is not the seen one; or its writer has died, and the next reader repairs the index.
    Change,
    /// The time has passed, or the watcher has something else to do.
    Nothing,
}

impl CommitWatch {
    pub(crate) fn new(index: LogIndex) -> CommitWatch {
        CommitWatch::looking(index, LOOKS)
    }

    fn looking(index: LogIndex, looks: (Duration, Duration)) -> CommitWatch {
        let pause_us = AtomicU32::new(micros(looks.0));
        CommitWatch { index, own: AtomicU16::new(0), vain: AtomicU32::new(0), pause_us, looks }
    }

    /// Wakes the watchers of other stores. The thread that has committed calls it.
    #[inline]
    pub(crate) fn ring(&self) {
        // Either the watcher sees the commit before it sleeps, or this thread sees the watcher's bit.
        fence(Ordering::SeqCst);
        let others = self.index.watches().load(Ordering::Relaxed) & !self.own.load(Ordering::Relaxed);
        if others != 0 {
            self.wake(others);
        }
    }

    #[cold]
    fn wake(&self, others: u16) {
        if sleep::wake(self.index.change_word(), others) > 0 {
            self.vain.store(0, Ordering::Relaxed);
        } else if self.vain.fetch_add(1, Ordering::Relaxed) >= VAIN_MAX {
            self.vain.store(0, Ordering::Relaxed);
            // A watcher that lives but was busy sets its bit again when it next waits; one that was about to sleep, at
            // its next look.
            self.index.watches().fetch_and(!others, Ordering::Relaxed);
        }
    }

    /// The state of the log, as soon as its header is whole. `None` if the header stays half written, because its
    /// writer has died or is stopped, or if `is_over`, which is called at each look, returns true.
    pub(crate) fn settled(&self, is_over: impl Fn() -> bool) -> Option<LogState> {
        for look in 0..=HALF_WRITTEN_MAX.1 {
            let state = self.index.state();
            if state.is_some() || is_over() {
                return state;
            }
            if look < HALF_WRITTEN_MAX.0 {
                std::thread::yield_now();
            } else {
                std::thread::sleep(self.looks.0);
            }
        }
        None
    }

    /// Waits until the log's state is not `seen`, for `time` at most, or until `is_over`, called at each look, returns
    /// true. This store's own commits end the wait too, but only at the next look: they do not wake it.
    pub(crate) fn wait(&self, seen: LogState, time: Duration, is_over: impl Fn() -> bool) -> Heard {
        let end = Instant::now() + time;
        loop {
            let own = self.sign_in();
            if self.settled(|| false) != Some(seen) {
                self.pause_us.store(micros(self.looks.0), Ordering::Relaxed);
                return Heard::Change;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || is_over() {
                return Heard::Nothing;
            }
            let pause_us = self.pause_us.load(Ordering::Relaxed);
            if sleep::until_woken(
                self.index.change_word(),
                seen.change(),
                own,
                left.min(micros_long(pause_us)),
            ) {
                let longer = pause_us.saturating_mul(2).min(micros(self.looks.1));
                self.pause_us.store(longer, Ordering::Relaxed);
            }
        }
    }

    /// Clears this store's bit: it has no watcher any more.
    pub(crate) fn leave(&self) {
        let own = self.own.swap(0, Ordering::Relaxed);
        self.index.watches().fetch_and(!own, Ordering::Relaxed);
    }

    /// Sets this store's bit unless it is set, and returns it.
    fn sign_in(&self) -> u16 {
        let own = self.own.load(Ordering::Relaxed);
        let watches = self.index.watches();
        let mut known = watches.load(Ordering::Relaxed);
        if own != 0 && known & own != 0 {
            return own;
        }
        loop {
            let free = known.trailing_ones();
            // Two stores with the same bit do not wake each other: each sees the other's commits when it looks.
            let bit = if own != 0 {
                own
            } else {
                1 << if free < u16::BITS { free } else { std::process::id() % u16::BITS }
            };
            match watches.compare_exchange_weak(known, known | bit, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => {
                    self.own.store(bit, Ordering::Relaxed);
                    return bit;
                }
                Err(now) => known = now,
            }
        }
    }
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

fn micros_long(micros: u32) -> Duration {
    Duration::from_micros(u64::from(micros))
}

/// A futex: sleep at a word of memory that processes share.
#[cfg(target_os = "linux")]
mod sleep {
    use rustix::io::Errno;
    use rustix::thread::futex::{self, Flags, Timespec};
    use rustix::time::{ClockId, clock_gettime};
    use std::num::NonZeroU32;
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    /// Sleeps while the word is `value`, until another thread calls one of the bits; whether the whole time has passed.
    pub(super) fn until_woken(word: &AtomicU32, value: u32, bits: u16, time: Duration) -> bool {
        let Some(bits) = NonZeroU32::new(u32::from(bits)) else { return true };
        let now = clock_gettime(ClockId::Monotonic);
        let Ok(time_of) = Timespec::try_from(time) else { return true };
        let Some(end) = now.checked_add(time_of) else { return true };
        // Not a private futex: each process maps the file at an address of its own.
        match futex::wait_bitset(word, Flags::empty(), value, Some(&end), bits) {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => false,
            Err(Errno::TIMEDOUT) => true,
            // The system does not allow this kind of sleep.
            Err(_) => {
                std::thread::sleep(time);
                true
            }
        }
    }

    /// Wakes all threads that sleep at the word for one of the bits; how many they are.
    pub(super) fn wake(word: &AtomicU32, bits: u16) -> usize {
        let Some(bits) = NonZeroU32::new(u32::from(bits)) else { return 0 };
        futex::wake_bitset(word, Flags::empty(), i32::MAX.unsigned_abs(), bits).unwrap_or(0)
    }
}

/// The system has no sleep that processes share: every watcher polls.
#[cfg(not(target_os = "linux"))]
mod sleep {
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    pub(super) fn until_woken(_word: &AtomicU32, _value: u32, _bits: u16, time: Duration) -> bool {
        std::thread::sleep(time);
        true
    }

    pub(super) fn wake(_word: &AtomicU32, _bits: u16) -> usize {
        0
    }
}
