//! The page's own pool, a canary: numbers in a list that is searched from its front, and a second list of when each was
//! looked at. What a look costs grows with the pool.

use super::locked::{Locked, Pages};
use crate::page::Page;
use std::sync::Arc;

/// The pages of a pool that is searched.
pub(super) struct Lists {
    frames: Vec<(u64, Arc<Page>)>,
    /// The places of frames, the one that was looked at longest ago first.
    recent: Vec<usize>,
    pages: usize,
}

pub(super) fn pool(pages: usize) -> Locked<Lists> {
    Locked::new(Lists { frames: Vec::new(), recent: Vec::new(), pages: pages.max(1) })
}

impl Pages for Lists {
    fn seen(&mut self, number: u64) -> Option<Arc<Page>> {
        let place = self.frames.iter().position(|(frame, _)| *frame == number)?;
        let at = self.recent.iter().position(|other| *other == place)?;
        let place = self.recent.remove(at);
        self.recent.push(place);
        Some(Arc::clone(&self.frames[place].1))
    }

    fn put(&mut self, number: u64, page: Arc<Page>) {
        if self.seen(number).is_some() {
            return;
        }
        let place = if self.frames.len() < self.pages {
            self.frames.push((number, page));
            self.frames.len() - 1
        } else {
            let place = self.recent.remove(0);
            self.frames[place] = (number, page);
            place
        };
        self.recent.push(place);
    }
}
