//! The interpreter's end: `end` waits for the threads of this package that are calling Python, and no thread begins
//! another call then. A thread that Python ends within such a call cannot unwind through Rust.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The state that the threads of a process share about the end of its interpreter.
struct Exit {
    state: Mutex<State>,
    left: Condvar,
}

struct State {
    /// The number of the package's threads that are in Python's code.
    inside: usize,
    is_ending: bool,
}

/// The state of the first process.
static FIRST: Exit = Exit::new();
/// The state of this process, if it is the child of a fork.
static FORKED: AtomicPtr<Exit> = AtomicPtr::new(std::ptr::null_mut());

impl Exit {
    const fn new() -> Exit {
        Exit { state: Mutex::new(State { inside: 0, is_ending: false }), left: Condvar::new() }
    }

    fn of_process() -> &'static Exit {
        // SAFETY: an `Exit` that was stored there is never freed, and is changed only under its lock.
        unsafe { FORKED.load(Ordering::Acquire).as_ref() }.unwrap_or(&FIRST)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts with a new state in the child of a fork: a thread of the parent, which is not there, may hold the lock.
pub fn begin_anew() {
    FORKED.store(Box::leak(Box::new(Exit::new())), Ordering::Release);
}

/// A thread of the package is in Python's code until this is dropped.
pub struct Inside(&'static Exit);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.state().inside -= 1;
        self.0.left.notify_all();
    }
}

/// Enters Python's code; none if the interpreter is ending.
pub fn enter() -> Option<Inside> {
    let exit = Exit::of_process();
    let mut state = exit.state();
    if state.is_ending {
        return None;
    }
    state.inside += 1;
    Some(Inside(exit))
}

/// Whether the interpreter is ending.
pub fn is_ending() -> bool {
    Exit::of_process().state().is_ending
}

/// Waits outside of Python, perhaps for long. Never returns if Python ends meanwhile, which would end the thread.
pub fn outside<R>(wait: impl FnOnce() -> R) -> R {
    let began_after = is_ending();
    let result = wait();
    while !began_after && is_ending() {
        // The process ends, and this thread with it.
        std::thread::park();
    }
    result
}

/// Called when the interpreter ends, before it removes any of its parts.
#[pyfunction]
pub fn end(py: Python<'_>) {
    /// A callback that takes longer is not waited for.
    const WAIT: Duration = Duration::from_secs(2);
    py.detach(|| {
        let until = Instant::now() + WAIT;
        let exit = Exit::of_process();
        let mut state = exit.state();
        state.is_ending = true;
        while state.inside > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = exit.left.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    });
}
