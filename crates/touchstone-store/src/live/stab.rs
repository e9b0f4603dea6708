//! Intervals of numbers, and which of them a number lies in: a tree in an array, where each node knows how far the
//! intervals below it reach. New ones wait beside it, and removed ones leave a hole, until there are so many that it is
//! built anew. See "Implicit interval trees with augmentation" (Li and Rong, cgranges).

use std::collections::HashMap;

/// Closed intervals, each with a number of its own.
#[derive(Debug, Default)]
pub(crate) struct Intervals {
    /// By their beginnings, and those that begin together by their numbers.
    nodes: Vec<Node>,
    waiting: Vec<Node>,
    /// Where among those that wait each number is.
    places: HashMap<u32, usize>,
    holes: usize,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    low: u64,
    high: u64,
    /// The greatest end of the node and of all below it.
    reach: u64,
    id: u32,
    /// Whether it was removed.
    is_hole: bool,
}

impl Intervals {
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.nodes.len() - self.holes + self.waiting.len()
    }

    pub(crate) fn insert(&mut self, low: u64, high: u64, id: u32) {
        /// How many may wait whatever the tree is.
        const WAITING_MIN: usize = 32;
        self.places.insert(id, self.waiting.len());
        self.waiting.push(Node { low, high, reach: high, id, is_hole: false });
        if self.waiting.len() > WAITING_MIN + self.nodes.len() / 8 {
            self.rebuild();
        }
    }

    pub(crate) fn remove(&mut self, low: u64, id: u32) {
        let found = self.nodes.binary_search_by_key(&(low, id), |node| (node.low, node.id));
        if let Some(node) = found.ok().map(|at| &mut self.nodes[at]).filter(|node| !node.is_hole) {
            node.is_hole = true;
            self.holes += 1;
            if self.holes > self.nodes.len() / 2 {
                self.rebuild();
            }
        } else if let Some(at) = self.places.remove(&id) {
            self.waiting.swap_remove(at);
            if let Some(moved) = self.waiting.get(at) {
                self.places.insert(moved.id, at);
            }
        }
    }

    fn rebuild(&mut self) {
        self.nodes.retain(|node| !node.is_hole);
        self.nodes.append(&mut self.waiting);
        self.places.clear();
        self.nodes.sort_unstable_by_key(|node| (node.low, node.id));
        self.holes = 0;
        let length = self.nodes.len();
        if length > 0 {
            self.reach(0, length);
        }
    }

    /// Notes how far the intervals between the two places reach, in the node in their middle.
    fn reach(&mut self, from: usize, to: usize) -> u64 {
        let middle = from.midpoint(to);
        let mut reach = self.nodes[middle].high;
        if from < middle {
            reach = reach.max(self.reach(from, middle));
        }
        if middle + 1 < to {
            reach = reach.max(self.reach(middle + 1, to));
        }
        self.nodes[middle].reach = reach;
        reach
    }

    /// Gives every interval that the number lies in: a search.
    pub(crate) fn stab(&self, number: u64, mut found: impl FnMut(u32)) {
        for node in &self.waiting {
            if node.low <= number && number <= node.high {
                found(node.id);
            }
        }
        self.descend(0, self.nodes.len(), number, &mut found);
    }

    /// Gives every interval that any of the numbers lies in, with one that does: all intervals are looked at, in the order of
    /// their beginnings, beside the numbers, which are two lists in order.
    pub(crate) fn sweep<N>(
        &self,
        lists: [&[N]; 2],
        number: impl Fn(&N) -> u64,
        mut found: impl FnMut(u32, u64),
    ) {
        let from = |list, low| skip(list, |at| number(at) < low);
        let mut look = |node: &Node, lists: [&[N]; 2]| {
            let first = lists.iter().filter_map(|list| list.first()).map(&number).min();
            if let Some(number) = first.filter(|number| *number <= node.high && !node.is_hole) {
                found(node.id, number);
            }
        };
        let mut left = lists;
        for node in &self.nodes {
            left = left.map(|list| from(list, node.low));
            look(node, left);
        }
        for node in &self.waiting {
            look(node, lists.map(|list| from(list, node.low)));
        }
    }

    fn descend(&self, from: usize, to: usize, number: u64, found: &mut impl FnMut(u32)) {
        /// Below that many nodes, looking at each costs less than choosing.
        const FEW: usize = 16;
        if to - from <= FEW {
            for node in self.nodes[from..to].iter().take_while(|node| node.low <= number) {
                if number <= node.high && !node.is_hole {
                    found(node.id);
                }
            }
            return;
        }
        let middle = from.midpoint(to);
        let node = self.nodes[middle];
        if node.reach < number {
            return;
        }
        self.descend(from, middle, number, found);
        if node.low <= number {
            if number <= node.high && !node.is_hole {
                found(node.id);
            }
            self.descend(middle + 1, to, number, found);
        }
    }
}

/// What is left of a list after those at its beginning; where they end is looked for in steps that double.
fn skip<N>(list: &[N], is_before: impl Fn(&N) -> bool) -> &[N] {
    let mut reach = 1;
    while list.get(reach - 1).is_some_and(&is_before) {
        reach *= 2;
    }
    let from = reach / 2;
    let within = &list[from..reach.min(list.len())];
    &list[from + within.partition_point(is_before)..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_finds_what_looking_at_each_finds(
            steps in prop::collection::vec((any::<bool>(), 0_u64..60, 0_u64..20, 0_usize..200), 1..400),
            mut numbers in prop::collection::vec(0_u64..90, 0..20),
            mut others in prop::collection::vec(0_u64..90, 0..60),
        ) {
            let (mut intervals, mut model) = (Intervals::default(), Vec::new());
            for (id, (inserts, low, length, victim)) in (0..).zip(steps) {
                if inserts || model.is_empty() {
                    intervals.insert(low, low + length, id);
                    model.push((low, low + length, id));
                } else {
                    let (low, _, id) = model.swap_remove(victim % model.len());
                    intervals.remove(low, id);
                }
            }
            prop_assert_eq!(intervals.len(), model.len());
            numbers.sort_unstable();
            others.sort_unstable();
            let within = |low: u64, high: u64, number: u64| low <= number && number <= high;
            let mut swept = Vec::new();
            intervals.sweep([&numbers, &others], |number| *number, |id, number| swept.push((id, number)));
            let lies_in = |id: u32, number| model.iter().any(|(low, high, own)| *own == id && within(*low, *high, number));
            let is_right = swept.iter().all(|(id, number)| lies_in(*id, *number));
            prop_assert!(is_right);
            let mut swept: Vec<u32> = swept.into_iter().map(|(id, _)| id).collect();
            swept.sort_unstable();
            let is_touched = |low, high| numbers.iter().chain(&others).any(|number| within(low, high, *number));
            let touched = model.iter().filter(|(low, high, _)| is_touched(*low, *high));
            let mut expected: Vec<u32> = touched.map(|(_, _, id)| *id).collect();
            expected.sort_unstable();
            prop_assert_eq!(swept, expected);
            for number in numbers {
                let mut found = Vec::new();
                intervals.stab(number, |id| found.push(id));
                found.sort_unstable();
                let within = model.iter().filter(|(low, high, _)| within(*low, *high, number));
                let mut expected: Vec<u32> = within.map(|(_, _, id)| *id).collect();
                expected.sort_unstable();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
