//! Ctrl-C, a request to end and a terminal that is closed: the first asks the run to stop and finish its record, the second ends
//! the lab at once.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use touchstone_runner::session::Stop;

/// A flag that these signals set.
///
/// # Errors
/// When the handler cannot be installed.
pub fn stop_on_signal() -> anyhow::Result<Stop> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the shutdown looks at the flag before the registration after it sets it.
        flag::register_conditional_shutdown(signal, i32::from(crate::exit::INTERRUPTED), Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
