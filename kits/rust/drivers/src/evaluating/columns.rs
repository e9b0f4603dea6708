//! What a transaction changed as columns, and conditions in a flat form that are evaluated over a whole column in one loop.
//!
//! A column is scanned in blocks, of which most match nothing: those are counted without a branch for each value, which
//! the compiler turns into instructions over many values at once.

use std::ops::Range;
use touchstone_kit::Subscription;

/// As many values as are counted before any is looked at.
const BLOCK: usize = 64;

/// A condition with nothing left of its expression but the column and the range that it asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Condition {
    /// The object of that row.
    Row(u32),
    /// Priorities in a range. A missing one is in none.
    Priority(Range<i64>),
}

impl Condition {
    /// The condition of a subscribed query. `row` is the number of an object by its title.
    pub(super) fn of(subscription: &Subscription, row: impl FnOnce(&str) -> u32) -> Condition {
        match subscription {
            Subscription::Object { title } | Subscription::One { title } => Condition::Row(row(title)),
            Subscription::Window { below, from, .. } => Condition::Priority(*from..*below),
        }
    }
}

/// The columns of some objects. Their places are numbered in the order in which they were added.
#[derive(Default)]
pub(super) struct Columns {
    rows: Vec<u32>,
    priorities: Vec<i64>,
    /// The place of each priority, as those that are missing stand in no column.
    places: Vec<u32>,
}

impl Columns {
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.priorities.clear();
        self.places.clear();
    }

    pub(super) fn add(&mut self, row: u32, priority: Option<i64>) {
        if let Some(priority) = priority {
            self.priorities.push(priority);
            self.places.push(self.rows.len() as u32);
        }
        self.rows.push(row);
    }

    /// Adds the places of all objects that match to `found`.
    pub(super) fn matching(&self, condition: &Condition, found: &mut Vec<u32>) {
        match condition {
            Condition::Row(row) => {
                scan(&self.rows, |value| *value == *row, |place| found.push(place as u32));
            }
            Condition::Priority(range) => {
                let found_at = |place: usize| found.push(self.places[place]);
                scan_range(&self.priorities, range, found_at);
            }
        }
    }

    /// Whether any object matches.
    pub(super) fn any(&self, condition: &Condition) -> bool {
        let mut any = false;
        match condition {
            Condition::Row(row) => scan(&self.rows, |value| *value == *row, |_| any = true),
            Condition::Priority(range) => scan_range(&self.priorities, range, |_| any = true),
        }
        any
    }
}

/// As [`scan`], with wider instructions where the processor has them: those that every processor has compare no two
/// integers of 64 bits at once.
#[inline(always)]
fn scan_range(priorities: &[i64], range: &Range<i64>, found: impl FnMut(usize)) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn scan_wide(priorities: &[i64], range: &Range<i64>, found: impl FnMut(usize)) {
            scan(priorities, |value| (range.start <= *value) & (*value < range.end), found);
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor was just asked whether it has these instructions.
            return unsafe { scan_wide(priorities, range, found) };
        }
    }
    scan(priorities, |value| (range.start <= *value) & (*value < range.end), found);
}

#[inline(always)]
fn scan<V>(values: &[V], matches: impl Fn(&V) -> bool, mut found: impl FnMut(usize)) {
    for (block, values) in values.chunks(BLOCK).enumerate() {
        let count: u32 = values.iter().map(|value| u32::from(matches(value))).sum();
        if count > 0 {
            let places = values.iter().enumerate().filter(|(_, value)| matches(value));
            places.for_each(|(place, _)| found(block * BLOCK + place));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::condition::condition;
    use super::*;
    use touchstone_kit::Doc;

    #[test]
    fn a_column_says_of_every_object_what_the_tree_says() {
        // Every seventh priority is missing, and two are the ends of all integers.
        let mut priorities: Vec<Option<i64>> =
            (0..300).map(|number| (number % 7 != 0).then_some((number * 37) % 101 - 50)).collect();
        priorities.extend([Some(i64::MIN), Some(i64::MAX)]);
        let docs: Vec<Doc> = priorities
            .iter()
            .enumerate()
            .map(|(row, priority)| Doc { title: row.to_string(), priority: *priority, ..Doc::default() })
            .collect();
        let mut columns = Columns::default();
        docs.iter().zip(0..).for_each(|(doc, row)| columns.add(row, doc.priority));
        let window = |from, below| Subscription::Window { below, from, limit: None };
        let mut subscriptions =
            vec![window(-50, 51), window(-3, 12), window(7, 8), window(5, 5), window(9, -9)];
        subscriptions.extend([window(i64::MIN, i64::MAX), window(i64::MIN, -40), window(1_000, 2_000)]);
        subscriptions.extend([0, 63, 64, 301, 302].map(|row| Subscription::One { title: row.to_string() }));
        for subscription in subscriptions {
            let tree = condition(&subscription);
            let expected: Vec<u32> = (0..)
                .zip(&docs)
                .filter(|(_, doc)| tree.evaluate(doc) == Some(true))
                .map(|(at, _)| at)
                .collect();
            let flat = Condition::of(&subscription, |title| title.parse().unwrap());
            let mut found = Vec::new();
            columns.matching(&flat, &mut found);
            assert_eq!(found, expected, "{subscription:?}");
            assert_eq!(columns.any(&flat), !expected.is_empty(), "{subscription:?}");
        }
    }
}
