//! What waits in a queue, and which uploads of it are one group: those that wait, up to a number of them, of their changes and of bytes of their data.

use crate::change::Upload;
use crate::shares::{Share, Shares};
use crate::storage::Account;
use std::collections::HashMap;

/// Requests that may wait in a queue. The next one is told to come again.
pub(crate) const QUEUE: usize = 1024;

/// Requests of one user that may wait: one who floods the service leaves room for the others.
pub(crate) const OF_USER: usize = QUEUE / 2;

/// Requests that may wait beyond those, one of each user that has none: few users who flood the service leave room for others too.
pub(crate) const BEYOND: usize = QUEUE / 4;

/// A place in a queue; none where there is no room for one more of the user.
pub(super) fn place(places: &Shares, account: Account) -> Option<Share> {
    let first = || places.take_one(account, QUEUE + BEYOND, 1);
    places.take_one(account, QUEUE, OF_USER).or_else(|_| first()).ok()
}

/// Bytes from which on a group ends, so that no transaction is long for its data.
pub(super) const GROUP_BYTES: usize = 32 << 20;

/// Changes from which on it ends, so that none is long for them.
pub(crate) const GROUP_CHANGES: usize = 10_000;

/// What a group has taken.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    uploads: usize,
    changes: usize,
    bytes: usize,
}

impl Gathered {
    /// Takes an upload, where the group has fewer than `most`, and room. Returns whether it has taken it.
    pub(super) fn take(&mut self, upload: &Upload, most: usize) -> bool {
        let has_room = self.uploads < most && self.changes < GROUP_CHANGES && self.bytes < GROUP_BYTES;
        if has_room {
            self.uploads += 1;
            self.changes += upload.changes.len();
            self.bytes += upload.bytes();
        }
        has_room
    }
}

/// Orders what waits so that of each user one comes before the second of any, and otherwise as it came.
pub(super) fn in_turns<T, U: std::hash::Hash + Eq>(waiting: &mut Vec<T>, user: impl Fn(&T) -> U) {
    let mut turns = HashMap::new();
    let turn = |waiting: T| {
        let turn = turns.entry(user(&waiting)).or_insert(0);
        *turn += 1;
        (*turn, waiting)
    };
    let mut turned: Vec<(u32, T)> = waiting.drain(..).map(turn).collect();
    turned.sort_by_key(|(turn, _)| *turn);
    waiting.extend(turned.into_iter().map(|(_, waiting)| waiting));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;

    fn upload(changes: usize, bytes: usize) -> Upload {
        let change = |_| Change { id: "x".repeat(bytes), data: None, base: None, name: None };
        Upload { changes: (0..changes).map(change).collect(), ..Upload::default() }
    }

    #[test]
    fn a_group_ends_at_its_number_its_changes_and_its_bytes() {
        let taken = |uploads: &[Upload], most| {
            let mut group = Gathered::default();
            uploads.iter().take_while(|upload| group.take(upload, most)).count()
        };
        assert_eq!(taken(&[1; 5].map(|changes| upload(changes, 1)), 3), 3);
        assert_eq!(taken(&[GROUP_CHANGES - 1, 2, 1].map(|changes| upload(changes, 1)), 9), 2);
        assert_eq!(taken(&[GROUP_BYTES - 1, 2, 1].map(|bytes| upload(1, bytes)), 9), 2);
    }

    /// Found by an attacker: two users who flooded the service had all places between them.
    #[test]
    fn who_has_no_place_has_one_beside_few_who_have_all() {
        let places = Shares::default();
        let place = |user| place(&places, Account::numbered(user));
        let mut held: Vec<_> = (0..OF_USER).flat_map(|_| [place(1), place(2)]).collect();
        assert!(held.iter().all(Option::is_some) && place(1).is_none());
        held.extend((3..).take(BEYOND).map(place));
        assert!(held.iter().all(Option::is_some) && place(3).is_none(), "one of each");
        assert!(place(u64::MAX).is_none(), "that is all");
    }

    #[test]
    fn a_users_second_comes_after_the_first_of_all() {
        let mut waiting = vec![(1, 'a'), (1, 'b'), (1, 'c'), (2, 'a'), (3, 'a'), (2, 'b')];
        in_turns(&mut waiting, |(user, _)| *user);
        assert_eq!(waiting, [(1, 'a'), (2, 'a'), (3, 'a'), (1, 'b'), (2, 'b'), (1, 'c')]);
    }
}
