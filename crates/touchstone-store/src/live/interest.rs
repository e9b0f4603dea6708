//! The interest of live queries in a type's rows: a writer asks it about each row that it changes, and leaves out the
//! rows that no query has or wants. The answer may name too many rows, never too few.

// The protocol, together with `observed.rs`, `changes.rs` and `link.rs`; `interest_models.rs` model-checks it.
//
//              settle(): stores the filter, then the next even generation
//      open  ------------------------------------------------------------>  settled
//      (odd) <------------------------------------------------------------  (even)
//              open(): under `Shared::hand_off`, before a snapshot begins
//
// The live thread, or the thread that does a round in its place, calls these two, `count`, `remark` and
// `forget_old_marks`. The generation only grows, so no state returns. A writer looks at its transaction's first change
// of the type. If the interest is open, every row matters. If it is settled, a row matters if the filter admits it or
// its key may be in the marks (a Bloom filter). The writer marks the rows that the filter admits, and keeps the keys of
// those that it leaves out. At the commit, under `hand_off`, it compares the generation with that of its look: if they
// differ, it reads the rows that it left out after all, and marks every row of its list. A single statement looks under
// `hand_off` too, so no `open` comes between, and the statement, which has committed by then, has nothing to read.
//
// Why no row is missed. A new query reads its rows from a snapshot that begins under `hand_off`, after `open`. An
// earlier commit is in the snapshot. A later one has looked before `open`, and finds another generation; or while every
// row mattered; or after `settle`, with the new filter. And before the live thread holds a row, its key must be marked:
// the writer marks an admitted row before the commit, the live thread a row that it reads before `settle`. `remark`
// marks the held rows in new marks. The rows of commits that are not applied yet may be in the old marks alone. So
// these stay as `previous` until the live thread finds that no commit is under way, and none is in the inbox.
//
// Why the memory orders are enough. `hand_off` orders `open` and the comparison at the commit. A look loads the
// generation, copies `known` under its lock, and loads again. A filter that is too new was stored under this lock after
// an `open`: so the second load sees that `open`, and differs. The marks are relaxed: those of a writer reach the next
// writer with the turn, those of the live thread with the generation or the lock of `known`.

use super::cover::Cover;
use super::order::Sorter;
use super::residual::Residual;
use crate::types::record::Record;
use crate::types::sync::{AtomicU64, HAND_OFF, KNOWN, Mutex, Ordering, holds, lock};
use std::any::Any;
use std::sync::Arc;

/// The rows that queries of one shape may have.
pub(crate) struct Scope<T> {
    pub(crate) sorter: Arc<Sorter<T>>,
    pub(crate) residual: Option<Arc<Residual>>,
    pub(crate) cover: Cover,
}

impl<T: Record> Scope<T> {
    /// Whether a record is one of these rows.
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

/// The scopes of a type at one time.
pub(crate) struct Filter<T> {
    pub(crate) scopes: Vec<Arc<Scope<T>>>,
}

/// The hashes of keys in a Bloom filter: `may_have` is true for each that was added, and for few others. The two bits
/// of a hash lie in one word.
pub(crate) struct Marks {
    words: Box<[AtomicU64]>,
    /// The number of added hashes, approximately.
    added: AtomicU64,
}

impl Marks {
    /// An empty filter for this many keys, and as many again.
    pub(crate) fn for_keys(keys: usize) -> Marks {
        const BITS_PER_KEY: usize = 32;
        const KEYS_MIN: usize = 64;
        let words = (keys.max(KEYS_MIN) * BITS_PER_KEY / 64).next_power_of_two();
        Marks { words: (0..words).map(|_| AtomicU64::new(0)).collect(), added: AtomicU64::new(0) }
    }

    /// Whether so many hashes were added that many others seem to be there.
    pub(crate) fn is_full(&self) -> bool {
        self.added.load(Ordering::Relaxed) > self.words.len() as u64 * 4
    }

    #[inline]
    fn place(&self, hash: u64) -> (&AtomicU64, u64) {
        // Three parts of the hash choose the word, and two bits of it.
        let at = (hash >> 12) as usize & (self.words.len() - 1);
        (&self.words[at], (1 << (hash & 63)) | (1 << ((hash >> 6) & 63)))
    }

    #[inline]
    pub(crate) fn add(&self, hash: u64) {
        let (word, bits) = self.place(hash);
        // Most hashes have been added before, and a load costs less than a write.
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

/// The interest in one type's rows.
pub(crate) struct Interest {
    /// Odd while every row matters.
    generation: AtomicU64,
    /// Whether counts are watched: then writers note the rows as they were before the change.
    is_counted: AtomicU64,
    known: Mutex<KnownInterest, KNOWN>,
}

#[derive(Clone)]
struct KnownInterest {
    filter: Option<Arc<dyn Any + Send + Sync>>,
    marks: Arc<Marks>,
    /// The marks before these, until each commit is applied that has marked only there.
    previous: Option<Arc<Marks>>,
}

impl Default for Interest {
    fn default() -> Interest {
        let known = KnownInterest { filter: None, marks: Arc::new(Marks::for_keys(0)), previous: None };
        Interest { generation: AtomicU64::new(1), is_counted: AtomicU64::new(0), known: Mutex::new(known) }
    }
}

impl Interest {
    /// Lets every row matter. The caller holds `Shared::hand_off`.
    pub(crate) fn open(&self) {
        debug_assert!(holds(HAND_OFF), "a commit may be under way");
        self.generation.fetch_or(1, Ordering::SeqCst);
    }

    /// Sets whether counts are watched. A transaction that has begun before notes no old rows: then the live thread
    /// counts the records again.
    pub(crate) fn count(&self, is_counted: bool) {
        self.is_counted.store(u64::from(is_counted), Ordering::SeqCst);
    }

    pub(crate) fn is_counted(&self) -> bool {
        self.is_counted.load(Ordering::SeqCst) != 0
    }

    /// Lets only those rows matter that the filter admits, or whose keys are marked.
    pub(crate) fn settle<T: Record>(&self, filter: Filter<T>) {
        lock(&self.known).filter = Some(Arc::new(filter));
        let generation = self.generation.load(Ordering::SeqCst);
        debug_assert!(generation & 1 == 1, "an interest is opened before it is settled");
        self.generation.store((generation | 1) + 1, Ordering::SeqCst);
    }

    /// Replaces the marks, by new ones of all held keys. Commits that are not applied yet have marked in the old ones.
    pub(crate) fn remark(&self, marks: Marks) -> Arc<Marks> {
        let mut known = lock(&self.known);
        known.previous = Some(std::mem::replace(&mut known.marks, Arc::new(marks)));
        Arc::clone(&known.marks)
    }

    /// Drops the old marks. Since `remark` there was a moment at which no commit was under way, and all were applied.
    pub(crate) fn forget_old_marks(&self) {
        lock(&self.known).previous = None;
    }

    /// The interest as it is now, for a transaction.
    pub(crate) fn look<T: Record>(&self) -> Look<T> {
        let generation = self.generation.load(Ordering::SeqCst);
        let known = lock(&self.known).clone();
        let is_settled = generation & 1 == 0 && self.generation.load(Ordering::SeqCst) == generation;
        let filter = known.filter.filter(|_| is_settled).and_then(|filter| filter.downcast().ok());
        debug_assert!(!is_settled || filter.is_some(), "a settled interest has a filter of its records");
        let is_counted = self.is_counted();
        Look { generation, filter, marks: known.marks, previous: known.previous, is_counted }
    }

    /// Whether the generation is still that of a look.
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
    /// No query has the row, or wants it.
    Nothing,
    /// A query may have its key, or counts are watched. The key needs no mark.
    Marked,
    /// A query wants the row, or may want it: the interest was open.
    Admitted,
}

/// The interest, as a transaction has seen it.
pub(crate) struct Look<T> {
    pub(crate) generation: u64,
    /// `None` if every row matters.
    filter: Option<Arc<Filter<T>>>,
    marks: Arc<Marks>,
    previous: Option<Arc<Marks>>,
    /// Whether every row matters because counts are watched.
    pub(crate) is_counted: bool,
}

impl<T: Record> Look<T> {
    /// Why the row with this key matters; `record` is the row as it is now, `None` for a deleted one.
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

    /// Whether the look has marked in these marks.
    pub(crate) fn is_marked_in(&self, marks: &Arc<Marks>) -> bool {
        Arc::ptr_eq(&self.marks, marks)
    }

    /// Marks the key of an admitted row: from now on it matters, also to the next transaction.
    #[inline]
    pub(crate) fn mark(&self, hash: u64) {
        self.marks.add(hash);
    }
}
