//! The numbers by which the system knows a file, whatever its name.

use super::log::Region;
use std::ffi::{c_int, c_void};
use std::fs::Metadata;

unsafe extern "C" {
    fn touchstone_indexed(region: *const c_void, file: *mut [u64; 2], index: *mut [u64; 2]) -> c_int;
}

/// A file, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FileId {
    pub(super) device: u64,
    pub(super) inode: u64,
}

impl FileId {
    #[cfg(all(test, unix))]
    pub(super) fn at(path: &std::path::Path) -> Option<FileId> {
        std::fs::metadata(path).ok().as_ref().and_then(FileId::of)
    }

    #[cfg(unix)]
    pub(super) fn of(file: &Metadata) -> Option<FileId> {
        use std::os::unix::fs::MetadataExt as _;
        Some(FileId { device: file.dev(), inode: file.ino() })
    }

    /// The file whose index is mapped there, and the index's own file, as SQLite opened them; `None` if none has it.
    pub(super) fn indexed(region: Region) -> Option<(FileId, FileId)> {
        let (mut file, mut index) = ([0; 2], [0; 2]);
        // SAFETY: the region's address is only compared with others, and each file has two numbers.
        let is_found = unsafe { touchstone_indexed(region.address(), &raw mut file, &raw mut index) } != 0;
        let id = |[device, inode]: [u64; 2]| FileId { device, inode };
        is_found.then(|| (id(file), id(index)))
    }

    /// Other systems do not give the name of an open file to another file.
    #[cfg(not(unix))]
    pub(super) fn of(_file: &Metadata) -> Option<FileId> {
        None
    }
}
