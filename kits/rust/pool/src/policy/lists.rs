//! The policies of `lru` and `caches`.

use super::locked::{Locked, Pages};
use crate::page::Page;
use caches::TwoQueueCache;
use foldhash::fast::FixedState;
use lru::LruCache;
use std::num::NonZeroUsize;
use std::sync::Arc;

type LeastRecent = LruCache<u64, Arc<Page>, FixedState>;
type TwoQueues = TwoQueueCache<u64, Arc<Page>>;

pub(super) fn least_recent(pages: usize) -> Locked<LeastRecent> {
    let pages = NonZeroUsize::new(pages).unwrap_or(NonZeroUsize::MIN);
    Locked::new(LruCache::with_hasher(pages, FixedState::default()))
}

pub(super) fn two_queues(pages: usize) -> Locked<TwoQueues> {
    Locked::new(TwoQueueCache::new(pages.max(1)).expect("a pool of one page or more"))
}

impl Pages for LeastRecent {
    fn seen(&mut self, number: u64) -> Option<Arc<Page>> {
        self.get(&number).cloned()
    }

    fn put(&mut self, number: u64, page: Arc<Page>) {
        LruCache::put(self, number, page);
    }
}

impl Pages for TwoQueues {
    fn seen(&mut self, number: u64) -> Option<Arc<Page>> {
        caches::Cache::get(self, &number).cloned()
    }

    fn put(&mut self, number: u64, page: Arc<Page>) {
        caches::Cache::put(self, number, page);
    }
}
