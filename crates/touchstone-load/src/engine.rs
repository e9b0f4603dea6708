//! What sends the requests of a run: what any engine's lanes do.

use crate::clock::Clock;
use crate::error::Result;
use crate::recorder::Recorder;

/// A lane of an engine: one thread of the generator.
pub trait Plays: Sized {
    /// Lets each user do the setup.
    ///
    /// # Errors
    /// When a request of it fails: its user could do nothing of what is to be measured.
    fn set_up(&mut self) -> Result<()>;

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
