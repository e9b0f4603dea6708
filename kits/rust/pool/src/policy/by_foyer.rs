//! SIEVE of `foyer-memory`. One shard, and a hash without a random seed: the same gets hit the same pages each time.

use super::{Found, Pool};
use crate::page::Page;
use foldhash::fast::FixedState;
use foyer_memory::{Cache, CacheBuilder, CacheProperties, SieveConfig};
use touchstone_kit::Failure;

/// A pool of the library's.
pub(super) struct ByFoyer(Cache<u64, Page, FixedState, CacheProperties>);

pub(super) fn sieve(pages: usize) -> ByFoyer {
    let builder = CacheBuilder::new(pages)
        .with_shards(1)
        .with_hash_builder(FixedState::default())
        .with_eviction_config(SieveConfig);
    ByFoyer(builder.build())
}

impl Pool for ByFoyer {
    fn see(
        &self,
        number: u64,
        read: &dyn Fn() -> Result<Page, Failure>,
        look: &mut dyn FnMut(&Page),
    ) -> Result<Found, Failure> {
        if let Some(pinned) = self.0.get(&number) {
            look(pinned.value());
            return Ok(Found::Hit);
        }
        look(self.0.insert(number, read()?).value());
        Ok(Found::Miss)
    }
}
