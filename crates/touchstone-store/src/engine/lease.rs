//! The lease of a session (a connection with an open snapshot): ownership that the keeper, the checkpoint thread, may
//! take away. A snapshot expires if the write-ahead log (the log) would otherwise grow without bound. The owner holds
//! the gate, a mutex, in each call, and the keeper ends the snapshot under the gate: between two calls, not within one.

//        begin              leave              expire
//   free -----> in a call <------> held ----------------------> expired
//                   |       enter                                  ^
//            expire |                                              | expire
//                   v                leave                         |
//           asked, in a call --------------------------------> asked
//
// The arrow between `in a call` and `held` goes both ways. `end` leads from `held`, `asked` and `expired` to `free`; if
// the owner panics within a call, the call ends first. In `asked` and `expired`, `enter` fails.
//
// Only the owner's thread begins, enters, leaves and ends; `enter_last` may take the gate of a `free` session too. The
// owner changes the gate's fields, `owner` and `began` under the gate. `expire` is for the keeper, and for the thread
// that closes the store. It stores `asked` under no lock, and sets `is_expired` under the gate, for which it does not
// wait: if the owner is in a call, it only asks. Owners have numbers, so a request to one owner never concerns the next
// one.
//
// Why the memory orders are enough:
// - `owner` is stored (Release) after `began[0]` is `UNKNOWN`, and the keeper loads it (Acquire, or under the gate)
//   before `began`. So the keeper never sees the place of an earlier owner.
// - `began[0]` is stored (Release) after the other two words, and loaded (Acquire) before them, so the place is whole.
//   If a new owner writes meanwhile, the place may be a mixture, but `expire` with the old owner's number ends nothing.
// - `asked` is Relaxed, because the gate alone decides whether the snapshot has ended. An owner that sees `asked` late
//   goes on until the keeper asks again. Only an interrupted owner must see it at once: `expire` has a Release fence
//   before SQLite's interrupt flag, an atomic, is set, and `check_interrupted` an Acquire fence after it was read.
// - `is_with` loads `owner` Relaxed, because the idle list's lock orders this load after `end`.

use crate::engine::log::LogPlace;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::sync::{AtomicU64, GATE, Mutex, MutexGuard, Ordering, lock, try_lock};
use std::sync::atomic::fence;

/// The right of a session's owner to go on reading: ownership of the snapshot until it expires.
pub(crate) struct Lease {
    gate: Mutex<Gate, GATE>,
    /// The number of the session's owner, or `NOBODY`.
    owner: AtomicU64,
    /// The log's place when the owner's snapshot began; the first word is `UNKNOWN` until the place is known.
    began: [AtomicU64; 3],
    /// The number of the last owner that was asked to leave.
    asked: AtomicU64,
}

/// The state of the session's ownership. A thread in a call holds its lock.
#[derive(Default)]
pub(crate) struct Gate {
    /// The number of the last owner; it counts owners.
    owner: u64,
    is_taken: bool,
    is_expired: bool,
}

impl Default for Lease {
    fn default() -> Lease {
        let (owner, asked) = (AtomicU64::new(NOBODY), AtomicU64::new(NEVER));
        let began = [UNKNOWN, 0, 0].map(AtomicU64::new);
        Lease { gate: Mutex::default(), owner, began, asked }
    }
}

/// `owner` of a session without an owner: the first owner has the number 1.
const NOBODY: u64 = 0;
/// No owner has this number.
const NEVER: u64 = u64::MAX;
/// No log has so many frames, and no file so many pages. The place of an empty log, which is all 0, is a known one.
const UNKNOWN: u64 = u64::MAX;

impl Lease {
    /// The calling thread becomes the owner. It is in a call at once, in which it begins its snapshot.
    #[inline]
    pub(crate) fn begin(&self) -> MutexGuard<'_, Gate> {
        let mut gate = lock(&self.gate);
        *gate = Gate { owner: gate.owner + 1, is_taken: true, is_expired: false };
        self.began[0].store(UNKNOWN, Ordering::Relaxed);
        // Release: a thread that sees the new owner does not see the place of the owner before.
        self.owner.store(gate.owner, Ordering::Release);
        gate
    }

    /// Notes that the owner's snapshot has begun, with the log at that place.
    #[inline]
    pub(crate) fn note_began(&self, place: LogPlace) {
        let [first, rest @ ..] = &self.began;
        for (word, value) in rest.iter().zip(&place[1..]) {
            word.store(*value, Ordering::Relaxed);
        }
        // Release: a thread that sees the first word sees the others.
        first.store(place[0], Ordering::Release);
    }

    /// The log's place when the owner's snapshot began, if it is known; to be called after [`owner`](Lease::owner). If
    /// the owner changes between the two calls, the result may be a place that never was.
    pub(crate) fn began(&self) -> Option<LogPlace> {
        let first = self.began[0].load(Ordering::Acquire);
        let [second, third] = [1, 2].map(|at: usize| self.began[at].load(Ordering::Relaxed));
        (first != UNKNOWN).then_some([first, second, third])
    }

    /// The owner gives the session back. Returns whether its snapshot is still whole: not expired, and not asked for.
    /// The calling thread is in a call until it drops the gate.
    #[inline]
    pub(crate) fn end(&self) -> (MutexGuard<'_, Gate>, bool) {
        let mut gate = lock(&self.gate);
        gate.is_taken = false;
        let is_whole = !gate.is_expired && !self.is_asked();
        self.owner.store(NOBODY, Ordering::Relaxed);
        (gate, is_whole)
    }

    /// The owner enters for one call.
    ///
    /// # Errors
    /// If the snapshot has expired: the log reached `log_bytes_max`.
    #[inline]
    pub(crate) fn enter(&self) -> Result<MutexGuard<'_, Gate>> {
        let gate = lock(&self.gate);
        if gate.is_expired || self.is_asked() { Err(expired()) } else { Ok(gate) }
    }

    /// Enters to put away the remains of a call, even if the snapshot has expired.
    #[inline]
    pub(crate) fn enter_last(&self) -> MutexGuard<'_, Gate> {
        lock(&self.gate)
    }

    /// Whether a long call of the owner may go on.
    ///
    /// # Errors
    /// If the owner was asked to leave.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_asked() { Err(expired()) } else { Ok(()) }
    }

    /// Whether the owner was asked to leave. Only the owner may call this: it sees its own number in `owner`.
    #[inline]
    fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) == self.owner.load(Ordering::Relaxed)
    }

    /// Why the owner's statement was interrupted. Only the owner may call this.
    ///
    /// # Errors
    /// If the reason is that the owner was asked to leave.
    #[cold]
    pub(crate) fn check_interrupted(&self) -> Result<()> {
        // With the fence in `expire`: an owner that has seen the interrupt sees `asked`, which was stored before it.
        fence(Ordering::Acquire);
        self.check()
    }

    /// The owner that has a snapshot now.
    pub(crate) fn owner(&self) -> Option<u64> {
        match try_lock(&self.gate) {
            Some(gate) => (gate.is_taken && !gate.is_expired).then_some(gate.owner),
            // The gate is taken, so the owner is in a call, or begins or ends.
            None => Some(self.owner.load(Ordering::Acquire)).filter(|owner| *owner != NOBODY),
        }
    }

    /// Whether that owner still has the session. The caller holds the lock of the list that the session goes back to.
    pub(crate) fn is_with(&self, owner: u64) -> bool {
        self.owner.load(Ordering::Relaxed) == owner
    }

    /// Asks that owner to leave; if no thread is in a call, ends the owner's snapshot with `end`. Returns whether a
    /// thread is in a call. The keeper does not wait for that thread, which may wait for a lock that the keeper holds.
    /// The owner leaves when it notices, or is interrupted; its snapshot ends when it is asked again, or when it gives
    /// the session back.
    pub(crate) fn expire(&self, owner: u64, end: impl FnOnce()) -> bool {
        self.asked.store(owner, Ordering::Relaxed);
        fence(Ordering::Release);
        let Some(mut gate) = try_lock(&self.gate) else { return true };
        if gate.is_taken && gate.owner == owner && !gate.is_expired {
            end();
            gate.is_expired = true;
        }
        false
    }
}

#[cold]
fn expired() -> Error {
    let why = "so much was committed since it was taken that the log is at its limit, and may not grow for it any longer";
    let remedy = "read in shorter snapshots, or raise `Options::log_bytes_max`";
    Error::new(ErrorKind::Expired, format!("the snapshot has expired: {why} ({remedy})"))
}
