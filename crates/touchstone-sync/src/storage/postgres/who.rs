//! Who asks: every request begins with its token and its device.

use super::batch::{Batch, Parameters, places};
use super::number;
use crate::storage::{Account, Client};
use crate::token::TokenHash;
use tokio_postgres::Row;

/// A token and a device's name, and when they were named, in seconds since 1970.
pub(super) struct Named {
    pub(super) token: TokenHash,
    pub(super) device: String,
    pub(super) now: i64,
}

/// Look-ups of those who ask. The answer is the user whose valid token it is, and the device of the name, where the user has it.
pub(super) enum Who {}

impl Batch for Who {
    type Asked = Named;
    type Answer = Option<(Account, Option<Client>)>;

    const SQL: &str = "select asked.place, token.user_id, device.number \
        from unnest($1::bigint[], $2::bytea[], $3::text[], $4::bigint[]) as asked (place, hash, name, now) \
        join lateral (select user_id from sync_token where hash = asked.hash and (expires is null or expires > asked.now) limit 1) token \
            on true \
        left join lateral (select number from sync_device where user_id = token.user_id and name = asked.name limit 1) device on true";
    const MOST: usize = 256;

    fn parameters(asked: &[Named]) -> Parameters<'_> {
        let hashes: Vec<&[u8]> = asked.iter().map(|named| named.token.bytes().as_slice()).collect();
        let names: Vec<&str> = asked.iter().map(|named| named.device.as_str()).collect();
        let nows: Vec<i64> = asked.iter().map(|named| named.now).collect();
        vec![Box::new(places(asked)), Box::new(hashes), Box::new(names), Box::new(nows)]
    }

    fn answer(_: Named, rows: &[Row]) -> Self::Answer {
        let row = rows.first()?;
        let account = Account { user: number(row.get(1)) };
        let device = row.get::<_, Option<i64>>(2).map(|device| Client { account, device: number(device) });
        Some((account, device))
    }
}

/// Look-ups of devices by their names alone. The answer is a device of the name, of whichever user.
pub(super) enum Devices {}

impl Batch for Devices {
    type Asked = String;
    type Answer = Option<Client>;

    const SQL: &str = "select asked.place, device.user_id, device.number \
        from unnest($1::bigint[], $2::text[]) as asked (place, name) \
        join lateral (select user_id, number from sync_device where name = asked.name limit 1) device on true";
    const MOST: usize = 256;

    fn parameters(asked: &[String]) -> Parameters<'_> {
        let names: Vec<&str> = asked.iter().map(String::as_str).collect();
        vec![Box::new(places(asked)), Box::new(names)]
    }

    fn answer(_: String, rows: &[Row]) -> Option<Client> {
        let row = rows.first()?;
        let account = Account { user: number(row.get(1)) };
        Some(Client { account, device: number(row.get(2)) })
    }
}
