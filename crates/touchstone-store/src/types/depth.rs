//! The limit on nesting: a type that contains itself would be read as deep as the bytes say, and the bytes may come
//! from anybody. Levels are counted at `Box`, vectors and arrays, through which a type can contain itself. Reading and
//! writing have the same limit, so each written value can be read.

use std::cell::Cell;

/// The most levels. This many calls fit into a small stack many times over.
const DEPTH_MAX: u32 = 128;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Whether a value that this thread wrote was too deep.
    static TOO_DEEP: Cell<bool> = const { Cell::new(false) };
}

/// One level; it ends also if a type's own code panics.
struct Level;

impl Drop for Level {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Runs `work` one level deeper; `None` if that is too deep.
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

/// Whether this thread reads or writes a nested value now. Further values would count as nested in that one.
#[inline]
pub(crate) fn is_within() -> bool {
    DEPTH.get() > 0
}

/// Runs `work` one level deeper, or notes that this is too deep.
#[inline]
pub(crate) fn write(work: impl FnOnce()) {
    if read(work).is_none() {
        TOO_DEEP.set(true);
    }
}

/// Whether a written value was too deep since the last call.
#[inline]
pub(crate) fn was_too_deep() -> bool {
    TOO_DEEP.replace(false)
}
