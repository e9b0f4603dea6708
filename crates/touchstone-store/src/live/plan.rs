//! How a query is followed: by a key, or as a window of an ordered set that it shares with every query of its shape.
//!
//! The condition's conjuncts (joined by `and`) are split into key ranges and a residual. A column that must equal a
//! value comes first in the set's order. A range of the column after those becomes two cuts. The residual is evaluated
//! for each record. Queries that differ only in compared values, limit and offset are windows of one set.

use super::order::{Cut, CutValues, SortColumn, Sorter, Span};
use crate::query::Request;
use crate::query::condition::{Comparison, Node, Word};
use crate::types::error::Result;
use crate::types::record::{ColumnShape, Record, Shape};
use crate::types::value::{Kind, Value};

/// How a query is followed.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a plan is made for a subscription, and used up by it")]
pub(crate) enum Plan {
    /// At most one record: the one with this key.
    Key(Vec<Value>),
    Window(WindowPlan),
}

/// A window of a set.
#[derive(Debug)]
pub(crate) struct WindowPlan {
    pub(crate) family: FamilyPlan,
    /// The values that the first columns of the set's order must equal. `low` and `high` bound the column after them.
    equal: Vec<Value>,
    low: Option<Limit>,
    high: Option<Limit>,
    pub(crate) page: Page,
}

/// The parts that queries of one shape have in common.
#[derive(Debug, PartialEq)]
pub(crate) struct FamilyPlan {
    pub(crate) sort: Vec<SortColumn>,
    /// Whether windows hold only the first rows of their spans. Then the sort columns include the key's, so that a cut
    /// can lie behind each row.
    pub(crate) is_cut: bool,
    /// How many of the sort columns the query names; columns of the key may follow them.
    pub(crate) asked: usize,
    /// The condition that records in the window must also fulfil.
    pub(crate) residual: Option<Node>,
}

impl FamilyPlan {
    /// The same text for the same shape.
    pub(crate) fn name(&self) -> String {
        format!("{} {} {:?} {:?}", self.is_cut, self.asked, self.sort, self.residual)
    }
}

/// The part of a window that the query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) offset: usize,
    pub(crate) limit: Option<usize>,
}

impl Page {
    pub(crate) fn is_whole(self) -> bool {
        self.offset == 0 && self.limit.is_none()
    }
}

/// An end of a range.
#[derive(Clone, Debug)]
struct Limit {
    value: Value,
    /// Whether the range includes the value itself.
    closed: bool,
}

impl WindowPlan {
    /// The span of the window in the order of its set.
    pub(crate) fn span<T: Record>(&self, sorter: &Sorter<T>) -> Span {
        let descending = self.family.sort.get(self.equal.len()).is_some_and(|(_, descending)| *descending);
        let (first, last) = if descending { (&self.high, &self.low) } else { (&self.low, &self.high) };
        Span { low: self.cut(sorter, first.as_ref(), true), high: self.cut(sorter, last.as_ref(), false) }
    }

    /// The cut at which the window begins, or ends.
    fn cut<T: Record>(&self, sorter: &Sorter<T>, limit: Option<&Limit>, begins: bool) -> Cut {
        let mut values = CutValues::from(self.equal.as_slice());
        match limit {
            Some(limit) => {
                values.push(limit.value.clone());
                sorter.cut(values, limit.closed != begins)
            }
            None => sorter.cut(values, !begins),
        }
    }
}

/// Plans how to follow a query.
pub(crate) fn plan<T: Record>(shape: &Shape, request: &Request<T>, counts: bool) -> Result<Plan> {
    let mut parts = Parts::of(shape, request.node()?);
    let page = Page { offset: size(request.offset), limit: request.limit.map(size) };
    let order: Vec<SortColumn> = request.order.iter().map(|order| (order.column, order.descending)).collect();
    if !counts && parts.is_key(shape) && page.offset == 0 && page.limit != Some(0) {
        return Ok(Plan::Key(parts.equal.into_iter().map(|(_, value)| value).collect()));
    }
    let mut sort: Vec<SortColumn> = parts.equal.iter().map(|(column, _)| (*column, false)).collect();
    let is_fixed = |column: usize| parts.equal.iter().any(|(fixed, _)| *fixed == column);
    for (column, descending) in order {
        if !is_fixed(column) && sort.iter().all(|(sorted, _)| *sorted != column) {
            sort.push((column, descending));
        }
    }
    // A query without an order leaves the order to the store, which takes a column whose range narrows the window.
    if sort.len() == parts.equal.len() && request.order.is_empty() {
        sort.extend(parts.first_range().map(|column| (column, false)));
    }
    let (is_cut, asked) = (page.limit.is_some() && !counts, sort.len());
    if is_cut {
        let is_new = |column: &usize| sort.iter().all(|(sorted, _)| sorted != column);
        let keys: Vec<usize> = (0..shape.keys).filter(is_new).collect();
        sort.extend(keys.into_iter().map(|column| (column, false)));
    }
    let (low, high) = match sort.get(parts.equal.len()) {
        Some((column, _)) => parts.take_range(*column),
        None => (None, None),
    };
    let equal = std::mem::take(&mut parts.equal).into_iter().map(|(_, value)| value).collect();
    let family = FamilyPlan { sort, is_cut, asked, residual: parts.residual() };
    Ok(Plan::Window(WindowPlan { family, equal, low, high, page }))
}

fn size(records: u64) -> usize {
    usize::try_from(records).unwrap_or(usize::MAX)
}

/// A condition, split into its conjuncts.
struct Parts<'q> {
    /// Columns that must equal a value, in the order of the columns.
    equal: Vec<(usize, Value)>,
    /// Ranges, by column.
    ranges: Vec<(usize, &'q Node)>,
    rest: Vec<&'q Node>,
}

impl<'q> Parts<'q> {
    fn of(shape: &Shape, node: Option<&'q Node>) -> Parts<'q> {
        let mut parts = Parts { equal: Vec::new(), ranges: Vec::new(), rest: Vec::new() };
        match node {
            None => {}
            Some(Node::Joined(Word::And, nodes)) => nodes.iter().for_each(|node| parts.add(shape, node)),
            Some(node) => parts.add(shape, node),
        }
        parts.equal.sort_by_key(|(column, _)| *column);
        parts
    }

    fn add(&mut self, shape: &Shape, node: &'q Node) {
        let fits = |column: usize, value: &Value| is_of(&shape.columns[column], value);
        match node {
            Node::Compare(column, Comparison::Equal, value)
                if fits(*column, value) && self.equal.iter().all(|(fixed, _)| fixed != column) =>
            {
                self.equal.push((*column, value.clone()));
            }
            Node::Compare(column, comparison, value)
                if !matches!(comparison, Comparison::Equal | Comparison::NotEqual)
                    && fits(*column, value) =>
            {
                self.ranges.push((*column, node));
            }
            Node::Between(column, (_, low), (_, high)) if fits(*column, low) && fits(*column, high) => {
                self.ranges.push((*column, node));
            }
            Node::StartsWith(column, ..) if shape.columns[*column].kind == Kind::Text => {
                self.ranges.push((*column, node));
            }
            node => self.rest.push(node),
        }
    }

    /// Whether the condition only gives the key.
    fn is_key(&self, shape: &Shape) -> bool {
        self.ranges.is_empty()
            && self.rest.is_empty()
            && self.equal.iter().map(|(column, _)| *column).eq(0..shape.keys)
    }

    fn first_range(&self) -> Option<usize> {
        let is_free = |column: &usize| self.equal.iter().all(|(fixed, _)| fixed != column);
        self.ranges.iter().map(|(column, _)| *column).find(is_free)
    }

    /// The intersection of a column's ranges.
    fn take_range(&mut self, column: usize) -> (Option<Limit>, Option<Limit>) {
        let (mut low, mut high): (Option<Limit>, Option<Limit>) = (None, None);
        let (of_column, others) =
            std::mem::take(&mut self.ranges).into_iter().partition(|range| range.0 == column);
        self.ranges = others;
        let of_column: Vec<(usize, &Node)> = of_column;
        for (_, node) in &of_column {
            let (above, below) = limits(node);
            low = narrower(low, above, true);
            high = narrower(high, below, false);
        }
        // NULL is in no range.
        if low.is_none() && !of_column.is_empty() {
            low = Some(Limit { value: Value::Null, closed: false });
        }
        (low, high)
    }

    /// The condition that remains, to be evaluated.
    fn residual(self) -> Option<Node> {
        let ranges = self.ranges.into_iter().map(|(_, node)| node);
        let mut left: Vec<Node> = self.rest.into_iter().chain(ranges).cloned().collect();
        if left.len() > 1 { Some(Node::Joined(Word::And, left)) } else { left.pop() }
    }
}

/// Whether the value is of the column's kind. CutValues of other kinds compare by their kind, which a cut cannot express.
pub(super) fn is_of(column: &ColumnShape, value: &Value) -> bool {
    matches!(
        (column.kind, value),
        (Kind::Integer, Value::Integer(_))
            | (Kind::Real, Value::Real(_))
            | (Kind::Text, Value::Text(_))
            | (Kind::Blob, Value::Blob(_))
    ) && !matches!(value, Value::Real(real) if real.is_nan())
}

/// The ends of a range.
fn limits(node: &Node) -> (Option<Limit>, Option<Limit>) {
    let limit = |value: &Value, closed| Some(Limit { value: value.clone(), closed });
    match node {
        Node::Compare(_, Comparison::Greater, value) => (limit(value, false), None),
        Node::Compare(_, Comparison::GreaterOrEqual, value) => (limit(value, true), None),
        Node::Compare(_, Comparison::Less, value) => (None, limit(value, false)),
        Node::Compare(_, Comparison::LessOrEqual, value) => (None, limit(value, true)),
        Node::Between(_, (above, low), (below, high)) => {
            (limit(low, *above == Comparison::GreaterOrEqual), limit(high, *below == Comparison::LessOrEqual))
        }
        Node::StartsWith(_, prefix, end) => {
            let end = end.as_ref().map(|end| Limit { value: Value::Text(end.clone()), closed: false });
            (limit(&Value::Text(prefix.clone()), true), end)
        }
        _ => (None, None),
    }
}

/// The end that admits fewer values.
fn narrower(one: Option<Limit>, other: Option<Limit>, is_low: bool) -> Option<Limit> {
    let (Some(one), Some(other)) = (one.clone(), other.clone()) else { return one.or(other) };
    let ordering = crate::query::evaluate::order(one.value.raw(), other.value.raw());
    let ordering = if is_low { ordering } else { ordering.map(std::cmp::Ordering::reverse) };
    Some(match ordering {
        Some(std::cmp::Ordering::Greater) => one,
        Some(std::cmp::Ordering::Less) => other,
        _ => Limit { closed: one.closed && other.closed, value: one.value },
    })
}
