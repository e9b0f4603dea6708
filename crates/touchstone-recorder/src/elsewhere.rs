//! The recorder where it cannot work: the same names, and an honest refusal.

use std::convert::Infallible;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use std::time::Duration;

use crate::{Error, ErrorKind, Options, Trace};

const REASON: &str = "the recorder needs Linux on x86_64; run the recorded pass on such a machine";

/// Why the recorder cannot work here.
pub fn unavailable() -> Option<String> {
    Some(REASON.to_string())
}

/// A recording; there is none on this platform.
#[derive(Debug)]
pub struct Recording(Infallible);

/// Ends a recording; there is none on this platform.
#[derive(Clone, Debug)]
pub struct Killer(Infallible);

impl Recording {
    /// Refuses.
    ///
    /// # Errors
    ///
    /// Always [`ErrorKind::Unavailable`].
    pub fn start(_command: Command, _options: Options) -> Result<Recording, Error> {
        Err(Error::new(ErrorKind::Unavailable, REASON))
    }

    /// Cannot be called.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn killer(&self) -> Killer {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn kill(&self) {
        match self.0 {}
    }

    /// Cannot be called.
    ///
    /// # Errors
    ///
    /// None.
    pub fn finish(self, _grace: Duration) -> Result<Trace, Error> {
        match self.0 {}
    }
}

impl Killer {
    /// Cannot be called.
    pub fn kill(&self) {
        match self.0 {}
    }
}
