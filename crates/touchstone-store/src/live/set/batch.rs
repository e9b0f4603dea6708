//! Changing a version: a batch is split among the children on the way down, and the nodes that result are collected on
//! the way up. Copy-on-write: a node of this version alone is changed in place; a shared one is copied first.

use super::{Child, Entry, INNER_MAX, InnerNode, LEAF_MAX, Leaf, Node, Ordered, Set};
use std::cmp::Ordering;
use std::mem;
use std::sync::Arc;
use std::vec;

/// The fewest entries of a leaf, and the fewest children of an inner node, if it has a neighbour.
pub(super) const LEAF_MIN: usize = LEAF_MAX / 4 + 1;
pub(super) const INNER_MIN: usize = INNER_MAX / 4 + 1;

/// Up to this many changes of one leaf are each searched for; more are merged with the leaf.
const SINGLE_MAX: usize = 4;

impl<R> Set<R> {
    /// A version of entries that are in order, without duplicates.
    pub(crate) fn build(sorted: Vec<Entry<R>>) -> Set<R> {
        Set { root: rooted(leaves(sorted)) }
    }

    /// The version without `removed` and with `inserted`, each in order and without duplicates. Removing an entry that
    /// is not there has no effect. An inserted entry replaces an equal one, also one that is removed.
    ///
    /// Nodes that no clone shares are changed in place: to keep the old version, clone it.
    pub(crate) fn apply(
        self,
        removed: &[Entry<R>],
        inserted: Vec<Entry<R>>,
        order: &impl Ordered<R>,
    ) -> Set<R> {
        debug_assert!(removed.is_sorted_by_key(|entry| entry.ord), "removed entries are in order");
        debug_assert!(inserted.is_sorted_by_key(|entry| entry.ord), "inserted entries are in order");
        let Some(mut root) = self.root else { return Set::build(inserted) };
        let part = Share { removed: removed.len(), inserted: inserted.len() };
        if part.is_empty() {
            return Set { root: Some(root) };
        }
        let mut batch = PendingChanges { removed, inserted: inserted.into_iter(), order, merged: Vec::new() };
        let mut nodes = batch.change(&mut root, part);
        if nodes.is_empty() {
            return Set { root: (root.len() > 0).then(|| lowered(root)) };
        }
        nodes.insert(0, root);
        Set { root: rooted(nodes) }
    }
}

/// The changes still to be made, in order.
struct PendingChanges<'a, R, O> {
    removed: &'a [Entry<R>],
    inserted: vec::IntoIter<Entry<R>>,
    order: &'a O,
    /// The merged entries of a leaf, kept to use its memory again.
    merged: Vec<Entry<R>>,
}

/// How many of the next changes of a batch belong to one node.
#[derive(Clone, Copy)]
struct Share {
    removed: usize,
    inserted: usize,
}

impl Share {
    fn is_empty(self) -> bool {
        self.removed + self.inserted == 0
    }
}

/// One change of a leaf.
enum LeafChange<'a, R> {
    Remove(&'a Entry<R>),
    Put(Entry<R>),
}

impl<'a, R, O: Ordered<R>> PendingChanges<'a, R, O> {
    /// Makes the next changes, those of `node`. Nodes for entries that it has no room for are returned, to stand right
    /// of it. The node may be left with too few entries or none: its parent repairs that.
    fn change(&mut self, node: &mut Node<R>, part: Share) -> Vec<Node<R>> {
        match node {
            Node::Leaf(leaf) if part.removed + part.inserted <= SINGLE_MAX => self.change_singly(leaf, part),
            Node::Leaf(leaf) => self.merge(leaf, part),
            Node::Inner(inner) => self.change_below(inner, part),
        }
    }

    /// Changes an inner node. Its list of children is rebuilt only if a child split or became too small.
    fn change_below(&mut self, inner: &mut Arc<InnerNode<R>>, mut part: Share) -> Vec<Node<R>> {
        let inner = Arc::make_mut(inner);
        let mut further: Vec<(usize, Node<R>)> = Vec::new();
        let mut is_proper = true;
        let mut at = 0;
        while let Some(next) = self.next(part) {
            at = inner.child_of(next, at, self.order);
            let own = match inner.children.get(at + 1) {
                Some(neighbour) => self.before(neighbour, part),
                None => part,
            };
            part = Share { removed: part.removed - own.removed, inserted: part.inserted - own.inserted };

            let child = &mut inner.children[at];
            let len = child.node.len();
            let more = self.change(&mut child.node, own);
            is_proper &= more.is_empty() && !child.node.is_scant();
            further.extend(more.into_iter().map(|node| (at, node)));
            if is_proper {
                inner.recount(at, len);
            }
        }
        debug_assert!(!is_proper || inner.is_whole(), "a change below keeps the counts");
        if is_proper { Vec::new() } else { inner.renew(further) }
    }

    /// Makes a few changes of a leaf.
    fn change_singly(&mut self, leaf: &mut Arc<Leaf<R>>, mut part: Share) -> Vec<Node<R>> {
        let own = Arc::make_mut(leaf);
        while let Some(change) = self.take(&mut part) {
            match change {
                LeafChange::Remove(entry) => {
                    if let Ok(at) = own.search(entry, self.order) {
                        own.entries.remove(at);
                    }
                }
                LeafChange::Put(entry) => match own.search(&entry, self.order) {
                    Ok(at) => own.entries[at] = entry,
                    Err(at) => own.entries.insert(at, entry),
                },
            }
        }
        if own.entries.len() <= LEAF_MAX {
            // If there were more in between, they moved to the heap: bring them back.
            own.entries.shrink_to_fit();
            debug_assert!(own.is_whole(), "a change keeps the order");
            return Vec::new();
        }
        let entries = mem::take(&mut own.entries);
        refill(leaf, entries.into_iter())
    }

    /// Makes many changes of a leaf: a merge of three lists.
    fn merge(&mut self, leaf: &mut Arc<Leaf<R>>, part: Share) -> Vec<Node<R>> {
        match Arc::get_mut(leaf) {
            Some(own) => self.merge_with(own.entries.drain(..), part),
            None => self.merge_with(leaf.entries.iter().cloned(), part),
        }
        refill(leaf, self.merged.drain(..))
    }

    fn merge_with(&mut self, old: impl Iterator<Item = Entry<R>>, mut part: Share) {
        for entry in old {
            let mut stays = true;
            while part.inserted > 0 && stays {
                let ordering = self.order.compare(&self.inserted.as_slice()[0], &entry);
                if ordering.is_gt() {
                    break;
                }
                part.inserted -= 1;
                self.merged.extend(self.inserted.next());
                stays = ordering.is_lt();
            }
            while part.removed > 0 {
                let ordering = self.order.compare(&self.removed[0], &entry);
                if ordering.is_gt() {
                    break;
                }
                part.removed -= 1;
                self.removed = &self.removed[1..];
                stays &= ordering.is_lt();
            }
            if stays {
                self.merged.push(entry);
            }
        }
        self.merged.extend(self.inserted.by_ref().take(part.inserted));
        self.removed = &self.removed[part.removed..];
    }

    /// The entry of the next change.
    fn next(&self, part: Share) -> Option<&Entry<R>> {
        let removed = self.removed[..part.removed].first();
        let inserted = self.inserted.as_slice()[..part.inserted].first();
        match (removed, inserted) {
            (Some(gone), Some(new)) if self.order.compare(gone, new).is_lt() => Some(gone),
            (removed, inserted) => inserted.or(removed),
        }
    }

    /// The next change. An entry that is both removed and inserted only gets the new row.
    fn take(&mut self, part: &mut Share) -> Option<LeafChange<'a, R>> {
        let gone = self.removed[..part.removed].first();
        let new = self.inserted.as_slice()[..part.inserted].first();
        let ordering = match (gone, new) {
            (Some(gone), Some(new)) => self.order.compare(gone, new),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        if let Some(gone) = gone.filter(|_| ordering.is_le()) {
            part.removed -= 1;
            self.removed = &self.removed[1..];
            if ordering.is_lt() {
                return Some(LeafChange::Remove(gone));
            }
        }
        new?;
        part.inserted -= 1;
        self.inserted.next().map(LeafChange::Put)
    }

    /// The next changes that come before a child.
    fn before(&self, child: &Child<R>, part: Share) -> Share {
        let is_before = |entry: &Entry<R>| child.compare(entry, self.order).is_gt();
        Share {
            removed: self.removed[..part.removed].partition_point(is_before),
            inserted: self.inserted.as_slice()[..part.inserted].partition_point(is_before),
        }
    }
}

impl<R> Node<R> {
    /// Whether the node has too few entries or children, so that a neighbour must absorb them.
    fn is_scant(&self) -> bool {
        match self {
            Node::Leaf(leaf) => leaf.entries.len() < LEAF_MIN,
            Node::Inner(inner) => inner.children.len() < INNER_MIN,
        }
    }

    /// The contents of both nodes in one node, or in two if there are too many.
    fn join(self, right: Node<R>) -> Vec<Node<R>> {
        match (self, right) {
            (Node::Leaf(left), Node::Leaf(right)) => {
                let mut entries = Vec::with_capacity(left.entries.len() + right.entries.len());
                for leaf in [left, right] {
                    match Arc::try_unwrap(leaf) {
                        Ok(own) => entries.extend(own.entries),
                        Err(shared) => entries.extend(shared.entries.iter().cloned()),
                    }
                }
                leaves(entries)
            }
            (Node::Inner(left), Node::Inner(right)) => {
                let children = left.children.iter().chain(&right.children);
                let nodes = children.map(|child| child.node.clone()).collect();
                // The only child of a node may be too small, as it had no neighbour. Here it has one.
                drop((left, right));
                inners(settled(nodes))
            }
            _ => unreachable!("children of one parent are of one height"),
        }
    }
}

impl<R> InnerNode<R> {
    /// Updates the fields of a child that had `len` entries before, and the ends right of it.
    fn recount(&mut self, at: usize, len: usize) {
        let child = &mut self.children[at];
        child.ord = child.node.first().ord;
        let is = child.node.len();
        if is != len {
            for child in &mut self.children[at..] {
                child.end = child.end + is - len;
            }
        }
    }

    /// Inserts further nodes, each right of a child, and returns the inner nodes for those that do not fit.
    fn renew(&mut self, further: Vec<(usize, Node<R>)>) -> Vec<Node<R>> {
        let mut nodes = Vec::with_capacity(self.children.len() + further.len());
        let mut further = further.into_iter().peekable();
        for (at, child) in self.children.drain(..).enumerate() {
            nodes.push(child.node);
            while let Some((_, node)) = further.next_if(|(left, _)| *left == at) {
                nodes.push(node);
            }
        }
        let mut inners = grouped(settled(nodes));
        self.children = inners.next().map(|inner| inner.children).unwrap_or_default();
        debug_assert!(self.children.is_empty() || self.is_whole(), "new nodes are counted");
        inners.map(|inner| Node::Inner(Arc::new(inner))).collect()
    }
}

/// Leaves of sorted entries.
fn leaves<R>(entries: Vec<Entry<R>>) -> Vec<Node<R>> {
    let sizes = pieces(entries.len(), LEAF_MAX);
    let mut entries = entries.into_iter();
    let leaves = sizes.map(|size| Leaf { entries: entries.by_ref().take(size).collect() });
    leaves.map(|leaf| Node::Leaf(Arc::new(leaf))).collect()
}

/// The root of a tree above adjacent nodes of one height.
fn rooted<R>(mut nodes: Vec<Node<R>>) -> Option<Node<R>> {
    while nodes.len() > 1 {
        nodes = inners(nodes);
    }
    nodes.pop()
}

/// The root without the inner nodes above it that have only one child.
fn lowered<R>(mut root: Node<R>) -> Node<R> {
    while let Node::Inner(inner) = &root
        && let [only] = inner.children.as_slice()
    {
        root = only.node.clone();
    }
    root
}

/// Adjacent nodes without the empty ones; those that are too small are joined with a neighbour, if there is one.
fn settled<R>(nodes: Vec<Node<R>>) -> Vec<Node<R>> {
    let mut settled: Vec<Node<R>> = Vec::with_capacity(nodes.len());
    for node in nodes {
        if node.len() == 0 {
            continue;
        }
        match settled.pop_if(|left| left.is_scant() || node.is_scant()) {
            Some(left) => settled.extend(left.join(node)),
            None => settled.push(node),
        }
    }
    settled
}

/// Inner nodes above adjacent nodes.
fn inners<R>(nodes: Vec<Node<R>>) -> Vec<Node<R>> {
    grouped(nodes).map(|inner| Node::Inner(Arc::new(inner))).collect()
}

fn grouped<R>(nodes: Vec<Node<R>>) -> impl Iterator<Item = InnerNode<R>> {
    let sizes = pieces(nodes.len(), INNER_MAX);
    let mut nodes = nodes.into_iter();
    sizes.map(move |size| {
        let mut end = 0;
        let children = nodes.by_ref().take(size).map(|node| {
            end += node.len();
            Child { ord: node.first().ord, end, node }
        });
        InnerNode { children: children.collect() }
    })
}

/// Replaces the entries of a leaf. Entries that do not fit are returned as further leaves.
fn refill<R>(leaf: &mut Arc<Leaf<R>>, mut entries: impl ExactSizeIterator<Item = Entry<R>>) -> Vec<Node<R>> {
    let mut sizes = pieces(entries.len(), LEAF_MAX);
    let own = entries.by_ref().take(sizes.next().unwrap_or(0));
    match Arc::get_mut(leaf) {
        Some(leaf) => {
            leaf.entries.clear();
            leaf.entries.extend(own);
        }
        None => *leaf = Arc::new(Leaf { entries: own.collect() }),
    }
    debug_assert!(leaf.is_whole(), "merged entries are in order");
    let further = sizes.map(|size| Leaf { entries: entries.by_ref().take(size).collect() });
    further.map(|leaf| Node::Leaf(Arc::new(leaf))).collect()
}

/// The sizes of the nodes for `total` elements: all about the same, with room for later insertions.
fn pieces(total: usize, max: usize) -> impl Iterator<Item = usize> {
    let pieces = if total <= max { total.min(1) } else { total.div_ceil(max * 3 / 4) };
    (0..pieces).map(move |piece| total * (piece + 1) / pieces - total * piece / pieces)
}
