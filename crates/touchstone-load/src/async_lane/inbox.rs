//! What the tasks of a lane have to tell it. All of them run on the lane's thread, so nothing is locked.

use super::connect::{Made, Sender};
use super::errand::{Lost, Received};
use super::pool::Key;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::task::{Context, Waker};

/// What has happened.
pub(super) enum Event {
    /// A connection was made, or was not.
    Made { user: usize, flight: u32, key: Key, made: Result<Made, String> },
    /// An errand has ended.
    Ended(Ended),
    /// A connection has come to its end.
    Gone { key: Key },
}

/// An errand that has ended.
pub(super) struct Ended {
    /// For whom it was.
    pub(super) user: usize,
    /// Which of the user's.
    pub(super) flight: u32,
    /// On which connection.
    pub(super) key: Key,
    /// What can send on it.
    pub(super) sender: Sender,
    /// What came of it.
    pub(super) end: Result<Received, Lost>,
    /// When.
    pub(super) at_ns: u64,
    /// Bytes that were sent on the connection since another errand on it ended.
    pub(super) sent_bytes: u64,
    /// And those that came.
    pub(super) received_bytes: u64,
}

/// What was told and not yet heard.
#[derive(Default)]
pub(super) struct Inbox {
    events: RefCell<VecDeque<Event>>,
    lane: Cell<Option<Waker>>,
}

impl Inbox {
    /// Tells the lane.
    pub(super) fn put(&self, event: Event) {
        self.events.borrow_mut().push_back(event);
        if let Some(lane) = self.lane.take() {
            lane.wake();
        }
    }

    /// What was told first.
    pub(super) fn take(&self) -> Option<Event> {
        self.events.borrow_mut().pop_front()
    }

    /// Whether there is anything. If not, the lane is woken when there is.
    pub(super) fn is_filled(&self, context: &Context<'_>) -> bool {
        if !self.events.borrow().is_empty() {
            return true;
        }
        self.lane.set(Some(context.waker().clone()));
        false
    }
}
