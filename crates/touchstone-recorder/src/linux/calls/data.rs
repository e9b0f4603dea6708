//! Calls that change what is in a file.

use std::io;
use std::os::unix::fs::FileExt;

use super::{After, event};
use crate::EventKind;
use crate::linux::log::{Log, Seen};
use crate::linux::proc::{Inode, OpenState, Task, reached};
use crate::linux::syscalls::{Buffer, Name, Position};

/// What a write call was given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) buffer: Buffer,
    pub(super) position: Position,
    pub(super) flags: i32,
}

pub(super) fn write(
    log: &mut Log,
    task: Task,
    descriptor: i32,
    written: Written,
) -> io::Result<Option<After>> {
    if is_stdout(log, task, descriptor)? {
        let output = log.begin_output();
        return Ok(Some(Box::new(move |log, length| {
            let bytes = task.read_buffer(written.buffer, length as usize)?;
            log.end_output(output, &bytes);
            Ok(())
        })));
    }
    let began = log.now();
    let Some(seen) = log.behind(task, descriptor)? else { return Ok(None) };
    let Some(state) = task.open_state(descriptor)? else { return Ok(None) };
    // O_SYNC contains the bit of O_DSYNC, and RWF_SYNC implies RWF_DSYNC but does not contain it.
    let synchronous =
        state.flags & libc::O_DSYNC != 0 || written.flags & (libc::RWF_DSYNC | libc::RWF_SYNC) != 0;
    // Linux appends to a file opened so, whatever offset the call gives.
    let appends = state.flags & libc::O_APPEND != 0 || written.flags & libc::RWF_APPEND != 0;
    Ok(Some(Box::new(move |log, length| {
        if length == 0 {
            return Ok(());
        }
        // Where the file's position stands now tells where the bytes went; but if another thread has closed the
        // descriptor meanwhile, what was known before has to do.
        let offset = match written.position {
            Position::Current => offset_by_position(task, descriptor, state, length)?,
            Position::At(_) if appends => match log.behind(task, descriptor)? {
                Some(now) => now.size.saturating_sub(length),
                None => seen.size,
            },
            Position::At(offset) => offset,
        };
        let bytes = match log.keep_bytes {
            true => Some(task.read_buffer(written.buffer, length as usize)?),
            false => None,
        };
        log.push(began, EventKind::Write { file: seen.file, offset, length, synchronous, bytes });
        Ok(())
    })))
}

/// `sendfile`, `copy_file_range`, `splice`: the bytes come from another file, so what was written is read back.
pub(super) fn transfer(
    log: &mut Log,
    task: Task,
    descriptor: i32,
    position_address: u64,
) -> io::Result<Option<After>> {
    let began = log.now();
    if is_stdout(log, task, descriptor)? {
        return Ok(event(log, EventKind::Unsupported { what: "standard output by sendfile or splice" }));
    }
    let Some(Seen { file, .. }) = log.behind(task, descriptor)? else { return Ok(None) };
    let Some(state) = task.open_state(descriptor)? else { return Ok(None) };
    Ok(Some(Box::new(move |log, length| {
        if length == 0 {
            return Ok(());
        }
        let offset = match position_address {
            0 => offset_by_position(task, descriptor, state, length)?,
            address => task.read_word(address)?.saturating_sub(length),
        };
        let bytes = match log.keep_bytes {
            true => Some(read_back(task, descriptor, offset, length)?),
            false => None,
        };
        let synchronous = state.flags & libc::O_DSYNC != 0;
        log.push(began, EventKind::Write { file, offset, length, synchronous, bytes });
        Ok(())
    })))
}

pub(super) fn truncate(log: &mut Log, task: Task, name: Name, length: u64) -> io::Result<Option<After>> {
    let path = task.read_path(name.address)?;
    let Some(path) = task.locate(name.base, &path)? else { return Ok(None) };
    // Unlike the calls on names, this one follows a symbolic link.
    let Some(path) = reached(path.canonicalize())? else { return Ok(None) };
    let seen = log.named(&path)?;
    Ok(truncated(log, seen, length))
}

pub(super) fn truncate_descriptor(
    log: &mut Log,
    task: Task,
    descriptor: i32,
    length: u64,
) -> io::Result<Option<After>> {
    let seen = log.behind(task, descriptor)?;
    Ok(truncated(log, seen, length))
}

fn truncated(log: &Log, seen: Option<Seen>, length: u64) -> Option<After> {
    let Seen { file, .. } = seen.filter(|seen| seen.size != length)?;
    event(log, EventKind::Truncate { file, length })
}

fn is_stdout(log: &Log, task: Task, descriptor: i32) -> io::Result<bool> {
    Ok(task.descriptor(descriptor)?.is_some_and(|metadata| Some(Inode::of(&metadata)) == log.stdout))
}

/// Where `length` bytes went that have just moved the position of a descriptor, which was at `before`.
fn offset_by_position(task: Task, descriptor: i32, before: OpenState, length: u64) -> io::Result<u64> {
    let now = task.open_state(descriptor)?;
    Ok(now.map_or(before.position, |now| now.position.saturating_sub(length)))
}

fn read_back(task: Task, descriptor: i32, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length as usize];
    std::fs::File::open(task.descriptor_path(descriptor))?.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}
