//! Hears commits of other processes. Who waits sleeps at the word of the log's index that every commit changes, and has a
//! bit in the index; a store that has committed looks at those bits, in memory, and wakes who sleeps. Writers that are no
//! stores wake nobody, so whoever waits also looks by himself, from one to ten milliseconds after he last saw something.
//!
//! The bits are hints, and need no cleaning up: one that is lost is set again at the next look, and one of a process that
//! has died is taken back by who has called for it in vain for some time.

use super::log::{LogIndex, LogState};
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering, fence};
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Between two looks, while there was something to see and later. A look costs some microseconds.
const LOOKS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(10));
/// How often nobody is woken before those who should be are taken for gone.
const VAIN_MAX: u32 = 256;
/// How often the header is found half written before the one who writes it is left alone with it, and then taken for dead.
const HALF_WRITTEN_MAX: (u32, u32) = (100, 120);

/// A store's bell: its writer rings it, and its watcher waits for those of others. It is not used after the last
/// connection of this process to the file was closed, as its index.
pub(crate) struct Bell {
    index: LogIndex,
    /// The watcher's bit; 0 where nobody of this store watches.
    own: AtomicU16,
    /// How often nobody was woken since somebody was.
    vain: AtomicU32,
    /// Until the next look, in microseconds.
    pause_us: AtomicU32,
    looks: (Duration, Duration),
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The log is another than was seen; or its writer has died, and whoever reads next will mend it.
    Change,
    /// The time is over, or who waits has something else to do.
    Nothing,
}

impl Bell {
    pub(crate) fn new(index: LogIndex) -> Bell {
        Bell::looking(index, LOOKS)
    }

    fn looking(index: LogIndex, looks: (Duration, Duration)) -> Bell {
        let pause_us = AtomicU32::new(micros(looks.0));
        Bell { index, own: AtomicU16::new(0), vain: AtomicU32::new(0), pause_us, looks }
    }

    /// Wakes those of other stores who wait. Who has committed calls it.
    #[inline]
    pub(crate) fn ring(&self) {
        // Either the commit is seen by who goes to sleep, or his bit is seen here.
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
            // Who only was about something else says again that he watches, when he next waits; who goes to sleep in this
            // very moment, when he next looks.
            self.index.watches().fetch_and(!others, Ordering::Relaxed);
        }
    }

    /// The state of the log, as soon as its header is whole; none where it stays half written, because its writer has died
    /// or is stopped, and where `is_over`, which is asked at each look, says so.
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

    /// Waits until the log is another than that, at most for that long, and until `is_over`, which is asked at each look.
    /// Commits of this store count as well, but nobody is woken by them.
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

    /// Says that nobody of this store watches any more.
    pub(crate) fn leave(&self) {
        let own = self.own.swap(0, Ordering::Relaxed);
        self.index.watches().fetch_and(!own, Ordering::Relaxed);
    }

    /// Says that this store watches, where it is not said; its bit.
    fn sign_in(&self) -> u16 {
        let own = self.own.load(Ordering::Relaxed);
        let watches = self.index.watches();
        let mut known = watches.load(Ordering::Relaxed);
        if own != 0 && known & own != 0 {
            return own;
        }
        loop {
            let free = known.trailing_ones();
            // Two who share a bit do not wake each other, and hear of each other when they look.
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

/// Sleep at a word of memory that processes share.
#[cfg(target_os = "linux")]
mod sleep {
    use rustix::io::Errno;
    use rustix::thread::futex::{self, Flags, Timespec};
    use rustix::time::{ClockId, clock_gettime};
    use std::num::NonZeroU32;
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    /// Sleeps while the word is that, until somebody calls for one of the bits; whether it was for the whole time.
    pub(super) fn until_woken(word: &AtomicU32, value: u32, bits: u16, time: Duration) -> bool {
        let Some(bits) = NonZeroU32::new(u32::from(bits)) else { return true };
        let now = clock_gettime(ClockId::Monotonic);
        let Ok(time_of) = Timespec::try_from(time) else { return true };
        let Some(end) = now.checked_add(time_of) else { return true };
        // Not private: the word is where the file is mapped, in whichever process.
        match futex::wait_bitset(word, Flags::empty(), value, Some(&end), bits) {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => false,
            Err(Errno::TIMEDOUT) => true,
            // A system that does not let it sleep so.
            Err(_) => {
                std::thread::sleep(time);
                true
            }
        }
    }

    /// Wakes all who sleep at the word for one of the bits; how many.
    pub(super) fn wake(word: &AtomicU32, bits: u16) -> usize {
        let Some(bits) = NonZeroU32::new(u32::from(bits)) else { return 0 };
        futex::wake_bitset(word, Flags::empty(), i32::MAX.unsigned_abs(), bits).unwrap_or(0)
    }
}

/// Where the system has no sleep that processes share, everybody looks.
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
