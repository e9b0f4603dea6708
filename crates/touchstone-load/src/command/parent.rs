//! A generator that somebody else has started for himself ends with him, also where he was killed and could say nothing.

use crate::error::{Error, Result};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use std::ffi::OsStr;

/// Names the process whose end is the generator's: the one that has started it.
pub const PARENT: &str = "TOUCHSTONE_LOAD_PARENT";

/// Lets this process be killed when the thread ends that has started it, where the environment says that it is asked to.
///
/// # Errors
/// When what the environment says is no process's number, and when that process has ended already.
pub(super) fn end_with_it() -> Result<()> {
    match std::env::var_os(PARENT) {
        Some(said) => end_with(&said),
        None => Ok(()),
    }
}

fn end_with(said: &OsStr) -> Result<()> {
    let wrong = || {
        let said = said.display();
        Error::input(format!("{PARENT} is `{said}`: it holds the number of the process that starts this one"))
    };
    let number: i32 =
        said.to_str().and_then(|said| said.parse().ok()).filter(|number| *number > 0).ok_or_else(wrong)?;
    let parent = Pid::from_raw(number).ok_or_else(wrong)?;
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| {
        Error::io("asking to end with the process that has started this one", &error.into())
    })?;
    // It may have ended before that was asked for.
    if getppid() == Some(parent) {
        return Ok(());
    }
    let number = parent.as_raw_nonzero();
    Err(Error::interrupted(format!("process {number} has not started this one, or has ended ({PARENT})")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn what_is_no_process_that_started_this_one_is_told() {
        for said in ["", "-1", "0", "a shell"] {
            let error = end_with(OsStr::new(said)).expect_err("it is none");
            assert!(
                error.kind() == ErrorKind::Input && error.to_string().contains(PARENT),
                "{said}: {error}"
            );
        }
    }
}
