//! A VFS between the engine and the system's, which gathers what is written to the log. SQLite writes a frame's header
//! and its page apart, and every page of a transaction by itself; here they reach the file together, at the latest with
//! the frame that commits, whose write tells of any failure. Until then nobody else may read them, and who wrote them gets
//! them written first when it reads. What a transaction gathered that is rolled back is forgotten: as soon as its lock is
//! gone, its place in the log is somebody else's. Every other file is the system's own.

use libsqlite3_sys as ffi;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::{LazyLock, Mutex, PoisonError};

/// What is gathered before it is written: with the largest page behind it, no more than SQLite's Unix VFS writes at once.
const GATHERED_BYTES_MAX: usize = 64 << 10;
/// The header of a frame in the log; in its second word, a frame that commits has the file's size.
const FRAME_HEADER_BYTES: usize = 24;

/// The VFSes made so far, by the name of the one below.
static MADE: LazyLock<Mutex<HashMap<CString, CString>>> = LazyLock::new(Mutex::default);

/// The VFS over another, which SQLite keeps for ever.
#[repr(C)]
struct LogVfs {
    vfs: ffi::sqlite3_vfs,
    below: *mut ffi::sqlite3_vfs,
}

/// The name of the VFS over the one of that name, made where there is none; none where there is no VFS below.
pub(crate) fn over(below: &CStr) -> Option<CString> {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(name) = made.get(below) {
        return Some(name.clone());
    }
    let mut name = b"touchstone-".to_vec();
    name.extend_from_slice(below.to_bytes());
    let name = CString::new(name).ok()?;
    // SAFETY: the VFS below is registered for ever, and the one over it is leaked, so that it stays where SQLite has it.
    unsafe {
        if ffi::sqlite3_initialize() != ffi::SQLITE_OK {
            return None;
        }
        let below = ffi::sqlite3_vfs_find(below.as_ptr());
        if below.is_null() {
            return None;
        }
        let mut vfs = *below;
        vfs.iVersion = vfs.iVersion.min(2);
        vfs.szOsFile += c_int::try_from(size_of::<Gathering>()).ok()?;
        vfs.pNext = ptr::null_mut();
        vfs.zName = name.clone().into_raw();
        forward(&mut vfs);
        let over = Box::into_raw(Box::new(LogVfs { vfs, below }));
        if ffi::sqlite3_vfs_register(over.cast(), 0) != ffi::SQLITE_OK {
            return None;
        }
    }
    made.insert(below.to_owned(), name.clone());
    Some(name)
}

/// Methods that pass a call on to the VFS below, where it has the method.
macro_rules! pass_on {
    ($($method:ident($($name:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(
            #[expect(non_snake_case, reason = "it is SQLite's name")]
            unsafe extern "C" fn $method(vfs: *mut ffi::sqlite3_vfs, $($name: $type),*) $(-> $result)? {
                // SAFETY: SQLite passes this module's VFS, and what the one below takes. The method is there, because
                // else this one were not either.
                unsafe {
                    let below = (*vfs.cast::<LogVfs>()).below;
                    ((*below).$method.unwrap_unchecked())(below, $($name),*)
                }
            }
        )*

        fn forward(vfs: &mut ffi::sqlite3_vfs) {
            vfs.xOpen = Some(open);
            $(vfs.$method = vfs.$method.and(Some($method));)*
        }
    };
}

pass_on! {
    xDelete(path: *const c_char, sync: c_int) -> c_int;
    xAccess(path: *const c_char, flags: c_int, out: *mut c_int) -> c_int;
    xFullPathname(path: *const c_char, size: c_int, out: *mut c_char) -> c_int;
    xDlOpen(path: *const c_char) -> *mut c_void;
    xDlError(size: c_int, out: *mut c_char);
    xDlClose(library: *mut c_void);
    xRandomness(size: c_int, out: *mut c_char) -> c_int;
    xSleep(microseconds: c_int) -> c_int;
    xCurrentTime(out: *mut f64) -> c_int;
    xGetLastError(size: c_int, out: *mut c_char) -> c_int;
    xCurrentTimeInt64(out: *mut ffi::sqlite3_int64) -> c_int;
}

/// The log as one connection has it open.
#[repr(C)]
struct Gathering {
    base: ffi::sqlite3_file,
    /// The system's file, which lies behind this structure.
    below: *mut ffi::sqlite3_file,
    /// What is not in the file yet.
    gathered: Vec<u8>,
    /// Where it belongs.
    start: i64,
    /// The end of all that was written: what is written before it is written again, and not gathered.
    end: i64,
    /// Whether the frame whose header came last commits.
    commits: bool,
}

impl Gathering {
    fn write_through(&self, bytes: &[u8], offset: i64) -> c_int {
        let Ok(length) = c_int::try_from(bytes.len()) else { return ffi::SQLITE_IOERR_WRITE };
        let file = self.below;
        // SAFETY: the system's file is open.
        unsafe {
            match (*file).pMethods.as_ref().and_then(|methods| methods.xWrite) {
                Some(write) => write(file, bytes.as_ptr().cast(), length, offset),
                None => ffi::SQLITE_IOERR_WRITE,
            }
        }
    }

    /// Writes what was gathered. What cannot be written is kept: where only a statement fails for it, the transaction
    /// goes on, and relies on the frames of the statements before.
    fn write_gathered(&mut self) -> c_int {
        if self.gathered.is_empty() {
            return ffi::SQLITE_OK;
        }
        let code = self.write_through(&self.gathered, self.start);
        if code == ffi::SQLITE_OK {
            self.gathered.clear();
        }
        code
    }

    /// Forgets what a transaction has gathered that is rolled back, and where it had written.
    fn forget(&mut self) {
        self.gathered.clear();
        self.end = 0;
    }

    fn write(&mut self, bytes: &[u8], offset: i64) -> c_int {
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
            // with no page after them to wait for.
            return self.write_through(bytes, offset);
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

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    path: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes this module's VFS, and memory for as large a file as it asks.
    unsafe {
        let below = (*vfs.cast::<LogVfs>()).below;
        let Some(open) = (*below).xOpen else { return ffi::SQLITE_CANTOPEN };
        if flags & ffi::SQLITE_OPEN_WAL == 0 {
            return open(below, path, file, flags, out);
        }
        let own = file.cast::<Gathering>();
        (*file).pMethods = ptr::null();
        let real = own.add(1).cast();
        let code = open(below, path, real, flags, out);
        if code == ffi::SQLITE_OK {
            let base = ffi::sqlite3_file { pMethods: &raw const METHODS };
            let gathering =
                Gathering { base, below: real, gathered: Vec::new(), start: 0, end: 0, commits: false };
            ptr::write(own, gathering);
        }
        code
    }
}

/// The log, as SQLite passes it.
///
/// # Safety
/// SQLite passes a file that `open` made, to one thread at a time.
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
        log(file).write(bytes, offset)
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once. What is still gathered belongs to no commit.
    unsafe {
        let below = log(file).below;
        let code = match (*below).pMethods.as_ref().and_then(|methods| methods.xClose) {
            Some(close) => close(below),
            None => ffi::SQLITE_OK,
        };
        ptr::drop_in_place(file.cast::<Gathering>());
        (*file).pMethods = ptr::null();
        code
    }
}

/// Methods that pass a call on to the system's file, after what was gathered is in it.
macro_rules! after_writing {
    ($($function:ident: $method:ident($($name:ident: $type:ty),*) or $failure:ident;)*) => {$(
        unsafe extern "C" fn $function(file: *mut ffi::sqlite3_file, $($name: $type),*) -> c_int {
            // SAFETY: SQLite passes a file that is open, and what the system's takes.
            unsafe {
                let log = log(file);
                let code = log.write_gathered();
                if code != ffi::SQLITE_OK {
                    return code;
                }
                let below = log.below;
                match (*below).pMethods.as_ref().and_then(|methods| methods.$method) {
                    Some(method) => method(below, $($name),*),
                    None => ffi::$failure,
                }
            }
        }
    )*};
}

after_writing! {
    read: xRead(bytes: *mut c_void, length: c_int, offset: ffi::sqlite3_int64) or SQLITE_IOERR_READ;
    truncate: xTruncate(size: ffi::sqlite3_int64) or SQLITE_IOERR_TRUNCATE;
    sync: xSync(flags: c_int) or SQLITE_IOERR_FSYNC;
    size: xFileSize(out: *mut ffi::sqlite3_int64) or SQLITE_IOERR_FSTAT;
    pass_control: xFileControl(operation: c_int, argument: *mut c_void) or SQLITE_NOTFOUND;
    lock: xLock(level: c_int) or SQLITE_OK;
    unlock: xUnlock(level: c_int) or SQLITE_OK;
    reserved: xCheckReservedLock(out: *mut c_int) or SQLITE_OK;
}

/// What a log is told when its connection's transaction is rolled back; SQLite leaves numbers above 100 to others.
const FORGET: c_int = 0x546f_7573;

unsafe extern "C" fn control(file: *mut ffi::sqlite3_file, operation: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    unsafe {
        if operation == FORGET {
            log(file).forget();
            return ffi::SQLITE_OK;
        }
        pass_control(file, operation, argument)
    }
}

/// Makes a connection's log forget what is rolled back. SQLite rolls back without a call of the log's methods, also by
/// itself where a statement fails.
///
/// # Safety
/// The connection is open.
pub(crate) unsafe fn forget_what_is_rolled_back(connection: *mut ffi::sqlite3) {
    // SAFETY: the connection is open as long as it calls.
    unsafe { ffi::sqlite3_rollback_hook(connection, Some(rolled_back), connection.cast()) };
}

unsafe extern "C" fn rolled_back(connection: *mut c_void) {
    let mut journal: *mut ffi::sqlite3_file = ptr::null_mut();
    // SAFETY: SQLite passes the connection, which is open; the call stores the pointer to its log, or to the journal of a
    // file that has none, which knows nothing of the order.
    unsafe {
        let connection = connection.cast();
        let (main, pointer) = (c"main".as_ptr(), ffi::SQLITE_FCNTL_JOURNAL_POINTER);
        ffi::sqlite3_file_control(connection, main, pointer, (&raw mut journal).cast());
        let methods = journal.as_ref().and_then(|file| file.pMethods.as_ref());
        if let Some(control) = methods.and_then(|methods| methods.xFileControl) {
            control(journal, FORGET, ptr::null_mut());
        }
    }
}

unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    unsafe {
        let below = log(file).below;
        (*below).pMethods.as_ref().and_then(|methods| methods.xSectorSize).map_or(0, |method| method(below))
    }
}

unsafe extern "C" fn characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    unsafe {
        let below = log(file).below;
        let method = (*below).pMethods.as_ref().and_then(|methods| methods.xDeviceCharacteristics);
        method.map_or(0, |method| method(below))
    }
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
