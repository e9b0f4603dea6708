//! What a condition is for one row, in SQL's logic of three values: `Some(true)`, `Some(false)`, and `None` for unknown.

use super::condition::{Comparison, Node, Word};
use super::sought::Sought;
use crate::derived::Stored;
use crate::value::Raw;
use std::cmp::Ordering;

/// Evaluates the condition, with the row's values by column.
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

/// Joins what is known of the parts: one of them may decide, whatever the others are.
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

/// What is no number is NULL in a file.
fn is_null(value: Raw<'_>) -> bool {
    match value {
        Raw::Null | Raw::Absent => true,
        Raw::Real(value) => value.is_nan(),
        Raw::Integer(_) | Raw::Text(_) | Raw::Blob(_) => false,
    }
}

/// As SQLite compares it with the ends of a range, which is above all texts where it has no end.
fn starts_with(value: Raw<'_>, prefix: &str, end: Option<&str>) -> Option<bool> {
    match value {
        Raw::Text(text) => Some(text.starts_with(prefix.as_bytes())),
        Raw::Blob(_) => Some(end.is_none()),
        value => (!is_null(value)).then_some(false),
    }
}

/// As SQLite's `instr` tells it, which takes bytes and numbers for texts.
fn contains(value: Raw<'_>, part: &Sought) -> Option<bool> {
    match value {
        Raw::Text(text) | Raw::Blob(text) => Some(part.is_in(text)),
        Raw::Integer(value) => Some(part.is_in(value.to_string().as_bytes())),
        Raw::Real(_) | Raw::Null | Raw::Absent => None,
    }
}

/// How the two compare; unknown where one of them is NULL.
///
/// The value is looked at where it lies: a copy reads as one what was just written in parts, and the processor waits until
/// that is in its cache. For a walk with a condition it was a tenth of the time.
#[inline(always)]
fn compare(value: &Raw<'_>, other: &Stored) -> Option<Ordering> {
    match (value, other) {
        // The commonest, of which none is NULL.
        (Raw::Integer(value), Stored::Integer(other)) => Some(value.cmp(other)),
        (Raw::Text(value), Stored::Text(other)) => Some((*value).cmp(other.as_bytes())),
        (value, other) => compare_others(*value, other.raw()),
    }
}

fn compare_others(value: Raw<'_>, other: Raw<'_>) -> Option<Ordering> {
    if is_null(value) || is_null(other) { None } else { order(value, other) }
}

/// SQLite's order of values: NULL, then numbers, then text, then bytes. Nothing is where one of them is NaN.
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

/// Which values come before which others, whatever they are.
fn class(value: Raw<'_>) -> u8 {
    match value {
        Raw::Null | Raw::Absent => 0,
        Raw::Integer(_) | Raw::Real(_) => 1,
        Raw::Text(_) => 2,
        Raw::Blob(_) => 3,
    }
}

/// Compares without losing a digit of either.
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
