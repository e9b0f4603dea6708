//! A queue of requests that the kernel shares with the process (io_uring), one at a time: its cost beside that of a call a page.
//! Elsewhere than on Linux there is none.

use std::io;
use touchstone_kit::{Failure, FailureKind, failure};

#[cfg(target_os = "linux")]
pub use linux::Ring;

/// There is none here.
#[cfg(not(target_os = "linux"))]
pub enum Ring {}

#[cfg(not(target_os = "linux"))]
impl Ring {
    /// Makes none.
    ///
    /// # Errors
    /// Always.
    pub fn new() -> Result<Ring, Failure> {
        Err(refusal(&io::Error::from(io::ErrorKind::Unsupported)))
    }

    /// Fills `bytes` from an offset of the file.
    ///
    /// # Errors
    /// Never called.
    pub fn read_exact_at(
        &mut self,
        _file: &std::fs::File,
        _bytes: &mut [u8],
        _offset: u64,
    ) -> io::Result<()> {
        match *self {}
    }

    /// Writes all of `bytes` at an offset of the file.
    ///
    /// # Errors
    /// Never called.
    pub fn write_all_at(&mut self, _file: &std::fs::File, _bytes: &[u8], _offset: u64) -> io::Result<()> {
        match *self {}
    }
}

/// What is said where there is no ring: a system that has none is no failure of the subject.
fn refusal(error: &io::Error) -> Failure {
    let refuses = matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported);
    let kind = if refuses { FailureKind::Unsupported } else { FailureKind::Io };
    let message = format!(
        "setting page_access: uring; this system gives no io_uring ({error}): a setting of its own (kernel.io_uring_disabled), a filter \
         of system calls or its version may be why; leave the profile out"
    );
    failure(kind, message)
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{Failure, io, refusal};
    use io_uring::squeue::Entry;
    use io_uring::{IoUring, opcode, types};
    use std::fs::File;
    use std::os::fd::AsRawFd as _;

    /// Requests are made one after the other; more of them are never under way.
    const REQUESTS: u32 = 1;

    /// A queue that has room for a request.
    pub struct Ring(IoUring);

    impl Ring {
        /// Asks the kernel for a queue.
        ///
        /// # Errors
        /// Where the kernel gives none: it is unsupported where that is the system's choice.
        pub fn new() -> Result<Ring, Failure> {
            IoUring::new(REQUESTS).map(Ring).map_err(|error| refusal(&error))
        }

        /// Fills `bytes` from an offset of the file.
        ///
        /// # Errors
        /// When the system refuses, or the file ends before (`UnexpectedEof`).
        pub fn read_exact_at(&mut self, file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
            let mut done = 0;
            while done < bytes.len() {
                let rest = &mut bytes[done..];
                let read =
                    opcode::Read::new(types::Fd(file.as_raw_fd()), rest.as_mut_ptr(), rest.len() as u32)
                        .offset(offset + done as u64)
                        .build();
                // SAFETY: the file and the bytes are borrowed until the request has ended.
                match unsafe { self.request(&read) }? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    read => done += read,
                }
            }
            Ok(())
        }

        /// Writes all of `bytes` at an offset of the file.
        ///
        /// # Errors
        /// When the system refuses.
        pub fn write_all_at(&mut self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
            let mut done = 0;
            while done < bytes.len() {
                let rest = &bytes[done..];
                let write = opcode::Write::new(types::Fd(file.as_raw_fd()), rest.as_ptr(), rest.len() as u32)
                    .offset(offset + done as u64)
                    .build();
                // SAFETY: the file and the bytes are borrowed until the request has ended.
                match unsafe { self.request(&write) }? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    written => done += written,
                }
            }
            Ok(())
        }

        /// Makes a request and waits for its end: how many bytes it was for.
        ///
        /// # Safety
        /// What the request names stays there until this returns.
        ///
        /// # Panics
        /// When the kernel does not take or not end a request: it may still write where this would return to.
        unsafe fn request(&mut self, request: &Entry) -> io::Result<usize> {
            // SAFETY: that of this function.
            unsafe { self.0.submission().push(request) }.expect("no other request is under way");
            let ended = loop {
                match self.0.submit_and_wait(1) {
                    Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                        panic!("the kernel does not end a request of io_uring: {error}")
                    }
                    _ => {}
                }
                if let Some(ended) = self.0.completion().next() {
                    break ended.result();
                }
            };
            usize::try_from(ended).map_err(|_| io::Error::from_raw_os_error(-ended))
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
        use std::collections::BTreeMap;
        use std::thread;
        use touchstone_kit::FailureKind;

        /// Containers refuse it like this.
        #[test]
        fn a_filter_of_system_calls_makes_it_unsupported() {
            const IO_URING_SETUP: i64 = 425;
            let filtered = || {
                let rules = BTreeMap::from([(IO_URING_SETUP, Vec::new())]);
                let refuse = SeccompAction::Errno(1);
                let arch = std::env::consts::ARCH.try_into().expect("the library knows this processor");
                let filter =
                    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).expect("it is a filter");
                let filter = BpfProgram::try_from(filter).expect("it is a program");
                apply_filter(&filter).expect("the kernel takes it");
                Ring::new().err().expect("the kernel refuses it")
            };
            let failure = thread::spawn(filtered).join().expect("it does not panic");
            assert_eq!(failure.kind, FailureKind::Unsupported);
            assert!(
                failure.message.starts_with("setting page_access: uring; this system gives no io_uring"),
                "{failure}"
            );
        }
    }
}
