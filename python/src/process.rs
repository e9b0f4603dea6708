//! Forks: what a process opened is its own. A child of it has neither the threads nor the locks, so there it is refused, and
//! left as it lies when it is let go of: to close it would be to close the parent's.

use crate::exit;
use pyo3::prelude::*;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use touchstone_store::{Error, ErrorKind, Result};

/// How many forks lie between this process and the one that loaded the package.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Called in the child of a fork, before any other of its code.
#[pyfunction]
pub fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    exit::begin_anew();
}

/// Something that is dropped only by the process that made it.
pub struct Own<T> {
    it: ManuallyDrop<T>,
    forks: u64,
}

impl<T> Own<T> {
    pub fn new(it: T) -> Own<T> {
        Own { it: ManuallyDrop::new(it), forks: FORKS.load(Ordering::Relaxed) }
    }

    /// It, where this process made it.
    pub fn here(&self) -> Option<&T> {
        (self.forks == FORKS.load(Ordering::Relaxed)).then_some(&*self.it)
    }

    /// It, or the error that tells the child what to do.
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
            // SAFETY: it is dropped once, here, and not looked at afterwards.
            unsafe { ManuallyDrop::drop(&mut self.it) }
        }
    }
}

/// For what a fork does not spoil: names, and memory that no thread works on.
impl<T> Deref for Own<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.it
    }
}
