//! What a device had been asked to keep when the program said that something was done.
//!
//! A sync makes durable what had been written to its own file before it was called, and nothing else. A sync of a file
//! that did not change since its last one keeps nothing new, whatever it costs.

use std::collections::{BTreeMap, BTreeSet};

use crate::trace::{Event, EventKind, FileId, SyncKind, Trace};

/// What a stretch between two marks asked the device to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kept {
    /// Times that the device was awaited for something that had changed: by a sync, or by a synchronous write.
    pub awaited: u64,
    /// Those of them that were synchronous writes.
    pub synchronous_writes: u64,
    /// Those of them that were syncs of files with a shared mapping, through which they may have changed unseen.
    pub mapped_syncs: u64,
    /// Syncs of files and directories that had not changed since their last sync.
    pub idle_syncs: u64,
    /// Bytes written in the stretch.
    pub bytes: u64,
    /// Those of them that no sync had covered by its end.
    pub unkept_bytes: u64,
    /// Whether a name that mattered was changed, and no directory synced after that: of a file that was there before, or that had
    /// been synced itself, as a rollback journal is. Where the old name comes back, so may the old state.
    pub name_is_unkept: bool,
}

impl Kept {
    /// Whether at least `bytes` are known to be on the device: it was awaited, and so many of the stretch's bytes are covered. What
    /// is stored through a mapping is not seen, and believed where the mapped file was synced.
    pub fn covers(&self, bytes: u64) -> bool {
        let covered = self.bytes - self.unkept_bytes;
        self.awaited > 0 && (self.mapped_syncs > 0 || covered >= bytes)
    }
}

impl Trace {
    /// What each mark's stretch asked the device to keep: item `i` is of the stretch that ends with mark `i`, and the last
    /// of what came after all marks, as in [`Trace::between_marks`].
    pub fn kept_between_marks(&self) -> Vec<Kept> {
        let mut ledger = Ledger::default();
        let mut stretches = Vec::new();
        for (index, event) in self.events.iter().enumerate() {
            ledger.enter(index, event);
            stretches.extend(event.kind.lines().iter().map(|_| ledger.cut(index)));
        }
        stretches.push(ledger.cut(self.events.len()));
        stretches
    }
}

/// What is not yet on the device.
#[derive(Default)]
struct Ledger {
    /// Of each file the writes that no sync has covered: the index of the event, and the bytes.
    unkept: BTreeMap<FileId, Vec<(usize, u64)>>,
    /// Files whose length or space changed since their last sync, by the index of the event.
    resized: BTreeMap<FileId, usize>,
    /// The last change of a name since the last sync of a directory.
    renamed: Option<usize>,
    /// The last such change that may bring an old state back.
    unnamed: Option<usize>,
    /// Files that came into being in the stretch and were never synced: nothing of them need be kept.
    fleeting: BTreeSet<FileId>,
    /// Files whose changes are not seen, for they are stored through a mapping.
    mapped: BTreeSet<FileId>,
    stretch: Kept,
    /// The index of the first event of the stretch.
    begun: usize,
}

impl Ledger {
    fn cut(&mut self, index: usize) -> Kept {
        let begun = std::mem::replace(&mut self.begun, index);
        let unkept = self.unkept.values().flatten().filter(|(written, _)| *written >= begun);
        self.stretch.unkept_bytes = unkept.map(|(_, bytes)| bytes).sum();
        self.stretch.name_is_unkept = self.unnamed.is_some_and(|changed| changed >= begun);
        self.fleeting.clear();
        std::mem::take(&mut self.stretch)
    }

    fn enter(&mut self, index: usize, event: &Event) {
        match &event.kind {
            EventKind::Write { length, synchronous: true, .. } => {
                self.stretch.bytes += length;
                self.stretch.awaited += u64::from(*length > 0);
                self.stretch.synchronous_writes += u64::from(*length > 0);
            }
            EventKind::Write { file, length, synchronous: false, .. } => {
                self.stretch.bytes += length;
                self.unkept.entry(*file).or_default().push((index, *length));
            }
            EventKind::Sync { file, kind } => self.sync(event.began, *file, *kind),
            EventKind::MapShared { file, .. } => {
                self.mapped.insert(*file);
            }
            EventKind::Truncate { file, .. } | EventKind::Allocate { file, .. } => {
                self.resized.insert(*file, index);
            }
            EventKind::Create { file, .. } => {
                self.resized.insert(*file, index);
                self.renamed = Some(index);
                self.fleeting.insert(*file);
            }
            EventKind::MakeDirectory { .. } | EventKind::Symlink { .. } | EventKind::Link { .. } => {
                self.renamed = Some(index);
            }
            EventKind::Rename { file, .. } | EventKind::Unlink { file, .. } => {
                self.renamed = Some(index);
                if !self.fleeting.contains(file) {
                    self.unnamed = Some(index);
                }
            }
            EventKind::Mark { .. } | EventKind::Unsupported { .. } => {}
        }
    }

    /// `began` is the index of the first event that the sync need not cover: it ran alongside.
    fn sync(&mut self, began: usize, file: FileId, kind: SyncKind) {
        let changed = match kind {
            SyncKind::Range { .. } => return,
            SyncKind::Directory => {
                self.unnamed.take_if(|changed| *changed < began);
                self.renamed.take_if(|changed| *changed < began).is_some()
            }
            SyncKind::FileSystem => {
                let files: Vec<FileId> = self.unkept.keys().chain(self.resized.keys()).copied().collect();
                self.unnamed.take_if(|changed| *changed < began);
                let renamed = self.renamed.take_if(|changed| *changed < began).is_some();
                let settled: Vec<FileId> =
                    files.into_iter().filter(|file| self.settle(*file, began)).collect();
                renamed || !settled.is_empty()
            }
            SyncKind::Fsync | SyncKind::Fdatasync | SyncKind::Msync { .. } => {
                let is_mapped = self.mapped.contains(&file);
                self.stretch.mapped_syncs += u64::from(is_mapped);
                self.fleeting.remove(&file);
                self.settle(file, began) || is_mapped
            }
        };
        self.stretch.awaited += u64::from(changed);
        self.stretch.idle_syncs += u64::from(!changed);
    }

    /// Takes a file's changes from before `began` off the ledger, and says whether there were any.
    fn settle(&mut self, file: FileId, began: usize) -> bool {
        let writes = self.unkept.entry(file).or_default();
        let before = writes.len();
        writes.retain(|(index, _)| *index >= began);
        let resized = self.resized.get(&file).is_some_and(|index| *index < began);
        if resized {
            self.resized.remove(&file);
        }
        writes.len() < before || resized
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::EventKind::{Create, MapShared, Mark, Sync, Unlink, Write};
    use std::os::unix::process::ExitStatusExt;
    use std::path::PathBuf;
    use std::process::ExitStatus;

    const LOG: FileId = FileId(1);
    const DUMMY: FileId = FileId(2);

    /// The first stretch of a trace of these events, each of which begins when the one before it has ended.
    fn kept(events: Vec<EventKind>) -> Kept {
        stretches(events)[0]
    }

    fn stretches(events: Vec<EventKind>) -> Vec<Kept> {
        let event = |(index, kind)| Event { began: index, kind };
        trace(events.into_iter().enumerate().map(event).collect()).kept_between_marks()
    }

    fn trace(events: Vec<Event>) -> Trace {
        Trace { events, files: Vec::new(), exit: ExitStatus::from_raw(0), killed: false }
    }

    fn write(file: FileId, length: u64) -> EventKind {
        Write { file, offset: 0, length, synchronous: false, bytes: None }
    }

    fn sync(file: FileId) -> EventKind {
        Sync { file, kind: SyncKind::Fdatasync }
    }

    fn mark() -> EventKind {
        Mark { lines: vec!["done".into()] }
    }

    #[test]
    fn a_sync_after_the_bytes_keeps_them() {
        let kept = kept(vec![write(LOG, 4120), sync(LOG), mark()]);
        assert_eq!(kept, Kept { awaited: 1, bytes: 4120, ..Kept::default() });
        assert!(kept.covers(4120) && !kept.covers(4121));
    }

    #[test]
    fn no_sync_of_what_did_not_change_keeps_anything() {
        let idle = kept(vec![write(LOG, 4120), sync(DUMMY), mark()]);
        assert_eq!((idle.awaited, idle.idle_syncs, idle.unkept_bytes), (0, 1, 4120));
        assert!(!idle.covers(0));
        let again = stretches(vec![write(LOG, 1), sync(LOG), mark(), sync(LOG), mark()]);
        assert_eq!((again[1].awaited, again[1].idle_syncs), (0, 1));
    }

    #[test]
    fn a_sync_of_another_file_leaves_most_bytes_unkept() {
        let kept = kept(vec![write(LOG, 4120), write(DUMMY, 1), sync(DUMMY), mark()]);
        assert_eq!((kept.awaited, kept.unkept_bytes), (1, 4120));
        assert!(kept.covers(1) && !kept.covers(100));
    }

    #[test]
    fn a_sync_that_came_after_the_reply_is_too_late() {
        let late = stretches(vec![write(LOG, 4120), mark(), sync(LOG), write(LOG, 4120), mark()]);
        assert!(!late[0].covers(100));
        assert_eq!((late[1].awaited, late[1].unkept_bytes), (1, 4120), "it kept what the first had written");
        assert!(!late[1].covers(100));
    }

    #[test]
    fn a_sync_need_not_cover_what_ran_alongside() {
        let alongside = Event { began: 0, kind: sync(LOG) };
        let written = Event { began: 0, kind: write(LOG, 10) };
        let kept = trace(vec![written, alongside, Event { began: 2, kind: mark() }]).kept_between_marks()[0];
        assert_eq!((kept.awaited, kept.unkept_bytes), (0, 10));
    }

    #[test]
    fn starting_to_write_is_no_sync() {
        let range = SyncKind::Range { offset: 0, length: 0, awaited: true };
        let kept = kept(vec![write(LOG, 10), Sync { file: LOG, kind: range }, mark()]);
        assert_eq!((kept.awaited, kept.idle_syncs, kept.unkept_bytes), (0, 0, 10));
    }

    #[test]
    fn a_synchronous_write_is_awaited_and_kept() {
        let write = Write { file: LOG, offset: 0, length: 8, synchronous: true, bytes: None };
        let kept = kept(vec![write, mark()]);
        assert_eq!(kept, Kept { awaited: 1, synchronous_writes: 1, bytes: 8, ..Kept::default() });
        assert!(kept.covers(8));
    }

    #[test]
    fn a_sync_of_a_mapped_file_may_keep_what_is_not_seen() {
        let map = MapShared { file: LOG, offset: 0, length: 4096 };
        assert!(kept(vec![map, sync(LOG), mark()]).covers(100));
    }

    /// As an engine does that logs records and brings its pages up to date later.
    #[test]
    fn pages_that_wait_for_a_checkpoint_do_not_take_from_the_log() {
        let kept = kept(vec![write(LOG, 120), sync(LOG), write(DUMMY, 4096), mark()]);
        assert_eq!((kept.awaited, kept.unkept_bytes), (1, 4096));
        assert!(kept.covers(120));
    }

    #[test]
    fn a_journals_name_is_to_be_kept_and_that_of_a_file_that_nobody_synced_is_not() {
        let create = |file| Create { file, path: PathBuf::from("x") };
        let unlink = |file| Unlink { file, path: PathBuf::from("x") };
        let directory = Sync { file: FileId::ROOT, kind: SyncKind::Directory };
        let journal = vec![create(LOG), write(LOG, 9), sync(LOG), unlink(LOG)];
        assert!(kept([journal.clone(), vec![mark()]].concat()).name_is_unkept);
        assert!(!kept([journal, vec![directory, mark()]].concat()).name_is_unkept);
        let spilled = vec![create(DUMMY), write(DUMMY, 9), unlink(DUMMY), mark()];
        assert!(!kept(spilled).name_is_unkept);
        let there_before = vec![unlink(LOG), mark(), mark()];
        let stretches = stretches(there_before);
        assert!(stretches[0].name_is_unkept && !stretches[1].name_is_unkept, "it is told of once");
    }

    #[test]
    fn a_directory_is_kept_where_a_name_changed() {
        let directory = || Sync { file: FileId::ROOT, kind: SyncKind::Directory };
        let path = PathBuf::from("journal");
        let unlinked = stretches(vec![Unlink { file: LOG, path }, directory(), mark(), directory(), mark()]);
        assert_eq!((unlinked[0].awaited, unlinked[1].awaited, unlinked[1].idle_syncs), (1, 0, 1));
    }

    #[test]
    fn a_whole_file_system_is_kept_at_once() {
        let whole = Sync { file: FileId::ROOT, kind: SyncKind::FileSystem };
        let path = PathBuf::from("log");
        let kept = kept(vec![Create { file: LOG, path }, write(LOG, 9), write(DUMMY, 9), whole, mark()]);
        assert_eq!((kept.awaited, kept.unkept_bytes), (1, 0));
    }
}
