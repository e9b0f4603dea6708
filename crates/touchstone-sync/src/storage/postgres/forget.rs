//! Forgets deletions and names of changes that are old, a user at a time: its row is locked, so no page is read between a deletion that is
//! forgotten and the horizon that says so.

use super::{ATTEMPTS, is_lost_to_another, pause};
use deadpool_postgres::Client as Connection;
use tokio_postgres::Error;

/// Users of one look, by their numbers.
const USERS: &str = "select id from sync_user where id > $1 order by id limit 1000";
const LOCK: &str = "select id from sync_user where id = $1 for update";
const DELETIONS: &str = "with forgotten as ( \
        delete from sync_object where user_id = $1 and stored < $2 and data is null returning revision \
    ), last as (select max(revision) as revision, count(*) as number from forgotten) \
    update sync_user set horizon = greatest(horizon, last.revision) from last \
    where id = $1 and last.number > 0 returning last.number";
const NAMES: &str = "delete from sync_applied where user_id = $1 and stored < $2";

/// Forgets what was stored before a moment of the services' time. How many that were.
pub(super) async fn forget(connection: &mut Connection, before: i64) -> Result<u64, Error> {
    let (mut forgotten, mut last) = (0, i64::MIN);
    loop {
        let users = connection.query(USERS, &[&last]).await?;
        if users.is_empty() {
            return Ok(forgotten);
        }
        for row in users {
            last = row.get(0);
            forgotten += forget_of(connection, last, before).await?;
        }
    }
}

async fn forget_of(connection: &mut Connection, user: i64, before: i64) -> Result<u64, Error> {
    let mut attempt = 0;
    loop {
        let forgotten = try_forget_of(connection, user, before).await;
        attempt += 1;
        match forgotten {
            Err(error) if is_lost_to_another(&error) && attempt < ATTEMPTS => {
                tokio::time::sleep(pause(attempt)).await;
            }
            forgotten => return forgotten,
        }
    }
}

async fn try_forget_of(connection: &mut Connection, user: i64, before: i64) -> Result<u64, Error> {
    let transaction = connection.transaction().await?;
    transaction.execute(LOCK, &[&user]).await?;
    let deletions = transaction.query_opt(DELETIONS, &[&user, &before]).await?;
    let names = transaction.execute(NAMES, &[&user, &before]).await?;
    transaction.commit().await?;
    Ok(names + deletions.map_or(0, |row| row.get::<_, i64>(0).unsigned_abs()))
}
