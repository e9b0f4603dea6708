//! Exit statuses, those of the lab. The page is `docs/exit-codes.md`.

use crate::error::{Error, ErrorKind};

/// A limit does not hold; without limits, every request failed; or a stream of events was refused or broke.
pub const LIMIT: u8 = 1;
/// The generator went beyond its own limits: the result cannot be believed.
pub const INVALID: u8 = 3;
/// The command line, a scenario or an outcome makes no sense.
pub const USAGE: u8 = 64;
/// The service is not there.
pub const UNAVAILABLE: u8 = 69;
/// The generator failed in a way that it did not foresee.
pub const SOFTWARE: u8 = 70;
/// The operating system refused.
pub const IO: u8 = 74;
/// Ctrl-C or SIGTERM: what was counted so far was told.
pub const INTERRUPTED: u8 = 130;

/// The status for an error.
pub fn of(error: &anyhow::Error) -> u8 {
    for cause in error.chain() {
        if let Some(error) = cause.downcast_ref::<Error>() {
            return match error.kind() {
                ErrorKind::Input => USAGE,
                ErrorKind::Unavailable => UNAVAILABLE,
                ErrorKind::Io => IO,
                ErrorKind::Interrupted => INTERRUPTED,
            };
        }
        if cause.downcast_ref::<std::io::Error>().is_some() {
            return IO;
        }
    }
    SOFTWARE
}

/// The word for a status that tells of an error, as it stands in JSON.
pub fn kind(status: u8) -> &'static str {
    match status {
        USAGE => "usage",
        UNAVAILABLE => "unavailable",
        IO => "io",
        INTERRUPTED => "interrupted",
        _ => "software",
    }
}
