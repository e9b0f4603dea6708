//! LRU of `lru`.

use super::locked::{Locked, Pages};
use crate::page::Page;
use foldhash::fast::FixedState;
use lru::LruCache;
use std::num::NonZeroUsize;
use std::sync::Arc;

type LeastRecent = LruCache<u64, Arc<Page>, FixedState>;

pub(super) fn pool(pages: usize) -> Locked<LeastRecent> {
    let pages = NonZeroUsize::new(pages).unwrap_or(NonZeroUsize::MIN);
    Locked::new(LruCache::with_hasher(pages, FixedState::default()))
}

impl Pages for LeastRecent {
    fn seen(&mut self, number: u64) -> Option<Arc<Page>> {
        self.get(&number).cloned()
    }

    fn put(&mut self, number: u64, page: Arc<Page>) {
        LruCache::put(self, number, page);
    }
}
