//! The key range of keyset pagination. A program asks for the page after `(due, id)` as a condition: due later, or due
//! at the same time with a greater id. No index serves such an `or`; but all its rows are due no earlier, and an index
//! serves that range.

use super::condition::{Comparison, Node, Word};
use crate::types::value::Value;

/// A comparison that is true for all rows of a condition.
pub(crate) type Bound<'q> = (usize, Comparison, &'q Value);

/// The range that contains all rows of a condition. The condition must be, or demand, an `or` in which each part
/// compares one column with the same value, in the same direction or for equality.
pub(crate) fn hull(node: &Node) -> Option<Bound<'_>> {
    match node {
        Node::Joined(Word::And, nodes) => nodes.iter().find_map(hull),
        Node::Joined(Word::Or, nodes) => bounds(&nodes[0]).find_map(|bound| widened(bound, &nodes[1..])),
        _ => None,
    }
}

/// The comparisons that a part of an `or` demands.
fn bounds(part: &Node) -> impl Iterator<Item = Bound<'_>> {
    let nodes = match part {
        Node::Joined(Word::And, nodes) => nodes.as_slice(),
        node => std::slice::from_ref(node),
    };
    nodes.iter().filter_map(|node| match node {
        Node::Compare(column, comparison, value) => Some((*column, *comparison, value)),
        _ => None,
    })
}

/// The bound, widened so that the other parts lie in it too; `None` if they cannot. Also `None` if all parts demand the
/// same value, because an index serves that condition as it is.
fn widened<'q>(bound: Bound<'q>, others: &'q [Node]) -> Option<Bound<'q>> {
    let (column, first, value) = bound;
    let mut direction = direction(first)?;
    for part in others {
        let (_, comparison, _) = bounds(part).find(|(at, _, other)| *at == column && *other == value)?;
        direction = match (direction, self::direction(comparison)?) {
            (Direction::None, other) | (other, Direction::None) => other,
            (one, other) if one == other => one,
            _ => return None,
        };
    }
    match direction {
        Direction::None => None,
        Direction::Up => Some((column, Comparison::GreaterOrEqual, value)),
        Direction::Down => Some((column, Comparison::LessOrEqual, value)),
    }
}

/// The direction in which the values of a comparison lie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    None,
    Up,
    Down,
}

fn direction(comparison: Comparison) -> Option<Direction> {
    match comparison {
        Comparison::Equal => Some(Direction::None),
        Comparison::NotEqual => None,
        Comparison::Less | Comparison::LessOrEqual => Some(Direction::Down),
        Comparison::Greater | Comparison::GreaterOrEqual => Some(Direction::Up),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};

    fn is(column: usize, comparison: Comparison, value: i64) -> Node {
        Node::Compare(column, comparison, Value::Integer(value))
    }

    fn joined(word: Word, nodes: &[Node]) -> Node {
        Node::Joined(word, nodes.to_vec())
    }

    fn after(comparison: Comparison, equal: Node) -> Node {
        let same = joined(Word::And, &[equal, is(0, comparison, 7)]);
        joined(Word::Or, &[is(2, comparison, 5), same])
    }

    #[test]
    fn the_page_after_a_key_lies_in_a_range() {
        let five = Value::Integer(5);
        let up = after(Greater, is(2, Equal, 5));
        assert_eq!(hull(&up), Some((2, GreaterOrEqual, &five)));
        assert_eq!(hull(&after(Less, is(2, Equal, 5))), Some((2, LessOrEqual, &five)));
        let demanded = joined(Word::And, &[is(1, NotEqual, 3), up]);
        assert_eq!(hull(&demanded), Some((2, GreaterOrEqual, &five)));
        let swapped =
            joined(Word::Or, &[joined(Word::And, &[is(0, Greater, 7), is(2, Equal, 5)]), is(2, Greater, 5)]);
        assert_eq!(hull(&swapped), Some((2, GreaterOrEqual, &five)));
    }

    #[test]
    fn what_lies_elsewhere_too_has_no_range() {
        for other in [is(2, Equal, 4), is(2, Less, 5), is(2, NotEqual, 5), is(1, Greater, 5), Node::IsNull(2)]
        {
            let either = joined(Word::Or, &[is(2, Greater, 5), other.clone()]);
            assert_eq!(hull(&either), None, "{other:?}");
        }
        // An index serves each of these as it is.
        assert_eq!(hull(&joined(Word::Or, &[is(2, Equal, 5), is(2, Equal, 5)])), None);
        assert_eq!(hull(&is(2, Greater, 5)), None);
    }
}
