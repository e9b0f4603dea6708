//! The one error of this crate: what failed, on which input, and the remedy. A request that fails is data and never ends up here.

use std::fmt;

/// Why a run could not begin, or not go on.
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
    /// A scenario, a limit or a result makes no sense.
    Input,
    /// The service is not there, or its answers to a user's setup are no answers.
    Unavailable,
    /// The operating system refused.
    Io,
    /// The user asked to stop before there was anything to tell.
    Interrupted,
}

impl Error {
    /// An error in something the user wrote.
    pub fn input(message: impl Into<String>) -> Error {
        Error { kind: ErrorKind::Input, message: message.into() }
    }

    /// The service is not there, or not ready.
    pub fn unavailable(message: impl Into<String>) -> Error {
        Error { kind: ErrorKind::Unavailable, message: message.into() }
    }

    /// An error of the operating system, with what was being done.
    pub fn io(doing: impl fmt::Display, error: &std::io::Error) -> Error {
        Error { kind: ErrorKind::Io, message: format!("{doing}: {error}") }
    }

    /// The user asked to stop.
    pub fn interrupted(message: impl Into<String>) -> Error {
        Error { kind: ErrorKind::Interrupted, message: message.into() }
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The same error, with the input that it is about before it.
    #[must_use]
    pub fn within(mut self, place: impl fmt::Display) -> Error {
        self.message = format!("{place}: {}", self.message);
        self
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
