//! Queries as Rust expressions: conditions that the compiler checks, order, limit and offset. A query is only data.

pub(crate) mod condition;
pub(crate) mod evaluate;
pub(crate) mod hull;
pub(crate) mod list;
mod reading;
pub(crate) mod run;
pub(crate) mod sought;
pub(crate) mod sql;

use crate::session::access::Access;
use crate::types::error::Result;
use crate::types::record::{Record, Shape};
pub use condition::{Condition, Operand, Order};
use condition::{Node, Unasked, check_same};
pub use reading::Reading;
pub use run::{Explanation, Rows};
use std::marker::PhantomData;

/// A query of one type's records, on a snapshot or within a transaction.
///
/// ```
/// use touchstone_store::{Record, Store};
///
/// #[derive(Record)]
/// struct Task {
///     #[record(key)]
///     id: i64,
///     title: String,
///     due: Option<i64>,
/// }
///
/// # let directory = tempfile::tempdir()?;
/// let store = Store::open(directory.path().join("tasks.db"))?;
/// store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
/// store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
/// let due = store.read(|snapshot| {
///     snapshot.query::<Task>().filter(|task| task.due.lt(30)).order(|task| task.due.ascending()).all()
/// })?;
/// assert_eq!(due[0].title, "write");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Query<'s, T: Record, S = Reading<'s, T>> {
    /// The snapshot, transaction or feed that runs the query.
    pub(crate) source: S,
    /// The table: that of `T`, or of a type made at run time.
    pub(crate) shape: &'static Shape,
    pub(crate) request: Request<T>,
    marker: PhantomData<&'s ()>,
}

/// The parts of a query that do not depend on its source.
pub(crate) struct Request<T> {
    pub(crate) condition: Option<Condition<T>>,
    pub(crate) order: Vec<Order<T>>,
    pub(crate) limit: Option<u64>,
    pub(crate) offset: u64,
    /// Why the query is refused, if an order is of another type.
    pub(crate) unasked: Option<Unasked>,
}

impl<T> Request<T> {
    /// The condition's tree.
    ///
    /// # Errors
    /// If the condition is nested too deep, or it or an order is of another type.
    pub(crate) fn node(&self) -> Result<Option<&Node>> {
        match self.unasked {
            Some(why) => Err(why.error()),
            None => self.condition.as_ref().map(Condition::node).transpose(),
        }
    }

    /// Checks that the query is valid, also if its table does not exist.
    ///
    /// # Errors
    /// As for [`node`](Request::node).
    pub(crate) fn check(&self) -> Result<()> {
        self.node().map(drop)
    }
}

impl<T> Default for Request<T> {
    fn default() -> Request<T> {
        Request { condition: None, order: Vec::new(), limit: None, offset: 0, unasked: None }
    }
}

impl<'s, T: Record, S> Query<'s, T, S> {
    /// A query for all records of the source.
    pub(crate) fn of(source: S, shape: &'static Shape) -> Query<'s, T, S> {
        Query { source, shape, request: Request::default(), marker: PhantomData }
    }

    /// Keeps the records for which the condition is true, not unknown, as in SQL. All of several filters must be true.
    ///
    /// A condition or an order on the columns of another type made at run time is refused: the call that runs the query
    /// fails as [`Invalid`](crate::ErrorKind::Invalid).
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let snapshot = store.snapshot()?;
    /// let early = snapshot.query::<Task>().filter(|task| task.due.lt(30)).filter(|task| task.title.starts_with("w"));
    /// assert_eq!(early.count()?, 1);
    /// // Whether a task without a date is due before 30 is unknown, and so is whether it is not.
    /// let late = snapshot.query::<Task>().filter(|task| task.due.lt(30).not());
    /// assert_eq!(late.count()?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn filter(mut self, condition: impl FnOnce(T::Columns) -> Condition<T>) -> Query<'s, T, S> {
        let condition = condition(T::COLUMNS).about(self.shape);
        self.request.condition = Some(match self.request.condition.take() {
            Some(before) => before.and(condition),
            None => condition,
        });
        self
    }

    /// Orders the records. A second call orders the records that the first leaves equal, and the key those that remain
    /// equal: the order is always the same. Without an order, records come in the order in which they are found.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let snapshot = store.snapshot()?;
    /// let first = snapshot.query::<Task>().order(|task| task.due.descending()).first()?;
    /// assert_eq!(first.map(|task| task.title), Some("write".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn order(mut self, order: impl FnOnce(T::Columns) -> Order<T>) -> Query<'s, T, S> {
        let order = order(T::COLUMNS);
        self.request.unasked = self.request.unasked.or(check_same(Some(self.shape), order.of).err());
        self.request.order.push(order);
        self
    }

    /// At most this many records.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let one = store.snapshot()?.query::<Task>().order(|task| task.id.descending()).limit(1).all()?;
    /// assert_eq!(one[0].id, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn limit(mut self, records: u64) -> Query<'s, T, S> {
        self.request.limit = Some(records);
        self
    }

    /// Skips this many records first.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let rest = store.snapshot()?.query::<Task>().order(|task| task.id.ascending()).offset(1).all()?;
    /// assert_eq!(rest[0].id, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn offset(mut self, records: u64) -> Query<'s, T, S> {
        self.request.offset = records;
        self
    }
}

impl<'s, T: Record> Query<'s, T> {
    pub(crate) fn new(access: Access<'s, T>) -> Query<'s, T> {
        Query::of(Reading(access), access.shape)
    }

    /// The query with the parts of a request.
    pub(crate) fn with(access: Access<'s, T>, request: Request<T>) -> Query<'s, T> {
        Query { request, ..Query::new(access) }
    }

    /// The records.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.due.is_null()).all()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a page contradicts itself or its checksum, if the system fails to read, if a stored value does not
    /// fit its field's type, or if the query's snapshot has expired; also if a condition or an order is of another
    /// type, which is possible with types made at run time.
    pub fn all(self) -> Result<Vec<T>> {
        let mut found = Vec::new();
        self.each(|record| {
            found.push(record);
            Ok(true)
        })?;
        Ok(found)
    }

    /// The first record, if there is one.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let first = store.snapshot()?.query::<Task>().order(|task| task.title.ascending()).first()?;
    /// assert_eq!(first.map(|task| task.title), Some("rest".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`all`](Query::all).
    pub fn first(mut self) -> Result<Option<T>> {
        self.request.limit = Some(self.request.limit.map_or(1, |limit| limit.min(1)));
        let mut found = None;
        self.each(|record| {
            found = Some(record);
            Ok(false)
        })?;
        Ok(found)
    }

    /// The number of records.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.due.is_null()).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`all`](Query::all).
    pub fn count(self) -> Result<u64> {
        run::count(&self)
    }

    /// Passes the records to `visit` one by one, until it returns `false`.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let mut titles = Vec::new();
    /// store.snapshot()?.query::<Task>().order(|task| task.id.ascending()).each(|task| {
    ///     titles.push(task.title);
    ///     Ok(titles.len() < 10)
    /// })?;
    /// assert_eq!(titles, ["write", "rest"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`all`](Query::all), and as `visit` does.
    pub fn each(self, visit: impl FnMut(T) -> Result<bool>) -> Result<()> {
        run::each(&self, visit)
    }

    /// Passes the records to `visit` one by one, borrowed from the page and not copied, until it returns `false`.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let mut letters = 0;
    /// store.snapshot()?.query::<Task>().filter(|task| task.due.is_null()).each_view(|task| {
    ///     letters += task.title.len();
    ///     Ok(true)
    /// })?;
    /// assert_eq!(letters, 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`all`](Query::all), and as `visit` does.
    pub fn each_view(self, visit: impl FnMut(T::View<'_>) -> Result<bool>) -> Result<()> {
        run::each_view(&self, visit)
    }

    /// The records one by one, as an iterator: for more records than memory holds.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let snapshot = store.snapshot()?;
    /// let titles: Vec<String> =
    ///     snapshot.query::<Task>().rows()?.map(|task| Ok(task?.title)).collect::<touchstone_store::Result<_>>()?;
    /// assert_eq!(titles.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`all`](Query::all); each record may fail, too.
    pub fn rows(self) -> Result<Rows<'s, T>> {
        run::rows(self)
    }

    /// How the query would run: by pages or by a statement, and with which plan of SQLite.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let explanation = store.snapshot()?.query::<Task>().filter(|task| task.id.eq(1)).explain()?;
    /// assert_eq!(explanation.plan, ["SEARCH task USING INTEGER PRIMARY KEY (rowid=?)"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If SQLite refuses the statement.
    pub fn explain(self) -> Result<Explanation> {
        run::explain(&self)
    }
}
