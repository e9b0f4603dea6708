//! Exit statuses, those of the lab. The page is `docs/exit-codes.md`.

use touchstone_store::ErrorKind;

/// The command line makes no sense.
pub const USAGE: u8 = 64;
/// A file that is given is not what it has to be.
pub const DATA: u8 = 65;
/// A file that is given is not there.
pub const NO_INPUT: u8 = 66;
/// The operating system refused.
pub const IO: u8 = 74;

/// The status for an error.
pub fn of(error: &anyhow::Error) -> u8 {
    for cause in error.chain() {
        if let Some(error) = cause.downcast_ref::<touchstone_store::Error>() {
            return match error.kind() {
                ErrorKind::NotFound => NO_INPUT,
                ErrorKind::Foreign | ErrorKind::Damaged | ErrorKind::Encrypted | ErrorKind::Newer => DATA,
                _ => IO,
            };
        }
        if cause.downcast_ref::<std::io::Error>().is_some() || is_of_database(cause) {
            return IO;
        }
    }
    USAGE
}

/// Whether a database refused: whatever that was, it may be mended there. A URL that makes no sense never came so far.
#[cfg(feature = "postgres")]
fn is_of_database(cause: &(dyn std::error::Error + 'static)) -> bool {
    let error = cause.downcast_ref::<tokio_postgres::Error>();
    // Of a URL that makes no sense it says `invalid connection string`, or `invalid configuration`.
    error.is_some_and(|error| !error.to_string().starts_with("invalid con"))
}

#[cfg(not(feature = "postgres"))]
fn is_of_database(_: &(dyn std::error::Error + 'static)) -> bool {
    false
}
