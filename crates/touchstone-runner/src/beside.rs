//! Benches that measure on one machine at the same time: they disturb each other, so each is told of the others.
//!
//! It refuses nothing, and where the temporary folder cannot be used nobody is told. A file there has a line for each
//! bench; who measures holds a shared lock on it, which dies with the process. Who can have it alone begins it anew.

use rustix::fs::{FlockOperation, OFlags, flock};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The file, for all users of the machine who have the same temporary folder.
const NAME: &str = "touchstone.lock";

/// The most that is believed of a file that anybody may write.
const BYTES_MAX: u64 = 64 << 10;

/// How often a lock is asked for that somebody else holds for a moment.
const TRIES: usize = 1_000;

/// One bench among those that may be there.
#[derive(Debug)]
pub struct Bench {
    file: Option<File>,
    /// The lines before its own.
    before: usize,
    process: u32,
}

impl Bench {
    /// Says that this process measures from now on.
    pub fn announce() -> Bench {
        Bench::announce_in(&std::env::temp_dir(), std::process::id())
    }

    fn announce_in(folder: &Path, process: u32) -> Bench {
        announce(folder, process).unwrap_or(Bench { file: None, before: 0, process })
    }

    /// The processes of other benches that are there now and were there before this one.
    pub fn met(&mut self) -> BTreeSet<u32> {
        let before = self.before;
        self.others().into_iter().take(before).filter(|process| is_alive(*process)).collect()
    }

    /// The processes of benches that came after this one, whether they are still there or not.
    pub fn came(&mut self) -> BTreeSet<u32> {
        let (before, own) = (self.before, self.process);
        // Two that came at once may each have written before the other's line.
        self.others().into_iter().skip(before).filter(|process| *process != own).collect()
    }

    /// All that ever said that they measure, this one among them, since one had the file alone.
    fn others(&mut self) -> Vec<u32> {
        self.file.as_mut().and_then(|file| processes(file).ok()).unwrap_or_default()
    }
}

fn announce(folder: &Path, process: u32) -> io::Result<Bench> {
    let mut file = open(&folder.join(NAME))?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
        file.set_len(0)?;
    }
    let shared = (0..TRIES).any(|_| {
        let locked = flock(&file, FlockOperation::NonBlockingLockShared).is_ok();
        if !locked {
            std::thread::yield_now();
        }
        locked
    });
    if !shared {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    let before = processes(&mut file)?.len();
    file.write_all(format!("{process}\n").as_bytes())?;
    Ok(Bench { file: Some(file), before, process })
}

/// Another user's file in a shared folder may be opened, and not be asked to be made.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).custom_flags(OFlags::NOFOLLOW.bits() as i32);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let file = options.create(true).open(path)?;
            file.set_permissions(Permissions::from_mode(0o666))?;
            Ok(file)
        }
        opened => opened,
    }
}

fn processes(file: &mut File) -> io::Result<Vec<u32>> {
    let mut text = String::new();
    file.rewind()?;
    file.take(BYTES_MAX).read_to_string(&mut text)?;
    Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
}

fn is_alive(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes that are there as long as the test is: itself, and the first.
    fn living() -> [u32; 2] {
        [std::process::id(), 1]
    }

    #[test]
    fn two_benches_are_told_of_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = living();
        let mut first = Bench::announce_in(folder.path(), one);
        assert_eq!((first.met(), first.came()), (BTreeSet::new(), BTreeSet::new()));
        let mut second = Bench::announce_in(folder.path(), two);
        assert_eq!((second.met(), second.came()), (BTreeSet::from([one]), BTreeSet::new()));
        drop(second);
        assert_eq!(first.came(), BTreeSet::from([two]), "that it has left changes nothing");
    }

    #[test]
    fn who_is_alone_begins_anew_whatever_others_left() {
        let folder = tempfile::tempdir().unwrap();
        drop(Bench::announce_in(folder.path(), 1));
        std::fs::write(folder.path().join(NAME), "1\nrubbish\n\u{1b}[2J\n").unwrap();
        let mut bench = Bench::announce_in(folder.path(), std::process::id());
        assert_eq!((bench.met(), bench.came()), (BTreeSet::new(), BTreeSet::new()));
    }

    #[test]
    fn a_folder_that_cannot_be_used_tells_nobody() {
        let mut bench = Bench::announce_in(Path::new("/no/such"), 1);
        assert_eq!((bench.met(), bench.came()), (BTreeSet::new(), BTreeSet::new()));
    }
}
