//! Running a query: by reading the table's pages, or by a statement of SQLite if an index, an order or a named
//! collection needs one. Both give the same records.

use super::condition::{Comparison, Node, Word};
use super::evaluate::evaluate;
use super::sql::Sql;
use super::{Query, Reading, Request};
use crate::engine::scan::{Reach, Scan};
use crate::engine::statement::{Copied, StatementRow};
use crate::session::access::Access;
use crate::session::leased::Kept;
use crate::session::visitor::Visitor;
use crate::session::{self, ScannedRow, Session};
use crate::table::{Section, Table};
use crate::types::error::Result;
use crate::types::record::{Index, Record, Shape};
use crate::types::value::Raw;
use std::cell::Cell;
use std::collections::VecDeque;
use std::marker::PhantomData;

/// How a query runs.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
/// let explanation = store.snapshot()?.query::<Task>().filter(|task| task.title.contains("it")).explain()?;
/// // No index can help, so the table's pages are read as they lie.
/// assert!(explanation.by_pages);
/// assert_eq!(explanation.plan, ["SCAN task BY PAGES"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// Whether the store reads every page of the table and evaluates the condition on each row.
    pub by_pages: bool,
    /// The statement, if one runs.
    pub sql: Option<String>,
    /// SQLite's plan, in its own words.
    pub plan: Vec<String>,
}

/// Whether the query reads the table's pages: it asks for no order but the key's, and no index narrows the search.
fn by_pages<T: Record>(table: &Table, request: &Request<T>) -> Result<bool> {
    let in_key_order = match request.order.as_slice() {
        [] => true,
        [order] => table.in_key_order() && table.shape.keys == 1 && order.column == 0 && !order.descending,
        _ => false,
    };
    let is_narrowed = request.node()?.is_some_and(|node| is_narrowed(table.shape, node));
    Ok(table.is_read_by_pages() && in_key_order && !is_narrowed)
}

/// Whether an index, or the key, finds the rows of a condition.
fn is_narrowed(shape: &Shape, node: &Node) -> bool {
    let indexed = |column: usize| column == 0 || shape.columns[column].index != Index::None;
    match node {
        Node::Compare(_, Comparison::NotEqual, _) | Node::Contains(..) | Node::Not(_) => false,
        Node::Compare(column, ..)
        | Node::Between(column, ..)
        | Node::In(column, _)
        | Node::IsNull(column)
        | Node::StartsWith(column, ..) => indexed(*column),
        Node::Joined(Word::And, nodes) => nodes.iter().any(|node| is_narrowed(shape, node)),
        Node::Joined(Word::Or, nodes) => nodes.iter().all(|node| is_narrowed(shape, node)),
    }
}

/// Whether an index covers the condition: SQLite counts with it, and reads less than the rows.
fn is_covered(shape: &Shape, node: &Node) -> bool {
    matches!(node.columns().as_slice(), [column] if shape.columns[*column].index != Index::None)
}

/// Filters the rows of a request.
struct Sieve<'q> {
    condition: Option<&'q Node>,
    offset: u64,
    passed: u64,
    left: u64,
}

impl<'q> Sieve<'q> {
    fn new<T>(request: &'q Request<T>) -> Result<Sieve<'q>> {
        let (condition, left) = (request.node()?, request.limit.unwrap_or(u64::MAX));
        // Without a condition the walk itself skips the offset.
        let offset = if condition.is_some() { request.offset } else { 0 };
        Ok(Sieve { condition, offset, passed: 0, left })
    }

    /// Whether the row belongs to the result.
    #[inline]
    fn admits(&mut self, row: &ScannedRow<'_, '_>) -> Result<bool> {
        if let Some(condition) = self.condition {
            let is_short = Cell::new(false);
            let value = |column| {
                row.value(column).unwrap_or_else(|| {
                    is_short.set(true);
                    Raw::Null
                })
            };
            let holds = evaluate(condition, &value);
            if is_short.get() {
                return Err(row.is_short());
            }
            if holds != Some(true) {
                return Ok(false);
            }
        }
        self.passed += 1;
        if self.passed <= self.offset {
            return Ok(false);
        }
        self.left -= 1;
        Ok(true)
    }
}

/// The rows of a request, until its limit is reached.
struct Sifted<'q, V> {
    sieve: Sieve<'q>,
    visit: V,
}

impl<V: FnMut(&ScannedRow<'_, '_>) -> Result<bool>> Visitor for Sifted<'_, V> {
    #[inline]
    fn admits(&mut self, row: &ScannedRow<'_, '_>) -> Result<bool> {
        self.sieve.admits(row)
    }

    #[inline]
    fn take(&mut self, row: &ScannedRow<'_, '_>) -> Result<bool> {
        Ok((self.visit)(row)? && self.sieve.left > 0)
    }
}

/// How far the walk reads into each row: up to the last column of the condition, and `take` values of a row that
/// belongs to the result.
fn reach<T>(table: &Table, request: &Request<T>, take: usize) -> Result<Reach> {
    let node = request.node()?;
    let sift = node.map_or(0, |node| table.reach_of(node.columns()));
    Ok(Reach { sift, take, pass: if node.is_none() { request.offset } else { 0 } })
}

/// Passes the records to `visit` until it returns `false`.
pub(crate) fn each<T: Record>(query: &Query<'_, T>, visit: impl FnMut(T) -> Result<bool>) -> Result<()> {
    each_row(query, Owned(visit, PhantomData))
}

/// Passes the records to `visit`, borrowed from the page, until it returns `false`.
pub(crate) fn each_view<T: Record>(
    query: &Query<'_, T>,
    visit: impl FnMut(T::View<'_>) -> Result<bool>,
) -> Result<()> {
    each_row(query, Borrowed::<T, _>(visit, PhantomData))
}

/// Receives the rows of a page or of a statement. Returns whether more rows are wanted.
trait RowVisitor {
    fn scanned(&mut self, row: &ScannedRow<'_, '_>) -> Result<bool>;
    fn stepped(&mut self, row: StatementRow<'_>, shape: &'static Shape) -> Result<bool>;
}

struct Owned<T, V>(V, PhantomData<fn() -> T>);

impl<T: Record, V: FnMut(T) -> Result<bool>> RowVisitor for Owned<T, V> {
    #[inline]
    fn scanned(&mut self, row: &ScannedRow<'_, '_>) -> Result<bool> {
        (self.0)(row.read()?)
    }

    #[inline]
    fn stepped(&mut self, mut row: StatementRow<'_>, shape: &'static Shape) -> Result<bool> {
        (self.0)(session::read(shape, &mut row)?)
    }
}

struct Borrowed<T, V>(V, PhantomData<fn() -> T>);

impl<T: Record, V: FnMut(T::View<'_>) -> Result<bool>> RowVisitor for Borrowed<T, V> {
    #[inline]
    fn scanned(&mut self, row: &ScannedRow<'_, '_>) -> Result<bool> {
        (self.0)(row.view::<T>()?)
    }

    #[inline]
    fn stepped(&mut self, mut row: StatementRow<'_>, shape: &'static Shape) -> Result<bool> {
        (self.0)(T::view(&mut row).map_err(session::unfit(shape))?)
    }
}

fn each_row<T: Record>(query: &Query<'_, T>, mut visit: impl RowVisitor) -> Result<()> {
    query.source.0.call(|session| {
        let table = query.source.0.table(session)?;
        let request = &query.request;
        request.check()?;
        if !table.exists() || request.limit == Some(0) {
            return Ok(());
        }
        if by_pages(&table, request)? {
            let visit = |row: &ScannedRow<'_, '_>| visit.scanned(row);
            let mut sifted = Sifted { sieve: Sieve::new(request)?, visit };
            return session.visit(&table, reach(&table, request, table.reach())?, &mut sifted);
        }
        let sql = Sql::select(&session.connection, &table, request)?;
        session.query(&sql.text, &sql.parameters, |statement| {
            while let Some(row) = statement.next()? {
                session.may_go_on()?;
                if !visit.stepped(row.columns(table.shape), table.shape)? {
                    break;
                }
            }
            Ok(())
        })
    })
}

pub(crate) fn count<T: Record>(query: &Query<'_, T>) -> Result<u64> {
    query.source.0.call(|session| {
        let table = query.source.0.table(session)?;
        let request = &query.request;
        request.check()?;
        if !table.exists() || request.limit == Some(0) {
            return Ok(0);
        }
        let is_covered = request.node()?.is_none_or(|node| is_covered(table.shape, node));
        if !is_covered && by_pages(&table, request)? {
            let mut count = 0;
            let visit = |_: &ScannedRow<'_, '_>| {
                count += 1;
                Ok(true)
            };
            let mut sifted = Sifted { sieve: Sieve::new(request)?, visit };
            session.visit(&table, reach(&table, request, 0)?, &mut sifted)?;
            return Ok(count);
        }
        let sql = Sql::count(&table, request)?;
        session.query(&sql.text, &sql.parameters, |statement| {
            statement.integer().map(|count| u64::try_from(count).unwrap_or(0))
        })
    })
}

pub(crate) fn explain<T: Record>(query: &Query<'_, T>) -> Result<Explanation> {
    query.source.0.call(|session| explain_in(session, query))
}

fn explain_in<T: Record>(session: &Session, query: &Query<'_, T>) -> Result<Explanation> {
    let table = query.source.0.table(session)?;
    query.request.check()?;
    if !table.exists() {
        let plan = vec!["the file has no such table: nothing is read".to_owned()];
        return Ok(Explanation { by_pages: false, sql: None, plan });
    }
    if by_pages(&table, &query.request)? {
        let plan = vec![format!("SCAN {} BY PAGES", table.shape.name)];
        return Ok(Explanation { by_pages: true, sql: None, plan });
    }
    let sql = Sql::select(&session.connection, &table, &query.request)?;
    let mut statement = session.connection.sql().prepare(&format!("explain query plan {}", sql.text))?;
    let mut rows = statement.raw_query();
    let mut plan = Vec::new();
    while let Some(row) = rows.next()? {
        // All tables of a query are in the store's own file.
        plan.push(row.get::<_, String>(3)?.replacen(" main.", " ", 1));
    }
    Ok(Explanation { by_pages: false, sql: Some(sql.text.clone()), plan })
}

/// The records of a query, one by one.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// # #[derive(Record)] struct Task { #[record(key)] id: i64 }
/// # store.insert(&Task { id: 1 })?;
/// let sum = store.read(|snapshot| {
///     let mut sum = 0;
///     for task in snapshot.query::<Task>().rows()? {
///         sum += task?.id;
///     }
///     Ok(sum)
/// })?;
/// assert_eq!(sum, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Rows<'s, T: Record> {
    access: Access<'s, T>,
    request: Request<T>,
    source: Kept<RunSource<T>>,
}

enum RunSource<T> {
    Ended,
    Pages { scan: Box<Scan>, table: Section, page: VecDeque<T>, passed: u64, left: u64 },
    Statement(Copied),
}

pub(crate) fn rows<T: Record>(query: Query<'_, T>) -> Result<Rows<'_, T>> {
    let Query { source: Reading(access), request, .. } = query;
    let source =
        access.call(|session| source(session, &access, &request).map(|source| Kept::new(session, source)))?;
    Ok(Rows { access, request, source })
}

/// The source of the rows.
fn source<T: Record>(
    session: &Session,
    access: &Access<'_, T>,
    request: &Request<T>,
) -> Result<RunSource<T>> {
    let table = access.table(session)?;
    request.check()?;
    if !table.exists() || request.limit == Some(0) {
        return Ok(RunSource::Ended);
    }
    if by_pages(&table, request)? {
        let left = request.limit.unwrap_or(u64::MAX);
        let reach = reach(&table, request, table.reach())?;
        let Some(scan) = session.scan(&table, reach)?.map(Box::new) else { return Ok(RunSource::Ended) };
        return Ok(RunSource::Pages { scan, table, page: VecDeque::new(), passed: 0, left });
    }
    let sql = Sql::select(&session.connection, &table, request)?;
    Ok(RunSource::Statement(session.connection.prepare(&sql.text)?.with_copies(&sql.parameters)?))
}

impl<T: Record> Rows<'_, T> {
    fn advance(&mut self) -> Result<Option<T>> {
        if self.source.is_empty() {
            return Ok(None);
        }
        let Rows { access, request, source } = self;
        access.call(|session| match source.get(session) {
            None | Some(RunSource::Ended) => Ok(None),
            Some(RunSource::Statement(statement)) => {
                let Some(row) = statement.next()? else { return Ok(None) };
                let shape = access.shape;
                session::read::<T>(shape, &mut row.columns(shape)).map(Some)
            }
            Some(RunSource::Pages { scan, table, page, passed, left }) => {
                while page.is_empty() && *left > 0 {
                    let sieve = Sieve { passed: *passed, left: *left, ..Sieve::new(request)? };
                    let visit = |row: &ScannedRow<'_, '_>| {
                        page.push_back(row.read()?);
                        Ok(true)
                    };
                    let mut sifted = Sifted { sieve, visit };
                    let more = session.next_page(scan, table, &mut sifted)?;
                    (*passed, *left) = (sifted.sieve.passed, if more { sifted.sieve.left } else { 0 });
                }
                Ok(page.pop_front())
            }
        })
    }

    fn end(&mut self) {
        if !self.source.is_empty() {
            // The keeper may be ending the snapshot on the same connection.
            self.access.leased.call_last(|session| self.source.put_away(session));
        }
    }
}

impl<T: Record> Iterator for Rows<'_, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        let next = self.advance().transpose();
        // No records follow an error.
        if !matches!(next, Some(Ok(_))) {
            self.end();
        }
        next
    }
}

impl<T: Record> Drop for Rows<'_, T> {
    fn drop(&mut self) {
        self.end();
    }
}
