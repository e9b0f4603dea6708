//! Calls that ask for durability.

use std::io;

use super::{After, event};
use crate::linux::log::Log;
use crate::linux::proc::Task;
use crate::{EventKind, FileId, SyncKind};

pub(super) fn file(log: &mut Log, task: Task, descriptor: i32, data_only: bool) -> io::Result<Option<After>> {
    let Some(seen) = log.behind(task, descriptor)? else { return Ok(None) };
    let kind = match (seen.directory, data_only) {
        (true, _) => SyncKind::Directory,
        (false, true) => SyncKind::Fdatasync,
        (false, false) => SyncKind::Fsync,
    };
    Ok(event(log, EventKind::Sync { file: seen.file, kind }))
}

pub(super) fn range(
    log: &mut Log,
    task: Task,
    descriptor: i32,
    offset: u64,
    length: u64,
    flags: u32,
) -> io::Result<Option<After>> {
    let Some(seen) = log.behind(task, descriptor)? else { return Ok(None) };
    let awaited = flags & libc::SYNC_FILE_RANGE_WAIT_AFTER != 0;
    Ok(event(log, EventKind::Sync { file: seen.file, kind: SyncKind::Range { offset, length, awaited } }))
}

pub(super) fn mapping(log: &mut Log, task: Task, address: u64, length: u64) -> io::Result<Option<After>> {
    let Some(mapped) = task.mapped(address, length, |path| log.relative(path).is_some())? else {
        return Ok(None);
    };
    let Some(seen) = log.named(&mapped.path)? else { return Ok(None) };
    let kind = SyncKind::Msync { offset: mapped.offset, length: mapped.length };
    Ok(event(log, EventKind::Sync { file: seen.file, kind }))
}

pub(super) fn file_system(log: &Log) -> Option<After> {
    event(log, EventKind::Sync { file: FileId::ROOT, kind: SyncKind::FileSystem })
}
