//! Yields the file's write lock to other processes. Threads of one process pass the turn (the in-process write lock)
//! among themselves, and a thread that writes in a loop takes it again at once: the file's lock is free for
//! microseconds, in which no other process looks. So a process that waits sets a hint in the log's index. A process
//! that sees the hint, and has written for long enough, leaves the lock free until another process has committed.

use crate::engine::log::LogIndex;
use crate::types::sync::{Mutex, SINCE, lock};
use std::time::{Duration, Instant};

/// How long a process writes on while another waits. Yielding costs about a millisecond, too much for each commit.
const SLICE: Duration = Duration::from_millis(10);
/// How often this process looks for a commit of another before it goes on. All looks take 5 ms, five times as long as
/// the pause between two looks of a process that waits.
const LOOKS: u32 = 20;
/// The pause between two looks.
const PAUSE: Duration = Duration::from_micros(250);

/// When this process last yielded.
pub(crate) struct Yielding {
    index: Option<LogIndex>,
    since: Mutex<Option<Instant>, SINCE>,
}

impl Yielding {
    pub(crate) fn new(index: Option<LogIndex>) -> Yielding {
        Yielding { index, since: Mutex::default() }
    }

    /// The log's index, if some process waits for the file's write lock. That process may be this one.
    #[inline]
    pub(crate) fn asked(&self) -> Option<&LogIndex> {
        self.index.as_ref().filter(|index| index.is_asked())
    }

    /// Yields if another process waits. The caller has the turn but not yet the file's lock. `has_waited` is whether
    /// the writer's connection has waited for the file's lock since the last call.
    #[cold]
    pub(crate) fn give_way(&self, index: &LogIndex, has_waited: bool) {
        let mut since = lock(&self.since);
        if has_waited {
            // The hint may be this process's own. Other processes that wait set it again.
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
