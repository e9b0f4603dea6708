//! Connections to the database: so many at most, each looked at when it is new, and each back in the pool only with nothing under way.

use super::address::Address;
use super::life::Life;
use super::{ANSWERS_WITHIN, ATTEMPTS, CONNECTION_WITHIN, failed, is_lost_to_another, pause, silent};
use crate::storage::{Error, Result};
use deadpool_postgres::{
    Client, Hook, HookError, Manager, ManagerConfig, Object, PoolError, RecyclingMethod, Runtime,
};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use tokio::time::timeout;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

/// What a survey begins with.
const NO_LIMIT: &str = "set local statement_timeout = 0";

const PLAN_ONCE: &str = "set plan_cache_mode = force_generic_plan; set enable_sort = off; set jit = off";

/// The connections.
#[derive(Clone)]
pub(super) struct Pool {
    pool: deadpool_postgres::Pool,
}

/// A connection that somebody has. Unless it is given back it is closed: a request whose client went away, or that took too long, may have
/// left a transaction open on it.
pub(super) struct Lease {
    connection: Option<Client>,
}

impl Pool {
    /// Opens none yet.
    ///
    /// # Errors
    /// When the numbers make no sense.
    pub(super) fn new(address: &Address, life: Arc<Life>, connections: usize) -> anyhow::Result<Pool> {
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(address.config.clone(), address.tls.clone(), manager);
        let looked_at = Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
            let life = Arc::clone(&life);
            Box::pin(async move {
                let ready = timeout(CONNECTION_WITHIN, make_ready(client, &life)).await;
                ready.unwrap_or_else(|_| Err(HookError::message("the database does not answer")))
            })
        });
        let pool = deadpool_postgres::Pool::builder(manager).max_size(connections).post_create(looked_at);
        let pool = pool
            .runtime(Runtime::Tokio1)
            .queue_mode(deadpool_postgres::QueueMode::Lifo)
            .wait_timeout(Some(CONNECTION_WITHIN));
        Ok(Pool { pool: pool.create_timeout(Some(CONNECTION_WITHIN)).build()? })
    }

    /// A connection, as soon as there is one. Those that may ask for one at the same time are few: groups of requests, and what has a place of its own.
    pub(super) async fn lease(&self) -> Result<Lease> {
        let connection = self.pool.get().await.map_err(no_connection)?;
        Ok(Lease { connection: Some(connection) })
    }

    /// The rows of a statement that is a transaction of its own.
    pub(super) async fn rows(&self, sql: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        let rows = timeout(CONNECTION_WITHIN + ANSWERS_WITHIN, self.rows_at_last(sql, parameters)).await;
        rows.map_err(|_| silent())?
    }

    /// The rows of a statement that reads much, however long it takes.
    pub(super) async fn survey(&self, sql: &str) -> Result<Vec<Row>> {
        let mut connection = self.lease().await?;
        let rows = async {
            let transaction = connection.transaction().await?;
            transaction.batch_execute(NO_LIMIT).await?;
            let rows = transaction.query(sql, &[]).await?;
            transaction.commit().await.map(|()| rows)
        };
        let rows = rows.await.map_err(failed)?;
        connection.end();
        Ok(rows)
    }

    async fn rows_at_last(&self, sql: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        let mut attempt = 0;
        loop {
            let connection = self.lease().await?;
            let rows = timeout(ANSWERS_WITHIN, async {
                let statement = connection.prepare_cached(sql).await?;
                connection.query(&statement, parameters).await
            });
            let rows = rows.await.map_err(|_| silent())?;
            connection.end();
            attempt += 1;
            match rows {
                Err(error) if is_lost_to_another(&error) && attempt < ATTEMPTS => {
                    tokio::time::sleep(pause(attempt)).await;
                }
                rows => return rows.map_err(failed),
            }
        }
    }
}

/// Makes a connection ready that is new, and looks whether it may be used.
async fn make_ready(
    client: &deadpool_postgres::ClientWrapper,
    life: &Arc<Life>,
) -> std::result::Result<(), HookError> {
    plan_once(client).await.map_err(HookError::Backend)?;
    match life.look(client).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(HookError::message("users are given new histories")),
        Err(error) => Err(HookError::Backend(error)),
    }
}

/// Statements are planned once and not each time: they look keys up, whatever these are. And a page is read in the order of its index: a plan
/// that was made while the table was empty would sort everything that a user has. No plan is worth compiling.
async fn plan_once(
    client: &deadpool_postgres::ClientWrapper,
) -> std::result::Result<(), tokio_postgres::Error> {
    match client.batch_execute(PLAN_ONCE).await {
        // One that only speaks PostgreSQL's dialect may plan in its own way.
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_OBJECT) => Ok(()),
        done => done,
    }
}

fn no_connection(error: PoolError) -> Error {
    match error {
        PoolError::Timeout(deadpool_postgres::TimeoutType::Wait) => Error::Busy,
        PoolError::Timeout(_) | PoolError::PostCreateHook(HookError::Message(_)) => Error::Away,
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => failed(error),
        other => Error::Failed(other.into()),
    }
}

impl Lease {
    /// Gives it back.
    pub(super) fn end(mut self) {
        drop(self.connection.take());
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            drop(Object::take(connection));
        }
    }
}

impl Deref for Lease {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.connection.as_ref().expect("it is there until it is given back")
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Client {
        self.connection.as_mut().expect("it is there until it is given back")
    }
}
