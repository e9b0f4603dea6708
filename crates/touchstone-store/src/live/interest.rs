//! Which rows matter to those who watch a type: asked by the writer for each row that he writes, so that he makes nothing
//! of the others. What is said here may be too much, and never too little.
//!
//! The live thread says it, and a transaction may be under way meanwhile. So whoever changes it opens it first: then
//! every row matters, until it is settled again. A transaction that left rows out finds at its commit whether it was
//! opened since, and then reads them after all.

use super::cover::Cover;
use super::order::Sorter;
use super::residual::Residual;
use crate::record::Record;
use crate::sync::{AtomicU64, Mutex, Ordering, lock};
use std::any::Any;
use std::sync::Arc;

/// The rows that queries of one shape may have.
pub(crate) struct Scope<T> {
    pub(crate) sorter: Arc<Sorter<T>>,
    pub(crate) residual: Option<Arc<Residual>>,
    pub(crate) cover: Cover,
}

impl<T: Record> Scope<T> {
    /// Whether a record is one of them.
    #[inline]
    pub(crate) fn admits(&self, record: &T) -> bool {
        self.admits_at(self.sorter.ord(record), record)
    }

    #[inline]
    pub(crate) fn admits_at(&self, ord: u64, record: &T) -> bool {
        self.cover.contains(&self.sorter, ord, record)
            && self.residual.as_ref().is_none_or(|residual| residual.holds(record))
    }
}

/// What matters of a type, at one time.
pub(crate) struct Filter<T> {
    pub(crate) scopes: Vec<Arc<Scope<T>>>,
}

/// Hashes that may be among those that were added: a filter after Bloom's, whose two bits lie in one word.
pub(crate) struct Marks {
    words: Box<[AtomicU64]>,
    /// How many hashes were added, about.
    added: AtomicU64,
}

impl Marks {
    /// For that many keys, and as many again.
    pub(crate) fn for_keys(keys: usize) -> Marks {
        const BITS_PER_KEY: usize = 32;
        const KEYS_MIN: usize = 64;
        let words = (keys.max(KEYS_MIN) * BITS_PER_KEY / 64).next_power_of_two();
        Marks { words: (0..words).map(|_| AtomicU64::new(0)).collect(), added: AtomicU64::new(0) }
    }

    /// Whether so many were added that others are taken for them.
    pub(crate) fn is_full(&self) -> bool {
        self.added.load(Ordering::Relaxed) > self.words.len() as u64 * 4
    }

    #[inline]
    fn place(&self, hash: u64) -> (&AtomicU64, u64) {
        // Three parts of the hash: which word, and which two bits of it.
        let at = (hash >> 12) as usize & (self.words.len() - 1);
        (&self.words[at], (1 << (hash & 63)) | (1 << ((hash >> 6) & 63)))
    }

    #[inline]
    pub(crate) fn add(&self, hash: u64) {
        let (word, bits) = self.place(hash);
        // Most have been added before, and a look costs less than a write.
        if word.load(Ordering::Relaxed) & bits != bits {
            word.fetch_or(bits, Ordering::Relaxed);
            self.added.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn may_have(&self, hash: u64) -> bool {
        let (word, bits) = self.place(hash);
        word.load(Ordering::Relaxed) & bits == bits
    }
}

/// What matters of a type.
pub(crate) struct Interest {
    /// Odd while it is open.
    generation: AtomicU64,
    /// Whether numbers are watched, and so what rows were before they changed.
    is_counted: AtomicU64,
    known: Mutex<Known>,
}

#[derive(Clone)]
struct Known {
    filter: Option<Arc<dyn Any + Send + Sync>>,
    marks: Arc<Marks>,
    /// What was there before, until the commits are taken in whose rows were added to it alone.
    previous: Option<Arc<Marks>>,
}

impl Default for Interest {
    fn default() -> Interest {
        let known = Known { filter: None, marks: Arc::new(Marks::for_keys(0)), previous: None };
        Interest { generation: AtomicU64::new(1), is_counted: AtomicU64::new(0), known: Mutex::new(known) }
    }
}

impl Interest {
    /// Lets every row matter.
    pub(crate) fn open(&self) {
        self.generation.fetch_or(1, Ordering::SeqCst);
    }

    /// Says whether numbers are watched. A transaction that has not heard of it says nothing of what its rows were, and
    /// then they are counted anew.
    pub(crate) fn count(&self, is_counted: bool) {
        self.is_counted.store(u64::from(is_counted), Ordering::SeqCst);
    }

    pub(crate) fn is_counted(&self) -> bool {
        self.is_counted.load(Ordering::SeqCst) != 0
    }

    /// Lets those matter that the filter admits, or whose keys were marked.
    pub(crate) fn settle<T: Record>(&self, filter: Filter<T>) {
        lock(&self.known).filter = Some(Arc::new(filter));
        let generation = self.generation.load(Ordering::SeqCst);
        self.generation.store((generation | 1) + 1, Ordering::SeqCst);
    }

    /// Takes other marks, of all keys that are held. Commits that are not taken in yet have marked in the old ones.
    pub(crate) fn remark(&self, marks: Marks) -> Arc<Marks> {
        let mut known = lock(&self.known);
        known.previous = Some(std::mem::replace(&mut known.marks, Arc::new(marks)));
        Arc::clone(&known.marks)
    }

    /// Lets go of the old marks. Since there are new ones there was a moment when nothing was being committed, and
    /// everything that had been was taken in.
    pub(crate) fn forget_old_marks(&self) {
        lock(&self.known).previous = None;
    }

    /// What matters now, for a transaction.
    pub(crate) fn look<T: Record>(&self) -> Look<T> {
        let generation = self.generation.load(Ordering::SeqCst);
        let known = lock(&self.known).clone();
        let is_settled = generation & 1 == 0 && self.generation.load(Ordering::SeqCst) == generation;
        let filter = known.filter.filter(|_| is_settled).and_then(|filter| filter.downcast().ok());
        let is_counted = self.is_counted();
        Look { generation, filter, marks: known.marks, previous: known.previous, is_counted }
    }

    /// Whether what was seen then is so still.
    pub(crate) fn is_still(&self, generation: u64) -> bool {
        self.generation.load(Ordering::SeqCst) == generation
    }

    pub(crate) fn marks(&self) -> Arc<Marks> {
        Arc::clone(&lock(&self.known).marks)
    }
}

/// Why a row matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matter {
    /// Nobody watches it.
    Nothing,
    /// Somebody may have its key. What is marked need not be marked again.
    Marked,
    /// Somebody will have it, or that is not known.
    Admitted,
}

/// What matters, as a transaction has seen it.
pub(crate) struct Look<T> {
    pub(crate) generation: u64,
    /// None where every row matters.
    filter: Option<Arc<Filter<T>>>,
    marks: Arc<Marks>,
    previous: Option<Arc<Marks>>,
    /// Whether every row matters, because numbers are watched.
    pub(crate) is_counted: bool,
}

impl<T: Record> Look<T> {
    /// Why the row with that key, which is there now, matters.
    #[inline]
    pub(crate) fn at(&self, hash: u64, record: Option<&T>) -> Matter {
        let Some(filter) = &self.filter else { return Matter::Admitted };
        if record.is_some_and(|record| filter.scopes.iter().any(|scope| scope.admits(record))) {
            return Matter::Admitted;
        }
        let is_marked = |marks: &Arc<Marks>| marks.may_have(hash);
        let is_held =
            self.is_counted || is_marked(&self.marks) || self.previous.as_ref().is_some_and(is_marked);
        if is_held { Matter::Marked } else { Matter::Nothing }
    }

    /// Whether these are the marks that it has marked in.
    pub(crate) fn is_marked_in(&self, marks: &Arc<Marks>) -> bool {
        Arc::ptr_eq(&self.marks, marks)
    }

    /// Notes a row that matters: it does from now on, also to the next transaction.
    #[inline]
    pub(crate) fn mark(&self, hash: u64) {
        self.marks.add(hash);
    }
}
