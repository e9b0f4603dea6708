//! Programs of tests that other programs run: which cargo has built, and how long they may take.

use crate::mutation::UNIT_TESTS;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// The program that one of cargo's messages tells of, if it is the test's.
#[must_use]
pub fn program_of(message: &str, test: &str) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let target = message.get("target")?;
    let (name, kind) = (target.get("name")?, target.get("kind")?.get(0)?);
    let is_it = if test == UNIT_TESTS { kind == "lib" } else { kind == "test" && name == test };
    // Of a library, only what has its tests is a program.
    is_it.then(|| message.get("executable")?.as_str().map(PathBuf::from)).flatten()
}

/// Waits for a program; ends it at the deadline, and says so with none.
///
/// # Errors
/// When the system does not let it wait.
pub fn end_of(mut child: Child, deadline: Duration) -> Result<Option<ExitStatus>, String> {
    /// Between two looks.
    const PAUSE: Duration = Duration::from_millis(10);
    let began = Instant::now();
    let failed = |error| format!("waiting for a test: {error}");
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(Some(status));
        }
        if began.elapsed() >= deadline {
            child.kill().map_err(failed)?;
            child.wait().map_err(failed)?;
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
}
