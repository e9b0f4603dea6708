//! The write-ahead log (WAL) as one connection has it open. It gathers written bytes until the frame that commits,
//! until a read, or until the write lock is released. If a transaction is rolled back, its gathered bytes are dropped:
//! once its lock is released, their place in the log belongs to others. A forked child has a copy of its parent's
//! gathered bytes, and writes none of them.

use super::opened::Opened;
use super::{close_behind, main_file, of_flush};
use crate::engine::fork::Origin;
use crate::engine::vfs_file::call;
use libsqlite3_sys as ffi;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

unsafe extern "C" {
    fn touchstone_file_bytes(file: *mut ffi::sqlite3_file, bytes: *mut ffi::sqlite3_int64) -> c_int;
}

/// The limit of gathered bytes: with the largest page behind them, no more than SQLite's Unix VFS writes at once.
const GATHERED_BYTES_MAX: usize = 64 << 10;
/// The size of a frame's header in the log. If the frame commits, the header's second word has the file's size.
const FRAME_HEADER_BYTES: usize = 24;

/// An open log.
#[repr(C)]
pub(super) struct Gathering {
    base: ffi::sqlite3_file,
    /// The system's file, which lies behind this structure.
    below: *mut ffi::sqlite3_file,
    /// The number of releases of the write lock, which the main file counts. Without this count nothing is gathered.
    releases: Option<Arc<AtomicU64>>,
    /// The count of releases to which the gathered bytes belong.
    seen: u64,
    /// Bytes that are not in the file yet.
    gathered: Vec<u8>,
    /// Their offset in the file.
    start: i64,
    /// The end of all bytes written under the lock. A write before this end rewrites bytes, and is not gathered.
    end: i64,
    /// Whether the last header was one of a frame that commits.
    commits: bool,
    /// The process that opened the file.
    origin: Origin,
    /// While this exists, nobody in this process deletes the log.
    _opened: Option<Opened>,
}

impl Gathering {
    /// # Safety
    /// `below` is open. The path is the one by which SQLite opens a log, while its main file is open.
    pub(super) unsafe fn new(below: *mut ffi::sqlite3_file, path: *const c_char) -> Gathering {
        Gathering {
            base: ffi::sqlite3_file { pMethods: &raw const METHODS },
            below,
            // SAFETY: the caller's promise.
            releases: unsafe { main_file::releases_beside(path) },
            seen: 0,
            gathered: Vec::new(),
            start: 0,
            end: 0,
            commits: false,
            origin: Origin::here(),
            // SAFETY: the caller's promise.
            _opened: unsafe { Opened::new(path) },
        }
    }

    /// Whether this is a forked child's copy of its parent's file. The child neither writes nor reads under its
    /// parent's lock: others write meanwhile.
    fn is_parents(&mut self) -> bool {
        let is_parents = !self.origin.is_here();
        if is_parents {
            self.gathered.clear();
        }
        is_parents
    }

    /// Drops bytes that were gathered under a lock that was released since. A commit would have reached the file before
    /// that, so they were rolled back; and others may have written to their place.
    fn settle(&mut self) {
        let Some(releases) = &self.releases else { return };
        let now = releases.load(Ordering::Relaxed);
        if now != self.seen {
            self.seen = now;
            self.gathered.clear();
            self.end = 0;
        }
    }

    fn write_through(&self, bytes: &[u8], offset: i64) -> c_int {
        let Ok(length) = c_int::try_from(bytes.len()) else { return ffi::SQLITE_IOERR_WRITE };
        // SAFETY: the system's file is open.
        unsafe { call!(self.below, xWrite(bytes.as_ptr().cast(), length, offset) or ffi::SQLITE_IOERR_WRITE) }
    }

    /// Whether the system's file ends before `end`, or its length is unknown: another program has cut the log off.
    fn is_cut_off(&self, end: i64) -> bool {
        let mut bytes = 0;
        // SAFETY: the system's file is open, and so has methods; each VFS implements this one.
        let code = unsafe { touchstone_file_bytes(self.below, &raw mut bytes) };
        code != ffi::SQLITE_OK || bytes < end
    }

    /// Writes the gathered bytes. They are kept if that fails: if only a statement fails, the transaction goes on, and
    /// relies on the frames of earlier statements.
    fn write_gathered(&mut self) -> c_int {
        self.settle();
        if self.gathered.is_empty() {
            return ffi::SQLITE_OK;
        }
        // No reader reads frames behind a hole. The log keeps the length that it was cut off to, which shows the cut.
        if self.is_cut_off(self.start) {
            return ffi::SQLITE_IOERR_WRITE;
        }
        let code = self.write_through(&self.gathered, self.start);
        if code == ffi::SQLITE_OK {
            self.gathered.clear();
        }
        code
    }

    fn write(&mut self, bytes: &[u8], offset: i64) -> c_int {
        if self.releases.is_none() {
            return self.write_through(bytes, offset);
        }
        self.settle();
        let end = self.start + self.gathered.len() as i64;
        if !self.gathered.is_empty() && offset != end {
            let code = self.write_gathered();
            if code != ffi::SQLITE_OK {
                return code;
            }
        }
        // The page after the header of a frame that commits ends the transaction.
        let was_committing = std::mem::replace(&mut self.commits, commits(bytes));
        let begins_anew = offset == 0;
        if offset < self.end && !begins_anew {
            // SQLite overwrites a page that changes again, and later corrects headers: both alone, with nothing to wait
            // for. If the log is cut off before their end, the write would restore its length over a hole.
            let is_gone = self.is_cut_off(offset + bytes.len() as i64);
            return if is_gone { ffi::SQLITE_IOERR_WRITE } else { self.write_through(bytes, offset) };
        }
        if self.gathered.is_empty() {
            self.start = offset;
        }
        self.gathered.extend_from_slice(bytes);
        self.end = offset + bytes.len() as i64;
        if was_committing || self.gathered.len() >= GATHERED_BYTES_MAX {
            return self.write_gathered();
        }
        ffi::SQLITE_OK
    }
}

/// Whether the bytes are the header of a frame that commits.
fn commits(bytes: &[u8]) -> bool {
    bytes.len() == FRAME_HEADER_BYTES && bytes[4..8] != [0; 4]
}

/// The log, as SQLite passes it.
///
/// # Safety
/// SQLite passes a file that was opened as a log, to one thread at a time.
unsafe fn log<'f>(file: *mut ffi::sqlite3_file) -> &'f mut Gathering {
    // SAFETY: the caller's promise.
    unsafe { &mut *file.cast::<Gathering>() }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    bytes: *const c_void,
    length: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes this many bytes.
    unsafe {
        let bytes = std::slice::from_raw_parts(bytes.cast(), usize::try_from(length).unwrap_or(0));
        let log = log(file);
        if log.is_parents() { ffi::SQLITE_IOERR_WRITE } else { log.write(bytes, offset) }
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once. Bytes that are still gathered belong to no commit.
    unsafe { close_behind::<Gathering>(file, log(file).below) }
}

/// Methods that pass a call on to the system's file, after the gathered bytes are written.
macro_rules! after_writing {
    ($($function:ident: $method:ident($($name:ident: $type:ty),*) or $failure:ident;)*) => {$(
        unsafe extern "C" fn $function(file: *mut ffi::sqlite3_file, $($name: $type),*) -> c_int {
            // SAFETY: SQLite passes an open file, and arguments for the system's.
            unsafe {
                let log = log(file);
                if log.is_parents() {
                    return ffi::SQLITE_IOERR;
                }
                let code = log.write_gathered();
                if code != ffi::SQLITE_OK {
                    return code;
                }
                call!(log.below, $method($($name),*) or ffi::$failure)
            }
        }
    )*};
}

after_writing! {
    read: xRead(bytes: *mut c_void, length: c_int, offset: ffi::sqlite3_int64) or SQLITE_IOERR_READ;
    truncate: xTruncate(size: ffi::sqlite3_int64) or SQLITE_IOERR_TRUNCATE;
    size: xFileSize(out: *mut ffi::sqlite3_int64) or SQLITE_IOERR_FSTAT;
    control: xFileControl(operation: c_int, argument: *mut c_void) or SQLITE_NOTFOUND;
    lock: xLock(level: c_int) or SQLITE_OK;
    unlock: xUnlock(level: c_int) or SQLITE_OK;
    reserved: xCheckReservedLock(out: *mut c_int) or SQLITE_OK;
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        let log = log(file);
        if log.is_parents() {
            return ffi::SQLITE_IOERR_FSYNC;
        }
        match log.write_gathered() {
            ffi::SQLITE_OK => of_flush(call!(log.below, xSync(flags) or ffi::SQLITE_IOERR_FSYNC)),
            unwritten => unwritten,
        }
    }
}

unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe { call!(log(file).below, xSectorSize() or 0) }
}

unsafe extern "C" fn characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe { call!(log(file).below, xDeviceCharacteristics() or 0) }
}

/// Version 1: a log has no shared memory of its own, and is not mapped.
static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(reserved),
    xFileControl: Some(control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};
