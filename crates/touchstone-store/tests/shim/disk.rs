//! A disk that loses power: what was synced is there; of what was not, nothing, all, or any of it, down to sectors.
//! As a journalling file system does, a sync of one file makes deletions before it last; a file is there from its first
//! sync on, because SQLite and the store sync the directory with it.

use super::Event;
use crate::workload::Random;
use std::collections::BTreeMap;
use std::path::Path;

/// What a disk writes as a whole.
const SECTOR: usize = 512;

/// What becomes of writes that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsynced {
    Lost,
    Kept,
    /// Each is kept or lost.
    Some,
    /// As `Some`, and one that is kept may lack any of its sectors.
    Torn,
}

/// The disk's files as events happen.
#[derive(Default)]
pub struct Disk {
    files: BTreeMap<String, File>,
    events: usize,
}

#[derive(Default)]
struct File {
    synced: Option<Vec<u8>>,
    /// What was not synced, with the event's number.
    pending: Vec<(usize, Change)>,
}

#[derive(Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
    Delete,
}

impl Change {
    fn apply(&self, file: &mut Option<Vec<u8>>) {
        match self {
            Change::Write(offset, bytes) => write(file, *offset, bytes),
            Change::Truncate(size) => file.get_or_insert_default().resize(*size, 0),
            Change::Delete => *file = None,
        }
    }

    /// Applies what is left of a torn write.
    fn tear(&self, file: &mut Option<Vec<u8>>, random: &mut Random) {
        let Change::Write(offset, bytes) = self else { return self.apply(file) };
        for (at, sector) in bytes.chunks(SECTOR).enumerate() {
            if random.below(4) > 0 {
                write(file, offset + at * SECTOR, sector);
            }
        }
    }
}

fn write(file: &mut Option<Vec<u8>>, offset: usize, bytes: &[u8]) {
    let file = file.get_or_insert_default();
    let end = offset + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[offset..end].copy_from_slice(bytes);
}

impl Disk {
    /// The next event happens.
    pub fn advance(&mut self, event: &Event) {
        let number = self.events;
        self.events += 1;
        match event {
            Event::Write { file, offset, bytes } => {
                self.pend(file, number, Change::Write(*offset, bytes.clone()));
            }
            Event::Truncate { file, size } => self.pend(file, number, Change::Truncate(*size)),
            Event::Delete { file } => self.pend(file, number, Change::Delete),
            Event::Sync { file, covers } => self.sync(file, *covers),
            Event::Begin { .. } | Event::Acknowledge { .. } => {}
        }
    }

    fn pend(&mut self, file: &str, number: usize, change: Change) {
        self.files.entry(file.to_owned()).or_default().pending.push((number, change));
    }

    fn sync(&mut self, synced: &str, covers: usize) {
        for (name, file) in &mut self.files {
            let covered = file.pending.partition_point(|(number, _)| *number < covers);
            let is_deletion = |(_, change): &(usize, Change)| matches!(change, Change::Delete);
            let lasting = if name == synced {
                covered
            } else {
                file.pending[..covered].iter().rposition(is_deletion).map_or(0, |at| at + 1)
            };
            for (_, change) in file.pending.drain(..lasting) {
                change.apply(&mut file.synced);
            }
        }
    }

    /// Writes the files as they are found after the power was lost now.
    pub fn save(&self, directory: &Path, unsynced: Unsynced, random: &mut Random) {
        for (name, file) in &self.files {
            let mut bytes = file.synced.clone();
            for (_, change) in &file.pending {
                match unsynced {
                    Unsynced::Lost => {}
                    Unsynced::Kept => change.apply(&mut bytes),
                    Unsynced::Some | Unsynced::Torn if random.below(2) == 0 => {}
                    Unsynced::Some => change.apply(&mut bytes),
                    Unsynced::Torn => change.tear(&mut bytes, random),
                }
            }
            if let Some(bytes) = bytes {
                std::fs::write(directory.join(name), bytes).expect("there is room");
            }
        }
    }
}
