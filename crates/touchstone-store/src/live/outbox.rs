//! What is to be told of one commit, by feed, until it is told at once.

use super::mailbox::{Slot, Supersede as _};
use super::update::{SubscriptionId, Update, What};
use std::collections::HashMap;

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
    /// Where the update of each subscription is, while those of several commits are kept to be told together.
    kept: Option<HashMap<SubscriptionId, usize>>,
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
        let mut update = Update::new(target.id, version, what, is_resync);
        let Some(kept) = &mut self.kept else { return updates.push((target.slot, update)) };
        match kept.get(&target.id) {
            Some(at) => {
                update.supersede(&mut updates[*at].1);
                updates[*at].1 = update;
            }
            None => {
                kept.insert(target.id, updates.len());
                updates.push((target.slot, update));
            }
        }
    }

    /// Keeps what there is, to be told together with what comes: each subscription is told once.
    pub(crate) fn keep(&mut self) {
        if self.kept.is_none() {
            let updates = self.told.iter().flat_map(|feed| self.feeds[*feed as usize].iter().enumerate());
            self.kept = Some(updates.map(|(at, (_, update))| (update.id, at)).collect());
        }
    }

    /// Whether what there is may be of several commits.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Whether something is kept for a subscription.
    pub(crate) fn is_kept_for(&self, target: Target) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.contains_key(&target.id))
    }

    /// Gives each feed its updates.
    pub(crate) fn send(&mut self, mut deliver: impl FnMut(u32, Vec<(Slot, Update)>)) {
        let is_kept = self.kept.take().is_some();
        for feed in self.told.drain(..) {
            let mut updates = std::mem::take(&mut self.feeds[feed as usize]);
            updates.iter_mut().for_each(|(_, update)| update.is_resync |= is_kept);
            deliver(feed, updates);
        }
    }
}
