//! The one error type of this crate. A subject that fails is not an error; only the recorder failing is.

use std::fmt;
use std::io;

/// Why a recording could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<io::Error>,
}

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// This machine does not let the recorder work: wrong platform, or `ptrace` or seccomp refused.
    Unavailable,
    /// The directory to watch cannot be used.
    Directory,
    /// The program could not be started.
    Start,
    /// The recorder lost hold of the program while it ran.
    Trace,
    /// The trace outgrew its limit.
    Limit,
    /// The program did not die within the bound although it was killed.
    Stuck,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), source: None }
    }

    #[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), allow(dead_code))]
    pub(crate) fn caused_by(kind: ErrorKind, message: impl Into<String>, source: io::Error) -> Error {
        Error { kind, message: message.into(), source: Some(source) }
    }

    /// What kind of failure this is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => write!(formatter, "{}: {source}", self.message),
            None => formatter.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
