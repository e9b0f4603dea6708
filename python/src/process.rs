//! Forks. An object with threads or locks, such as a store, belongs to the process that opened it. A child has neither,
//! so there the object is refused, and never dropped: dropping it would close the parent's.

use crate::exit;
use pyo3::prelude::*;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use touchstone_store::{Error, ErrorKind, Result};

/// The number of forks between the process that loaded the package and this one.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Called in the child of a fork, before any other code of the child.
#[pyfunction]
pub fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    exit::begin_anew();
}

/// A value that only the process that made it can use and drop.
pub struct Own<T> {
    it: ManuallyDrop<T>,
    forks: u64,
}

impl<T> Own<T> {
    pub fn new(it: T) -> Own<T> {
        Own { it: ManuallyDrop::new(it), forks: FORKS.load(Ordering::Relaxed) }
    }

    /// The value, if this process made it.
    pub fn here(&self) -> Option<&T> {
        (self.forks == FORKS.load(Ordering::Relaxed)).then_some(&*self.it)
    }

    /// The value, or the error with the remedy for the child.
    pub fn used(&self) -> Result<&T> {
        let why = "it was opened by the process that this one was forked from (open the store here, after the fork)";
        self.here().ok_or_else(|| Error::new(ErrorKind::Forked, why))
    }
}

impl<T: Default> Default for Own<T> {
    fn default() -> Own<T> {
        Own::new(T::default())
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if self.here().is_some() {
            // SAFETY: the value is dropped once, here, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.it) }
        }
    }
}

/// For values that a fork does not spoil: names, and memory that no thread works on.
impl<T> Deref for Own<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.it
    }
}
