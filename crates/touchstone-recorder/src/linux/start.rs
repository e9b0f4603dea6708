//! Bringing a traced child into being, such that no traced call of it can go unseen and nothing waits for ever.
//!
//! `Command::spawn` forks. Before it executes the program, the child greets the tracer thread over a socket and waits
//! for an answer; the tracer seizes it and answers; only then does the child install the filter. So the tracer is in
//! place before the first traced call, the caller's `spawn` returns as usual, and if any party dies, its end of the
//! socket closes and the others go on.

use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

use libc::c_void;
use seccompiler::BpfProgram;

use super::proc::{Inode, Task};
use super::ptrace;

const GREETING_BYTES: usize = 24;
const GO: u8 = 1;

/// What a child tells of itself before it executes its program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Greeting {
    pub(super) task: Task,
    pub(super) stdout: Inode,
}

/// Makes the child of `command` wait for its tracer, which is to [`receive`] at the socket returned.
pub(super) fn prepare(command: &mut Command, filter: BpfProgram) -> io::Result<UnixStream> {
    let (tracer, child) = UnixStream::pair()?;
    let tracer_descriptor = tracer.as_raw_fd();
    // SAFETY: between fork and exec the closure makes only system calls: it takes no lock and no memory.
    unsafe {
        command.pre_exec(move || greet_and_wait(child.as_raw_fd(), tracer_descriptor, &filter));
    }
    Ok(tracer)
}

/// Awaits a child's greeting. `Ok(None)` if there is none because the fork failed; `spawn` tells why.
pub(super) fn receive(socket: &mut UnixStream) -> io::Result<Option<Greeting>> {
    let mut bytes = [0; GREETING_BYTES];
    match socket.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(Greeting::from_bytes(bytes))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Seizes a child that waits, and lets it go. The handle returned can kill it and no other process.
pub(super) fn seize(socket: &mut UnixStream, task: Task) -> io::Result<OwnedFd> {
    // SAFETY: takes no pointers. The id is the child's, which waits.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, task.0, 0) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us, and nobody else knows of it.
    let handle = unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) };
    ptrace::seize(task)?;
    socket.write_all(&[GO])?;
    Ok(handle)
}

/// The child's side: between fork and exec.
fn greet_and_wait(socket: RawFd, tracer: RawFd, filter: &BpfProgram) -> io::Result<()> {
    // SAFETY: takes no pointers. This copy of the tracer's end has to go, lest the child wait for itself.
    unsafe { libc::close(tracer) };
    let greeting = Greeting::of_this_process()?.to_bytes();
    // SAFETY: the buffer is alive and of the length given.
    let sent = unsafe { libc::write(socket, greeting.as_ptr().cast::<c_void>(), greeting.len()) };
    let mut answer = 0u8;
    // SAFETY: `answer` is alive and one byte long.
    let received = unsafe { libc::read(socket, (&raw mut answer).cast::<c_void>(), 1) };
    if sent != GREETING_BYTES as isize || received != 1 || answer != GO {
        return Err(io::Error::from_raw_os_error(libc::EPERM));
    }
    seccompiler::apply_filter(filter).map_err(|_| io::Error::last_os_error())
}

impl Greeting {
    fn of_this_process() -> io::Result<Greeting> {
        let mut stdout = MaybeUninit::<libc::stat>::zeroed();
        // SAFETY: `stdout` is a valid place for the result.
        if unsafe { libc::fstat(libc::STDOUT_FILENO, stdout.as_mut_ptr()) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fstat` has succeeded, so it has filled the struct.
        let stdout = unsafe { stdout.assume_init() };
        // SAFETY: takes nothing, cannot fail.
        let task = Task(unsafe { libc::getpid() });
        Ok(Greeting { task, stdout: Inode { device: stdout.st_dev, number: stdout.st_ino } })
    }

    fn to_bytes(self) -> [u8; GREETING_BYTES] {
        let mut bytes = [0; GREETING_BYTES];
        bytes[..8].copy_from_slice(&i64::from(self.task.0).to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.stdout.device.to_ne_bytes());
        bytes[16..].copy_from_slice(&self.stdout.number.to_ne_bytes());
        bytes
    }

    fn from_bytes(bytes: [u8; GREETING_BYTES]) -> Greeting {
        let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        Greeting { task: Task(word(0) as i32), stdout: Inode { device: word(8), number: word(16) } }
    }
}
