//! An upload within a transaction: decided whole, then written whole, so that one which is refused has written nothing.

use super::schema::{AppliedRow, DeletionRow, ObjectRow, UserRow, VersionRow};
use crate::change::{Upload, Uploaded, Version};
use crate::storage::decide::{Applied, Lookup, Write, decide};
use crate::storage::{Client, Refusal};
use touchstone_store::{Result, Transaction};

/// What a user has within a transaction of a device.
struct Stored<'t, 'c> {
    transaction: &'t Transaction<'c>,
    user: u64,
    device: u64,
}

impl Lookup for Stored<'_, '_> {
    type Error = touchstone_store::Error;

    fn applied(&self, name: &str) -> Result<Option<Applied>> {
        let applied = self.transaction.get::<AppliedRow>(&(self.user, self.device, name.to_owned()))?;
        Ok(applied.map(AppliedRow::applied))
    }

    fn revision(&self, object: &str) -> Result<Option<u64>> {
        let object = self.transaction.get::<ObjectRow>(&(self.user, object.to_owned()))?;
        Ok(object.map(|object| object.revision))
    }

    fn version(&self, object: &str, revision: u64) -> Result<Version> {
        let stored = self.transaction.get::<VersionRow>(&(self.user, revision))?;
        Ok(Version { id: object.to_owned(), revision, data: stored.and_then(|stored| stored.data) })
    }

    fn version_of_others(&self, object: &str, revision: u64) -> Result<Option<Version>> {
        let stored = self.transaction.get::<VersionRow>(&(self.user, revision))?;
        let others = stored.filter(|stored| stored.device != self.device);
        Ok(others.map(|stored| Version { id: object.to_owned(), revision, data: stored.data }))
    }
}

/// Applies an upload at a moment of the service's time; or says why it is refused, and has written nothing.
pub(super) fn apply(
    transaction: &mut Transaction<'_>,
    client: Client,
    upload: &Upload,
    now: i64,
) -> Result<std::result::Result<Uploaded, Refusal>> {
    let id = client.account.user;
    let Some(mut user) = transaction.get::<UserRow>(&id)? else { return Ok(Err(Refusal::UnknownUser)) };
    if let Some(refusal) = other_history(&user, upload.history.as_deref()) {
        return Ok(Err(refusal));
    }
    let stored = Stored { transaction: &*transaction, user: id, device: client.device };
    let decided = match decide(&stored, upload, user.revision, &upload.answer)? {
        Ok(decided) => decided,
        Err(refusal) => return Ok(Err(refusal)),
    };
    for step in decided.writes(upload) {
        if let Some(replaced) = step.replaces {
            remove(transaction, id, replaced)?;
        }
        write(transaction, client, &step, now)?;
    }
    if decided.revision != user.revision {
        user.revision = decided.revision;
        transaction.replace(&user)?;
    }
    Ok(Ok(decided.told()))
}

/// Why revisions of the history that is named are none of this user's.
pub(super) fn other_history(user: &UserRow, named: Option<&str>) -> Option<Refusal> {
    let is_other = named.is_some_and(|named| named != user.history);
    is_other.then(|| Refusal::OtherHistory { history: user.history.clone() })
}

/// Removes a version whose place is taken.
pub(super) fn remove(transaction: &mut Transaction<'_>, user: u64, revision: u64) -> Result<()> {
    let key = (user, revision);
    let version = transaction.get::<VersionRow>(&key)?;
    if let Some(stored) = version.and_then(|version| version.deleted) {
        transaction.remove::<DeletionRow>(&(stored, user, revision))?;
    }
    transaction.remove::<VersionRow>(&key).map(drop)
}

fn write(transaction: &mut Transaction<'_>, client: Client, step: &Write<'_>, stored: i64) -> Result<()> {
    let Write { change, applied, .. } = step;
    let (user, device, revision) = (client.account.user, client.device, applied.revision);
    let (object, data) = (change.id.clone(), change.data.clone());
    let deleted = data.is_none().then_some(stored);
    transaction.put(&ObjectRow { user, id: object.clone(), revision })?;
    transaction.insert(&VersionRow { user, revision, device, deleted, object, data })?;
    if deleted.is_some() {
        transaction.insert(&DeletionRow { stored, user, revision })?;
    }
    if let Some(name) = &change.name {
        transaction.insert(&AppliedRow::of(client, name, applied, stored))?;
    }
    Ok(())
}
