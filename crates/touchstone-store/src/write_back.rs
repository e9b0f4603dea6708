//! Has the system write the log to the disk piece by piece, before a checkpoint flushes it. The system ends a write in an interrupt,
//! page after page, on whichever processor the disk's queue has: of a megabyte at once that took 0.2 ms from a commit there, with
//! pieces of 128 KiB nothing that is seen among other commits.

use std::path::Path;

/// The log, open to be written back. Elsewhere than on Linux it is left to the flush.
pub(crate) struct WriteBack {
    #[cfg(target_os = "linux")]
    log: Option<std::fs::File>,
}

impl WriteBack {
    /// Of the log at that path. Where it cannot be opened nothing is lost: the flush writes it.
    #[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "there is no such call"))]
    pub(crate) fn of(log: &Path) -> WriteBack {
        WriteBack {
            #[cfg(target_os = "linux")]
            log: std::fs::File::open(log).ok(),
        }
    }

    /// Writes bytes back that the system has, and waits for them. A write that fails is told to the flush, which asks of the same file.
    #[cfg(target_os = "linux")]
    pub(crate) fn pieces(&self, from: u64, to: u64) {
        use std::os::fd::AsRawFd as _;
        /// Bytes of a piece.
        const PIECE: u64 = 128 << 10;
        const WRITE_AND_WAIT: u32 = libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
        let Some(log) = &self.log else { return };
        let mut at = from;
        while at < to {
            let bytes = PIECE.min(to - at);
            let (Ok(offset), Ok(length)) = (at.try_into(), bytes.try_into()) else { return };
            // SAFETY: the file is open, and the call reads no memory of the process.
            if unsafe { libc::sync_file_range(log.as_raw_fd(), offset, length, WRITE_AND_WAIT) } != 0 {
                return;
            }
            at += bytes;
        }
    }

    /// There is no such call.
    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "it is that of Linux")]
    pub(crate) fn pieces(&self, _from: u64, _to: u64) {}
}
