//! Calls that change which names there are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::After;
use crate::linux::log::Log;
use crate::linux::proc::{Task, reached};
use crate::linux::syscalls::{Name, O_TMPFILE_BIT};
use crate::{EventKind, FileId};

pub(super) fn open(log: &mut Log, task: Task, name: Name, flags: i32) -> io::Result<Option<After>> {
    let began = log.now();
    let unnamed = flags & O_TMPFILE_BIT != 0;
    let Some(path) = locate(task, name)? else { return Ok(None) };
    // What the name led to before; unlike the other calls on names, this one follows a symbolic link.
    let size_before = reached(fs::metadata(&path))?.map(|metadata| metadata.len());
    Ok(Some(Box::new(move |log, descriptor| {
        let descriptor = descriptor as i32;
        let Some(path) = task.descriptor_target(descriptor)? else { return Ok(()) };
        let Some(path) = log.relative(&path) else { return Ok(()) };
        let Some(metadata) = task.descriptor(descriptor)? else { return Ok(()) };
        if unnamed {
            log.made_unnamed(&path, &metadata);
        } else if size_before.is_none() {
            log.push_made(began, path, &metadata, |file, path| EventKind::Create { file, path });
        } else if flags & libc::O_TRUNC != 0
            && size_before != Some(0)
            && metadata.is_file()
            && let Some(seen) = log.behind(task, descriptor)?
        {
            log.push(began, EventKind::Truncate { file: seen.file, length: 0 });
        }
        Ok(())
    })))
}

/// A call that makes something new under a name; `kind` says what.
pub(super) fn make(
    log: &mut Log,
    task: Task,
    name: Name,
    kind: fn(FileId, PathBuf) -> EventKind,
) -> io::Result<Option<After>> {
    let began = log.now();
    let Some((path, relative)) = watched(log, task, name)? else { return Ok(None) };
    Ok(Some(Box::new(move |log, _| {
        if let Some(metadata) = reached(fs::symlink_metadata(&path))? {
            log.push_made(began, relative, &metadata, kind);
        }
        Ok(())
    })))
}

pub(super) fn link(log: &mut Log, task: Task, name: Name) -> io::Result<Option<After>> {
    let began = log.now();
    let Some((path, relative)) = watched(log, task, name)? else { return Ok(None) };
    // The file is told by its new name: the old one may be none at all (O_TMPFILE by way of /proc).
    Ok(Some(Box::new(move |log, _| {
        if let Some(seen) = log.named(&path)? {
            log.push(began, EventKind::Link { file: seen.file, path: relative });
        }
        Ok(())
    })))
}

pub(super) fn rename(
    log: &mut Log,
    task: Task,
    from: Name,
    to: Name,
    flags: u32,
) -> io::Result<Option<After>> {
    let began = log.now();
    let exchange = flags & libc::RENAME_EXCHANGE != 0;
    let (Some(from), Some(to)) = (locate(task, from)?, locate(task, to)?) else { return Ok(None) };
    let moved = log.named(&from)?.map(|seen| seen.file);
    let replaced = log.named(&to)?.map(|seen| seen.file).filter(|file| Some(*file) != moved);
    Ok(Some(Box::new(move |log, _| {
        let (from, target) = (log.relative(&from), log.relative(&to));
        // What came in from outside is first seen under its new name.
        let moved = match moved {
            None => log.named(&to)?.map(|seen| seen.file),
            moved => moved,
        };
        if let Some(file) = moved
            && (from.is_some() || target.is_some())
        {
            log.push(began, EventKind::Rename { file, from, to: target, replaced, exchange });
        }
        Ok(())
    })))
}

pub(super) fn unlink(log: &mut Log, task: Task, name: Name) -> io::Result<Option<After>> {
    let began = log.now();
    let Some((path, relative)) = watched(log, task, name)? else { return Ok(None) };
    let Some(seen) = log.named(&path)? else { return Ok(None) };
    Ok(Some(Box::new(move |log, _| {
        log.push(began, EventKind::Unlink { file: seen.file, path: relative });
        Ok(())
    })))
}

/// Where a name leads: in full, and relative to the watched directory. `None` if it leads elsewhere.
fn watched(log: &Log, task: Task, name: Name) -> io::Result<Option<(PathBuf, PathBuf)>> {
    let located = locate(task, name)?;
    Ok(located.and_then(|path| log.relative(&path).map(|relative| (path, relative))))
}

fn locate(task: Task, name: Name) -> io::Result<Option<PathBuf>> {
    let path: &Path = &task.read_path(name.address)?;
    task.locate(name.base, path)
}
