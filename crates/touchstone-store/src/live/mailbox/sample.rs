//! The update of the mailbox's tests and models, and the mailbox that has it.

use super::{Mailbox, Mode, Overflow, Slot, Supersede};

/// A change from the state that the receiver had to the state that it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Supersede for Change {
    fn supersede(&mut self, older: &mut Change) {
        self.from = older.from;
    }
}

pub(crate) type Boxes = Mailbox<Change, String>;

/// How a feed ends, and whether its mailbox still exists afterwards.
type End = (fn(&Boxes, Slot), bool);

pub(crate) const ENDS: [End; 5] = [
    (|mailbox, _| mailbox.close(), true),
    (|mailbox, _| mailbox.close_with("failed".to_owned()), true),
    (|mailbox, _| mailbox.abandon(), true),
    (|mailbox, slot| assert!(mailbox.remove(slot)), true),
    (|_, _| {}, false),
];

pub(crate) fn every(batches: usize, overflow: Overflow) -> Mode {
    Mode::Every { batches, overflow }
}
