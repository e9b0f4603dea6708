//! Exit statuses, in one place. The page is `docs/exit-codes.md`.
//!
//! A gate speaks with 1 to 4; everything that goes wrong is above those (as in sysexits), so that a CI job can tell
//! a worse candidate from a typing error.

use touchstone_runner::ErrorKind;

/// A gate's candidate is worse.
pub const WORSE: u8 = 1;
/// A gate cannot tell yet.
pub const INCONCLUSIVE: u8 = 2;
/// A gate's null arm moved.
pub const UNTRUSTED: u8 = 3;
/// A search's answer cannot be believed: the load generator came to its own limits. It says so with the same status.
pub const INVALID: u8 = 3;
/// A gate's two sides cannot be compared.
pub const INCOMPARABLE: u8 = 4;
/// The command line, a suite, a plan or a record makes no sense.
pub const USAGE: u8 = 64;
/// A kit, a compiler or another tool is missing, or a driver cannot be built.
pub const UNAVAILABLE: u8 = 69;
/// The lab itself failed in a way it did not foresee.
pub const SOFTWARE: u8 = 70;
/// The operating system refused, as on a full disk.
pub const IO: u8 = 74;
/// Ctrl-C: the record so far is readable and says that it is partial.
pub const INTERRUPTED: u8 = 130;

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

/// The status for an error.
pub fn of(error: &anyhow::Error) -> u8 {
    for cause in error.chain() {
        if let Some(error) = cause.downcast_ref::<touchstone_runner::Error>() {
            return match error.kind() {
                ErrorKind::Input => USAGE,
                ErrorKind::Missing | ErrorKind::Build => UNAVAILABLE,
                ErrorKind::Io => IO,
                ErrorKind::Interrupted => INTERRUPTED,
                _ => SOFTWARE,
            };
        }
        if let Some(error) = cause.downcast_ref::<touchstone::Error>() {
            return match error.kind() {
                touchstone::ErrorKind::Io => IO,
                _ => USAGE,
            };
        }
        if cause.downcast_ref::<std::io::Error>().is_some() {
            return IO;
        }
    }
    SOFTWARE
}
