//! Evaluates a condition for one row, in SQL's three-valued logic: `Some(true)`, `Some(false)`, and `None` for unknown.

use super::condition::{Comparison, Node, Word};
use super::sought::Sought;
use crate::types::value::{Raw, Value};
use std::cmp::Ordering;

/// Evaluates the condition with the row's values by column.
pub(crate) fn evaluate<'a>(node: &Node, row: &impl Fn(usize) -> Raw<'a>) -> Option<bool> {
    match node {
        Node::Compare(column, comparison, value) => Some(holds(*comparison, compare(&row(*column), value)?)),
        Node::Between(column, (above, low), (below, high)) => {
            let value = row(*column);
            let above = compare(&value, low).map(|order| holds(*above, order));
            joined(Word::And, [above, compare(&value, high).map(|order| holds(*below, order))].into_iter())
        }
        Node::In(column, values) => values.has(row(*column)),
        Node::IsNull(column) => Some(is_null(row(*column))),
        Node::StartsWith(column, prefix, end) => starts_with(row(*column), prefix, end.as_deref()),
        Node::Contains(column, part) => contains(row(*column), part),
        Node::Joined(word, nodes) => joined(*word, nodes.iter().map(|node| evaluate(node, row))),
        Node::Not(inner) => evaluate(inner, row).map(|known| !known),
    }
}

/// Joins the values of the parts. One part may decide, even if others are unknown.
fn joined(word: Word, parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut known = Some(!word.decisive());
    for part in parts {
        if part == Some(word.decisive()) {
            return part;
        }
        known = known.and(part);
    }
    known
}

fn holds(comparison: Comparison, order: Ordering) -> bool {
    match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }
}

/// A file stores NaN as NULL.
fn is_null(value: Raw<'_>) -> bool {
    match value {
        Raw::Null | Raw::Absent => true,
        Raw::Real(value) => value.is_nan(),
        Raw::Integer(_) | Raw::Text(_) | Raw::Blob(_) => false,
    }
}

/// As SQLite compares the value with the range's ends: bytes are greater than all texts, and so above any upper end.
fn starts_with(value: Raw<'_>, prefix: &str, end: Option<&str>) -> Option<bool> {
    match value {
        Raw::Text(text) => Some(text.starts_with(prefix.as_bytes())),
        Raw::Blob(_) => Some(end.is_none()),
        value => (!is_null(value)).then_some(false),
    }
}

/// As SQLite's `instr` does, which takes bytes and numbers as texts.
fn contains(value: Raw<'_>, part: &Sought) -> Option<bool> {
    match value {
        Raw::Text(text) | Raw::Blob(text) => Some(part.is_in(text)),
        Raw::Integer(value) => Some(part.is_in(value.to_string().as_bytes())),
        Raw::Real(_) | Raw::Null | Raw::Absent => None,
    }
}

/// Compares two values; unknown if one of them is NULL.
///
/// The value stays behind its reference. A copy would read in one piece the bytes that were just written in several,
/// and the processor waits until those reach its cache: for a scan with a condition that was a tenth of the time.
#[inline(always)]
fn compare(value: &Raw<'_>, other: &Value) -> Option<Ordering> {
    match (value, other) {
        // The most common kinds, of which none is NULL.
        (Raw::Integer(value), Value::Integer(other)) => Some(value.cmp(other)),
        (Raw::Text(value), Value::Text(other)) => Some((*value).cmp(other.as_bytes())),
        (value, other) => compare_others(*value, other.raw()),
    }
}

fn compare_others(value: Raw<'_>, other: Raw<'_>) -> Option<Ordering> {
    if is_null(value) || is_null(other) { None } else { order(value, other) }
}

/// SQLite's order of values: NULL, numbers, text, bytes. `None` if one of them is NaN.
#[inline]
pub(crate) fn order(left: Raw<'_>, right: Raw<'_>) -> Option<Ordering> {
    Some(match (left, right) {
        (Raw::Integer(left), Raw::Integer(right)) => left.cmp(&right),
        (Raw::Real(left), Raw::Real(right)) => left.partial_cmp(&right)?,
        (Raw::Integer(left), Raw::Real(right)) => integer_with_real(left, right),
        (Raw::Real(left), Raw::Integer(right)) => integer_with_real(right, left).reverse(),
        (Raw::Text(left), Raw::Text(right)) | (Raw::Blob(left), Raw::Blob(right)) => left.cmp(right),
        (left, right) => class(left).cmp(&class(right)),
    })
}

/// The rank of the value's kind in the order of kinds.
fn class(value: Raw<'_>) -> u8 {
    match value {
        Raw::Null | Raw::Absent => 0,
        Raw::Integer(_) | Raw::Real(_) => 1,
        Raw::Text(_) => 2,
        Raw::Blob(_) => 3,
    }
}

/// Compares exactly: neither number is rounded.
fn integer_with_real(left: i64, right: f64) -> Ordering {
    if right >= 9_223_372_036_854_775_808.0 {
        return Ordering::Less;
    }
    if right < -9_223_372_036_854_775_808.0 {
        return Ordering::Greater;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it lies within the range, and the rest is compared below"
    )]
    let whole = right as i64;
    #[expect(clippy::cast_precision_loss, reason = "it came from a float")]
    left.cmp(&whole).then_with(|| 0.0f64.partial_cmp(&(right - whole as f64)).unwrap_or(Ordering::Equal))
}
