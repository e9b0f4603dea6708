//! Forks: a process uses only stores that it opened. A forked child has a copy of the memory, but neither threads nor
//! locks. So it must not touch its parent's files, not even to close them: that would copy and remove the log. It uses
//! state of the whole process like its parent: no thread is in the middle of a change to it while a process forks.

use crate::types::error::{Error, ErrorKind, Result};
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

unsafe extern "C" {
    fn touchstone_watch_forks(before: unsafe extern "C" fn(), after: unsafe extern "C" fn(c_int));
}

/// The number of forks between this process and the one that first opened a store. It is counted in memory, because
/// `getpid` would be a system call for each read.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process that opened something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Origin(u32);

impl Default for Origin {
    fn default() -> Origin {
        Origin::here()
    }
}

impl Origin {
    /// This process.
    #[inline]
    pub(crate) fn here() -> Origin {
        static WATCH: Once = Once::new();
        // SAFETY: it is called once; the registered functions lock, unlock and count.
        WATCH.call_once(|| unsafe { touchstone_watch_forks(before, after) });
        Origin(FORKS.load(Ordering::Relaxed))
    }

    /// Whether it is this process.
    #[inline]
    pub(crate) fn is_here(self) -> bool {
        FORKS.load(Ordering::Relaxed) == self.0
    }

    /// # Errors
    /// [`Forked`](ErrorKind::Forked) in a child of that process.
    #[inline]
    pub(crate) fn check(self) -> Result<()> {
        if self.is_here() { Ok(()) } else { Err(forked()) }
    }
}

/// Held by each thread that uses state of the whole process: the lists of open files, logs and VFSes.
static WHOLE: Mutex<()> = Mutex::new(());

/// Keeps forks, and all other threads, from the state of the whole process until the guard is dropped.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    // From here on forks are counted.
    Origin::here();
    WHOLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The guard of the lock, while its process forks.
struct ForkGuard(UnsafeCell<Option<MutexGuard<'static, ()>>>);

// SAFETY: only the thread that has the lock accesses it.
unsafe impl Sync for ForkGuard {}

static HELD: ForkGuard = ForkGuard(UnsafeCell::new(None));

/// Called before a fork, by the thread that forks.
unsafe extern "C" fn before() {
    let guard = alone();
    // SAFETY: this thread has the lock.
    unsafe { *HELD.0.get() = Some(guard) };
}

/// Called after the fork by the same thread, and by that thread's copy in the child, before any other of its code.
unsafe extern "C" fn after(is_child: c_int) {
    if is_child != 0 {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: this thread has the lock until the guard is dropped, after it was taken out of its place.
    drop(unsafe { (*HELD.0.get()).take() });
}

#[cold]
fn forked() -> Error {
    let why =
        "the store was opened by the process that this one was forked from (open it here, after the fork)";
    Error::new(ErrorKind::Forked, why)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use libsqlite3_sys as ffi;
    use std::sync::atomic::AtomicBool;

    unsafe extern "C" {
        fn fork() -> c_int;
        fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
        fn _exit(code: c_int) -> !;
    }

    /// Forks while another thread is in a critical section for some time; whether the child finds the section free.
    fn child_is_free(middle_of: impl FnOnce(&dyn Fn()) + Send, is_free: impl FnOnce() -> bool) -> bool {
        let (has_begun, has_forked) = (&AtomicBool::new(false), &AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(move || {
                middle_of(&|| {
                    has_begun.store(true, Ordering::SeqCst);
                    // The fork must wait for this thread, so the forking thread cannot report that it has forked.
                    for _ in 0..1000 {
                        if !has_forked.load(Ordering::SeqCst) {
                            std::thread::yield_now();
                        }
                    }
                });
            });
            while !has_begun.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            // SAFETY: the child only tries a lock, and ends without the state of other threads.
            let child = unsafe {
                match fork() {
                    0 => _exit(c_int::from(!is_free())),
                    child => child,
                }
            };
            has_forked.store(true, Ordering::SeqCst);
            let mut status = -1;
            // SAFETY: it is this process's child.
            assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
            status == 0
        })
    }

    /// Regression: a thread of the parent held the lock, and the child waited forever to open a store of its own.
    #[test]
    fn a_child_finds_no_lock_of_the_process_taken() {
        const MUTEXES: [c_int; 4] = [
            ffi::SQLITE_MUTEX_STATIC_MAIN,
            ffi::SQLITE_MUTEX_STATIC_PRNG,
            ffi::SQLITE_MUTEX_STATIC_PMEM,
            ffi::SQLITE_MUTEX_STATIC_VFS1,
        ];
        Origin::here();
        for mutex in MUTEXES {
            // SAFETY: these mutexes always exist; the thread that has entered one leaves it.
            let middle_of = |wait: &dyn Fn()| unsafe {
                ffi::sqlite3_mutex_enter(ffi::sqlite3_mutex_alloc(mutex));
                wait();
                ffi::sqlite3_mutex_leave(ffi::sqlite3_mutex_alloc(mutex));
            };
            // SAFETY: as above.
            let is_free =
                || unsafe { ffi::sqlite3_mutex_try(ffi::sqlite3_mutex_alloc(mutex)) == ffi::SQLITE_OK };
            assert!(child_is_free(middle_of, is_free), "mutex {mutex}");
        }
        let middle_of = |wait: &dyn Fn()| {
            let _alone = alone();
            wait();
        };
        assert!(child_is_free(middle_of, || WHOLE.try_lock().is_ok()));
    }
}
