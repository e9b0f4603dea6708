//! Feeds: where the updates of subscriptions come out, and subscriptions themselves.

use super::link::Shared;
use super::mailbox::{self, Ended};
use super::plan::{Plan, plan};
use super::results::Results;
use super::row::RowKey;
use super::thread::{Asked, Begun, Mail};
use super::update::{SubscriptionId, Update};
use super::watched::Place;
use crate::cells::Cells;
use crate::error::{Error, ErrorKind, Result};
use crate::query::Query;
use crate::record::{Finds, Record};
use crate::sync::Arc;
use std::fmt;
use std::task::{Context, Poll};
use std::time::Duration;

pub use super::mailbox::{Mode, Overflow};

/// One queue of updates, for any number of subscriptions.
#[derive(Clone)]
pub struct Feed {
    inner: Arc<Inner>,
    _receiver: Arc<Receiver>,
}

struct Inner {
    shared: Arc<Shared>,
    mail: Arc<Mail>,
    id: u32,
}

/// Ends the feed when nobody can receive from it any more.
struct Receiver(Arc<Mail>);

impl Drop for Receiver {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let id = self.id;
        self.shared.tell(move |live| live.remove_feed(id));
    }
}

impl Feed {
    pub(crate) fn new(shared: &Arc<Shared>, mode: Mode) -> Result<Feed> {
        let mail = Arc::new(Mail::new(mode, Arc::clone(&shared.room)));
        let added = Arc::clone(&mail);
        let id = shared.ask(move |live| Ok(live.add_feed(added)))?;
        let receiver = Arc::new(Receiver(Arc::clone(&mail)));
        Ok(Feed { inner: Arc::new(Inner { shared: Arc::clone(shared), mail, id }), _receiver: receiver })
    }

    /// A query to watch.
    pub fn query<T: Record>(&self) -> Query<'_, T, &Feed> {
        Query::of(self, T::SHAPE)
    }

    /// Watches one record.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn watch<T: Record>(&self, key: &(impl Finds<T> + ?Sized)) -> Result<Subscription<T>> {
        let mut cells = Cells::default();
        key.write_key(&mut cells);
        let values = RowKey::at(&cells, 0, T::SHAPE.keys).values();
        Ok(self.begin([(Plan::Key(values), false)].into_iter())?.remove(0))
    }

    /// Begins subscriptions to queries, all at one version: all of them or none.
    ///
    /// # Errors
    /// When what they begin with cannot be read.
    pub fn watch_all<'f, T: Record>(
        &'f self,
        queries: impl IntoIterator<Item = Query<'f, T, &'f Feed>>,
    ) -> Result<Vec<Subscription<T>>> {
        self.begin(queries.into_iter().map(|query| (plan(T::SHAPE, &query.request, false), false)))
    }

    fn begin<T: Record>(&self, plans: impl Iterator<Item = (Plan, bool)>) -> Result<Vec<Subscription<T>>> {
        let mail = &self.inner.mail;
        let asked: Vec<Asked> =
            plans.map(|(plan, counts)| Asked { plan, slot: mail.add(), counts }).collect();
        let slots: Vec<mailbox::Slot> = asked.iter().map(|asked| asked.slot).collect();
        let feed = self.inner.id;
        let begun = self.inner.shared.ask(move |live| live.subscribe::<T>(T::SHAPE, feed, asked));
        let begun = begun.inspect_err(|_| {
            for slot in &slots {
                mail.remove(*slot);
            }
        })?;
        let subscription = |(begun, slot)| {
            let Begun { id, topic, place, results } = begun;
            Subscription { id, topic, place, slot, results, feed: Arc::clone(&self.inner) }
        };
        Ok(begun.into_iter().zip(slots).map(subscription).collect())
    }

    /// Waits for the next batch; none when the feed has ended.
    ///
    /// # Errors
    /// When the feed ended because of too many batches, or of a failure: once.
    pub fn next(&self) -> Result<Option<Batch>> {
        self.inner.mail.next().map(batch).map_err(ended)
    }

    /// As [`next`](Feed::next), but waits no longer than that; none also when the time has passed.
    ///
    /// # Errors
    /// As for [`next`](Feed::next).
    pub fn next_within(&self, time: Duration) -> Result<Option<Batch>> {
        self.inner.mail.next_within(time).map(batch).map_err(ended)
    }

    /// As [`next`](Feed::next), but does not wait; none also when there is none yet.
    ///
    /// # Errors
    /// As for [`next`](Feed::next).
    pub fn try_next(&self) -> Result<Option<Batch>> {
        self.inner.mail.try_next().map(batch).map_err(ended)
    }

    /// As [`next`](Feed::next), for a task, which is woken when there is one.
    pub fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Result<Batch>>> {
        self.inner.mail.poll_next(context).map(|next| next.map(|taken| taken.map(Batch::of).map_err(ended)))
    }

    /// Ends the feed: what is pending may still be taken.
    pub fn close(&self) {
        self.inner.mail.close();
    }
}

/// What a feed does with a query.
impl<'f, T: Record> Query<'f, T, &'f Feed> {
    /// Watches the records.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn watch(self) -> Result<Subscription<T>> {
        Ok(self.source.begin([(plan(T::SHAPE, &self.request, false), false)].into_iter())?.remove(0))
    }

    /// Watches how many records there are.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn watch_count(self) -> Result<Subscription<T>> {
        Ok(self.source.begin([(plan(T::SHAPE, &self.request, true), true)].into_iter())?.remove(0))
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Feed").finish_non_exhaustive()
    }
}

fn batch(taken: Option<mailbox::Batch<Update>>) -> Option<Batch> {
    taken.map(Batch::of)
}

fn ended(why: Ended<Error>) -> Error {
    match why {
        Ended::Failed(error) => error,
        Ended::Overflowed => {
            let why = "nobody took the feed's batches, and there were more than it keeps (take them more often, keep more, or choose another `Overflow`)";
            Error::new(ErrorKind::Busy, why)
        }
    }
}

/// What one transaction changed for a feed's subscriptions.
#[derive(Debug)]
pub struct Batch {
    version: u64,
    is_resync: bool,
    updates: Vec<(mailbox::Slot, Update)>,
}

impl Batch {
    fn of(taken: mailbox::Batch<Update>) -> Batch {
        let mailbox::Batch { version, is_resync, updates } = taken;
        Batch { version, is_resync, updates }
    }

    /// The commit after which everything in it is so.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Whether it stands for several transactions, because they could not be followed one by one.
    #[must_use]
    pub fn is_resync(&self) -> bool {
        self.is_resync
    }

    /// How many subscriptions it concerns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.updates.len()
    }

    /// Whether it concerns none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.updates.is_empty()
    }

    /// The updates.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Update> {
        self.updates.iter().map(|(_, update)| update)
    }

    /// The update of one subscription, where it has one. Looks at each: for many subscriptions, go through the updates.
    #[must_use]
    pub fn of_subscription<T>(&self, subscription: &Subscription<T>) -> Option<&Update> {
        self.iter().find(|update| update.id == subscription.id)
    }
}

/// A query that is watched, until this is dropped.
pub struct Subscription<T> {
    id: SubscriptionId,
    topic: u32,
    place: Place,
    slot: mailbox::Slot,
    results: Results<T>,
    feed: Arc<Inner>,
}

impl<T: Record> Subscription<T> {
    /// What its updates say.
    #[must_use]
    pub fn id(&self) -> SubscriptionId {
        self.id
    }

    /// The records with which it began: updates tell what comes after.
    #[must_use]
    pub fn results(&self) -> &Results<T> {
        &self.results
    }

    /// Ends it: when this returns, no update of it is given any more.
    pub fn cancel(self) {}
}

impl<T> fmt::Debug for Subscription<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Subscription").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<T> Drop for Subscription<T> {
    fn drop(&mut self) {
        self.feed.mail.remove(self.slot);
        let (topic, place, id) = (self.topic, self.place, self.id);
        self.feed.shared.tell(move |live| live.cancel(topic, place, id));
    }
}
