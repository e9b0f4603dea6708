//! Where users, devices and versions are kept: one trait, which each storage keeps in the same way.
//!
//! **Scope.** Whatever is read or written of a user takes an [`Account`] or a [`Client`], and only a storage makes these, of a token or
//! of a device that it knows. So no question reaches another user's versions.
//!
//! **Order.** A revision is given when the user's row is locked by its upload, and the lock is held until the upload is stored. So
//! whoever sees a revision sees all before it.

pub(crate) mod decide;
pub mod embedded;
pub(crate) mod gather;
#[cfg(feature = "postgres")]
pub mod postgres;
mod watching;

use crate::change::{Download, Page, Standing, Upload, Uploaded, Version};
use crate::shares::BodyRoom;
use crate::token::TokenHash;
use async_trait::async_trait;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;
use tokio::sync::watch;

/// Bytes of a page's data from which on it ends, so that no answer takes memory without a bound.
pub(crate) const PAGE_BYTES_MAX: usize = 1 << 20;

/// Devices of a user at most.
pub(crate) const DEVICES_MAX: u64 = 10_000;

/// A user, known to the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Account {
    user: u64,
}

#[cfg(test)]
impl Account {
    /// One that no storage knows.
    pub(crate) fn numbered(user: u64) -> Account {
        Account { user }
    }
}

/// A device of a user, known to the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    account: Account,
    device: u64,
}

impl Client {
    /// Whose device it is.
    pub fn account(self) -> Account {
        self.account
    }
}

/// A device as an earlier request has found it. Its token may be revoked since, so it is only good for
/// [`download_remembered`](Storage::download_remembered) and [`upload_remembered`](Storage::upload_remembered), which look again.
#[derive(Clone, Debug)]
pub struct Remembered {
    client: Client,
    /// The token that it was found by; none where its name alone was asked for.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "PostgreSQL alone remembers devices"))]
    token: Option<TokenHash>,
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "PostgreSQL alone remembers devices"))]
    device: Arc<str>,
}

impl Remembered {
    /// The device that was found.
    pub fn client(&self) -> Client {
        self.client
    }
}

/// What became of an upload of a device that is remembered.
#[derive(Debug)]
pub enum Tried {
    /// It is stored.
    Stored(Uploaded),
    /// The device is not known to have its right, and nothing is stored. The upload, and its room.
    Unknown(Upload, Option<BodyRoom>),
}

/// A token as it is listed: the secret itself is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The first digits of its hash, which name it.
    pub name: String,
    /// Whose it is.
    pub user: String,
    /// When it was made, in seconds since 1970.
    pub made: i64,
    /// When it ends, in seconds since 1970; none where it does not.
    pub expires: Option<i64>,
}

/// A device of a user, as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The name that it was registered by.
    pub name: String,
    /// The device itself.
    pub client: Client,
}

/// What a user has, as the service's owner sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// The user.
    pub user: String,
    /// How many devices were registered.
    pub devices: u64,
    /// How many objects there are.
    pub objects: u64,
    /// How many deletions are remembered.
    pub deletions: u64,
    /// Bytes of the objects' data.
    pub bytes: u64,
    /// The last revision.
    pub revision: u64,
}

/// A part of the room that a storage takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Room {
    /// Which part, in words.
    pub part: String,
    /// How many bytes it takes.
    pub bytes: u64,
}

/// A user's last revision, as it rises.
pub struct Watch {
    /// The last revision.
    pub revisions: watch::Receiver<u64>,
    /// What keeps it going, until it is dropped.
    pub kept: Arc<dyn Send + Sync>,
}

/// Why something is not done that was asked for.
#[derive(Debug)]
pub enum Error {
    /// What was asked for cannot be, now or later.
    Refused(Refusal),
    /// The storage has more to do than it takes: later it can be done.
    Busy,
    /// The storage cannot be reached: when it is back it can be done.
    Away,
    /// There is no room to write: when the service's owner has made some it can be done.
    Full,
    /// The storage failed. The words are for the service's owner, and for no client.
    Failed(anyhow::Error),
}

/// Why a request makes no sense to the storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The user was removed meanwhile.
    UnknownUser,
    /// The cursor is beyond the user's last revision.
    FutureCursor {
        /// What was given.
        cursor: u64,
        /// The user's last revision.
        revision: u64,
    },
    /// Deletions after the cursor are forgotten already.
    LostCursor {
        /// What was given.
        cursor: u64,
        /// Up to which revision deletions may be forgotten.
        horizon: u64,
    },
    /// Revisions are of another history.
    OtherHistory {
        /// The user's.
        history: String,
    },
    /// The user has as many devices as are taken.
    TooManyDevices {
        /// How many those are.
        most: u64,
    },
    /// The versions that would be given back are too long together.
    TooMuch {
        /// How many are given back at most.
        most: usize,
    },
    /// The user's answers that are not read have no room for the versions that would be given back. Nothing of it is stored.
    Unread {
        /// Bytes of those that were looked at until that was known.
        looked_at: usize,
    },
    /// Objects are not at the base that the upload names. Nothing of it is stored.
    Conflict {
        /// What they are, in the order of the upload; an object that is not known has the revision 0.
        current: Vec<Version>,
    },
}

/// What a storage gives, or why not.
pub type Result<T> = std::result::Result<T, Error>;

/// Keeps users, devices, versions and tokens.
#[async_trait]
pub trait Storage: Send + Sync + fmt::Debug {
    /// The user of that name, made where there is none.
    async fn user(&self, name: &str) -> Result<Account>;

    /// The name of a user; none where the user was removed.
    async fn name_of(&self, account: Account) -> Result<Option<String>>;

    /// Whose a token is; none of one that is unknown, revoked or expired at `now`, in seconds since 1970.
    async fn account(&self, token: &TokenHash, now: i64) -> Result<Option<Account>>;

    /// Makes a device known; one that is known stays as it is.
    async fn register(&self, account: Account, device: &str) -> Result<Client>;

    /// The device of that name; none where the user has no such device.
    async fn client(&self, account: Account, device: &str) -> Result<Option<Client>>;

    /// Whose a token is, and that user's device of a name: what [`account`](Storage::account) and [`client`](Storage::client) say
    /// together.
    async fn asking(
        &self,
        token: &TokenHash,
        now: i64,
        device: &str,
    ) -> Result<Option<(Account, Option<Client>)>> {
        let Some(account) = self.account(token, now).await? else { return Ok(None) };
        Ok(Some((account, self.client(account, device).await?)))
    }

    /// The device of that name, of whichever user, for an [`Identity`](crate::identity::Identity) whose devices are known without
    /// their users. Where users have devices of the same name, one of these.
    async fn client_named(&self, device: &str) -> Result<Option<Client>>;

    /// The user of that name; none where there is none.
    async fn user_named(&self, name: &str) -> Result<Option<Account>>;

    /// The user's devices, by name.
    async fn devices(&self, account: Account) -> Result<Vec<Known>>;

    /// What each user has, by name. It reads every object.
    async fn usage(&self) -> Result<Vec<Usage>>;

    /// What room is taken, part by part.
    async fn room(&self) -> Result<Vec<Room>>;

    /// Stores an upload. When this returns, it is kept as well as the storage's durability class says. `room` is what the upload takes of a
    /// bounded memory: it is given back when the storage has the upload no more, also where nobody waits for the answer.
    async fn upload(&self, client: Client, upload: Upload, room: Option<BodyRoom>) -> Result<Uploaded>;

    /// Stores an upload as [`upload`](Storage::upload) does, if the token is valid at `now`, in seconds since 1970, and the device is still the one
    /// that was found; stores nothing otherwise: then the device is to be looked up.
    async fn upload_remembered(
        &self,
        _remembered: Remembered,
        _now: i64,
        upload: Upload,
        room: Option<BodyRoom>,
    ) -> Result<Tried> {
        Ok(Tried::Unknown(upload, room))
    }

    /// Forgets a device that is remembered: its next request is to look it up, and so is that of any device of the same token.
    fn forget_remembered(&self, _remembered: &Remembered) {}

    /// A page of versions after a cursor.
    async fn download(&self, client: Client, download: Download) -> Result<Page>;

    /// The device that [`asking`](Storage::asking), or without a token [`client_named`](Storage::client_named), found for an earlier
    /// request. A storage whose look-ups cost no round trip remembers none.
    fn remembered(&self, _token: Option<&TokenHash>, _device: &str) -> Option<Remembered> {
        None
    }

    /// A page as [`download`](Storage::download) gives it, if the token is valid at `now`, in seconds since 1970, and the device is still the
    /// one that was found; none otherwise: then the device is to be looked up.
    async fn download_remembered(
        &self,
        _remembered: Remembered,
        _now: i64,
        _download: Download,
    ) -> Result<Option<Page>> {
        Ok(None)
    }

    /// Where the user's history stands now.
    async fn standing(&self, account: Account) -> Result<Standing>;

    /// The objects whose revision is after `after` and at most `to`, by revision, at most `limit`, and fewer where they are long; of
    /// those that are deleted, none. None are none.
    async fn objects(&self, account: Account, after: u64, to: u64, limit: u32) -> Result<Vec<Version>>;

    /// The user's last revision, as it rises, for as long as what is returned lives. It may leave revisions out, but not the last.
    async fn watch(&self, account: Account) -> Result<Watch>;

    /// Makes a token of a user known.
    async fn keep_token(
        &self,
        account: Account,
        token: &TokenHash,
        made: i64,
        expires: Option<i64>,
    ) -> Result<()>;

    /// Tokens, of one user or of all.
    async fn tokens(&self, user: Option<&str>) -> Result<Vec<Listed>>;

    /// Forgets the tokens whose name begins so. How many that were.
    async fn revoke(&self, name: &str) -> Result<u64>;

    /// The service's time, in seconds, which deletions and names of changes age by: it goes on while a service runs, whatever the wall clock does.
    fn time(&self) -> i64;

    /// Forgets deletions and names of changes that were stored before a moment of the service's time. How many that were. A cursor from
    /// before a deletion that is forgotten is refused from now on.
    async fn forget(&self, before: i64) -> Result<u64>;

    /// Whether it can be read and written now.
    async fn check(&self) -> Result<()>;

    /// Returns, with the reason, when nothing more can be stored until the storage is opened again. Most storages never come to that.
    async fn broken(&self) -> anyhow::Error {
        std::future::pending().await
    }
}

/// Refuses a cursor that leads nowhere, where a user's history stands so.
fn check_cursor(
    download: &Download,
    revision: u64,
    horizon: u64,
    history: &str,
) -> std::result::Result<(), Refusal> {
    let cursor = download.cursor;
    if download.history.as_ref().is_some_and(|named| named != history) {
        return Err(Refusal::OtherHistory { history: history.to_owned() });
    }
    if cursor > revision {
        return Err(Refusal::FutureCursor { cursor, revision });
    }
    // From 0 too: a device that has only uploaded begins there, and may have objects that were deleted since.
    if cursor < horizon {
        return Err(Refusal::LostCursor { cursor, horizon });
    }
    Ok(())
}

/// Versions that are looked at for one page where the device's own are left out, of which a device may have a million: no request reads for
/// longer. The page may then be empty and have more behind it.
pub(crate) const PASSED_OVER: u64 = 10_000;

/// A page of the versions that were found, where the user's last revision is this one, and what is behind `looked_at` was not looked at.
fn page_of(
    versions: Vec<Version>,
    more: bool,
    looked_at: Option<u64>,
    download: &Download,
    revision: u64,
) -> Page {
    if let Some(cursor) = looked_at.filter(|_| !more) {
        return Page { versions, cursor, more: true };
    }
    let last = versions.last().map_or(download.cursor, |version| version.revision);
    // Where the device's own are left out, those behind the last of the others are passed over too.
    let cursor = if download.others && !more { revision.max(last) } else { last };
    Page { versions, cursor, more }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Refused(refusal)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::UnknownUser => formatter.write_str("the user is no more"),
            Refusal::FutureCursor { cursor, revision } => {
                write!(
                    formatter,
                    "the cursor {cursor} is beyond the user's last revision, which is {revision}: fetch everything with GET /v1/sync/full"
                )
            }
            Refusal::LostCursor { cursor, horizon } => write!(
                formatter,
                "deletions up to the revision {horizon} are forgotten, and the cursor is {cursor}: fetch everything with GET \
                 /v1/sync/full"
            ),
            Refusal::OtherHistory { history } => write!(
                formatter,
                "the revisions are of another history than the user's, which is `{history}`: fetch everything with GET /v1/sync/full"
            ),
            Refusal::TooManyDevices { most } => write!(
                formatter,
                "the user has {most} devices, as many as are taken: use the name of one that is no more"
            ),
            Refusal::TooMuch { most } => write!(
                formatter,
                "the versions that this upload meets have more than the {most} bytes that an answer gives back: upload fewer changes at a time"
            ),
            Refusal::Unread { .. } => formatter.write_str(crate::http::UNREAD),
            Refusal::Conflict { current } => write!(
                formatter,
                "{} of the objects are not at the base that the upload names, and nothing of it is stored",
                current.len()
            ),
        }
    }
}
