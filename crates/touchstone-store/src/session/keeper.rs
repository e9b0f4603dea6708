//! The checkpoint thread ("the keeper") keeps the write-ahead log (the log) short, so that no commit copies pages. When
//! the log has grown, the keeper checkpoints it: copies its pages into the file. The keeper also ends parked snapshots
//! that are not used again, and lets a held snapshot expire if the log would grow without bound because of it. Other
//! processes may commit, so while snapshots are held here, the keeper looks at the log's length again and again.

//             start            wake-up                stop
//     absent -------> asleep ----------> watching ----------> ended
//                       ^                   |
//                       +-------------------+
//       no snapshot is parked, no session is out, nothing is left
//
// A sleeping keeper waits for the wake-up only, which may also stop it. A watching keeper looks at least every 50 ms
// while snapshots are parked, and every 250 ms while sessions are out. After a failed flush it looks every 50 ms too, as
// long as the log still counts as copied. What a call in progress keeps from being copied is left: the keeper checkpoints
// it 50 ms later, and once more before it sleeps, whether or not there is another commit.
//
// The keeper's thread alone writes `is_uncopied`, `tried` and `over_bytes`. The protocol between the keeper and the owners
// of snapshots is in `engine/lease.rs`, the one of parked snapshots in `readers.rs`.

use crate::engine::connection::Connection;
use crate::engine::log::{LogIndex, LogPlace, LogState};
use crate::engine::new_file::companion;
use crate::engine::pin::Pin;
use crate::engine::write_back::WriteBack;
use crate::session::flush::Flushes;
use crate::session::keeper_wakeup::{KeeperWakeup, Wishes};
use crate::session::readers::{Left, Owner, Readers};
use crate::session::turn::Turns;
use crate::types::error::{Error, Result};
use crate::types::options::{Durability, Options};
use crate::types::sync::{KEEPER_THREAD, Mutex, TRIED, lock};
use libsqlite3_sys as ffi;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a parked snapshot stays open without a reader. Meanwhile no process can restart the log.
const PARKED_MAX: Duration = Duration::from_millis(50);
/// How long snapshots have to end by themselves once the log is at its limit, before they expire.
const PATIENCE: Duration = Duration::from_millis(200);
/// How long writers wait for readers so that a log restarts that is not at its limit: for calls, which are short. They are
/// longer where threads wait for a processor, so after a failure writers wait for longer.
const CALLS: Duration = Duration::from_millis(10);
const CALLS_MAX: Duration = Duration::from_millis(40);
/// How long writers wait at most in one of three attempts for readers of other processes, so that a log at its limit
/// restarts: those readers' snapshots end when their own keepers look. Writers of other processes wait too, and by
/// default give up after five seconds, which is longer than three attempts.
const PATIENCE_MAX: Duration = Duration::from_millis(1600);
/// After writers have waited for a time, they do not wait again for this many times that time. So writers of one store
/// wait for at most a tenth of their time.
const PAUSE: u32 = 9;
/// The same after they have waited in vain, and the log is not at its limit: a snapshot is held that may be held for long.
const PAUSE_IN_VAIN: u32 = 32;
/// The time between two looks at the log while snapshots are held. Meanwhile the log may grow beyond its limit.
const LOOK: Duration = Duration::from_millis(250);

/// Writers wait for the rest of a checkpoint if the log is this many times as long as `checkpoint_pages`.
const OUTRUN: u64 = 16;

/// Below the limit, writers do not wait if readers keep more of the log from being copied than `OUTRUN` pages divided by
/// this: not calls, but a snapshot that is held. If it ended while writers wait, all of that would be copied meanwhile.
const HELD_PART: u64 = 4;

/// The pause ends early if the log has restarted and is this many times as long as its limit: transactions that are
/// as large as the limit bring it there.
const FAR: u64 = 4;

/// Before writers wait, the keeper copies the log again as long as it has more new frames than this. For fewer it is not
/// woken either, and no pause ends early, however low the limit is.
const FEW: u32 = 32;

/// The keeper of a store. Its thread starts when the first task comes.
pub(crate) struct Keeper {
    shared: Arc<KeeperShared>,
    thread: Mutex<Option<JoinHandle<()>>, KEEPER_THREAD>,
}

struct KeeperShared {
    options: Options,
    index: Option<LogIndex>,
    readers: Arc<Readers>,
    turns: Arc<Turns>,
    flushes: Arc<Flushes>,
    wakeup: Arc<KeeperWakeup>,
    /// False if a flush has failed and another process copied the log at that moment: then frames that the disk may lack
    /// still count as copied, and the keeper tries to make them count as not copied each time it wakes.
    is_uncopied: AtomicBool,
    /// None if the log was short at the last checkpoint.
    tried: Mutex<Option<Tried>, TRIED>,
    pin: Arc<Pin>,
    /// The log's length when the keeper first found it beyond its limit; 0 if it is within the limit.
    over_bytes: AtomicU64,
}

/// How long the log is.
#[derive(Clone, Copy)]
struct Length {
    frames: u64,
    bytes: u64,
    /// More frames than this that cannot be copied are a held snapshot's, not those of calls.
    held_max: u64,
    /// Whether writers are to wait until it is short.
    is_long: bool,
    /// Whether it is at its limit, where snapshots expire.
    is_limit: bool,
    /// Whether it is `FAR` times as long as its limit.
    is_far: bool,
}

/// The last time that writers waited for the keeper to make a long log short.
#[derive(Clone, Copy)]
struct Tried {
    /// The log's length.
    bytes: u64,
    /// Whether the log was at its limit.
    is_limit: bool,
    patience: Patience,
    since: Instant,
    /// How long writers are not to wait again.
    pause: Duration,
    is_failed: bool,
}

/// How long writers wait at most the next time, for readers that are in a call or of another process.
#[derive(Clone, Copy)]
struct Patience {
    /// Where the log is at its limit.
    at_limit: Duration,
    below_limit: Duration,
}

impl Tried {
    /// Whether writers are to wait again: after the pause, or earlier if the log has come to its limit, or has doubled in
    /// spite of the wait, or has restarted and is far beyond its limit: a quick writer would let it grow further.
    fn is_over(self, length: Length) -> bool {
        let has_outgrown = if self.is_failed { length.bytes / 2 >= self.bytes } else { length.is_far };
        let has_come = length.is_limit && !self.is_limit;
        has_outgrown || has_come || self.since.elapsed() >= self.pause
    }
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { at_limit: PATIENCE, below_limit: CALLS }
    }
}

impl Patience {
    /// If readers never pause, the log restarts only once each of them has ended its snapshot, so after a failure writers
    /// wait for longer.
    fn next(mut self, is_limit: bool, is_failed: bool) -> Patience {
        let (patience, least, most) = if is_limit {
            (&mut self.at_limit, PATIENCE, PATIENCE_MAX)
        } else {
            (&mut self.below_limit, CALLS, CALLS_MAX)
        };
        let next = if is_failed { *patience * 4 } else { *patience / 2 };
        *patience = next.clamp(least, most);
        self
    }
}

/// The keeper's own connection and its file of the log, for checkpoints.
struct Copier {
    connection: Connection,
    log: WriteBack,
}

/// What the keeper's thread keeps from one wake-up to the next.
#[derive(Default)]
struct Kept {
    copier: Option<Copier>,
    late: Vec<Late>,
    /// Whether the last checkpoint that commits asked for has left much of the log.
    is_left: bool,
    /// The same, until it was tried once more when no session was out.
    is_owed: bool,
}

/// An owner whose snapshot lets the log grow beyond its limit, and when the keeper first saw that.
struct Late {
    owner: Owner,
    since: Instant,
}

impl Keeper {
    pub(crate) fn new(
        pin: &Arc<Pin>,
        options: &Options,
        readers: &Arc<Readers>,
        turns: &Arc<Turns>,
        flushes: &Arc<Flushes>,
        wakeup: Arc<KeeperWakeup>,
    ) -> Keeper {
        let shared = KeeperShared {
            options: options.clone(),
            index: pin.index(),
            readers: Arc::clone(readers),
            turns: Arc::clone(turns),
            flushes: Arc::clone(flushes),
            wakeup,
            is_uncopied: AtomicBool::new(true),
            tried: Mutex::new(None),
            pin: Arc::clone(pin),
            over_bytes: AtomicU64::new(0),
        };
        Keeper { shared: Arc::new(shared), thread: Mutex::new(None) }
    }

    /// Notes a commit: if the log has grown enough, wakes the keeper to checkpoint.
    #[inline]
    pub(crate) fn committed(&self) {
        if self.shared.has_grown() {
            self.start();
            self.shared.wakeup.checkpoint();
        }
    }

    /// Starts the thread, unless it is running. If the system has no thread for it, no snapshot may stay parked: none
    /// would ever end it, and the log would grow without bound for every process.
    pub(crate) fn start(&self) {
        let mut thread = lock(&self.thread);
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let builder = std::thread::Builder::new().name("touchstone-keeper".into());
            // Without the thread, the closing store or another process checkpoints the log: no data is lost.
            *thread = builder.spawn(move || shared.keep()).ok();
            if thread.is_some() {
                self.shared.wakeup.hear();
            } else {
                drop(thread);
                self.shared.readers.unwatched();
            }
        }
    }

    /// Forgets the thread, which the child of a fork does not have.
    pub(crate) fn forget(&mut self) {
        std::mem::forget(std::mem::take(&mut self.thread));
    }

    /// Stops the thread, if it is running. Otherwise it is not woken, because even that costs a system call.
    pub(crate) fn stop(&self) {
        if let Some(thread) = lock(&self.thread).take() {
            self.shared.wakeup.stop();
            // The thread returns no result.
            let _ = thread.join();
        }
    }
}

impl KeeperShared {
    fn keep(&self) {
        let (mut kept, mut period) = (Kept::default(), None);
        loop {
            let wishes = self.wakeup.wait(period);
            if let Some(copier) = kept.copier.as_ref().filter(|_| !self.is_uncopied.load(Ordering::Relaxed)) {
                self.uncopy(&copier.connection);
            }
            if wishes.stop {
                return;
            }
            period = self.wake(wishes, &mut kept);
        }
    }

    /// Does what the wake-up is for; returns after how long the keeper looks again.
    fn wake(&self, wishes: Wishes, kept: &mut Kept) -> Option<Duration> {
        if wishes.checkpoint {
            self.checkpoint(&mut kept.copier);
            kept.is_left = self.has_grown();
            kept.is_owed = kept.is_left;
        }
        self.look(&mut kept.late);
        // A call may have parked its snapshot, which is old.
        let left = self.readers.sweep(false);
        let is_again = kept.is_left && wishes == Wishes::default();
        let is_last = kept.is_owed && left == Left::Nothing && !wishes.checkpoint;
        if is_again || is_last && self.has_grown() {
            self.checkpoint(&mut kept.copier);
            kept.is_left = false;
            kept.is_owed &= !is_last;
        }
        match left {
            // Commits have ended, and wake the keeper no more.
            _ if kept.is_left || !self.is_uncopied.load(Ordering::Relaxed) => Some(PARKED_MAX),
            Left::Parked => Some(PARKED_MAX),
            Left::Held => Some(LOOK),
            Left::Nothing => None,
        }
    }

    /// The number of pages in the log from which writers wait for a checkpoint; below the limit, at which snapshots
    /// expire.
    fn outrun(&self, page_bytes: u64) -> u64 {
        let most = self.options.log_bytes_max / 2 / page_bytes.max(1);
        (u64::from(self.options.checkpoint_pages) * OUTRUN).min(most).max(1)
    }

    /// Lets snapshots expire that have been late for long enough, no matter which process makes the log grow. If the
    /// log is gone, lets all expire: other processes do not see these readers any more, and change the pages that they
    /// read.
    fn look(&self, late: &mut Vec<Late>) {
        if self.pin.has_lost_log() {
            return self.readers.expire(&self.readers.owners());
        }
        // After a failed flush nothing is copied, so the log's length is not the fault of a snapshot.
        if self.flushes.check().is_err() {
            return;
        }
        // While a commit is under way, the state cannot be read; the next look reads it.
        let Some(now) = self.index.as_ref().and_then(LogIndex::state) else { return };
        let owners = self.late_owners(now);
        let is_same = |one: &Owner, other: &Owner| Arc::ptr_eq(&one.0, &other.0) && one.1 == other.1;
        late.retain(|known| owners.iter().any(|owner| is_same(owner, &known.owner)));
        let new = owners.into_iter().filter(|owner| !late.iter().any(|known| is_same(owner, &known.owner)));
        let new: Vec<Late> = new.map(|owner| Late { owner, since: Instant::now() }).collect();
        late.extend(new);
        let expired = late.iter().filter(|late| late.since.elapsed() >= PATIENCE);
        self.readers.expire(&expired.map(|late| late.owner.clone()).collect::<Vec<Owner>>());
    }

    /// The owners whose snapshots let the log grow beyond its limit. A snapshot of the log's end is not late, because
    /// it holds back no frame from being copied. A snapshot that began when the log was beyond its limit already,
    /// perhaps by one large transaction, is not late before the log has doubled.
    fn late_owners(&self, now: LogState) -> Vec<Owner> {
        let (bytes, max) = (now.log_bytes(), self.options.log_bytes_max);
        if bytes <= max {
            self.over_bytes.store(0, Ordering::Relaxed);
            return Vec::new();
        }
        if self.over_bytes.load(Ordering::Relaxed) == 0 {
            self.over_bytes.store(bytes, Ordering::Relaxed);
        }
        let has_doubled = bytes / 2 >= self.over_bytes.load(Ordering::Relaxed);
        let is_late = |place: LogPlace| !now.is_at(place) && (has_doubled || now.log_bytes_at(place) <= max);
        let mut owners = self.readers.owners();
        owners.retain(|(lease, _)| lease.began().is_some_and(is_late));
        owners
    }

    /// Whether so much of the log is not copied that it is time for a checkpoint.
    #[inline]
    fn has_grown(&self) -> bool {
        let (pages, bytes) = (self.options.checkpoint_pages, self.options.log_bytes_max / 2);
        let is_much = |(now, new): (LogState, u32)| new >= pages || new > FEW && now.bytes_of(new) > bytes;
        self.new_in_log().is_some_and(is_much)
    }

    /// How many frames of the log are not copied.
    fn new_frames(&self) -> Option<u32> {
        self.new_in_log().map(|(_, new)| new)
    }

    /// The log, and how many of its frames are not copied; none while a commit is under way. If the log restarts
    /// meanwhile, all of them may count as not copied, and the keeper wakes in vain.
    #[inline]
    fn new_in_log(&self) -> Option<(LogState, u32)> {
        let index = self.index.as_ref()?;
        let now = index.state()?;
        Some((now, now.frames().saturating_sub(index.copied_frames())))
    }

    /// Checkpoints as many frames as it can, and makes writers wait if the log is still too long. It reports no
    /// failure: the log keeps the frames, and the next commit or the closing store meets the same failure.
    fn checkpoint(&self, copier: &mut Option<Copier>) {
        // After a failed flush the system may count pages as written that the disk lacks: a log with a hole must not be
        // copied into a file that is whole. If the log is gone, other processes have another log, and their commits in
        // the file must not be overwritten.
        if self.flushes.check().is_err() || self.pin.check_there().is_err() {
            return;
        }
        if copier.is_none() {
            *copier = self.open().ok();
        }
        let Some(copier) = copier else { return };
        let Ok(length) = self.copy_and_sweep(copier) else { return };
        // From here on: whether to let writers wait until the log is short.
        if !length.is_long {
            *lock(&self.tried) = None;
            return;
        }
        let tried = *lock(&self.tried);
        let is_due = tried.is_none_or(|tried| tried.is_over(length));
        if is_due && (length.is_limit || !self.is_held(length)) && self.approach(copier).is_ok() {
            let patience = tried.map_or_else(Patience::default, |tried| tried.patience);
            *lock(&self.tried) = self.attempt(&copier.connection, length, patience);
        }
    }

    /// Copies the log as far as readers allow, and ends parked snapshots that are not current: the log restarts with the
    /// next commit, but only if no reader reads from it any more. One large transaction makes all of them old, and until
    /// they end they keep it from being copied, so a long log is copied again.
    fn copy_and_sweep(&self, copier: &Copier) -> Result<Length> {
        let page_bytes = copier.connection.page_bytes();
        let length = self.length(self.copy(copier)?, page_bytes);
        self.readers.sweep(false);
        if length.is_long && self.is_held(length) {
            return Ok(self.length(self.copy(copier)?, page_bytes));
        }
        Ok(length)
    }

    fn length(&self, frames: u32, page_bytes: u64) -> Length {
        let (frames, outrun) = (u64::from(frames), self.outrun(page_bytes));
        let bytes = frames * page_bytes;
        Length {
            frames,
            bytes,
            held_max: outrun / HELD_PART,
            is_long: frames >= outrun,
            is_limit: bytes > self.options.log_bytes_max,
            is_far: bytes / FAR > self.options.log_bytes_max.max(u64::from(FEW) * page_bytes),
        }
    }

    /// Whether a snapshot is held that keeps much of the log from being copied.
    fn is_held(&self, length: Length) -> bool {
        let is_held = |index: &LogIndex| {
            length.frames.saturating_sub(u64::from(index.copied_frames())) > length.held_max
        };
        self.index.as_ref().is_some_and(is_held)
    }

    /// Makes the log restart while writers wait and no snapshot is parked: it restarts only if no reader reads from it.
    /// `length` is what the keeper knows of the log, which may have grown since, or restarted: None if it is short now.
    fn attempt(&self, connection: &Connection, length: Length, patience: Patience) -> Option<Tried> {
        // This cannot fail: the keeper's own thread never holds the turn (the store's write lock) here.
        let _turn = self.turns.take().ok()?;
        // Writers wait from now on: not for the transaction under way, which the keeper has waited for itself.
        let began = Instant::now();
        let now = self.index.as_ref().and_then(LogIndex::state);
        let length = now.map_or(length, |now| self.length(now.frames(), connection.page_bytes()));
        if !length.is_long {
            return None;
        }
        let Length { bytes, is_limit, .. } = length;
        let result = self.readers.draining(|| {
            if is_limit {
                self.bound(connection, patience.at_limit)
            } else {
                self.catch_up(connection, patience.below_limit)
            }
        });
        let is_failed = result.is_err();
        let pause = began.elapsed() * if is_failed && !is_limit { PAUSE_IN_VAIN } else { PAUSE };
        let patience = patience.next(is_limit, is_failed);
        Some(Tried { bytes, is_limit, patience, since: Instant::now(), pause, is_failed })
    }

    /// Copies the log as far as readers allow, without waiting (a passive checkpoint); returns how many frames it has.
    fn copy(&self, copier: &Copier) -> Result<u32> {
        if let Some((state, new)) = self.new_in_log().filter(|_| self.flushes_files()) {
            let old = state.frames() - new;
            copier.log.pieces(state.log_file_bytes_of(old), state.log_file_bytes_of(state.frames()));
        }
        self.checkpoint_in(&copier.connection, ffi::SQLITE_CHECKPOINT_PASSIVE)
    }

    /// Checkpoints in that mode of SQLite's; returns how many frames the log has.
    fn checkpoint_in(&self, connection: &Connection, mode: c_int) -> Result<u32> {
        let result = connection.checkpoint(mode);
        let is_lost = |error: &Error| error.sqlite_code() == Some(ffi::SQLITE_IOERR_FSYNC);
        result.inspect_err(|error| {
            if is_lost(error) {
                self.lose(connection, error);
            }
        })
    }

    /// Handles a failed flush, perhaps of the log. The system may count pages as written that the disk lacks, and a
    /// second flush, of this or another process, would not report it. Nothing is copied any more, nothing more is
    /// committed, and the process that opens the store next copies all of the log again.
    fn lose(&self, connection: &Connection, error: &Error) {
        self.pin.note_lost_flush(error);
        // First of all: until then another process may let the log restart over the only copy.
        self.uncopy(connection);
        self.flushes.fail(error);
    }

    /// Makes all of the log count as not copied, for all processes: it is copied again, and does not restart before,
    /// which would overwrite the only copy of some pages.
    fn uncopy(&self, connection: &Connection) {
        let is_done = self.index.as_ref().is_some_and(|index| connection.uncopy(index));
        self.is_uncopied.store(is_done, Ordering::Relaxed);
    }

    /// Whether a checkpoint flushes the log and the file.
    fn flushes_files(&self) -> bool {
        self.options.durability != Durability::Process
    }

    /// Prepares for writers to wait, so that they wait only for two short flushes and few pages. It flushes the pages
    /// that were copied, then copies the frames committed meanwhile, again and again, while each time less than half is
    /// left.
    fn approach(&self, copier: &Copier) -> Result<()> {
        let mut left = u32::MAX;
        loop {
            if self.flushes_files() {
                let flushed = copier.connection.flush_file();
                flushed.inspect_err(|error| self.lose(&copier.connection, error))?;
            }
            let Some(new) = self.new_frames().filter(|new| *new > FEW && *new < left / 2) else {
                return Ok(());
            };
            left = new;
            self.copy(copier)?;
        }
    }

    /// Copies the rest while writers wait, so that the log restarts: beside a writer that never pauses, the last pages
    /// are always new ones. Nearly all of the log was copied just before, so this takes two short flushes, and the rest
    /// of the calls that read.
    fn catch_up(&self, connection: &Connection, patience: Duration) -> Result<()> {
        connection.busy_handler.limit_all_to(patience);
        self.checkpoint_in(connection, ffi::SQLITE_CHECKPOINT_RESTART).map(drop)
    }

    fn open(&self) -> Result<Copier> {
        let connection = self.pin.open_beside(&self.options)?;
        // A connection that has read nothing does not know of the log, and copies nothing of it.
        connection.begin_read()?;
        connection.commit()?;
        Ok(Copier { connection, log: WriteBack::of(&companion(self.pin.path(), "-wal")) })
    }

    /// Empties a log that is at its limit. Writers wait meanwhile, and snapshots that do not end by themselves expire.
    fn bound(&self, connection: &Connection, patience: Duration) -> Result<()> {
        let owners =
            self.index.as_ref().and_then(LogIndex::state).map_or_else(Vec::new, |now| self.late_owners(now));
        // Truncated, because a restarted log keeps its length until the next commit, and would still look too long.
        let restart = || {
            connection.busy_handler.limit_all_to(patience);
            self.checkpoint_in(connection, ffi::SQLITE_CHECKPOINT_TRUNCATE)
        };
        let mut result = restart();
        // The first time, owners that are in a call leave it; the second time, their snapshots end too.
        for _ in 0..2 {
            if result.is_err() && self.flushes.check().is_ok() && !owners.is_empty() {
                self.readers.expire(&owners);
                result = restart();
            }
        }
        result.map(drop)
    }
}

#[cfg(test)]
mod tests;
