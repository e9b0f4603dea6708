//! The main file of a database as one connection has it open: the system's file, and a count of how often the
//! connection has released its write lock. The write-ahead log (WAL) beside the file reads this count. So the log needs
//! no hook of the connection, which a program may replace, and no schema name: an attached file has a count of its own.
//! Reads of pages that were cut off report damage.
//!
//! A forked child has its parent's file open without its locks. A call of SQLite that the fork interrupts may go on in
//! the child. There the file is neither read nor written, and no lock of the index, which is shared, is taken.

use super::{close_behind, of_flush};
use crate::engine::fork::Origin;
use crate::engine::vfs_file::call;
use libsqlite3_sys as ffi;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The number of the write lock among those of the log's index, which the index's format fixes.
const WRITE_LOCK: c_int = 0;
/// The flags by which the lock is released.
const RELEASE: c_int = ffi::SQLITE_SHM_UNLOCK | ffi::SQLITE_SHM_EXCLUSIVE;

/// The size of the smallest page.
const PAGE_BYTES_MIN: i64 = 512;

/// The file control that asks a main file for its count; SQLite leaves numbers above 100 to others.
const COUNT: c_int = 0x546f_7573;

/// An open main file.
#[repr(C)]
pub(super) struct MainFile {
    base: ffi::sqlite3_file,
    /// The system's file, which lies behind this structure.
    below: *mut ffi::sqlite3_file,
    releases: Arc<AtomicU64>,
    /// Whether it has a log with an index.
    is_logged: AtomicBool,
    /// The process that opened the file.
    origin: Origin,
}

impl MainFile {
    /// # Safety
    /// `below` is open.
    pub(super) unsafe fn new(below: *mut ffi::sqlite3_file) -> MainFile {
        // SAFETY: the caller's promise. An open file has methods, which exist as long as it is open.
        let version = unsafe { (*below).pMethods.as_ref() }.map_or(1, |methods| methods.iVersion);
        let methods = match version {
            ..2 => &raw const WITHOUT_INDEX,
            2 => &raw const WITHOUT_MAPPING,
            _ => &raw const WHOLE,
        };
        MainFile {
            base: ffi::sqlite3_file { pMethods: methods },
            below,
            releases: Arc::default(),
            is_logged: AtomicBool::new(false),
            origin: Origin::here(),
        }
    }
}

impl MainFile {
    /// Whether this is a forked child's copy of its parent's file.
    fn is_parents(&self) -> bool {
        !self.origin.is_here()
    }
}

/// The count of the main file beside the log of that path; `None` if the main file is not one of this module's.
///
/// # Safety
/// The path is null, or the one by which SQLite opens a log while the main file is open.
pub(super) unsafe fn releases_beside(path: *const c_char) -> Option<Arc<AtomicU64>> {
    let mut count: Option<Arc<AtomicU64>> = None;
    if path.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; the main file stays in place during the call. This module alone knows the file
    // control, and writes a count; another VFS passes it on, or refuses it.
    unsafe {
        let main = ffi::sqlite3_database_file_object(path);
        let methods = main.as_ref()?.pMethods.as_ref()?;
        methods.xFileControl?(main, COUNT, (&raw mut count).cast());
    }
    count
}

/// The main file, as SQLite passes it.
///
/// # Safety
/// SQLite passes a file that was opened as a main file, and is open.
#[inline]
unsafe fn main_file<'f>(file: *mut ffi::sqlite3_file) -> &'f MainFile {
    // SAFETY: the caller's promise.
    unsafe { &*file.cast::<MainFile>() }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once.
    unsafe { close_behind::<MainFile>(file, main_file(file).below) }
}

unsafe extern "C" fn control(file: *mut ffi::sqlite3_file, operation: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: SQLite passes an open file; with this operation, `releases_beside` passes a place for the count.
    unsafe {
        if operation == COUNT {
            *argument.cast::<Option<Arc<AtomicU64>>>() = Some(Arc::clone(&main_file(file).releases));
            return ffi::SQLITE_OK;
        }
        pass_control(file, operation, argument)
    }
}

/// SQLite reads zeros behind the end of the file, because a page may be freed before it was ever written. With a log
/// every page is written: a page in neither the log nor the file was cut off. A new file's first page is the exception.
unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    bytes: *mut c_void,
    length: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: SQLite passes an open file, and arguments for the system's.
    unsafe {
        let code = pass_read(file, bytes, length, offset);
        let is_cut_off = code == ffi::SQLITE_IOERR_SHORT_READ && offset >= PAGE_BYTES_MIN;
        if is_cut_off && main_file(file).is_logged.load(Ordering::Relaxed) {
            ffi::SQLITE_CORRUPT
        } else {
            code
        }
    }
}

unsafe extern "C" fn map_index(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    size: c_int,
    extends: c_int,
    out: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes an open file, and arguments for the system's.
    unsafe {
        let code = pass_map_index(file, region, size, extends, out);
        main_file(file).is_logged.fetch_or(code == ffi::SQLITE_OK, Ordering::Relaxed);
        code
    }
}

unsafe extern "C" fn unmap_index(file: *mut ffi::sqlite3_file, deletes: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        main_file(file).is_logged.store(false, Ordering::Relaxed);
        pass_unmap_index(file, deletes)
    }
}

/// Counts a release before it happens: from then on others may write.
unsafe extern "C" fn lock_index(
    file: *mut ffi::sqlite3_file,
    offset: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        if offset == WRITE_LOCK && flags == RELEASE {
            main_file(file).releases.fetch_add(1, Ordering::Relaxed);
        }
        pass_lock_index(file, offset, count, flags)
    }
}

/// A connection that holds the whole file, by `pragma locking_mode = exclusive`, releases no lock of the index. It
/// releases the file here, when its transaction is over.
unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        main_file(file).releases.fetch_add(1, Ordering::Relaxed);
        pass_unlock(file, level)
    }
}

/// Methods that pass a call on to the system's file. A method that the file lacks fails. So does a refused one, in a
/// forked child of the process that opened the file.
macro_rules! pass_on {
    ($($function:ident: $method:ident($($name:ident: $type:ty),*) $(-> $result:ty)? , $missing:expr $(, $refused:ident)?;)*) => {$(
        unsafe extern "C" fn $function(file: *mut ffi::sqlite3_file, $($name: $type),*) $(-> $result)? {
            // SAFETY: SQLite passes an open file, and arguments for the system's.
            unsafe {
                let main = main_file(file);
                $(if main.$refused() {
                    return $missing;
                })?
                call!(main.below, $method($($name),*) or $missing)
            }
        }
    )*};
}

pass_on! {
    pass_read: xRead(bytes: *mut c_void, length: c_int, offset: i64) -> c_int, ffi::SQLITE_IOERR_READ, is_parents;
    write: xWrite(bytes: *const c_void, length: c_int, offset: i64) -> c_int, ffi::SQLITE_IOERR_WRITE, is_parents;
    truncate: xTruncate(size: i64) -> c_int, ffi::SQLITE_IOERR_TRUNCATE, is_parents;
    pass_sync: xSync(flags: c_int) -> c_int, ffi::SQLITE_IOERR_FSYNC, is_parents;
    size: xFileSize(out: *mut i64) -> c_int, ffi::SQLITE_IOERR_FSTAT, is_parents;
    lock: xLock(level: c_int) -> c_int, ffi::SQLITE_IOERR_LOCK, is_parents;
    pass_unlock: xUnlock(level: c_int) -> c_int, ffi::SQLITE_IOERR_UNLOCK;
    reserved: xCheckReservedLock(out: *mut c_int) -> c_int, ffi::SQLITE_IOERR_CHECKRESERVEDLOCK;
    pass_control: xFileControl(operation: c_int, argument: *mut c_void) -> c_int, ffi::SQLITE_NOTFOUND;
    sector_size: xSectorSize() -> c_int, 0;
    characteristics: xDeviceCharacteristics() -> c_int, 0;
    pass_map_index: xShmMap(region: c_int, size: c_int, extends: c_int, out: *mut *mut c_void) -> c_int, ffi::SQLITE_IOERR_SHMMAP, is_parents;
    pass_lock_index: xShmLock(offset: c_int, count: c_int, flags: c_int) -> c_int, ffi::SQLITE_IOERR_SHMLOCK, is_parents;
    barrier: xShmBarrier(), ();
    pass_unmap_index: xShmUnmap(deletes: c_int) -> c_int, ffi::SQLITE_OK;
    fetch: xFetch(offset: i64, length: c_int, out: *mut *mut c_void) -> c_int, none_mapped(out), is_parents;
    unfetch: xUnfetch(offset: i64, page: *mut c_void) -> c_int, ffi::SQLITE_OK;
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe { of_flush(pass_sync(file, flags)) }
}

/// # Safety
/// SQLite passes a place for the page.
unsafe fn none_mapped(out: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's promise. SQLite reads a page that is not mapped.
    unsafe { *out = ptr::null_mut() };
    ffi::SQLITE_OK
}

/// The methods of a file, in the three versions of the interface.
const EVERY: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 3,
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
    xShmMap: Some(map_index),
    xShmLock: Some(lock_index),
    xShmBarrier: Some(barrier),
    xShmUnmap: Some(unmap_index),
    xFetch: Some(fetch),
    xUnfetch: Some(unfetch),
};
static WHOLE: ffi::sqlite3_io_methods = EVERY;
static WITHOUT_MAPPING: ffi::sqlite3_io_methods =
    ffi::sqlite3_io_methods { iVersion: 2, xFetch: None, xUnfetch: None, ..EVERY };
static WITHOUT_INDEX: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 1,
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
    ..EVERY
};
