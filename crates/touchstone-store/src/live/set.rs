//! The entries of a live query in order: an immutable, counted B+tree whose versions share their common nodes. Only the
//! tree is here: its users define the order and the rows.
//!
//! A version is a handle, cheap to clone. A change gives another version, and copies the path from the root to the
//! changed leaf. [`batch`] changes a version; [`walk`] reads in order and compares versions.

mod batch;
#[cfg(test)]
mod tests;
mod walk;

use smallvec::SmallVec;
use std::cmp::Ordering;
use std::sync::Arc;
pub(crate) use walk::{Iter, Step};

/// The most entries of a leaf. Copying a leaf increments the count of each row's `Arc`, and rows are scattered in
/// memory: small leaves make changes cheap, and walks cost little more. Tiny nodes in tests split and join often.
const LEAF_MAX: usize = if cfg!(test) { 6 } else { 32 };
/// The most children of an inner node.
const INNER_MAX: usize = if cfg!(test) { 5 } else { 32 };

/// One element: the bits that the order compares first, and the row that decides between equal bits.
#[derive(Debug)]
pub(crate) struct Entry<R> {
    pub(crate) ord: u64,
    pub(crate) row: Arc<R>,
}

/// Compares two entries: a total order, `ord` first, then the rows. Entries are equal only if the columns of the query's
/// order and the keys are.
pub(crate) trait Ordered<R> {
    fn compare(&self, left: &Entry<R>, right: &Entry<R>) -> Ordering;
}

/// A version of the entries.
#[derive(Debug)]
pub(crate) struct Set<R> {
    /// `None` if there are no entries: no node is empty.
    root: Option<Node<R>>,
}

/// A node, shared by all versions that contain it. All children of an inner node have the same height.
#[derive(Debug)]
enum Node<R> {
    Leaf(Arc<Leaf<R>>),
    Inner(Arc<InnerNode<R>>),
}

/// Entries, stored inside the node: following the pointer to the node already reaches the first one.
#[derive(Debug)]
struct Leaf<R> {
    entries: SmallVec<[Entry<R>; LEAF_MAX]>,
}

#[derive(Debug)]
struct InnerNode<R> {
    children: SmallVec<[Child<R>; INNER_MAX]>,
}

#[derive(Debug)]
struct Child<R> {
    /// The `ord` of the first entry below: most searches need not look into the child.
    ord: u64,
    /// The number of entries in this child and in those left of it.
    end: usize,
    node: Node<R>,
}

impl<R> Set<R> {
    /// The version without entries.
    pub(crate) fn empty() -> Set<R> {
        Set { root: None }
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.root.as_ref().map_or(0, Node::len)
    }

    /// Whether both are one version.
    #[cfg(test)]
    pub(crate) fn shares(&self, other: &Set<R>) -> bool {
        match (&self.root, &other.root) {
            (Some(root), Some(other)) => root.is(other),
            (root, other) => root.is_none() && other.is_none(),
        }
    }

    /// The number of entries before the cut: `is_before` is true for those, and they come before all others.
    pub(crate) fn rank(&self, is_before: impl Fn(&Entry<R>) -> bool) -> usize {
        let Some(mut node) = self.root.as_ref() else { return 0 };
        let mut before = 0;
        loop {
            match node {
                Node::Leaf(leaf) => return before + leaf.entries.partition_point(&is_before),
                Node::Inner(inner) => {
                    let at = inner.children[1..].partition_point(|child| is_before(child.node.first()));
                    before += inner.start(at);
                    node = &inner.children[at].node;
                }
            }
        }
    }

    /// The entry at a position.
    pub(crate) fn get(&self, mut at: usize) -> Option<&Entry<R>> {
        let mut node = self.root.as_ref()?;
        loop {
            match node {
                Node::Leaf(leaf) => return leaf.entries.get(at),
                Node::Inner(inner) => {
                    let child = inner.child_at(at)?;
                    at -= inner.start(child);
                    node = &inner.children[child].node;
                }
            }
        }
    }

    /// The memory of the nodes, including those that other versions share; rows are not counted.
    pub(crate) fn bytes(&self) -> usize {
        self.root.as_ref().map_or(0, Node::bytes)
    }
}

impl<R> Node<R> {
    fn len(&self) -> usize {
        match self {
            Node::Leaf(leaf) => leaf.entries.len(),
            Node::Inner(inner) => inner.children.last().map_or(0, |child| child.end),
        }
    }

    /// Whether both are the same node, and so have the same entries.
    fn is(&self, other: &Node<R>) -> bool {
        match (self, other) {
            (Node::Leaf(leaf), Node::Leaf(other)) => Arc::ptr_eq(leaf, other),
            (Node::Inner(inner), Node::Inner(other)) => Arc::ptr_eq(inner, other),
            _ => false,
        }
    }

    /// The first entry. It is a few steps down, because trees are low. A copy in the parent would be one more row to
    /// count for each node that is copied.
    fn first(&self) -> &Entry<R> {
        let mut node = self;
        loop {
            match node {
                Node::Leaf(leaf) => return &leaf.entries[0],
                Node::Inner(inner) => node = &inner.children[0].node,
            }
        }
    }

    fn bytes(&self) -> usize {
        /// The two counts of an [`Arc`].
        const COUNTS: usize = 2 * size_of::<usize>();
        match self {
            Node::Leaf(_) => COUNTS + size_of::<Leaf<R>>(),
            Node::Inner(inner) => {
                let below: usize = inner.children.iter().map(|child| child.node.bytes()).sum();
                COUNTS + size_of::<InnerNode<R>>() + below
            }
        }
    }
}

impl<R> Leaf<R> {
    /// Whether the entries are in order, as far as their bits say, and no more than fit.
    fn is_whole(&self) -> bool {
        self.entries.len() <= LEAF_MAX && self.entries.is_sorted_by_key(|entry| entry.ord)
    }

    /// The position of the entry; otherwise the position at which it would be inserted.
    fn search(&self, entry: &Entry<R>, order: &impl Ordered<R>) -> Result<usize, usize> {
        self.entries.binary_search_by(|other| order.compare(other, entry))
    }
}

impl<R> InnerNode<R> {
    /// Whether the counts and first bits are those of the children, which are in order, not empty, and no more than fit.
    fn is_whole(&self) -> bool {
        let mut end = 0;
        let is_of = |child: &Child<R>| {
            let start = std::mem::replace(&mut end, child.end);
            child.end > start && child.node.len() == child.end - start && child.ord == child.node.first().ord
        };
        (1..=INNER_MAX).contains(&self.children.len())
            && self.children.iter().all(is_of)
            && self.children.is_sorted_by_key(|child| child.ord)
    }

    /// The number of entries left of a child.
    fn start(&self, child: usize) -> usize {
        if child == 0 { 0 } else { self.children[child - 1].end }
    }

    /// The child that contains a position.
    fn child_at(&self, at: usize) -> Option<usize> {
        let child = self.children.partition_point(|child| child.end <= at);
        (child < self.children.len()).then_some(child)
    }

    /// The child, not left of `from`, that contains the entry or would contain it.
    fn child_of(&self, entry: &Entry<R>, from: usize, order: &impl Ordered<R>) -> usize {
        from + self.children[from + 1..].partition_point(|child| child.compare(entry, order).is_le())
    }
}

impl<R> Child<R> {
    /// Compares the child's first entry with another one.
    fn compare(&self, entry: &Entry<R>, order: &impl Ordered<R>) -> Ordering {
        self.ord.cmp(&entry.ord).then_with(|| order.compare(self.node.first(), entry))
    }
}

// Written out, because derives would demand that rows can be cloned.

impl<R> Clone for Entry<R> {
    fn clone(&self) -> Entry<R> {
        Entry { ord: self.ord, row: Arc::clone(&self.row) }
    }
}

impl<R> Clone for Set<R> {
    fn clone(&self) -> Set<R> {
        Set { root: self.root.clone() }
    }
}

impl<R> Clone for Node<R> {
    fn clone(&self) -> Node<R> {
        match self {
            Node::Leaf(leaf) => Node::Leaf(Arc::clone(leaf)),
            Node::Inner(inner) => Node::Inner(Arc::clone(inner)),
        }
    }
}

impl<R> Clone for Leaf<R> {
    fn clone(&self) -> Leaf<R> {
        Leaf { entries: self.entries.clone() }
    }
}

impl<R> Clone for InnerNode<R> {
    fn clone(&self) -> InnerNode<R> {
        InnerNode { children: self.children.clone() }
    }
}

impl<R> Clone for Child<R> {
    fn clone(&self) -> Child<R> {
        Child { ord: self.ord, end: self.end, node: self.node.clone() }
    }
}
