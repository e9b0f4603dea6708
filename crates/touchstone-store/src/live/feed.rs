//! Feeds: where the updates of subscriptions come out, and subscriptions themselves.

use super::explain::LiveExplanation;
use super::link::Shared;
use super::mailbox::{self, Ended, Outcome};
use super::plan::{Plan, plan};
use super::results::Results;
use super::row::RowKey;
use super::sql::SqlRows;
use super::thread::{Asked, Begun, Mail};
use super::update::{SubscriptionId, Update};
use super::watched::Place;
use crate::cells::Cells;
use crate::dynamic::{Dynamic, Key, Type, Value};
use crate::error::{Error, ErrorKind, Result};
use crate::query::Query;
use crate::record::{Finds, Record, Shape};
use crate::sync::Arc;
use futures_core::Stream;
use std::fmt;
use std::pin::Pin;
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
        self.watch_key(T::SHAPE, key)
    }

    fn watch_key<T: Record>(
        &self,
        shape: &'static Shape,
        key: &(impl Finds<T> + ?Sized),
    ) -> Result<Subscription<T>> {
        let mut cells = Cells::default();
        key.write_key(&mut cells);
        let values = RowKey::at(&cells, 0, shape.keys).values();
        self.begin_one(shape, Plan::Key(values), false)
    }

    fn begin_one<T: Record>(
        &self,
        shape: &'static Shape,
        plan: Plan,
        counts: bool,
    ) -> Result<Subscription<T>> {
        Ok(self.begin(shape, [(plan, counts)].into_iter())?.remove(0))
    }

    /// A query to watch, of records whose type is made at run time.
    pub fn dynamic(&self, of: Type) -> Query<'_, Dynamic, &Feed> {
        Query::of(self, of.shape())
    }

    /// Watches one record of a type that is made at run time.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn watch_dynamic(&self, of: Type, key: &Key) -> Result<Subscription<Dynamic>> {
        self.watch_key(of.shape(), key)
    }

    /// Watches what a statement of SQL gives: it is run anew when a table that it reads has changed. Its parameters are
    /// bound in their order.
    ///
    /// # Errors
    /// When it is none that reads, or fails.
    pub fn watch_sql(
        &self,
        sql: impl Into<String>,
        parameters: impl IntoIterator<Item = Value>,
    ) -> Result<SqlSubscription> {
        let (sql, parameters) = (sql.into(), parameters.into_iter().collect());
        let (slot, feed) = (self.inner.mail.add(), self.inner.id);
        let begun = self.inner.shared.ask(move |live| live.subscribe_sql(feed, slot, sql, parameters));
        let (id, place, rows) = begun.inspect_err(|_| {
            self.inner.mail.remove(slot);
        })?;
        let held = Held { id, topic: 0, place, slot, feed: Arc::clone(&self.inner) };
        Ok(SqlSubscription { held, rows })
    }

    /// Begins subscriptions to queries, all at one version: all of them or none.
    ///
    /// # Errors
    /// When what they begin with cannot be read.
    pub fn watch_all<'f, T: Record>(
        &'f self,
        queries: impl IntoIterator<Item = Query<'f, T, &'f Feed>>,
    ) -> Result<Vec<Subscription<T>>> {
        let mut queries = queries.into_iter().peekable();
        let Some(shape) = queries.peek().map(|query| query.shape) else { return Ok(Vec::new()) };
        self.begin(shape, queries.map(|query| (plan(query.shape, &query.request, false), false)))
    }

    fn begin<T: Record>(
        &self,
        shape: &'static Shape,
        plans: impl Iterator<Item = (Plan, bool)>,
    ) -> Result<Vec<Subscription<T>>> {
        let mail = &self.inner.mail;
        let asked: Vec<Asked> =
            plans.map(|(plan, counts)| Asked { plan, slot: mail.add(), counts }).collect();
        let slots: Vec<mailbox::Slot> = asked.iter().map(|asked| asked.slot).collect();
        let feed = self.inner.id;
        let begun = self.inner.shared.ask(move |live| live.subscribe::<T>(shape, feed, asked));
        let begun = begun.inspect_err(|_| {
            for slot in &slots {
                mail.remove(*slot);
            }
        })?;
        let subscription = |(begun, slot)| {
            let Begun { id, topic, place, results } = begun;
            let held = Held { id, topic, place, slot, feed: Arc::clone(&self.inner) };
            Subscription { held, results }
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

    /// Calls back for each batch, on a thread of its own, until the feed ends or the listener is dropped.
    ///
    /// # Errors
    /// When the system has no more threads.
    pub fn listen(self, mut callback: impl FnMut(Batch) + Send + 'static) -> Result<Listener> {
        let mail = Arc::clone(&self.inner.mail);
        let listener = mailbox::listen(mail, move |taken| {
            // The feed is there as long as somebody is called.
            let _feed = &self;
            callback(Batch::of(taken));
        });
        listener
            .map(Listener)
            .map_err(|error| Error::new(ErrorKind::Io, format!("starting the thread of a listener: {error}")))
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
        self.source.begin_one(self.shape, plan(self.shape, &self.request, false), false)
    }

    /// Watches how many records there are.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn watch_count(self) -> Result<Subscription<T>> {
        self.source.begin_one(self.shape, plan(self.shape, &self.request, true), true)
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

    /// Whether all that is watched was read anew, because what changed it could not be followed: it may stand for several
    /// transactions. So it is with what others commit who do not log it: see
    /// [`Options::log_changes`](crate::Options::log_changes). What they log is followed record by record, and is no such
    /// batch, although it stands for several transactions too where these came quicker than they were looked at.
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
        self.iter().find(|update| update.id == subscription.held.id)
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
#[derive(Debug)]
pub struct Updates(std::vec::IntoIter<(mailbox::Slot, Update)>);

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

/// A query that is watched, until this is dropped.
pub struct Subscription<T> {
    held: Held,
    results: Results<T>,
}

impl<T: Record> Subscription<T> {
    /// What its updates say.
    #[must_use]
    pub fn id(&self) -> SubscriptionId {
        self.held.id
    }

    /// The records with which it began: updates tell what comes after.
    #[must_use]
    pub fn results(&self) -> &Results<T> {
        &self.results
    }

    /// How it is followed.
    ///
    /// # Errors
    /// When the store is closed.
    pub fn explain(&self) -> Result<LiveExplanation> {
        self.held.explain()
    }

    /// Ends it: when this returns, no update of it is given any more.
    pub fn cancel(self) {}
}

impl<T> fmt::Debug for Subscription<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Subscription").field("id", &self.held.id).finish_non_exhaustive()
    }
}

/// A statement of SQL that is watched, until this is dropped.
#[derive(Debug)]
pub struct SqlSubscription {
    held: Held,
    rows: SqlRows,
}

impl SqlSubscription {
    /// What its updates say.
    #[must_use]
    pub fn id(&self) -> SubscriptionId {
        self.held.id
    }

    /// The rows with which it began: updates tell what comes after.
    #[must_use]
    pub fn rows(&self) -> &SqlRows {
        &self.rows
    }

    /// How it is followed.
    ///
    /// # Errors
    /// When the store is closed.
    pub fn explain(&self) -> Result<LiveExplanation> {
        self.held.explain()
    }

    /// Ends it: when this returns, no update of it is given any more.
    pub fn cancel(self) {}
}

/// A subscription's place, until it is dropped.
struct Held {
    id: SubscriptionId,
    topic: u32,
    place: Place,
    slot: mailbox::Slot,
    feed: Arc<Inner>,
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

/// A thread that calls back for each batch of a feed, until this is dropped.
pub struct Listener(mailbox::Listener);

impl Listener {
    /// Ends it: when this returns no callback starts, and none is running. From within the callback it returns at once.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// What the callback panicked with, where it did: then it is called no more.
    #[must_use]
    pub fn panicked(&self) -> Option<String> {
        match self.0.outcome() {
            Some(Outcome::Panicked(message)) => Some(message),
            Some(Outcome::Ended) | None => None,
        }
    }

    /// Waits until it has ended; not to be called from within the callback.
    pub fn wait(&self) {
        self.0.wait();
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Listener").field("panicked", &self.panicked()).finish_non_exhaustive()
    }
}

impl Iterator for &Feed {
    type Item = Result<Batch>;

    /// Waits for the next batch.
    fn next(&mut self) -> Option<Result<Batch>> {
        Feed::next(self).transpose()
    }
}

impl Stream for Feed {
    type Item = Result<Batch>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Batch>>> {
        self.inner.mail.poll_next(context).map(|next| next.map(|taken| taken.map(Batch::of).map_err(ended)))
    }
}
