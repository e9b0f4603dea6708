//! The flush probe: what one small durable write costs on the disk that is measured, beside the subjects.
//!
//! Commit times mean little on a disk that others share; in flush equivalents they do. So the probe writes as the
//! best possible commit would: over a page that has its place on the disk already, then one `fdatasync`. It does so several times
//! in a row, as commits are: the first flush of a disk that rested takes up to four times as long as the second.

use crate::error::{Error, ErrorKind, Result};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tempfile::NamedTempFile;
use touchstone::statistics::quantile;

/// What is written before each flush.
pub const PAGE_BYTES: usize = 4096;

/// Flushes of a row. The first wakes the disk, and is not timed.
pub const ROW: usize = 6;

/// How the probe's file is called while it is there.
pub(crate) const FILE_PREFIX: &str = ".touchstone-flush-";

/// A file of one page in the directory that is measured; gone when dropped.
#[derive(Debug)]
pub struct FlushProbe {
    directory: PathBuf,
    // Named, unlike other scratch files: some filesystems do less when they sync a file that has no name.
    file: NamedTempFile,
    page: [u8; PAGE_BYTES],
}

impl FlushProbe {
    /// Makes the file and gives its page a place on the disk, so that no flush allocates anything.
    ///
    /// # Errors
    /// When the directory is not there or cannot be written; the message names it and the remedy.
    pub fn new(directory: &Path) -> Result<FlushProbe> {
        let failed = |error: io::Error| cannot_write(directory, &error);
        let file = tempfile::Builder::new().prefix(FILE_PREFIX).tempfile_in(directory).map_err(failed)?;
        let mut probe = FlushProbe { directory: directory.to_owned(), file, page: [0; PAGE_BYTES] };
        probe.overwrite().and_then(|()| probe.file().sync_all()).map_err(failed)?;
        Ok(probe)
    }

    /// Overwrites the page and flushes it, timed together.
    ///
    /// # Errors
    /// When the system cannot write or flush.
    pub fn flush_ns(&mut self) -> Result<u64> {
        let begun = Instant::now();
        let flushed = self.overwrite().and_then(|()| self.file().sync_data());
        let elapsed_ns = begun.elapsed().as_nanos() as u64;
        flushed.map_err(|error| cannot_write(&self.directory, &error))?;
        Ok(elapsed_ns)
    }

    /// The median flush of a row, in nanoseconds.
    ///
    /// # Errors
    /// When the system cannot write or flush.
    pub fn row_ns(&mut self) -> Result<u64> {
        self.flush_ns()?;
        let mut latencies_ns = Vec::with_capacity(ROW - 1);
        for _ in 1..ROW {
            latencies_ns.push(self.flush_ns()? as f64);
        }
        Ok(quantile(&latencies_ns, 0.5) as u64)
    }

    /// How many flushes the disks complete for one that is asked of them, by those completed during a row. Rounded down, for others'
    /// flushes are counted too: what one commit must move the counter by is never more than what one flush moves it by. Flushes in a
    /// row wait for each other, so that fewer than the row are not its own.
    pub fn flushes_each(completed: u64) -> u64 {
        completed / ROW as u64
    }

    fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Writes other bytes each time: a page that stays the same is one that a clever disk need not write.
    fn overwrite(&mut self) -> io::Result<()> {
        let byte = self.page[0].wrapping_add(1);
        self.page.fill(byte);
        self.file().write_all_at(&self.page, 0)
    }
}

/// Why a directory cannot be measured, and what to do about it.
pub(crate) fn cannot_write(directory: &Path, error: &io::Error) -> Error {
    let (kind, shown) = (error.kind(), directory.display());
    let input = |message: String| Error::new(ErrorKind::Input, message);
    match kind {
        io::ErrorKind::NotFound if !directory.exists() => {
            input(format!("cannot measure {shown}: it is not there; make it, or name another directory"))
        }
        io::ErrorKind::NotADirectory => {
            input(format!("cannot measure {shown}: it is no directory; name one"))
        }
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            input(format!(
                "cannot measure {shown}: no file can be made there ({kind}); name a directory that takes files"
            ))
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::new(
            ErrorKind::Io,
            format!("cannot measure {shown}: {kind}; free some space, or name a directory on another disk"),
        ),
        _ => Error::io(format_args!("cannot measure {shown}"), error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_flush_takes_time_and_the_file_is_gone_afterwards() {
        let directory = tempfile::tempdir().unwrap();
        let mut probe = FlushProbe::new(directory.path()).unwrap();
        assert_eq!(fs::metadata(probe.file.path()).unwrap().len(), PAGE_BYTES as u64);
        assert!(probe.flush_ns().unwrap() > 0);
        assert!(probe.row_ns().unwrap() > 0);
        assert_eq!(fs::metadata(probe.file.path()).unwrap().len(), PAGE_BYTES as u64, "it overwrites");
        drop(probe);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn flushes_of_neighbours_make_no_flush_into_two() {
        let each = [0, 2, 3, 5, 6, 9, 11, 12, 17, 18].map(FlushProbe::flushes_each);
        assert_eq!(each, [0, 0, 0, 0, 1, 1, 1, 2, 2, 3]);
    }

    #[test]
    fn a_directory_that_is_not_there_is_named_with_the_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing");
        let error = FlushProbe::new(&missing).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        assert!(error.to_string().contains(missing.to_str().unwrap()), "{error}");
        assert!(error.to_string().contains("make it, or name another"), "{error}");
    }

    #[test]
    fn a_file_is_no_directory() {
        let file = NamedTempFile::new().unwrap();
        let error = FlushProbe::new(file.path()).unwrap_err();
        assert!(error.to_string().contains("it is no directory"), "{error}");
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_named_with_the_remedy() {
        // Nobody can make files here, not even root.
        let directory = Path::new("/proc/self/task");
        let error = FlushProbe::new(directory).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        assert!(error.to_string().contains("/proc/self/task: no file can be made there"), "{error}");
    }
}
