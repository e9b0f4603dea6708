//! What the operating system counts: context switches, major faults, bytes read and written.

use std::fs;
use touchstone_protocol::Usage;

/// The counts of the whole process at a moment.
pub(crate) struct Counts {
    usage: Usage,
    /// What reading the counts adds to the bytes read, to be taken off again.
    own_bytes: u64,
}

impl Counts {
    /// Reads the counts now.
    pub(crate) fn now() -> Counts {
        // SAFETY: an all-zero rusage is a valid one: it is made of integers only.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is a valid rusage for the call to fill, and nothing else is touched.
        let status = unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
        assert_eq!(status, 0, "the kernel counts this process");
        // A kernel without I/O accounting has no such file; its bytes then stay 0 for both readings.
        let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
        Counts {
            usage: Usage {
                voluntary_switches: usage.ru_nvcsw as u64,
                involuntary_switches: usage.ru_nivcsw as u64,
                major_faults: usage.ru_majflt as u64,
                read_bytes: field(&io, "rchar: "),
                written_bytes: field(&io, "wchar: "),
            },
            own_bytes: io.len() as u64,
        }
    }

    /// What was counted from `earlier` to here.
    pub(crate) fn since(&self, earlier: &Counts) -> Usage {
        let (now, then) = (&self.usage, &earlier.usage);
        Usage {
            voluntary_switches: now.voluntary_switches - then.voluntary_switches,
            involuntary_switches: now.involuntary_switches - then.involuntary_switches,
            major_faults: now.major_faults - then.major_faults,
            read_bytes: (now.read_bytes - then.read_bytes).saturating_sub(earlier.own_bytes),
            written_bytes: now.written_bytes - then.written_bytes,
        }
    }
}

fn field(io: &str, name: &str) -> u64 {
    io.lines().find_map(|line| line.strip_prefix(name)?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_bytes_are_counted_and_reading_the_counts_is_not() {
        let path = std::env::temp_dir().join(format!("touchstone-usage-{}", std::process::id()));
        let before = Counts::now();
        fs::write(&path, [0; 5000]).unwrap();
        let usage = Counts::now().since(&before);
        fs::remove_file(&path).unwrap();
        assert!(usage.written_bytes >= 5000, "{usage:?}");
        let before = Counts::now();
        assert_eq!(Counts::now().since(&before).read_bytes, 0);
    }
}
