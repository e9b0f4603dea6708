//! The compilers that build the drivers, as they introduce themselves.

use super::{Group, group};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long a compiler may take to say its version.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// The most that is read of its answer.
const ANSWER_BYTES_MAX: u64 = 4096;

/// Compilers and this program, by version.
#[derive(Clone, Debug, Default)]
pub(crate) struct Toolchain {
    rust: String,
    c: String,
}

impl Toolchain {
    pub fn read() -> Toolchain {
        Toolchain { rust: version("rustc"), c: version("cc") }
    }

    pub fn texts(&self) -> Group {
        group([
            ("rustc", Some(self.rust.clone())),
            ("cc", Some(self.c.clone())),
            ("touchstone", Some(env!("CARGO_PKG_VERSION").to_owned())),
        ])
    }
}

/// The first line of `program --version`, or why there is none.
fn version(program: &str) -> String {
    let mut command = Command::new(program);
    // A toolchain that is wanted and not there is missing: nothing is downloaded for the sake of its version.
    command.arg("--version").env("RUSTUP_AUTO_INSTALL", "0");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut process) = command.spawn() else { return "missing".into() };
    if !ended(&process) {
        let _ = process.kill();
    }
    let line = first_line(&mut process);
    match (process.wait(), line) {
        (Ok(status), Some(line)) if status.success() => line,
        _ => "there, but does not tell its version".into(),
    }
}

/// Waits for a process to end, up to the limit.
fn ended(process: &Child) -> bool {
    let Some(pid) = Pid::from_raw(process.id() as i32) else { return false };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    let timeout = Timespec { tv_sec: ANSWER_LIMIT.as_secs() as i64, tv_nsec: 0 };
    matches!(poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&timeout)), Ok(1))
}

fn first_line(process: &mut Child) -> Option<String> {
    let mut bytes = Vec::new();
    process.stdout.take()?.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_that_is_not_there_is_missing() {
        assert_eq!(version("no-such-compiler-anywhere"), "missing");
    }

    #[test]
    fn a_program_that_fails_tells_no_version() {
        assert_eq!(version("false"), "there, but does not tell its version");
    }

    #[test]
    fn this_was_built_by_a_compiler() {
        assert!(version("rustc").starts_with("rustc "), "{}", version("rustc"));
    }
}
