//! What a recording yields: events on files, totally ordered. No process, no clock.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// All that a recorded program did to the files below the watched directory.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trace {
    /// The events, in the order in which their calls returned. Calls that failed are not events.
    pub events: Vec<Event>,
    /// The files that the events speak of; [`FileId`] says which.
    pub files: Vec<File>,
    /// How the program ended.
    pub exit: ExitStatus,
    /// Whether it ended because the recorder killed it.
    pub killed: bool,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// How many events had been recorded when the call began. Those are certain to precede it; the ones from `began`
    /// up to this event's own index ran alongside, in other threads, so a sync need not cover them.
    pub began: usize,
    /// What happened.
    pub kind: EventKind,
}

/// What can happen. Paths are relative to the watched directory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// The program wrote to its standard output. Whoever reads a line there may act on it while the call that wrote it has
    /// not returned, so that this event stands at the call's beginning.
    Mark {
        /// The lines that the call completed, often none or one; without their newlines, and each cut after 1 MiB.
        lines: Vec<String>,
    },
    /// Bytes went into a file.
    Write {
        /// The file.
        file: FileId,
        /// Where in the file.
        offset: u64,
        /// How many bytes.
        length: u64,
        /// Whether the call returned only after the bytes were durable (`O_DSYNC`, `O_SYNC`, `RWF_DSYNC`).
        synchronous: bool,
        /// The bytes, if [`Options::keep_bytes`](crate::Options::keep_bytes) is set.
        bytes: Option<Vec<u8>>,
    },
    /// The program asked for durability.
    Sync {
        /// The file or directory; the watched directory itself for [`SyncKind::FileSystem`].
        file: FileId,
        /// By which call.
        kind: SyncKind,
    },
    /// A file got a new length, by `truncate` or by `O_TRUNC`. Truncating to the present length is no event.
    Truncate {
        /// The file.
        file: FileId,
        /// Its new length.
        length: u64,
    },
    /// `fallocate`: space reserved, a hole punched, a range zeroed.
    Allocate {
        /// The file.
        file: FileId,
        /// Where the range begins.
        offset: u64,
        /// How long it is.
        length: u64,
        /// The `FALLOC_FL_*` bits.
        mode: i32,
    },
    /// A file came into being under a name.
    Create {
        /// The new file.
        file: FileId,
        /// Its name.
        path: PathBuf,
    },
    /// A directory came into being.
    MakeDirectory {
        /// The new directory.
        file: FileId,
        /// Its name.
        path: PathBuf,
    },
    /// A symbolic link came into being.
    Symlink {
        /// The link itself.
        file: FileId,
        /// Its name.
        path: PathBuf,
    },
    /// A file got one more name.
    Link {
        /// The file.
        file: FileId,
        /// The new name.
        path: PathBuf,
    },
    /// A name changed. An end that lies outside the watched directory is `None`.
    Rename {
        /// What was renamed.
        file: FileId,
        /// Its old name.
        from: Option<PathBuf>,
        /// Its new name.
        to: Option<PathBuf>,
        /// What had the new name before: gone now, or under the old name if `exchange` is set.
        replaced: Option<FileId>,
        /// Whether the two names were exchanged (`RENAME_EXCHANGE`).
        exchange: bool,
    },
    /// A name of a file went away, or an empty directory.
    Unlink {
        /// What the name stood for.
        file: FileId,
        /// The name.
        path: PathBuf,
    },
    /// A file was mapped shared and writable. What is stored through the mapping is not recorded.
    MapShared {
        /// The file.
        file: FileId,
        /// Where in the file the mapping begins.
        offset: u64,
        /// How long it is.
        length: u64,
    },
    /// The program used, or was refused, a way of writing that the recorder cannot follow.
    Unsupported {
        /// Which one.
        what: &'static str,
    },
}

impl EventKind {
    /// The lines of standard output that it completed.
    pub(crate) fn lines(&self) -> &[String] {
        match self {
            EventKind::Mark { lines } => lines,
            _ => &[],
        }
    }
}

/// The calls that ask for durability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyncKind {
    /// `fsync` of a file.
    Fsync,
    /// `fdatasync` of a file.
    Fdatasync,
    /// `fsync` or `fdatasync` of a directory.
    Directory,
    /// `msync` with `MS_SYNC`: the range of the file that was asked for.
    Msync {
        /// Where the range begins.
        offset: u64,
        /// How long it is.
        length: u64,
    },
    /// `sync` or `syncfs`.
    FileSystem,
    /// `sync_file_range`, which starts or awaits writing but promises no durability: it commits neither the file's
    /// size nor its place on disk, and does not flush the device.
    Range {
        /// Where the range begins.
        offset: u64,
        /// How long it is; 0 means up to the end.
        length: u64,
        /// Whether the call awaited the writing (`SYNC_FILE_RANGE_WAIT_AFTER`).
        awaited: bool,
    },
}

/// Names a file, directory or symbolic link by what it is (its inode), not by what it is called: an index into
/// [`Trace::files`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub(crate) u32);

impl FileId {
    /// The watched directory itself.
    pub const ROOT: FileId = FileId(0);

    /// The place of this file in [`Trace::files`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A file that some event speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct File {
    /// The name under which the recorder first saw it.
    pub path: PathBuf,
    /// Whether it is a directory.
    pub directory: bool,
    /// Whether it was made under the recorder's eyes (by open, mkdir, symlink or mknod). If not, it was there before
    /// or came in by a rename, and it had contents that the trace does not tell.
    pub created: bool,
}

impl Trace {
    /// The file that an event speaks of.
    ///
    /// # Panics
    ///
    /// If `file` comes from another trace and is out of range here.
    pub fn file(&self, file: FileId) -> &File {
        &self.files[file.index()]
    }

    /// The lines that the program wrote to its standard output, in order.
    pub fn marks(&self) -> impl Iterator<Item = &str> {
        self.events.iter().flat_map(|event| event.kind.lines()).map(String::as_str)
    }

    /// The files that were mapped shared and writable, each once, in order of the first mapping. Writes to these are
    /// not all counted. SQLite's `-shm` file is expected here: it is rebuilt at need and no commit rests on it.
    pub fn mapped_files(&self) -> Vec<&Path> {
        let mut paths: Vec<&Path> = Vec::new();
        for event in &self.events {
            if let EventKind::MapShared { file, .. } = event.kind {
                let path = self.file(file).path.as_path();
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
        }
        paths
    }

    /// The ways of writing that the recorder could not follow, each once: if there are any, the counts may be short
    /// or the program may work differently unrecorded.
    pub fn unsupported(&self) -> Vec<&'static str> {
        let mut found = Vec::new();
        for event in &self.events {
            if let EventKind::Unsupported { what } = event.kind
                && !found.contains(&what)
            {
                found.push(what);
            }
        }
        found
    }
}
