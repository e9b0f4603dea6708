//! What is to be told of one commit, by feed, until it is told at once.

use super::mailbox::Slot;
use super::update::{SubscriptionId, Update, What};

/// Where a subscription's updates go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// Which feed.
    pub(crate) feed: u32,
    /// The subscription's place in the feed's mailbox.
    pub(crate) slot: Slot,
    pub(crate) id: SubscriptionId,
}

/// Updates of one commit.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) version: u64,
    pub(crate) is_resync: bool,
    /// Whether everybody is to be told, changed or not: they were told that nothing can be known, and now it can.
    pub(crate) tells_all: bool,
    /// By feed; those that have none keep their memory.
    feeds: Vec<Vec<(Slot, Update)>>,
    /// The feeds that have some.
    told: Vec<u32>,
}

impl Outbox {
    #[inline]
    pub(crate) fn put(&mut self, target: Target, what: What) {
        let feed = target.feed as usize;
        if feed >= self.feeds.len() {
            self.feeds.resize_with(feed + 1, Vec::new);
        }
        let updates = &mut self.feeds[feed];
        if updates.is_empty() {
            self.told.push(target.feed);
        }
        let (version, is_resync) = (self.version, self.is_resync);
        updates.push((target.slot, Update::new(target.id, version, what, is_resync)));
    }

    /// Gives each feed its updates.
    pub(crate) fn send(&mut self, mut deliver: impl FnMut(u32, Vec<(Slot, Update)>)) {
        for feed in self.told.drain(..) {
            let updates = std::mem::take(&mut self.feeds[feed as usize]);
            deliver(feed, updates);
        }
    }
}
