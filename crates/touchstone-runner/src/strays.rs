//! Processes that a driver leaves behind: those that left its process group, so that they did not end with it, or that lost their
//! parent. While a run adopts them they become the lab's own children, and are killed once their driver has ended.

use crate::task::child_processes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, set_child_subreaper, waitpid,
};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The drivers that run, each with the home that is its own; none while nothing is adopted.
static DRIVERS: Mutex<Option<BTreeMap<u32, Option<OsString>>>> = Mutex::new(None);

/// How often it looks for more of them: a process that is killed may have started another just before.
const LOOKS_MAX: usize = 100;

/// How long one that was killed may take to be gone, in seconds.
const GONE_LIMIT_S: i64 = 2;

/// Adopts what drivers leave behind, until it is dropped.
#[must_use = "what is not kept adopts nothing"]
pub struct Adoption(());

/// Begins to adopt. Meanwhile the lab may start no process beside drivers that are spoken to and recorded ones. A lab that has
/// children, as one has that a shell became, could not tell theirs from a driver's, and adopts none; nor does one whose system does
/// not let it.
pub fn adopt() -> Option<Adoption> {
    let mut drivers = drivers();
    let is_alone = child_processes(own()).is_some_and(|children| children.is_empty());
    if drivers.is_some() || !is_alone || set_child_subreaper(Some(getpid())).is_err() {
        return None;
    }
    *drivers = Some(BTreeMap::new());
    Some(Adoption(()))
}

impl Drop for Adoption {
    fn drop(&mut self) {
        let mut drivers = drivers();
        if let Some(running) = drivers.take() {
            end_strays(&running);
        }
        // It was allowed to set it, so it may take it back.
        let _ = set_child_subreaper(None);
    }
}

/// A driver was started.
pub(crate) fn started(driver: u32, home: Option<OsString>) {
    if let Some(running) = drivers().as_mut() {
        running.insert(driver, home);
    }
}

/// A driver has ended and was waited for: what it left behind ends too.
pub(crate) fn ended(driver: u32) {
    if let Some(running) = drivers().as_mut() {
        running.remove(&driver);
        end_strays(running);
    }
}

fn drivers() -> MutexGuard<'static, Option<BTreeMap<u32, Option<OsString>>>> {
    DRIVERS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn own() -> u32 {
    std::process::id()
}

fn end_strays(running: &BTreeMap<u32, Option<OsString>>) {
    for _ in 0..LOOKS_MAX {
        let children = child_processes(own()).unwrap_or_default();
        let is_stray = |child: &u32| !running.contains_key(child) && !is_of_another(*child, running);
        let strays: Vec<u32> = children.into_iter().filter(is_stray).collect();
        let gone = strays.into_iter().filter(|stray| end(*stray)).count();
        // One that cannot be killed now is looked for when the next driver ends.
        if gone == 0 {
            return;
        }
    }
}

/// Whether a driver that still runs may have started it, or what started it, and may need it: its environment names that one's home,
/// or nothing that can be read, as of a server that writes its title over it. The last driver's end takes the latter.
fn is_of_another(process: u32, running: &BTreeMap<u32, Option<OsString>>) -> bool {
    let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    let home = environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(b"HOME="));
    match home {
        Some(home) => running.values().flatten().any(|known| known.as_bytes() == home),
        None => !running.is_empty(),
    }
}

/// Kills a child and waits for it. Until then its number cannot be another's. `false` where it is still there.
fn end(child: u32) -> bool {
    let Some(child) = Pid::from_raw(child as i32) else { return false };
    let _ = kill_process(child, Signal::KILL);
    if let Ok(handle) = pidfd_open(child, PidfdFlags::empty()) {
        let limit = Timespec { tv_sec: GONE_LIMIT_S, tv_nsec: 0 };
        let _ = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit));
    }
    matches!(waitpid(Some(child), WaitOptions::NOHANG), Ok(Some(_)))
}
