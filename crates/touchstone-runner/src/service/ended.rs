//! How the load generator ended: what its exit status says of the service, and what of the lab.

use crate::error::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// What the generator is told makes no sense.
pub(super) const USAGE: i32 = 64;
/// It failed in a way that it did not foresee.
const SOFTWARE: i32 = 70;
/// The operating system refused it something, as on a full disk.
const IO: i32 = 74;

/// Whether the generator itself could not go on, which is no fault of the service, and how. A service that is not there is one.
pub fn failed_by_itself(ended: ExitStatus) -> Option<ErrorKind> {
    match ended.code() {
        Some(USAGE) => Some(ErrorKind::Input),
        Some(IO) => Some(ErrorKind::Io),
        Some(SOFTWARE) => Some(ErrorKind::Unforeseen),
        None if ended.signal().is_some() => Some(ErrorKind::Unforeseen),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generator_that_fails_is_told_from_a_service_that_is_not_there() {
        let exited = |code: i32| failed_by_itself(ExitStatus::from_raw(code << 8));
        assert_eq!([0, 1, 3, 69, 130].map(exited), [None; 5]);
        let own = [ErrorKind::Input, ErrorKind::Unforeseen, ErrorKind::Io];
        assert_eq!([64, 70, 74].map(exited), own.map(Some));
        assert_eq!(failed_by_itself(ExitStatus::from_raw(libc::SIGKILL)), Some(ErrorKind::Unforeseen));
    }
}
