//! Eviction policies: which page leaves a full pool for one that was missed.
//!
//! Each is a well-kept library's where one has it as it was published, and hits the same pages each time. Those that are ours say what
//! the libraries lack; [`scan`](Policy::Scan) nobody should have. A page is pinned while it is looked at: the pool may let go of it meanwhile, its memory stays.

mod by_foyer;
mod by_quick_cache;
mod clock;
mod least_recent;
mod locked;
mod scan;
mod sketch;
mod two_queues;
mod w_tinylfu;

use crate::page::Page;
use std::fmt;
use touchstone_kit::Failure;

/// Which page leaves a full pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The one that was looked at longest ago: crate `lru`.
    Lru,
    /// The next one, going round, that was not looked at since the last round: ours.
    Clock,
    /// The next one from old to new that was not looked at since it was passed by (Zhang et al., 2024): crate `foyer-memory`.
    Sieve,
    /// The oldest of a small queue, unless it was looked at twice, or else of a large one (Yang et al., 2023): crate
    /// `quick_cache`.
    S3Fifo,
    /// A newcomer, unless a sketch of frequencies holds the one that would go for more seldom (Einziger et al., 2017): ours.
    WTinyLfu,
    /// The oldest of a queue of new pages, or else the one of those trusted that was looked at longest ago (Johnson and Shasha,
    /// 1994): ours, of lists of `lru`.
    TwoQueues,
    /// As `Lru`, over a list that is searched from its front for every page: how the page's own test did it, a canary.
    Scan,
}

impl Policy {
    /// Every policy, by its name in settings.
    pub const NAMES: [&'static str; 7] =
        ["lru", "clock", "sieve", "s3-fifo", "w-tinylfu", "two-queues", "scan"];

    /// The policy of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Policy> {
        use Policy::{Clock, Lru, S3Fifo, Scan, Sieve, TwoQueues, WTinyLfu};
        let all = [Lru, Clock, Sieve, S3Fifo, WTinyLfu, TwoQueues, Scan];
        Policy::NAMES.iter().position(|known| *known == name).map(|at| all[at])
    }

    /// A pool of so many pages, at least one.
    #[must_use]
    pub fn pool(self, pages: usize) -> Box<dyn Pool> {
        match self {
            Policy::Lru => Box::new(least_recent::pool(pages)),
            Policy::TwoQueues => Box::new(two_queues::pool(pages)),
            Policy::Clock => Box::new(clock::pool(pages)),
            Policy::Sieve => Box::new(by_foyer::sieve(pages)),
            Policy::S3Fifo => Box::new(by_quick_cache::s3_fifo(pages)),
            Policy::WTinyLfu => Box::new(w_tinylfu::pool(pages)),
            Policy::Scan => Box::new(scan::pool(pages)),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(Policy::NAMES[*self as usize])
    }
}

/// Where a page was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// In the pool.
    Hit,
    /// In the file.
    Miss,
}

/// A pool that threads share.
pub trait Pool: Send + Sync {
    /// Lets `look` see page `number`: from the pool, or as `read` reads it, which then is in the pool.
    ///
    /// # Errors
    /// As `read` does; the pool is then as it was.
    fn see(
        &self,
        number: u64,
        read: &dyn Fn() -> Result<Page, Failure>,
        look: &mut dyn FnMut(&Page),
    ) -> Result<Found, Failure>;
}

#[cfg(test)]
mod tests;
