//! An upload as one transaction. The user's row is locked first, so a user's uploads come one after the other, whichever process they
//! come to, and revisions are seen in their order. Statements do not grow in number with the upload.

use super::{number, signed, text};
use crate::change::{Upload, Uploaded, Version};
use crate::storage::decide::{Applied, Decided, Lookup, Write, decide};
use crate::storage::{Client, Refusal};
use deadpool_postgres::{Client as Connection, Transaction};
use std::collections::HashMap;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

const LOCK: &str = "select revision, history from sync_user where id = $1 for update";
const APPLIED: &str = "select change, revision, overwrote, overwrote_revision, overwrote_data from sync_applied \
    where user_id = $1 and device = $2 and change = any($3)";
const OBJECTS: &str =
    "select id, revision, device, data from sync_object where user_id = $1 and id = any($2)";
const WRITE: &str = "insert into sync_object (user_id, id, revision, device, stored, data) \
    select $1::bigint, changed.id, changed.revision, $2::bigint, $3::bigint, changed.data \
    from unnest($4::text[], $5::bigint[], $6::bytea[]) as changed (id, revision, data) \
    on conflict (user_id, id) do update set revision = excluded.revision, device = excluded.device, \
    stored = excluded.stored, data = excluded.data";
const NAME: &str = "insert into sync_applied (user_id, device, change, revision, stored, overwrote, overwrote_revision, overwrote_data) \
    select $1::bigint, $2::bigint, named.change, named.revision, $3::bigint, named.overwrote, named.was, named.data \
    from unnest($4::text[], $5::bigint[], $6::text[], $7::bigint[], $8::bytea[]) as named (change, revision, overwrote, was, data)";
const RISE: &str = "update sync_user set revision = $2 where id = $1";

/// What the user has of the objects and names of an upload.
struct Found {
    applied: HashMap<String, Applied>,
    objects: HashMap<String, (u64, u64, Option<String>)>,
}

impl Lookup for Found {
    type Error = Error;

    fn applied(&self, name: &str) -> Result<Option<Applied>, Error> {
        Ok(self.applied.get(name).cloned())
    }

    fn revision(&self, object: &str) -> Result<Option<u64>, Error> {
        Ok(self.objects.get(object).map(|(revision, ..)| *revision))
    }

    fn version(&self, object: &str, revision: u64) -> Result<(Version, u64), Error> {
        let (device, data) =
            self.objects.get(object).map_or((0, None), |(_, device, data)| (*device, data.clone()));
        Ok((Version { id: object.to_owned(), revision, data }, device))
    }
}

/// Stores an upload at a moment, in seconds since 1970, or says why it is refused. The user's last revision is told with it.
pub(super) async fn upload(
    connection: &mut Connection,
    client: Client,
    upload: &Upload,
    now: i64,
) -> Result<Result<(Uploaded, u64), Refusal>, Error> {
    let user = signed(client.account.user);
    let transaction = connection.transaction().await?;
    let lock = transaction.prepare_cached(LOCK).await?;
    let Some(row) = transaction.query_opt(&lock, &[&user]).await? else {
        return Ok(Err(Refusal::UnknownUser));
    };
    let (revision, history): (i64, String) = (row.get(0), row.get(1));
    if upload.history.as_ref().is_some_and(|named| *named != history) {
        return Ok(Err(Refusal::OtherHistory { history }));
    }
    let found = find(&transaction, user, signed(client.device), upload).await?;
    let decided = match decide(&found, client.device, upload, number(revision))? {
        Ok(decided) => decided,
        Err(refusal) => return Ok(Err(refusal)),
    };
    write(&transaction, user, client.device, upload, &decided, now).await?;
    transaction.commit().await?;
    let revision = decided.revision;
    Ok(Ok((decided.told(), revision)))
}

async fn find(
    transaction: &Transaction<'_>,
    user: i64,
    device: i64,
    upload: &Upload,
) -> Result<Found, Error> {
    let names: Vec<&str> = upload.changes.iter().filter_map(|change| change.name.as_deref()).collect();
    let ids: Vec<&str> = upload.changes.iter().map(|change| change.id.as_str()).collect();
    let mut found = Found { applied: HashMap::new(), objects: HashMap::new() };
    if !names.is_empty() {
        let applied = transaction.prepare_cached(APPLIED).await?;
        for row in transaction.query(&applied, &[&user, &device, &names]).await? {
            found.applied.insert(row.get(0), applied_of(&row));
        }
    }
    let objects = transaction.prepare_cached(OBJECTS).await?;
    for row in transaction.query(&objects, &[&user, &ids]).await? {
        let stored = (number(row.get(1)), number(row.get(2)), text(row.get(3)));
        found.objects.insert(row.get(0), stored);
    }
    Ok(found)
}

fn applied_of(row: &Row) -> Applied {
    let overwritten = row.get::<_, Option<String>>(2).map(|id| Version {
        id,
        revision: number(row.get(3)),
        data: text(row.get(4)),
    });
    Applied { revision: number(row.get(1)), overwritten }
}

async fn write(
    transaction: &Transaction<'_>,
    user: i64,
    device: u64,
    upload: &Upload,
    decided: &Decided,
    now: i64,
) -> Result<(), Error> {
    // Of an object that is changed more than once the last state is written: one statement changes a row once.
    let mut last = HashMap::new();
    for Write { change, applied, .. } in decided.writes(upload) {
        last.insert(
            change.id.as_str(),
            (signed(applied.revision), change.data.as_deref().map(str::as_bytes)),
        );
    }
    if last.is_empty() {
        return Ok(());
    }
    let (mut ids, mut revisions, mut data) = (Vec::new(), Vec::new(), Vec::new());
    for (id, (revision, state)) in last {
        ids.push(id);
        revisions.push(revision);
        data.push(state);
    }
    let statement = transaction.prepare_cached(WRITE).await?;
    let device = signed(device);
    transaction.execute(&statement, &[&user, &device, &now, &ids, &revisions, &data]).await?;
    name(transaction, user, device, upload, decided, now).await?;
    let statement = transaction.prepare_cached(RISE).await?;
    transaction.execute(&statement, &[&user, &signed(decided.revision)]).await?;
    Ok(())
}

/// Remembers the changes that have names, with what they have overwritten.
async fn name(
    transaction: &Transaction<'_>,
    user: i64,
    device: i64,
    upload: &Upload,
    decided: &Decided,
    now: i64,
) -> Result<(), Error> {
    let (mut names, mut revisions) = (Vec::new(), Vec::new());
    let (mut objects, mut were, mut data) = (Vec::new(), Vec::new(), Vec::new());
    for Write { change, applied, .. } in decided.writes(upload) {
        let Some(name) = &change.name else { continue };
        let overwritten = applied.overwritten.as_ref();
        names.push(name.as_str());
        revisions.push(signed(applied.revision));
        objects.push(overwritten.map(|version| version.id.as_str()));
        were.push(overwritten.map_or(0, |version| signed(version.revision)));
        data.push(overwritten.and_then(|version| version.data.as_deref()).map(str::as_bytes));
    }
    if names.is_empty() {
        return Ok(());
    }
    let statement = transaction.prepare_cached(NAME).await?;
    let parameters: [&(dyn ToSql + Sync); 8] =
        [&user, &device, &now, &names, &revisions, &objects, &were, &data];
    transaction.execute(&statement, &parameters).await.map(drop)
}
