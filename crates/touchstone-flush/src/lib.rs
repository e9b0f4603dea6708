//! `fsync` and `fdatasync` that take as long as `TOUCHSTONE_FLUSH_US` says, in microseconds, and keep nothing: the disk is not asked.
//!
//! The lab loads it before a service's own libraries (`LD_PRELOAD`), so that what a commit costs can be shown over what a flush costs,
//! on any disk. What a service under it promises about power cuts does not hold.
//!
//! These two calls of libc's are all that it takes the place of. What flushes in another way is as slow as the disk: a program that calls
//! the kernel itself (Go's runtime, a static binary), `syncfs`, `msync`, `sync_file_range`, files opened with `O_SYNC` or `O_DSYNC`, and
//! io_uring.
//!
//! Both calls may stand in a signal's handler, as the system's may: the length is read when the library is loaded, and nothing here asks
//! for memory or a lock.

use libc::{CLOCK_MONOTONIC, EBADF, EINTR, F_GETFD, c_int, timespec};
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A sleep is this much shorter than asked for, and the rest is spun: the system wakes a sleeper some 50 µs late.
const SPUN: Duration = Duration::from_micros(100);

/// In the place of the system's.
///
/// # Safety
/// Any number may be given; what is no open file is refused, as the system does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsync(file: c_int) -> c_int {
    flush(file)
}

/// In the place of the system's.
///
/// # Safety
/// Any number may be given; what is no open file is refused, as the system does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdatasync(file: c_int) -> c_int {
    flush(file)
}

fn flush(file: c_int) -> c_int {
    // SAFETY: asks about a number and touches no memory.
    if unsafe { libc::fcntl(file, F_GETFD) } == -1 {
        // SAFETY: the place is this thread's own.
        unsafe { *libc::__errno_location() = EBADF };
        return -1;
    }
    let length = Duration::from_micros(LENGTH_US.load(Ordering::Relaxed));
    if !length.is_zero() {
        wait_until(now() + length);
    }
    0
}

/// How long a flush takes.
static LENGTH_US: AtomicU64 = AtomicU64::new(0);

/// The dynamic linker calls what stands here, before the program's own first line.
#[used]
#[unsafe(link_section = ".init_array")]
static WHEN_LOADED: extern "C" fn() = read_length;

extern "C" fn read_length() {
    // SAFETY: the name ends with a nought, and no other thread is there yet that could change the environment.
    let said = unsafe { libc::getenv(c"TOUCHSTONE_FLUSH_US".as_ptr()) };
    if said.is_null() {
        return;
    }
    // SAFETY: the environment's texts end with a nought.
    let said = unsafe { CStr::from_ptr(said) };
    let length_us = said.to_str().ok().and_then(|us| us.parse().ok()).unwrap_or(0);
    LENGTH_US.store(length_us, Ordering::Relaxed);
}

fn wait_until(end: Duration) {
    if let Some(wakes) = end.checked_sub(SPUN) {
        let wakes = timespec { tv_sec: wakes.as_secs() as _, tv_nsec: wakes.subsec_nanos().into() };
        // SAFETY: reads the time it is given; where the rest would be written it is told nowhere.
        while unsafe {
            libc::clock_nanosleep(CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &wakes, std::ptr::null_mut())
        } == EINTR
        {}
    }
    while now() < end {
        std::hint::spin_loop();
    }
}

fn now() -> Duration {
    let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time into its argument.
    unsafe { libc::clock_gettime(CLOCK_MONOTONIC, &mut now) };
    Duration::new(now.tv_sec.cast_unsigned(), now.tv_nsec.cast_unsigned() as u32)
}
