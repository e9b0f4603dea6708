//! Tells streams of revisions by live queries: one for each user that is watched, of that user's row.

use super::schema::UserRow;
use crate::storage::watching::Registry;
use crate::storage::{Account, Watch};
use std::fmt;
use touchstone_store::{Batch, Feed, Listener, Result, Store, Subscription};

/// The feed of live queries, and who is told of it.
pub(super) struct Hub {
    feed: Feed,
    registry: Registry<Subscription<UserRow>>,
    /// Hears what the feed has, until the hub is dropped.
    _listener: Listener,
}

impl Hub {
    /// Watches nobody yet.
    pub(super) fn start(store: &Store) -> Result<Hub> {
        let (feed, registry) = (store.feed()?, Registry::new());
        let told = Told(registry.clone());
        let listener = feed.clone().listen(move |batch| told.tell(&batch))?;
        Ok(Hub { feed, registry, _listener: listener })
    }

    /// Watches a user. Where nobody does yet a live query is begun, which reads the user's row.
    pub(super) fn watch(&self, account: Account) -> Result<Watch> {
        self.registry.join(account, || {
            let mut subscription = self.feed.watch::<UserRow>(&account.user)?;
            let revision = subscription.take_results().first().map_or(0, |user| user.revision);
            Ok((revision, subscription))
        })
    }
}

/// What the listener has. Where the feed ends, streams end with it: their devices ask again, and are told why.
struct Told(Registry<Subscription<UserRow>>);

impl Told {
    fn tell(&self, batch: &Batch) {
        for update in batch.iter() {
            // A user that is removed has no row, and nothing more to tell. Of a row that cannot be read the next request tells.
            let Ok(results) = update.results::<UserRow>() else { continue };
            if let Some(user) = results.first() {
                self.0.tell(user.id, user.revision);
            }
        }
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Hub").field("users", &self.registry.users().len()).finish_non_exhaustive()
    }
}
