//! The pin keeps a store's file open: it closes the store's first connection after all other users of the index of the
//! write-ahead log (WAL). While this connection is open, the index stays mapped, and no connection of any process can
//! remove the log. The file that it has open is the store's. Each later connection is compared with it before it reads,
//! because by then the path may name another file.
//!
//! Meanwhile the first connection reads like the others: an idle one more would be half of the cost of opening a store.
//! A program's SQL may neither change the journal mode nor take an exclusive lock: both would unmap the index.

use super::bare;
use super::classes::ClassMark;
use super::connection::Connection;
use super::file_id::FileId;
use super::fork::Origin;
use super::log::{Copied, LogIndex, LogState, Region};
use crate::engine::new_file::companion;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::options::Options;
use crate::types::sync::{COPIED, FIRST, Mutex, lock};
use libsqlite3_sys as ffi;
use std::ffi::c_int;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// A file and the name that it had when the store was opened.
#[derive(Debug)]
struct Named {
    path: PathBuf,
    id: Option<FileId>,
}

impl Named {
    /// The file that has this name now, and its length in bytes.
    fn at(path: PathBuf) -> (Named, u64) {
        let file = fs::metadata(&path).ok();
        let id = file.as_ref().and_then(FileId::of);
        (Named { path, id }, file.map_or(0, |file| file.len()))
    }

    /// Whether the name is still the file's, as far as the system says.
    fn is_there(&self) -> bool {
        self.look().0
    }

    /// As [`is_there`](Named::is_there), with the length of the file that has the name now, if the system says it.
    fn look(&self) -> (bool, Option<u64>) {
        let Some(id) = self.id else { return (true, None) };
        match fs::metadata(&self.path) {
            Ok(file) => (FileId::of(&file) == Some(id), Some(file.len())),
            Err(error) => {
                (!matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory), None)
            }
        }
    }
}

/// The store's first connection, with everything that uses it.
pub(crate) trait First: Send {
    /// Closes the connection. This copies the log into the file (a checkpoint), unless `leaves_log`.
    fn close(self: Box<Self>, leaves_log: bool);
}

/// Keeps a store's file open.
pub(crate) struct Pin {
    /// The first connection, once no thread reads with it any more.
    first: Mutex<Option<Box<dyn First>>, FIRST>,
    _class: Option<ClassMark>,
    region: Option<Region>,
    file: Named,
    /// The file's length when the store was opened.
    bytes_at_first: u64,
    /// How much of the log was copied into the file, and the file's length at the first look after that.
    known: Mutex<Option<(Copied, u64)>, COPIED>,
    log: Named,
    /// The log's index, if it is a file that processes share.
    index: Option<Named>,
    /// The clock's tick at the last look at the files.
    looked: AtomicU64,
    is_gone: AtomicBool,
    /// Whether the log was ever found shorter than its index says.
    was_log_cut_off: AtomicBool,
    /// Whether the file was ever found cut off.
    was_cut_off: AtomicBool,
    /// The error of a failed flush of the file or its log: the disk may lack pages that the system counts as written.
    lost_flush: OnceLock<String>,
    origin: Origin,
}

impl Pin {
    /// Keeps the file of the store's first connection open. That connection has read from the file, and stays open
    /// until the pin takes it ([`close_last`](Pin::close_last)) or the process ends.
    ///
    /// # Errors
    /// [`Replaced`](ErrorKind::Replaced) if the file or its log was deleted, renamed or replaced;
    /// [`Damaged`](ErrorKind::Damaged) if the file is shorter than its log says: it was cut off;
    /// [`Durability`](ErrorKind::Durability) if a store with a class that excludes this one's has the file open.
    pub(crate) fn new(connection: &mut Connection, options: &Options) -> Result<Arc<Pin>> {
        let region = if connection.has_log() { connection.log_region() } else { None };
        let path = connection.path();
        let expected = Expected::of(region);
        let (file, bytes_at_first) = Named::at(path.clone());
        let (log, log_bytes) = Named::at(companion(&path, "-wal"));
        if expected.is_log_cut_off(log.id.map(|_| log_bytes)) {
            return Err(replaced(&file.path, "log"));
        }
        if expected.is_file_cut_off(file.id.map(|_| bytes_at_first)) {
            let why = "it is shorter than its log says: it was cut off (restore a backup)";
            return Err(Error::new(ErrorKind::Damaged, why));
        }
        let opened = region.and_then(FileId::indexed);
        if opened.map_or_else(|| has_moved(connection.handle()), |(opened, _)| file.id != Some(opened)) {
            return Err(replaced(&file.path, "file"));
        }
        let index = region.filter(|_| !options.exclusive).map(|_| {
            let path = companion(&path, "-shm");
            match opened {
                Some((_, id)) => Named { path, id: Some(id) },
                None => Named::at(path).0,
            }
        });
        let class = match (file.id, region) {
            (Some(id), Some(region)) if !options.read_only => {
                Some(ClassMark::set(id, region, options.durability)?)
            }
            _ => None,
        };
        Ok(Arc::new(Pin {
            first: Mutex::new(None),
            _class: class,
            region,
            file,
            bytes_at_first,
            known: Mutex::new(None),
            log,
            index,
            looked: AtomicU64::new(tick()),
            is_gone: AtomicBool::new(false),
            was_log_cut_off: AtomicBool::new(false),
            was_cut_off: AtomicBool::new(false),
            lost_flush: OnceLock::new(),
            origin: Origin::here(),
        }))
    }

    /// Takes the store's first connection, to close it after every other user of the log's index.
    pub(crate) fn close_last(&self, first: Box<dyn First>) {
        *lock(&self.first) = Some(first);
    }

    /// Notes that a flush of the file or of its log has failed: nothing more is committed, and closing the store leaves
    /// the log as it is.
    #[cold]
    pub(crate) fn note_lost_flush(&self, error: &Error) {
        self.lost_flush.get_or_init(|| error.to_string());
    }

    /// Checks that no flush has failed.
    ///
    /// # Errors
    /// [`Unflushed`](ErrorKind::Unflushed) if one has failed: from then on always.
    #[inline]
    pub(crate) fn check_flushed(&self) -> Result<()> {
        self.lost_flush.get().map_or(Ok(()), |why| Err(unflushed(why)))
    }

    /// The log's index; `None` if the file was read without one.
    pub(crate) fn index(self: &Arc<Pin>) -> Option<LogIndex> {
        let pin: Arc<Pin> = Arc::clone(self);
        self.region.map(|region| LogIndex::held(region, pin))
    }

    /// The file's path, without symbolic links.
    pub(crate) fn path(&self) -> &Path {
        &self.file.path
    }

    /// The file's length when the store was opened. Until there is a commit, the log's index does not have it.
    pub(crate) fn bytes_at_first(&self) -> u64 {
        self.bytes_at_first
    }

    /// The process that opened the store.
    #[inline]
    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    /// Opens one more connection to the store's file, and to no other. Until the file is known to be the store's, nothing
    /// is read or made, and no key is given: SQLite would take the log beside another file for that file's.
    pub(crate) fn open_beside(&self, options: &Options) -> Result<Connection> {
        self.origin.check()?;
        let flags = bare::flags(options.read_only, false);
        let raw = bare::open(self.path(), flags, options).map_err(|error| self.explain(error))?;
        self.admit(&raw)?;
        let connection = Connection::with(raw, options)?;
        connection.spare_flushes(options)?;
        Ok(connection)
    }

    /// Checks that a connection that was just opened, and has read nothing, has this file open.
    ///
    /// # Errors
    /// [`Replaced`](ErrorKind::Replaced) if it has another one; [`Forked`](ErrorKind::Forked) in a forked child.
    fn admit(&self, raw: &rusqlite::Connection) -> Result<()> {
        self.origin.check()?;
        // SAFETY: the connection is open, and in no other thread's use.
        let handle = unsafe { raw.handle() };
        // The first check compares the connection's file with the path, the second one the path with the store's file.
        if self.file.id.is_some() && has_moved(handle) { Err(self.replaced()) } else { self.check_there() }
    }

    /// Why an opening, or a transaction's begin or commit, failed: the file was replaced, or else the error itself.
    #[cold]
    pub(crate) fn explain(&self, error: Error) -> Error {
        use ErrorKind::{Damaged, Foreign, Io, NotFound, Unflushed};
        if !matches!(error.kind(), Damaged | Foreign | Io | NotFound | Unflushed) {
            return error;
        }
        // A commit that restarts the log flushes the log's header.
        if error.kind() == Unflushed {
            self.note_lost_flush(&error);
        }
        self.check_there().err().unwrap_or(error)
    }

    /// Checks that the file, its log and the log's index are in place. Callers that make system calls anyway use it. It
    /// looks at most once per tick of the system's clock, which is every few milliseconds.
    ///
    /// # Errors
    /// [`Replaced`](ErrorKind::Replaced) if the file or its log was deleted, renamed or replaced.
    pub(crate) fn look(&self) -> Result<()> {
        let now = tick();
        if self.looked.load(Ordering::Relaxed) != now {
            self.looked.store(now, Ordering::Relaxed);
            self.is_gone.store(self.check_there().is_err(), Ordering::Relaxed);
        }
        if self.is_seen_gone() { Err(self.replaced()) } else { Ok(()) }
    }

    /// Whether the last look found one of them gone. For callers that make no system call.
    #[inline]
    pub(crate) fn is_seen_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    /// As [`look`](Pin::look), but looks each time: for rare calls.
    ///
    /// # Errors
    /// [`Replaced`](ErrorKind::Replaced) if the file or its log was deleted, renamed or replaced.
    pub(crate) fn check_there(&self) -> Result<()> {
        let is_there = self.has_file() && self.has_log() && self.has_index();
        if is_there { Ok(()) } else { Err(self.replaced()) }
    }

    /// Whether the file is in place, with everything that was copied into it.
    fn has_file(&self) -> bool {
        let (expected, copied) = (Expected::of(self.region), self.copied());
        let (is_there, bytes) = self.file.look();
        is_there
            && !seen(&self.was_cut_off, expected.is_file_cut_off(bytes) || self.is_shorter(copied, bytes))
    }

    fn copied(&self) -> Option<Copied> {
        self.region.and_then(Region::copied)
    }

    /// Whether the file is shorter than before, although nothing more of the log was copied.
    fn is_shorter(&self, copied: Option<Copied>, bytes: Option<u64>) -> bool {
        let (Some(copied), Some(bytes)) = (copied, bytes) else { return false };
        if self.copied() != Some(copied) {
            return false;
        }
        let mut known = lock(&self.known);
        match *known {
            Some((then, bytes_then)) if then == copied => bytes < bytes_then,
            _ => {
                *known = Some((copied, bytes));
                false
            }
        }
    }

    /// Whether the log is in place, with everything that was committed to it.
    fn has_log(&self) -> bool {
        self.look_at_log().0
    }

    /// As [`has_log`](Pin::has_log), with the log's length in bytes, if the system says it.
    fn look_at_log(&self) -> (bool, Option<u64>) {
        let expected = Expected::of(self.region);
        let (is_there, bytes) = self.log.look();
        (is_there && !seen(&self.was_log_cut_off, expected.is_log_cut_off(bytes)), bytes)
    }

    /// Whether the log's index is there. A process that finds none makes another, with other locks: two write at once.
    fn has_index(&self) -> bool {
        self.index.as_ref().is_none_or(Named::is_there)
    }

    /// Whether the log, or its index, was removed while the file stayed. Other processes then write to the file, and do
    /// not see the readers of this one.
    pub(crate) fn has_lost_log(&self) -> bool {
        self.has_file() && !(self.has_log() && self.has_index())
    }

    #[cold]
    fn replaced(&self) -> Error {
        let what = match (self.has_file(), self.has_log(), self.has_index()) {
            (true, false, _) => "log",
            (true, true, false) => "log's index",
            _ => "file",
        };
        replaced(&self.file.path, what)
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        // A program that removed the log has copied it, and others may have committed to the file since. So this
        // process copies no log without a name over their commits, and removes no log that others have begun. If the
        // file is gone, SQLite does not copy either; if it was cut off, the log has the rest. An empty log has nothing
        // to copy or to lose, whichever process has the index. After a failed flush the disk may lack bytes that the
        // system counts as written: a log with a hole is not copied into a file that is whole.
        let is_there = || match self.look_at_log() {
            (has_log, Some(0)) => has_log,
            (has_log, _) => has_log && self.has_index(),
        };
        let is_cut_off = || self.file.is_there() && !self.has_file();
        let is_lost = || self.lost_flush.get().is_some() || is_cut_off() || !is_there();
        let leaves_log = self.origin.is_here() && is_lost();
        // The mark of the class (`_class`) is dropped after this, because closing the connection may copy the log.
        if let Some(first) = lock(&self.first).take() {
            first.close(leaves_log);
        }
    }
}

#[cold]
fn unflushed(why: &str) -> Error {
    Error::new(ErrorKind::Unflushed, format!("{why} (nothing more is committed; reopen the store)"))
}

#[cold]
fn replaced(path: &Path, what: &str) -> Error {
    let remedy =
        "close the store, and open what is there now; what it has written since may be in neither file";
    let message = format!(
        "the {what} of {} was deleted, renamed or replaced while a store had it open ({remedy})",
        path.display()
    );
    Error::new(ErrorKind::Replaced, message)
}

/// Whether a cut was seen, now or before: the next write hides it.
fn seen(before: &AtomicBool, now: bool) -> bool {
    if now {
        before.store(true, Ordering::Relaxed);
    }
    now || before.load(Ordering::Relaxed)
}

/// The least lengths of the file and its log, from the index, which is read before their real lengths. If one is
/// shorter while the index is unchanged, it was cut off: a process that shortens one changes the index first.
#[derive(Clone, Copy)]
struct Expected(Option<(Region, LogState, u64)>);

impl Expected {
    fn of(region: Option<Region>) -> Expected {
        let said = |region: Region| region.state().map(|state| (region, state, region.file_bytes_min(state)));
        Expected(region.and_then(said))
    }

    /// Frames that are written to such a log lie behind a hole, and no reader reads past it.
    fn is_log_cut_off(self, bytes: Option<u64>) -> bool {
        let (Some((_, state, _)), Some(bytes)) = (self.0, bytes) else { return false };
        bytes < state.log_file_bytes() && self.is_still_so()
    }

    /// SQLite takes a file without a page for a new one, and deletes the log beside it.
    fn is_file_cut_off(self, bytes: Option<u64>) -> bool {
        let (Some((.., bytes_min)), Some(bytes)) = (self.0, bytes) else { return false };
        bytes < bytes_min && self.is_still_so()
    }

    fn is_still_so(self) -> bool {
        self.0.is_some_and(|(region, state, bytes_min)| {
            region.state() == Some(state) && region.file_bytes_min(state) == bytes_min
        })
    }
}

/// Whether the path no longer names the file that the connection has open.
fn has_moved(connection: *mut ffi::sqlite3) -> bool {
    let mut moved: c_int = 0;
    // SAFETY: the connection is open, as the callers ensure; a VFS that does not know the operation keeps `moved`.
    unsafe {
        ffi::sqlite3_file_control(
            connection,
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_HAS_MOVED,
            (&raw mut moved).cast(),
        );
    }
    moved != 0
}

/// The last tick of the system's coarse clock, which costs some nanoseconds to read.
#[cfg(target_os = "linux")]
fn tick() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    // Never 0.
    ((now.tv_sec as u64) << 32) | now.tv_nsec as u64 | 1
}

/// A clock that ticks every four milliseconds.
#[cfg(not(target_os = "linux"))]
fn tick() -> u64 {
    use std::sync::LazyLock;
    use std::time::Instant;
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    (BEGAN.elapsed().as_millis() / 4) as u64 + 1
}
