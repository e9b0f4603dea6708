//! The tables of the embedded storage.
//!
//! A version lies at its place in its user's order, so that a page of a download is one range of a table. An object knows the
//! revision of its version, and no more.

use crate::change::Version;
use crate::storage::Client;
use crate::storage::decide::Applied;
use touchstone_store::Record;

/// Whose devices share versions.
#[derive(Record, Clone, Debug)]
#[record(name = "user")]
pub(super) struct UserRow {
    #[record(key)]
    pub(super) id: u64,
    #[record(unique)]
    pub(super) name: String,
    /// Another one after each backup that is restored.
    pub(super) history: String,
    /// The last one that was given.
    pub(super) revision: u64,
    /// Up to here deletions may be forgotten.
    pub(super) horizon: u64,
    /// How many devices were registered.
    pub(super) devices: u64,
}

/// A device of a user.
#[derive(Record, Clone, Debug)]
#[record(name = "device")]
pub(super) struct DeviceRow {
    #[record(key)]
    pub(super) user: u64,
    #[record(key, index)]
    pub(super) name: String,
    /// Its place among the user's devices, from 1.
    pub(super) number: u64,
}

/// Which version an object has.
#[derive(Record, Clone, Debug)]
#[record(name = "object")]
pub(super) struct ObjectRow {
    #[record(key)]
    pub(super) user: u64,
    #[record(key)]
    pub(super) id: String,
    pub(super) revision: u64,
}

/// The newest version of an object, at its place in the user's order.
#[derive(Record, Clone, Debug)]
#[record(name = "version")]
pub(super) struct VersionRow {
    #[record(key)]
    pub(super) user: u64,
    #[record(key)]
    pub(super) revision: u64,
    /// The device that made it.
    pub(super) device: u64,
    /// When it was stored, in the service's time, where it is a deletion: for how long deletions are kept, and for nothing else.
    pub(super) deleted: Option<i64>,
    pub(super) object: String,
    /// None where the object is deleted.
    pub(super) data: Option<String>,
}

/// A deletion, in the order in which deletions are forgotten.
#[derive(Record, Clone, Debug)]
#[record(name = "deletion")]
pub(super) struct DeletionRow {
    /// When it was stored, in the service's time.
    #[record(key)]
    pub(super) stored: i64,
    #[record(key)]
    pub(super) user: u64,
    #[record(key)]
    pub(super) revision: u64,
}

/// A change that was applied, so that it is not applied again.
#[derive(Record, Clone, Debug)]
#[record(name = "applied")]
pub(super) struct AppliedRow {
    #[record(key)]
    pub(super) user: u64,
    /// The device that named it: two devices may make the same name.
    #[record(key)]
    pub(super) device: u64,
    #[record(key)]
    pub(super) change: String,
    pub(super) revision: u64,
    /// When it was, in the service's time.
    #[record(index)]
    pub(super) stored: i64,
    /// The object and the revision that it has overwritten unseen, so that a device whose answer was lost is told all the same.
    pub(super) overwrote: Option<String>,
    pub(super) overwrote_revision: u64,
    pub(super) overwrote_data: Option<String>,
}

impl AppliedRow {
    pub(super) fn of(client: Client, name: &str, applied: &Applied, stored: i64) -> AppliedRow {
        let overwritten = applied.overwritten.as_ref();
        AppliedRow {
            user: client.account.user,
            device: client.device,
            change: name.to_owned(),
            revision: applied.revision,
            stored,
            overwrote: overwritten.map(|version| version.id.clone()),
            overwrote_revision: overwritten.map_or(0, |version| version.revision),
            overwrote_data: overwritten.and_then(|version| version.data.clone()),
        }
    }

    pub(super) fn applied(self) -> Applied {
        let (revision, data) = (self.overwrote_revision, self.overwrote_data);
        let overwritten = self.overwrote.map(|id| Version { id, revision, data });
        Applied { revision: self.revision, overwritten }
    }
}

/// For which start of the system services have the store, and whether the last of them ended with everything on the disk.
#[derive(Record, Clone, Debug)]
#[record(name = "life")]
pub(super) struct LifeRow {
    #[record(key)]
    pub(super) id: u64,
    /// The system's own name of its start.
    pub(super) boot: String,
    pub(super) has_ended: bool,
}

/// How far the service's time has come, by which deletions and names of changes age.
#[derive(Record, Clone, Debug)]
#[record(name = "service_time")]
pub(super) struct TimeRow {
    #[record(key)]
    pub(super) id: u64,
    pub(super) seconds: i64,
}

/// Who may ask.
#[derive(Record, Clone, Debug)]
#[record(name = "token")]
pub(super) struct TokenRow {
    /// SHA-256 of the secret.
    #[record(key)]
    pub(super) hash: Vec<u8>,
    #[record(index)]
    pub(super) user: u64,
    /// In seconds since 1970.
    pub(super) made: i64,
    /// In seconds since 1970.
    pub(super) expires: Option<i64>,
}
