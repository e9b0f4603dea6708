//! S3-FIFO of `quick_cache`. One shard, and a hash without a random seed: the same gets hit the same pages each time.
//!
//! Its first pages fill the large queue, as in the simulator of the policy's authors; `foyer-memory`, which has the policy too,
//! lets all of them wait in the small one, so that pages in turn are never hit.

use super::{Found, Pool};
use crate::page::Page;
use foldhash::fast::FixedState;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, UnitWeighter};
use std::sync::Arc;
use touchstone_kit::Failure;

/// As published, of the pool: what the large queue has, and as many numbers of pages that left the small one are remembered. The
/// library's own small queue has 3 %, and it remembers half as many.
const LARGE_QUEUE: f64 = 0.9;

/// A pool of the library's.
pub(super) struct ByQuickCache(Cache<u64, Arc<Page>, UnitWeighter, FixedState>);

pub(super) fn s3_fifo(pages: usize) -> ByQuickCache {
    let options = OptionsBuilder::new()
        .shards(1)
        .estimated_items_capacity(pages)
        .weight_capacity(pages as u64)
        .hot_allocation(LARGE_QUEUE)
        .ghost_allocation(LARGE_QUEUE)
        .build()
        .expect("both capacities are named");
    let hash = FixedState::default();
    ByQuickCache(Cache::with_options(options, UnitWeighter, hash, DefaultLifecycle::default()))
}

impl Pool for ByQuickCache {
    fn see(
        &self,
        number: u64,
        read: &dyn Fn() -> Result<Page, Failure>,
        look: &mut dyn FnMut(&Page),
    ) -> Result<Found, Failure> {
        if let Some(pinned) = self.0.get(&number) {
            look(&pinned);
            return Ok(Found::Hit);
        }
        let page = Arc::new(read()?);
        self.0.insert(number, Arc::clone(&page));
        look(&page);
        Ok(Found::Miss)
    }
}
