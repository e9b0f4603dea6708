//! A condition as a query builder makes it: a tree of boxed nodes, evaluated by dynamic dispatch in three-valued logic.

use std::cmp::Ordering;
use touchstone_kit::{Doc, Subscription};

/// A node that is true or false of an object.
pub(super) trait Condition: Send {
    /// True, false, or neither where a value is missing.
    fn evaluate(&self, doc: &Doc) -> Option<bool>;
}

/// A node that has a value.
trait Operand: Send {
    /// Its value for an object, or none where that is missing.
    fn value<'d>(&'d self, doc: &'d Doc) -> Option<Value<'d>>;
}

/// A value that is looked at in its place.
#[derive(Clone, Copy)]
enum Value<'d> {
    Integer(i64),
    Text(&'d str),
}

impl Value<'_> {
    /// None where the two are of different types.
    fn compared(self, other: Value<'_>) -> Option<Ordering> {
        match (self, other) {
            (Value::Integer(mine), Value::Integer(theirs)) => Some(mine.cmp(&theirs)),
            (Value::Text(mine), Value::Text(theirs)) => Some(mine.cmp(theirs)),
            _ => None,
        }
    }
}

struct Title;

impl Operand for Title {
    fn value<'d>(&'d self, doc: &'d Doc) -> Option<Value<'d>> {
        Some(Value::Text(&doc.title))
    }
}

struct Priority;

impl Operand for Priority {
    fn value<'d>(&'d self, doc: &'d Doc) -> Option<Value<'d>> {
        doc.priority.map(Value::Integer)
    }
}

struct Integer(i64);

impl Operand for Integer {
    fn value<'d>(&'d self, _doc: &'d Doc) -> Option<Value<'d>> {
        Some(Value::Integer(self.0))
    }
}

struct Text(String);

impl Operand for Text {
    fn value<'d>(&'d self, _doc: &'d Doc) -> Option<Value<'d>> {
        Some(Value::Text(&self.0))
    }
}

/// Two operands that are compared.
struct Compared {
    left: Box<dyn Operand>,
    right: Box<dyn Operand>,
}

impl Compared {
    fn new(left: impl Operand + 'static, right: impl Operand + 'static) -> Compared {
        Compared { left: Box::new(left), right: Box::new(right) }
    }

    fn evaluate(&self, doc: &Doc) -> Option<Ordering> {
        self.left.value(doc)?.compared(self.right.value(doc)?)
    }
}

struct Equal(Compared);

impl Condition for Equal {
    fn evaluate(&self, doc: &Doc) -> Option<bool> {
        self.0.evaluate(doc).map(Ordering::is_eq)
    }
}

struct Less(Compared);

impl Condition for Less {
    fn evaluate(&self, doc: &Doc) -> Option<bool> {
        self.0.evaluate(doc).map(Ordering::is_lt)
    }
}

struct AtLeast(Compared);

impl Condition for AtLeast {
    fn evaluate(&self, doc: &Doc) -> Option<bool> {
        self.0.evaluate(doc).map(Ordering::is_ge)
    }
}

struct And(Box<dyn Condition>, Box<dyn Condition>);

impl Condition for And {
    /// False where either is, whatever is missing in the other.
    fn evaluate(&self, doc: &Doc) -> Option<bool> {
        match self.0.evaluate(doc) {
            Some(false) => Some(false),
            Some(true) => self.1.evaluate(doc),
            None => self.1.evaluate(doc).filter(|other| !other),
        }
    }
}

/// The condition of a subscribed query.
pub(super) fn condition(subscription: &Subscription) -> Box<dyn Condition> {
    match subscription {
        Subscription::Object { title } | Subscription::One { title } => {
            Box::new(Equal(Compared::new(Title, Text(title.clone()))))
        }
        Subscription::Window { below, from, .. } => Box::new(And(
            Box::new(Less(Compared::new(Priority, Integer(*below)))),
            Box::new(AtLeast(Compared::new(Priority, Integer(*from)))),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A condition that is known beforehand.
    struct Known(Option<bool>);

    impl Condition for Known {
        fn evaluate(&self, _doc: &Doc) -> Option<bool> {
            self.0
        }
    }

    #[test]
    fn both_are_true_or_one_is_false_or_nobody_knows() {
        let doc = Doc::default();
        let all = [Some(true), Some(false), None];
        for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (*one, *other))) {
            let expected = match (one, other) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
            let both = And(Box::new(Known(one)), Box::new(Known(other)));
            assert_eq!(both.evaluate(&doc), expected, "{one:?} and {other:?}");
        }
    }

    #[test]
    fn a_missing_priority_is_in_no_window_and_out_of_none() {
        let window = condition(&Subscription::Window { below: 10, from: 0, limit: None });
        let of = |priority| window.evaluate(&Doc { priority, ..Doc::default() });
        assert_eq!(
            [of(Some(-1)), of(Some(0)), of(Some(9)), of(Some(10)), of(None)],
            [Some(false), Some(true), Some(true), Some(false), None]
        );
        assert_eq!(Less(Compared::new(Title, Integer(1))).evaluate(&Doc::default()), None);
    }
}
