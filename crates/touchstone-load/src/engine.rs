//! What sends the requests of a run: the own engine over plain sockets, or hyper's connections for TLS and HTTP/2.

use crate::clock::Clock;
use crate::error::Result;
use crate::recorder::Recorder;
use crate::scenario::Http;
use crate::target::Target;
use std::fmt;

/// An engine, with the protocol that it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Plain HTTP/1.1, of which a request costs least.
    Own,
    /// Whatever the own one does not speak.
    Hyper {
        /// The version of HTTP.
        http: Http,
        /// Whether it is spoken over TLS.
        is_secure: bool,
    },
}

impl Engine {
    /// The one for a target.
    pub fn of(target: &Target, http: Http) -> Engine {
        match (target.is_secure, http) {
            (false, Http::One) => Engine::Own,
            (is_secure, http) => Engine::Hyper { http, is_secure },
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Engine::Own => formatter.write_str("own, HTTP/1.1"),
            Engine::Hyper { http, is_secure } => {
                write!(formatter, "hyper, {http}{}", if *is_secure { " over TLS" } else { "" })
            }
        }
    }
}

/// A lane of an engine: one thread of the generator.
pub trait Plays: Sized {
    /// Lets each user do the setup.
    ///
    /// # Errors
    /// When a request of it fails: its user could do nothing of what is to be measured.
    fn set_up(&mut self) -> Result<()>;

    /// Opens the streams that users hold, behind the setup of all of them.
    ///
    /// # Errors
    /// What the system says of the queue of events. A stream that is refused is counted.
    fn open(&mut self) -> Result<()> {
        Ok(())
    }

    /// Runs the phases.
    ///
    /// # Errors
    /// What the system says of the queue of events, or of the timer.
    fn run(self, clock: Clock) -> Result<Left>;
}

/// What a lane leaves.
pub struct Left {
    /// All that it counted.
    pub recorder: Recorder,
    /// When it ended, in nanoseconds after the beginning.
    pub ended_ns: u64,
    /// Starts that were due and not begun.
    pub unsent: u64,
}
