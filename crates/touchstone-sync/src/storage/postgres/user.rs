//! Users, by their numbers: their names, and how far they have come.

use super::batch::{Batch, Parameters, places};
use super::{number, signed};
use crate::change::Standing;
use crate::storage::Account;
use tokio_postgres::Row;

/// Look-ups of users. The answer is the user's name and standing; none where there is no such user.
pub(super) enum Users {}

impl Batch for Users {
    type Asked = Account;
    type Answer = Option<(String, Standing)>;

    const SQL: &str = "select asked.place, known.name, known.revision, known.history \
        from unnest($1::bigint[], $2::bigint[]) as asked (place, id) \
        join lateral (select name, revision, history from sync_user where id = asked.id limit 1) known on true";
    const MOST: usize = 256;

    fn parameters(asked: &[Account]) -> Parameters<'_> {
        let ids: Vec<i64> = asked.iter().map(|account| signed(account.user)).collect();
        vec![Box::new(places(asked)), Box::new(ids)]
    }

    fn account(asked: &Account) -> Option<Account> {
        Some(*asked)
    }

    fn answer(_: Account, rows: &[Row]) -> Self::Answer {
        let row = rows.first()?;
        Some((row.get(1), Standing { revision: number(row.get(2)), history: row.get(3) }))
    }
}
