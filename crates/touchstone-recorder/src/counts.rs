//! Counting a trace: what each stretch between two marks cost.

use std::ops::AddAssign;

use crate::trace::{Event, EventKind, SyncKind, Trace};

/// How often a stretch of a trace did what. Stores through shared mappings are not in here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Calls that wrote to a file.
    pub writes: u64,
    /// Bytes that they wrote.
    pub bytes_written: u64,
    /// Those of the writes that returned only when durable (`O_DSYNC` and kin).
    pub synchronous_writes: u64,
    /// `fsync` of a file.
    pub fsyncs: u64,
    /// `fdatasync` of a file.
    pub fdatasyncs: u64,
    /// `fsync` or `fdatasync` of a directory.
    pub directory_syncs: u64,
    /// `msync` with `MS_SYNC`.
    pub msyncs: u64,
    /// `sync` and `syncfs`.
    pub file_system_syncs: u64,
    /// `sync_file_range`, which makes nothing durable by itself and so is no part of [`Counts::syncs`].
    pub range_syncs: u64,
    /// Changes of names and sizes: create, mkdir, symlink, link, rename, unlink, truncate, allocate.
    pub metadata_operations: u64,
}

/// What happened up to a mark, since the mark before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval<'trace> {
    /// The line of the mark that ends the interval; `None` for what came after the last mark.
    pub ended_by: Option<&'trace str>,
    /// What happened in it.
    pub counts: Counts,
}

impl Counts {
    /// Counts a stretch of events.
    pub fn of(events: &[Event]) -> Counts {
        let mut counts = Counts::default();
        events.iter().for_each(|event| counts.add(&event.kind));
        counts
    }

    /// Calls that await durability: files, directories, mappings and whole file systems together. Synchronous writes
    /// are not among them; add [`Counts::synchronous_writes`] for the number of times that the device was awaited.
    pub fn syncs(&self) -> u64 {
        self.fsyncs + self.fdatasyncs + self.directory_syncs + self.msyncs + self.file_system_syncs
    }

    fn add(&mut self, kind: &EventKind) {
        match kind {
            EventKind::Write { length, synchronous, .. } => {
                self.writes += 1;
                self.bytes_written += length;
                self.synchronous_writes += u64::from(*synchronous);
            }
            EventKind::Sync { kind, .. } => *self.syncs_of(*kind) += 1,
            EventKind::Truncate { .. }
            | EventKind::Allocate { .. }
            | EventKind::Create { .. }
            | EventKind::MakeDirectory { .. }
            | EventKind::Symlink { .. }
            | EventKind::Link { .. }
            | EventKind::Rename { .. }
            | EventKind::Unlink { .. } => self.metadata_operations += 1,
            EventKind::Mark { .. } | EventKind::MapShared { .. } | EventKind::Unsupported { .. } => {}
        }
    }

    fn syncs_of(&mut self, kind: SyncKind) -> &mut u64 {
        match kind {
            SyncKind::Fsync => &mut self.fsyncs,
            SyncKind::Fdatasync => &mut self.fdatasyncs,
            SyncKind::Directory => &mut self.directory_syncs,
            SyncKind::Msync { .. } => &mut self.msyncs,
            SyncKind::FileSystem => &mut self.file_system_syncs,
            SyncKind::Range { .. } => &mut self.range_syncs,
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.writes += other.writes;
        self.bytes_written += other.bytes_written;
        self.synchronous_writes += other.synchronous_writes;
        self.fsyncs += other.fsyncs;
        self.fdatasyncs += other.fdatasyncs;
        self.directory_syncs += other.directory_syncs;
        self.msyncs += other.msyncs;
        self.file_system_syncs += other.file_system_syncs;
        self.range_syncs += other.range_syncs;
        self.metadata_operations += other.metadata_operations;
    }
}

impl Trace {
    /// Counts the whole trace.
    pub fn counts(&self) -> Counts {
        Counts::of(&self.events)
    }

    /// Cuts the trace at its marks: interval `i` is what it took to reach mark `i`, and one last interval holds what
    /// came after all marks. So there is always one interval more than there are marks, and if mark `i` acknowledges
    /// a commit, interval `i` is the cost of that commit.
    pub fn between_marks(&self) -> Vec<Interval<'_>> {
        let mut intervals = Vec::new();
        let mut counts = Counts::default();
        for event in &self.events {
            counts.add(&event.kind);
            for line in event.kind.lines() {
                intervals.push(Interval { ended_by: Some(line), counts });
                counts = Counts::default();
            }
        }
        intervals.push(Interval { ended_by: None, counts });
        intervals
    }
}
