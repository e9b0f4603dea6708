//! Results kept fresh by evaluating every change against every query, in two ways: by walking a tree of conditions, and by
//! scanning columns of what changed. Neither finds a query by what changed: both look at all of them.

mod columns;
mod condition;
pub mod flat;
pub mod tree;

use std::sync::Arc;
use touchstone_kit::{Doc, Subscription};

/// A result as a subscriber has it.
pub type Results = Arc<Vec<Arc<Doc>>>;

/// A query whose result is another than before.
pub struct Changed {
    /// Which subscription it is.
    pub number: usize,
    /// What the subscriber had.
    pub before: Results,
    /// What it has now.
    pub now: Results,
}

/// How many of the first objects a result has at most.
fn limit(subscription: &Subscription) -> Option<usize> {
    match subscription {
        Subscription::Window { limit, .. } => limit.map(|limit| limit as usize),
        _ => None,
    }
}

/// How many objects of `now`, which was `before`, are certainly the first of all that match. Of what is beyond the end of
/// a full result nobody knows anything, so only what is before that end is certain. None where those are too few, and the
/// result is to be fetched anew.
fn certain(before: &[Arc<Doc>], now: &[Arc<Doc>], limit: usize) -> Option<usize> {
    let certain = match before.last().filter(|_| before.len() == limit) {
        Some(end) => now.partition_point(|doc| doc.priority <= end.priority),
        None => return Some(now.len().min(limit)),
    };
    (certain >= limit).then_some(limit)
}

/// Whether two results are the same. Most of their objects are the very same ones.
fn same(one: &[Arc<Doc>], other: &[Arc<Doc>]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| Arc::ptr_eq(one, other) || one == other)
}

#[cfg(test)]
mod tests;
