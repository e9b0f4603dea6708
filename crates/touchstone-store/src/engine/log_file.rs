//! The write-ahead log (WAL) as a file of its own, opened through SQLite's VFS without a connection. So a thread can
//! flush it while another thread uses the connection. SQLite's `xSync` writes to fields of its file object: the file
//! object of the writer's connection is not for other threads, but one that is only flushed is.

use super::vfs_file::call;
use crate::types::error::{Error, Result};
use libsqlite3_sys as ffi;
use std::ffi::{CStr, c_int};
use std::ptr;

/// The log, open for flushes.
pub(crate) struct LogFile(Box<[u64]>);

impl LogFile {
    /// Opens the log of a connection's file, which exists. If the system fails to write from now on, the next flush of
    /// this file reports it, even if a flush of another file has reported it too.
    ///
    /// # Safety
    /// The connection is open, no other thread uses it, and it is closed after this file.
    pub(crate) unsafe fn open(connection: *mut ffi::sqlite3) -> Result<LogFile> {
        let mut vfs: *mut ffi::sqlite3_vfs = ptr::null_mut();
        let main = c"main".as_ptr();
        // SAFETY: the connection is open; the call stores the VFS's pointer, and VFSes stay registered. The name of the
        // log lies behind the file's, which the connection keeps. The memory for the file is as large as the VFS asks,
        // and as aligned as SQLite's own.
        unsafe {
            let code = ffi::sqlite3_file_control(
                connection,
                main,
                ffi::SQLITE_FCNTL_VFS_POINTER,
                (&raw mut vfs).cast(),
            );
            let name = ffi::sqlite3_db_filename(connection, main);
            if code != ffi::SQLITE_OK || vfs.is_null() || name.is_null() || *name == 0 {
                return Err(failed(ffi::SQLITE_CANTOPEN, "opening"));
            }
            let open = (*vfs).xOpen.ok_or_else(|| failed(ffi::SQLITE_CANTOPEN, "opening"))?;
            let size = usize::try_from((*vfs).szOsFile).unwrap_or(0);
            let mut file = LogFile(vec![0; size.div_ceil(size_of::<u64>())].into());
            let flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_WAL;
            match open(vfs, ffi::sqlite3_filename_wal(name), file.raw(), flags, ptr::null_mut()) {
                ffi::SQLITE_OK => Ok(file),
                code => Err(failed(code, "opening")),
            }
        }
    }

    /// Returns when everything that was written to the log is on the disk.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let flags = ffi::SQLITE_SYNC_FULL | ffi::SQLITE_SYNC_DATAONLY;
        let file = self.raw();
        // SAFETY: the file is open.
        let code = unsafe { call!(file, xSync(flags) or ffi::SQLITE_IOERR_FSYNC) };
        if code == ffi::SQLITE_OK { Ok(()) } else { Err(failed(code, "flushing")) }
    }

    fn raw(&mut self) -> *mut ffi::sqlite3_file {
        self.0.as_mut_ptr().cast()
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        // SAFETY: a file that could not be opened has no methods, or methods to close it with, as SQLite's manual says.
        unsafe { call!(self.raw(), xClose() or ffi::SQLITE_OK) };
    }
}

#[cold]
fn failed(code: c_int, doing: &str) -> Error {
    // SAFETY: the text for a code is a constant of SQLite's.
    let words = unsafe { CStr::from_ptr(ffi::sqlite3_errstr(code)) };
    Error::sqlite(code, format_args!("{doing} the log: {}", words.to_string_lossy()))
}
