//! Tries again while another program holds what is needed.

use std::thread;
use std::time::{Duration, Instant};

/// How often it is tried.
const EVERY: Duration = Duration::from_millis(10);

/// Tries again as long as what is wanted `is_held` by another program, for no longer than said; `note` tells once that it waits.
///
/// # Errors
/// That of the last try.
pub(crate) fn patiently<T, E>(
    within: Duration,
    mut attempt: impl FnMut() -> Result<T, E>,
    is_held: impl Fn(&E) -> bool,
    note: impl FnOnce(),
) -> Result<T, E> {
    let (began, mut note) = (Instant::now(), Some(note));
    loop {
        let tried = attempt();
        if !tried.as_ref().is_err_and(&is_held) || began.elapsed() >= within {
            return tried;
        }
        if let Some(note) = note.take() {
            note();
        }
        thread::sleep(EVERY);
    }
}
