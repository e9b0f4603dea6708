//! The primitives of synchronization: the standard library's, or those of shuttle, a model checker, for the models.

#[cfg(shuttle)]
pub(crate) use shuttle::{
    sync::atomic::{AtomicU64, Ordering},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread::{Builder, ThreadId, current},
};
#[cfg(not(shuttle))]
pub(crate) use std::{
    sync::atomic::{AtomicU64, Ordering},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread::{Builder, ThreadId, current},
};

use std::time::Duration;

/// Locks, even after a panic: a thread that panicked with the lock left the state whole, because no state changes in
/// two steps.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Locks, if no thread has the lock.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(std::sync::TryLockError::WouldBlock) => None,
    }
}

/// Waits for the bell, a condition variable.
pub(crate) fn wait<'s, T>(bell: &Condvar, guard: MutexGuard<'s, T>) -> MutexGuard<'s, T> {
    bell.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Waits for the bell, at most for that time; whether the time has passed.
#[cfg(not(shuttle))]
pub(crate) fn wait_for<'s, T>(
    bell: &Condvar,
    _mutex: &'s Mutex<T>,
    guard: MutexGuard<'s, T>,
    time: Duration,
) -> (MutexGuard<'s, T>, bool) {
    let (guard, result) = bell.wait_timeout(guard, time).unwrap_or_else(std::sync::PoisonError::into_inner);
    (guard, result.timed_out() || time.is_zero())
}

/// Waits for the bell, at most for that time. In shuttle's models no time passes: other threads get a chance to run,
/// then the time counts as over.
#[cfg(shuttle)]
pub(crate) fn wait_for<'s, T>(
    _bell: &Condvar,
    mutex: &'s Mutex<T>,
    guard: MutexGuard<'s, T>,
    _time: Duration,
) -> (MutexGuard<'s, T>, bool) {
    drop(guard);
    shuttle::thread::yield_now();
    (lock(mutex), true)
}
