//! Policies for one thread, behind a lock that is held for the look-up alone.

use super::{Found, Pool};
use crate::page::Page;
use std::sync::{Arc, Mutex, PoisonError};
use touchstone_kit::Failure;

/// A policy's pages. Another thread may have missed a page as well, and have put it in first.
pub(super) trait Pages: Send {
    /// The page, which is looked at now.
    fn seen(&mut self, number: u64) -> Option<Arc<Page>>;
    /// Puts a page in that was missed.
    fn put(&mut self, number: u64, page: Arc<Page>);
}

/// A pool of such pages.
pub(super) struct Locked<P>(Mutex<P>);

impl<P> Locked<P> {
    pub(super) fn new(pages: P) -> Locked<P> {
        Locked(Mutex::new(pages))
    }
}

impl<P: Pages> Pool for Locked<P> {
    fn see(
        &self,
        number: u64,
        read: &dyn Fn() -> Result<Page, Failure>,
        look: &mut dyn FnMut(&Page),
    ) -> Result<Found, Failure> {
        let pages = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = pages().seen(number);
        if let Some(page) = seen {
            look(&page);
            return Ok(Found::Hit);
        }
        let page = Arc::new(read()?);
        pages().put(number, Arc::clone(&page));
        look(&page);
        Ok(Found::Miss)
    }
}
