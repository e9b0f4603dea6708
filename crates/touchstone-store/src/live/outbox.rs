//! The updates that are not delivered yet, by feed: those of one commit are delivered together.

use super::mailbox::{Slot, Supersede as _};
use super::update::{SubscriptionId, Update, What};
use std::collections::HashMap;

/// The destination of a subscription's updates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// The feed's number.
    pub(crate) feed: u32,
    /// The subscription's place in the feed's mailbox.
    pub(crate) slot: Slot,
    pub(crate) id: SubscriptionId,
}

/// The updates of one commit, or of several that are merged.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) version: u64,
    pub(crate) is_resync: bool,
    /// Whether each subscription gets an update, changed or not: the last one reported an error, and now there is none.
    pub(crate) tells_all: bool,
    /// By feed.
    feeds: Vec<Vec<(Slot, Update)>>,
    /// The feeds that have updates.
    told: Vec<u32>,
    /// The position of each subscription's update, while those of several commits are merged.
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

    /// Keeps the updates, to be merged with later ones: each subscription gets one.
    pub(crate) fn keep(&mut self) {
        if self.kept.is_none() {
            let updates = self.told.iter().flat_map(|feed| self.feeds[*feed as usize].iter().enumerate());
            self.kept = Some(updates.map(|(at, (_, update))| (update.id, at)).collect());
        }
    }

    /// Whether the updates may be of several commits.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Whether an update is kept for a subscription.
    pub(crate) fn is_kept_for(&self, target: Target) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.contains_key(&target.id))
    }

    /// Delivers its updates to each feed.
    pub(crate) fn send(&mut self, mut deliver: impl FnMut(u32, Vec<(Slot, Update)>)) {
        let is_kept = self.kept.take().is_some();
        for feed in self.told.drain(..) {
            let mut updates = std::mem::take(&mut self.feeds[feed as usize]);
            updates.iter_mut().for_each(|(_, update)| update.is_resync |= is_kept);
            deliver(feed, updates);
        }
    }
}
