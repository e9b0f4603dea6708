//! Changing a version: a batch goes down the tree, every node taking its part, and up again come the nodes that there
//! are now. A node that no other version has is changed where it lies; every other is copied first.

use super::{Child, Entry, INNER_MAX, Inner, LEAF_MAX, Leaf, Node, Ordered, Set};
use std::cmp::Ordering;
use std::mem;
use std::sync::Arc;
use std::vec;

/// The fewest entries of a leaf, and the fewest children of an inner node, that has a neighbour.
pub(super) const LEAF_MIN: usize = LEAF_MAX / 4 + 1;
pub(super) const INNER_MIN: usize = INNER_MAX / 4 + 1;

/// Up to so many changes of one leaf are searched for, one by one; more of them are merged.
const SINGLE_MAX: usize = 4;

impl<R> Set<R> {
    /// A version of entries that are in order, without duplicates.
    pub(crate) fn build(sorted: Vec<Entry<R>>) -> Set<R> {
        Set { root: rooted(leaves(sorted)) }
    }

    /// The version without `removed` and with `inserted`, each in order and without duplicates. What is removed and was
    /// not there is ignored; what is inserted replaces what compares equal, also where that is removed.
    ///
    /// Nodes that no clone of this version has are used again: to keep the old version, clone it.
    pub(crate) fn apply(
        self,
        removed: &[Entry<R>],
        inserted: Vec<Entry<R>>,
        order: &impl Ordered<R>,
    ) -> Set<R> {
        let Some(mut root) = self.root else { return Set::build(inserted) };
        let part = Part { removed: removed.len(), inserted: inserted.len() };
        if part.is_empty() {
            return Set { root: Some(root) };
        }
        let mut batch = Batch { removed, inserted: inserted.into_iter(), order, merged: Vec::new() };
        let mut nodes = batch.change(&mut root, part);
        if nodes.is_empty() {
            return Set { root: (root.len() > 0).then(|| lowered(root)) };
        }
        nodes.insert(0, root);
        Set { root: rooted(nodes) }
    }
}

/// What is still to be done, in order.
struct Batch<'a, R, O> {
    removed: &'a [Entry<R>],
    inserted: vec::IntoIter<Entry<R>>,
    order: &'a O,
    /// Where leaves are merged; kept for its memory.
    merged: Vec<Entry<R>>,
}

/// The first so many changes of a batch.
#[derive(Clone, Copy)]
struct Part {
    removed: usize,
    inserted: usize,
}

impl Part {
    fn is_empty(self) -> bool {
        self.removed + self.inserted == 0
    }
}

/// One change of a leaf.
enum Change<'a, R> {
    Remove(&'a Entry<R>),
    Put(Entry<R>),
}

impl<'a, R, O: Ordered<R>> Batch<'a, R, O> {
    /// Does the next changes, which are those of a node. The node keeps what it has room for; what it has not comes
    /// back as further nodes, to stand right of it. It may be left with too little or nothing, which is for its parent
    /// to mend.
    fn change(&mut self, node: &mut Node<R>, part: Part) -> Vec<Node<R>> {
        match node {
            Node::Leaf(leaf) if part.removed + part.inserted <= SINGLE_MAX => self.change_singly(leaf, part),
            Node::Leaf(leaf) => self.merge(leaf, part),
            Node::Inner(inner) => self.change_below(inner, part),
        }
    }

    /// Changes an inner node. Its list of children is made anew only where a child did not stay one proper child.
    fn change_below(&mut self, inner: &mut Arc<Inner<R>>, mut part: Part) -> Vec<Node<R>> {
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
            part = Part { removed: part.removed - own.removed, inserted: part.inserted - own.inserted };

            let child = &mut inner.children[at];
            let len = child.node.len();
            let more = self.change(&mut child.node, own);
            is_proper &= more.is_empty() && !child.node.is_scant();
            further.extend(more.into_iter().map(|node| (at, node)));
            if is_proper {
                inner.recount(at, len);
            }
        }
        if is_proper { Vec::new() } else { inner.renew(further) }
    }

    /// Does few changes of a leaf.
    fn change_singly(&mut self, leaf: &mut Arc<Leaf<R>>, mut part: Part) -> Vec<Node<R>> {
        let own = Arc::make_mut(leaf);
        while let Some(change) = self.take(&mut part) {
            match change {
                Change::Remove(entry) => {
                    if let Ok(at) = own.search(entry, self.order) {
                        own.entries.remove(at);
                    }
                }
                Change::Put(entry) => match own.search(&entry, self.order) {
                    Ok(at) => own.entries[at] = entry,
                    Err(at) => own.entries.insert(at, entry),
                },
            }
        }
        if own.entries.len() <= LEAF_MAX {
            // It may have had more in between.
            own.entries.shrink_to_fit();
            return Vec::new();
        }
        let entries = mem::take(&mut own.entries);
        refill(leaf, entries.into_iter())
    }

    /// Does many changes of a leaf: a merge of three lists.
    fn merge(&mut self, leaf: &mut Arc<Leaf<R>>, part: Part) -> Vec<Node<R>> {
        match Arc::get_mut(leaf) {
            Some(own) => self.merge_with(own.entries.drain(..), part),
            None => self.merge_with(leaf.entries.iter().cloned(), part),
        }
        refill(leaf, self.merged.drain(..))
    }

    fn merge_with(&mut self, old: impl Iterator<Item = Entry<R>>, mut part: Part) {
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

    /// The entry that changes next.
    fn next(&self, part: Part) -> Option<&Entry<R>> {
        let removed = self.removed[..part.removed].first();
        let inserted = self.inserted.as_slice()[..part.inserted].first();
        match (removed, inserted) {
            (Some(gone), Some(new)) if self.order.compare(gone, new).is_lt() => Some(gone),
            (removed, inserted) => inserted.or(removed),
        }
    }

    /// The change that comes next. What is removed and inserted again only changes its row.
    fn take(&mut self, part: &mut Part) -> Option<Change<'a, R>> {
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
                return Some(Change::Remove(gone));
            }
        }
        new?;
        part.inserted -= 1;
        self.inserted.next().map(Change::Put)
    }

    /// Of the next changes those that come before a child.
    fn before(&self, child: &Child<R>, part: Part) -> Part {
        let is_before = |entry: &Entry<R>| child.compare(entry, self.order).is_gt();
        Part {
            removed: self.removed[..part.removed].partition_point(is_before),
            inserted: self.inserted.as_slice()[..part.inserted].partition_point(is_before),
        }
    }
}

impl<R> Node<R> {
    /// Whether a neighbour has to take this in.
    fn is_scant(&self) -> bool {
        match self {
            Node::Leaf(leaf) => leaf.entries.len() < LEAF_MIN,
            Node::Inner(inner) => inner.children.len() < INNER_MIN,
        }
    }

    /// Both nodes' contents in one node, or in two if there are too many.
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
                // An only child had no neighbour that could take it in, and has one now.
                drop((left, right));
                inners(settled(nodes))
            }
            _ => unreachable!("children of one parent are of one height"),
        }
    }
}

impl<R> Inner<R> {
    /// Brings up to date what is known of a child that had `len` entries.
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

    /// Takes in further nodes, each right of a child, and gives back what there is no room for.
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
        inners.map(|inner| Node::Inner(Arc::new(inner))).collect()
    }
}

/// Leaves of entries in order.
fn leaves<R>(entries: Vec<Entry<R>>) -> Vec<Node<R>> {
    let sizes = pieces(entries.len(), LEAF_MAX);
    let mut entries = entries.into_iter();
    let leaves = sizes.map(|size| Leaf { entries: entries.by_ref().take(size).collect() });
    leaves.map(|leaf| Node::Leaf(Arc::new(leaf))).collect()
}

/// The tree of nodes of one height that stand side by side.
fn rooted<R>(mut nodes: Vec<Node<R>>) -> Option<Node<R>> {
    while nodes.len() > 1 {
        nodes = inners(nodes);
    }
    nodes.pop()
}

/// The root without those above it that have an only child.
fn lowered<R>(mut root: Node<R>) -> Node<R> {
    while let Node::Inner(inner) = &root
        && let [only] = inner.children.as_slice()
    {
        root = only.node.clone();
    }
    root
}

/// Nodes side by side without empty ones, and without scant ones unless it is the only one.
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

/// Inner nodes above nodes that stand side by side.
fn inners<R>(nodes: Vec<Node<R>>) -> Vec<Node<R>> {
    grouped(nodes).map(|inner| Node::Inner(Arc::new(inner))).collect()
}

fn grouped<R>(nodes: Vec<Node<R>>) -> impl Iterator<Item = Inner<R>> {
    let sizes = pieces(nodes.len(), INNER_MAX);
    let mut nodes = nodes.into_iter();
    sizes.map(move |size| {
        let mut end = 0;
        let children = nodes.by_ref().take(size).map(|node| {
            end += node.len();
            Child { ord: node.first().ord, end, node }
        });
        Inner { children: children.collect() }
    })
}

/// Gives a leaf other entries; what it has no room for comes back as further leaves.
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
    let further = sizes.map(|size| Leaf { entries: entries.by_ref().take(size).collect() });
    further.map(|leaf| Node::Leaf(Arc::new(leaf))).collect()
}

/// How many go into each node, so that all have about the same and some room is left for what comes.
fn pieces(total: usize, max: usize) -> impl Iterator<Item = usize> {
    let pieces = if total <= max { total.min(1) } else { total.div_ceil(max * 3 / 4) };
    (0..pieces).map(move |piece| total * (piece + 1) / pieces - total * piece / pieces)
}
