//! Rows that a set lacks, read from a snapshot: by a query for each gap, or by one over all of them where they are many.

use super::cover::Cover;
use super::family::Family;
use super::order::{Cut, SortColumn, Span};
use super::row::{Row, RowKey};
use crate::access::Access;
use crate::derived::Stored;
use crate::error::{Error, ErrorKind, Result};
use crate::query::condition::{Comparison, Node, Word};
use crate::query::{Query, Request};
use crate::record::Record;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Gaps that are read one by one.
const GAPS_MAX: usize = 8;

/// The record with that key.
///
/// # Errors
/// As for [`rows`].
pub(crate) fn record<T: Record>(access: Access<'_, T>, key: &RowKey) -> Result<Option<T>> {
    guarded(access, || {
        check_order(access, 0..access.keys())?;
        access.get_values(&key.values())
    })
}

/// That the columns are compared as bytes are: a set knows no other order, and would find other rows than SQLite does.
///
/// # Errors
/// When the table has a collation for one.
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

/// Reads, which is the record's own code where it makes values of its own: what panics there must not end the thread.
fn guarded<T: Record, R>(access: Access<'_, T>, read: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
        let message = format!("reading a record of `{}` panicked", access.shape.name);
        Err(Error::new(ErrorKind::Mismatch, message))
    })
}

/// Reads the rows of the family that lie in the gaps.
///
/// # Errors
/// When a page is damaged or cannot be read, or a value is none of its field's; and when the rows are in no order of
/// bytes.
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
        read(access, family, &hull, is_wanted, &mut rows)?;
    } else {
        for span in spans {
            // Of this gap only: what the condition lets through besides may lie in the next, which is read too.
            let is_wanted = |ord, record: &T| span.contains(sorter, ord, record);
            read(access, family, span, is_wanted, &mut rows)?;
        }
    }
    Ok(rows)
}

/// Reads what lies in the span, and keeps what is wanted of it: the condition lets a little more through.
fn read<T: Record>(
    access: Access<'_, T>,
    family: &Family<T>,
    span: &Span,
    is_wanted: impl Fn(u64, &T) -> bool,
    rows: &mut Vec<Arc<Row<T>>>,
) -> Result<()> {
    let mut parts = within(access, family.sorter().columns(), &span.low, &span.high);
    parts.extend(family.scope.residual.as_ref().map(|residual| residual.node.clone()));
    let condition = if parts.len() > 1 { Some(Node::Joined(Word::And, parts)) } else { parts.pop() };
    let request = Request { condition: condition.map(crate::Condition::of_node), ..Request::default() };
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

/// Conditions that everything between the two cuts fulfils.
fn within<T: Record>(access: Access<'_, T>, columns: &[SortColumn], low: &Cut, high: &Cut) -> Vec<Node> {
    let mut parts = Vec::new();
    for (at, (column, descending)) in columns.iter().enumerate() {
        let (begin, end) = (low.values.get(at), high.values.get(at));
        if let (Some(begin), Some(end)) = (begin, end)
            && begin == end
        {
            parts.push(Node::Compare(*column, Comparison::Equal, begin.clone()));
            continue;
        }
        let (least, greatest) = if *descending { (end, begin) } else { (begin, end) };
        parts.extend(range(*column, least, greatest));
        break;
    }
    // What NULL stands for in a column with a default is what its conditions say of it.
    parts.into_iter().map(|node| with_default(access, node)).collect()
}

/// The range of a column between two values, either of which may be open: then NULL is in it.
fn range(column: usize, least: Option<&Stored>, greatest: Option<&Stored>) -> Option<Node> {
    let compare = |comparison, value: &Stored| Node::Compare(column, comparison, value.clone());
    let is_null = |value: &Stored| *value == Stored::Null;
    match (least, greatest) {
        (None, None) => None,
        (Some(least), None) if is_null(least) => Some(Node::Not(Box::new(Node::IsNull(column)))),
        (Some(least), None) => Some(compare(Comparison::GreaterOrEqual, least)),
        (Some(least), Some(greatest)) if is_null(least) => Some(compare(Comparison::LessOrEqual, greatest)),
        (Some(least), Some(greatest)) => Some(Node::Between(column, least.clone(), greatest.clone())),
        (None, Some(greatest)) => {
            let below = (!is_null(greatest)).then(|| compare(Comparison::LessOrEqual, greatest));
            let null = Node::IsNull(column);
            Some(match below {
                Some(below) => Node::Joined(Word::Or, vec![null, below]),
                None => null,
            })
        }
    }
}

fn with_default<T: Record>(access: Access<'_, T>, node: Node) -> Node {
    let column = match &node {
        Node::Compare(column, ..) | Node::Between(column, ..) => *column,
        _ => return node,
    };
    match access.shape.defaults.of(column).or_else(|| T::default_of(column)) {
        Some(default) => node.with_default(column, default),
        None => node,
    }
}
