//! Whether devices that are remembered still have their right: a part of the statements that give or take what they ask for, so that this costs
//! no round trip.

use super::signed;
use crate::storage::{Client, Remembered};
use tokio_postgres::types::ToSql;

/// Whether the device of a row of `asked` is the one that is named, and the token its user's. It is true for a device that was looked up for this
/// request: that one has no name here. `asked` has the columns `user_id` and those of [`Rights`]: `name, number, hash, now`.
macro_rules! has_right {
    () => {
        "(asked.name is null or coalesce((\
            (select number from sync_device where user_id = asked.user_id and name = asked.name limit 1) = asked.number \
            and (asked.hash is null or (select user_id from sync_token \
                where hash = asked.hash and (expires is null or expires > asked.now) limit 1) = asked.user_id)), false))"
    };
}
pub(super) use has_right;

/// By what a device was remembered, and when it asks, in seconds since 1970; none where it was looked up for this request.
pub(super) type Grounds = Option<(Remembered, i64)>;

/// The columns of those who ask.
pub(super) struct Rights<'a> {
    names: Vec<Option<&'a str>>,
    numbers: Vec<i64>,
    hashes: Vec<Option<&'a [u8]>>,
    nows: Vec<i64>,
}

impl<'a> Rights<'a> {
    pub(super) fn of(asking: impl Iterator<Item = (Client, &'a Grounds)>) -> Rights<'a> {
        let mut rights = Rights { names: vec![], numbers: vec![], hashes: vec![], nows: vec![] };
        for (client, grounds) in asking {
            let remembered = grounds.as_ref().map(|(remembered, _)| remembered);
            rights.names.push(remembered.map(|remembered| &*remembered.device));
            rights.numbers.push(signed(client.device));
            rights.hashes.push(remembered.and_then(|known| Some(known.token.as_ref()?.bytes().as_slice())));
            rights.nows.push(grounds.as_ref().map_or(0, |(_, now)| *now));
        }
        rights
    }

    /// Names, numbers, hashes and times.
    pub(super) fn parameters(self) -> [Box<dyn ToSql + Sync + Send + 'a>; 4] {
        [Box::new(self.names), Box::new(self.numbers), Box::new(self.hashes), Box::new(self.nows)]
    }
}
