//! The file of pages: page k holds the record of key k.

use crate::page::Page;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use touchstone_kit::{Failure, FailureKind, Row, failure};

/// What is read or written at once where many pages are wanted.
const BYTES_AT_ONCE: usize = 1 << 20;

/// A file of pages of one size.
pub struct PageFile {
    file: File,
    path: PathBuf,
    page_bytes: usize,
}

impl PageFile {
    /// Opens the file in a directory, or makes it.
    ///
    /// # Errors
    /// When the system refuses, or the file is no whole number of pages.
    pub fn open(directory: &Path, page_bytes: usize, create: bool) -> Result<PageFile, Failure> {
        let path = directory.join("pages.data");
        let file = OpenOptions::new().read(true).write(true).create_new(create).open(&path);
        let file = PageFile { file: file.map_err(|error| failed(&path, &error))?, path, page_bytes };
        let bytes = file.bytes()?;
        if bytes % page_bytes as u64 != 0 {
            let message = format!(
                "{}: {bytes} bytes are no whole number of pages of {page_bytes}: it was cut off, or made with another `page_size_bytes`",
                file.path.display()
            );
            return Err(failure(FailureKind::Corrupt, message));
        }
        Ok(file)
    }

    /// How many pages it has.
    ///
    /// # Errors
    /// When the system does not tell its length.
    pub fn pages(&self) -> Result<u64, Failure> {
        Ok(self.bytes()? / self.page_bytes as u64)
    }

    fn bytes(&self) -> Result<u64, Failure> {
        Ok(self.file.metadata().map_err(|error| failed(&self.path, &error))?.len())
    }

    /// How many bytes a page has.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// Reads a page and checks it.
    ///
    /// # Errors
    /// When the system refuses, or the page is not there or damaged.
    pub fn read(&self, number: u64) -> Result<Page, Failure> {
        let mut bytes = vec![0; self.page_bytes].into_boxed_slice();
        let offset = number * self.page_bytes as u64;
        self.file.read_exact_at(&mut bytes, offset).map_err(|error| failed(&self.path, &error))?;
        Page::check(bytes, number)
    }

    /// Writes the pages of rows at their keys.
    ///
    /// # Errors
    /// When the system refuses, or a value is longer than a page.
    pub fn write(&self, rows: &[&Row]) -> Result<(), Failure> {
        let at_once = pages_at_once(self.page_bytes).min(rows.len());
        let mut buffer = vec![0; at_once * self.page_bytes];
        write_runs(&mut buffer, self.page_bytes, rows, |bytes, offset| {
            self.file.write_all_at(bytes, offset).map_err(|error| failed(&self.path, &error))
        })
    }
}

/// How many pages are read or written at once where many are wanted, which nobody times.
pub(crate) fn pages_at_once(page_bytes: usize) -> usize {
    (BYTES_AT_ONCE / page_bytes).max(1)
}

/// The number of the page of that key.
pub(crate) fn number_of(key: i64) -> Result<u64, Failure> {
    let refused = |_| failure(FailureKind::Unsupported, format!("key {key}: pages are numbered from 0"));
    u64::try_from(key).map_err(refused)
}

/// Gives the pages of rows to `write`, as many of those that follow each other as the buffer has room for, with their place in the file.
pub(crate) fn write_runs(
    buffer: &mut [u8],
    page_bytes: usize,
    rows: &[&Row],
    mut write: impl FnMut(&[u8], u64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let at_once = (buffer.len() / page_bytes).max(1);
    let follows = |one: &&Row, next: &&Row| one.key.checked_add(1) == Some(next.key);
    for run in rows.chunk_by(follows).flat_map(|run| run.chunks(at_once)) {
        let bytes = &mut buffer[..run.len() * page_bytes];
        for (page, row) in bytes.chunks_mut(page_bytes).zip(run) {
            Page::write(page, row)?;
        }
        write(bytes, number_of(run[0].key)? * page_bytes as u64)?;
    }
    Ok(())
}

pub(crate) fn failed(path: &Path, error: &io::Error) -> Failure {
    let kind = if error.kind() == io::ErrorKind::StorageFull { FailureKind::Full } else { FailureKind::Io };
    failure(kind, format!("{}: {error}", path.display()))
}
