//! What has been recorded so far: the events, which file is which, and the unfinished line of output.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use super::proc::{Inode, Task, reached};
use crate::{Error, ErrorKind, Event, EventKind, File, FileId, Options, Trace};

/// Limits of one recording: some hundred bytes of memory per event, besides the bytes that are kept.
const EVENTS_MAX: usize = 8_000_000;
const KEPT_BYTES_MAX: u64 = 4 << 30;
const LINE_BYTES_MAX: usize = 1 << 20;

/// What has been recorded so far.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) directory: PathBuf,
    pub(super) keep_bytes: bool,
    /// The pipe that is the subject's standard output, once the subject has told.
    pub(super) stdout: Option<Inode>,
    root: Inode,
    events: Vec<Event>,
    files: Vec<File>,
    known: HashMap<Inode, Known>,
    line: Vec<u8>,
    kept_bytes: u64,
}

/// A call that writes to standard output, by the place of its event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output(usize);

#[derive(Clone, Copy, Debug)]
struct Known {
    file: FileId,
    /// How many events there were when it came to be known.
    since: usize,
}

/// A file below the watched directory, as it was at a stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) file: FileId,
    pub(super) size: u64,
    pub(super) directory: bool,
}

impl Log {
    pub(super) fn new(options: &Options) -> Result<Log, Error> {
        let unusable = |error| {
            let directory = options.directory.display();
            Error::caused_by(ErrorKind::Directory, format!("cannot watch {directory}; it must exist"), error)
        };
        let directory = options.directory.canonicalize().map_err(unusable)?;
        let metadata = fs::metadata(&directory).map_err(unusable)?;
        if !metadata.is_dir() {
            return Err(unusable(io::ErrorKind::NotADirectory.into()));
        }
        let mut log = Log {
            directory,
            keep_bytes: options.keep_bytes,
            stdout: None,
            root: Inode::of(&metadata),
            events: Vec::new(),
            files: Vec::new(),
            known: HashMap::new(),
            line: Vec::new(),
            kept_bytes: 0,
        };
        let root = log.add(Path::new(""), &metadata, false);
        assert_eq!(root, FileId::ROOT, "the watched directory is the first file");
        Ok(log)
    }

    /// How many events there are: what a call that begins now comes after.
    pub(super) fn now(&self) -> usize {
        self.events.len()
    }

    pub(super) fn push(&mut self, began: usize, kind: EventKind) {
        if let EventKind::Write { bytes: Some(bytes), .. } = &kind {
            self.kept_bytes += bytes.len() as u64;
        }
        self.events.push(Event { began, kind });
    }

    /// The subject begins to write to its standard output.
    pub(super) fn begin_output(&mut self) -> Output {
        let output = Output(self.now());
        self.push(output.0, EventKind::Mark { lines: Vec::new() });
        output
    }

    /// Adds what the subject wrote to its standard output by that call.
    pub(super) fn end_output(&mut self, output: Output, bytes: &[u8]) {
        let completed = self.complete_lines(bytes);
        if let EventKind::Mark { lines } = &mut self.events[output.0].kind {
            lines.extend(completed);
        }
    }

    fn complete_lines(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            let room = LINE_BYTES_MAX - self.line.len();
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            if text.len() < piece.len() {
                lines.push(String::from_utf8_lossy(&self.line).into_owned());
                self.line.clear();
            }
        }
        lines
    }

    /// The path relative to the watched directory, if it lies below it.
    pub(super) fn relative(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(&self.directory).ok().map(Path::to_path_buf)
    }

    /// The watched file or directory behind a descriptor.
    pub(super) fn behind(&mut self, task: Task, descriptor: i32) -> io::Result<Option<Seen>> {
        let Some(metadata) = task.descriptor(descriptor)? else { return Ok(None) };
        if !metadata.is_file() && !metadata.is_dir() {
            return Ok(None);
        }
        let path = task.descriptor_target(descriptor)?.and_then(|path| self.relative(&path));
        Ok(path.map(|path| self.see(&path, &metadata)))
    }

    /// The watched file, directory or symbolic link that has a name.
    pub(super) fn named(&mut self, path: &Path) -> io::Result<Option<Seen>> {
        let Some(relative) = self.relative(path) else { return Ok(None) };
        let metadata = reached(fs::symlink_metadata(path))?;
        Ok(metadata.map(|metadata| self.see(&relative, &metadata)))
    }

    /// Whether a descriptor's file lies on the file system of the watched directory.
    pub(super) fn same_file_system(&self, task: Task, descriptor: i32) -> io::Result<bool> {
        Ok(task.descriptor(descriptor)?.is_some_and(|metadata| metadata.dev() == self.root.device))
    }

    /// Records that a call made a file, unless another thread's call is known to have made it since `began`. It is a
    /// new file even if its inode number is an old one: file systems reuse these at once.
    pub(super) fn push_made(
        &mut self,
        began: usize,
        path: PathBuf,
        metadata: &Metadata,
        kind: impl FnOnce(FileId, PathBuf) -> EventKind,
    ) {
        let inode = Inode::of(metadata);
        if self.known.get(&inode).is_none_or(|known| known.since <= began) {
            let file = self.add(&path, metadata, true);
            self.push(began, kind(file, path));
            self.known.insert(inode, Known { file, since: self.now() });
        }
    }

    /// Takes note of a new file that has no name. That is no event: until it is linked, no crash can leave it behind.
    pub(super) fn made_unnamed(&mut self, path: &Path, metadata: &Metadata) {
        self.add(path, metadata, true);
    }

    /// Why the recording must end here, if it must.
    pub(super) fn full(&self) -> Option<Error> {
        let what = if self.events.len() >= EVENTS_MAX {
            format!("{EVENTS_MAX} events")
        } else if self.kept_bytes >= KEPT_BYTES_MAX {
            format!("{KEPT_BYTES_MAX} kept bytes")
        } else {
            return None;
        };
        Some(Error::new(ErrorKind::Limit, format!("the trace outgrew {what}; record fewer operations")))
    }

    pub(super) fn finish(self, exit: ExitStatus) -> Trace {
        Trace { events: self.events, files: self.files, exit, killed: false }
    }

    fn see(&mut self, path: &Path, metadata: &Metadata) -> Seen {
        let file = match self.known.get(&Inode::of(metadata)) {
            Some(known) => known.file,
            None => self.add(path, metadata, false),
        };
        Seen { file, size: metadata.len(), directory: metadata.is_dir() }
    }

    fn add(&mut self, path: &Path, metadata: &Metadata, created: bool) -> FileId {
        let file = FileId(self.files.len() as u32);
        let path = if metadata.nlink() == 0 { without_deleted(path) } else { path.to_path_buf() };
        self.files.push(File { path, directory: metadata.is_dir(), created });
        self.known.insert(Inode::of(metadata), Known { file, since: self.now() });
        file
    }
}

/// The path without what the kernel appends to it when a file has no name (any more).
fn without_deleted(path: &Path) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    OsStr::from_bytes(bytes.strip_suffix(b" (deleted)").unwrap_or(bytes)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(pieces: &[&[u8]]) -> Vec<String> {
        let mut log = Log::new(&Options::new("/")).unwrap();
        for piece in pieces {
            let output = log.begin_output();
            log.end_output(output, piece);
        }
        let trace = log.finish(ExitStatus::default());
        trace.marks().map(String::from).collect()
    }

    #[test]
    fn a_line_is_one_mark_however_it_was_written() {
        assert_eq!(marks(&[b"one\ntw", b"", b"o", b"\n\nthree\nunfinished"]), ["one", "two", "", "three"]);
    }

    #[test]
    fn a_line_stands_where_its_call_began() {
        let mut log = Log::new(&Options::new("/")).unwrap();
        let output = log.begin_output();
        // The one that reads the line asks for more before the call has returned.
        let write =
            EventKind::Write { file: FileId::ROOT, offset: 0, length: 7, synchronous: false, bytes: None };
        log.push(log.now(), write);
        log.end_output(output, b"done\n");
        let trace = log.finish(ExitStatus::default());
        let written: Vec<u64> = trace.between_marks().iter().map(|stretch| stretch.counts.writes).collect();
        assert_eq!(written, [0, 1]);
    }

    #[test]
    fn a_line_without_end_takes_no_memory_without_end() {
        let piece = [b'x'; 1000];
        let mut pieces = vec![piece.as_slice(); 2000];
        pieces.push(b"\nnext\n");
        let marks = marks(&pieces);
        assert_eq!(marks[0].len(), LINE_BYTES_MAX);
        assert_eq!(marks[1], "next");
    }
}
