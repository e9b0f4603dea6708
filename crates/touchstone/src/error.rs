//! The one error of this crate: what failed, on which input, and the remedy.

use std::fmt;

/// Why a stage could not do its work. A subject that fails is data and never ends up here.
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
    /// A file of the user's (suite, kit, plan) says something that makes no sense.
    Input,
    /// A record cannot be read: damaged, missing, or of a version to come.
    Record,
    /// The operating system refused.
    Io,
}

impl Error {
    /// An error in a file the user wrote.
    pub fn input(message: impl Into<String>) -> Error {
        Error { kind: ErrorKind::Input, message: message.into() }
    }

    /// An error in a record.
    pub fn record(message: impl Into<String>) -> Error {
        Error { kind: ErrorKind::Record, message: message.into() }
    }

    /// An error of the operating system, with what was being done.
    pub fn io(doing: impl fmt::Display, error: &std::io::Error) -> Error {
        Error { kind: ErrorKind::Io, message: format!("{doing}: {error}") }
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

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
