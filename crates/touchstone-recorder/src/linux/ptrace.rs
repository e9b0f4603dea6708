//! `ptrace` and `waitpid`, typed: what a tracer can ask for, and what it can be told. Every function here must be
//! called by the one thread that seized the tracee.

use std::io;
use std::mem::{MaybeUninit, offset_of, size_of};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::ptr;

use libc::{c_int, c_uint, c_void};

use super::proc::Task;
use super::syscalls::Arguments;

/// What a wait can tell of a task.
#[derive(Clone, Copy, Debug)]
pub(super) enum Status {
    Ended(ExitStatus),
    Stopped(Stop),
}

/// Why a task stopped.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    /// The filter matched; the call has not begun.
    CallBegins,
    /// The call that was let through has returned.
    CallReturned,
    /// The task became another program; of its process, only it is left.
    Executed,
    /// The whole process was stopped, by SIGSTOP or a terminal, and stays so until SIGCONT.
    Held,
    /// A signal is about to be delivered.
    Signal(c_int),
    /// A new task begins, or another event that needs no answer.
    Other,
}

/// What the kernel tells at a stop for a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum CallInfo {
    Begins { number: u64, arguments: Arguments },
    Returned { value: i64 },
}

/// Makes the calling thread the tracer of a running task, its future threads and its future children; should the
/// tracer die, the kernel kills them all.
pub(super) fn seize(task: Task) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACESECCOMP
        | libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_EXITKILL;
    request(libc::PTRACE_SEIZE, task, 0, options as usize)
}

/// Waits for the next news of any task of this tracer; `None` when none is left. Other children of the process are
/// not touched.
pub(super) fn wait() -> io::Result<Option<(Task, Status)>> {
    loop {
        let mut status = 0;
        // SAFETY: `status` is a valid place for the result.
        let task = unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::__WNOTHREAD) };
        if task >= 0 {
            return Ok(Some((Task(task), understand(status))));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::ECHILD) => return Ok(None),
            _ => return Err(error),
        }
    }
}

/// Waits for the next news of one task, without taking it: whether the task has ended.
pub(super) fn has_ended(task: Task) -> io::Result<bool> {
    let options = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::__WALL | libc::__WNOTHREAD;
    loop {
        let mut news = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: `news` is a valid place for the result.
        if unsafe { libc::waitid(libc::P_PID, task.0 as libc::id_t, news.as_mut_ptr(), options) } == 0 {
            // SAFETY: all zeroes is a value of this plain C struct, and `waitid` has filled it.
            let code = unsafe { news.assume_init() }.si_code;
            return Ok(matches!(code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED));
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINTR) {
            return Err(error);
        }
    }
}

fn understand(status: c_int) -> Status {
    if !libc::WIFSTOPPED(status) {
        return Status::Ended(ExitStatus::from_raw(status));
    }
    let signal = libc::WSTOPSIG(status);
    Status::Stopped(match (signal, status >> 16) {
        (libc::SIGTRAP, libc::PTRACE_EVENT_SECCOMP) => Stop::CallBegins,
        (libc::SIGTRAP, libc::PTRACE_EVENT_EXEC) => Stop::Executed,
        (libc::SIGTRAP, libc::PTRACE_EVENT_STOP) => Stop::Other,
        (_, libc::PTRACE_EVENT_STOP) => Stop::Held,
        (_, 0) if signal == libc::SIGTRAP | 0x80 => Stop::CallReturned,
        (_, 0) => Stop::Signal(signal),
        _ => Stop::Other,
    })
}

/// Lets a stopped task run, delivering `signal` (0 for none), up to the next traced call.
pub(super) fn resume(task: Task, signal: c_int) -> io::Result<()> {
    request(libc::PTRACE_CONT, task, 0, signal as usize)
}

/// As [`resume`], but stops also when the call returns.
pub(super) fn resume_until_return(task: Task, signal: c_int) -> io::Result<()> {
    request(libc::PTRACE_SYSCALL, task, 0, signal as usize)
}

/// Leaves a task in its group stop, and listens for its end.
pub(super) fn listen(task: Task) -> io::Result<()> {
    request(libc::PTRACE_LISTEN, task, 0, 0)
}

/// At the beginning of a call: has the kernel skip it. The caller gets `ENOSYS`, which is what the result register
/// holds when no call ran.
pub(super) fn skip_call(task: Task) -> io::Result<()> {
    let register = offset_of!(libc::user, regs) + offset_of!(libc::user_regs_struct, orig_rax);
    request(libc::PTRACE_POKEUSER, task, register, usize::MAX)
}

/// The id that the task of an [`Stop::Executed`] had before it took over its process.
pub(super) fn former_task(task: Task) -> io::Result<Task> {
    let mut former: libc::c_ulong = 0;
    request(libc::PTRACE_GETEVENTMSG, task, 0, ptr::from_mut(&mut former).addr())?;
    Ok(Task(former as libc::pid_t))
}

/// What the task is calling, or what its call returned; `None` for any other stop.
pub(super) fn call_info(task: Task) -> io::Result<Option<CallInfo>> {
    let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
    let size = size_of::<libc::ptrace_syscall_info>();
    request(libc::PTRACE_GET_SYSCALL_INFO, task, size, info.as_mut_ptr().addr())?;
    // SAFETY: all zeroes is a value of this plain C struct, and the kernel wrote at most `size` bytes into it.
    let info = unsafe { info.assume_init() };
    Ok(match info.op {
        libc::PTRACE_SYSCALL_INFO_SECCOMP => {
            // SAFETY: `op` says that this member of the union is the one that was written.
            let call = unsafe { info.u.seccomp };
            Some(CallInfo::Begins { number: call.nr, arguments: call.args })
        }
        libc::PTRACE_SYSCALL_INFO_EXIT => {
            // SAFETY: `op` says that this member of the union is the one that was written.
            let exit = unsafe { info.u.exit };
            Some(CallInfo::Returned { value: exit.sval })
        }
        _ => None,
    })
}

/// Kills the process of a task.
pub(super) fn kill(task: Task) {
    // SAFETY: takes no pointers. The id cannot have been given to another task: this tracer has not yet reaped it.
    // The result says nothing new: the task may be dying already.
    unsafe { libc::syscall(libc::SYS_tkill, task.0, libc::SIGKILL) };
}

fn request(request: c_uint, task: Task, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: the requests above pass either plain numbers or the address of a local variable that is large enough
    // for what the kernel writes and outlives the call; none returns its result by value.
    let result = unsafe { libc::ptrace(request, task.0, address as *mut c_void, data as *mut c_void) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
