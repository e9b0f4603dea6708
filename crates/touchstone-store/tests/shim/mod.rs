//! A VFS between SQLite and the system's own that writes down what reaches which file and what is synced, and that
//! fails where it is told to. It changes nothing of what it passes on.

// Each test that shares this file uses another part of it.
#![allow(dead_code)]

pub mod disk;
mod methods;

use libsqlite3_sys as ffi;
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What happened, in its order.
#[derive(Clone, Debug)]
pub enum Event {
    Write {
        file: String,
        offset: usize,
        bytes: Vec<u8>,
    },
    Truncate {
        file: String,
        size: usize,
    },
    /// A sync has ended. It is sure only of events before the number at which it began.
    Sync {
        file: String,
        covers: usize,
    },
    Delete {
        file: String,
    },
    /// A writer is about to take a step.
    Begin {
        writer: u64,
        number: u64,
    },
    /// The store has told the writer that the step is done.
    Acknowledge {
        writer: u64,
        number: u64,
        durable: bool,
    },
}

/// A call that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Open,
    Delete,
    Access,
    Read,
    Write,
    Truncate,
    Sync,
    Size,
    Lock,
    MapIndex,
    LockIndex,
}

/// Which calls fail, and how.
#[derive(Clone, Debug)]
pub struct Fault {
    pub calls: &'static [Call],
    /// What the file's name ends with; empty for every file.
    pub file: &'static str,
    /// How many of those calls succeed first.
    pub after: u64,
    /// Whether every later one fails too, until [`Shim::heal`].
    pub lasting: bool,
    /// Whether a failing write or sync is for want of space; the write has written half. Other calls say what is theirs.
    pub full: bool,
}

#[derive(Default)]
struct State {
    events: Option<Vec<Event>>,
    /// Syncs since the last full one: each file, and the number of the event at which its sync began.
    in_the_disks_memory: Vec<(String, usize)>,
    fault: Option<Fault>,
    /// Calls that the fault is about.
    seen: u64,
    failed: u64,
}

/// The VFS. It is never unregistered: a store may still be closing its files.
#[repr(C)]
pub struct Shim {
    vfs: ffi::sqlite3_vfs,
    base: *mut ffi::sqlite3_vfs,
    name: CString,
    /// Whether a sync is passed on: what survives is not the disk's to say here.
    syncs: bool,
    state: Mutex<State>,
}

// SAFETY: SQLite uses a VFS from every thread; what changes here is behind the lock.
unsafe impl Send for Shim {}
// SAFETY: as above.
unsafe impl Sync for Shim {}

impl Shim {
    /// Registers a VFS of its own over SQLite's for the mode.
    pub fn register(exclusive: bool, syncs: bool) -> &'static Shim {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let base = if exclusive { c"unix-excl" } else { c"unix" };
        let name = format!("shim{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let name = CString::new(name).expect("there is no zero in it");
        // SAFETY: the base is registered for ever. The shim is leaked, so that it stays where SQLite finds it.
        unsafe {
            assert_eq!(ffi::sqlite3_initialize(), ffi::SQLITE_OK);
            let base = ffi::sqlite3_vfs_find(base.as_ptr());
            assert!(!base.is_null());
            let mut vfs = *base;
            let own = c_int::try_from(size_of::<methods::File>()).expect("it is small");
            vfs.szOsFile += own;
            vfs.pNext = std::ptr::null_mut();
            vfs.zName = name.as_ptr();
            vfs.xOpen = Some(open);
            vfs.xDelete = Some(delete);
            vfs.xAccess = Some(access);
            let shim = Box::leak(Box::new(Shim { vfs, base, name, syncs, state: Mutex::default() }));
            assert_eq!(ffi::sqlite3_vfs_register(&raw mut shim.vfs, 0), ffi::SQLITE_OK);
            shim
        }
    }

    /// What a store is opened with: the engine's own VFS for encryption, over this one, as it is over the system's.
    pub fn name(&self) -> String {
        format!("multipleciphers-{}", self.name.to_string_lossy())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to write down what happens.
    pub fn record(&self) {
        self.state().events = Some(Vec::new());
    }

    /// What has happened.
    pub fn take_events(&self) -> Vec<Event> {
        self.state().events.take().unwrap_or_default()
    }

    pub fn note(&self, event: Event) {
        if let Some(events) = &mut self.state().events {
            events.push(event);
        }
    }

    /// Notes a sync. On Apple's systems one that is not full ends in the disk's own memory, which a loss of power empties, and which the
    /// next full sync of any file writes out.
    fn note_sync(&self, file: &str, covers: usize, is_full: bool) {
        let mut state = self.state();
        state.in_the_disks_memory.push((file.to_owned(), covers));
        if !is_full {
            return;
        }
        let synced = std::mem::take(&mut state.in_the_disks_memory);
        if let Some(events) = &mut state.events {
            events.extend(synced.into_iter().map(|(file, covers)| Event::Sync { file, covers }));
        }
    }

    /// Fails from now on where the fault says.
    pub fn fail(&self, fault: Fault) {
        let mut state = self.state();
        (state.fault, state.seen, state.failed) = (Some(fault), 0, 0);
    }

    /// Fails no more; how many calls failed.
    pub fn heal(&self) -> u64 {
        let mut state = self.state();
        state.fault = None;
        state.failed
    }

    /// How many calls have failed.
    pub fn failures(&self) -> u64 {
        self.state().failed
    }

    /// Whether this call is to fail, and whether for want of space.
    fn fails(&self, call: Call, file: &str) -> Option<bool> {
        let mut state = self.state();
        let fault = state.fault.as_ref()?;
        if !fault.calls.contains(&call) || !file.ends_with(fault.file) {
            return None;
        }
        let (after, lasting, full) = (fault.after, fault.lasting, fault.full);
        state.seen += 1;
        let fails = state.seen == after + 1 || (lasting && state.seen > after);
        state.failed += u64::from(fails);
        fails.then_some(full)
    }
}

/// The file's name without its directory.
///
/// # Safety
/// The path is SQLite's, or null.
unsafe fn file_name(path: *const c_char) -> String {
    if path.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    let path = unsafe { CStr::from_ptr(path) }.to_string_lossy();
    Path::new(&*path).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    path: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes the shim's own VFS, and memory for as large a file as it asks; the system's part of it lies
    // behind the shim's.
    unsafe {
        let shim = &*vfs.cast::<Shim>();
        let name = file_name(path);
        (*file).pMethods = std::ptr::null();
        if shim.fails(Call::Open, &name).is_some() {
            return ffi::SQLITE_CANTOPEN;
        }
        let own = file.cast::<methods::File>();
        let code = (*shim.base).xOpen.expect("it opens")(shim.base, path, methods::real(file), flags, out);
        if code == ffi::SQLITE_OK {
            std::ptr::write(own, methods::File::new(shim, name));
        }
        code
    }
}

unsafe extern "C" fn delete(vfs: *mut ffi::sqlite3_vfs, path: *const c_char, sync: c_int) -> c_int {
    // SAFETY: SQLite passes the shim's own VFS.
    unsafe {
        let shim = &*vfs.cast::<Shim>();
        let name = file_name(path);
        if shim.fails(Call::Delete, &name).is_some() {
            return ffi::SQLITE_IOERR_DELETE;
        }
        let code = (*shim.base).xDelete.expect("it deletes")(shim.base, path, sync);
        if code == ffi::SQLITE_OK {
            shim.note(Event::Delete { file: name });
        }
        code
    }
}

unsafe extern "C" fn access(
    vfs: *mut ffi::sqlite3_vfs,
    path: *const c_char,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes the shim's own VFS.
    unsafe {
        let shim = &*vfs.cast::<Shim>();
        if shim.fails(Call::Access, &file_name(path)).is_some() {
            return ffi::SQLITE_IOERR_ACCESS;
        }
        (*shim.base).xAccess.expect("it looks")(shim.base, path, flags, out)
    }
}
