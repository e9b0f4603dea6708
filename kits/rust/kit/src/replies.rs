//! Where replies go: what was standard output. A driver or a library that prints is no reply; it prints to standard error.

use std::fs::File;
use std::io::{self, BufWriter};
use std::os::fd::AsFd;

/// Takes standard output for the replies, and leaves standard error in its place.
pub(crate) fn take() -> io::Result<BufWriter<File>> {
    let replies = io::stdout().as_fd().try_clone_to_owned()?;
    // SAFETY: both are numbers of descriptors, and nothing in this process owns either of the two.
    if unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(BufWriter::new(File::from(replies)))
}
