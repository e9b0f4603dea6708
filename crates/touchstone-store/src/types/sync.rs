//! The primitives of synchronization: the standard library's, or those of shuttle, a model checker, for the models. And
//! the order of the store's locks: a debug build panics if a thread takes a lock against the order.
//!
//! A lock (a mutex) has a rank, its place in this table. A thread takes a lock only while every lock that it holds
//! stands above. Under most locks no code of the program runs, so this is a rule for all stores together. A lock marked
//! *open* is held while such code runs: a record's own, a closure, a hook. That code may call another store, whose
//! locks come in no order with this one's. So under an open lock a debug build refuses only to take the same lock
//! again. The last column names the locks that are held somewhere when this one is taken; open ones are left out if
//! they are held only because the program's code calls the store.
//!
//! | lock | guards | taken under |
//! |---|---|---|
//! | `KEEPER_THREAD` | the keeper's thread, while it is started or joined | |
//! | `LIVE_THREADS` | the threads of live queries, while they are started or joined | |
//! | `SESSION`, open | the writer's session, for the thread that has the turn; it is held through a transaction | |
//! | `LOG` | the log's file, while it is flushed | `SESSION`, when that is opened |
//! | `SINCE` | when this process last yielded to others | |
//! | `ROUND`, open | the state of the live queries, through a round | |
//! | `HAND_OFF`, open | nothing: no commit and no snapshot of the live thread begins meanwhile | `SESSION`, `ROUND` |
//! | `TOPICS` | the list of watched topics | `SESSION`, `ROUND`, `HAND_OFF` |
//! | `KNOWN` | the filter and the marks of one type's interest | `SESSION`, `ROUND`, `HAND_OFF` |
//! | `IDLE` | the idle readers, and how many are out | `LIVE_THREADS`, `ROUND`, `HAND_OFF` |
//! | `FIRST` | the store's first session, once only the pin has it | `IDLE` |
//! | `GATE`, open | one session's connection, through a call | `ROUND`, `HAND_OFF`, `IDLE`, `FIRST` |
//! | `ALL` | the handles that end snapshots | `LIVE_THREADS`, `ROUND`, `HAND_OFF` |
//! | `COPIED` | how much of the log was copied when the file's length was last seen | `SESSION`, `ROUND`, `HAND_OFF`, `GATE` |
//! | `TRIED` | when writers last waited for the keeper | |
//! | `INBOX` | the live thread's work | `SESSION`, `ROUND`, `HAND_OFF` |
//! | `SEEN` | the state of the log that the live thread has applied | `ROUND` |
//! | `MAILBOX` | a feed's batches | `ROUND` |
//! | `TURNSTILE` | whether a listener's callback runs | `MAILBOX` |
//! | `ROOM` | how many writers wait for full feeds | |
//! | `WISHES` | what the keeper is asked for | `KEEPER_THREAD`, `ROUND`, `HAND_OFF` |
//! | `TURN` | the owner of the turn, and the queue of writers | `ROUND`; `SESSION` and `HAND_OFF` in debug assertions |
//! | `CALLED` | whether a waiting writer was called to its turn | |
//! | `FLUSHES` | how far commits are flushed | |
//!
//! The turn is no lock here: a thread holds it for a transaction, and `TURN` only while it takes it or passes it on.
//! `writer/commit.rs` says where it is held. A thread waits at a condition variable with no lock but its own, and open
//! ones.
//!
//! The locks of the whole process are the standard library's: they are taken in callbacks of SQLite and around a fork.
//! `engine/fork.rs` has `WHOLE`, which is taken before the lists of `engine/log_vfs.rs`, `engine/log_vfs/opened.rs` and
//! `engine/classes.rs`. `dynamic/declared.rs` has the shapes that were made at run time. No other lock is taken under
//! these lists.

#[cfg(shuttle)]
use shuttle::{self as imp, thread_local};
#[cfg(not(shuttle))]
use std as imp;
#[cfg(debug_assertions)]
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

pub(crate) use imp::sync::atomic::{AtomicU64, Ordering};
pub(crate) use imp::sync::{Arc, Condvar};
pub(crate) use imp::thread::{Builder, ThreadId, current};

macro_rules! ranks {
    ($($name:ident)*) => {
        #[allow(clippy::upper_case_acronyms, non_camel_case_types, reason = "they are the constants' names")]
        enum Place { $($name),* }
        $(pub(crate) const $name: u8 = Place::$name as u8;)*
        /// The names of the ranks.
        #[cfg(debug_assertions)]
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

ranks! {
    KEEPER_THREAD LIVE_THREADS SESSION LOG SINCE ROUND HAND_OFF TOPICS KNOWN IDLE FIRST GATE ALL COPIED TRIED INBOX SEEN
    MAILBOX TURNSTILE ROOM WISHES TURN CALLED FLUSHES
}

/// The rank of a lock of a model, which stands in no order.
#[cfg(all(test, shuttle))]
pub(crate) const UNRANKED: u8 = u8::MAX;
/// A lock of a model.
#[cfg(all(test, shuttle))]
pub(crate) type Unranked<T> = Mutex<T, UNRANKED>;

/// The locks that are held while a program's own code runs.
#[cfg(debug_assertions)]
const OPEN: [u8; 4] = [SESSION, ROUND, HAND_OFF, GATE];

/// A lock with its rank in the order.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T, const RANK: u8>(imp::sync::Mutex<T>);

impl<T, const RANK: u8> Mutex<T, RANK> {
    pub(crate) fn new(value: T) -> Mutex<T, RANK> {
        Mutex(imp::sync::Mutex::new(value))
    }
}

/// A lock that is held.
pub(crate) struct MutexGuard<'m, T> {
    guard: imp::sync::MutexGuard<'m, T>,
    held: Held,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// Locks, even after a panic: no state changes in two steps, so a thread that panicked with the lock left it whole.
#[inline]
pub(crate) fn lock<T, const RANK: u8>(mutex: &Mutex<T, RANK>) -> MutexGuard<'_, T> {
    let held = Held::in_order(mutex);
    MutexGuard { guard: mutex.0.lock().unwrap_or_else(PoisonError::into_inner), held }
}

/// Locks, if no thread has the lock. This waits for no thread, so any other lock may be held.
#[inline]
pub(crate) fn try_lock<T, const RANK: u8>(mutex: &Mutex<T, RANK>) -> Option<MutexGuard<'_, T>> {
    let guard = match mutex.0.try_lock() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return None,
    };
    Some(MutexGuard { guard, held: Held::of(mutex) })
}

/// Waits on a condition variable.
pub(crate) fn wait<'s, T>(woken: &Condvar, guard: MutexGuard<'s, T>) -> MutexGuard<'s, T> {
    let MutexGuard { guard, held } = guard;
    held.check_alone();
    MutexGuard { guard: woken.wait(guard).unwrap_or_else(PoisonError::into_inner), held }
}

/// Waits on a condition variable, at most for that time, or in shuttle's models until it is notified.
pub(crate) fn wait_at_most<'s, T>(
    woken: &Condvar,
    guard: MutexGuard<'s, T>,
    time: Duration,
) -> MutexGuard<'s, T> {
    let MutexGuard { guard, held } = guard;
    held.check_alone();
    MutexGuard { guard: woken.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner).0, held }
}

/// Waits on a condition variable, at most for that time; whether the time has passed.
#[cfg(not(shuttle))]
pub(crate) fn wait_for<'s, T, const RANK: u8>(
    woken: &Condvar,
    _mutex: &'s Mutex<T, RANK>,
    guard: MutexGuard<'s, T>,
    time: Duration,
) -> (MutexGuard<'s, T>, bool) {
    let MutexGuard { guard, held } = guard;
    held.check_alone();
    let (guard, result) = woken.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner);
    (MutexGuard { guard, held }, result.timed_out() || time.is_zero())
}

/// Waits on a condition variable, at most for that time. In shuttle's models no time passes: other threads get a chance
/// to run, then the time counts as over.
#[cfg(shuttle)]
pub(crate) fn wait_for<'s, T, const RANK: u8>(
    _woken: &Condvar,
    mutex: &'s Mutex<T, RANK>,
    guard: MutexGuard<'s, T>,
    _time: Duration,
) -> (MutexGuard<'s, T>, bool) {
    drop(guard);
    shuttle::thread::yield_now();
    (lock(mutex), true)
}

/// A lock that the thread holds, or is about to hold. Without debug assertions it is nothing.
#[cfg(not(debug_assertions))]
struct Held;

#[cfg(not(debug_assertions))]
impl Held {
    #[inline]
    fn in_order<T, const RANK: u8>(_mutex: &Mutex<T, RANK>) -> Held {
        Held
    }

    #[inline]
    fn of<T, const RANK: u8>(_mutex: &Mutex<T, RANK>) -> Held {
        Held
    }

    #[inline]
    #[expect(clippy::unused_self, reason = "debug builds use it")]
    fn check_alone(&self) {}
}

/// A lock that the thread holds, or is about to hold: its rank and its address.
#[cfg(debug_assertions)]
struct Held(u8, usize);

#[cfg(debug_assertions)]
thread_local! {
    /// The locks that this thread holds, in the order in which it took them.
    static HELD: RefCell<Vec<(u8, usize)>> = const { RefCell::new(Vec::new()) };
}

#[cfg(debug_assertions)]
impl Held {
    /// # Panics
    /// If the thread holds a lock that does not stand above this one.
    fn in_order<T, const RANK: u8>(mutex: &Mutex<T, RANK>) -> Held {
        let own = address(mutex);
        each_held(|rank, address| {
            assert!(
                rank < RANK || OPEN.contains(&rank) && address != own,
                "the lock {} is taken under {}, against the order in sync.rs",
                name(RANK),
                name(rank)
            );
        });
        Held::of(mutex)
    }

    fn of<T, const RANK: u8>(mutex: &Mutex<T, RANK>) -> Held {
        let own = address(mutex);
        if usize::from(RANK) < NAMES.len() {
            // A thread may still lock while its thread-locals are dropped. From then on nothing is checked.
            let _ = HELD.try_with(|held| held.borrow_mut().push((RANK, own)));
        }
        Held(RANK, own)
    }

    /// # Panics
    /// If the thread holds a further lock, other than open ones, and is about to wait.
    fn check_alone(&self) {
        each_held(|rank, address| {
            assert!(
                (rank, address) == (self.0, self.1) || OPEN.contains(&rank),
                "a thread waits with the lock {} while it holds {}, against the rule in sync.rs",
                name(self.0),
                name(rank)
            );
        });
    }
}

#[cfg(debug_assertions)]
impl Drop for Held {
    fn drop(&mut self) {
        let _ = HELD.try_with(|held| {
            let mut held = held.borrow_mut();
            if let Some(at) = held.iter().rposition(|held| *held == (self.0, self.1)) {
                held.remove(at);
            }
        });
    }
}

/// Whether the thread holds a lock of that rank.
#[cfg(debug_assertions)]
pub(crate) fn holds(rank: u8) -> bool {
    HELD.try_with(|held| held.borrow().iter().any(|(held, _)| *held == rank)).unwrap_or(true)
}

/// For debug assertions, which need the name.
#[cfg(not(debug_assertions))]
pub(crate) fn holds(_rank: u8) -> bool {
    true
}

/// Looks at each lock that the thread holds.
#[cfg(debug_assertions)]
fn each_held(look: impl Fn(u8, usize)) {
    let _ = HELD.try_with(|held| held.borrow().iter().for_each(|(rank, address)| look(*rank, *address)));
}

#[cfg(debug_assertions)]
fn address<T, const RANK: u8>(mutex: &Mutex<T, RANK>) -> usize {
    std::ptr::from_ref(mutex).addr()
}

#[cfg(debug_assertions)]
fn name(rank: u8) -> &'static str {
    NAMES.get(usize::from(rank)).copied().unwrap_or("of a model")
}

#[cfg(all(test, debug_assertions, not(shuttle)))]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Whether a debug build lets the work pass.
    fn passes<R>(work: impl FnOnce() -> R) -> bool {
        catch_unwind(AssertUnwindSafe(|| drop(work()))).is_ok()
    }

    #[test]
    fn a_lock_is_taken_under_those_above_it_only() {
        let (topics, inbox) = (Mutex::<_, TOPICS>::new(()), Mutex::<_, INBOX>::new(()));
        let others = Mutex::<_, TOPICS>::new(());
        assert!(passes(|| (lock(&topics), lock(&inbox))));
        assert!(!passes(|| {
            let inbox = lock(&inbox);
            (lock(&topics), inbox)
        }));
        assert!(!passes(|| (lock(&topics), lock(&others))));
        assert!(passes(|| (lock(&inbox), try_lock(&topics))));
        // What failed has left nothing behind.
        assert!(passes(|| lock(&topics)));
    }

    #[test]
    fn under_an_open_lock_the_locks_of_other_stores_are_taken() {
        let (own, others) = (Mutex::<_, HAND_OFF>::new(()), Mutex::<_, HAND_OFF>::new(()));
        let session = Mutex::<_, SESSION>::new(());
        assert!(passes(|| (lock(&own), lock(&others), lock(&session))));
        assert!(!passes(|| (lock(&own), lock(&own))));
    }

    #[test]
    fn a_thread_waits_with_no_lock_but_its_own() {
        let (woken, waiting, topics) =
            (Condvar::new(), Mutex::<_, ROOM>::new(()), Mutex::<_, TOPICS>::new(()));
        let wait = || wait_for(&woken, &waiting, lock(&waiting), Duration::ZERO).1;
        assert!(passes(wait));
        assert!(!passes(|| {
            let _topics = lock(&topics);
            wait()
        }));
    }
}
