//! The rows of a watched statement at one version.

use crate::types::value::Value;
use std::ops::Range;
use std::sync::Arc;

/// The rows of a watched statement at one version. Clones share them.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// # let feed = store.feed()?;
/// let numbers = feed.watch_sql("select 1 as one union all select ?1", [2.into()])?;
/// let rows: Vec<_> = numbers.rows().iter().map(<[_]>::to_vec).collect();
/// assert_eq!(rows, [[1.into()], [2.into()]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SqlRows {
    version: u64,
    columns: Arc<[String]>,
    rows: Arc<[Box<[Value]>]>,
}

impl SqlRows {
    pub(super) fn new(version: u64, columns: Vec<String>, rows: Vec<Box<[Value]>>) -> SqlRows {
        SqlRows { version, columns: columns.into(), rows: rows.into() }
    }

    /// The version of the commit after which the statement gave these rows.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # let feed = store.feed()?;
    /// let one = feed.watch_sql("select 1", [])?;
    /// assert_eq!(one.rows().version(), one.rows().clone().version());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The names of the columns.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # let feed = store.feed()?;
    /// let one = feed.watch_sql("select 1 as one, 2 as two", [])?;
    /// assert_eq!(one.rows().columns(), ["one", "two"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The number of rows.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # let feed = store.feed()?;
    /// assert_eq!(feed.watch_sql("select 1", [])?.rows().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # let feed = store.feed()?;
    /// assert!(feed.watch_sql("select 1 where false", [])?.rows().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The values of the row at this position.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # let feed = store.feed()?;
    /// let pair = feed.watch_sql("select 1, 'one'", [])?;
    /// assert_eq!(pair.rows().get(0), Some([1.into(), "one".into()].as_slice()));
    /// assert_eq!(pair.rows().get(1), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&[Value]> {
        self.rows.get(at).map(|row| &**row)
    }

    /// The rows, in the statement's order.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # let feed = store.feed()?;
    /// let numbers = feed.watch_sql("values (1), (2)", [])?;
    /// assert!(numbers.rows().iter().all(|row| row.len() == 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[Value]> {
        self.rows.iter().map(|row| &**row)
    }

    /// The ranges in which the rows differ from older ones: the first range of older rows became the second range of
    /// these rows. All rows before and after these ranges are the same.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # let feed = store.feed()?;
    /// # store.insert_all(&[1, 2, 3].map(|id| Task { id, title: "write".into(), due: None }))?;
    /// let tasks = feed.watch_sql("select id, title from task order by id", [])?;
    /// store.put(&Task { id: 2, title: "rest".into(), due: None })?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// let rows = batch.get(tasks.id()).expect("it was changed").sql_rows()?;
    /// assert_eq!(rows.diff(tasks.rows()), (1..2, 1..2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn diff(&self, older: &SqlRows) -> (Range<usize>, Range<usize>) {
        let fewer = self.len().min(older.len());
        let same = |pair: &(&[Value], &[Value])| pair.0 == pair.1;
        let begin = self.iter().zip(older.iter()).take_while(same).count();
        let backwards = self.rows.iter().rev().zip(older.rows.iter().rev());
        let end = backwards.take(fewer - begin).take_while(|(new, old)| new == old).count();
        (begin..older.len() - end, begin..self.len() - end)
    }

    pub(super) fn is_same(&self, other: &SqlRows) -> bool {
        self.columns == other.columns && self.rows == other.rows
    }
}
