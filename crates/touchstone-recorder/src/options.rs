//! What to record.

use std::path::{Path, PathBuf};

/// What to record.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The directory to watch: files below it, at any depth, are recorded. It must exist.
    pub directory: PathBuf,
    /// Whether events keep the bytes that were written. Counting needs none; exploring crashes does.
    pub keep_bytes: bool,
}

impl Options {
    /// Watches `directory` and keeps no bytes.
    pub fn new(directory: impl AsRef<Path>) -> Options {
        Options { directory: directory.as_ref().to_path_buf(), keep_bytes: false }
    }
}
