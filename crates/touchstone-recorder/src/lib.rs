//! Records what a process tree does to the files below one directory, in order, without root.
//!
//! This is an *untimed* pass: the subject runs under `ptrace` with a seccomp filter that stops it only at the calls
//! that change files, so it runs much slower than usual and nothing here may be timed. What it yields is exact and
//! repeatable: writes, bytes, syncs by kind and metadata operations, with every line that the subject writes to its
//! standard output (a *mark*) at its place in the same order. The cost of a commit is what lies between two replies.
//!
//! Not goals: timing, root, reads, and the contents of shared mappings (they are noted, not followed).
//!
//! ```
//! use std::{process::Command, time::Duration};
//! use touchstone_recorder::{Options, record, unavailable};
//!
//! if let Some(reason) = unavailable() {
//!     println!("skipped: {reason}");
//!     return Ok(());
//! }
//! let directory = tempfile::tempdir()?;
//! let mut command = Command::new("/bin/sh");
//! command.args(["-c", "echo ready; echo hello > greeting; echo written"]).current_dir(&directory);
//! let trace = record(command, Options::new(directory.path()), Duration::from_secs(10))?;
//!
//! let intervals = trace.between_marks();
//! assert_eq!(intervals[1].ended_by, Some("written"));
//! assert_eq!(intervals[1].counts.bytes_written, 6);
//! assert_eq!(intervals[1].counts.syncs(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//!
//! - Linux on x86_64 (kernel 5.3 or later) only; a machine may forbid tracing, so ask [`unavailable`] first.
//! - Stores through shared mappings are not counted; [`Trace::mapped_files`] names the files. A mapping that was made
//!   read-only and became writable by `mprotect` is missed.
//! - `io_uring` and `io_setup` are refused, so a program that prefers them does other calls here than it does
//!   unrecorded; reflinks are only noted. [`Trace::unsupported`] tells of both.
//! - Marks are lines of standard output written by `write` and kin, and standard output is the pipe that the program
//!   was started with.
//! - In several threads, calls are ordered by their return, and marks by the beginning of theirs. If threads write through one shared position at the same
//!   time, the recorded offset of such a write may be another's; counts and lengths are exact.
//! - Calls that change only attributes (`chmod`, `utimes`, extended attributes) are no events, and neither are calls
//!   that fail. Other mount namespaces and `chroot` are not followed.
//!
//! # Layout
//!
//! `trace`, `counts` and `kept` are the pure side: the events and what is computed from them. `linux/` is the impure side:
//! `start` brings a traced child into being, `tracer` drives it, `filter` and `syscalls` say which calls stop it and
//! what they mean, `calls/` turns them into events, and `log` keeps these.

mod counts;
mod error;
mod kept;
mod options;
mod trace;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod linux;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use linux as platform;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod elsewhere;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
use elsewhere as platform;

use std::process::Command;
use std::time::Duration;

pub use counts::{Counts, Interval};
pub use error::{Error, ErrorKind};
pub use kept::Kept;
pub use options::Options;
pub use platform::{Killer, Recording, unavailable};
pub use trace::{Event, EventKind, File, FileId, SyncKind, Trace};

/// Records a program that needs no conversation: runs it with empty input, discards its output (the marks stay in
/// the trace) and kills it after `limit`.
///
/// # Errors
///
/// Those of [`Recording::start`] and [`Recording::finish`]. A program that fails or is killed is not an error: see
/// [`Trace::exit`] and [`Trace::killed`].
pub fn record(command: Command, options: Options, limit: Duration) -> Result<Trace, Error> {
    Recording::start(command, options)?.finish(limit)
}
