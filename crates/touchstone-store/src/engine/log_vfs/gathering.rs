//! The log as one connection has it open: it gathers what is written, until the frame that commits, until it is read, or
//! until the lock to write is given back. What a transaction gathered that is rolled back is forgotten: as soon as its
//! lock is gone, its place in the log is somebody else's. The child of a fork has a copy of what its parent has gathered, and writes
//! nothing of it.

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

/// What is gathered before it is written: with the largest page behind it, no more than SQLite's Unix VFS writes at once.
const GATHERED_BYTES_MAX: usize = 64 << 10;
/// The header of a frame in the log; in its second word, a frame that commits has the file's size.
const FRAME_HEADER_BYTES: usize = 24;

/// An open log.
#[repr(C)]
pub(super) struct Gathering {
    base: ffi::sqlite3_file,
    /// The system's file, which lies behind this structure.
    below: *mut ffi::sqlite3_file,
    /// How often the lock to write was given back, as the database's main file counts it. Without it nothing is gathered.
    releases: Option<Arc<AtomicU64>>,
    /// The count under which was gathered what is.
    seen: u64,
    /// What is not in the file yet.
    gathered: Vec<u8>,
    /// Where it belongs.
    start: i64,
    /// The end of all that was written under the lock: what is written before it is written again, and not gathered.
    end: i64,
    /// Whether the frame whose header came last commits.
    commits: bool,
    /// The process that has opened it.
    origin: Origin,
    /// As long as it is open, nobody in this process deletes it.
    _opened: Option<Opened>,
}

impl Gathering {
    /// # Safety
    /// `below` is open, and the path is what SQLite opens a log by, as long as its main file is open.
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

    /// Whether it is the copy that a child has of its parent's file. Under the parent's lock nothing of the child's is written, nor
    /// read: others write meanwhile.
    fn is_parents(&mut self) -> bool {
        let is_parents = !self.origin.is_here();
        if is_parents {
            self.gathered.clear();
        }
        is_parents
    }

    /// Forgets what was gathered under a lock that was given back since. Whatever was committed had reached the file
    /// before that, so this was rolled back; and others may have written to its place.
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

    /// Whether the system's file ends before that, or the system does not say: another program has cut the log off.
    fn is_cut_off(&self, end: i64) -> bool {
        let mut bytes = 0;
        // SAFETY: the system's file is open, and so has methods, of which each VFS has this one.
        let code = unsafe { touchstone_file_bytes(self.below, &raw mut bytes) };
        code != ffi::SQLITE_OK || bytes < end
    }

    /// Writes what was gathered. What cannot be written is kept: where only a statement fails for it, the transaction
    /// goes on, and relies on the frames of the statements before.
    fn write_gathered(&mut self) -> c_int {
        self.settle();
        if self.gathered.is_empty() {
            return ffi::SQLITE_OK;
        }
        // Behind a hole nobody would read it. The log keeps the length that it was cut off to, by which that is seen.
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
            // Frames that were written are corrected when a page of the transaction changed again: their headers alone,
            // with no page after them to wait for. Where they are gone, what was before them is, too.
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

/// Whether it is the header of a frame that commits.
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
    // SAFETY: SQLite passes so many bytes.
    unsafe {
        let bytes = std::slice::from_raw_parts(bytes.cast(), usize::try_from(length).unwrap_or(0));
        let log = log(file);
        if log.is_parents() { ffi::SQLITE_IOERR_WRITE } else { log.write(bytes, offset) }
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once. What is still gathered belongs to no commit.
    unsafe { close_behind::<Gathering>(file, log(file).below) }
}

/// Methods that pass a call on to the system's file, after what was gathered is in it.
macro_rules! after_writing {
    ($($function:ident: $method:ident($($name:ident: $type:ty),*) or $failure:ident;)*) => {$(
        unsafe extern "C" fn $function(file: *mut ffi::sqlite3_file, $($name: $type),*) -> c_int {
            // SAFETY: SQLite passes a file that is open, and what the system's takes.
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
    // SAFETY: SQLite passes a file that is open.
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
    // SAFETY: SQLite passes a file that is open.
    unsafe { call!(log(file).below, xSectorSize() or 0) }
}

unsafe extern "C" fn characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite passes a file that is open.
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
