//! The main file of a database as one connection has it open: the system's file, and a count of how often the connection
//! has given its lock to write back. The log beside the file asks for the count, so it needs no hook of the connection,
//! which a program may replace, and no name of a schema: a file that a program attaches has its own. Pages that were cut off are
//! told as damage.
//!
//! The child of a fork has its parent's file open without its locks. A call of SQLite that the fork came within may go on there: it
//! reads and writes nothing, and locks nothing of the index, which is shared.

use super::{close_behind, of_flush};
use crate::engine::fork::Origin;
use crate::engine::vfs_file::call;
use libsqlite3_sys as ffi;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The place of the lock to write among those of the log's index, which is fixed by the index's format.
const WRITE_LOCK: c_int = 0;
/// How the lock is given back.
const RELEASE: c_int = ffi::SQLITE_SHM_UNLOCK | ffi::SQLITE_SHM_EXCLUSIVE;

/// The size of the smallest page.
const PAGE_BYTES_MIN: i64 = 512;

/// An order that asks a main file for its count; SQLite leaves numbers above 100 to others.
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
    /// The process that has opened it.
    origin: Origin,
}

impl MainFile {
    /// # Safety
    /// `below` is open.
    pub(super) unsafe fn new(below: *mut ffi::sqlite3_file) -> MainFile {
        // SAFETY: the caller's promise. A file that is open has methods, which are there as long as it is open.
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
    /// Whether it is the copy that a child has of its parent's file.
    fn is_parents(&self) -> bool {
        !self.origin.is_here()
    }
}

/// The count of the main file beside the log of that path; none where the main file is not one of this module's.
///
/// # Safety
/// The path is null, or what SQLite opens a log by while the main file is open.
pub(super) unsafe fn releases_beside(path: *const c_char) -> Option<Arc<AtomicU64>> {
    let mut count: Option<Arc<AtomicU64>> = None;
    if path.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; the file that is found stays where it is for the call. Who knows the order is this
    // module, which writes a count; whoever else has it passes it on, or refuses it.
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
    // SAFETY: SQLite passes a file that is open; with this order, `releases_beside` passes a place for the count.
    unsafe {
        if operation == COUNT {
            *argument.cast::<Option<Arc<AtomicU64>>>() = Some(Arc::clone(&main_file(file).releases));
            return ffi::SQLITE_OK;
        }
        pass_control(file, operation, argument)
    }
}

/// SQLite takes what lies behind the end of the file for zeros, for a page may have been given up before it was ever written. With a
/// log every page is written: it is in the log, or in the file, or was cut off. A new file's first page is neither.
unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    bytes: *mut c_void,
    length: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: SQLite passes a file that is open, and what the system's takes.
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
    // SAFETY: SQLite passes a file that is open, and what the system's takes.
    unsafe {
        let code = pass_map_index(file, region, size, extends, out);
        main_file(file).is_logged.fetch_or(code == ffi::SQLITE_OK, Ordering::Relaxed);
        code
    }
}

unsafe extern "C" fn unmap_index(file: *mut ffi::sqlite3_file, deletes: c_int) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    unsafe {
        main_file(file).is_logged.store(false, Ordering::Relaxed);
        pass_unmap_index(file, deletes)
    }
}

/// Where a lock is given back is counted before it is: from then on others may write.
unsafe extern "C" fn lock_index(
    file: *mut ffi::sqlite3_file,
    offset: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    unsafe {
        if offset == WRITE_LOCK && flags == RELEASE {
            main_file(file).releases.fetch_add(1, Ordering::Relaxed);
        }
        pass_lock_index(file, offset, count, flags)
    }
}

/// A connection that holds the whole file, after `pragma locking_mode = exclusive`, gives no lock of the index back. It
/// ends its hold on the file here, when its transaction is over.
unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    unsafe {
        main_file(file).releases.fetch_add(1, Ordering::Relaxed);
        pass_unlock(file, level)
    }
}

/// Methods that pass a call on to the system's file; what it has not, fails. So does what is refused, in a child of the process
/// that has opened the file.
macro_rules! pass_on {
    ($($function:ident: $method:ident($($name:ident: $type:ty),*) $(-> $result:ty)? , $missing:expr $(, $refused:ident)?;)*) => {$(
        unsafe extern "C" fn $function(file: *mut ffi::sqlite3_file, $($name: $type),*) $(-> $result)? {
            // SAFETY: SQLite passes a file that is open, and what the system's takes.
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
    // SAFETY: SQLite passes a file that is open.
    unsafe { of_flush(pass_sync(file, flags)) }
}

/// # Safety
/// SQLite passes a place for the page.
unsafe fn none_mapped(out: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's promise. Without a page, SQLite reads it.
    unsafe { *out = ptr::null_mut() };
    ffi::SQLITE_OK
}

/// The methods of a file, in the three versions that there are.
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
