//! What the lab itself sees while a driver works: bytes that its process reads and writes, flushes of the disks, and
//! processes and threads that are made. A driver cannot talk its way out of these.
//!
//! Flushes and new tasks are those of the whole machine. Others can only add to them, so that too few of them prove
//! something, and too many prove nothing.

use std::fs;

/// The system's counters at a moment; none where it does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Bytes that the process has read, from the page cache too.
    pub read_bytes: Option<u64>,
    /// Bytes that it has written.
    pub written_bytes: Option<u64>,
    /// Flushes that all disks have completed.
    pub flushes: Option<u64>,
    /// The number of the task that was made last.
    last_task: Option<u64>,
}

impl Seen {
    /// Looks at the process, and at the disks where `flushes` says so: their counters cost more than the rest.
    pub fn now(process: u32, flushes: bool) -> Seen {
        let io = fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
        let loads = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Seen {
            read_bytes: field(&io, "rchar: "),
            written_bytes: field(&io, "wchar: "),
            flushes: if flushes { flushes_completed() } else { None },
            last_task: loads.split_whitespace().last().and_then(|number| number.parse().ok()),
        }
    }

    /// Bytes read, bytes written and flushes from `earlier` to here.
    pub fn since(&self, earlier: &Seen) -> Seen {
        let between = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        Seen {
            read_bytes: between(self.read_bytes, earlier.read_bytes),
            written_bytes: between(self.written_bytes, earlier.written_bytes),
            flushes: between(self.flushes, earlier.flushes),
            last_task: None,
        }
    }

    /// Tasks that were made from `earlier` to here. Their numbers are given in order, and begin anew at times: none then.
    pub fn tasks_since(&self, earlier: &Seen) -> Option<u64> {
        self.last_task?.checked_sub(earlier.last_task?)
    }
}

/// Flushes that all disks have completed since the system started; none where the kernel does not count them.
pub(crate) fn flushes_completed() -> Option<u64> {
    flushes(&fs::read_to_string("/proc/diskstats").ok()?)
}

/// The sum of the sixteenth counter of each disk, which stands after three words that say which it is. A kernel before
/// 5.5 has none, and that of a partition stays 0.
fn flushes(diskstats: &str) -> Option<u64> {
    let of_disk = |line: &str| line.split_whitespace().nth(18)?.parse::<u64>().ok();
    diskstats.lines().filter_map(of_disk).reduce(|all, disk| all + disk)
}

fn field(io: &str, name: &str) -> Option<u64> {
    io.lines().find_map(|line| line.strip_prefix(name)?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn bytes_of_this_process_are_seen() {
        let before = Seen::now(std::process::id(), false);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[0; 5000]).unwrap();
        let seen = Seen::now(std::process::id(), false).since(&before);
        assert!(seen.written_bytes.is_some_and(|bytes| bytes >= 5000), "{seen:?}");
        assert_eq!(seen.flushes, None, "nobody asked for them");
    }

    #[test]
    fn a_new_thread_is_seen() {
        let before = Seen::now(std::process::id(), false);
        std::thread::spawn(|| ()).join().unwrap();
        let made = Seen::now(std::process::id(), false).tasks_since(&before);
        // Numbers begin anew some time, and then nothing is said.
        assert!(made.is_none_or(|made| made >= 1), "{made:?}");
    }

    #[test]
    fn a_process_that_is_gone_has_no_counters() {
        let seen = Seen::now(u32::MAX, false);
        assert_eq!((seen.read_bytes, seen.written_bytes), (None, None));
    }

    #[test]
    fn flushes_are_summed_over_the_disks() {
        let text = " 254 0 vda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 40 77\n\
                    253 0 zram0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 2 0\n";
        assert_eq!(flushes(text), Some(42));
        assert_eq!(flushes(" 8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n"), None, "an old kernel does not tell");
        assert_eq!(flushes(""), None);
    }
}
