//! The set compared with a sorted map, with nodes so small that they split and join all the time.

use super::batch::{INNER_MIN, LEAF_MIN};
use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Debug)]
struct Row {
    key: u16,
    value: u32,
}

struct ByKey;

impl Ordered<Row> for ByKey {
    fn compare(&self, left: &Entry<Row>, right: &Entry<Row>) -> Ordering {
        left.ord.cmp(&right.ord).then(left.row.key.cmp(&right.row.key))
    }
}

/// The expected contents of a set: the row at each position.
type Model = BTreeMap<(u64, u16), Arc<Row>>;

fn entry(ord: u64, key: u16, value: u32) -> Entry<Row> {
    Entry { ord, row: Arc::new(Row { key, value }) }
}

fn place(entry: &Entry<Row>) -> (u64, u16) {
    (entry.ord, entry.row.key)
}

fn value(entry: &Entry<Row>) -> ((u64, u16), u32) {
    (place(entry), entry.row.value)
}

fn built(len: usize) -> Set<Row> {
    Set::build((0..len).map(|at| entry(at as u64 / 3, at as u16 % 3, 0)).collect())
}

/// The change at one position: removal, insertion or both.
#[derive(Clone, Copy, Debug)]
struct Change {
    place: (u64, u16),
    removes: bool,
    inserts: bool,
}

/// The changes of one batch, and whether the version before it is kept.
#[derive(Clone, Debug)]
struct Batch {
    changes: Vec<Change>,
    keeps: bool,
}

fn change() -> impl Strategy<Value = Change> {
    let place = prop_oneof![(0..6u64, 0..100u16), (0..2u64, 0..400u16), (0..u64::MAX, 0..2u16)];
    (place, 0..3).prop_map(|(place, kind)| Change { place, removes: kind != 0, inserts: kind != 1 })
}

/// One change, a few, or many at once.
fn batches() -> impl Strategy<Value = Vec<Batch>> {
    let changes =
        prop_oneof![3 => vec(change(), 1..4), 2 => vec(change(), 1..40), 1 => vec(change(), 100..500)];
    vec((changes, any::<bool>()).prop_map(|(changes, keeps)| Batch { changes, keeps }), 1..30)
}

/// Applies a batch to both. `swept` is a range of existing entries that are removed as well.
fn apply(set: Set<Row>, model: &mut Model, batch: &Batch, swept: Range<usize>, value: u32) -> Set<Row> {
    let changes: BTreeMap<_, _> = batch.changes.iter().map(|change| (change.place, *change)).collect();
    let mut removed: Model = model.iter().skip(swept.start).take(swept.len()).map(clone).collect();
    let mut inserted = Model::new();
    for (place, change) in &changes {
        let row = || Arc::new(Row { key: place.1, value });
        if change.removes {
            removed.insert(*place, row());
        }
        if change.inserts {
            inserted.insert(*place, row());
        }
    }
    model.retain(|place, _| !removed.contains_key(place));
    model.extend(inserted.iter().map(clone));
    set.apply(&entries(removed), entries(inserted), &ByKey)
}

fn clone((place, row): (&(u64, u16), &Arc<Row>)) -> ((u64, u16), Arc<Row>) {
    (*place, Arc::clone(row))
}

fn entries(model: Model) -> Vec<Entry<Row>> {
    model.into_iter().map(|((ord, _), row)| Entry { ord, row }).collect()
}

/// Checks that a set has the contents of the model, and that its nodes are valid.
fn check(set: &Set<Row>, model: &Model) {
    assert_eq!(set.len(), model.len());
    assert_eq!(set.iter(0..usize::MAX).len(), model.len());
    assert!(set.iter(0..set.len()).map(value).eq(values(model)));
    if let Some(root) = &set.root {
        check_node(root, true);
    }
}

fn values(model: &Model) -> impl Iterator<Item = ((u64, u16), u32)> {
    model.iter().map(|(place, row)| (*place, row.value))
}

/// Checks counts, first entries and sizes; returns the height.
fn check_node(node: &Node<Row>, is_root: bool) -> usize {
    match node {
        Node::Leaf(leaf) => {
            assert!(leaf.entries.len() >= if is_root { 1 } else { LEAF_MIN });
            assert!(leaf.entries.len() <= LEAF_MAX);
            assert!(!leaf.entries.spilled());
            assert!(leaf.entries.is_sorted_by(|left, right| place(left) < place(right)));
            0
        }
        Node::Inner(inner) => {
            assert!(inner.children.len() >= if is_root { 2 } else { INNER_MIN });
            assert!(inner.children.len() <= INNER_MAX);
            let mut end = 0;
            let mut heights = Vec::new();
            for child in &inner.children {
                end += child.node.len();
                assert_eq!((child.ord, child.end), (child.node.first().ord, end));
                heights.push(check_node(&child.node, false));
            }
            assert!(heights.iter().all(|height| *height == heights[0]));
            heights[0] + 1
        }
    }
}

/// Checks that the steps of the difference turn the old range into the new one, and that none is superfluous.
fn check_diff(old: (&Set<Row>, Range<usize>), new: (&Set<Row>, Range<usize>)) {
    let was: Vec<_> = old.0.iter(old.1.clone()).collect();
    let is: Vec<_> = new.0.iter(new.1.clone()).collect();
    let mut expected = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    while old_at < was.len() || new_at < is.len() {
        let ordering = match (was.get(old_at), is.get(new_at)) {
            (Some(was), Some(is)) => ByKey.compare(was, is),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        match ordering {
            Ordering::Less => expected.push((Some(old_at), None)),
            Ordering::Greater => expected.push((None, Some(new_at))),
            Ordering::Equal if Arc::ptr_eq(&was[old_at].row, &is[new_at].row) => {}
            Ordering::Equal => expected.push((Some(old_at), Some(new_at))),
        }
        old_at += usize::from(ordering.is_le());
        new_at += usize::from(ordering.is_ge());
    }
    let mut steps = Vec::new();
    Set::diff(old.0, old.1, new.0, new.1, &ByKey, |step| {
        steps.push(match step {
            Step::Removed { at } => (Some(at), None),
            Step::Inserted { at, entry } => {
                assert!(std::ptr::eq(entry, is[at]));
                (None, Some(at))
            }
            Step::Changed { old_at, new_at, new } => {
                assert!(std::ptr::eq(new, is[new_at]));
                (Some(old_at), Some(new_at))
            }
        });
    });
    assert_eq!(steps, expected);
}

/// A range of a set, which may end beyond the last entry.
fn range(set: &Set<Row>, from: u16, to: u16) -> Range<usize> {
    let len = set.len() + 3;
    let (from, to) = (usize::from(from) % len, usize::from(to) % len);
    from.min(to)..from.max(to)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn versions_are_what_a_sorted_map_is_and_stay_so(
        batches in batches(),
        sweeps in vec(any::<(u16, u16, bool)>(), 30),
    ) {
        let mut set = Set::empty();
        let mut model = Model::new();
        let mut kept = Vec::new();
        for (value, batch) in batches.iter().enumerate() {
            if batch.keeps {
                kept.push((set.clone(), model.clone()));
            }
            let (from, to, sweeps) = sweeps[value];
            let swept = if sweeps { range(&set, from, to) } else { 0..0 };
            set = apply(set, &mut model, batch, swept, value as u32);
            check(&set, &model);
        }
        for (set, model) in &kept {
            check(set, model);
        }
    }

    #[test]
    fn differences_lead_from_one_version_to_the_other(
        batches in batches(),
        cuts in vec(any::<[u16; 4]>(), 30),
    ) {
        let mut set = Set::empty();
        let mut model = Model::new();
        let mut kept = vec![set.clone()];
        for (batch, cuts) in batches.iter().zip(cuts) {
            let old = set.clone();
            set = apply(set, &mut model, batch, 0..0, 0);
            check_diff((&old, 0..old.len()), (&set, 0..set.len()));
            check_diff((&old, range(&old, cuts[0], cuts[1])), (&set, range(&set, cuts[2], cuts[3])));
            check_diff((&old, range(&old, cuts[0], cuts[1])), (&set, range(&old, cuts[0], cuts[1])));
            kept.push(set.clone());
            let older = &kept[usize::from(cuts[0]) % kept.len()];
            check_diff((older, 0..older.len()), (&set, 0..set.len()));
            check_diff((&set, 0..set.len()), (older, 0..older.len()));
        }
    }

    #[test]
    fn reads_are_those_of_a_sorted_map(
        changes in vec(change(), 0..300),
        asked in vec(change(), 20),
        cuts in any::<[u16; 2]>(),
    ) {
        let mut model = Model::new();
        let set = apply(Set::empty(), &mut model, &Batch { changes, keeps: false }, 0..0, 1);
        let all: Vec<_> = values(&model).collect();
        for at in 0..all.len() + 2 {
            prop_assert_eq!(set.get(at).map(value), all.get(at).copied());
        }
        for asked in asked.iter().map(|change| change.place).chain(model.keys().copied()) {
            let before = model.range(..asked).count();
            prop_assert_eq!(set.rank(|entry| place(entry) < asked), before);
        }
        let range = range(&set, cuts[0], cuts[1]);
        let some: Vec<_> = all.iter().skip(range.start).take(range.len()).copied().collect();
        let iter = set.iter(range.clone());
        prop_assert_eq!(iter.len(), some.len());
        prop_assert!(iter.map(value).eq(some.iter().copied()));
        let mut leaves = Vec::new();
        set.leaves(range.clone()).for_each(|leaf| leaves.extend(leaf.iter().map(value)));
        prop_assert_eq!(&leaves, &some);
        // `fold` has code of its own: it is checked from within a leaf, too.
        let mut iter = set.iter(range);
        let mut seen: Vec<_> = iter.next().map(value).into_iter().collect();
        iter.for_each(|entry| seen.push(value(entry)));
        prop_assert_eq!(seen, some);
    }
}

#[test]
fn an_iterator_says_how_much_is_left() {
    let set = built(100);
    let mut iter = set.iter(10..90);
    for left in (0..80).rev() {
        assert!(iter.next().is_some());
        assert_eq!(iter.len(), left);
    }
    assert!(iter.next().is_none());
}

#[test]
fn a_change_copies_the_way_to_it_and_shares_the_rest() {
    fn leaves(node: &Node<Row>, found: &mut Vec<*const Leaf<Row>>) {
        match node {
            Node::Leaf(leaf) => found.push(Arc::as_ptr(leaf)),
            Node::Inner(inner) => inner.children.iter().for_each(|child| leaves(&child.node, found)),
        }
    }
    let old = built(1_000);
    let new = old.clone().apply(&[], vec![entry(100, 1, 7)], &ByKey);
    let (mut was, mut is) = (Vec::new(), Vec::new());
    leaves(old.root.as_ref().unwrap(), &mut was);
    leaves(new.root.as_ref().unwrap(), &mut is);
    assert_eq!(was.len(), is.len());
    assert_eq!(was.iter().zip(&is).filter(|(was, is)| was != is).count(), 1);
    assert!(!old.shares(&new) && old.shares(&old.clone()));
    assert_eq!(old.get(301).unwrap().row.value, 0);
    assert_eq!(new.get(301).unwrap().row.value, 7);
}

#[test]
fn a_version_that_nobody_else_has_is_changed_where_it_lies() {
    let set = built(1_000);
    let root = set.root.clone().map(|root| root.first() as *const Entry<Row>);
    let set = set.apply(&[entry(0, 0, 0)], vec![entry(0, 0, 7)], &ByKey);
    assert_eq!(set.root.as_ref().map(|root| root.first() as *const Entry<Row>), root);
    assert_eq!(set.get(0).unwrap().row.value, 7);
}

#[test]
fn the_difference_asks_only_about_what_a_batch_touched() {
    struct Counting(std::cell::Cell<usize>);
    impl Ordered<Row> for Counting {
        fn compare(&self, left: &Entry<Row>, right: &Entry<Row>) -> Ordering {
            self.0.set(self.0.get() + 1);
            ByKey.compare(left, right)
        }
    }
    let order = Counting(Default::default());
    let old = built(100_000);
    let new = old.clone().apply(&[entry(20_000, 1, 0)], vec![entry(7, 3, 0)], &ByKey);
    let mut steps = 0;
    Set::diff(&old, 0..old.len(), &new, 0..new.len(), &order, |_| steps += 1);
    assert_eq!(steps, 2);
    assert!(order.0.get() < 4 * LEAF_MAX, "{} comparisons", order.0.get());
}

#[test]
fn a_rank_asks_a_few_times_for_each_level() {
    let set = built(100_000);
    let asked = std::cell::Cell::new(0);
    let rank = set.rank(|entry| {
        asked.set(asked.get() + 1);
        place(entry) < (20_000, 0)
    });
    assert_eq!(rank, 60_000);
    assert!(asked.get() <= 40, "{} times", asked.get());
}

#[test]
fn what_is_emptied_can_be_filled_again() {
    let set = built(1_000);
    let all: Vec<_> = set.iter(0..1_000).cloned().collect();
    let set = set.apply(&all, Vec::new(), &ByKey);
    assert_eq!((set.len(), set.bytes()), (0, 0));
    assert!(set.shares(&Set::empty()) && set.get(0).is_none());
    let set = set.apply(&all, all.clone(), &ByKey);
    assert_eq!(set.len(), 1_000);
    assert!(set.iter(0..1_000).zip(&all).all(|(is, was)| Arc::ptr_eq(&is.row, &was.row)));
}

#[test]
fn entries_that_come_one_by_one_leave_one_by_one() {
    let mut set = Set::empty();
    let mut kept = Vec::new();
    for at in 0..2_000u64 {
        // Forwards at one end, backwards at the other.
        let ord = if at % 2 == 0 { 10_000 + at } else { 10_000 - at };
        set = set.apply(&[], vec![entry(ord, 0, 0)], &ByKey);
        kept.extend((at % 100 == 0).then(|| set.clone()));
    }
    check_node(set.root.as_ref().unwrap(), true);
    while let Some(first) = set.get(set.len() / 3).cloned() {
        set = set.apply(&[first], Vec::new(), &ByKey);
        if let Some(root) = &set.root {
            check_node(root, true);
        }
    }
    assert!(kept.iter().enumerate().all(|(at, set)| set.len() == at * 100 + 1));
}

#[test]
fn a_million_entries_are_dropped_within_a_small_stack() {
    let drop_all = || drop(built(1_000_000));
    std::thread::Builder::new().stack_size(64 << 10).spawn(drop_all).unwrap().join().unwrap();
}
