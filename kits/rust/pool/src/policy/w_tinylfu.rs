//! W-TinyLFU (Einziger, Friedman and Manes, 2017): a new page waits in a window of a hundredth of the pool. When it leaves, it
//! takes the place of the main part's next victim where it was asked for more often than that, and is gone otherwise. The main
//! part is a segmented LRU: what is looked at there is protected, and four fifths of it may be.
//!
//! Of the libraries that have it, `foyer-memory` evicts the victim for a newcomer that was asked for no more often, so that pages
//! in turn are never hit, and hashes a page three times more for each look; `caches` takes the seeds of its sketch from the
//! clock, and so hits other pages each time; `moka` has no window.

use super::locked::{Locked, Pages};
use super::sketch::Sketch;
use crate::page::Page;
use foldhash::fast::FixedState;
use lru::LruCache;
use std::num::NonZeroUsize;
use std::sync::Arc;

type Segment = LruCache<u64, Arc<Page>, FixedState>;

/// The pages of a pool, in a window and two segments.
pub(super) struct WTinyLfu {
    window_pages: usize,
    main_pages: usize,
    window: Segment,
    probation: Segment,
    protected: Segment,
    asked: Sketch,
}

pub(super) fn pool(pages: usize) -> Locked<WTinyLfu> {
    let pages = pages.max(1);
    let window_pages = (pages / 100).max(1);
    let main_pages = pages - window_pages;
    let protected_pages = NonZeroUsize::new(main_pages * 4 / 5).unwrap_or(NonZeroUsize::MIN);
    let segment = || LruCache::unbounded_with_hasher(FixedState::default());
    Locked::new(WTinyLfu {
        window_pages,
        main_pages,
        window: segment(),
        probation: segment(),
        protected: LruCache::with_hasher(protected_pages, FixedState::default()),
        asked: Sketch::of(pages),
    })
}

impl Pages for WTinyLfu {
    fn seen(&mut self, number: u64) -> Option<Arc<Page>> {
        self.asked.add(number);
        if let Some(page) = self.protected.get(&number) {
            return Some(Arc::clone(page));
        }
        if let Some(page) = self.probation.pop(&number) {
            self.protect(number, Arc::clone(&page));
            return Some(page);
        }
        self.window.get(&number).cloned()
    }

    fn put(&mut self, number: u64, page: Arc<Page>) {
        if [&self.window, &self.probation, &self.protected].iter().any(|segment| segment.contains(&number)) {
            return;
        }
        self.window.put(number, page);
        if self.window.len() > self.window_pages
            && let Some((number, page)) = self.window.pop_lru()
        {
            self.admit(number, page);
        }
    }
}

impl WTinyLfu {
    fn protect(&mut self, number: u64, page: Arc<Page>) {
        if let Some((number, page)) = self.protected.push(number, page) {
            self.probation.put(number, page);
        }
    }

    /// Takes a page that leaves the window into the main part, if it is worth more than what would have to go.
    fn admit(&mut self, number: u64, page: Arc<Page>) {
        if self.probation.len() + self.protected.len() >= self.main_pages {
            let segment = if self.probation.is_empty() { &mut self.protected } else { &mut self.probation };
            match segment.peek_lru() {
                Some((victim, _)) if self.asked.count(number) > self.asked.count(*victim) => {
                    segment.pop_lru()
                }
                _ => return,
            };
        }
        self.probation.put(number, page);
    }
}
