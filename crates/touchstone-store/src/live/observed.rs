//! The topics that live queries watch: a transaction gathers the changes of these, and of no others.
//!
//! The live thread changes the list; a transaction keeps the list with which it began. If a topic is newer (`since`),
//! the transaction may lack its changes: then the live thread reads everything again. `any` needs no memory order,
//! because `Link::commit` looks at it again under `hand_off`. An earlier commit that misses a topic is in the snapshot
//! with which the topic begins; a later one is handed over, and found older than the topic.

use super::changes::Gathered;
use super::interest::Interest;
use crate::session::access::CollectionRef;
use crate::types::record::Shape;
use crate::types::sync::{Mutex, TOPICS, lock};
use std::any::TypeId;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The records of one type in one collection, which a live query watches.
#[derive(Clone)]
pub(crate) struct Topic {
    pub(crate) id: u32,
    pub(crate) shape: &'static Shape,
    /// The type of its records in the program.
    pub(crate) type_id: TypeId,
    pub(crate) which: CollectionRef,
    /// The generation of the first list that has the topic.
    pub(crate) since: u64,
    /// Which of its rows matter.
    pub(crate) interest: Arc<Interest>,
    /// Makes the list for a transaction's changes.
    pub(crate) gather: fn(&Arc<Interest>) -> Box<dyn Gathered>,
}

/// The topics at one time.
#[derive(Clone, Default)]
pub(crate) struct Topics {
    /// The number of the list: greater for later ones.
    pub(crate) generation: u64,
    pub(crate) list: Vec<Topic>,
    /// Whether SQL statements are watched: then a transaction also gathers the names of changed tables.
    pub(crate) by_name: bool,
}

/// The topics, shared by writers and the live thread.
#[derive(Default)]
pub(crate) struct Observed {
    any: AtomicBool,
    topics: Mutex<Arc<Topics>, TOPICS>,
}

impl Observed {
    /// The list as it is now, if anything is watched.
    #[inline]
    pub(crate) fn topics(&self) -> Option<Arc<Topics>> {
        self.any.load(Ordering::SeqCst).then(|| Arc::clone(&lock(&self.topics)))
    }

    /// Whether anything is watched.
    #[inline]
    pub(crate) fn is_any(&self) -> bool {
        self.any.load(Ordering::SeqCst)
    }

    /// The number of the list as it is now.
    pub(crate) fn generation(&self) -> u64 {
        lock(&self.topics).generation
    }

    /// Changes the list; returns the number of the new one.
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
