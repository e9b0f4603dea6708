//! The interpreter's end, and the threads of this package that call Python: they are waited for, and begin nothing then.
//! A thread that Python ends within a call of its own could not unwind through this language.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What the threads of a process know of its end.
struct Exit {
    state: Mutex<State>,
    left: Condvar,
}

struct State {
    /// How many threads of the package are in Python's code.
    inside: usize,
    is_ending: bool,
}

/// That of the first process.
static FIRST: Exit = Exit::new();
/// That of this process, where it is the child of a fork.
static FORKED: AtomicPtr<Exit> = AtomicPtr::new(std::ptr::null_mut());

impl Exit {
    const fn new() -> Exit {
        Exit { state: Mutex::new(State { inside: 0, is_ending: false }), left: Condvar::new() }
    }

    fn of_process() -> &'static Exit {
        // SAFETY: what is put there is never freed, and not changed but through its lock.
        unsafe { FORKED.load(Ordering::Acquire).as_ref() }.unwrap_or(&FIRST)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Begins anew in the child of a fork: the parent's threads are not there, and whoever had the lock may be one of them.
pub fn begin_anew() {
    FORKED.store(Box::leak(Box::new(Exit::new())), Ordering::Release);
}

/// A thread of the package is in Python's code.
pub struct Inside(&'static Exit);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.state().inside -= 1;
        self.0.left.notify_all();
    }
}

/// Enters Python's code; none when the interpreter is at its end.
pub fn enter() -> Option<Inside> {
    let exit = Exit::of_process();
    let mut state = exit.state();
    if state.is_ending {
        return None;
    }
    state.inside += 1;
    Some(Inside(exit))
}

/// Whether the interpreter is at its end.
pub fn is_ending() -> bool {
    Exit::of_process().state().is_ending
}

/// Waits outside of Python, as a thread that the interpreter need not end: then this never returns. `wait` may take long.
pub fn outside<R>(wait: impl FnOnce() -> R) -> R {
    let began_after = is_ending();
    let result = wait();
    while !began_after && is_ending() {
        // The process ends, and this thread with it.
        std::thread::park();
    }
    result
}

/// Called when the interpreter ends, before it takes anything down.
#[pyfunction]
pub fn end(py: Python<'_>) {
    /// A callback that takes longer is left where it is.
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
