//! Gives way to other processes. Threads of one process pass the turn on among themselves, and one that writes in a loop
//! comes straight back: the file's lock is free for microseconds, in which no other process looks. Who waits says so in
//! the log's index; who then has written for long enough leaves the lock free until another has committed.

use crate::engine::log::LogIndex;
use crate::sync::{Mutex, lock};
use std::time::{Duration, Instant};

/// How long a process writes on while another waits: giving way costs a millisecond, so not at each commit.
const SLICE: Duration = Duration::from_millis(10);
/// How often it looks whether another has committed, before it goes on: for five times as long as another needs to look.
const LOOKS: u32 = 20;
/// Between two looks.
const PAUSE: Duration = Duration::from_micros(250);

/// When this process last gave way.
pub(crate) struct Courtesy {
    index: Option<LogIndex>,
    since: Mutex<Option<Instant>>,
}

impl Courtesy {
    pub(crate) fn new(index: Option<LogIndex>) -> Courtesy {
        Courtesy { index, since: Mutex::default() }
    }

    /// Gives way where another process waits. Who calls it has the turn and not yet the lock; `has_waited` tells whether
    /// he has waited for the lock himself since it was last asked.
    #[inline]
    pub(crate) fn give_way(&self, has_waited: impl FnOnce() -> bool) {
        if let Some(index) = &self.index
            && index.is_asked()
        {
            self.consider(index, has_waited());
        }
    }

    #[cold]
    fn consider(&self, index: &LogIndex, has_waited: bool) {
        let mut since = lock(&self.since);
        if has_waited {
            // It may be this process that has asked. Others ask again.
            index.unask();
        } else if since.is_some_and(|since| since.elapsed() < SLICE) {
            return;
        } else {
            index.unask();
            let before = index.state();
            for _ in 0..LOOKS {
                std::thread::sleep(PAUSE);
                if index.state() != before {
                    break;
                }
            }
        }
        *since = Some(Instant::now());
    }
}
