//! The interpreter's end, and the threads of this package that call Python: they are waited for, and begin nothing then.
//! A thread that Python ends within a call of its own could not unwind through this language.

use pyo3::prelude::*;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

static STATE: Mutex<State> = Mutex::new(State { inside: 0, is_ending: false });
static LEFT: Condvar = Condvar::new();

struct State {
    /// How many threads of the package are in Python's code.
    inside: usize,
    is_ending: bool,
}

/// A thread of the package is in Python's code.
pub struct Inside(());

impl Drop for Inside {
    fn drop(&mut self) {
        STATE.lock().unwrap_or_else(PoisonError::into_inner).inside -= 1;
        LEFT.notify_all();
    }
}

/// Enters Python's code; none when the interpreter is at its end.
pub fn enter() -> Option<Inside> {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    if state.is_ending {
        return None;
    }
    state.inside += 1;
    Some(Inside(()))
}

/// Whether the interpreter is at its end.
pub fn is_ending() -> bool {
    STATE.lock().unwrap_or_else(PoisonError::into_inner).is_ending
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
        let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_ending = true;
        while state.inside > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = LEFT.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    });
}
