//! Forgets deletions and names of changes that are old, some of a user at a time: its row is locked, so no page is read between a deletion that is
//! forgotten and the horizon that says so, and its uploads do not wait for long.

use super::lease::Pool;
use super::{ANSWERS_WITHIN, ATTEMPTS, failed, is_lost_to_another, pause, silent};
use crate::storage::{Error, Result};
use deadpool_postgres::Client as Connection;
use tokio::time::timeout;

/// Users of one look, by their numbers.
const USERS: &str = "select id from sync_user where id > $1 order by id limit 1000";
const LOCK: &str = "select id from sync_user where id = $1 for update";
/// About as many as are of one transaction: those of the last second of them are forgotten together.
const DELETIONS: &str = "with forgotten as ( \
        delete from sync_object where user_id = $1 and data is null and stored <= ( \
            select max(stored) from (select stored from sync_object where user_id = $1 and stored < $2 and data is null \
                order by stored limit 500) oldest) \
        returning revision \
    ), last as (select max(revision) as revision, count(*) as number from forgotten) \
    update sync_user set horizon = greatest(horizon, last.revision) from last \
    where id = $1 and last.number > 0 returning last.number";
const NAMES: &str = "delete from sync_applied where user_id = $1 and stored <= ( \
    select max(stored) from (select stored from sync_applied where user_id = $1 and stored < $2 order by stored limit 500) oldest)";

/// Forgets what was stored before a moment of the services' time. How many that were. What cannot be forgotten of one user now, as another session
/// has its row, keeps nothing of the others.
///
/// # Errors
/// When the database is away.
pub(super) async fn forget(pool: &Pool, before: i64) -> Result<u64> {
    let (mut forgotten, mut last) = (0, i64::MIN);
    loop {
        let users = pool.rows(USERS, &[&last]).await?;
        if users.is_empty() {
            return Ok(forgotten);
        }
        for row in users {
            last = row.get(0);
            loop {
                match forget_some(pool, last, before).await {
                    Ok(0) | Err(Error::Busy) => break,
                    Ok(number) => forgotten += number,
                    Err(error) => return Err(error),
                }
            }
        }
    }
}

/// Forgets some of a user's. How many that were; none where nothing is left.
async fn forget_some(pool: &Pool, user: i64, before: i64) -> Result<u64> {
    let mut attempt = 0;
    loop {
        let mut connection = pool.lease().await?;
        let forgotten = timeout(ANSWERS_WITHIN, try_forget_some(&mut connection, user, before)).await;
        let forgotten = forgotten.map_err(|_| silent())?;
        connection.end();
        attempt += 1;
        match forgotten {
            Err(error) if is_lost_to_another(&error) && attempt < ATTEMPTS => {
                tokio::time::sleep(pause(attempt)).await;
            }
            forgotten => return forgotten.map_err(failed),
        }
    }
}

async fn try_forget_some(
    connection: &mut Connection,
    user: i64,
    before: i64,
) -> std::result::Result<u64, tokio_postgres::Error> {
    let transaction = connection.transaction().await?;
    transaction.execute(LOCK, &[&user]).await?;
    let deletions = transaction.query_opt(DELETIONS, &[&user, &before]).await?;
    let names = transaction.execute(NAMES, &[&user, &before]).await?;
    transaction.commit().await?;
    Ok(names + deletions.map_or(0, |row| row.get::<_, i64>(0).unsigned_abs()))
}
