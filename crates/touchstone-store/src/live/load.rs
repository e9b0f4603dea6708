//! Rows that a set lacks, read from a snapshot: by a query for each gap, or by one scan if there are many gaps.

use super::cover::Cover;
use super::family::Family;
use super::order::{Cut, SortColumn, Sorter, Span};
use super::residual::Residual;
use super::row::{Row, RowKey};
use super::stab::Intervals;
use super::tally::Tally;
use crate::query::condition::{self, Comparison, Node, Order, Word};
use crate::query::{Query, Request};
use crate::session::access::Access;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::record::Record;
use crate::types::value::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// More gaps than this are read by one scan.
pub(super) const GAPS_MAX: usize = 8;

/// The row with that key.
///
/// # Errors
/// As for [`rows`].
pub(crate) fn row<T: Record>(access: Access<'_, T>, key: &RowKey) -> Result<Option<Arc<Row<T>>>> {
    guarded(access, || {
        check_order(access, 0..access.keys())?;
        let record = access.get_values(&key.values())?;
        Ok(record.map(|record| Row::of_record(record, access.keys())))
    })
}

/// Checks that the columns compare by bytes. A set has no other order, and with a collation SQLite finds other rows.
///
/// # Errors
/// If one of the columns has a collation.
fn check_order<T: Record>(access: Access<'_, T>, columns: impl IntoIterator<Item = usize>) -> Result<()> {
    let collated = access.call(|session| {
        let table = access.table(session)?;
        Ok(columns.into_iter().find(|column| table.is_collated(*column)))
    })?;
    let Some(column) = collated else { return Ok(()) };
    let (name, shape) = (access.shape.columns[column].name, access.shape.name);
    let why = format!(
        "column `{name}` of `{shape}` has a collation, by which records are not watched (watch the table as SQL)"
    );
    Err(Error::new(ErrorKind::Refused, why))
}

/// Runs a read that calls a record's own code for its fields: a panic of that code must not end the thread.
fn guarded<T: Record, R>(access: Access<'_, T>, read: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
        let message = format!("reading a record of `{}` panicked", access.shape.name);
        Err(Error::new(ErrorKind::Mismatch, message))
    })
}

/// Reads the rows of the family that lie in the gaps.
///
/// # Errors
/// If a page contradicts itself or its checksum, if the system fails to read, if a stored value does not fit its
/// field's type, or if a column that matters has a collation.
pub(crate) fn rows<T: Record>(
    access: Access<'_, T>,
    family: &Family<T>,
    gaps: &Cover,
) -> Result<Vec<Arc<Row<T>>>> {
    let spans = gaps.spans();
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    let sorter = family.sorter();
    check_order(access, family.columns().chain(0..access.keys()))?;
    if spans.len() > GAPS_MAX {
        let hull = Span { low: first.low.clone(), high: last.high.clone() };
        let is_wanted = |ord, record: &T| gaps.contains(sorter, ord, record);
        match read(access, family, &hull, is_wanted, &mut rows) {
            // The row that cannot be read may lie between the gaps, and be in no result.
            Err(error) if error.kind() == ErrorKind::Mismatch => rows.clear(),
            all => return all.map(|()| rows),
        }
    }
    for span in spans {
        // Rows of this gap only: the condition may admit rows of the next gap, which is read as well.
        let is_wanted = |ord, record: &T| span.contains(sorter, ord, record);
        read(access, family, span, is_wanted, &mut rows)?;
    }
    Ok(rows)
}

/// Rows from the beginning of a span, and the cut at which they end.
pub(crate) type FirstRows<T> = (Vec<Arc<Row<T>>>, Option<Cut>);

/// The first `wanted` rows of a span in the family's order, and the cut at which they end; no cut if there are no more.
///
/// # Errors
/// As for [`rows`].
pub(crate) fn first<T: Record>(
    access: Access<'_, T>,
    family: &Family<T>,
    span: &Span,
    wanted: usize,
) -> Result<FirstRows<T>> {
    check_order(access, family.columns().chain(0..access.keys()))?;
    let sorter = family.sorter();
    let mut limit = wanted.max(1);
    loop {
        let (mut rows, mut read, mut last) = (Vec::new(), 0, None);
        let mut request = request(access, sorter, family.scope.residual.as_ref(), span);
        request.limit = Some(limit as u64);
        request.order = sorter
            .columns()
            .iter()
            .map(|(column, descending)| Order::new(*column, *descending, default_of(access, *column)))
            .collect();
        guarded(access, || {
            Query::with(access, request).each(|record| {
                read += 1;
                let (ord, row) = (sorter.ord(&record), Row::of_record(record, access.keys()));
                if span.contains(sorter, ord, &row.record) {
                    rows.push(Arc::clone(&row));
                }
                last = Some(row);
                Ok(true)
            })
        })?;
        match last.filter(|_| read >= limit) {
            None => return Ok((rows, None)),
            Some(last) if rows.len() >= wanted => return Ok((rows, Some(sorter.cut_after(&last.record)))),
            // The condition also admitted rows outside the span: read more.
            Some(_) => limit = limit.saturating_mul(4),
        }
    }
}

/// How many records of the tally lie in each of the spans.
///
/// # Errors
/// As for [`rows`].
pub(crate) fn count<T: Record>(access: Access<'_, T>, tally: &Tally<T>, spans: &[&Span]) -> Result<Vec<u64>> {
    check_order(access, tally.columns().chain(0..access.keys()))?;
    if spans.len() > GAPS_MAX {
        match count_all(access, tally, spans) {
            // The row that cannot be read may lie between the spans, and count for none.
            Err(error) if error.kind() == ErrorKind::Mismatch => {}
            counted => return counted,
        }
    }
    let sorter = tally.sorter();
    let count = |span: &&Span| match span.is_empty(sorter) {
        true => Ok(0),
        false => {
            let request = request(access, sorter, tally.residual.as_ref(), span);
            guarded(access, || Query::with(access, request).count())
        }
    };
    spans.iter().map(count).collect()
}

/// As [`count`], by one scan from the first span to the last.
fn count_all<T: Record>(access: Access<'_, T>, tally: &Tally<T>, spans: &[&Span]) -> Result<Vec<u64>> {
    let sorter = tally.sorter();
    let all = Cover::of(sorter, spans.iter().copied());
    let (Some(first), Some(last)) = (all.spans().first(), all.spans().last()) else {
        return Ok(vec![0; spans.len()]);
    };
    let hull = Span { low: first.low.clone(), high: last.high.clone() };
    let mut places = Intervals::default();
    for (at, span) in (0..).zip(spans) {
        places.insert(span.low.ord, span.high.ord, at);
    }
    let mut counted = vec![0; spans.len()];
    let request = request(access, sorter, tally.residual.as_ref(), &hull);
    guarded(access, || {
        Query::with(access, request).each(|record| {
            let ord = sorter.ord(&record);
            places.stab(ord, |at| {
                counted[at as usize] += u64::from(spans[at as usize].contains(sorter, ord, &record));
            });
            Ok(true)
        })
    })?;
    Ok(counted)
}

/// The query for the rows of a span. It may find rows beside the span, as [`within`] explains.
fn request<T: Record>(
    access: Access<'_, T>,
    sorter: &Sorter<T>,
    residual: Option<&Arc<Residual>>,
    span: &Span,
) -> Request<T> {
    let mut parts = within(access, sorter.columns(), &span.low, &span.high);
    parts.extend(residual.map(|residual| residual.node.clone()));
    let condition = if parts.len() > 1 { Some(Node::Joined(Word::And, parts)) } else { parts.pop() };
    Request { condition: condition.map(crate::Condition::of_node), ..Request::default() }
}

/// Reads the rows of the span, and keeps those that `is_wanted` accepts.
fn read<T: Record>(
    access: Access<'_, T>,
    family: &Family<T>,
    span: &Span,
    is_wanted: impl Fn(u64, &T) -> bool,
    rows: &mut Vec<Arc<Row<T>>>,
) -> Result<()> {
    let request = request(access, family.sorter(), family.scope.residual.as_ref(), span);
    let read = || {
        Query::with(access, request).each(|record| {
            let ord = family.sorter().ord(&record);
            if is_wanted(ord, &record) {
                rows.push(Row::of_record(record, access.keys()));
            }
            Ok(true)
        })
    };
    guarded(access, read)
}

/// Conditions that all rows between two cuts fulfil. Other rows may fulfil them too: later columns are left out after
/// the first one in which the cuts differ.
fn within<T: Record>(access: Access<'_, T>, columns: &[SortColumn], low: &Cut, high: &Cut) -> Vec<Node> {
    let mut parts = Vec::new();
    for (at, (column, descending)) in columns.iter().enumerate() {
        let (begin, end) = (low.values.get(at), high.values.get(at));
        if let (Some(begin), Some(end)) = (begin, end)
            && begin == end
        {
            parts.push((*column, equal(*column, begin)));
            continue;
        }
        // If this column is the cut's last one, the cut may exclude its value.
        let is_open = |cut: &Cut, leaves: bool| cut.values.len() == at + 1 && cut.after == leaves;
        let begin = begin.map(|value| (value, is_open(low, true)));
        let end = end.map(|value| (value, is_open(high, false)));
        let (least, greatest) = if *descending { (end, begin) } else { (begin, end) };
        parts.extend(range(*column, least, greatest).map(|node| (*column, node)));
        break;
    }
    parts.into_iter().map(|(column, node)| with_default(access, column, node)).collect()
}

/// An end of a range, and whether the range excludes the value itself.
type RangeEnd<'v> = Option<(&'v Value, bool)>;

/// No comparison is true for NULL, that with NULL neither.
fn equal(column: usize, value: &Value) -> Node {
    match value {
        Value::Null => Node::IsNull(column),
        value => Node::Compare(column, Comparison::Equal, value.clone()),
    }
}

/// The range of a column between two values. NULL, the least value, is in the range if the lower end is missing, or is NULL
/// and not excluded.
fn range(column: usize, least: RangeEnd<'_>, greatest: RangeEnd<'_>) -> Option<Node> {
    use Comparison::{Greater, GreaterOrEqual, Less, LessOrEqual};
    let least = least.filter(|(value, is_open)| **value != Value::Null || *is_open);
    let is_null = Node::IsNull(column);
    let compare = |(comparison, value): condition::End| Node::Compare(column, comparison, value);
    let above = least.map(|(value, is_open)| (if is_open { Greater } else { GreaterOrEqual }, value.clone()));
    let below = greatest.filter(|(value, _)| **value != Value::Null);
    let below = below.map(|(value, is_open)| (if is_open { Less } else { LessOrEqual }, value.clone()));
    match (above, below) {
        (None, None) => greatest.map(|_| is_null),
        (None, Some(below)) => Some(Node::Joined(Word::Or, vec![is_null, compare(below)])),
        // No comparison is true for NULL.
        (Some((_, Value::Null)), Some(below)) => Some(compare(below)),
        (Some((_, Value::Null)), None) => Some(Node::Not(Box::new(is_null))),
        (Some(above), None) => Some(compare(above)),
        (Some(above), Some(below)) => Some(Node::Between(column, above, below)),
    }
}

fn default_of<T: Record>(access: Access<'_, T>, column: usize) -> Option<&'static Value> {
    access.shape.defaults.of(column).or_else(|| T::default_of(column))
}

/// In a column with a default, NULL stands for the default: a condition holds for NULL if it holds for the default.
fn with_default<T: Record>(access: Access<'_, T>, column: usize, node: Node) -> Node {
    match default_of(access, column) {
        Some(default) => node.with_default(column, default),
        None => node,
    }
}
