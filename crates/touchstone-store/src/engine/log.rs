//! The state of the write-ahead log (WAL), from its index in shared memory: a header of 48 bytes that every commit of
//! any process changes. Two equal states mean that nothing was committed between them. To compare them takes no lock
//! and no system call. See "WAL-Index Format" in SQLite's documentation of the WAL file format.

use libsqlite3_sys as ffi;
use std::ffi::{c_int, c_void};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

/// The words of one copy of the header.
const WORDS: usize = 6;
/// The position of the header's word that counts commits, in 32-bit words.
const CHANGE: usize = 2;

// The format of the index leaves bytes 132 to 135 free, and SQLite neither reads nor writes them. Stores give each
// other hints there, and nothing relies on them: a lost hint costs a wait of some milliseconds. Byte 133 is 0.
/// Not 0 if a thread waits for the write lock.
const ASKS_BYTE: usize = 132;
/// Sixteen bits in the processor's byte order, one for each store that waits for commits: see `commit_watch.rs`.
const WATCHES_BYTE: usize = 134;

/// The positions, in 32-bit words, of the number of frames that are copied into the file, and of the number of those
/// that a checkpoint has begun to copy.
const COPIED: usize = 24;
const BEGUN: usize = 32;

/// The size of a region of the index, fixed by its format.
const REGION_BYTES: c_int = 32_768;

unsafe extern "C" {
    fn touchstone_log_header(connection: *mut ffi::sqlite3, header: *mut u64) -> c_int;
}

/// The size of the smallest page.
const PAGE_BYTES_MIN: u64 = 512;

/// A place in the log: its length, the file's size, the checksum over all of its frames, and its salts.
pub(crate) type LogPlace = [u64; 3];

/// The state of the log at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogState([u64; WORDS]);

impl LogState {
    /// The log's state as a connection has it: after a commit, the state that this commit left, without later ones.
    ///
    /// # Safety
    /// The connection is open, and no other thread uses it meanwhile.
    pub(super) unsafe fn of(connection: *mut ffi::sqlite3) -> Option<LogState> {
        let mut words = [0; WORDS];
        // SAFETY: the caller's promise; the call writes as many bytes as the header has.
        let code = unsafe { touchstone_log_header(connection, words.as_mut_ptr()) };
        (code == ffi::SQLITE_OK).then_some(LogState(words))
    }

    /// The place at which the log ends.
    pub(crate) fn place(self) -> LogPlace {
        [self.0[2], self.0[3], self.0[4]]
    }

    /// The bytes of pages in the log.
    pub(crate) fn log_bytes(self) -> u64 {
        self.bytes_of(self.frames())
    }

    /// The bytes of pages in so many frames.
    #[inline]
    pub(crate) fn bytes_of(self, frames: u32) -> u64 {
        u64::from(frames) * self.page_bytes()
    }

    /// The least length of the log's file, in bytes.
    pub(super) fn log_file_bytes(self) -> u64 {
        self.log_file_bytes_of(self.frames())
    }

    /// The length of the log's file up to the end of a frame: the file's header, and each frame with its own header.
    pub(crate) fn log_file_bytes_of(self, frames: u32) -> u64 {
        const HEADER: u64 = 32;
        const FRAME_HEADER: u64 = 24;
        if frames == 0 { 0 } else { HEADER + u64::from(frames) * (FRAME_HEADER + self.page_bytes()) }
    }

    /// The bytes of pages that the log had at that place; 0 if it has restarted since.
    pub(crate) fn log_bytes_at(self, place: LogPlace) -> u64 {
        let [words, _, salts] = place;
        if salts == self.place()[2] { u64::from(half(words, 0)) * self.page_bytes() } else { 0 }
    }

    /// The size of the file in bytes, including its pages in the log.
    pub(crate) fn file_bytes(self) -> u64 {
        u64::from(self.word(5)) * self.page_bytes()
    }

    /// The size of a page: the upper half of the fourth word, whose lowest bit stands for 64 KiB.
    fn page_bytes(self) -> u64 {
        let bytes = self.word(3).to_ne_bytes();
        let size = u64::from(u16::from_ne_bytes([bytes[2], bytes[3]]));
        (size & 0xfe00) + ((size & 1) << 16)
    }

    /// Whether nothing was committed between the two. The count is not enough: it starts again if the index is made
    /// again after a process has died. The checksum over all frames decides. A restart of the log keeps it until a
    /// frame is written.
    pub(crate) fn is_same_commit(self, other: LogState) -> bool {
        self.change() == other.change() && self.is_at(other.place())
    }

    /// Whether the log has the frames up to that place, and no more.
    pub(crate) fn is_at(self, place: LogPlace) -> bool {
        self.place()[1] == place[1]
    }

    /// The count of all processes' commits, which wraps: the third 32-bit word of the header.
    pub(crate) fn change(self) -> u32 {
        self.word(CHANGE)
    }

    /// The number of committed frames in the log: the fifth 32-bit word.
    pub(crate) fn frames(self) -> u32 {
        self.word(4)
    }

    /// A 32-bit word of the header, in the processor's byte order.
    fn word(self, at: usize) -> u32 {
        half(self.0[at / 2], at % 2)
    }
}

fn half(word: u64, at: usize) -> u32 {
    let bytes = word.to_ne_bytes();
    let (halves, _) = bytes.as_chunks::<4>();
    u32::from_ne_bytes(halves[at])
}

/// How much of a log is copied into the file. Only a checkpoint changes the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copied {
    salts: u64,
    frames: u32,
}

/// The address of the header in memory. It is valid as long as a connection of this process keeps the index open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region(NonNull<AtomicU64>);

// SAFETY: the memory is shared between processes already, and is read and written by atomic operations only.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// The index of a file with a log that its connection has read from; `None` if there is no index.
    ///
    /// # Safety
    /// The file is the main file of an open connection, which no other thread uses meanwhile.
    pub(super) unsafe fn of(file: *mut ffi::sqlite3_file) -> Option<Region> {
        let mut region: *mut c_void = ptr::null_mut();
        // SAFETY: the caller's promise; without the flag to extend, the call only returns the region's address.
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

    /// The current state of the log; `None` while a commit is under way, or if there is no log.
    ///
    /// The index stays mapped as long as a connection of this process has the file open, as the caller's has.
    #[inline]
    pub(super) fn state(self) -> Option<LogState> {
        // A writer changes the second copy first and the first one last. So they are read in the opposite order.
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

    /// The least length of the file, in bytes, when its index was in that state. The log counts as copied in full only
    /// when the file has the size of its last commit. If nothing was committed since the index was made, the file has
    /// its first page.
    pub(super) fn file_bytes_min(self, state: LogState) -> u64 {
        let copied = self.word(COPIED);
        if copied == state.frames() { state.file_bytes().max(PAGE_BYTES_MIN) } else { PAGE_BYTES_MIN }
    }

    /// How much of the log is copied; `None` while a checkpoint runs, or if one has failed.
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

    /// The address, which identifies the index.
    pub(super) fn address(self) -> *const c_void {
        self.0.as_ptr().cast_const().cast()
    }
}

/// Something that keeps the index open. A program may use a store after a panic that it caught.
pub(super) type IndexKeeper = dyn Send + Sync + UnwindSafe + RefUnwindSafe;

/// The index of a store's log. It stays mapped as long as this exists, whichever connections are closed.
#[derive(Clone)]
pub(crate) struct LogIndex {
    region: Region,
    /// Keeps the index open; `None` for a test's own memory.
    _keeper: Option<Arc<IndexKeeper>>,
}

impl LogIndex {
    /// The index that stays open as long as `keeper` exists.
    pub(super) fn held(region: Region, keeper: Arc<IndexKeeper>) -> LogIndex {
        LogIndex { region, _keeper: Some(keeper) }
    }

    /// The number of frames of the log that count as copied, for all processes.
    #[inline]
    pub(crate) fn copied_frames(&self) -> u32 {
        self.region.word(COPIED)
    }

    /// Marks the whole log as not copied: it is copied again before it restarts. The caller holds the checkpoint lock.
    pub(crate) fn uncopy(&self) {
        self.region.place(COPIED).store(0, Ordering::Release);
    }

    /// The current state; `None` while a commit is under way.
    #[inline]
    pub(crate) fn state(&self) -> Option<LogState> {
        self.region.state()
    }

    /// Gives the other processes the hint that this one waits for the write lock. Nothing relies on it.
    pub(crate) fn ask(&self) {
        self.asks().store(1, Ordering::Relaxed);
    }

    /// Whether a process has given the hint that it waits.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.asks().load(Ordering::Relaxed) != 0
    }

    /// Clears the hint, whichever process gave it: a process that still waits gives it again.
    pub(crate) fn unask(&self) {
        self.asks().store(0, Ordering::Relaxed);
    }

    /// The stores that wait for commits: each has a bit.
    #[inline]
    pub(super) fn watches(&self) -> &AtomicU16 {
        // SAFETY: as for `asks`.
        unsafe { self.region.0.cast::<AtomicU16>().add(WATCHES_BYTE / 2).as_ref() }
    }

    /// The word that every commit changes, to wait at it as a futex. It is only read.
    #[inline]
    pub(super) fn change_word(&self) -> &AtomicU32 {
        // SAFETY: the word lies within the region, which is mapped and aligned.
        unsafe { self.region.0.cast::<AtomicU32>().add(CHANGE).as_ref() }
    }

    #[inline]
    fn asks(&self) -> &AtomicU8 {
        // SAFETY: the byte lies within the region, which is mapped, and can be written: otherwise no index is found.
        unsafe { self.region.0.cast::<AtomicU8>().add(ASKS_BYTE).as_ref() }
    }

    /// An index in a test's own memory.
    #[cfg(test)]
    pub(super) fn over(memory: &'static [AtomicU64; 17]) -> LogIndex {
        LogIndex { region: Region(NonNull::from(memory).cast()), _keeper: None }
    }
}
