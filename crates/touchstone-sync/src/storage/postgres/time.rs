//! The database's note of the services' time, by which deletions and names of changes age: a process that begins goes on from it.

use crate::clock::ServiceTime;
use tokio_postgres::{Client, Error};

const KNOWN: &str = "select seconds from sync_time where id = 0";
const NEWEST: &str =
    "select greatest((select max(stored) from sync_applied), (select max(stored) from sync_object))";

/// Notes it: of several processes the latest time stays.
pub(super) const NOTE: &str = "insert into sync_time (id, seconds) values (0, $1) \
    on conflict (id) do update set seconds = greatest(sync_time.seconds, excluded.seconds)";

/// Goes on with the time that is noted.
pub(super) async fn begin(client: &Client) -> Result<ServiceTime, Error> {
    if let Some(row) = client.query_opt(KNOWN, &[]).await? {
        return Ok(ServiceTime::from(Some(row.get(0)), None));
    }
    let time = ServiceTime::from(None, client.query_one(NEWEST, &[]).await?.get(0));
    client.execute(NOTE, &[&time.now()]).await?;
    Ok(time)
}
