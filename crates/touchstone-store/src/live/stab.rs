//! Stabbing queries: which intervals contain a number. An augmented interval tree in an array: each node knows the
//! greatest end below it. New intervals wait in a list beside the tree, and removed ones leave a hole, until enough
//! have gathered to rebuild it. See "Implicit interval trees with augmentation" (Li and Rong, cgranges).

use std::collections::HashMap;

/// Closed intervals, each with an id.
#[derive(Debug, Default)]
pub(crate) struct Intervals {
    /// Sorted by beginning, then by id.
    nodes: Vec<StabNode>,
    waiting: Vec<StabNode>,
    /// The position of each id in `waiting`.
    places: HashMap<u32, usize>,
    holes: usize,
}

#[derive(Clone, Copy, Debug)]
struct StabNode {
    low: u64,
    high: u64,
    /// The greatest end of the node and all nodes below it.
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
        /// This many intervals may wait, even if the tree is small.
        const WAITING_MIN: usize = 32;
        self.places.insert(id, self.waiting.len());
        self.waiting.push(StabNode { low, high, reach: high, id, is_hole: false });
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

    /// Computes the `reach` of the nodes between two positions; their root is the middle one.
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

    /// Passes the id of each interval that contains the number to `found`: a search.
    pub(crate) fn stab(&self, number: u64, mut found: impl FnMut(u32)) {
        for node in &self.waiting {
            if node.low <= number && number <= node.high {
                found(node.id);
            }
        }
        self.descend(0, self.nodes.len(), number, &mut found);
    }

    /// Passes the id of each interval that contains any of the numbers to `found`, with one such number. The numbers
    /// are two sorted lists. All intervals are visited in the order of their beginnings, as in a merge.
    pub(crate) fn sweep<N>(
        &self,
        lists: [&[N]; 2],
        number: impl Fn(&N) -> u64,
        mut found: impl FnMut(u32, u64),
    ) {
        let from = |list, low| skip(list, |at| number(at) < low);
        let mut look = |node: &StabNode, lists: [&[N]; 2]| {
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
        /// With so few nodes, looking at each costs less than descending.
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

/// The rest of a list, after its first elements for which `is_before` is true. Their end is found by galloping: steps
/// that double, then a binary search.
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
