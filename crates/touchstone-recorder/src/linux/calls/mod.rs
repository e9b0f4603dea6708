//! From calls to events. A call is looked at twice: before it runs, for what will be gone afterwards (the file that a
//! name stands for), and when it has returned, for what came of it. Each function here holds both halves.

mod data;
mod names;
mod sync;

use std::io;

use super::log::Log;
use super::proc::Task;
use super::syscalls::{Call, OpenFlags};
use crate::EventKind;

/// The second half of a call: gets the value that the call returned, which was no error.
pub(super) type After = Box<dyn FnOnce(&mut Log, u64) -> io::Result<()>>;

/// The first half of a call. `None` if it is of no interest.
///
/// # Errors
///
/// When the task's memory or its entries in `/proc` cannot be read, although the task lives and its call is sound.
pub(super) fn before(log: &mut Log, task: Task, call: Call) -> io::Result<Option<After>> {
    match call {
        Call::Write { descriptor, buffer, position, flags } => {
            data::write(log, task, descriptor, data::Written { buffer, position, flags })
        }
        Call::Transfer { descriptor, position_address } => {
            data::transfer(log, task, descriptor, position_address)
        }
        Call::Truncate { name, length } => data::truncate(log, task, name, length),
        Call::TruncateDescriptor { descriptor, length } => {
            data::truncate_descriptor(log, task, descriptor, length)
        }
        Call::Allocate { descriptor, mode, offset, length } => {
            let Some(seen) = log.behind(task, descriptor)? else { return Ok(None) };
            Ok(event(log, EventKind::Allocate { file: seen.file, offset, length, mode }))
        }
        Call::Map { descriptor, offset, length } => {
            let Some(seen) = log.behind(task, descriptor)? else { return Ok(None) };
            Ok(event(log, EventKind::MapShared { file: seen.file, offset, length }))
        }
        Call::Reflink { descriptor } => {
            let Some(_) = log.behind(task, descriptor)? else { return Ok(None) };
            Ok(event(log, EventKind::Unsupported { what: "reflink by ioctl" }))
        }
        Call::Open { name, flags: OpenFlags::Given(flags) } => names::open(log, task, name, flags),
        Call::Open { name, flags: OpenFlags::At(address) } => {
            names::open(log, task, name, task.read_word(address)? as i32)
        }
        Call::MakeDirectory { name } => {
            names::make(log, task, name, |file, path| EventKind::MakeDirectory { file, path })
        }
        Call::MakeNode { name } => {
            names::make(log, task, name, |file, path| EventKind::Create { file, path })
        }
        Call::Symlink { name } => {
            names::make(log, task, name, |file, path| EventKind::Symlink { file, path })
        }
        Call::Link { name } => names::link(log, task, name),
        Call::Rename { from, to, flags } => names::rename(log, task, from, to, flags),
        Call::Unlink { name } => names::unlink(log, task, name),
        Call::Sync { descriptor, data_only } => sync::file(log, task, descriptor, data_only),
        Call::SyncRange { descriptor, offset, length, flags } => {
            sync::range(log, task, descriptor, offset, length, flags)
        }
        Call::SyncMapping { address, length } => sync::mapping(log, task, address, length),
        Call::SyncEverything => Ok(sync::file_system(log)),
        Call::SyncFileSystem { descriptor } => {
            Ok(if log.same_file_system(task, descriptor)? { sync::file_system(log) } else { None })
        }
        Call::Refuse { .. } => Ok(None),
    }
}

/// A second half that only records what is known already.
fn event(log: &Log, kind: EventKind) -> Option<After> {
    let began = log.now();
    Some(Box::new(move |log, _| {
        log.push(began, kind);
        Ok(())
    }))
}
