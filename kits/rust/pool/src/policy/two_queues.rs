//! 2Q (Johnson and Shasha, 1994) in its full version, of three lists of `lru`: a page that is new waits in a queue, whose looks count for
//! nothing; when it leaves, its number is remembered; one that is missed while it is remembered is trusted, and kept by recency.
//!
//! Crate `caches` has a 2Q, whose memory of numbers keeps the pages as well, and which panics with three pages or fewer.

use super::locked::{Locked, Pages};
use crate::page::Page;
use foldhash::fast::FixedState;
use lru::LruCache;
use std::num::NonZeroUsize;
use std::sync::Arc;

type Queue<V> = LruCache<u64, V, FixedState>;

/// The pages of a pool in two queues.
pub(super) struct TwoQueues {
    pages: usize,
    /// What the queue of new pages may have, where trusted ones want room: a quarter of the pool.
    new_pages: usize,
    new: Queue<Arc<Page>>,
    trusted: Queue<Arc<Page>>,
    /// Numbers of pages that left the queue: half as many as the pool has pages.
    remembered: Queue<()>,
}

pub(super) fn pool(pages: usize) -> Locked<TwoQueues> {
    let pages = pages.max(1);
    let remembered = NonZeroUsize::new(pages / 2).unwrap_or(NonZeroUsize::MIN);
    let queue = || LruCache::unbounded_with_hasher(FixedState::default());
    Locked::new(TwoQueues {
        pages,
        new_pages: (pages / 4).max(1),
        new: queue(),
        trusted: queue(),
        remembered: LruCache::with_hasher(remembered, FixedState::default()),
    })
}

impl Pages for TwoQueues {
    fn seen(&mut self, number: u64) -> Option<Arc<Page>> {
        self.trusted.get(&number).or_else(|| self.new.peek(&number)).cloned()
    }

    fn put(&mut self, number: u64, page: Arc<Page>) {
        if self.seen(number).is_some() {
            return;
        }
        let is_remembered = self.remembered.pop(&number).is_some();
        if self.new.len() + self.trusted.len() == self.pages {
            self.evict();
        }
        let queue = if is_remembered { &mut self.trusted } else { &mut self.new };
        queue.put(number, page);
    }
}

impl TwoQueues {
    fn evict(&mut self) {
        let is_new = self.new.len() > self.new_pages || self.trusted.is_empty();
        if !is_new {
            self.trusted.pop_lru();
        } else if let Some((number, _)) = self.new.pop_lru() {
            self.remembered.put(number, ());
        }
    }
}
