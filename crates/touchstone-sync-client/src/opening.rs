//! How a copy is opened: with which service, and with what the program wants to be asked and told.

use crate::conflict::{Conflict, Displaced, Resolution};
use crate::local::{StateRow, unique_name};
use crate::service::{Client, Service};
use crate::{Error, ErrorKind, Inner, Replica, Result, Retry};
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use touchstone_store::Store;

/// Decides about a conflict.
pub(crate) type Decide = Box<dyn Fn(&Conflict) -> Resolution + Send + Sync>;

/// Is told of what has lost its place.
pub(crate) type Tell = Box<dyn Fn(Displaced) + Send + Sync>;

/// Bytes of a device's name at most: the service takes 256, and the copy's own name stands behind it.
const DEVICE_BYTES_MAX: usize = 200;

/// How a copy is opened.
///
/// ```
/// use touchstone_sync_client::{Options, Resolution, Service};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("notes.db");
/// let service = Service::new("https://sync.example.org", "tsync_0123456789");
/// let replica = Options::new(service)
///     .device("phone")
///     .on_conflict(|conflict| match (&conflict.mine, &conflict.theirs) {
///         (Some(mine), Some(theirs)) => Resolution::Merged(Some(format!("{mine}\n{theirs}"))),
///         _ => Resolution::Mine,
///     })
///     .open(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct Options {
    service: Service,
    device: String,
    retry: Retry,
    store: touchstone_store::Options,
    on_conflict: Option<Decide>,
    on_displaced: Option<Tell>,
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Options").field("service", &self.service).finish_non_exhaustive()
    }
}

impl Options {
    /// A copy of what the token's user has at a service.
    pub fn new(service: Service) -> Options {
        Options {
            service,
            device: "device".into(),
            retry: Retry::default(),
            store: touchstone_store::Options::new(),
            on_conflict: None,
            on_displaced: None,
        }
    }

    /// What the service's owner sees of this device. A new copy is registered by this name and a random number, and keeps that: what
    /// two copies make is never taken for what one has made. The default is `device`.
    pub fn device(mut self, name: impl Into<String>) -> Options {
        self.device = name.into();
        self
    }

    /// How often, and how soon, the service is asked again that was away.
    pub fn retry(mut self, retry: Retry) -> Options {
        self.retry = retry;
        self
    }

    /// How the store is opened that keeps the copy: what an edit survives, and whether it is encrypted.
    pub fn store(mut self, options: touchstone_store::Options) -> Options {
        self.store = options;
        self
    }

    /// Asks this function where another device has changed an object that this one has edited, unless both have made the same of it. Without
    /// it the edit that comes to the service last wins. It is called by whoever syncs, outside of any transaction, and again where the object changes meanwhile. It must not
    /// sync itself, for then it would wait for itself.
    pub fn on_conflict(
        mut self,
        decide: impl Fn(&Conflict) -> Resolution + Send + Sync + 'static,
    ) -> Options {
        self.on_conflict = Some(Box::new(decide));
        self
    }

    /// Tells this function of each state that has lost its place: what an edit of this device has overwritten without knowing of it,
    /// and edits that the service refuses. After a crash it may be told of one again, and never of none. Refused edits are kept for it
    /// if it comes with a later opening; what is overwritten without it is gone. It may sync: what that displaces it is told of when it
    /// has returned. Where several threads or programs sync the copy, each may tell of the same.
    pub fn on_displaced(mut self, tell: impl Fn(Displaced) + Send + Sync + 'static) -> Options {
        self.on_displaced = Some(Box::new(tell));
        self
    }

    /// Opens the copy in a file, which is made where there is none. Nothing is asked of the service yet.
    ///
    /// # Errors
    /// When the address, the token, what is to be trusted or the device's name cannot be, the store cannot be opened, or the system gives no
    /// random bytes.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Replica> {
        self.service.check()?;
        let agent = self.service.agent()?;
        check_device(&self.device)?;
        let store = self.store.open(path)?;
        let client = named(&store, &self.device)?;
        let turn = turn(store.path())?;
        Ok(Replica {
            inner: Arc::new(Inner {
                client: Client::new(agent, self.service, client),
                store,
                retry: self.retry,
                turn: Mutex::new(turn),
                is_of_user: AtomicBool::new(false),
                on_conflict: self.on_conflict,
                on_displaced: self.on_displaced,
                telling: Mutex::default(),
            }),
        })
    }
}

/// Refuses a name that cannot be sent in a header.
fn check_device(device: &str) -> Result<()> {
    let is_sent = device.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && device.trim() == device;
    if device.is_empty() || device.len() > DEVICE_BYTES_MAX || !is_sent {
        let text = format!(
            "the device's name has to be 1 to {DEVICE_BYTES_MAX} printable characters of ASCII, and no space at its ends: it is {device:?}"
        );
        return Err(Error::new(ErrorKind::Setting, text));
    }
    Ok(())
}

/// The name that the copy is registered by, made when it is opened first.
fn named(store: &Store, device: &str) -> Result<String> {
    if let Some(state) = store.get::<StateRow>(&0)? {
        return Ok(state.client);
    }
    let client = format!("{device}-{}", &unique_name()?[..16]);
    let state = StateRow { id: 0, client, history: None, cursor: 0, is_whole: false, user: None };
    let kept = store.write(|transaction| match transaction.get::<StateRow>(&0)? {
        Some(other) => Ok(other),
        None => transaction.insert(&state).map(|()| state),
    })?;
    Ok(kept.client)
}

/// The file whose lock a sync holds: of all programs that have the copy open one speaks to the service at a time.
fn turn(store: &Path) -> Result<File> {
    let mut name: OsString = store.as_os_str().to_owned();
    name.push("-sync");
    let opened = File::options().create(true).truncate(false).write(true).open(PathBuf::from(name));
    opened.map_err(|error| {
        Error::system("it does not open the file beside the store that syncs are locked by", error)
    })
}
