//! Busy handler: how a connection waits for a lock that another process has. SQLite's own handler looks again after up
//! to a hundred milliseconds. A process whose threads write one after the other leaves the lock free for microseconds,
//! which such a handler keeps missing. So this one looks every millisecond, and gives a hint meanwhile that it waits,
//! to which the others yield: see [`LogIndex::is_asked`](super::log::LogIndex::is_asked).

use super::log::LogIndex;
use libsqlite3_sys as ffi;
use std::cell::{Cell, OnceCell};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::time::{Duration, Instant};

/// The time between two looks. A look costs some microseconds.
const LOOK: Duration = Duration::from_millis(1);

/// The busy handler of one connection. It must not move until the connection is closed.
pub(crate) struct BusyHandler {
    /// How long the connection waits for one lock.
    limit: Duration,
    began: Cell<Option<Instant>>,
    /// How long it may still wait for all locks together.
    left: Cell<Option<Duration>>,
    has_waited: Cell<bool>,
    /// Whether the connection does not wait at all.
    is_hasty: Cell<bool>,
    index: OnceCell<LogIndex>,
}

impl BusyHandler {
    pub(crate) fn new(limit: Duration) -> Box<BusyHandler> {
        Box::new(BusyHandler {
            limit,
            began: Cell::new(None),
            left: Cell::new(None),
            has_waited: Cell::new(false),
            is_hasty: Cell::new(false),
            index: OnceCell::new(),
        })
    }

    /// Installs the busy handler.
    ///
    /// # Safety
    /// The connection is open, is used by one thread at a time, and is closed before the busy handler is dropped.
    pub(crate) unsafe fn teach(&self, connection: *mut ffi::sqlite3) {
        // SAFETY: the handler outlives the connection, and the callback changes only fields that may change behind `&`.
        unsafe { ffi::sqlite3_busy_handler(connection, Some(wait), ptr::from_ref(self).cast_mut().cast()) };
    }

    /// From now on the connection waits for this time at most, for all locks together: a checkpoint waits for several.
    pub(crate) fn limit_all_to(&self, limit: Duration) {
        self.left.set(Some(limit));
    }

    /// Until the returned value is dropped, the connection waits for no lock: a statement fails at once if another
    /// connection has the lock.
    #[inline]
    pub(crate) fn no_wait(&self) -> NoWait<'_> {
        self.is_hasty.set(true);
        NoWait(&self.is_hasty)
    }

    /// From now on the connection gives other processes a hint when it waits.
    pub(crate) fn ask_through(&self, index: Option<LogIndex>) {
        if let Some(index) = index {
            let _ = self.index.set(index);
        }
    }

    /// Whether the connection has waited since the last call.
    #[inline]
    pub(crate) fn take_waited(&self) -> bool {
        self.has_waited.replace(false)
    }

    /// Waits a little; whether to look again.
    fn wait(&self, looks: c_int) -> bool {
        if self.is_hasty.get() {
            return false;
        }
        let now = Instant::now();
        let began = match self.began.get() {
            Some(began) if looks > 0 => began,
            _ => now,
        };
        self.began.set(Some(began));
        self.has_waited.set(true);
        let left = self.left.get().unwrap_or_else(|| self.limit.saturating_sub(now - began));
        if left.is_zero() {
            return false;
        }
        if let Some(index) = self.index.get() {
            index.ask();
        }
        std::thread::sleep(LOOK.min(left));
        self.left.set(self.left.get().map(|left| left.saturating_sub(now.elapsed())));
        true
    }
}

/// While this value exists, the connection waits for no lock.
#[must_use = "the connection waits again when this is dropped"]
pub(crate) struct NoWait<'b>(&'b Cell<bool>);

impl Drop for NoWait<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// SQLite calls it if another connection has a lock, with the number of calls before for this lock.
unsafe extern "C" fn wait(busy_handler: *mut c_void, looks: c_int) -> c_int {
    // SAFETY: it is the argument that the handler was installed with, which outlives the connection.
    let busy_handler = unsafe { &*busy_handler.cast::<BusyHandler>().cast_const() };
    c_int::from(busy_handler.wait(looks))
}
