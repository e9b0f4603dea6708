//! A file of the shim: each call fails where it is told to, is passed on to the system's file, and is written down.

use super::{Call, Event, Shim};
use libsqlite3_sys as ffi;
use std::ffi::{c_int, c_void};

/// The shim's part of an open file; the system's lies behind it.
#[repr(C, align(8))]
pub struct File {
    base: ffi::sqlite3_file,
    shim: *const Shim,
    name: *mut String,
}

impl File {
    pub fn new(shim: &'static Shim, name: String) -> File {
        File {
            base: ffi::sqlite3_file { pMethods: &raw const METHODS },
            shim,
            name: Box::into_raw(Box::new(name)),
        }
    }
}

/// The system's file.
///
/// # Safety
/// The memory is that of a file of the shim.
pub unsafe fn real(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: the caller's promise: the shim's VFS asked for as much more.
    unsafe { file.cast::<u8>().add(size_of::<File>()).cast() }
}

/// What a call needs: the shim, the file's name, the system's file and its methods.
///
/// # Safety
/// The file is an open one of the shim.
unsafe fn parts<'f>(
    file: *mut ffi::sqlite3_file,
) -> (&'static Shim, &'f str, *mut ffi::sqlite3_file, &'f ffi::sqlite3_io_methods) {
    // SAFETY: `open` wrote the shim's part after the system's file was opened, and the shim is never freed.
    unsafe {
        let own = &*file.cast::<File>();
        let real = real(file);
        (&*own.shim, (*own.name).as_str(), real, &*(*real).pMethods)
    }
}

/// Whether this call is to fail.
///
/// # Safety
/// The file is an open one of the shim.
unsafe fn fails(file: *mut ffi::sqlite3_file, call: Call) -> bool {
    // SAFETY: the caller's promise.
    let (shim, name, ..) = unsafe { parts(file) };
    shim.fails(call, name).is_some()
}

/// Which of a file's bytes a call is about.
fn range(offset: i64, length: c_int) -> (usize, usize) {
    (
        usize::try_from(offset).expect("not before the file"),
        usize::try_from(length).expect("not less than none"),
    )
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once.
    unsafe {
        let (_, _, real, methods) = parts(file);
        let code = methods.xClose.expect("it closes")(real);
        drop(Box::from_raw((*file.cast::<File>()).name));
        code
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    length: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: SQLite passes that many bytes.
    unsafe {
        let (shim, name, real, methods) = parts(file);
        let write = methods.xWrite.expect("it writes");
        if let Some(full) = shim.fails(Call::Write, name) {
            write(real, from, length / 2, offset);
            return if full { ffi::SQLITE_FULL } else { ffi::SQLITE_IOERR_WRITE };
        }
        // The order of what is written down is the order in the file.
        let mut state = shim.state();
        let code = write(real, from, length, offset);
        if let (ffi::SQLITE_OK, Some(events)) = (code, &mut state.events) {
            let (offset, length) = range(offset, length);
            let bytes = std::slice::from_raw_parts(from.cast::<u8>(), length).to_vec();
            events.push(Event::Write { file: name.to_owned(), offset, bytes });
        }
        code
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    // SAFETY: as above.
    unsafe {
        let (shim, name, real, methods) = parts(file);
        if shim.fails(Call::Truncate, name).is_some() {
            return ffi::SQLITE_IOERR_TRUNCATE;
        }
        let mut state = shim.state();
        let code = methods.xTruncate.expect("it truncates")(real, size);
        if let (ffi::SQLITE_OK, Some(events)) = (code, &mut state.events) {
            events.push(Event::Truncate { file: name.to_owned(), size: range(size, 0).0 });
        }
        code
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: as above.
    unsafe {
        let (shim, name, real, methods) = parts(file);
        if let Some(full) = shim.fails(Call::Sync, name) {
            return if full { ffi::SQLITE_FULL } else { ffi::SQLITE_IOERR_FSYNC };
        }
        let covers = shim.state().events.as_ref().map_or(0, Vec::len);
        let code = if shim.syncs { methods.xSync.expect("it syncs")(real, flags) } else { ffi::SQLITE_OK };
        if code == ffi::SQLITE_OK {
            shim.note_sync(name, covers, flags & ffi::SQLITE_SYNC_FULL == ffi::SQLITE_SYNC_FULL);
        }
        code
    }
}

/// Methods that fail where they are told to, and else pass a call on to the system's file.
macro_rules! pass_on {
    ($($function:ident: $method:ident($($name:ident: $type:ty),*) $(-> $result:ty)? $(, $call:ident or $failure:ident)?;)*) => {$(
        unsafe extern "C" fn $function(file: *mut ffi::sqlite3_file, $($name: $type),*) $(-> $result)? {
            // SAFETY: SQLite passes an open file, and what the system's takes.
            unsafe {
                $(if fails(file, Call::$call) {
                    return ffi::$failure;
                })?
                let (_, _, real, methods) = parts(file);
                methods.$method.expect("the system's file has it")(real, $($name),*)
            }
        }
    )*};
}

pass_on! {
    read: xRead(to: *mut c_void, length: c_int, offset: i64) -> c_int, Read or SQLITE_IOERR_READ;
    size: xFileSize(out: *mut i64) -> c_int, Size or SQLITE_IOERR_FSTAT;
    lock: xLock(level: c_int) -> c_int, Lock or SQLITE_IOERR_LOCK;
    unlock: xUnlock(level: c_int) -> c_int;
    check_reserved_lock: xCheckReservedLock(out: *mut c_int) -> c_int;
    control: xFileControl(operation: c_int, argument: *mut c_void) -> c_int;
    sector_size: xSectorSize() -> c_int;
    characteristics: xDeviceCharacteristics() -> c_int;
    barrier: xShmBarrier();
    unmap_index: xShmUnmap(delete: c_int) -> c_int;
}

unsafe extern "C" fn map_index(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    bytes: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let (shim, name, real, methods) = parts(file);
        if shim.fails(Call::MapIndex, name).is_some() {
            *out = std::ptr::null_mut();
            return ffi::SQLITE_IOERR_SHMMAP;
        }
        methods.xShmMap.expect("it has an index")(real, region, bytes, extend, out)
    }
}

unsafe extern "C" fn lock_index(
    file: *mut ffi::sqlite3_file,
    offset: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let (shim, name, real, methods) = parts(file);
        // The system never refuses to unlock.
        if flags & ffi::SQLITE_SHM_LOCK != 0 && shim.fails(Call::LockIndex, name).is_some() {
            return ffi::SQLITE_IOERR_SHMLOCK;
        }
        methods.xShmLock.expect("it has an index")(real, offset, count, flags)
    }
}

/// The second version: without files mapped into memory, which would be read past the shim.
static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(characteristics),
    xShmMap: Some(map_index),
    xShmLock: Some(lock_index),
    xShmBarrier: Some(barrier),
    xShmUnmap: Some(unmap_index),
    xFetch: None,
    xUnfetch: None,
};
