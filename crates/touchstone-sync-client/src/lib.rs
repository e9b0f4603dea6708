//! A user's objects in a store of this device's own, kept in step with the sync service `touchstone-sync`.
//!
//! Reads and edits are of the local copy: they need no network, and wait for none. An edit goes to an outbox in the same transaction.
//! [`Replica::sync`] sends the outbox and fetches what the user's other devices have changed; [`Replica::watch`] does so whenever
//! there is something.
//!
//! An edit has a name that it keeps until the service has stored it. One whose answer is lost is sent again under that name, and the
//! service applies it once. A crash at any point loses no edit, and applies none twice.
//!
//! ```no_run
//! use touchstone_sync_client::{Replica, Service};
//!
//! let service = Service::new("https://sync.example.org", std::env::var("TOUCHSTONE_SYNC_TOKEN")?);
//! let replica = Replica::open("notes.db", service)?;
//! replica.put("note/1", "milk")?;
//! replica.sync()?;
//! for item in replica.list()? {
//!     println!("{} {:?}", item.id, item.data);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod conflict;
mod error;
mod local;
mod opening;
mod owner;
mod pull;
mod push;
mod retry;
mod service;
mod watch;
mod wire;

pub use conflict::{Conflict, Displaced, Resolution};
pub use error::{Error, ErrorKind, Result};
pub use local::Item;
pub use opening::Options;
pub use retry::Retry;
pub use service::Service;
pub use watch::{Event, Watching};

use local::{OutgoingRow, StateRow};
use opening::{Decide, Tell};
use service::{Asked, Client, Failure};
use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use touchstone_store::Store;

/// How often one sync begins anew because the service's history is another, or the device is not known to it.
const ROUNDS_MAX: u32 = 8;

/// A user's objects on this device. Clones are of the same copy.
#[derive(Clone)]
pub struct Replica {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    client: Client,
    retry: Retry,
    /// Held by the one that syncs, of all threads and of all programs.
    turn: Mutex<File>,
    /// Whether the token is known to be of the copy's user.
    is_of_user: AtomicBool,
    on_conflict: Option<Decide>,
    on_displaced: Option<Tell>,
    /// Who calls `on_displaced` now.
    telling: Mutex<HashSet<ThreadId>>,
}

/// What a sync has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Synced {
    /// Edits that the service has stored.
    pub sent: u64,
    /// Versions that were fetched.
    pub fetched: u64,
    /// Conflicts that the program has decided.
    pub conflicts: u64,
    /// Versions of other devices that edits of this one have overwritten without knowing of them.
    pub overwritten: u64,
    /// Edits that the service has refused.
    pub refused: u64,
}

impl Replica {
    /// Opens the copy in a file, which is made where there is none. Nothing is asked of the service yet. [`Options`] has more to say.
    ///
    /// # Errors
    /// As for [`Options::open`].
    pub fn open(path: impl AsRef<Path>, service: Service) -> Result<Replica> {
        Options::new(service).open(path)
    }

    /// The store of the copy, for live queries of [`Item`]s, and for records of the program's own. Items are edited by
    /// [`put`](Replica::put), [`update`](Replica::update) and [`delete`](Replica::delete) alone.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// An object's data; none where there is no such object.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn get(&self, id: &str) -> Result<Option<String>> {
        Ok(self.store().get::<Item>(id)?.and_then(|item| item.data))
    }

    /// Every object, by its name.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn list(&self) -> Result<Vec<Item>> {
        let there = |snapshot: &touchstone_store::Snapshot| {
            let items = snapshot.query::<Item>().filter(|item| item.data.is_not_null());
            items.order(|item| item.id.ascending()).all()
        };
        Ok(self.store().read(there)?)
    }

    /// Makes an object, or gives it another state: here at once, and at the service with the next sync.
    ///
    /// # Errors
    /// When the name or the data are longer than a service takes, the store cannot be written, or the system gives no random bytes.
    pub fn put(&self, id: &str, data: &str) -> Result<()> {
        self.edit(id, Some(data))
    }

    /// Deletes an object: here at once, and at the service with the next sync. One that is not there stays so.
    ///
    /// # Errors
    /// As for [`put`](Replica::put).
    pub fn delete(&self, id: &str) -> Result<()> {
        self.edit(id, None)
    }

    fn edit(&self, id: &str, data: Option<&str>) -> Result<()> {
        local::check(id, data)?;
        let name = local::unique_name()?;
        self.store().write(|transaction| local::edit(transaction, id, data.map(str::to_owned), name))?;
        Ok(())
    }

    /// Changes an object to what the function makes of it, and says what that is: here at once, and at the service with the next sync.
    /// None is no object, before and after. Nothing comes between what the function is given and what it gives back, of whatever thread,
    /// program or sync, as it may between [`get`](Replica::get) and [`put`](Replica::put): the edit is made on what the function has
    /// seen. Where it gives back what it was given, there is no edit.
    ///
    /// The function is called once, within a transaction of the store: it must be quick, and neither edit nor sync the copy.
    ///
    /// # Errors
    /// As for [`put`](Replica::put).
    pub fn update(
        &self,
        id: &str,
        change: impl FnOnce(Option<&str>) -> Option<String>,
    ) -> Result<Option<String>> {
        self.try_update(id, |data| Ok(change(data)))
    }

    /// As [`update`](Replica::update), with a function that may refuse: then nothing is changed.
    ///
    /// # Errors
    /// With the function's own error, and as for [`put`](Replica::put).
    pub fn try_update<E: From<Error>>(
        &self,
        id: &str,
        change: impl FnOnce(Option<&str>) -> std::result::Result<Option<String>, E>,
    ) -> std::result::Result<Option<String>, E> {
        let name = local::unique_name()?;
        let updated = self.store().try_write(|transaction| {
            let before = transaction.get::<Item>(id)?.and_then(|item| item.data);
            let after = change(before.as_deref()).map_err(NotUpdated)?;
            if after != before {
                local::check(id, after.as_deref()).map_err(|error| NotUpdated(error.into()))?;
                local::edit(transaction, id, after.clone(), name)?;
            }
            Ok(after)
        });
        updated.map_err(|NotUpdated(error)| error)
    }

    /// How many edits wait to be stored by the service.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn pending(&self) -> Result<u64> {
        Ok(self.store().read(|snapshot| snapshot.of::<OutgoingRow>().count())?)
    }

    /// Sends what is in the outbox, and fetches what other devices have changed since. A service that is away is asked again, as
    /// [`Retry`] says; the thread waits meanwhile. So it does while another thread or another program syncs the same copy.
    ///
    /// # Errors
    /// When the service was away each time, or refuses, the token is of another user than the copy, or the store cannot be written. What
    /// was done until then stays, and the next call goes on from there.
    pub fn sync(&self) -> Result<Synced> {
        let mut failures = 0;
        loop {
            let error = match self.sync_once() {
                Err(error) if error.passes() => error,
                done => return done,
            };
            failures += 1;
            if !self.inner.retry.goes_on(failures, &error) {
                return Err(error);
            }
            thread::sleep(self.inner.retry.pause(failures, &error));
        }
    }

    /// Syncs, and asks nobody twice.
    fn sync_once(&self) -> Result<Synced> {
        let mut synced = Synced::default();
        let turn = self.turn()?;
        let done = self.in_step(&mut synced);
        drop(turn);
        // What is known to be displaced is told of, whatever came after it.
        self.tell_displaced()?;
        done.map(|()| synced)
    }

    /// Comes in step with the service, in as many rounds as its refusals ask for.
    fn in_step(&self, synced: &mut Synced) -> Result<()> {
        let mut rounds = 0;
        loop {
            let problem = match self.round(synced) {
                Err(Failure::Problem(problem)) => problem,
                done => return done.map_err(Error::from),
            };
            rounds += 1;
            match problem.kind.rsplit('/').next() {
                _ if rounds >= ROUNDS_MAX => return Err(Failure::Problem(problem).into()),
                Some("unknown-device") => self.register()?,
                Some("cursor-lost") => self.begin_anew(true)?,
                Some("cursor-ahead" | "other-history") => self.begin_anew(false)?,
                _ => return Err(Failure::Problem(problem).into()),
            }
        }
    }

    fn round(&self, synced: &mut Synced) -> Asked<()> {
        self.check_user()?;
        if !self.state()?.is_whole {
            self.fetch_everything(synced)?;
        }
        self.push(synced)?;
        self.pull(synced)
    }

    fn state(&self) -> Result<StateRow> {
        let state = self.store().get::<StateRow>(&0)?;
        state.ok_or_else(|| Error::new(ErrorKind::Store, "its row of `sync_state` is gone: make a new copy"))
    }

    /// Waits until nobody else syncs the copy.
    fn turn(&self) -> Result<Turn<'_>> {
        let file = self.inner.turn.lock().unwrap_or_else(PoisonError::into_inner);
        file.lock().map_err(|error| Error::system("it does not lock the file beside the store", error))?;
        Ok(Turn(file))
    }

    fn client(&self) -> &Client {
        &self.inner.client
    }

    fn on_displaced(&self) -> Option<&Tell> {
        self.inner.on_displaced.as_ref()
    }

    /// Whether the program wants to know of what is overwritten.
    fn tells(&self) -> bool {
        self.inner.on_displaced.is_some()
    }

    /// Whether the program decides about conflicts.
    fn decides(&self) -> bool {
        self.inner.on_conflict.is_some()
    }

    fn ask(&self, conflict: &Conflict) -> Resolution {
        self.inner.on_conflict.as_ref().map_or(Resolution::Mine, |decide| decide(conflict))
    }
}

impl fmt::Debug for Replica {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Replica").field("store", &self.inner.store).finish_non_exhaustive()
    }
}

/// Why an object was not updated, in the words of the program's own kind of error.
struct NotUpdated<E>(E);

impl<E: From<Error>> From<touchstone_store::Error> for NotUpdated<E> {
    fn from(error: touchstone_store::Error) -> NotUpdated<E> {
        NotUpdated(Error::from(error).into())
    }
}

/// The turn of one that syncs.
struct Turn<'r>(MutexGuard<'r, File>);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}
