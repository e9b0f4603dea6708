//! What differs between two results that are in the order of their priorities, worked out by walking both at once.

use std::cmp::Ordering;
use std::iter::Peekable;
use touchstone_kit::Doc;

/// One difference. What was removed was there in the older result, all else is there in the newer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The record that was there is gone.
    Removed(u32),
    /// The record that is there was not in the older result.
    Inserted(u32),
    /// The record that is there has other fields than before.
    Changed(u32),
}

/// What differs, in order.
pub fn steps<'d>(before: impl Iterator<Item = &'d Doc>, after: impl Iterator<Item = &'d Doc>) -> Vec<Step> {
    let mut before = numbered(before);
    let mut after = numbered(after);
    let mut steps = Vec::new();
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return steps,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((_, old)), Some((_, new))) if old.title == new.title => Ordering::Equal,
            (Some((_, old)), Some((_, new))) => (old.priority, &old.title).cmp(&(new.priority, &new.title)),
        };
        match order {
            Ordering::Less => steps.extend(before.next().map(|(at, _)| Step::Removed(at))),
            Ordering::Greater => steps.extend(after.next().map(|(at, _)| Step::Inserted(at))),
            Ordering::Equal => {
                if let (Some((_, old)), Some((at, new))) = (before.next(), after.next())
                    && old != new
                {
                    steps.push(Step::Changed(at));
                }
            }
        }
    }
}

fn numbered<'d>(docs: impl Iterator<Item = &'d Doc>) -> Peekable<impl Iterator<Item = (u32, &'d Doc)>> {
    docs.enumerate().map(|(at, doc)| (at as u32, doc)).peekable()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doc(title: u8, priority: i64, tag: &str) -> Doc {
        Doc { title: title.to_string(), priority: Some(priority), tag: tag.into(), ..Doc::default() }
    }

    #[test]
    fn what_moved_was_removed_and_inserted_and_what_stayed_may_have_changed() {
        let before = [doc(1, 10, ""), doc(2, 20, ""), doc(3, 30, "")];
        let after = [doc(2, 20, "new"), doc(4, 25, ""), doc(3, 30, ""), doc(1, 40, "")];
        let expected = [Step::Removed(0), Step::Changed(0), Step::Inserted(1), Step::Inserted(3)];
        assert_eq!(steps(before.iter(), after.iter()), expected);
        assert_eq!(steps(after.iter(), after.iter()), []);
        let alone = [doc(1, 10, "")];
        let moved = [doc(1, 99, "")];
        assert_eq!(steps(alone.iter(), moved.iter()), [Step::Changed(0)]);
    }
}
