//! Feeds, from which receivers take the updates of subscriptions, in batches.

use super::batch::Batch;
use super::link::Shared;
use super::mailbox::{self, Ended, Outcome};
use super::plan::{Plan, is_of, plan};
use super::results::Results;
use super::row::RowKey;
use super::subscription::{CountSubscription, Held, SqlSubscription, Subscription};
use super::thread::{Mail, Started};
use super::update::{SubscriptionId, Update};
use super::watched::Request;
use crate::engine::fork::Origin;
use crate::query::Query;
use crate::types::cells::Cells;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::record::{Finds, Record, Shape};
use crate::types::sync::Arc;
use crate::types::value::Value;
use futures_core::Stream;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

pub use super::mailbox::{Mode, Overflow};

/// A queue of batches, for any number of subscriptions: the changes that one transaction makes for them come as one
/// batch. Subscriptions begin at a feed, and each call that begins one reads its first result.
///
/// A thread takes batches with [`next`](Feed::next) or with the feed as an iterator, a task with
/// [`next_async`](Feed::next_async) or with the feed as a stream, and a [`Listener`] calls back for each. Clones share
/// the queue, and each batch goes to one receiver. The feed ends when its last clone is dropped, when it is
/// [closed](Feed::close), and with its store, which it does not keep open.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// let feed = store.feed()?;
/// let urgent = feed.query::<Task>().filter(|task| task.due.lt(30)).order(|task| task.due.ascending()).watch()?;
/// assert!(urgent.results().is_empty());
///
/// store.write(|transaction| {
///     transaction.insert(&task(1, Some(20)))?;
///     transaction.insert(&task(2, Some(10)))
/// })?;
/// let batch = feed.next()?.expect("the feed goes on");
/// let tasks = batch.get(urgent.id()).expect("it was changed").results::<Task>()?;
/// assert_eq!(tasks.iter().map(|task| task.id).collect::<Vec<_>>(), [2, 1]);
///
/// // What changes nothing for anybody is no batch.
/// store.insert(&task(3, Some(90)))?;
/// store.wait_delivered()?;
/// assert!(feed.try_next()?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Feed {
    inner: Arc<Inner>,
    _receiver: Arc<Receiver>,
}

/// The part that a feed and its subscriptions share.
pub(super) struct Inner {
    pub(super) shared: Arc<Shared>,
    pub(super) mail: Arc<Mail>,
    id: u32,
}

/// Ends the feed when no receiver is left.
struct Receiver(Arc<Mail>, Origin);

impl Drop for Receiver {
    fn drop(&mut self) {
        // In the child of a fork no thread puts batches, and a thread of the parent may have held the lock.
        if self.1.is_here() {
            self.0.abandon();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let id = self.id;
        self.shared.tell(move |live| live.remove_feed(id));
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Feed").finish_non_exhaustive()
    }
}

/// Methods that begin subscriptions.
impl Feed {
    pub(crate) fn new(shared: &Arc<Shared>, mode: Mode) -> Result<Feed> {
        let mail = Arc::new(Mail::new(mode, Arc::clone(&shared.room)));
        let added = Arc::clone(&mail);
        let id = shared.ask(move |live| Ok(live.add_feed(added)))?;
        let receiver = Arc::new(Receiver(Arc::clone(&mail), Origin::here()));
        Ok(Feed { inner: Arc::new(Inner { shared: Arc::clone(shared), mail, id }), _receiver: receiver })
    }

    /// A query to watch: it ends with [`watch`](Query::watch) or [`watch_count`](Query::watch_count), or is one of
    /// those that [`watch_all`](Feed::watch_all) begins together.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let next = feed.query::<Task>().order(|task| task.due.ascending()).limit(1).watch()?;
    /// store.insert_all(&[task(1, Some(20)), task(2, Some(10))])?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// let first = batch.get(next.id()).expect("it was changed").results::<Task>()?;
    /// assert_eq!(first.first(), Some(&task(2, Some(10))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query<T: Record>(&self) -> Query<'_, T, &Feed> {
        Query::of(self, T::SHAPE)
    }

    /// Watches the record with a key, which may not exist yet. The result is that record, or empty.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let one = feed.watch::<Task>(&1)?;
    /// assert!(one.results().first().is_none());
    /// store.insert(&task(1, Some(20)))?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// let now = batch.get(one.id()).expect("it was changed").results::<Task>()?;
    /// assert_eq!(now.first(), Some(&task(1, Some(20))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system fails to read, if a page contradicts itself or its checksum, if a stored value does not fit its
    /// field's type, if the key does not fit the type's key, or if the feed has ended, as it does with the store.
    pub fn watch<T: Record>(&self, key: &(impl Finds<T> + ?Sized)) -> Result<Subscription<T>> {
        self.watch_key(T::SHAPE, key)
    }

    pub(crate) fn watch_key<T: Record>(
        &self,
        shape: &'static Shape,
        key: &(impl Finds<T> + ?Sized),
    ) -> Result<Subscription<T>> {
        let mut cells = Cells::default();
        key.write_key(&mut cells);
        cells.check_length(shape.keys)?;
        let values = RowKey::at(&cells, 0, shape.keys).values();
        let fits = |(column, value): (_, &Value)| *value == Value::Null || is_of(column, value);
        if !shape.columns.iter().zip(&values).all(fits) {
            let why = format!("a key of `{}` has values of other kinds than these", shape.name);
            return Err(Error::new(ErrorKind::Mismatch, why));
        }
        let (held, results) = self.begin_one(shape, Plan::Key(values), false)?;
        Ok(Subscription { held, results })
    }

    /// Begins subscriptions to queries, all at one version: all of them or none. A thousand of one shape are read
    /// together, and not one by one.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.insert_all(&[task(1, Some(5)), task(2, Some(15))])?;
    /// let feed = store.feed()?;
    /// let decade = |from| feed.query::<Task>().filter(|task| task.due.ge(from).and(task.due.lt(from + 10)));
    /// let decades = feed.watch_all([0, 10, 20].map(decade))?;
    /// assert_eq!(decades.iter().map(|decade| decade.results().len()).collect::<Vec<_>>(), [1, 1, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`watch`](Query::watch); [`Invalid`](crate::ErrorKind::Invalid) if the queries are of several types made
    /// at run time.
    pub fn watch_all<'f, T: Record>(
        &'f self,
        queries: impl IntoIterator<Item = Query<'f, T, &'f Feed>>,
    ) -> Result<Vec<Subscription<T>>> {
        let mut queries = queries.into_iter().peekable();
        let Some(shape) = queries.peek().map(|query| query.shape) else { return Ok(Vec::new()) };
        let plans = queries.map(|query| {
            if *query.shape != *shape {
                let (one, other) = (shape.name, query.shape.name);
                let why = "queries that begin together are of one type";
                let message =
                    format!("{why}, and these are of `{one}` and `{other}` (watch each type by itself)");
                return Err(Error::new(ErrorKind::Invalid, message));
            }
            plan(query.shape, &query.request, false)
        });
        let begun = self.begin(shape, plans, false)?;
        Ok(begun.into_iter().map(|(held, results)| Subscription { held, results }).collect())
    }

    /// Watches the rows of an SQL statement: joins, sums, and all else that types cannot express. Parameters are bound
    /// in order. After a commit that has changed one of the statement's tables, the statement runs again, and its rows
    /// are compared with those before. So its updates come in batches of their own, and may stand for several
    /// transactions. Its tables must exist: a type's table is made with the first write. While the statement runs, the
    /// log may grow to its limit ([`Options::log_bytes_max`](crate::Options::log_bytes_max)): then the statement is
    /// interrupted, its subscriber gets [`Expired`](crate::ErrorKind::Expired), and the statement runs again at once.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.insert_all(&[task(1, Some(20)), task(2, None)])?;
    /// let feed = store.feed()?;
    /// let sums = feed.watch_sql("select count(*), sum(due) from task where id < ?1", [100.into()])?;
    /// assert_eq!(sums.rows().get(0), Some([2.into(), 20.into()].as_slice()));
    /// store.insert(&task(3, Some(5)))?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// let rows = batch.get(sums.id()).expect("it was changed").sql_rows()?;
    /// assert_eq!(rows.get(0), Some([3.into(), 25.into()].as_slice()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it is not one statement that only reads, if it fails, or if the feed has ended, as it does with the store.
    pub fn watch_sql(
        &self,
        sql: impl Into<String>,
        parameters: impl IntoIterator<Item = Value>,
    ) -> Result<SqlSubscription> {
        self.check_open()?;
        let (sql, parameters) = (sql.into(), parameters.into_iter().collect());
        let (slot, feed) = (self.inner.mail.add(), self.inner.id);
        let begun = self.inner.shared.ask(move |live| live.subscribe_sql(feed, slot, sql, parameters));
        let (id, place, rows) = begun.inspect_err(|_| {
            self.inner.mail.remove(slot);
        })?;
        let held = Held { id, topic: 0, place, slot, feed: Arc::clone(&self.inner) };
        Ok(SqlSubscription { held, rows })
    }

    fn begin_one<T: Record>(
        &self,
        shape: &'static Shape,
        plan: Plan,
        counts: bool,
    ) -> Result<(Held, Results<T>)> {
        Ok(self.begin(shape, [Ok(plan)].into_iter(), counts)?.remove(0))
    }

    /// # Errors
    /// If the feed has ended: a new subscription would never get an update.
    fn check_open(&self) -> Result<()> {
        if self.inner.mail.is_closed() {
            let why = "the feed has ended, and tells nothing more (subscribe at another)";
            return Err(Error::new(ErrorKind::Refused, why));
        }
        Ok(())
    }

    fn begin<T: Record>(
        &self,
        shape: &'static Shape,
        plans: impl Iterator<Item = Result<Plan>>,
        counts: bool,
    ) -> Result<Vec<(Held, Results<T>)>> {
        self.check_open()?;
        let mail = &self.inner.mail;
        let mut slots: Vec<mailbox::Slot> = Vec::new();
        let asked = |plan: Result<Plan>| {
            let asked = Request { plan: plan?, slot: mail.add(), counts };
            slots.push(asked.slot);
            Ok(asked)
        };
        let asked: Result<Vec<Request>> = plans.map(asked).collect();
        let feed = self.inner.id;
        let begun = asked
            .and_then(|asked| self.inner.shared.ask(move |live| live.subscribe::<T>(shape, feed, asked)));
        let begun = begun.inspect_err(|_| {
            for slot in &slots {
                mail.remove(*slot);
            }
        })?;
        let Started { first, topic, list } = begun;
        let held = |(((place, results), slot), id)| {
            let (id, feed) = (SubscriptionId(id), Arc::clone(&self.inner));
            (Held { id, topic, place, slot, feed }, results)
        };
        Ok(list.into_iter().zip(slots).zip(first.0..).map(held).collect())
    }
}

/// Methods that end a query of a feed.
impl<'f, T: Record> Query<'f, T, &'f Feed> {
    /// Watches the records: the call reads the first result, and each transaction that changes the result gives an
    /// update. Records come in the query's order; if it has none, in one that the store chooses and keeps.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// store.insert_all(&[task(1, Some(20)), task(2, None)])?;
    /// let feed = store.feed()?;
    /// let due = feed.query::<Task>().filter(|task| task.due.is_not_null()).watch()?;
    /// assert_eq!(due.results().iter().map(|task| task.id).collect::<Vec<_>>(), [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system fails to read, if a page contradicts itself or its checksum, if a stored value does not fit its
    /// field's type, or if the feed has ended, as it does with the store.
    pub fn watch(self) -> Result<Subscription<T>> {
        let plan = plan(self.shape, &self.request, false)?;
        let (held, results) = self.source.begin_one(self.shape, plan, false)?;
        Ok(Subscription { held, results })
    }

    /// Watches the number of records: an update comes when it changes.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let due = feed.query::<Task>().filter(|task| task.due.is_not_null()).watch_count()?;
    /// assert_eq!(due.count(), 0);
    /// store.insert_all(&[task(1, Some(20)), task(2, None)])?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// assert_eq!(batch.get(due.id()).expect("it was changed").count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`watch`](Query::watch).
    pub fn watch_count(self) -> Result<CountSubscription> {
        let plan = plan(self.shape, &self.request, true)?;
        let (held, results) = self.source.begin_one::<T>(self.shape, plan, true)?;
        Ok(CountSubscription { held, count: results.len() as u64 })
    }
}

/// Methods that take batches. Any number of threads and tasks may call them: each batch goes to one.
impl Feed {
    /// Waits for the next batch; `None` if the feed has ended, and there will be no more.
    ///
    /// A feed is also an iterator, which does the same:
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch_count()?;
    /// store.insert(&task(1, Some(20)))?;
    /// for batch in &feed {
    ///     assert_eq!(batch?.get(all.id()).expect("it was changed").count()?, 1);
    ///     feed.close();
    /// }
    /// assert!(feed.next()?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Once, if the feed has ended because of too many batches ([`Overflow::End`]) or of a failure; and at each call if
    /// the process that opened the store has forked and this is the child.
    pub fn next(&self) -> Result<Option<Batch>> {
        self.inner.shared.check_process()?;
        self.inner.mail.next().map(batch).map_err(ended)
    }

    /// As [`next`](Feed::next), but waits for at most this time; `None` also after it.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// use std::time::Duration;
    ///
    /// let feed = store.feed()?;
    /// assert!(feed.next_within(Duration::from_millis(1))?.is_none(), "nobody has written");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`next`](Feed::next).
    pub fn next_within(&self, time: Duration) -> Result<Option<Batch>> {
        self.inner.shared.check_process()?;
        self.inner.mail.next_within(time).map(batch).map_err(ended)
    }

    /// As [`next`](Feed::next), but does not wait; `None` also if there is no batch yet.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// assert!(store.feed()?.try_next()?.is_none(), "nobody has written");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`next`](Feed::next).
    pub fn try_next(&self) -> Result<Option<Batch>> {
        self.inner.shared.check_process()?;
        self.inner.mail.try_next().map(batch).map_err(ended)
    }

    /// As [`next`](Feed::next), for a task of any runtime. Dropping the future loses no batch. A feed is also a
    /// [`Stream`].
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// use std::sync::Arc;
    /// use std::task::{Context, Poll, Wake};
    /// use std::thread::Thread;
    ///
    /// /// A runtime of one task.
    /// fn run<R>(task: impl Future<Output = R>) -> R {
    ///     struct Unpark(Thread);
    ///     impl Wake for Unpark {
    ///         fn wake(self: Arc<Self>) {
    ///             self.0.unpark();
    ///         }
    ///     }
    ///     let waker = Arc::new(Unpark(std::thread::current())).into();
    ///     let mut task = std::pin::pin!(task);
    ///     loop {
    ///         match task.as_mut().poll(&mut Context::from_waker(&waker)) {
    ///             Poll::Ready(result) => return result,
    ///             Poll::Pending => std::thread::park(),
    ///         }
    ///     }
    /// }
    ///
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch()?;
    /// store.insert(&task(1, Some(20)))?;
    /// let batch = run(feed.next_async())?.expect("the feed goes on");
    /// assert_eq!(batch.version(), all.results().version() + 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`next`](Feed::next).
    pub async fn next_async(&self) -> Result<Option<Batch>> {
        self.inner.shared.check_process()?;
        let taken = std::future::poll_fn(|context| self.inner.mail.poll_next(context)).await;
        taken.transpose().map(batch).map_err(ended)
    }

    /// Calls back for each batch, on a thread of its own, until the feed ends or the listener is dropped. To go on
    /// subscribing, let a clone listen.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// use std::sync::mpsc;
    ///
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch_count()?;
    /// let (sender, receiver) = mpsc::channel();
    /// let of_all = all.id();
    /// let listener = feed.clone().listen(move |batch| {
    ///     let update = batch.get(of_all).expect("nothing else is watched");
    ///     sender.send(update.count().expect("it can be read")).expect("somebody receives");
    /// })?;
    /// store.insert(&task(1, None))?;
    /// assert_eq!(receiver.recv()?, 1);
    /// listener.cancel();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system has no more threads, or if the process that opened the store has forked and this is the child.
    pub fn listen(self, mut callback: impl FnMut(Batch) + Send + 'static) -> Result<Listener> {
        self.inner.shared.check_process()?;
        let mail = Arc::clone(&self.inner.mail);
        let listener = mailbox::listen(mail, move |taken| {
            // The closure owns the feed, so the feed does not end before the listener.
            let _feed = &self;
            callback(Batch::of(taken));
        });
        listener
            .map(Listener)
            .map_err(|error| Error::new(ErrorKind::Io, format!("starting the thread of a listener: {error}")))
    }

    /// Ends the feed. Pending batches can still be taken; then there are no more.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch()?;
    /// store.insert(&task(1, None))?;
    /// store.wait_delivered()?;
    /// feed.close();
    /// assert!(feed.next()?.is_some(), "it was pending");
    /// assert!(feed.next()?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(&self) {
        self.inner.mail.close();
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
        if let Err(error) = self.inner.shared.check_process() {
            return Poll::Ready(Some(Err(error)));
        }
        self.inner.mail.poll_next(context).map(|next| next.map(|taken| taken.map(Batch::of).map_err(ended)))
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

/// A thread that calls back for each batch of a feed, until this is dropped. Dropping does not wait for a running
/// callback; [`cancel`](Listener::cancel) does.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// let feed = store.feed()?;
/// let all = feed.query::<Task>().watch()?;
/// let listener = feed.clone().listen(|batch| println!("version {}: {} updates", batch.version(), batch.len()))?;
/// store.insert(&task(1, None))?;
/// listener.cancel();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Listener(mailbox::Listener);

impl Listener {
    /// Ends the listener: when this returns, no callback runs, and none will start. Within the callback it returns at
    /// once. Batches that were not taken stay in the feed, for other receivers. Two callbacks that end each other's
    /// listeners wait for each other forever.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch()?;
    /// let listener = feed.clone().listen(|_| ())?;
    /// listener.cancel();
    /// store.insert(&task(1, None))?;
    /// assert!(feed.next()?.is_some(), "the feed goes on");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// The message of the callback's panic, if it panicked. It is not called again; the feed and the store go on.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let all = feed.query::<Task>().watch()?;
    /// let listener = feed.clone().listen(|_| panic!("it was not meant to be called"))?;
    /// store.insert(&task(1, None))?;
    /// listener.wait();
    /// assert_eq!(listener.panicked().as_deref(), Some("it was not meant to be called"));
    /// store.insert(&task(2, None))?;
    /// assert!(feed.next()?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn panicked(&self) -> Option<String> {
        match self.0.outcome() {
            Some(Outcome::Panicked(message)) => Some(message),
            Some(Outcome::Ended) | None => None,
        }
    }

    /// Waits until the listener has ended. A call within the callback would wait for itself.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let feed = store.feed()?;
    /// let listener = feed.clone().listen(|_| ())?;
    /// feed.close();
    /// listener.wait();
    /// assert_eq!(listener.panicked(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait(&self) {
        self.0.wait();
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Listener").field("panicked", &self.panicked()).finish_non_exhaustive()
    }
}
