//! The log as a file of its own, opened through SQLite's VFS without a connection: whoever flushes it needs no
//! connection that another thread may be using. SQLite's `xSync` writes to its file's own fields, so the file of the
//! writer's connection is not for another thread; a file that only flushes is.

use crate::error::{Error, Result};
use libsqlite3_sys as ffi;
use std::ffi::{CStr, c_char, c_int};
use std::ptr;

/// Where the log is, and what opens it.
#[derive(Clone, Copy)]
pub(crate) struct LogName {
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
}

// SAFETY: a VFS may be used by any thread, and the name is only read.
unsafe impl Send for LogName {}
// SAFETY: as above.
unsafe impl Sync for LogName {}

/// The log, open to be flushed.
pub(crate) struct LogFile(Box<[u64]>);

impl LogName {
    /// The log of a connection's file.
    ///
    /// # Safety
    /// The connection is open, and is closed after the last use of the name and of files opened with it.
    pub(crate) unsafe fn of(connection: *mut ffi::sqlite3) -> Option<LogName> {
        let mut vfs: *mut ffi::sqlite3_vfs = ptr::null_mut();
        // SAFETY: the connection is open; the call stores the VFS's pointer. The name of the log lies behind the file's,
        // which the connection keeps.
        let name = unsafe {
            let main = c"main".as_ptr();
            let code = ffi::sqlite3_file_control(
                connection,
                main,
                ffi::SQLITE_FCNTL_VFS_POINTER,
                (&raw mut vfs).cast(),
            );
            let file = ffi::sqlite3_db_filename(connection, main);
            if code != ffi::SQLITE_OK || file.is_null() || *file == 0 {
                return None;
            }
            ffi::sqlite3_filename_wal(file)
        };
        (!vfs.is_null() && !name.is_null()).then_some(LogName { vfs, name })
    }

    /// Opens the log, which is there.
    pub(crate) fn open(self) -> Result<LogFile> {
        // SAFETY: VFSes stay registered, and the name lasts as `of` was promised. The file's memory is as large as the
        // VFS asks, and as aligned as SQLite's own; an open file has methods.
        unsafe {
            let open = (*self.vfs).xOpen.ok_or_else(|| failed(ffi::SQLITE_CANTOPEN, "opening"))?;
            let size = usize::try_from((*self.vfs).szOsFile).unwrap_or(0);
            let mut file = LogFile(vec![0; size.div_ceil(size_of::<u64>())].into());
            let flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_WAL;
            match open(self.vfs, self.name, file.raw(), flags, ptr::null_mut()) {
                ffi::SQLITE_OK => Ok(file),
                code => Err(failed(code, "opening")),
            }
        }
    }
}

impl LogFile {
    /// Returns when what was written to the log is on the disk.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let flags = ffi::SQLITE_SYNC_FULL | ffi::SQLITE_SYNC_DATAONLY;
        let file = self.raw();
        // SAFETY: the file is open.
        let code = unsafe {
            match (*file).pMethods.as_ref().and_then(|methods| methods.xSync) {
                Some(sync) => sync(file, flags),
                None => ffi::SQLITE_IOERR_FSYNC,
            }
        };
        if code == ffi::SQLITE_OK { Ok(()) } else { Err(failed(code, "flushing")) }
    }

    fn raw(&mut self) -> *mut ffi::sqlite3_file {
        self.0.as_mut_ptr().cast()
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        let file = self.raw();
        // SAFETY: a file that could not be opened has no methods, or methods to be closed with, as SQLite's manual says.
        unsafe {
            if let Some(close) = (*file).pMethods.as_ref().and_then(|methods| methods.xClose) {
                close(file);
            }
        }
    }
}

#[cold]
fn failed(code: c_int, doing: &str) -> Error {
    // SAFETY: the words for a code are SQLite's own, and stay.
    let words = unsafe { CStr::from_ptr(ffi::sqlite3_errstr(code)) };
    Error::sqlite(code, format_args!("{doing} the log: {}", words.to_string_lossy()))
}
