//! Whether the database may lack what devices were told of.
//!
//! In class `consistent` a commit does not wait for the disk, and a crash of the database takes the newest with it. Their revisions
//! would be given again, to other changes, and a device that had seen them would pass those over. So a table without a log has a
//! row: PostgreSQL empties it when it recovers from a crash, and when a standby or a copy of the files takes the server's place. Where
//! the row is gone, users have new histories, and devices fetch everything.
//!
//! The other table says where it was: a server, its timeline, the database's number, and that of the users' table, which a dump makes anew
//! where it is restored into the same database. Where a backup was restored, or a standby took the server's place, it is elsewhere, and
//! users have new histories too, in each class.
//!
//! A crash ends every connection. So each new one is looked at before anything is asked on it, and none that lives has a crash behind it.

use super::address::Address;
use crate::storage::watching::Registry;
use crate::token;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, GenericClient};

/// The life of the database as the tables have it, and whether the row of the one without a log is there: none where there is no table.
const KNOWN: &str = "select place, life, to_regclass('sync_uptime') is not null from sync_life where id = 0";
const UPTIME: &str = "select count(*) from sync_uptime";

/// The server, its timeline, the database, and the users' table. Servers that only speak PostgreSQL's dialect have no such functions.
const PLACE: &str = "select system.system_identifier::text || ' ' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || ' ' \
    || known.oid::text || ' ' || 'sync_user'::regclass::oid::text from pg_control_system() system, pg_database known where known.datname = current_database()";

/// Whoever settles is alone, and what it writes is on the disk before anybody is told: whatever the class, and however many users there are.
const ALONE: &str =
    "set local synchronous_commit = on; set local statement_timeout = 0; set local lock_timeout = 0";
const MAKE_LIFE: &str =
    "insert into sync_life (id, place, life) values (0, $1, $2) on conflict (id) do nothing";
const LOCK: &str = "select place, life from sync_life where id = 0 for update";
const NEW_LIFE: &str = "update sync_life set place = $1, life = $2 where id = 0";
const NOTE_PLACE: &str = "update sync_life set place = $1 where id = 0";
/// Histories are another one for each user, so that a cursor of another user is found out.
const NEW_HISTORIES: &str = "update sync_user set history = substr(md5($1::text || id::text), 1, 16)";
const HAS_UPTIME: &str = "select to_regclass('sync_uptime') is not null";
const MAKE_UPTIME: &str = "create unlogged table sync_uptime (id bigint primary key)";
const BEGIN_UPTIME: &str = "insert into sync_uptime (id) values (0)";

/// What a process knows of the database's life.
pub(super) struct Life {
    address: Address,
    /// Whether commits of this process may be lost.
    is_volatile: bool,
    known: Mutex<String>,
    settling: Arc<tokio::sync::Mutex<()>>,
    registry: Registry<()>,
}

/// What a new connection finds.
enum Found {
    /// The database lives on.
    Life(String),
    /// It may lack something, or was never served.
    Unsettled,
}

impl Life {
    pub(super) fn new(address: Address, is_volatile: bool, registry: Registry<()>) -> Life {
        Life { address, is_volatile, known: Mutex::default(), settling: Arc::default(), registry }
    }

    /// The life that this process knows of. What was asked in another is void.
    pub(super) fn known(&self) -> String {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Settles what a crash has left, before the first request.
    ///
    /// # Errors
    /// When the database cannot be read or written.
    pub(super) async fn begin(&self, client: &mut Client) -> Result<(), Error> {
        let life = self.settle(client).await?;
        self.note(life);
        Ok(())
    }

    /// Looks at a connection that is new. Whether it may be used.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub(super) async fn look(self: &Arc<Self>, client: &Client) -> Result<bool, Error> {
        match find(client).await? {
            Found::Life(life) => {
                self.note(life);
                Ok(true)
            }
            Found::Unsettled => {
                // On a connection of its own, which nobody's patience ends: there may be many users.
                let Ok(alone) = Arc::clone(&self.settling).try_lock_owned() else { return Ok(false) };
                let life = Arc::clone(self);
                tokio::spawn(async move {
                    if let Err(error) = life.settle_alone().await {
                        tracing::warn!("the database's users cannot be given new histories now: {error}");
                    }
                    drop(alone);
                });
                Ok(false)
            }
        }
    }

    async fn settle_alone(&self) -> Result<(), Error> {
        let (mut client, speaking) = self.address.dial().await?;
        let settled = self.settle(&mut client).await;
        speaking.abort();
        self.note(settled?);
        Ok(())
    }

    /// Where another life has begun, streams end: their devices ask again, and are told of the other history.
    fn note(&self, life: String) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != life {
            *known = life;
            drop(known);
            self.registry.end();
        }
    }

    /// Gives users new histories where the database may lack something. The life that it has then.
    async fn settle(&self, client: &mut Client) -> Result<String, Error> {
        let place = place(client).await?;
        let new_life = token::history().unwrap_or_default();
        let transaction = client.transaction().await?;
        transaction.batch_execute(ALONE).await?;
        let was_unknown = transaction.execute(MAKE_LIFE, &[&place, &new_life]).await? > 0;
        let row = transaction.query_one(LOCK, &[]).await?;
        let (known_place, known_life): (String, String) = (row.get(0), row.get(1));
        let has_uptime: bool = transaction.query_one(HAS_UPTIME, &[]).await?.get(0);
        let is_lost = has_uptime && !is_up(&transaction).await?;
        let mut life = known_life;
        if was_unknown || is_lost || is_elsewhere(&known_place, &place) {
            transaction.execute(NEW_LIFE, &[&place, &new_life]).await?;
            let users = transaction.execute(NEW_HISTORIES, &[&new_life]).await?;
            if users > 0 {
                tracing::warn!(
                    users,
                    "the database crashed, or is another than it was: users have new histories, devices fetch everything"
                );
            }
            life = new_life;
        } else if known_place.is_empty() && !place.is_empty() {
            transaction.execute(NOTE_PLACE, &[&place]).await?;
        }
        if !has_uptime && self.is_volatile {
            transaction.batch_execute(MAKE_UPTIME).await?;
        }
        if is_lost || (!has_uptime && self.is_volatile) {
            transaction.execute(BEGIN_UPTIME, &[]).await?;
        }
        transaction.commit().await?;
        Ok(life)
    }
}

async fn is_up(client: &impl GenericClient) -> Result<bool, Error> {
    Ok(client.query_one(UPTIME, &[]).await?.get::<_, i64>(0) > 0)
}

async fn find(client: &Client) -> Result<Found, Error> {
    let Some(row) = client.query_opt(KNOWN, &[]).await? else { return Ok(Found::Unsettled) };
    let (known, life, has_uptime): (String, String, bool) = (row.get(0), row.get(1), row.get(2));
    let is_whole = !is_elsewhere(&known, &place(client).await?) && (!has_uptime || is_up(client).await?);
    Ok(if is_whole { Found::Life(life) } else { Found::Unsettled })
}

/// Whether two places differ. A place that is not said is not another one: one role may be told what the next is not.
fn is_elsewhere(known: &str, place: &str) -> bool {
    !known.is_empty() && !place.is_empty() && known != place
}

/// Where the database is; an empty text where the server does not say, or not to this user.
async fn place(client: &Client) -> Result<String, Error> {
    match client.query_one(PLACE, &[]).await {
        Ok(row) => Ok(row.get(0)),
        Err(error) if is_unsaid(&error) => Ok(String::new()),
        Err(error) => Err(error),
    }
}

fn is_unsaid(error: &Error) -> bool {
    let unsaid = [
        SqlState::UNDEFINED_FUNCTION,
        SqlState::UNDEFINED_TABLE,
        SqlState::FEATURE_NOT_SUPPORTED,
        SqlState::INSUFFICIENT_PRIVILEGE,
    ];
    error.code().is_some_and(|code| unsaid.contains(code))
}
