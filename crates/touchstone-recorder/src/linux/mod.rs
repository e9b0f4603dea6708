//! The impure side, for Linux on x86_64: bringing a traced program into being, following it, ending it.

mod calls;
mod filter;
mod log;
mod memory;
mod proc;
mod ptrace;
mod recording;
mod start;
mod syscalls;
mod tracer;

use std::process::{Command, Stdio};
use std::time::Duration;

pub use recording::{Killer, Recording};

use crate::{Options, record};

/// How long the trial of [`unavailable`] may take.
const TRIAL_LIMIT: Duration = Duration::from_secs(10);

/// Why the recorder cannot work here, or `None` if it can. It tries: a shell is started under the recorder, and its
/// one line of output must arrive as a mark. That takes some milliseconds.
pub fn unavailable() -> Option<String> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "echo ready"]).stderr(Stdio::null());
    match record(command, Options::new("/"), TRIAL_LIMIT) {
        Err(error) => Some(format!("the recorder cannot work here: {error}")),
        Ok(trace) if trace.killed => Some(format!(
            "the recorder cannot work here: a shell under it did not end within {} s",
            TRIAL_LIMIT.as_secs()
        )),
        Ok(trace) if !trace.marks().eq(["ready"]) => Some(format!(
            "the recorder cannot work here: the kernel did not report a shell's output ({})",
            trace.exit
        )),
        Ok(_) => None,
    }
}
