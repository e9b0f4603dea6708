//! SQLite's result codes as the kinds of failure that the lab tells apart.

use rusqlite::ffi;
use std::ffi::c_int;
use touchstone_kit::{Failure, FailureKind, failure};

/// The kind of failure that a result code stands for, extended or not.
pub fn failure_kind(code: c_int) -> FailureKind {
    match code & 0xff {
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => FailureKind::Busy,
        ffi::SQLITE_FULL => FailureKind::Full,
        ffi::SQLITE_IOERR | ffi::SQLITE_CANTOPEN | ffi::SQLITE_READONLY | ffi::SQLITE_PERM => FailureKind::Io,
        ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB => FailureKind::Corrupt,
        _ => FailureKind::Other,
    }
}

/// The error of drivers on rusqlite: the library's own, or what it has no error for.
#[derive(Debug)]
pub enum Error {
    /// From rusqlite.
    Library(rusqlite::Error),
    /// From the kit, such as a setting without meaning.
    Kit(Failure),
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Error {
        Error::Library(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        Error::Kit(failure)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::Kit(failure) => failure,
            Error::Library(error) => {
                let code = error.sqlite_error().map_or(ffi::SQLITE_ERROR, |error| error.extended_code);
                failure(failure_kind(code), error.to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_codes_are_of_their_primary_codes_kind() {
        assert_eq!(failure_kind(ffi::SQLITE_BUSY_SNAPSHOT), FailureKind::Busy);
        assert_eq!(failure_kind(ffi::SQLITE_IOERR_FSYNC), FailureKind::Io);
        assert_eq!(failure_kind(ffi::SQLITE_NOTADB), FailureKind::Corrupt);
        assert_eq!(failure_kind(ffi::SQLITE_CONSTRAINT_UNIQUE), FailureKind::Other);
    }
}
