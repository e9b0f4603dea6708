//! Reading a version in order, and the difference between two versions. Nothing here changes a version.

use super::{Child, Entry, Node, Ordered, Set};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::ops::Range;
use std::slice;
use std::sync::Arc;

/// One difference. Positions count from the start of the compared range.
#[derive(Debug)]
pub(crate) enum Step<'a, R> {
    /// The old range has an entry that the new one lacks.
    Removed { at: usize },
    /// The new range has an entry that the old one lacks.
    Inserted { at: usize, entry: &'a Entry<R> },
    /// The entry at this place in the order has another row.
    Changed { old_at: usize, new_at: usize, new: &'a Entry<R> },
}

impl<R> Set<R> {
    /// The entries of a range, in order. The range may end beyond the last entry.
    pub(crate) fn iter(&self, range: Range<usize>) -> Iter<'_, R> {
        Iter { entries: [].iter(), leaves: self.leaves(range) }
    }

    /// The entries of a range, a leaf at a time. The range may end beyond the last entry.
    pub(crate) fn leaves(&self, range: Range<usize>) -> Leaves<'_, R> {
        let (path, leaf) = Path::seek(self, range.start);
        Leaves { path, leaf, left: self.within(&range).len() }
    }

    /// The differences between a range of one version and a range of another, in order. Shared nodes are skipped as a
    /// whole, so finding the changes of a batch takes about as long as making them.
    pub(crate) fn diff<'a>(
        old: &'a Set<R>,
        old_range: Range<usize>,
        new: &'a Set<R>,
        new_range: Range<usize>,
        order: &impl Ordered<R>,
        mut visit: impl FnMut(Step<'a, R>),
    ) {
        let mut old = WalkPosition::new(old, old_range);
        let mut new = WalkPosition::new(new, new_range);
        loop {
            pass_shared(&mut old, &mut new);
            match (old.entry(), new.entry()) {
                (Some(was), Some(is)) => {
                    // Most entries of a copied leaf are the same in both.
                    let same = Arc::ptr_eq(&was.row, &is.row) && was.ord == is.ord;
                    let ordering = if same { Ordering::Equal } else { order.compare(was, is) };
                    match ordering {
                        Ordering::Less => visit(Step::Removed { at: old.next() }),
                        Ordering::Greater => visit(Step::Inserted { at: new.next(), entry: is }),
                        Ordering::Equal => {
                            let (old_at, new_at) = (old.next(), new.next());
                            if !Arc::ptr_eq(&was.row, &is.row) {
                                visit(Step::Changed { old_at, new_at, new: is });
                            }
                        }
                    }
                }
                (Some(_), None) => visit(Step::Removed { at: old.next() }),
                (None, Some(is)) => visit(Step::Inserted { at: new.next(), entry: is }),
                (None, None) => return,
            }
        }
    }

    /// The part of a range that has entries.
    fn within(&self, range: &Range<usize>) -> Range<usize> {
        range.start..range.end.min(self.len()).max(range.start)
    }
}

/// Entries in order; see [`Set::iter`].
#[derive(Debug)]
pub(crate) struct Iter<'a, R> {
    entries: slice::Iter<'a, Entry<R>>,
    leaves: Leaves<'a, R>,
}

impl<'a, R> Iterator for Iter<'a, R> {
    type Item = &'a Entry<R>;

    #[inline]
    fn next(&mut self) -> Option<&'a Entry<R>> {
        loop {
            if let Some(entry) = self.entries.next() {
                return Some(entry);
            }
            self.entries = self.leaves.next()?.iter();
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.entries.len() + self.leaves.left;
        (left, Some(left))
    }

    /// A loop over leaves with one over entries in it; `next` would check for the end of the leaf before each entry.
    fn fold<B, F: FnMut(B, &'a Entry<R>) -> B>(self, folded: B, mut fold: F) -> B {
        let folded = self.entries.fold(folded, &mut fold);
        self.leaves.fold(folded, |folded, leaf| leaf.iter().fold(folded, &mut fold))
    }
}

impl<R> ExactSizeIterator for Iter<'_, R> {}

/// Leaves in order; see [`Set::leaves`].
#[derive(Debug)]
pub(crate) struct Leaves<'a, R> {
    path: Path<'a, R>,
    /// The next entries of the leaf that the path has reached.
    leaf: &'a [Entry<R>],
    /// The number of entries to come.
    left: usize,
}

impl<'a, R> Iterator for Leaves<'a, R> {
    type Item = &'a [Entry<R>];

    fn next(&mut self) -> Option<&'a [Entry<R>]> {
        if self.left == 0 {
            return None;
        }
        if self.leaf.is_empty() {
            let (node, _) = self.path.next()?;
            self.leaf = self.path.leaf(node);
        }
        let leaf = &self.leaf[..self.leaf.len().min(self.left)];
        self.leaf = &[];
        self.left -= leaf.len();
        Some(leaf)
    }
}

/// The path from the root to a node: the inner nodes above it.
#[derive(Debug)]
struct Path<'a, R>(SmallVec<[PathLevel<'a, R>; 6]>);

/// An inner node on the path, and the child to visit next.
#[derive(Debug)]
struct PathLevel<'a, R> {
    children: &'a [Child<R>],
    next: usize,
}

impl<'a, R> Path<'a, R> {
    /// The path to the entry at a position, and the entries of its leaf from there on; none if there is no such entry.
    fn seek(set: &'a Set<R>, mut at: usize) -> (Path<'a, R>, &'a [Entry<R>]) {
        let mut path = Path(SmallVec::new());
        let Some(mut node) = set.root.as_ref() else { return (path, &[]) };
        loop {
            match node {
                Node::Leaf(leaf) => return (path, leaf.entries.get(at..).unwrap_or(&[])),
                Node::Inner(inner) => {
                    let Some(child) = inner.child_at(at) else { return (path, &[]) };
                    at -= inner.start(child);
                    path.0.push(PathLevel { children: &inner.children, next: child + 1 });
                    node = &inner.children[child].node;
                }
            }
        }
    }

    /// The node right of the one returned last, as high up as possible, and its number of entries.
    fn next(&mut self) -> Option<(&'a Node<R>, usize)> {
        while let Some(level) = self.0.last_mut() {
            if let Some(child) = level.children.get(level.next) {
                let start = level.next.checked_sub(1).map_or(0, |left| level.children[left].end);
                level.next += 1;
                return Some((&child.node, child.end - start));
            }
            self.0.pop();
        }
        None
    }

    /// The first leaf of the node that was returned last.
    fn leaf(&mut self, mut node: &'a Node<R>) -> &'a [Entry<R>] {
        loop {
            match node {
                Node::Leaf(leaf) => return &leaf.entries,
                Node::Inner(inner) => {
                    self.0.push(PathLevel { children: &inner.children, next: 1 });
                    node = &inner.children[0].node;
                }
            }
        }
    }
}

/// A position in a version: before a node that is not entered yet, or within a leaf.
struct WalkPosition<'a, R> {
    path: Path<'a, R>,
    /// The next node after the leaf, and its number of entries.
    node: Option<(&'a Node<R>, usize)>,
    /// The rest of the leaf.
    leaf: &'a [Entry<R>],
    at: usize,
    range: Range<usize>,
}

impl<'a, R> WalkPosition<'a, R> {
    fn new(set: &'a Set<R>, range: Range<usize>) -> WalkPosition<'a, R> {
        let range = set.within(&range);
        let mut cursor = WalkPosition {
            path: Path(SmallVec::new()),
            node: None,
            leaf: &[],
            at: range.start,
            range: range.clone(),
        };
        if range.start == 0 {
            cursor.node = set.root.as_ref().map(|root| (root, root.len()));
        } else {
            let (path, leaf) = Path::seek(set, range.start);
            cursor.path = path;
            cursor.enter(leaf);
        }
        cursor
    }

    /// The current entry; enters the node if necessary.
    fn entry(&mut self) -> Option<&'a Entry<R>> {
        if self.leaf.is_empty() && self.at < self.range.end {
            let (node, _) = self.node.take()?;
            let leaf = self.path.leaf(node);
            self.enter(leaf);
        }
        self.leaf.first()
    }

    /// Advances past the current entry, and returns its position.
    fn next(&mut self) -> usize {
        let at = self.at - self.range.start;
        self.at += 1;
        self.leaf = &self.leaf[1..];
        if self.leaf.is_empty() {
            self.node = self.path.next();
        }
        at
    }

    /// Enters a leaf, limited to the entries within the range.
    fn enter(&mut self, leaf: &'a [Entry<R>]) {
        self.leaf = &leaf[..leaf.len().min(self.left())];
    }

    /// The node that begins here, and its number of entries.
    fn begins(&self) -> Option<(&'a Node<R>, usize)> {
        self.node.filter(|_| self.leaf.is_empty() && self.at < self.range.end)
    }

    /// The number of entries of the range to come.
    fn left(&self) -> usize {
        self.range.end - self.at
    }

    /// Advances past the node that begins here.
    fn pass(&mut self, len: usize) {
        self.at += len;
        self.node = self.path.next();
    }

    /// Moves to the first child of the inner node that begins here.
    fn descend(&mut self) {
        if let Some((Node::Inner(inner), _)) = self.node {
            self.path.0.push(PathLevel { children: &inner.children, next: 0 });
            self.node = self.path.next();
        }
    }
}

/// Advances past the shared nodes that begin here, if there are any.
fn pass_shared<R>(old: &mut WalkPosition<'_, R>, new: &mut WalkPosition<'_, R>) {
    while let (Some((was, was_len)), Some((is, is_len))) = (old.begins(), new.begins()) {
        if was.is(is) && was_len <= old.left().min(new.left()) {
            old.pass(was_len);
            new.pass(is_len);
            continue;
        }
        match (was, is) {
            (Node::Leaf(_), Node::Leaf(_)) => return,
            (Node::Inner(_), Node::Leaf(_)) => old.descend(),
            (Node::Leaf(_), Node::Inner(_)) => new.descend(),
            // Versions may differ in height: shared nodes are of the same size, so the larger node is entered.
            (Node::Inner(_), Node::Inner(_)) => {
                if was_len >= is_len {
                    old.descend();
                }
                if is_len >= was_len {
                    new.descend();
                }
            }
        }
    }
}
