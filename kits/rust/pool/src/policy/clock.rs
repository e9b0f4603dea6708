//! CLOCK (Corbató, 1968): frames in a ring, each with a mark that a look sets. A hand goes round, takes marks away, and
//! evicts the first page that has none. No library on the registry has it without more; it is this short.

use super::locked::{Locked, Pages};
use crate::page::Page;
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::sync::Arc;

/// The frames of a pool.
pub(super) struct Ring {
    frames: Vec<Frame>,
    pages: usize,
    hand: usize,
    /// In which frame each page is.
    places: HashMap<u64, usize, FixedState>,
}

struct Frame {
    number: u64,
    page: Arc<Page>,
    is_marked: bool,
}

pub(super) fn pool(pages: usize) -> Locked<Ring> {
    let pages = pages.max(1);
    let places = HashMap::with_capacity_and_hasher(pages, FixedState::default());
    Locked::new(Ring { frames: Vec::with_capacity(pages), pages, hand: 0, places })
}

impl Pages for Ring {
    fn seen(&mut self, number: u64) -> Option<Arc<Page>> {
        let frame = &mut self.frames[*self.places.get(&number)?];
        frame.is_marked = true;
        Some(Arc::clone(&frame.page))
    }

    fn put(&mut self, number: u64, page: Arc<Page>) {
        if self.places.contains_key(&number) {
            return;
        }
        let frame = Frame { number, page, is_marked: false };
        if self.frames.len() < self.pages {
            self.places.insert(number, self.frames.len());
            return self.frames.push(frame);
        }
        while std::mem::take(&mut self.frames[self.hand].is_marked) {
            self.step();
        }
        self.places.remove(&self.frames[self.hand].number);
        self.places.insert(number, self.hand);
        self.frames[self.hand] = frame;
        self.step();
    }
}

impl Ring {
    fn step(&mut self) {
        self.hand = (self.hand + 1) % self.frames.len();
    }
}
