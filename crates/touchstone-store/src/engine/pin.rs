//! What holds a store's file: the store's first connection, which is closed after everything that looks at the log's index.
//! As long as it is open the index stays mapped, and no other connection, of whichever process, can take the log away. What
//! it has open is the store's file: each later connection is compared with it before it reads, because by then the path may
//! name another.
//!
//! The connection reads like the others meanwhile: one more, which does nothing, would be half of what opening a store
//! costs. What would unmap the index, another journal or an exclusive lock, is refused in the SQL that a program has it run.

use super::classes::ClassMark;
use super::connection::Connection;
use super::fork::Origin;
use super::log::{Copied, LogIndex, LogState, Region};
use crate::error::{Error, ErrorKind, Result};
use crate::options::Options;
use crate::place::companion;
use crate::sync::{Mutex, lock};
use libsqlite3_sys as ffi;
use std::ffi::{c_int, c_void};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

unsafe extern "C" {
    fn touchstone_indexed(region: *const c_void, file: *mut [u64; 2], index: *mut [u64; 2]) -> c_int;
}

/// A file, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileId {
    pub(super) device: u64,
    pub(super) inode: u64,
}

impl FileId {
    #[cfg(all(test, unix))]
    pub(super) fn at(path: &Path) -> Option<FileId> {
        fs::metadata(path).ok().as_ref().and_then(FileId::of)
    }

    #[cfg(unix)]
    fn of(file: &Metadata) -> Option<FileId> {
        use std::os::unix::fs::MetadataExt as _;
        Some(FileId { device: file.dev(), inode: file.ino() })
    }

    /// The file whose index is mapped there, and the index's own, as SQLite has them open; none where it has them otherwise.
    fn indexed(region: Region) -> Option<(FileId, FileId)> {
        let (mut file, mut index) = ([0; 2], [0; 2]);
        // SAFETY: the region is a number by which the index is looked for, and each file has two numbers.
        let is_found = unsafe { touchstone_indexed(region.address(), &raw mut file, &raw mut index) } != 0;
        let id = |[device, inode]: [u64; 2]| FileId { device, inode };
        is_found.then(|| (id(file), id(index)))
    }

    /// Elsewhere the system does not let go of the name of a file that is open.
    #[cfg(not(unix))]
    fn of(_file: &Metadata) -> Option<FileId> {
        None
    }
}

/// A file and the name that it had when the store was opened.
#[derive(Debug)]
struct Named {
    path: PathBuf,
    id: Option<FileId>,
}

impl Named {
    /// What has that name now, with how many bytes.
    fn at(path: PathBuf) -> (Named, u64) {
        let file = fs::metadata(&path).ok();
        let id = file.as_ref().and_then(FileId::of);
        (Named { path, id }, file.map_or(0, |file| file.len()))
    }

    /// Whether the name is still that file's, as far as can be told.
    fn is_there(&self) -> bool {
        self.look().0
    }

    /// The same, with how many bytes the file has that has the name, where that can be told.
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

/// The store's first connection, with all that uses it.
pub(crate) trait First: Send {
    /// Closes it. It copies the log, unless the log is to be left as it is.
    fn close(self: Box<Self>, leaves_log: bool);
}

/// What holds a store's file.
pub(crate) struct Pin {
    /// The first connection, from when nobody reads with it any more.
    first: Mutex<Option<Box<dyn First>>>,
    _class: Option<ClassMark>,
    region: Option<Region>,
    file: Named,
    /// How long it was when the store was opened.
    bytes_at_first: u64,
    /// How long it was when it was looked at first after so much of the log was copied into it.
    known: Mutex<Option<(Copied, u64)>>,
    log: Named,
    /// The log's index, where it is a file that others share.
    index: Option<Named>,
    /// When it was last looked whether the file is there.
    looked: AtomicU64,
    is_gone: AtomicBool,
    /// Whether the log was once found shorter than its index says.
    was_log_cut_off: AtomicBool,
    /// Whether the file was.
    was_cut_off: AtomicBool,
    /// How a flush of the file or of its log has failed: the disk may lack the pages that the system counts as written.
    lost_flush: OnceLock<String>,
    origin: Origin,
}

impl Pin {
    /// Holds the file of the store's first connection, which has read from it. The connection is open until the pin is given
    /// it, to be [closed last](Pin::close_last), or for ever.
    ///
    /// # Errors
    /// [`Replaced`](ErrorKind::Replaced) where the file was replaced since it was opened;
    /// [`Damaged`](ErrorKind::Damaged) where it was cut off before;
    /// [`Durability`](ErrorKind::Durability) where others have it open with a class that this one cannot stand beside.
    pub(crate) fn new(connection: &mut Connection, options: &Options) -> Result<Arc<Pin>> {
        let region = if connection.has_log() { Region::of(connection) } else { None };
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

    /// Closes the store's first connection after everything that looks at the log's index.
    pub(crate) fn close_last(&self, first: Box<dyn First>) {
        *lock(&self.first) = Some(first);
    }

    /// Notes that a flush of the file or of its log has failed: nothing more is committed, and closing the store leaves
    /// the log as it is.
    #[cold]
    pub(crate) fn note_lost_flush(&self, error: &Error) {
        self.lost_flush.get_or_init(|| error.to_string());
    }

    /// Whether no flush has failed.
    ///
    /// # Errors
    /// [`Unflushed`](ErrorKind::Unflushed) if one has, from then on always.
    #[inline]
    pub(crate) fn check_flushed(&self) -> Result<()> {
        self.lost_flush.get().map_or(Ok(()), |why| Err(unflushed(why)))
    }

    /// The log's index; none where the file was read without one.
    pub(crate) fn index(self: &Arc<Pin>) -> Option<LogIndex> {
        self.region.map(|region| LogIndex::held(region, self))
    }

    /// Where the file is, without links.
    pub(crate) fn path(&self) -> &Path {
        &self.file.path
    }

    /// How long the file was when the store was opened. As long as nobody has committed, the log's index does not say.
    pub(crate) fn bytes_at_first(&self) -> u64 {
        self.bytes_at_first
    }

    /// The process that has it open.
    #[inline]
    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    /// Whether a connection that was just opened, and has read nothing, has this file open.
    ///
    /// # Errors
    /// [`Replaced`](ErrorKind::Replaced) where it has another one; [`Forked`](ErrorKind::Forked) in a child.
    pub(crate) fn admit(&self, raw: &rusqlite::Connection) -> Result<()> {
        self.origin.check()?;
        // SAFETY: the connection is open, and in no other thread's use.
        let handle = unsafe { raw.handle() };
        // The one says that the connection has what the path names, the other that this is the store's.
        if self.file.id.is_some() && has_moved(handle) { Err(self.replaced()) } else { self.check_there() }
    }

    /// Why a connection could not be opened, or a transaction begun or committed: the file is gone, or what the system says.
    #[cold]
    pub(crate) fn explain(&self, error: Error) -> Error {
        use ErrorKind::{Damaged, Foreign, Io, NotFound, Unflushed};
        if !matches!(error.kind(), Damaged | Foreign | Io | NotFound | Unflushed) {
            return error;
        }
        // A commit flushes the header of a log that restarts.
        if error.kind() == Unflushed {
            self.note_lost_flush(&error);
        }
        self.check_there().err().unwrap_or(error)
    }

    /// Whether the file, its log and the log's index are where they were. Asked by what calls the system anyway, it looks no more often
    /// than the system's clock ticks: every few milliseconds.
    ///
    /// # Errors
    /// [`Replaced`](ErrorKind::Replaced) where they are not.
    pub(crate) fn look(&self) -> Result<()> {
        let now = tick();
        if self.looked.load(Ordering::Relaxed) != now {
            self.looked.store(now, Ordering::Relaxed);
            self.is_gone.store(self.check_there().is_err(), Ordering::Relaxed);
        }
        if self.is_seen_gone() { Err(self.replaced()) } else { Ok(()) }
    }

    /// Whether the last look found them gone: what those ask who call no system.
    #[inline]
    pub(crate) fn is_seen_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    /// As [`look`](Pin::look), where it is asked too seldom to spare the look.
    ///
    /// # Errors
    /// [`Replaced`](ErrorKind::Replaced) where they are not.
    pub(crate) fn check_there(&self) -> Result<()> {
        let is_there = self.has_file() && self.has_log() && self.has_index();
        if is_there { Ok(()) } else { Err(self.replaced()) }
    }

    /// Whether the file is there, with what was copied to it.
    fn has_file(&self) -> bool {
        let (expected, copied) = (Expected::of(self.region), self.copied());
        let (is_there, bytes) = self.file.look();
        is_there
            && !seen(&self.was_cut_off, expected.is_file_cut_off(bytes) || self.is_shorter(copied, bytes))
    }

    fn copied(&self) -> Option<Copied> {
        self.region.and_then(Region::copied)
    }

    /// Whether the file is shorter than before, though no more of the log was copied since.
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

    /// Whether the log is there, with what was committed to it.
    fn has_log(&self) -> bool {
        self.look_at_log().0
    }

    /// The same, with how many bytes the log has, where that can be told.
    fn look_at_log(&self) -> (bool, Option<u64>) {
        let expected = Expected::of(self.region);
        let (is_there, bytes) = self.log.look();
        (is_there && !seen(&self.was_log_cut_off, expected.is_log_cut_off(bytes)), bytes)
    }

    /// Whether the log's index is there. Who finds none makes another, with locks of its own: two would write at once.
    fn has_index(&self) -> bool {
        self.index.as_ref().is_none_or(Named::is_there)
    }

    /// Whether the log, or its index, was removed from beside the file: others write to the file then, and do not see who
    /// reads it here.
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
        // Who removed the log has copied it, and others may have committed to the file since: what this process wrote to a
        // log without a name is not copied over that, nor is a log removed that others have begun. Where the file itself is
        // gone, SQLite does not copy either; where it was cut off, the log has what is left. A log without a byte has nothing to
        // copy or to lose, whichever process has the index. After a failed flush the system may hold for written what the disk
        // lacks: a log with a hole is not copied into a file that is whole.
        let is_there = || match self.look_at_log() {
            (has_log, Some(0)) => has_log,
            (has_log, _) => has_log && self.has_index(),
        };
        let is_cut_off = || self.file.is_there() && !self.has_file();
        let is_lost = || self.lost_flush.get().is_some() || is_cut_off() || !is_there();
        let leaves_log = self.origin.is_here() && is_lost();
        // Before the class is taken back: it may be who copies the log.
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

/// Whether that was seen, now or before: what is written next hides it.
fn seen(before: &AtomicBool, now: bool) -> bool {
    if now {
        before.store(true, Ordering::Relaxed);
    }
    now || before.load(Ordering::Relaxed)
}

/// How long the file and its log are at least, as the index says before their lengths are asked for. One that is shorter then, while
/// the index says the same, was cut off: whoever makes one shorter changes the index first.
#[derive(Clone, Copy)]
struct Expected(Option<(Region, LogState, u64)>);

impl Expected {
    fn of(region: Option<Region>) -> Expected {
        let said = |region: Region| region.state().map(|state| (region, state, region.file_bytes_min(state)));
        Expected(region.and_then(said))
    }

    /// What is written to such a log lies behind a hole, over which nobody reads.
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

/// Whether the path no longer names the file that a connection has open.
fn has_moved(connection: *mut ffi::sqlite3) -> bool {
    let mut moved: c_int = 0;
    // SAFETY: the connection is open, as the callers see to; a VFS that does not know the question leaves the answer.
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

/// The system's clock as it last ticked, which costs some nanoseconds.
#[cfg(target_os = "linux")]
fn tick() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    // Not 0, which is before the first look.
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
