//! PostgreSQL, and what speaks its dialect: several processes of the service before one database.

mod address;
pub(crate) mod batch;
mod forget;
mod found;
mod given_back;
pub(crate) mod group;
mod health;
mod lease;
mod life;
mod pace;
pub(crate) mod pages;
mod remembered;
mod rights;
mod time;
mod upload;
mod user;
mod who;
mod write;

use super::watching::Registry;
use super::{
    Account, Client, DEVICES_MAX, Error, Known, Listed, PAGE_BYTES_MAX, Refusal, Remembered, Result, Room,
    Storage, Tried, Usage, Watch,
};
use crate::change::{Download, Page, Standing, Upload, Uploaded, Version};
use crate::clock::ServiceTime;
use crate::shares::{BodyRoom, Shares};
use crate::token::{self, TokenHash};
use address::Address;
use anyhow::Context;
use async_trait::async_trait;
use batch::Batcher;
use group::Writer;
use health::Health;
use lease::Pool;
use life::Life;
use pages::{Asked, Pages};
use remembered::Memory;
use std::error::Error as _;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use user::Users;
use who::{Devices, Named, Who};

const SCHEMA: &str = include_str!("postgres/schema.sql");

/// How often a transaction is begun again that the database has ended in favour of another.
const ATTEMPTS: u32 = 20;

/// How long a request waits for a connection. Then it is told to come again.
pub(crate) const CONNECTION_WITHIN: Duration = Duration::from_secs(5);

/// How long a request waits for the database's answers, once it has a connection. Then it is told to come again, and the connection is
/// closed: a server that is frozen, or behind a wire that is cut, answers nothing at all.
pub(crate) const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// Registrations that may be under way together, and those of one user, which wait for each other and have connections meanwhile. The next one is told
/// to come again.
pub(crate) const REGISTERING: usize = 128;
pub(crate) const REGISTERING_OF_USER: usize = 8;

/// How often the last revisions of watched users are asked for: what other processes have stored is told so late at most.
const LOOK_EVERY: Duration = Duration::from_millis(100);

const OBJECTS: &str = "select id, revision, data from ( \
        select id, revision, data, sum(length(data)) over (order by revision) - length(data) as before \
        from (select id, revision, data from sync_object where user_id = $1 and revision > $2 and revision <= $3 \
            and data is not null order by revision limit $4) page \
    ) measured where before < $5 order by revision";

/// A number that nobody has is given; one whose device was made by another meanwhile stays unused. It waits for the disk in each class: a number that
/// a crash took back would be given to another device, while processes remember the first.
const MAKE_DEVICE: &str = "with durable as materialized (select set_config('synchronous_commit', 'on', true) as class), \
    given as (update sync_user set devices = devices + 1 where id = $1::bigint and devices < $3::bigint returning devices) \
    insert into sync_device (user_id, name, number) select $1::bigint, $2::text, devices from given, durable \
    on conflict (user_id, name) do nothing";

const LAST: &str = "select id, revision from sync_user where id = any($1)";

/// How long a statement may take, and how long a user's uploads wait for those before them.
const PATIENCE: &str = "-c statement_timeout=20s -c lock_timeout=3s";

/// How long a server may be silent before it is asked whether it is there, and then before it is given up.
const SILENT_FOR: Duration = Duration::from_secs(15);

const PAGE_BYTES: i64 = PAGE_BYTES_MAX as i64;

/// Connections to a database.
#[derive(Clone)]
pub struct Postgres {
    pool: Pool,
    writer: Writer,
    who: Batcher<Who>,
    devices: Batcher<Devices>,
    users: Batcher<Users>,
    pages: Pages,
    /// The places of registrations that are under way.
    registering: Shares,
    health: Batcher<Health>,
    memory: Arc<Memory>,
    life: Arc<Life>,
    time: ServiceTime,
    registry: Registry<()>,
    _looking: Arc<Looking>,
}

/// The task that looks for what other processes have stored.
struct Looking(JoinHandle<()>);

impl Drop for Looking {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Postgres {
    /// Reads and writes what the database of a URL holds, beside the services that serve it, and makes the tables that are missing.
    /// `connections` at most are open together. A commit waits for the disk.
    ///
    /// # Errors
    /// When the URL makes no sense, `connections` is 0, or the database cannot be reached or changed.
    pub async fn connect(url: &str, connections: usize) -> anyhow::Result<Postgres> {
        Postgres::start(url, connections, true).await
    }

    /// Serves what the database of a URL holds. Without `strict` a commit does not wait for the disk, and where the database crashes,
    /// users have new histories.
    ///
    /// # Errors
    /// As for [`connect`](Postgres::connect).
    pub async fn to_serve(url: &str, connections: usize, strict: bool) -> anyhow::Result<Postgres> {
        Postgres::start(url, connections, strict).await
    }

    async fn start(url: &str, connections: usize, strict: bool) -> anyhow::Result<Postgres> {
        anyhow::ensure!(connections > 0, "no connection to the database is allowed: allow one at least");
        let mut address = Address::read(url)?;
        let config = &mut address.config;
        config.application_name("touchstone-sync");
        config.connect_timeout(CONNECTION_WITHIN).keepalives_idle(SILENT_FOR).tcp_user_timeout(SILENT_FOR);
        let given = config.get_options().unwrap_or_default().to_owned();
        let commit = if strict { "on" } else { "off" };
        config.options(format!("{given} {PATIENCE} -c synchronous_commit={commit}"));
        let registry = Registry::new();
        let life = Arc::new(Life::new(address.clone(), !strict, registry.clone()));
        let time = begin(&address, &life).await?;
        let pool = Pool::new(&address, Arc::clone(&life), connections)?;
        let writer = Writer::start(&pool, &registry, time, connections);
        let (who, devices) = (Batcher::start(&pool, connections), Batcher::start(&pool, connections));
        let (users, health) = (Batcher::start(&pool, connections), Batcher::start(&pool, connections));
        let pages = Pages::start(&pool, connections);
        let looking = tokio::spawn(look(pool.clone(), registry.clone()));
        Ok(Postgres {
            pool,
            writer,
            who,
            devices,
            users,
            pages,
            registering: Shares::default(),
            health,
            memory: Arc::new(Memory::new()),
            life,
            time,
            registry,
            _looking: Arc::new(Looking(looking)),
        })
    }

    async fn row(&self, sql: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Option<Row>> {
        Ok(self.pool.rows(sql, parameters).await?.into_iter().next())
    }

    async fn registered(&self, account: Account, device: &str) -> Result<Client> {
        if let Some(known) = self.client(account, device).await? {
            return Ok(known);
        }
        self.pool.rows(MAKE_DEVICE, &[&signed(account.user), &device, &signed(DEVICES_MAX)]).await?;
        match self.client(account, device).await? {
            Some(client) => Ok(client),
            // The user is no more, or has as many as are taken.
            None => {
                self.standing(account).await?;
                Err(Refusal::TooManyDevices { most: DEVICES_MAX }.into())
            }
        }
    }
}

/// Makes the tables, settles what a crash has left, and goes on with the services' time.
async fn begin(address: &Address, life: &Life) -> anyhow::Result<ServiceTime> {
    let dialled = timeout(CONNECTION_WITHIN + ANSWERS_WITHIN, async {
        let (client, speaking) = address.dial().await?;
        // One that takes connections may answer nothing all the same.
        client.batch_execute("select 1").await?;
        Ok((client, speaking))
    });
    let dialled = dialled.await.map_err(|_| std::io::Error::from(std::io::ErrorKind::TimedOut));
    let (mut client, speaking) =
        dialled.context("the database does not answer")?.map_err(|error: tokio_postgres::Error| {
            let advice = address.advice(&error);
            anyhow::Error::new(error).context(advice)
        })?;
    let ready = noted_when_late(async {
        make_tables(&client).await.map_err(|error| {
            let is_locked = error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE);
            let remedy = if is_locked { ": another session has them locked, end that" } else { "" };
            anyhow::Error::new(error).context(format!("the tables of the service cannot be made{remedy}"))
        })?;
        life.begin(&mut client).await.context("the database cannot be made ready")?;
        time::begin(&client).await.context("the time of what is stored cannot be read")
    });
    let time = ready.await?;
    speaking.abort();
    Ok(time)
}

/// Waits without a limit, as new histories of many users take their time, and so do those of another process: and says that it waits.
async fn noted_when_late<R>(work: impl Future<Output = R>) -> R {
    tokio::pin!(work);
    match timeout(ANSWERS_WITHIN, &mut work).await {
        Ok(done) => done,
        Err(_) => {
            tracing::warn!(
                "the database takes long to be made ready: many users may have new histories, or another session has what is needed locked"
            );
            work.await
        }
    }
}

/// Processes that begin at once make the tables together, and one of them may be told that another has: it looks again.
async fn make_tables(client: &tokio_postgres::Client) -> std::result::Result<(), tokio_postgres::Error> {
    let mut made = client.batch_execute(SCHEMA).await;
    for attempt in 1..ATTEMPTS {
        if !made.as_ref().is_err_and(is_race) {
            break;
        }
        tokio::time::sleep(pause(attempt)).await;
        made = client.batch_execute(SCHEMA).await;
    }
    made
}

/// Whether another process has made the same meanwhile.
fn is_race(error: &tokio_postgres::Error) -> bool {
    let known = [&SqlState::UNIQUE_VIOLATION, &SqlState::DUPLICATE_TABLE, &SqlState::DUPLICATE_OBJECT];
    is_lost_to_another(error) || error.code().is_some_and(|code| known.contains(&code))
}

/// Asks for the last revisions of those who are watched, and tells them.
async fn look(pool: Pool, registry: Registry<()>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let users: Vec<i64> = registry.users().into_iter().map(signed).collect();
        if users.is_empty() {
            continue;
        }
        // A database that is away is told by requests; whoever watches goes on when it is back.
        let Ok(rows) = pool.rows(LAST, &[&users]).await else { continue };
        for row in rows {
            registry.tell(number(row.get(0)), number(row.get(1)));
        }
    }
}

/// Before a transaction is begun again: longer each time, and not as long as that of another.
fn pause(attempt: u32) -> Duration {
    let chance = getrandom::u32().unwrap_or_default() % 1_000;
    Duration::from_micros(u64::from(attempt * attempt * 100 + attempt * chance))
}

/// Whether the transaction can be begun again: nothing of it was stored.
fn is_lost_to_another(error: &tokio_postgres::Error) -> bool {
    matches!(error.code(), Some(code) if *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED)
}

/// A database that did not answer in time.
fn silent() -> Error {
    tracing::warn!("the database does not answer");
    Error::Away
}

/// What an error of the database means to the service: one that is away, starts, stops, or is still a standby, comes back by itself, and so
/// does room for another connection or a row that others have.
///
/// Away is also a statement of unknown outcome, which the device alone may send again: one whose connection was cut, one whose server a
/// pooler has lost (class 08), and a commit that CockroachDB calls ambiguous (40003).
fn failed(error: tokio_postgres::Error) -> Error {
    let code = error.code().map(|code| code.code().to_owned());
    let is = |classes: &[&str]| {
        code.as_ref().is_some_and(|code| classes.iter().any(|class| code.starts_with(class)))
    };
    let is_cut = error.is_closed() || error.source().is_some_and(|source| source.is::<std::io::Error>());
    let passing = if is(&["53100"]) {
        Error::Full
    } else if is_lost_to_another(&error) || is(&["53", "55P03", "57014"]) {
        Error::Busy
    } else if is(&["08", "25006", "40003", "55", "57"]) || (code.is_none() && is_cut) {
        Error::Away
    } else {
        return Error::Failed(anyhow::Error::new(error));
    };
    tracing::warn!("the database cannot answer now: {error}");
    passing
}

/// Revisions and the like as PostgreSQL has them: it has no unsigned numbers, and nothing here comes near their end.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// An object's data, as it was uploaded.
fn text(bytes: Option<Vec<u8>>) -> Option<String> {
    bytes.map(|bytes| {
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    })
}

fn number(signed: i64) -> u64 {
    u64::try_from(signed).unwrap_or_default()
}

#[async_trait]
impl Storage for Postgres {
    async fn user(&self, name: &str) -> Result<Account> {
        if let Some(known) = self.user_named(name).await? {
            return Ok(known);
        }
        let id = getrandom::u64().map_err(|error| Error::Failed(error.into()))? >> 1;
        let history = token::history().map_err(Error::Failed)?;
        let make =
            "insert into sync_user (id, name, history) values ($1, $2, $3) on conflict (name) do nothing";
        self.pool.rows(make, &[&signed(id), &name, &history]).await?;
        // Another may have made it meanwhile.
        self.user_named(name).await?.ok_or_else(|| Refusal::UnknownUser.into())
    }

    async fn name_of(&self, account: Account) -> Result<Option<String>> {
        Ok(self.users.ask(account).await?.map(|(name, _)| name))
    }

    async fn account(&self, token: &TokenHash, now: i64) -> Result<Option<Account>> {
        // No device has an empty name.
        Ok(self.asking(token, now, "").await?.map(|(account, _)| account))
    }

    async fn register(&self, account: Account, device: &str) -> Result<Client> {
        let place = self.registering.take_one(account, REGISTERING, REGISTERING_OF_USER);
        let _place = place.map_err(|_| Error::Busy)?;
        let registered = timeout(CONNECTION_WITHIN + ANSWERS_WITHIN, self.registered(account, device)).await;
        registered.map_err(|_| silent())?
    }

    async fn client(&self, account: Account, device: &str) -> Result<Option<Client>> {
        let sql = "select number from sync_device where user_id = $1 and name = $2";
        let row = self.row(sql, &[&signed(account.user), &device]).await?;
        Ok(row.map(|row| Client { account, device: number(row.get(0)) }))
    }

    async fn asking(
        &self,
        token: &TokenHash,
        now: i64,
        device: &str,
    ) -> Result<Option<(Account, Option<Client>)>> {
        let asking = self.who.ask(Named { token: *token, device: device.to_owned(), now }).await?;
        if asking.is_some() {
            self.memory.trust(token);
        }
        self.memory.note(Some(token), device, asking.and_then(|(_, client)| client));
        Ok(asking)
    }

    async fn client_named(&self, device: &str) -> Result<Option<Client>> {
        let found = self.devices.ask(device.to_owned()).await?;
        self.memory.note(None, device, found);
        Ok(found)
    }

    async fn user_named(&self, name: &str) -> Result<Option<Account>> {
        let row = self.row("select id from sync_user where name = $1", &[&name]).await?;
        Ok(row.map(|row| Account { user: number(row.get(0)) }))
    }

    async fn devices(&self, account: Account) -> Result<Vec<Known>> {
        let sql = "select name, number from sync_device where user_id = $1 order by name";
        let rows = self.pool.rows(sql, &[&signed(account.user)]).await?;
        let known = |row: &Row| {
            let client = Client { account, device: number(row.get(1)) };
            Known { name: row.get(0), client }
        };
        Ok(rows.iter().map(known).collect())
    }

    async fn usage(&self) -> Result<Vec<Usage>> {
        let rows = self.pool.survey(include_str!("postgres/usage.sql")).await?;
        let usage = |row: &Row| Usage {
            user: row.get(0),
            devices: number(row.get(1)),
            objects: number(row.get(2)),
            deletions: number(row.get(3)),
            bytes: number(row.get(4)),
            revision: number(row.get(5)),
        };
        Ok(rows.iter().map(usage).collect())
    }

    async fn room(&self) -> Result<Vec<Room>> {
        let sql = "select relname::text, pg_total_relation_size(oid) from pg_class \
                   where relkind = 'r' and relname like 'sync\\_%' and pg_table_is_visible(oid) order by relname";
        let rows = self.pool.rows(sql, &[]).await?;
        Ok(rows.iter().map(|row| Room { part: row.get(0), bytes: number(row.get(1)) }).collect())
    }

    async fn upload(&self, client: Client, upload: Upload, room: Option<BodyRoom>) -> Result<Uploaded> {
        match self.writer.upload(upload::Asked { client, upload, grounds: None }, room).await? {
            Tried::Stored(uploaded) => Ok(uploaded),
            Tried::Unknown(..) => Err(Refusal::UnknownUser.into()),
        }
    }

    async fn upload_remembered(
        &self,
        remembered: Remembered,
        now: i64,
        upload: Upload,
        room: Option<BodyRoom>,
    ) -> Result<Tried> {
        let (client, grounds) = (remembered.client, Some((remembered, now)));
        self.writer.upload(upload::Asked { client, upload, grounds }, room).await
    }

    fn forget_remembered(&self, remembered: &Remembered) {
        self.memory.forget(remembered);
    }

    async fn download(&self, client: Client, download: Download) -> Result<Page> {
        let page = self.pages.read(Asked { client, download, grounds: None }).await?;
        Ok(page.unwrap_or(Err(Refusal::UnknownUser))?)
    }

    fn remembered(&self, token: Option<&TokenHash>, device: &str) -> Option<Remembered> {
        self.memory.of(token, device)
    }

    async fn download_remembered(
        &self,
        remembered: Remembered,
        now: i64,
        download: Download,
    ) -> Result<Option<Page>> {
        let client = remembered.client;
        let page = self.pages.read(Asked { client, download, grounds: Some((remembered, now)) }).await?;
        Ok(page.transpose()?)
    }

    async fn standing(&self, account: Account) -> Result<Standing> {
        let known = self.users.ask(account).await?;
        known.map(|(_, standing)| standing).ok_or_else(|| Refusal::UnknownUser.into())
    }

    async fn objects(&self, account: Account, after: u64, to: u64, limit: u32) -> Result<Vec<Version>> {
        let (user, limit) = (signed(account.user), i64::from(limit));
        let rows =
            self.pool.rows(OBJECTS, &[&user, &signed(after), &signed(to), &limit, &PAGE_BYTES]).await?;
        Ok(rows.iter().map(|row| version(row, 0)).collect())
    }

    async fn watch(&self, account: Account) -> Result<Watch> {
        let life = self.life.known();
        let standing = self.standing(account).await?;
        // A revision of a life that has ended would be beyond those of the next.
        self.registry.join(account, || match life == self.life.known() {
            true => Ok((standing.revision, ())),
            false => Err(Error::Away),
        })
    }

    async fn keep_token(
        &self,
        account: Account,
        token: &TokenHash,
        made: i64,
        expires: Option<i64>,
    ) -> Result<()> {
        let sql = "insert into sync_token (hash, user_id, made, expires) values ($1, $2, $3, $4)";
        self.pool.rows(sql, &[&token.bytes().as_slice(), &signed(account.user), &made, &expires]).await?;
        Ok(())
    }

    async fn tokens(&self, user: Option<&str>) -> Result<Vec<Listed>> {
        let sql = "select token.hash, known.name, token.made, token.expires from sync_token token \
                   join sync_user known on known.id = token.user_id where $1::text is null or known.name = $1 \
                   order by known.name, token.made";
        let rows = self.pool.rows(sql, &[&user]).await?;
        let listed = |row: &Row| Listed {
            name: TokenHash::name_of(row.get(0)),
            user: row.get(1),
            made: row.get(2),
            expires: row.get(3),
        };
        Ok(rows.iter().map(listed).collect())
    }

    async fn revoke(&self, name: &str) -> Result<u64> {
        let sql = "delete from sync_token where substring(encode(hash, 'hex') from 1 for 12) = $1 returning user_id";
        Ok(self.pool.rows(sql, &[&name]).await?.len() as u64)
    }

    fn time(&self) -> i64 {
        self.time.now()
    }

    async fn forget(&self, before: i64) -> Result<u64> {
        self.pool.rows(time::NOTE, &[&self.time()]).await?;
        forget::forget(&self.pool, before).await
    }

    async fn check(&self) -> Result<()> {
        if !self.writer.is_alive() {
            return Err(Error::Failed(anyhow::anyhow!("the task that writes uploads has ended")));
        }
        self.health.ask(()).await
    }
}

fn version(row: &Row, from: usize) -> Version {
    Version { id: row.get(from), revision: number(row.get(from + 1)), data: text(row.get(from + 2)) }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Postgres")
            .field("users", &self.registry.users().len())
            .finish_non_exhaustive()
    }
}
