//! The contents of a mailbox: the slots of its subscriptions, and the updates that no receiver has taken. They are not
//! shared, know no time and wake no thread: that is the mailbox's part. Updates that no receiver will take are handed
//! out as a leftover and not freed here, because the mailbox is locked here.

use super::{Batch, Leftover, Mode, Overflow, Slot, Supersede};
use std::collections::VecDeque;

/// The slots and the pending updates.
pub(super) struct Contents<U> {
    mode: Mode,
    places: Vec<IndexState>,
    /// The indices without a subscription.
    free: Vec<u32>,
    /// The number of subscriptions.
    subscriptions: usize,
    /// The number of removals so far.
    removals: u64,
    /// The newest update of each subscription that has one: all pending updates of `Mode::Latest`, and of
    /// `Overflow::Resync` from an overflow until the batch is taken. It is empty while `queue` is not.
    newest: Batch<U>,
    /// The pending batches of `Mode::Every`.
    queue: VecDeque<Queued<U>>,
}

/// The state of one index.
#[derive(Clone, Copy)]
struct IndexState {
    /// The generation of the slot in use, or else of the next one.
    generation: u32,
    /// The position in `newest` of the slot's update, if the update there is this slot's. A mere guess, so that nothing
    /// needs a reset when `newest` is taken (Briggs and Torczon, "An efficient representation for sparse sets").
    guess: u32,
}

struct Queued<U> {
    batch: Batch<U>,
    /// The value of `Contents::removals` when each of the updates had a subscription.
    removals: u64,
}

/// The effect of a put for receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PutEffect {
    /// There is no more to take than before.
    None,
    /// There is one more batch to take.
    Batch,
    /// The queue overflowed, which ends the feed.
    End,
}

impl<U: Supersede> Contents<U> {
    pub(super) fn new(mode: Mode) -> Contents<U> {
        Contents {
            mode,
            places: Vec::new(),
            free: Vec::new(),
            subscriptions: 0,
            removals: 0,
            newest: Batch::default(),
            queue: VecDeque::new(),
        }
    }

    pub(super) fn add(&mut self) -> Slot {
        self.subscriptions += 1;
        let index = self.free.pop().unwrap_or_else(|| {
            let index = u32::try_from(self.places.len()).expect("memory ends before the indices do");
            self.places.push(IndexState { generation: 0, guess: 0 });
            index
        });
        Slot { index, generation: self.places[index as usize].generation }
    }

    /// Removes a subscription; returns whether the slot was in use.
    pub(super) fn remove(&mut self, slot: Slot, leftover: &mut Leftover<U>) -> bool {
        if !self.is_used(slot) {
            return false;
        }
        self.remove_newest(slot, leftover);
        let place = &mut self.places[slot.index as usize];
        place.generation += 1;
        // An index with all generations used up is not used again: otherwise an old slot would be valid again.
        if place.generation < u32::MAX {
            self.free.push(slot.index);
        }
        self.removals += 1;
        self.subscriptions -= 1;
        if self.subscriptions == 0 {
            // A feed without subscriptions needs no receiver: its full queue would keep the writers waiting.
            leftover.add_queue(std::mem::take(&mut self.queue).into_iter().map(|queued| queued.batch));
        }
        true
    }

    fn remove_newest(&mut self, slot: Slot, leftover: &mut Leftover<U>) {
        let at = self.places[slot.index as usize].guess as usize;
        if !self.newest.holds(at, slot.index) {
            return;
        }
        leftover.add(vec![self.newest.updates.swap_remove(at)]);
        if let Some((moved, _)) = self.newest.updates.get(at) {
            self.places[moved.index as usize].guess = at as u32;
        }
    }

    fn is_used(&self, slot: Slot) -> bool {
        is_used(&self.places, slot)
    }

    pub(super) fn put(&mut self, mut batch: Batch<U>, leftover: &mut Leftover<U>) -> PutEffect {
        leftover.add(extract_removed(&self.places, &mut batch.updates));
        if batch.updates.is_empty() {
            return PutEffect::None;
        }
        let Mode::Every { batches, overflow } = self.mode else { return self.supersede(batch, leftover) };
        if !self.newest.updates.is_empty() {
            return self.supersede(batch, leftover);
        }
        let mut has_room = self.queue.len() < batches.max(1);
        if !has_room {
            self.sweep(leftover);
            has_room = self.queue.len() < batches.max(1);
        }
        match overflow {
            Overflow::Resync if !has_room => self.collapse(batch, leftover),
            Overflow::End if !has_room => {
                leftover.add(batch.updates);
                leftover.add_queue(self.queue.drain(..).map(|queued| queued.batch));
                PutEffect::End
            }
            Overflow::Block | Overflow::Resync | Overflow::End => {
                self.queue.push_back(Queued { batch, removals: self.removals });
                PutEffect::Batch
            }
        }
    }

    /// Replaces the updates that the batch supersedes. All subscriptions of the batch exist.
    fn supersede(&mut self, batch: Batch<U>, leftover: &mut Leftover<U>) -> PutEffect {
        if self.newest.updates.is_empty() {
            // While the receiver keeps up, it gets the producer's list as it is.
            self.newest = batch;
            for (at, (slot, _)) in self.newest.updates.iter().enumerate() {
                let guess = &mut self.places[slot.index as usize].guess;
                let is_second = (*guess as usize) < at && self.newest.holds(*guess as usize, slot.index);
                debug_assert!(!is_second, "a batch has one update of a subscription");
                *guess = at as u32;
            }
            return PutEffect::Batch;
        }
        self.newest.version = batch.version;
        self.newest.is_resync |= batch.is_resync;
        let mut updates = batch.updates;
        let mut position = 0;
        while let Some((slot, update)) = updates.get_mut(position) {
            let place = &mut self.places[slot.index as usize];
            let at = place.guess as usize;
            if self.newest.holds(at, slot.index) {
                let older = &mut self.newest.updates[at].1;
                update.supersede(older);
                std::mem::swap(update, older);
                position += 1;
            } else {
                place.guess = self.newest.updates.len() as u32;
                self.newest.updates.push(updates.swap_remove(position));
            }
        }
        leftover.add(updates);
        PutEffect::None
    }

    /// Merges the queue, and the batch that overflows it, into one batch.
    fn collapse(&mut self, batch: Batch<U>, leftover: &mut Leftover<U>) -> PutEffect {
        for queued in std::mem::take(&mut self.queue) {
            self.supersede(queued.batch, leftover);
        }
        self.supersede(batch, leftover);
        self.newest.is_resync = true;
        PutEffect::None
    }

    /// Removes the updates of removed subscriptions from the queue, and then the batches without updates.
    fn sweep(&mut self, leftover: &mut Leftover<U>) {
        self.queue.retain_mut(|queued| {
            if queued.removals != self.removals {
                leftover.add(extract_removed(&self.places, &mut queued.batch.updates));
                queued.removals = self.removals;
            }
            !queued.batch.updates.is_empty()
        });
    }

    pub(super) fn take(&mut self, leftover: &mut Leftover<U>) -> Option<Batch<U>> {
        if !self.newest.updates.is_empty() {
            return Some(std::mem::take(&mut self.newest));
        }
        while let Some(Queued { mut batch, removals }) = self.queue.pop_front() {
            if removals != self.removals {
                leftover.add(extract_removed(&self.places, &mut batch.updates));
            }
            if !batch.updates.is_empty() {
                return Some(batch);
            }
        }
        None
    }

    /// Empties the mailbox without a receiver.
    pub(super) fn clear(&mut self, leftover: &mut Leftover<U>) {
        leftover.add(std::mem::take(&mut self.newest).updates);
        leftover.add_queue(std::mem::take(&mut self.queue).into_iter().map(|queued| queued.batch));
    }

    /// Whether there may be a batch to take; there is none if all of its subscriptions were removed.
    pub(super) fn may_have_batch(&self) -> bool {
        !self.newest.updates.is_empty() || !self.queue.is_empty()
    }

    /// Whether writers must wait until a batch is taken.
    pub(super) fn is_full(&self) -> bool {
        match self.mode {
            Mode::Every { batches, overflow: Overflow::Block } => self.queue.len() >= batches.max(1),
            Mode::Every { .. } | Mode::Latest => false,
        }
    }

    /// The number of newest updates, and of batches.
    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.newest.updates.len(), self.queue.len())
    }

    #[cfg(test)]
    pub(super) fn set_generation(&mut self, slot: Slot, generation: u32) {
        self.places[slot.index as usize].generation = generation;
    }
}

impl<U> Batch<U> {
    /// Whether the update at this position is of the slot with this index.
    fn holds(&self, at: usize, index: u32) -> bool {
        self.updates.get(at).is_some_and(|(slot, _)| slot.index == index)
    }
}

fn is_used(places: &[IndexState], slot: Slot) -> bool {
    places.get(slot.index as usize).is_some_and(|place| place.generation == slot.generation)
}

/// Takes out the updates of removed subscriptions.
fn extract_removed<U>(places: &[IndexState], updates: &mut Vec<(Slot, U)>) -> Vec<(Slot, U)> {
    updates.extract_if(.., |(slot, _)| !is_used(places, *slot)).collect()
}
