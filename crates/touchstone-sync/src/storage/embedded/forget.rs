//! Forgets deletions and names of changes that are old: a device that was away for longer fetches everything.

use super::apply::remove;
use super::schema::{AppliedRow, DeletionRow, ObjectRow, UserRow, VersionRow};
use std::collections::BTreeMap;
use touchstone_store::{Result, Transaction};

/// Deletions and names of one transaction, so that uploads do not wait for long.
const TOGETHER: u64 = 500;

/// Forgets some of what was stored before a moment of the service's time. How many that were; none where nothing is left.
pub(super) fn forget_some(transaction: &mut Transaction<'_>, before: i64) -> Result<u64> {
    let deletions =
        transaction.query::<DeletionRow>().filter(|row| row.stored.lt(before)).limit(TOGETHER).all()?;
    let mut horizons = BTreeMap::new();
    for DeletionRow { user, revision, .. } in &deletions {
        if let Some(version) = transaction.get::<VersionRow>(&(*user, *revision))? {
            transaction.remove::<ObjectRow>(&(*user, version.object))?;
        }
        remove(transaction, *user, *revision)?;
        let horizon = horizons.entry(*user).or_insert(0);
        *horizon = (*revision).max(*horizon);
    }
    for (user, horizon) in horizons {
        transaction.update::<UserRow>(&user, |user| user.horizon = horizon.max(user.horizon))?;
    }
    let names =
        transaction.query::<AppliedRow>().filter(|row| row.stored.lt(before)).limit(TOGETHER).all()?;
    for AppliedRow { user, device, change, .. } in &names {
        transaction.remove::<AppliedRow>(&(*user, *device, change.clone()))?;
    }
    Ok((deletions.len() + names.len()) as u64)
}
