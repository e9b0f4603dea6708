//! Checkpoints on a thread of their own, so that no commit pays for one.
//!
//! The log's hook tells how long the log is after each commit. Past 1000 pages, as by default inside a commit,
//! the thread copies what it can without getting in anybody's way; past 10 times that, a writer that never rests
//! would let the log grow without end, so the thread makes the next writer start the log anew.

use super::Error;
use rusqlite::{Connection, ffi};
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const FRAMES: c_int = 1_000;
const FRAMES_MAX: c_int = 10_000;

/// A thread with a connection of its own; dropping it ends the thread.
pub struct Checkpointer {
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Bell {
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Default)]
struct State {
    /// The log's length when a commit last found it too long.
    frames: c_int,
    stop: bool,
}

impl Checkpointer {
    /// Starts the thread on the database in `file`.
    ///
    /// # Errors
    /// When the database cannot be opened.
    pub fn start(file: &Path) -> Result<Checkpointer, Error> {
        let connection = Connection::open(file)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        let bell = Arc::new(Bell::default());
        let heard = Arc::clone(&bell);
        let thread = thread::spawn(move || heard.answer(&connection));
        Ok(Checkpointer { bell, thread: Some(thread) })
    }

    /// Has the commits of a connection ring for this thread, instead of checkpointing themselves.
    ///
    /// # Safety
    /// `db` must be open, and closed before this checkpointer is dropped.
    pub unsafe fn attend(&self, db: *mut ffi::sqlite3) {
        let bell = Arc::as_ptr(&self.bell).cast_mut().cast();
        // SAFETY: the caller promises an open connection that the bell outlives.
        unsafe { ffi::sqlite3_wal_hook(db, Some(committed), bell) };
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.bell.lock().stop = true;
        self.bell.rung.notify_one();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the checkpoint thread does not panic");
        }
    }
}

impl Bell {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics while holding the bell")
    }

    fn answer(&self, connection: &Connection) {
        loop {
            let mut state = self
                .rung
                .wait_while(self.lock(), |state| state.frames == 0 && !state.stop)
                .expect("nobody panics while holding the bell");
            if state.stop {
                return;
            }
            let frames = std::mem::take(&mut state.frames);
            drop(state);
            let mode = if frames < FRAMES_MAX { "passive" } else { "restart" };
            // A checkpoint that is held up by a reader or a writer is rung for again by the next commit.
            let _ = connection.query_row(&format!("pragma wal_checkpoint({mode})"), (), |_| Ok(()));
        }
    }
}

unsafe extern "C" fn committed(
    bell: *mut c_void,
    _db: *mut ffi::sqlite3,
    _name: *const c_char,
    frames: c_int,
) -> c_int {
    if frames >= FRAMES {
        // SAFETY: `attend` gave a bell that lives as long as the connection.
        let bell = unsafe { &*bell.cast::<Bell>() };
        bell.lock().frames = frames;
        bell.rung.notify_one();
    }
    ffi::SQLITE_OK
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::Instant;

    #[test]
    fn the_database_grows_although_no_commit_makes_a_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("database");
        let connection = Connection::open(&file).unwrap();
        connection
            .execute_batch("pragma journal_mode = wal; create table numbers (number integer);")
            .unwrap();
        let checkpointer = Checkpointer::start(&file).unwrap();
        // SAFETY: the connection is open and closed below, before the checkpointer is dropped.
        unsafe { checkpointer.attend(connection.handle()) };
        let size = || fs::metadata(&file).unwrap().len();
        let (before, start) = (size(), Instant::now());
        while size() == before {
            connection.execute("insert into numbers (number) values (1)", ()).unwrap();
            assert!(start.elapsed() < Duration::from_secs(30), "the thread makes a checkpoint");
        }
        connection.close().unwrap();
    }
}
