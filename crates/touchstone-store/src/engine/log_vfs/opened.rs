//! The logs that connections of this process have open, by their names.

use crate::engine::fork::{self, Origin};
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char};
use std::sync::{LazyLock, Mutex, PoisonError};

/// The logs of one process, each with the number of connections that have it open.
struct Logs {
    origin: Origin,
    connections: HashMap<CString, usize>,
}

impl Logs {
    fn none() -> Logs {
        Logs { origin: Origin::here(), connections: HashMap::new() }
    }
}

static LOGS: LazyLock<Mutex<Logs>> = LazyLock::new(|| Mutex::new(Logs::none()));

/// Reads or changes the list. A forked child begins with an empty one: the logs in its copy are its parent's.
fn with<R>(work: impl FnOnce(&mut HashMap<CString, usize>) -> R) -> R {
    let _alone = fork::alone();
    let mut logs = LOGS.lock().unwrap_or_else(PoisonError::into_inner);
    if !logs.origin.is_here() {
        *logs = Logs::none();
    }
    work(&mut logs.connections)
}

/// Whether a connection of this process has a log of that name open.
pub(super) fn is_open(name: &CStr) -> bool {
    with(|connections| connections.contains_key(name))
}

/// A log that a connection has open until this is dropped.
pub(super) struct Opened {
    name: CString,
    origin: Origin,
}

impl Opened {
    /// # Safety
    /// The name is null, or ends with a zero.
    pub(super) unsafe fn new(name: *const c_char) -> Option<Opened> {
        // SAFETY: the caller's promise.
        let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_owned())?;
        with(|connections| *connections.entry(name.clone()).or_default() += 1);
        Some(Opened { name, origin: Origin::here() })
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if !self.origin.is_here() {
            return;
        }
        with(|connections| {
            let Some(count) = connections.get_mut(&self.name) else { return };
            *count -= 1;
            if *count == 0 {
                connections.remove(&self.name);
            }
        });
    }
}
