//! The state of the log, as its index in shared memory tells it: 48 bytes that every commit changes, whoever commits.
//! Two equal states mean that nothing was committed in between, which needs no lock and no system call to know.
//! See "WAL-Index Format" in SQLite's documentation of the WAL file format.

use super::connection::Connection;
use super::pin::Pin;
use libsqlite3_sys as ffi;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

/// The words of one copy of the header.
const WORDS: usize = 6;
/// Where the header has the word that counts commits, in 32-bit words.
const CHANGE: usize = 2;

// The index has four bytes that its format leaves free, and SQLite neither reads nor writes: 132 to 135. Stores give each
// other hints there, on which nobody relies: a lost one costs a wait of some milliseconds. Byte 133 is 0.
/// Not 0 where somebody waits for the lock.
const ASKS_BYTE: usize = 132;
/// Sixteen bits in the processor's order, one for each process that waits for commits: see `bell.rs`.
const WATCHES_BYTE: usize = 134;

/// Where the index has the number of frames that are copied into the file, in 32-bit words; and of those that somebody has begun
/// to copy.
const COPIED: usize = 24;
const BEGUN: usize = 32;

/// The size of a region of the index, fixed by its format.
const REGION_BYTES: c_int = 32_768;

unsafe extern "C" {
    fn touchstone_log_header(connection: *mut ffi::sqlite3, header: *mut u64) -> c_int;
    fn touchstone_count_commit_as(connection: *mut ffi::sqlite3, count: c_uint) -> c_int;
}

/// The size of the smallest page.
const PAGE_BYTES_MIN: u64 = 512;

/// Where the log is: its length, the file's size, the checksum over all of its frames, and its salts.
pub(crate) type LogPlace = [u64; 3];

/// The state of the log at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogState([u64; WORDS]);

impl LogState {
    /// What the log is to a connection: after its commit, what that has left, whoever else has committed since.
    pub(crate) fn of(connection: &Connection) -> Option<LogState> {
        let mut words = [0; WORDS];
        // SAFETY: the connection is open, and as much is written as the header has.
        let code = unsafe { touchstone_log_header(connection.handle(), words.as_mut_ptr()) };
        (code == ffi::SQLITE_OK).then_some(LogState(words))
    }

    /// Where the log is.
    pub(crate) fn place(self) -> LogPlace {
        [self.0[2], self.0[3], self.0[4]]
    }

    /// How many bytes of pages the log has.
    pub(crate) fn log_bytes(self) -> u64 {
        u64::from(self.frames()) * self.page_bytes()
    }

    /// How many bytes the log's file has at least.
    pub(super) fn log_file_bytes(self) -> u64 {
        self.log_file_bytes_of(self.frames())
    }

    /// How many bytes the log's file has up to the end of a frame: its header, and each frame with its own.
    pub(crate) fn log_file_bytes_of(self, frames: u32) -> u64 {
        const HEADER: u64 = 32;
        const FRAME_HEADER: u64 = 24;
        if frames == 0 { 0 } else { HEADER + u64::from(frames) * (FRAME_HEADER + self.page_bytes()) }
    }

    /// How many it had at that place; none where it has begun anew since.
    pub(crate) fn log_bytes_at(self, place: LogPlace) -> u64 {
        let [words, _, salts] = place;
        if salts == self.place()[2] { u64::from(half(words, 0)) * self.page_bytes() } else { 0 }
    }

    /// How many bytes the file has, with what of it is in the log.
    pub(crate) fn file_bytes(self) -> u64 {
        u64::from(self.word(5)) * self.page_bytes()
    }

    /// The size of a page: the upper half of the fourth word, whose lowest bit stands for 64 KiB.
    fn page_bytes(self) -> u64 {
        let bytes = self.word(3).to_ne_bytes();
        let size = u64::from(u16::from_ne_bytes([bytes[2], bytes[3]]));
        (size & 0xfe00) + ((size & 1) << 16)
    }

    /// Whether nothing was committed between the two. The count alone does not tell: it begins anew where the index is
    /// made anew after a process has died. The checksum over all that was written does; it stays where the log begins
    /// anew, until something is written.
    pub(crate) fn is_same_commit(self, other: LogState) -> bool {
        self.change() == other.change() && self.is_at(other.place())
    }

    /// Whether that was written to the log, and no more.
    pub(crate) fn is_at(self, place: LogPlace) -> bool {
        self.place()[1] == place[1]
    }

    /// Counts commits, of whichever process, and wraps: the third 32-bit word of the header.
    pub(crate) fn change(self) -> u32 {
        self.word(CHANGE)
    }

    /// The frames of the log that are committed: the fifth 32-bit word.
    pub(crate) fn frames(self) -> u32 {
        self.word(4)
    }

    /// A 32-bit word of the header, which is as the processor has it.
    fn word(self, at: usize) -> u32 {
        half(self.0[at / 2], at % 2)
    }
}

fn half(word: u64, at: usize) -> u32 {
    let bytes = word.to_ne_bytes();
    let (halves, _) = bytes.as_chunks::<4>();
    u32::from_ne_bytes(halves[at])
}

/// How much of a log is copied into the file, which nothing else changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copied {
    salts: u64,
    frames: u32,
}

/// Lets the transaction under way, when it is committed, count as that commit; whether it does.
pub(crate) fn count_commit_as(connection: &Connection, count: u32) -> bool {
    // SAFETY: the connection is open.
    unsafe { touchstone_count_commit_as(connection.handle(), count) == ffi::SQLITE_OK }
}

/// Where the header lies in memory, as long as a connection of this process keeps the index open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region(NonNull<AtomicU64>);

// SAFETY: the memory is shared between processes already, and is read and written by atomic operations only.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// The index of a connection that has read from a file with a log; none where there is no index.
    pub(super) fn of(connection: &mut Connection) -> Option<Region> {
        let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
        // SAFETY: the connection is open; the call stores the main file's pointer.
        let code = unsafe {
            ffi::sqlite3_file_control(
                connection.handle(),
                c"main".as_ptr(),
                ffi::SQLITE_FCNTL_FILE_POINTER,
                (&raw mut file).cast(),
            )
        };
        if code != ffi::SQLITE_OK || file.is_null() {
            return None;
        }
        let mut region: *mut c_void = ptr::null_mut();
        // SAFETY: the file is open; without the order to extend, the call only tells where the region is.
        let code = unsafe {
            let methods = (*file).pMethods.as_ref()?;
            methods.xShmMap?(file, 0, REGION_BYTES, 0, (&raw mut region).cast())
        };
        if code != ffi::SQLITE_OK {
            return None;
        }
        // The region is a page of memory or of the heap, so its words are aligned.
        NonNull::new(region.cast()).map(Region)
    }

    /// What the log is now; none while a commit is under way, or where there is none.
    ///
    /// The index is mapped for as long as a connection of this process has the file open, as the caller's has.
    #[inline]
    pub(super) fn state(self) -> Option<LogState> {
        // A writer changes the second copy first and this one last, so they are read the other way round.
        let first = self.copy(0);
        fence(Ordering::SeqCst);
        let second = self.copy(WORDS);
        (first == second && first[0] != 0).then_some(LogState(first))
    }

    #[inline]
    fn copy(self, from: usize) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        for (at, word) in words.iter_mut().enumerate() {
            // SAFETY: both copies lie at the beginning of the region, which is mapped and aligned.
            *word = unsafe { self.0.add(from + at).as_ref() }.load(Ordering::Relaxed);
        }
        words
    }

    /// How many bytes the file had at least when its index was in that state. All of a log is copied only when the file has the
    /// size that the log's last commit gave it. Without a commit since the index was made, a file has its first page.
    pub(super) fn file_bytes_min(self, state: LogState) -> u64 {
        let copied = self.word(COPIED);
        if copied == state.frames() { state.file_bytes().max(PAGE_BYTES_MIN) } else { PAGE_BYTES_MIN }
    }

    /// How much of the log is copied; none while it is being copied, and where that has failed.
    pub(super) fn copied(self) -> Option<Copied> {
        let [_, _, salts] = self.state()?.place();
        let frames = self.word(COPIED);
        (self.word(BEGUN) == frames).then_some(Copied { salts, frames })
    }

    /// A 32-bit word of the index, behind its headers.
    fn word(self, at: usize) -> u32 {
        self.place(at).load(Ordering::Acquire)
    }

    fn place(&self, at: usize) -> &AtomicU32 {
        // SAFETY: the word lies within the region, which is mapped and aligned.
        unsafe { self.0.cast::<AtomicU32>().add(at).as_ref() }
    }

    /// The address, to find the index by.
    pub(super) fn address(self) -> *const c_void {
        self.0.as_ptr().cast_const().cast()
    }
}

/// The index of a store's log. It stays mapped as long as this is there, whoever closes what.
#[derive(Clone)]
pub(crate) struct LogIndex {
    region: Region,
    /// Whose connection keeps it open; none where it is a test's own memory.
    _pin: Option<Arc<Pin>>,
}

impl LogIndex {
    /// The index that a pin's connection keeps open.
    pub(super) fn held(region: Region, pin: &Arc<Pin>) -> LogIndex {
        LogIndex { region, _pin: Some(Arc::clone(pin)) }
    }

    /// How many frames of the log count as copied.
    #[cfg(test)]
    pub(crate) fn copied_frames(&self) -> u32 {
        self.region.word(COPIED)
    }

    /// Has nothing of the log count as copied: it is copied again, and does not begin anew before. It is for whoever has the lock for copying.
    pub(crate) fn uncopy(&self) {
        self.region.place(COPIED).store(0, Ordering::Release);
    }

    /// The state now; none while a commit is under way.
    #[inline]
    pub(crate) fn state(&self) -> Option<LogState> {
        self.region.state()
    }

    /// Says to the other processes that this one waits for the lock. It is a hint: nobody relies on it.
    pub(crate) fn ask(&self) {
        self.asks().store(1, Ordering::Relaxed);
    }

    /// Whether a process has said that it waits.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.asks().load(Ordering::Relaxed) != 0
    }

    /// Takes the hint back, whoever gave it: who waits still gives it again.
    pub(crate) fn unask(&self) {
        self.asks().store(0, Ordering::Relaxed);
    }

    /// The processes that wait for commits, of which each has a bit.
    #[inline]
    pub(super) fn watches(&self) -> &AtomicU16 {
        // SAFETY: as for `asks`.
        unsafe { self.region.0.cast::<AtomicU16>().add(WATCHES_BYTE / 2).as_ref() }
    }

    /// The word that every commit changes, for the system to wait at. It is only read.
    #[inline]
    pub(super) fn change_word(&self) -> &AtomicU32 {
        // SAFETY: the word lies within the region, which is mapped and aligned.
        unsafe { self.region.0.cast::<AtomicU32>().add(CHANGE).as_ref() }
    }

    #[inline]
    fn asks(&self) -> &AtomicU8 {
        // SAFETY: the byte lies within the region, which is mapped, and can be written: where it cannot, the index is not
        // found.
        unsafe { self.region.0.cast::<AtomicU8>().add(ASKS_BYTE).as_ref() }
    }

    /// An index in memory of a test's own.
    #[cfg(test)]
    pub(super) fn over(memory: &'static [AtomicU64; 17]) -> LogIndex {
        LogIndex { region: Region(NonNull::from(memory).cast()), _pin: None }
    }
}
