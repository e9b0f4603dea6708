//! Subscriptions: each is watched by a feed until it is dropped.

use super::explain::LiveExplanation;
use super::feed::Inner;
use super::mailbox::Slot;
use super::results::Results;
use super::sql_rows::SqlRows;
use super::update::SubscriptionId;
use super::watched::Place;
use crate::types::error::Result;
use crate::types::record::Record;
use crate::types::sync::Arc;
use std::fmt;

/// A query, or a key, whose records are watched until this is dropped.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// let feed = store.feed()?;
/// let all = feed.query::<Task>().watch()?;
/// let id = all.id();
/// store.insert(&task(1, None))?;
/// drop(all);
/// store.insert(&task(2, None))?;
/// store.wait_delivered()?;
/// assert!(feed.try_next()?.is_none(), "what was pending of it is gone, too");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Subscription<T> {
    pub(super) held: Held,
    pub(super) results: Results<T>,
}

impl<T: Record> Subscription<T> {
    /// Identifies the updates of this subscription.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// use std::collections::HashMap;
    ///
    /// let feed = store.feed()?;
    /// let watched = [feed.watch::<Task>(&1)?, feed.watch::<Task>(&2)?];
    /// let numbers: HashMap<_, _> = watched.iter().map(|one| one.id()).zip(1..).collect();
    /// store.insert(&task(2, None))?;
    /// for update in feed.next()?.expect("the feed goes on") {
    ///     assert_eq!(numbers[&update.id()], 2);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> SubscriptionId {
        self.held.id
    }

    /// The first result: updates come after it. A subscription that lives for long should not keep these records,
    /// because rows of that time are not freed before; see [`take_results`](Subscription::take_results).
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.insert(&task(1, None))?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch()?;
    /// store.insert(&task(2, None))?;
    /// assert_eq!(all.results().len(), 1);
    /// assert_eq!(feed.next()?.expect("the feed goes on").get(all.id()).expect("it was changed").results::<Task>()?.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn results(&self) -> &Results<T> {
        &self.results
    }

    /// Takes the first result out of the subscription, which then has none: those of the updates replace it.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.insert(&task(1, None))?;
    /// let feed = store.feed()?;
    /// let mut all = feed.query::<Task>().watch()?;
    /// let mut shown = all.take_results();
    /// assert_eq!(shown.len(), 1);
    ///
    /// store.insert(&task(2, None))?;
    /// if let Some(update) = feed.next()?.expect("the feed goes on").get(all.id()) {
    ///     shown = update.results()?;
    /// }
    /// assert_eq!(shown.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "the subscription keeps none"]
    pub fn take_results(&mut self) -> Results<T> {
        let none = Results::of_record(None, self.results.version());
        std::mem::replace(&mut self.results, none)
    }

    /// How the store follows the subscription, and the costs of that.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// use touchstone_store::Structure;
    ///
    /// let feed = store.feed()?;
    /// let soon = feed.query::<Task>().filter(|task| task.due.lt(30)).watch()?;
    /// assert_eq!(soon.explain()?.structure, Structure::Window);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the store is closed.
    pub fn explain(&self) -> Result<LiveExplanation> {
        self.held.explain()
    }

    /// Ends the subscription, as dropping it does: no batch that is taken afterwards has an update of it.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch()?;
    /// store.insert(&task(1, None))?;
    /// all.cancel();
    /// assert!(feed.try_next()?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(self) {}
}

impl<T> fmt::Debug for Subscription<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Subscription").field("id", &self.held.id).finish_non_exhaustive()
    }
}

/// A query whose records are counted, until this is dropped.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// let feed = store.feed()?;
/// let all = feed.query::<Task>().watch_count()?;
/// store.insert(&task(1, None))?;
/// store.put(&task(1, Some(20)))?;
/// store.wait_delivered()?;
/// assert_eq!(feed.next()?.expect("the feed goes on").get(all.id()).expect("there is one more").count()?, 1);
/// assert!(feed.try_next()?.is_none(), "there were no more and no less");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CountSubscription {
    pub(super) held: Held,
    pub(super) count: u64,
}

impl CountSubscription {
    /// Identifies the updates of this subscription.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let (one, other) = (feed.query::<Task>().watch_count()?, feed.query::<Task>().watch_count()?);
    /// assert_ne!(one.id(), other.id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> SubscriptionId {
        self.held.id
    }

    /// The number of records at the beginning: updates come after it.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.insert(&task(1, None))?;
    /// assert_eq!(store.feed()?.query::<Task>().watch_count()?.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How the store follows the subscription, and the costs of that: it holds none of the counted records.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.insert(&task(1, None))?;
    /// let feed = store.feed()?;
    /// assert_eq!(feed.query::<Task>().watch_count()?.explain()?.rows, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the store is closed.
    pub fn explain(&self) -> Result<LiveExplanation> {
        self.held.explain()
    }

    /// Ends the subscription, as dropping it does: no batch that is taken afterwards has an update of it.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch_count()?;
    /// store.insert(&task(1, None))?;
    /// all.cancel();
    /// assert!(feed.try_next()?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(self) {}
}

/// An SQL statement that is watched, until this is dropped.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// store.insert(&task(2, None))?;
/// let feed = store.feed()?;
/// let titles = feed.watch_sql("select title from task order by title", [])?;
/// store.insert(&task(1, None))?;
/// let batch = feed.next()?.expect("the feed goes on");
/// let rows = batch.get(titles.id()).expect("it was changed").sql_rows()?;
/// assert_eq!(rows.get(0), Some(["task 1".into()].as_slice()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SqlSubscription {
    pub(super) held: Held,
    pub(super) rows: SqlRows,
}

impl SqlSubscription {
    /// Identifies the updates of this subscription.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # store.insert(&task(1, None))?;
    /// let feed = store.feed()?;
    /// let count = feed.watch_sql("select count(*) from task", [])?;
    /// store.insert(&task(2, None))?;
    /// assert!(feed.next()?.expect("the feed goes on").get(count.id()).is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> SubscriptionId {
        self.held.id
    }

    /// The first rows: updates come after them.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let sums = feed.watch_sql("select 1 + ?1 as sum", [2.into()])?;
    /// assert_eq!(sums.rows().columns(), ["sum"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn rows(&self) -> &SqlRows {
        &self.rows
    }

    /// How the store follows the statement: the tables whose changes run it again, and the reason if every commit does.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # store.insert(&task(1, None))?;
    /// let feed = store.feed()?;
    /// let count = feed.watch_sql("select count(*) from task", [])?.explain()?;
    /// assert_eq!((count.tables, count.why_always), (vec!["task".to_owned()], None));
    /// let any = feed.watch_sql("select id from task order by random()", [])?.explain()?;
    /// assert!(any.why_always.is_some_and(|why| why.contains("random")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the store is closed.
    pub fn explain(&self) -> Result<LiveExplanation> {
        self.held.explain()
    }

    /// Ends the subscription, as dropping it does: no batch that is taken afterwards has an update of it.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # store.insert(&task(1, None))?;
    /// let feed = store.feed()?;
    /// let count = feed.watch_sql("select count(*) from task", [])?;
    /// store.insert(&task(2, None))?;
    /// count.cancel();
    /// assert!(feed.try_next()?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(self) {}
}

/// The place of a subscription, which ends when this is dropped.
pub(super) struct Held {
    pub(super) id: SubscriptionId,
    pub(super) topic: u32,
    pub(super) place: Place,
    pub(super) slot: Slot,
    pub(super) feed: Arc<Inner>,
}

impl Held {
    fn explain(&self) -> Result<LiveExplanation> {
        let (topic, place) = (self.topic, self.place);
        self.feed.shared.ask(move |live| live.explain(topic, place))
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Held").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.feed.mail.remove(self.slot);
        let (topic, place, id) = (self.topic, self.place, self.id);
        self.feed.shared.tell(move |live| live.cancel(topic, place, id));
    }
}
