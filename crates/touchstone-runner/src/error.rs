//! The runner's one error. A subject that fails is data in the record; only the lab failing ends up here.

use std::fmt;

/// Why the lab could not go on.
#[derive(Debug)]
#[non_exhaustive]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

/// What went wrong, for callers that decide on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file of the user's makes no sense.
    Input,
    /// A kit or a tool that it is built with is missing.
    Missing,
    /// A driver could not be built.
    Build,
    /// The operating system refused; a full disk is one of these.
    Io,
    /// The user asked to stop.
    Interrupted,
    /// The lab, or a program of its own, failed in a way that nobody foresaw.
    Unforeseen,
}

impl Error {
    /// An error of a kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into() }
    }

    /// An error of the operating system, with what was being done.
    pub fn io(doing: impl fmt::Display, error: &std::io::Error) -> Error {
        let remedy = match error.kind() {
            std::io::ErrorKind::StorageFull => {
                ": free some space, or give another folder with --out and --scratch"
            }
            _ => "",
        };
        Error::new(ErrorKind::Io, format!("{doing}: {error}{remedy}"))
    }

    /// An error of the operating system while something was written. `remedy` is another place for it, or another way to it.
    pub fn unwritable(doing: impl fmt::Display, error: &std::io::Error, remedy: &str) -> Error {
        use std::io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let remedy = match error.kind() {
            StorageFull | QuotaExceeded => format!(": free some space, or {remedy}"),
            PermissionDenied | ReadOnlyFilesystem => format!(": {remedy}"),
            _ => String::new(),
        };
        Error::new(ErrorKind::Io, format!("{doing}: {error}{remedy}"))
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<touchstone::Error> for Error {
    fn from(error: touchstone::Error) -> Error {
        let kind = match error.kind() {
            touchstone::ErrorKind::Io => ErrorKind::Io,
            _ => ErrorKind::Input,
        };
        Error::new(kind, error.to_string())
    }
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
