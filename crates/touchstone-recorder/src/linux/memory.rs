//! Reading a stopped tracee's memory.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::proc::Task;
use super::syscalls::Buffer;

/// Reads stop at page borders when the length is unknown, so as not to touch a page that is not there.
const PAGE: u64 = 4096;
/// The kernel's limits: bytes of a path, and pieces of a vectored write.
const PATH_BYTES_MAX: usize = libc::PATH_MAX as usize;
const PIECES_MAX: u64 = libc::UIO_MAXIOV as u64;

impl Task {
    /// Reads exactly `length` bytes.
    pub(super) fn read(self, address: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let mut done = 0;
        while done < length {
            done += self.read_some(address + done as u64, &mut bytes[done..])?;
        }
        Ok(bytes)
    }

    /// Reads the first `length` bytes of what a write call was given.
    pub(super) fn read_buffer(self, buffer: Buffer, length: usize) -> io::Result<Vec<u8>> {
        let (address, count) = match buffer {
            Buffer::Flat { address } => return self.read(address, length),
            Buffer::Vector { address, count } => (address, count.min(PIECES_MAX)),
        };
        let mut bytes = Vec::with_capacity(length);
        for piece in self.read(address, count as usize * 16)?.chunks_exact(16) {
            let size = (word(&piece[8..]) as usize).min(length - bytes.len());
            bytes.extend(self.read(word(&piece[..8]), size)?);
        }
        Ok(bytes)
    }

    /// Reads one 64-bit word.
    pub(super) fn read_word(self, address: u64) -> io::Result<u64> {
        self.read(address, 8).map(|bytes| word(&bytes))
    }

    /// Reads a path, up to its closing zero.
    pub(super) fn read_path(self, address: u64) -> io::Result<PathBuf> {
        let mut path = Vec::new();
        let mut chunk = [0; PAGE as usize];
        while path.len() < PATH_BYTES_MAX {
            let from = address + path.len() as u64;
            let until_border = (PAGE - from % PAGE) as usize;
            let count = self.read_some(from, &mut chunk[..until_border])?;
            match chunk[..count].iter().position(|&byte| byte == 0) {
                Some(end) => {
                    path.extend_from_slice(&chunk[..end]);
                    return Ok(OsString::from_vec(path).into());
                }
                None => path.extend_from_slice(&chunk[..count]),
            }
        }
        Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG))
    }

    fn read_some(self, address: u64, into: &mut [u8]) -> io::Result<usize> {
        let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        let remote = libc::iovec { iov_base: address as *mut _, iov_len: into.len() };
        // SAFETY: `local` describes `into`, which is alive and writable for the whole call; the kernel checks `remote`
        // against the tracee's address space.
        let count = unsafe { libc::process_vm_readv(self.0, &local, 1, &remote, 1, 0) };
        match count {
            0 => Err(io::Error::from_raw_os_error(libc::EFAULT)),
            count => usize::try_from(count).map_err(|_| io::Error::last_os_error()),
        }
    }
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_ne_bytes(bytes.try_into().expect("a word has eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn this_process() -> Task {
        Task(std::process::id() as i32)
    }

    #[test]
    fn a_path_ends_at_its_zero() {
        let text = c"some/where";
        let path = this_process().read_path(text.as_ptr() as u64).unwrap();
        assert_eq!(path, PathBuf::from("some/where"));
    }

    #[test]
    fn a_vector_is_cut_where_the_call_stopped() {
        let pieces = [b"hello".as_slice(), b" world"].map(io::IoSlice::new);
        let buffer = Buffer::Vector { address: pieces.as_ptr() as u64, count: 2 };
        assert_eq!(this_process().read_buffer(buffer, 8).unwrap(), b"hello wo");
    }

    #[test]
    fn an_address_that_is_not_there_is_an_error() {
        assert_eq!(this_process().read(8, 8).unwrap_err().raw_os_error(), Some(libc::EFAULT));
    }
}
