//! The default: one file of the reference store, in the service's own process.

mod apply;
mod devices;
mod forget;
pub(crate) mod group;
mod hub;
mod life;
mod schema;
mod survey;
mod time;

use super::{
    Account, Client, DEVICES_MAX, Error, Known, Listed, PAGE_BYTES_MAX, PASSED_OVER, Refusal, Result, Room,
    Storage, Usage, Watch, check_cursor, page_of,
};
use crate::change::{Download, Page, Standing, Upload, Uploaded, Version};
use crate::clock::ServiceTime;
use crate::shares::{BodyRoom, Shares};
use crate::token::TokenHash;
use async_trait::async_trait;
use devices::Devices;
use group::Writer;
use hub::Hub;
use life::Presence;
use schema::{DeviceRow, TokenRow, UserRow, VersionRow};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{Semaphore, watch};
use touchstone_store::{CheckReport, ErrorKind, Query, Snapshot, Store, Transaction};

/// Registrations and the like that may wait for their turn to write: a thread waits for each.
pub(crate) const TURNS: usize = 128;

/// Registrations of one user of them.
pub(crate) const TURNS_OF_USER: usize = TURNS / 2;

/// Long reads that are under way together, at most: one whose client has gone is read to its end.
const SURVEYS: usize = 16;

/// Versions that are passed over, at most, on a thread that answers others too.
pub(crate) const NEAR: u64 = 500;

/// Pages of a user that pass over more, and are read together.
pub(crate) const FAR_OF_USER: usize = 16;

/// How often something is read that the log's growth has ended. Then the request is told to come again.
const READS: u32 = 20;

/// One file of the reference store.
#[derive(Clone, Debug)]
pub struct Embedded {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Store,
    writer: Writer,
    hub: Hub,
    devices: Devices,
    time: ServiceTime,
    /// Writes beside those of the writer that may wait together.
    turns: Arc<Semaphore>,
    /// Long reads that may be under way together.
    surveys: Arc<Semaphore>,
    /// The places of pages that pass over much.
    far: Shares,
    /// The places of registrations that wait.
    registering: Shares,
    /// Whether the last that was to be written found no room.
    is_full: AtomicBool,
    /// The store's own failure, once it commits nothing more.
    broken: watch::Sender<Option<touchstone_store::Error>>,
    /// Notes the end, after the last upload is written.
    _life: Option<Life>,
}

/// A service's use of a store, until it is dropped.
#[derive(Debug)]
struct Life {
    store: Store,
    presence: Presence,
    time: ServiceTime,
}

impl Drop for Life {
    fn drop(&mut self) {
        if let Err(error) = life::end(&self.store, &self.presence, self.time.now()) {
            tracing::warn!("the store's end cannot be noted: {error}");
        }
    }
}

impl Embedded {
    /// Reads and writes what a store holds, beside the service that serves it.
    ///
    /// # Errors
    /// When the system gives no threads, or the store no feed.
    pub fn new(store: Store) -> anyhow::Result<Embedded> {
        let time = time::begin(&store)?;
        Embedded::start(store, time, None)
    }

    /// Serves what a store holds. Where the system has lost power since it was served last, users have new histories.
    ///
    /// # Errors
    /// As for [`new`](Embedded::new), and when the store cannot be written.
    pub fn to_serve(store: Store) -> anyhow::Result<Embedded> {
        let time = time::begin(&store)?;
        let begun = life::begin(&store, time.now())?;
        if begun.is_lost {
            tracing::warn!(
                "the system was started again and the service had not ended: users have new histories, devices fetch everything"
            );
        }
        let life = Life { store: store.clone(), presence: begun.presence, time };
        Embedded::start(store, time, Some(life))
    }

    fn start(store: Store, time: ServiceTime, life: Option<Life>) -> anyhow::Result<Embedded> {
        let hub = Hub::start(&store)?;
        let writer = Writer::start(store.clone(), time)?;
        Ok(Embedded {
            inner: Arc::new(Inner {
                store,
                writer,
                hub,
                devices: Devices::default(),
                time,
                turns: Arc::new(Semaphore::new(TURNS)),
                surveys: Arc::new(Semaphore::new(SURVEYS)),
                far: Shares::default(),
                registering: Shares::default(),
                is_full: AtomicBool::new(false),
                broken: watch::Sender::new(None),
                _life: life,
            }),
        })
    }

    /// Begins a new history for each user of a store that was made of a backup.
    ///
    /// # Errors
    /// When the store cannot be written, or the system gives no random bytes.
    pub fn begin_histories(store: &Store) -> anyhow::Result<()> {
        life::begin_anew(store)
    }

    /// Reads every page and every row of a store.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn check(store: &Store) -> touchstone_store::Result<CheckReport> {
        survey::check(store)
    }

    /// The store itself.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Reads at one moment, on the thread that asks: what is asked for is a few rows that lie together.
    fn read<R>(&self, mut work: impl FnMut(&Snapshot) -> touchstone_store::Result<R>) -> Result<R> {
        for _ in 0..READS {
            match self.inner.store.read(&mut work) {
                // The log has grown beyond its limit meanwhile: another moment is as good.
                Err(error) if error.kind() == ErrorKind::Expired => {}
                read => return read.map_err(failed),
            }
        }
        Err(Error::Busy)
    }

    /// Reads much, on a thread that may take its time.
    async fn survey<R: Send + 'static>(
        &self,
        work: impl FnMut(&Snapshot) -> touchstone_store::Result<R> + Send + 'static,
    ) -> Result<R> {
        let turn = Arc::clone(&self.inner.surveys).acquire_owned().await;
        let embedded = self.clone();
        let read = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            embedded.read(work)
        });
        read.await.map_err(|error| Error::Failed(error.into()))?
    }

    /// Writes on a thread that may wait for its turn.
    async fn write<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> touchstone_store::Result<R> + Send + 'static,
    ) -> Result<R> {
        let turn = Arc::clone(&self.inner.turns).try_acquire_owned().map_err(|_| Error::Busy)?;
        let store = self.inner.store.clone();
        let written = tokio::task::spawn_blocking(move || {
            // It is written whether or not its client waits.
            let _turn = turn;
            store.write(work)
        });
        self.noted(written.await.map_err(|error| Error::Failed(error.into()))?.map_err(failed))
    }

    /// Notes what a write says of the store: that there was no room, or that the store commits nothing more. After the latter the
    /// service ends, and the device sends its upload again to the next one.
    fn noted<R>(&self, written: Result<R>) -> Result<R> {
        match &written {
            Ok(_) => self.inner.is_full.store(false, Ordering::Relaxed),
            Err(Error::Full) => self.inner.is_full.store(true, Ordering::Relaxed),
            Err(Error::Failed(error)) => {
                let of_store = error.downcast_ref::<touchstone_store::Error>();
                if let Some(error) = of_store.filter(|error| error.kind() == ErrorKind::Unflushed) {
                    self.inner.broken.send_replace(Some(error.clone()));
                    return Err(Error::Away);
                }
            }
            Err(_) => {}
        }
        written
    }
}

/// What an error of the store means to the service: one that is busy passes by itself, and a full disk is its owner's to mend.
fn failed(error: touchstone_store::Error) -> Error {
    match error.kind() {
        ErrorKind::Busy => Error::Busy,
        ErrorKind::Full => Error::Full,
        _ => Error::Failed(error.into()),
    }
}

#[async_trait]
impl Storage for Embedded {
    async fn user(&self, name: &str) -> Result<Account> {
        let known = self.read(|snapshot| user_of_name(snapshot, name))?;
        if let Some(user) = known {
            return Ok(Account { user: user.id });
        }
        let name = name.to_owned();
        let history = crate::token::history().map_err(Error::Failed)?;
        self.write(move |transaction| make_user(transaction, name, history)).await
    }

    async fn name_of(&self, account: Account) -> Result<Option<String>> {
        let user = self.read(|snapshot| snapshot.get::<UserRow>(&account.user))?;
        Ok(user.map(|user| user.name))
    }

    async fn account(&self, token: &TokenHash, now: i64) -> Result<Option<Account>> {
        let known = self.read(|snapshot| snapshot.get::<TokenRow>(&token.bytes().to_vec()))?;
        let valid = known.filter(|token| token.expires.is_none_or(|expires| now < expires));
        Ok(valid.map(|token| Account { user: token.user }))
    }

    async fn register(&self, account: Account, device: &str) -> Result<Client> {
        if let Some(client) = self.client(account, device).await? {
            return Ok(client);
        }
        let device = device.to_owned();
        let place = self.inner.registering.take_one(account, TURNS, TURNS_OF_USER);
        let place = place.map_err(|_| Error::Busy)?;
        let made = self.write(move |transaction| {
            let _place = place;
            make_device(transaction, account, device)
        });
        let made = made.await?;
        made.map_err(Error::Refused)
    }

    async fn client(&self, account: Account, device: &str) -> Result<Option<Client>> {
        self.inner.devices.find(Some(account), device, || {
            let key = (account.user, device.to_owned());
            let known = self.read(|snapshot| snapshot.get::<DeviceRow>(&key))?;
            Ok(known.map(|device| Client { account, device: device.number }))
        })
    }

    async fn client_named(&self, device: &str) -> Result<Option<Client>> {
        self.inner.devices.find(None, device, || {
            let named =
                |snapshot: &Snapshot| snapshot.query::<DeviceRow>().filter(|row| row.name.eq(device)).first();
            let known = self.read(named)?;
            Ok(known.map(|known| Client { account: Account { user: known.user }, device: known.number }))
        })
    }

    async fn user_named(&self, name: &str) -> Result<Option<Account>> {
        let known = self.read(|snapshot| user_of_name(snapshot, name))?;
        Ok(known.map(|user| Account { user: user.id }))
    }

    async fn devices(&self, account: Account) -> Result<Vec<Known>> {
        let rows = self.read(|snapshot| {
            let all = snapshot.query::<DeviceRow>().filter(|row| row.user.eq(account.user));
            all.order(|row| row.name.ascending()).all()
        })?;
        let known = |row: DeviceRow| Known { name: row.name, client: Client { account, device: row.number } };
        Ok(rows.into_iter().map(known).collect())
    }

    async fn usage(&self) -> Result<Vec<Usage>> {
        self.survey(survey::usage).await
    }

    async fn room(&self) -> Result<Vec<Room>> {
        self.survey(survey::room).await
    }

    async fn upload(&self, client: Client, upload: Upload, room: Option<BodyRoom>) -> Result<Uploaded> {
        self.noted(self.inner.writer.upload(client, upload, room).await)
    }

    async fn download(&self, client: Client, download: Download) -> Result<Page> {
        if let Some(page) = self.read(|snapshot| page(snapshot, client, &download, false))? {
            return page.map_err(Error::Refused);
        }
        let place = self.inner.far.take_one(client.account, usize::MAX, FAR_OF_USER);
        let place = place.map_err(|_| Error::Busy)?;
        let read = move |snapshot: &Snapshot| {
            let _place = &place;
            page(snapshot, client, &download, true)
        };
        self.survey(read).await?.expect("it looks as far as is needed").map_err(Error::Refused)
    }

    async fn standing(&self, account: Account) -> Result<Standing> {
        let user = self.read(|snapshot| snapshot.get::<UserRow>(&account.user))?;
        let user = user.ok_or(Refusal::UnknownUser)?;
        Ok(Standing { revision: user.revision, history: user.history })
    }

    async fn objects(&self, account: Account, after: u64, to: u64, limit: u32) -> Result<Vec<Version>> {
        // Deletions are passed over, of which a user may have any number.
        let read = move |snapshot: &Snapshot| {
            let rest = snapshot.query::<VersionRow>().order(|row| row.revision.ascending());
            let rest = rest.filter(|row| row.user.eq(account.user).and(row.revision.gt(after)));
            gathered(rest.filter(|row| row.revision.le(to).and(row.data.is_not_null())), limit)
        };
        let (versions, _) = self.survey(read).await?;
        Ok(versions)
    }

    async fn watch(&self, account: Account) -> Result<Watch> {
        let inner = Arc::clone(&self.inner);
        let watched = tokio::task::spawn_blocking(move || inner.hub.watch(account)).await;
        watched.map_err(|error| Error::Failed(error.into()))?.map_err(failed)
    }

    async fn keep_token(
        &self,
        account: Account,
        token: &TokenHash,
        made: i64,
        expires: Option<i64>,
    ) -> Result<()> {
        let row = TokenRow { hash: token.bytes().to_vec(), user: account.user, made, expires };
        self.write(move |transaction| transaction.insert(&row)).await
    }

    async fn tokens(&self, user: Option<&str>) -> Result<Vec<Listed>> {
        self.read(|snapshot| {
            let mut listed = Vec::new();
            for token in snapshot.of::<TokenRow>().all()? {
                let owner = snapshot.get::<UserRow>(&token.user)?.map_or_else(String::new, |user| user.name);
                if user.is_none_or(|user| user == owner) {
                    let name = TokenHash::name_of(&token.hash);
                    listed.push(Listed { name, user: owner, made: token.made, expires: token.expires });
                }
            }
            Ok(listed)
        })
    }

    async fn revoke(&self, name: &str) -> Result<u64> {
        let name = name.to_owned();
        self.write(move |transaction| {
            let tokens = transaction.of::<TokenRow>().all()?;
            let named = tokens.into_iter().filter(|token| TokenHash::name_of(&token.hash) == name);
            named.map(|token| transaction.remove::<TokenRow>(&token.hash).map(u64::from)).sum()
        })
        .await
    }

    fn time(&self) -> i64 {
        self.inner.time.now()
    }

    async fn forget(&self, before: i64) -> Result<u64> {
        let (time, mut forgotten) = (self.time(), 0);
        self.write(move |transaction| time::note(transaction, time)).await?;
        loop {
            match self.write(move |transaction| forget::forget_some(transaction, before)).await? {
                0 => return Ok(forgotten),
                some => forgotten += some,
            }
        }
    }

    async fn check(&self) -> Result<()> {
        if !self.inner.writer.is_alive() {
            return Err(Error::Failed(anyhow::anyhow!("the thread that writes uploads has ended")));
        }
        self.read(|snapshot| snapshot.of::<UserRow>().query().limit(1).all())?;
        // Who asks for readiness need not be known, and makes no writes but where the last one failed.
        if self.inner.is_full.load(Ordering::Relaxed) {
            self.write(life::probe).await?;
            self.write(life::end_probe).await?;
        }
        Ok(())
    }

    async fn broken(&self) -> anyhow::Error {
        let mut broken = self.inner.broken.subscribe();
        loop {
            if let Some(error) = broken.borrow_and_update().as_ref() {
                return error.clone().into();
            }
            // The sender lives as long as this storage does.
            let _ = broken.changed().await;
        }
    }
}

fn user_of_name(snapshot: &Snapshot, name: &str) -> touchstone_store::Result<Option<UserRow>> {
    snapshot.query::<UserRow>().filter(|user| user.name.eq(name)).first()
}

fn make_user(
    transaction: &mut Transaction<'_>,
    name: String,
    history: String,
) -> touchstone_store::Result<Account> {
    if let Some(known) = transaction.query::<UserRow>().filter(|user| user.name.eq(&*name)).first()? {
        return Ok(Account { user: known.id });
    }
    let last = transaction.query::<UserRow>().order(|user| user.id.descending()).first()?;
    let id = last.map_or(1, |last| last.id + 1);
    transaction.insert(&UserRow { id, name, history, revision: 0, horizon: 0, devices: 0 })?;
    Ok(Account { user: id })
}

/// The device, made where it is not known.
fn make_device(
    transaction: &mut Transaction<'_>,
    account: Account,
    name: String,
) -> touchstone_store::Result<std::result::Result<Client, Refusal>> {
    let user = account.user;
    let Some(owner) = transaction.get::<UserRow>(&user)? else { return Ok(Err(Refusal::UnknownUser)) };
    let known = transaction.get::<DeviceRow>(&(user, name.clone()))?;
    if let Some(known) = known {
        return Ok(Ok(Client { account, device: known.number }));
    }
    if owner.devices >= DEVICES_MAX {
        return Ok(Err(Refusal::TooManyDevices { most: DEVICES_MAX }));
    }
    let number = owner.devices + 1;
    transaction.update::<UserRow>(&user, |user| user.devices = number)?;
    transaction.insert(&DeviceRow { user, name, number })?;
    Ok(Ok(Client { account, device: number }))
}

/// A page, or why the cursor leads to none. None where many of the device's own versions may have to be passed over, unless it is `far`.
fn page(
    snapshot: &Snapshot,
    client: Client,
    download: &Download,
    far: bool,
) -> touchstone_store::Result<Option<std::result::Result<Page, Refusal>>> {
    let id = client.account.user;
    let Some(user) = snapshot.get::<UserRow>(&id)? else { return Ok(Some(Err(Refusal::UnknownUser))) };
    if let Err(refusal) = check_cursor(download, user.revision, user.horizon, &user.history) {
        return Ok(Some(Err(refusal)));
    }
    let behind_by = user.revision.saturating_sub(download.cursor);
    if download.others && !far && behind_by > NEAR {
        return Ok(None);
    }
    let behind = || {
        let versions = snapshot.query::<VersionRow>().order(|row| row.revision.ascending());
        versions.filter(|row| row.user.eq(id).and(row.revision.gt(download.cursor)))
    };
    let (mut rest, mut looked_at) = (behind(), None);
    if download.others {
        rest = rest.filter(|row| row.device.ne(client.device));
        if behind_by > PASSED_OVER {
            looked_at = behind().offset(PASSED_OVER - 1).limit(1).all()?.first().map(|row| row.revision);
        }
        if let Some(last) = looked_at {
            rest = rest.filter(|row| row.revision.le(last));
        }
    }
    let (versions, more) = gathered(rest, download.limit)?;
    Ok(Some(Ok(page_of(versions, more, looked_at, download, user.revision))))
}

/// Versions up to a number and to the bytes of a page, and whether there are more.
fn gathered(query: Query<'_, VersionRow>, limit: u32) -> touchstone_store::Result<(Vec<Version>, bool)> {
    let (mut versions, mut bytes, mut more) = (Vec::new(), 0, false);
    query.limit(u64::from(limit) + 1).each(|row| {
        let is_room = versions.len() < limit as usize && (versions.is_empty() || bytes < PAGE_BYTES_MAX);
        if is_room {
            bytes += row.data.as_ref().map_or(0, String::len);
            versions.push(version(row));
        }
        more = !is_room;
        Ok(is_room)
    })?;
    Ok((versions, more))
}

fn version(row: VersionRow) -> Version {
    Version { id: row.object, revision: row.revision, data: row.data }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_expires_each_time_is_told_to_come_again() {
        let folder = tempfile::tempdir().unwrap();
        let embedded = Embedded::new(Store::open(folder.path().join("sync.db")).unwrap()).unwrap();
        let mut reads = 0;
        let read: Result<()> = embedded.read(|_| {
            reads += 1;
            Err(touchstone_store::Error::new(ErrorKind::Expired, "the log has grown"))
        });
        assert!(matches!(read, Err(Error::Busy)) && reads == READS, "{read:?} after {reads}");
    }
}
