//! How long a snapshot may be held: until the log would grow without bound for it. Who enters a session holds its gate,
//! so a snapshot ends between two calls of its owner, never in the middle of one.

use crate::engine::log::LogPlace;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, lock, try_lock};
use std::sync::atomic::fence;

/// The right of a session's owner to go on reading.
pub(crate) struct Lease {
    gate: Mutex<Gate>,
    /// The owner who has the session.
    owner: AtomicU64,
    /// Where the log was when the owner's snapshot began; its first word is `UNKNOWN` while that is not known.
    began: [AtomicU64; 3],
    /// The last owner who was asked to come out. By number, so that nobody is taken for an owner before him.
    asked: AtomicU64,
}

/// Who has the session.
#[derive(Default)]
pub(crate) struct Gate {
    /// Counts owners, so that nobody's snapshot ends for what an owner before him did.
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

/// The owner of a session that nobody has: the first has the number 1.
const NOBODY: u64 = 0;
/// No owner has this number.
const NEVER: u64 = u64::MAX;
/// No log has so many frames, and a file so many pages. An empty log has none of anything: its place is all 0.
const UNKNOWN: u64 = u64::MAX;

impl Lease {
    /// Somebody takes the session, with a snapshot of his own; he is inside at once, to begin it.
    #[inline]
    pub(crate) fn begin(&self) -> MutexGuard<'_, Gate> {
        let mut gate = lock(&self.gate);
        *gate = Gate { owner: gate.owner + 1, is_taken: true, is_expired: false };
        self.began[0].store(UNKNOWN, Ordering::Relaxed);
        // Whoever sees the owner does not see where the one before him began.
        self.owner.store(gate.owner, Ordering::Release);
        gate
    }

    /// The owner's snapshot has begun, with the log at that place.
    #[inline]
    pub(crate) fn note_began(&self, place: LogPlace) {
        let [first, rest @ ..] = &self.began;
        for (word, value) in rest.iter().zip(&place[1..]) {
            word.store(*value, Ordering::Relaxed);
        }
        // Whoever sees it sees the others.
        first.store(place[0], Ordering::Release);
    }

    /// Where the log was when the owner's snapshot began, if that is known; asked after the owner. Of an owner who has come
    /// since it may be a place that never was: he is not the one who was asked for.
    pub(crate) fn began(&self) -> Option<LogPlace> {
        let first = self.began[0].load(Ordering::Acquire);
        let [second, third] = [1, 2].map(|at: usize| self.began[at].load(Ordering::Relaxed));
        (first != UNKNOWN).then_some([first, second, third])
    }

    /// The owner gives the session back; whether the snapshot was still his. He is inside until he drops the gate.
    #[inline]
    pub(crate) fn end(&self) -> (MutexGuard<'_, Gate>, bool) {
        let mut gate = lock(&self.gate);
        gate.is_taken = false;
        let is_whole = !gate.is_expired && !self.is_asked();
        self.owner.store(NOBODY, Ordering::Relaxed);
        (gate, is_whole)
    }

    /// Enters for one call.
    ///
    /// # Errors
    /// When the snapshot has expired.
    #[inline]
    pub(crate) fn enter(&self) -> Result<MutexGuard<'_, Gate>> {
        let gate = lock(&self.gate);
        if gate.is_expired || self.is_asked() { Err(expired()) } else { Ok(gate) }
    }

    /// Enters to put away what a call has left, also where the snapshot has expired.
    #[inline]
    pub(crate) fn enter_last(&self) -> MutexGuard<'_, Gate> {
        lock(&self.gate)
    }

    /// Whether a call that takes long may go on.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_asked() { Err(expired()) } else { Ok(()) }
    }

    /// Whether the owner, who alone may call this, is to come out.
    #[inline]
    fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) == self.owner.load(Ordering::Relaxed)
    }

    /// Why a statement of the owner's, who alone may call this, was interrupted.
    ///
    /// # Errors
    /// When it was because he is to come out.
    #[cold]
    pub(crate) fn check_interrupted(&self) -> Result<()> {
        // Who interrupts has asked before, which is to be seen by whoever has seen that he was interrupted.
        fence(Ordering::Acquire);
        self.check()
    }

    /// Who has a snapshot now.
    pub(crate) fn owner(&self) -> Option<u64> {
        match try_lock(&self.gate) {
            Some(gate) => (gate.is_taken && !gate.is_expired).then_some(gate.owner),
            // Whoever is inside a call has it.
            None => Some(self.owner.load(Ordering::Acquire)).filter(|owner| *owner != NOBODY),
        }
    }

    /// Whether that owner has the session still, as far as is known to whoever has locked what it is given back to.
    pub(crate) fn is_with(&self, owner: u64) -> bool {
        self.owner.load(Ordering::Relaxed) == owner
    }

    /// Asks that owner to come out, and ends his snapshot with `end` where he is in no call; whether he is in one. He is not
    /// waited for, as he may be waiting himself for what the keeper has: he comes out as soon as he notices, or is
    /// interrupted, and his snapshot ends when he is asked again, or gives it back.
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
