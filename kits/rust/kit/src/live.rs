//! What a driver implements whose library has subscriptions, or a strategy in the place of them: [`Live`].

use crate::{Store, Stored};
use std::hint::black_box;
use std::time::Instant;
use touchstone_protocol::{Stretch, Subscription, Watched};

use crate::clock::{elapsed_ns, processor_ns};

/// Subscriptions to one record type. Those of [`watch`](Live::watch) are made before anything is timed, and end with the
/// handle.
///
/// For each transaction the kit calls [`change`](Live::change), then [`receive`](Live::receive); where it times how long
/// subscriptions take to begin and to end, [`subscribe`](Live::subscribe), then [`unsubscribe`](Live::unsubscribe).
pub trait Live<R: Stored>: Store<R> {
    /// What can be watched.
    const WATCHES: &'static [Watched];

    /// What a subscriber is given.
    type Update: Update<R>;

    /// What a subscriber has at first, and still has when its subscription has ended.
    type First;

    /// Subscribes to all of them; a subscription's number is its place. Those made before end.
    ///
    /// # Errors
    /// As the library does.
    fn watch(&mut self, subscriptions: &[Subscription]) -> Result<(), Self::Error>;

    /// Begins one more subscription, and hands over its first result. Where the library fetches that when it is first
    /// looked at, it is looked at here: the subscriber has every record in its hand.
    ///
    /// # Errors
    /// As the library does.
    fn subscribe(&mut self, subscription: &Subscription) -> Result<Self::First, Self::Error>;

    /// Ends the subscription that [`subscribe`](Live::subscribe) began last, as who leaves a view does.
    ///
    /// # Errors
    /// As the library does.
    fn unsubscribe(&mut self) -> Result<(), Self::Error>;

    /// The records of a first result, in its order. Never timed.
    fn first_records(first: &Self::First) -> impl Iterator<Item = &R>;

    /// In one transaction, writes each new state, whole, over the record with its key, and commits. Calls
    /// [`Moments::handed_over`] once, when every statement is done and nothing is left but to commit.
    ///
    /// # Errors
    /// As the library does.
    fn change(&mut self, states: &[&R], moments: &mut Moments) -> Result<(), Self::Error>;

    /// Hands over what the last transaction has for the subscribers, in any order: exactly one update for each
    /// subscription whose result is another than before. Returns when there is nothing more to come.
    ///
    /// # Errors
    /// As the library does.
    fn receive(&mut self, updates: &mut Vec<Self::Update>) -> Result<(), Self::Error>;

    /// Fetches what a subscription is about anew, by the library's own means, in its order. Never timed.
    ///
    /// # Errors
    /// As the library does.
    fn fetch(&mut self, subscription: &Subscription) -> Result<Vec<R>, Self::Error>;
}

/// What a subscriber is given: its new result, and a way to what differs.
///
/// What takes time in a library that has a method for it belongs into that method here: what is read in place is not
/// copied before, and what differs is worked out when it is asked for, unless the library has it at hand.
pub trait Update<R: Stored> {
    /// A list of the subscriber's own with every record of the result. Its records may be shared, where the library's
    /// own are.
    type Copy;

    /// What differs from the result that the subscriber had, as the library tells it.
    type Diff;

    /// Which subscription it is for.
    fn subscription(&self) -> usize;

    /// The sum of the priorities in the result, read record by record in place. A missing one counts nothing.
    fn sum(&self) -> i64;

    /// Copies the result.
    fn copy(&self) -> Self::Copy;

    /// Tells what differs.
    fn diff(&self) -> Self::Diff;

    /// The result. Never timed.
    fn records(&self) -> impl Iterator<Item = &R>;

    /// What was copied. Never timed.
    fn copied(copy: &Self::Copy) -> impl Iterator<Item = &R>;

    /// What differs, in the kit's words. Never timed.
    fn differences(diff: Self::Diff) -> Vec<Difference<R>>;
}

/// One difference between two results. Places of what was removed are those in the older one, all others those in the
/// newer one.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference<R> {
    /// A record is no longer there.
    Removed {
        /// Where it was.
        at: usize,
    },
    /// A record is there that was not.
    Inserted {
        /// Where it is.
        at: usize,
        /// The record.
        record: R,
    },
    /// A record is another than before, in the same place among those that stayed.
    Changed {
        /// Where it is.
        at: usize,
        /// The record.
        record: R,
    },
}

/// The moments of a transaction, from its first statement until its last subscriber is done.
///
/// The wall clock is read at each, the processor's only where the timed stretch begins and ends.
pub struct Moments {
    stretch: Stretch,
    started: Instant,
    handed_over: Option<Instant>,
    committed: Instant,
    received: Instant,
    done: Instant,
    processor_start_ns: u64,
    processor_end_ns: u64,
}

impl Moments {
    pub(crate) fn start(stretch: Stretch) -> Moments {
        let processor_start_ns = processor_ns();
        let now = Instant::now();
        Moments {
            stretch,
            started: now,
            handed_over: None,
            committed: now,
            received: now,
            done: now,
            processor_start_ns,
            processor_end_ns: processor_start_ns,
        }
    }

    /// Every statement of the transaction is done; what follows is the commit.
    #[inline]
    pub fn handed_over(&mut self) {
        if matches!(self.stretch, Stretch::Commit | Stretch::Both) {
            self.processor_start_ns = processor_ns();
        }
        self.handed_over = Some(Instant::now());
    }

    pub(crate) fn committed(&mut self) {
        self.committed = Instant::now();
        match self.stretch {
            Stretch::Write | Stretch::Commit => self.processor_end_ns = processor_ns(),
            Stretch::Delivery => self.processor_start_ns = processor_ns(),
            Stretch::Both => {}
        }
    }

    pub(crate) fn received(&mut self) {
        self.received = Instant::now();
    }

    pub(crate) fn done(&mut self) {
        self.done = Instant::now();
        if matches!(self.stretch, Stretch::Delivery | Stretch::Both) {
            self.processor_end_ns = processor_ns();
        }
    }

    pub(crate) fn write_ns(&self) -> u64 {
        elapsed_ns(self.started, self.committed_from())
    }

    pub(crate) fn commit_ns(&self) -> u64 {
        elapsed_ns(self.committed_from(), self.committed)
    }

    pub(crate) fn delivery_ns(&self) -> u64 {
        elapsed_ns(self.committed, self.received)
    }

    pub(crate) fn depth_ns(&self) -> u64 {
        elapsed_ns(self.received, self.done)
    }

    pub(crate) fn cpu_ns(&self) -> u64 {
        self.processor_end_ns.saturating_sub(self.processor_start_ns)
    }

    /// The stretch that the lane times.
    pub(crate) fn wall_ns(&self) -> u64 {
        match self.stretch {
            Stretch::Write => elapsed_ns(self.started, self.committed),
            Stretch::Commit => self.commit_ns(),
            Stretch::Delivery => elapsed_ns(self.committed, self.done),
            Stretch::Both => elapsed_ns(self.committed_from(), self.done),
        }
    }

    /// Whether the driver said when the commit began.
    pub(crate) fn is_told(&self) -> bool {
        self.handed_over.is_some()
    }

    fn committed_from(&self) -> Instant {
        self.handed_over.unwrap_or(self.started)
    }
}

/// What subscribers have after doing what the depth says.
pub(crate) enum Taken<U, C, D> {
    /// Nothing but their updates.
    Handles(Vec<U>),
    /// The sums as well.
    Sums(Vec<U>, Vec<i64>),
    /// Copies as well.
    Copies(Vec<U>, Vec<C>),
    /// Differences as well.
    Diffs(Vec<U>, Vec<D>),
}

/// What the updates of a record come to once they are taken.
pub(crate) type TakenOf<U, R> = Taken<U, <U as Update<R>>::Copy, <U as Update<R>>::Diff>;

/// Does to every update what the depth says: this is timed.
#[inline(never)]
pub(crate) fn take<R: Stored, U: Update<R>>(
    updates: Vec<U>,
    depth: touchstone_protocol::Depth,
) -> TakenOf<U, R> {
    use touchstone_protocol::Depth;
    match depth {
        Depth::Handle => Taken::Handles(updates),
        Depth::Iterated => {
            let sums = updates.iter().map(|update| black_box(update.sum())).collect();
            Taken::Sums(updates, sums)
        }
        Depth::Copied => {
            let copies = updates.iter().map(Update::copy).collect();
            Taken::Copies(updates, copies)
        }
        Depth::Diff => {
            let diffs = updates.iter().map(Update::diff).collect();
            Taken::Diffs(updates, diffs)
        }
    }
}
