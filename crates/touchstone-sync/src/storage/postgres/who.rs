//! Who asks: every request begins with its token and its device. Requests that come at the same time are looked up by one statement.

use super::lease::Pool;
use super::{ANSWERS_WITHIN, CONNECTION_WITHIN, failed, number, silent};
use crate::storage::{Account, Client, Error, Result};
use crate::token::TokenHash;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

const WHO: &str = "select asked.place, token.user_id, device.number \
    from unnest($1::bigint[], $2::bytea[], $3::text[], $4::bigint[]) as asked (place, hash, name, now) \
    join lateral (select user_id from sync_token where hash = asked.hash and (expires is null or expires > asked.now) limit 1) token \
        on true \
    left join lateral (select number from sync_device where user_id = token.user_id and name = asked.name limit 1) device on true";

/// Requests that may wait. The next one is told to come again.
const QUEUE: usize = 1024;

/// Requests of one statement at most.
const GROUP: usize = 256;

/// A user, and the device of the name that was asked for, where the user has it.
pub(super) type Known = (Account, Option<Client>);

/// A request that waits.
struct Waiting {
    token: TokenHash,
    device: String,
    now: i64,
    answer: oneshot::Sender<Result<Option<Known>>>,
}

/// The task that looks requests up.
#[derive(Clone)]
pub(super) struct Who {
    queue: mpsc::Sender<Waiting>,
}

impl Who {
    /// Starts it. It ends when this is dropped.
    pub(super) fn start(pool: Pool) -> Who {
        let (queue, mut waiting) = mpsc::channel(QUEUE);
        tokio::spawn(async move {
            let mut group = Vec::with_capacity(GROUP);
            while waiting.recv_many(&mut group, GROUP).await > 0 {
                group.retain(|waiting: &Waiting| !waiting.answer.is_closed());
                // A panic is a mistake of the service. Those of the group are told to come again; the others go on.
                let looked_up = AssertUnwindSafe(look_up(&pool, std::mem::take(&mut group))).catch_unwind();
                if looked_up.await.is_err() {
                    tracing::error!("the look-up of a group of requests panicked");
                }
            }
        });
        Who { queue }
    }

    /// Whose a token is that is valid at `now`, in seconds since 1970, and the user's device of that name.
    pub(super) async fn look_up(&self, token: TokenHash, device: &str, now: i64) -> Result<Option<Known>> {
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting { token, device: device.to_owned(), now, answer };
        self.queue.try_send(waiting).map_err(|_| Error::Busy)?;
        match timeout(CONNECTION_WITHIN + ANSWERS_WITHIN, answered).await {
            Ok(answered) => answered.unwrap_or(Err(Error::Busy)),
            Err(_) => Err(silent()),
        }
    }
}

async fn look_up(pool: &Pool, group: Vec<Waiting>) {
    match asked(pool, &group).await {
        Ok(mut found) => {
            for (waiting, found) in group.into_iter().zip(found.drain(..)) {
                let _ = waiting.answer.send(Ok(found));
            }
        }
        Err(Error::Failed(error)) => {
            tracing::error!("requests cannot be looked up: {error:#}");
            for waiting in group {
                let _ = waiting.answer.send(Err(Error::Failed(anyhow::anyhow!("{error:#}"))));
            }
        }
        Err(error) => {
            let is_away = matches!(error, Error::Away);
            for waiting in group {
                let _ = waiting.answer.send(Err(if is_away { Error::Away } else { Error::Busy }));
            }
        }
    }
}

/// What is known of each request of a group.
async fn asked(pool: &Pool, group: &[Waiting]) -> Result<Vec<Option<Known>>> {
    let places: Vec<i64> = (0..).take(group.len()).collect();
    let hashes: Vec<&[u8]> = group.iter().map(|waiting| waiting.token.bytes().as_slice()).collect();
    let names: Vec<&str> = group.iter().map(|waiting| waiting.device.as_str()).collect();
    let nows: Vec<i64> = group.iter().map(|waiting| waiting.now).collect();
    let connection = pool.lease().await?;
    let rows = timeout(ANSWERS_WITHIN, async {
        let statement = connection.prepare_cached(WHO).await?;
        connection.query(&statement, &[&places, &hashes, &names, &nows]).await
    });
    let rows = rows.await.map_err(|_| silent())?;
    connection.end();
    let mut found = vec![None; group.len()];
    for row in rows.map_err(failed)? {
        let account = Account { user: number(row.get(1)) };
        let device = row.get::<_, Option<i64>>(2).map(|device| Client { account, device: number(device) });
        if let Some(place) = usize::try_from(row.get::<_, i64>(0)).ok().and_then(|place| found.get_mut(place))
        {
            *place = Some((account, device));
        }
    }
    Ok(found)
}
