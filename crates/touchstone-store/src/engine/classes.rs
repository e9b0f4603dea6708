//! The durability classes of the stores that have a file open. A store of the class `Process` copies the write-ahead
//! log (WAL) into the file without a flush, whichever store wrote the log. Beside it no other class keeps its promise.
//! So each store marks its kind with a lock of the log's index, and checks for the other kind. The system releases the
//! locks of a process that dies. Stores of one process share its locks, and are counted here.

use super::file_id::FileId;
use super::fork::{self, Origin};
use super::log::Region;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::options::Durability;
use libsqlite3_sys as ffi;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

unsafe extern "C" {
    fn touchstone_mark_class(
        device: u64,
        number: u64,
        region: *const c_void,
        which: c_int,
        mark: c_int,
    ) -> c_int;
    fn touchstone_is_class_marked(device: u64, number: u64, region: *const c_void, which: c_int) -> c_int;
}

/// The classes that survive a loss of power, and the one that does not.
const KINDS: usize = 2;

type Counts = HashMap<(Origin, FileId), [usize; KINDS]>;

/// The number of this process's stores that have a file open, of each kind.
static OPEN: LazyLock<Mutex<Counts>> = LazyLock::new(Mutex::default);

fn open() -> MutexGuard<'static, Counts> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The mark of a store that has the file open, with its kind. Dropping it clears the mark.
pub(super) struct ClassMark {
    origin: Origin,
    file: FileId,
    region: Region,
    kind: usize,
}

impl ClassMark {
    /// # Errors
    /// [`Durability`](ErrorKind::Durability) if a store of the other kind has the file open.
    pub(super) fn set(file: FileId, region: Region, durability: Durability) -> Result<ClassMark> {
        let kind = usize::from(durability == Durability::Process);
        let mark = ClassMark { origin: Origin::here(), file, region, kind };
        let is_beside_other = mark.count_in()?;
        // First the mark, then the check: if two stores open at once, at least one of them sees the other.
        if is_beside_other || mark.is_other_marked() { Err(refused(durability)) } else { Ok(mark) }
    }

    /// Counts this store; whether this process has one of the other kind.
    fn count_in(&self) -> Result<bool> {
        let _alone = fork::alone();
        let mut open = open();
        let counts = open.entry((self.origin, self.file)).or_default();
        // A store that is refused is counted too, until its mark is dropped.
        counts[self.kind] += 1;
        match self.mark(true) {
            ffi::SQLITE_OK | ffi::SQLITE_NOTFOUND => Ok(counts[1 - self.kind] > 0),
            code => Err(Error::sqlite(code, "saying which class of durability has the file open")),
        }
    }

    /// Sets or clears the mark for other processes. SQLite's code; `SQLITE_NOTFOUND` if the file's index is gone.
    fn mark(&self, mark: bool) -> c_int {
        let (FileId { device, inode }, region) = (self.file, self.region.address());
        // SAFETY: the region's address is only compared with others.
        unsafe { touchstone_mark_class(device, inode, region, self.kind as c_int, c_int::from(mark)) }
    }

    /// Whether another process has a mark of the other kind.
    fn is_other_marked(&self) -> bool {
        let (FileId { device, inode }, region) = (self.file, self.region.address());
        // SAFETY: as for `mark`.
        unsafe { touchstone_is_class_marked(device, inode, region, 1 - self.kind as c_int) > 0 }
    }
}

impl Drop for ClassMark {
    fn drop(&mut self) {
        if !self.origin.is_here() {
            return;
        }
        let _alone = fork::alone();
        let mut open = open();
        let Some(counts) = open.get_mut(&(self.origin, self.file)) else { return };
        counts[self.kind] -= 1;
        if counts[self.kind] == 0 {
            // If the index is gone, its locks are gone too.
            self.mark(false);
        }
        if *counts == [0; KINDS] {
            open.remove(&(self.origin, self.file));
        }
    }
}

#[cold]
fn refused(durability: Durability) -> Error {
    let (this, that) = if durability == Durability::Process {
        ("`Durability::Process`", "a class that survives a loss of power")
    } else {
        ("a class that survives a loss of power", "`Durability::Process`")
    };
    let remedy = "open it everywhere with the one or with the other; one that is `read_only` may be of any";
    let message =
        format!("the file is open with {that}, beside which {this} cannot keep its promise ({remedy})");
    Error::new(ErrorKind::Durability, message)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::Store;
    use crate::engine::connection::Connection;
    use crate::types::options::Options;
    use std::mem::ManuallyDrop;

    /// Regression: a store's mark is cleared after its connections are closed, when its index may be unmapped. If
    /// another file's index was mapped there meanwhile, that file's mark was cleared instead.
    #[test]
    fn a_mark_is_looked_for_at_its_own_files_index_and_at_no_other() {
        let directory = tempfile::tempdir().expect("there is room");
        let path = directory.path().join("notes.db");
        let _store = Store::open(&path).expect("it opens");
        let mut connection = Connection::open(&path, &Options::new()).expect("it opens");
        connection.header().expect("it is readable");
        let region = connection.log_region().expect("it has a log");
        let file = FileId::at(&path).expect("it is there");
        // A mark that was never counted is not cleared.
        let mark = |file| ManuallyDrop::new(ClassMark { origin: Origin::here(), file, region, kind: 0 });
        let others = FileId { inode: file.inode + 1, ..file };
        assert_eq!(mark(others).mark(true), ffi::SQLITE_NOTFOUND);
        assert_eq!(mark(file).mark(true), ffi::SQLITE_OK);
    }
}
