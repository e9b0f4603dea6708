//! Batches: the changes that one transaction makes for the subscriptions of a feed.

use super::mailbox::{self, Slot};
use super::update::{SubscriptionId, Update};

/// The changes that one transaction makes for a feed's subscriptions: an update for each whose result changed. All are
/// of one version, so no two results contradict each other. A batch may stand for several transactions: then it has the
/// newest update of each, and is a [resync](Batch::is_resync) unless the feed is one of [`Mode::Latest`].
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// let feed = store.feed()?;
/// let all = feed.query::<Task>().watch_count()?;
/// let one = feed.watch::<Task>(&1)?;
/// store.insert(&task(1, Some(20)))?;
/// let batch = feed.next()?.expect("the feed goes on");
/// for update in batch {
///     if update.id() == all.id() {
///         assert_eq!(update.count()?, 1);
///     } else {
///         assert_eq!(update.id(), one.id());
///         assert_eq!(update.results::<Task>()?.len(), 1);
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`Mode::Latest`]: crate::Mode::Latest
#[derive(Debug)]
pub struct Batch {
    version: u64,
    is_resync: bool,
    updates: Vec<(Slot, Update)>,
}

impl Batch {
    pub(super) fn of(taken: mailbox::Batch<Update>) -> Batch {
        let mailbox::Batch { version, is_resync, updates } = taken;
        Batch { version, is_resync, updates }
    }

    /// The version of all its results: the commit that led to them. Versions grow with each commit, and have a meaning
    /// only for one opened [`Store`](crate::Store).
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch()?;
    /// store.insert(&task(1, Some(20)))?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// assert!(batch.version() > all.results().version());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Whether the batch stands for several transactions because they could not be followed, or kept, one by one: its
    /// updates lead from the results that the receiver had to those now, without the results in between.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// use touchstone_store::{Mode, Overflow};
    ///
    /// let feed = store.feed_with(Mode::Every { batches: 1, overflow: Overflow::Resync })?;
    /// let all = feed.query::<Task>().watch()?;
    /// store.insert(&task(1, None))?;
    /// store.insert(&task(2, None))?;
    /// store.wait_delivered()?;
    /// assert!(feed.next()?.expect("both as one").is_resync());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_resync(&self) -> bool {
        self.is_resync
    }

    /// The number of updates.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let (all, one) = (feed.query::<Task>().watch()?, feed.watch::<Task>(&1)?);
    /// store.insert(&task(1, None))?;
    /// assert_eq!(feed.next()?.map(|batch| batch.len()), Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.updates.len()
    }

    /// Whether there is no update. No batch that a feed gives is empty.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # let feed = store.feed()?;
    /// # let all = feed.query::<Task>().watch()?;
    /// # store.insert(&task(1, None))?;
    /// assert!(!feed.next()?.expect("the feed goes on").is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.updates.is_empty()
    }

    /// The updates, in no particular order.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch()?;
    /// store.insert(&task(1, None))?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// assert!(batch.iter().all(|update| update.id() == all.id()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Update> {
        self.updates.iter().map(|(_, update)| update)
    }

    /// The update of one subscription, if the transaction changed its result. This searches the updates one by one: if
    /// there are many subscriptions, go through the updates, and find each one's subscription by [`Update::id`].
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let (one, two) = (feed.watch::<Task>(&1)?, feed.watch::<Task>(&2)?);
    /// store.insert(&task(1, None))?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// assert!(batch.get(one.id()).is_some());
    /// assert!(batch.get(two.id()).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn get(&self, subscription: SubscriptionId) -> Option<&Update> {
        self.iter().find(|update| update.id() == subscription)
    }
}

impl IntoIterator for Batch {
    type Item = Update;
    type IntoIter = Updates;

    fn into_iter(self) -> Updates {
        Updates(self.updates.into_iter())
    }
}

/// The updates of a [`Batch`], one by one.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// # let feed = store.feed()?;
/// # let all = feed.query::<Task>().watch()?;
/// # store.insert(&task(1, None))?;
/// let updates = feed.next()?.expect("the feed goes on").into_iter();
/// assert_eq!(updates.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Updates(std::vec::IntoIter<(Slot, Update)>);

impl Iterator for Updates {
    type Item = Update;

    fn next(&mut self) -> Option<Update> {
        self.0.next().map(|(_, update)| update)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for Updates {}
