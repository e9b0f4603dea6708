//! Which tables are watched, as the writer knows it: what it need not hand over it does not gather.

use super::changes::Gathered;
use super::interest::Interest;
use crate::access::Which;
use crate::record::Shape;
use crate::sync::{Mutex, lock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One type's records in one collection, which somebody watches.
#[derive(Clone)]
pub(crate) struct Topic {
    pub(crate) id: u32,
    pub(crate) shape: &'static Shape,
    pub(crate) which: Which,
    /// The generation of the list that had it first.
    pub(crate) since: u64,
    /// Which rows matter.
    pub(crate) interest: Arc<Interest>,
    /// Makes the list of a transaction's changes.
    pub(crate) gather: fn(&Arc<Interest>) -> Box<dyn Gathered>,
}

/// What is watched at one time.
#[derive(Clone, Default)]
pub(crate) struct Topics {
    /// Which list it is: greater for later ones.
    pub(crate) generation: u64,
    pub(crate) list: Vec<Topic>,
    /// Whether statements of SQL are watched: then the names of all changed tables matter.
    pub(crate) by_name: bool,
}

/// What is watched.
#[derive(Default)]
pub(crate) struct Observed {
    any: AtomicBool,
    topics: Mutex<Arc<Topics>>,
}

impl Observed {
    /// What is watched now, if anything is.
    #[inline]
    pub(crate) fn topics(&self) -> Option<Arc<Topics>> {
        self.any.load(Ordering::SeqCst).then(|| Arc::clone(&lock(&self.topics)))
    }

    /// Whether anything is watched.
    #[inline]
    pub(crate) fn is_any(&self) -> bool {
        self.any.load(Ordering::SeqCst)
    }

    /// Which list there is now.
    pub(crate) fn generation(&self) -> u64 {
        lock(&self.topics).generation
    }

    /// Makes another list of the one there is; its generation.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Topics)) -> u64 {
        let mut current = lock(&self.topics);
        let mut topics = Topics::clone(&current);
        topics.generation += 1;
        change(&mut topics);
        let generation = topics.generation;
        self.any.store(!topics.list.is_empty() || topics.by_name, Ordering::SeqCst);
        *current = Arc::new(topics);
        generation
    }
}
