//! A VFS between the engine and the system's VFS. It gathers writes to the write-ahead log (WAL). SQLite writes a
//! frame's header and its page separately, and each page of a transaction by itself. Here they reach the file together,
//! at the latest with the frame that commits, whose write reports any failure. Until then no other connection may read
//! them; before the writing connection reads, they are written. A main file counts for its log how often its write lock
//! is released. Each other file is the system's own.

mod gathering;
mod main_file;
mod opened;

use super::fork;
use super::vfs_file::call;
use gathering::Gathering;
use libsqlite3_sys as ffi;
use main_file::MainFile;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::{LazyLock, Mutex, PoisonError};

#[cfg(test)]
mod tests;

/// The VFSes made so far, by the name of the VFS below.
static MADE: LazyLock<Mutex<HashMap<CString, MadeVfs>>> = LazyLock::new(Mutex::default);

/// A VFS of this module, by its name, and the one below it.
struct MadeVfs {
    name: CString,
    below: Below,
}

/// A VFS as SQLite knows it. It is only compared.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Below(*mut ffi::sqlite3_vfs);

// SAFETY: only the address is used.
unsafe impl Send for Below {}

/// The VFS over another one. SQLite keeps it until the process ends.
#[repr(C)]
struct LogVfs {
    vfs: ffi::sqlite3_vfs,
    below: *mut ffi::sqlite3_vfs,
}

/// Why there is no VFS over the named one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoVfs {
    Unknown,
    /// The name belongs to another VFS than when one was made over it.
    Replaced,
}

/// The name of the VFS over the named one, which the first call makes. A VFS that was unregistered since it was last
/// found may be gone from memory, and no new connection uses it.
pub(crate) fn over(below: &CStr) -> Result<CString, NoVfs> {
    let _alone = fork::alone();
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the name ends with a zero. SQLite is initialized, or initializes itself.
    let found = unsafe {
        if ffi::sqlite3_initialize() != ffi::SQLITE_OK {
            return Err(NoVfs::Unknown);
        }
        Below(ffi::sqlite3_vfs_find(below.as_ptr()))
    };
    if found.0.is_null() {
        return Err(NoVfs::Unknown);
    }
    if let Some(known) = made.get(below) {
        return if known.below == found { Ok(known.name.clone()) } else { Err(NoVfs::Replaced) };
    }
    // SAFETY: the VFS is registered.
    let name = unsafe { make(below, found.0) }.ok_or(NoVfs::Unknown)?;
    made.insert(below.to_owned(), MadeVfs { name: name.clone(), below: found });
    Ok(name)
}

/// Registers a VFS over another.
///
/// # Safety
/// `below` is registered under that name, and stays so as long as a connection uses it.
unsafe fn make(name: &CStr, below: *mut ffi::sqlite3_vfs) -> Option<CString> {
    let name = CString::new([b"touchstone-", name.to_bytes()].concat()).ok()?;
    let own = c_int::try_from(size_of::<Gathering>().max(size_of::<MainFile>())).ok()?;
    // SAFETY: the caller's promise; the new VFS is leaked, so it stays at the address that SQLite has.
    unsafe {
        let mut vfs = *below;
        vfs.iVersion = vfs.iVersion.min(2);
        vfs.szOsFile += own;
        vfs.pNext = ptr::null_mut();
        vfs.zName = name.clone().into_raw();
        forward(&mut vfs);
        let over = Box::into_raw(Box::new(LogVfs { vfs, below }));
        (ffi::sqlite3_vfs_register(over.cast(), 0) == ffi::SQLITE_OK).then_some(name)
    }
}

/// The code of a failed flush, in place of the one of the VFS below: a disk's quota, for one, may be exceeded only
/// then. Bytes that were written before such a flush may be lost, unlike those before a failed write.
fn of_flush(code: c_int) -> c_int {
    if code == ffi::SQLITE_OK { code } else { ffi::SQLITE_IOERR_FSYNC }
}

/// A symbol of a library, as SQLite passes it.
type Symbol = Option<unsafe extern "C" fn(*mut ffi::sqlite3_vfs, *mut c_void, *const c_char)>;

/// Methods that pass a call on to the VFS below, if that one has the method.
macro_rules! pass_on {
    ($($method:ident($($name:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(
            #[expect(non_snake_case, reason = "it is SQLite's name")]
            unsafe extern "C" fn $method(vfs: *mut ffi::sqlite3_vfs, $($name: $type),*) $(-> $result)? {
                // SAFETY: SQLite passes this module's VFS, and arguments for the one below. That one has the method:
                // otherwise this one would not have it either.
                unsafe {
                    let below = (*vfs.cast::<LogVfs>()).below;
                    ((*below).$method.unwrap_unchecked())(below, $($name),*)
                }
            }
        )*

        fn forward(vfs: &mut ffi::sqlite3_vfs) {
            vfs.xOpen = Some(open);
            vfs.xDelete = Some(delete);
            $(vfs.$method = vfs.$method.and(Some($method));)*
        }
    };
}

// Each takes the VFS that it belongs to, so none may be called with another. Version 2 ends with the last of these.
pass_on! {
    xAccess(path: *const c_char, flags: c_int, out: *mut c_int) -> c_int;
    xFullPathname(path: *const c_char, size: c_int, out: *mut c_char) -> c_int;
    xDlOpen(path: *const c_char) -> *mut c_void;
    xDlError(size: c_int, out: *mut c_char);
    xDlSym(library: *mut c_void, symbol: *const c_char) -> Symbol;
    xDlClose(library: *mut c_void);
    xRandomness(size: c_int, out: *mut c_char) -> c_int;
    xSleep(microseconds: c_int) -> c_int;
    xCurrentTime(out: *mut f64) -> c_int;
    xGetLastError(size: c_int, out: *mut c_char) -> c_int;
    xCurrentTimeInt64(out: *mut ffi::sqlite3_int64) -> c_int;
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    path: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes this module's VFS, and memory for a file of the size that it asks for: the module's file,
    // and the system's behind it. A log is opened while its main file is open.
    unsafe {
        let below = (*vfs.cast::<LogVfs>()).below;
        if flags & ffi::SQLITE_OPEN_WAL != 0 {
            let own = file.cast::<Gathering>();
            let made = |real| ptr::write(own, Gathering::new(real, path));
            open_behind(below, path, file, own.add(1).cast(), flags, out, made)
        } else if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
            let own = file.cast::<MainFile>();
            let made = |real| ptr::write(own, MainFile::new(real));
            open_behind(below, path, file, own.add(1).cast(), flags, out, made)
        } else {
            open_real(below, path, file, flags, out)
        }
    }
}

/// Refuses to delete a log that a connection of this process has open. SQLite would: it takes a main file that was cut
/// off for a new one. The last connection that closes a log has closed it before it deletes it.
unsafe extern "C" fn delete(vfs: *mut ffi::sqlite3_vfs, path: *const c_char, sync: c_int) -> c_int {
    // SAFETY: SQLite passes this module's VFS, and a name that ends with a zero.
    unsafe {
        if opened::is_open(CStr::from_ptr(path)) {
            return ffi::SQLITE_CORRUPT;
        }
        let below = (*vfs.cast::<LogVfs>()).below;
        (*below).xDelete.map_or(ffi::SQLITE_IOERR_DELETE, |delete| delete(below, path, sync))
    }
}

/// Opens the system's file behind one of this module's, and then makes the module's.
///
/// # Safety
/// As for `open`; `real` lies within the file's memory.
unsafe fn open_behind(
    below: *mut ffi::sqlite3_vfs,
    path: *const c_char,
    file: *mut ffi::sqlite3_file,
    real: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
    make: impl FnOnce(*mut ffi::sqlite3_file),
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        (*file).pMethods = ptr::null();
        (*real).pMethods = ptr::null();
        let code = open_real(below, path, real, flags, out);
        if code == ffi::SQLITE_OK {
            make(real);
        } else {
            // A file that could not be opened, but has methods, must be closed, as SQLite's manual says.
            call!(real, xClose() or ffi::SQLITE_OK);
        }
        code
    }
}

/// Closes a file of this module, and the system's behind it.
///
/// # Safety
/// The file is an open one of this type, and `real` is the system's file behind it.
unsafe fn close_behind<F>(file: *mut ffi::sqlite3_file, real: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let code = call!(real, xClose() or ffi::SQLITE_OK);
        ptr::drop_in_place(file.cast::<F>());
        (*file).pMethods = ptr::null();
        code
    }
}

/// # Safety
/// As for `open`.
unsafe fn open_real(
    below: *mut ffi::sqlite3_vfs,
    path: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { (*below).xOpen.map_or(ffi::SQLITE_CANTOPEN, |open| open(below, path, file, flags, out)) }
}
