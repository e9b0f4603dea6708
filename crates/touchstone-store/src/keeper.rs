//! The thread that keeps the log short, so that no commit copies pages: it copies the log into the file when it has
//! grown, ends snapshots that nobody comes back for, and, where a snapshot would let the log grow without bound, the
//! snapshot itself.

use crate::alarm::Alarm;
use crate::engine::connection::Connection;
use crate::engine::log::LogIndex;
use crate::engine::pin::Pin;
use crate::error::Result;
use crate::flush::Flushes;
use crate::options::Options;
use crate::readers::Readers;
use crate::sync::{Mutex, lock};
use crate::turn::Turns;
use libsqlite3_sys as ffi;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a snapshot that nobody uses is left open. Other processes cannot empty the log meanwhile.
const PARKED_MAX: Duration = Duration::from_millis(50);
/// How long snapshots have to end by themselves, where the log is at its limit, before they expire.
const PATIENCE: Duration = Duration::from_millis(200);

/// How many times as long as it is to be copied at the log must be, before writers wait until the rest is copied.
const OUTRUN: u32 = 4;

/// The keeper of a store. Its thread starts when there is something to do.
pub(crate) struct Keeper {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    options: Options,
    index: Option<LogIndex>,
    readers: Arc<Readers>,
    turns: Arc<Turns>,
    flushes: Arc<Flushes>,
    alarm: Arc<Alarm>,
    /// How many frames of the log were copied when it was last looked at.
    copied: AtomicU32,
    /// How large the log was when it could not be emptied; 0 where it could.
    stuck_bytes: AtomicU64,
    pin: Arc<Pin>,
}

impl Keeper {
    pub(crate) fn new(
        pin: &Arc<Pin>,
        options: &Options,
        readers: &Arc<Readers>,
        turns: &Arc<Turns>,
        flushes: &Arc<Flushes>,
        alarm: Arc<Alarm>,
    ) -> Keeper {
        let shared = Shared {
            options: options.clone(),
            index: pin.index(),
            readers: Arc::clone(readers),
            turns: Arc::clone(turns),
            flushes: Arc::clone(flushes),
            alarm,
            copied: AtomicU32::new(0),
            stuck_bytes: AtomicU64::new(0),
            pin: Arc::clone(pin),
        };
        Keeper { shared: Arc::new(shared), thread: Mutex::new(None) }
    }

    /// Hears of a commit.
    #[inline]
    pub(crate) fn committed(&self) {
        let Some(state) = self.shared.index.as_ref().and_then(LogIndex::state) else { return };
        let copied = self.shared.copied.load(Ordering::Relaxed);
        // The log begins anew after all of it was copied.
        let new = if state.frames() < copied { state.frames() } else { state.frames() - copied };
        if new >= self.shared.options.checkpoint_pages {
            self.start();
            self.shared.alarm.checkpoint();
        }
    }

    /// Starts the thread, where it is not running yet.
    pub(crate) fn start(&self) {
        let mut thread = lock(&self.thread);
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let builder = std::thread::Builder::new().name("touchstone-keeper".into());
            // Without the thread the log grows until the store is closed, which copies it: nothing is lost.
            *thread = builder.spawn(move || shared.keep()).ok();
        }
    }

    /// Forgets the thread, which the child of a fork does not have.
    pub(crate) fn forget(&mut self) {
        std::mem::forget(std::mem::take(&mut self.thread));
    }

    /// Stops the thread.
    pub(crate) fn stop(&self) {
        self.shared.alarm.stop();
        if let Some(thread) = lock(&self.thread).take() {
            // It has nothing to tell.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn keep(&self) {
        let mut connection = None;
        let mut watching = false;
        loop {
            let wishes = self.alarm.wait(watching, PARKED_MAX);
            if wishes.stop {
                return;
            }
            if wishes.checkpoint {
                self.checkpoint(&mut connection);
            }
            watching = self.readers.sweep(false) || wishes.watch;
        }
    }

    /// Copies what it can. A failure is the next commit's to find, or the closing's: nothing is lost by it here.
    fn checkpoint(&self, connection: &mut Option<Connection>) {
        // After a failed flush the system may hold for written what the disk lacks: a log with a hole must not be copied
        // into a file that is whole.
        if self.flushes.check().is_err() {
            return;
        }
        if connection.is_none() {
            *connection = self.open().ok();
        }
        let Some(connection) = connection else { return };
        let Ok((log, copied)) = connection.checkpoint(ffi::SQLITE_CHECKPOINT_PASSIVE) else { return };
        self.copied.store(copied, Ordering::Relaxed);
        // The log begins anew with the next commit, but only if nobody reads from it any more.
        self.readers.sweep(false);
        let page_bytes = connection.page_bytes();
        let bytes = u64::from(log) * page_bytes;
        // Writers wait meanwhile: where it was for nothing, because of a reader who is inside a call, or of another
        // process, it is not tried again before the log has doubled.
        let stuck_bytes = self.stuck_bytes.load(Ordering::Relaxed);
        let is_outrun = log / self.options.checkpoint_pages >= OUTRUN;
        if bytes <= self.options.log_bytes_max && !is_outrun {
            self.stuck_bytes.store(0, Ordering::Relaxed);
        } else if bytes / 2 >= stuck_bytes {
            let is_limit = bytes > self.options.log_bytes_max;
            let result = if is_limit { self.bound(connection) } else { self.catch_up(connection) };
            self.stuck_bytes.store(if result.is_err() { bytes } else { 0 }, Ordering::Relaxed);
        }
    }

    /// Copies the rest while nobody writes, so that the log begins anew: beside a writer who never pauses, the last pages
    /// are always new ones. Most of the log was copied just before, so it does not take long.
    fn catch_up(&self, connection: &Connection) -> Result<()> {
        // The keeper's own thread has no turn already.
        let Ok(_turn) = self.turns.take() else { return Ok(()) };
        self.readers.sweep(true);
        connection.patience.limit_to(Duration::ZERO);
        let (_, copied) = connection.checkpoint(ffi::SQLITE_CHECKPOINT_RESTART)?;
        self.copied.store(copied, Ordering::Relaxed);
        Ok(())
    }

    fn open(&self) -> Result<Connection> {
        let connection = Connection::open_beside(&self.pin, &self.options)?;
        // A connection that has read nothing does not know that there is a log, and copies nothing of it.
        connection.begin_read()?;
        connection.commit()?;
        Ok(connection)
    }

    /// Empties a log that is at its limit: nobody writes meanwhile, and snapshots that do not end by themselves expire.
    fn bound(&self, connection: &Connection) -> Result<()> {
        // The keeper's own thread has no turn already.
        let Ok(_turn) = self.turns.take() else { return Ok(()) };
        let owners = self.readers.owners();
        self.readers.sweep(true);
        connection.patience.limit_to(PATIENCE);
        // What is cut off cannot be taken for a log that is at its limit still.
        let mut result = connection.checkpoint(ffi::SQLITE_CHECKPOINT_TRUNCATE);
        // The first time those who are inside a call come out of it, the second time their snapshots end too.
        for _ in 0..2 {
            if result.is_err() {
                self.readers.expire(&owners);
                self.readers.sweep(true);
                result = connection.checkpoint(ffi::SQLITE_CHECKPOINT_TRUNCATE);
            }
        }
        let (_, copied) = result?;
        self.copied.store(copied, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Record, Store};

    #[derive(Record)]
    struct Note {
        #[record(key)]
        id: i64,
    }

    /// The keeper's connection had never read, did not know of the log, and copied nothing: the log grew until the
    /// store was closed.
    #[test]
    fn the_keeper_copies_the_log() {
        let directory = tempfile::tempdir().expect("there is room");
        let path = directory.path().join("notes.db");
        let store = Store::open(&path).expect("it opens");
        store.insert_all(&[Note { id: 1 }, Note { id: 2 }]).expect("it is written");
        let (options, alarm) = (Options::new(), Arc::<Alarm>::default());
        let readers = Arc::new(Readers::new(store.pin(), &options, Arc::clone(&alarm)));
        let keeper = Keeper::new(store.pin(), &options, &readers, &Arc::default(), &Arc::default(), alarm);
        keeper.shared.checkpoint(&mut None);
        assert!(keeper.shared.copied.load(Ordering::Relaxed) > 0);
    }
}
