//! How deep nested values may lie within each other: a type that contains itself is read as deep as the bytes say, and
//! bytes may be anybody's. Counted where a type can contain itself, in a box and in a vector, for reading and for
//! writing: what can be written can be read.

use std::cell::Cell;

/// How deep. A call for each level fits into a small stack many times over.
const DEPTH_MAX: u32 = 128;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Whether a value that was being written was deeper.
    static TOO_DEEP: Cell<bool> = const { Cell::new(false) };
}

/// A level; it ends also where a type's own code panics.
struct Level;

impl Drop for Level {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Reads, one level deeper; none where it is too deep.
#[inline]
pub(crate) fn read<R>(work: impl FnOnce() -> R) -> Option<R> {
    let depth = DEPTH.get();
    if depth == DEPTH_MAX {
        return None;
    }
    DEPTH.set(depth + 1);
    let _level = Level;
    Some(work())
}

/// Whether this thread is within a nested value: other values that it reads or writes meanwhile would be counted with it.
#[inline]
pub(crate) fn is_within() -> bool {
    DEPTH.get() > 0
}

/// Writes, one level deeper, or notes that it is too deep.
#[inline]
pub(crate) fn write(work: impl FnOnce()) {
    if read(work).is_none() {
        TOO_DEEP.set(true);
    }
}

/// Whether something was too deep since this was asked last.
#[inline]
pub(crate) fn was_too_deep() -> bool {
    TOO_DEEP.replace(false)
}
