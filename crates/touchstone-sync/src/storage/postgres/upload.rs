//! A group of uploads: what users have, and whether remembered devices have their right, is read in one round trip, the uploads are decided,
//! and what they make is written by one statement.
//! That writes nothing of a user whose last revision has risen meanwhile, by another process: those uploads are decided again. So a
//! user's uploads come one after the other, and revisions are seen in their order. Statements do not grow in number with the uploads.

use super::batch::places;
use super::rights::{Grounds, Rights, has_right};
use super::write::Writing;
use super::{number, signed, text};
use crate::change::{Upload, Uploaded, Version};
use crate::storage::decide::{Applied, Decided, Lookup, Write, decide};
use crate::storage::{Client, Refusal};
use deadpool_postgres::Client as Connection;
use std::collections::{BTreeSet, HashMap, HashSet};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

const LOCK: &str = "select id from sync_user where id = any($1) order by id for update";
/// What the uploads of a group are decided by, of one moment: of each upload its user's standing and whether its device has its right, then the
/// objects and the names that are known. A key at a time: whatever the planner knows of a table that has just grown, it has no other way.
const FIND: &str = concat!(
    "select 0 as kind, asked.place, asked.user_id, null::bigint as device, known.revision, known.history as name, ",
    has_right!(),
    " as has_right, null::text as overwrote, null::bigint as was, null::bytea as data \
        from unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bytea[], $6::bigint[]) \
            as asked (place, user_id, name, number, hash, now) \
        join lateral (select revision, history from sync_user where id = asked.user_id limit 1) known on true \
    union all select 1, null, asked.user_id, known.device, known.revision, asked.id, null, null, null, known.data \
        from unnest($7::bigint[], $8::text[]) as asked (user_id, id) \
        join lateral (select revision, device, data from sync_object \
            where user_id = asked.user_id and id = asked.id limit 1) known on true \
    union all select 2, null, asked.user_id, asked.device, known.revision, asked.change, null, \
            known.overwrote, known.overwrote_revision, known.overwrote_data \
        from unnest($9::bigint[], $10::bigint[], $11::text[]) as asked (user_id, device, change) \
        join lateral (select revision, overwrote, overwrote_revision, overwrote_data from sync_applied \
            where user_id = asked.user_id and device = asked.device and change = asked.change limit 1) known on true"
);

/// An upload of a device.
pub(super) struct Asked {
    pub(super) client: Client,
    pub(super) upload: Upload,
    pub(super) grounds: Grounds,
}

/// What became of an upload, with the user's last revision; nothing where a remembered device has lost its right; or why it is refused.
pub(super) type Answer = Result<Option<(Uploaded, u64)>, Refusal>;

/// What users have of the objects and names of a group, with what its uploads make of them, one after the other.
#[derive(Default)]
struct Found {
    /// The last revision and the history.
    users: HashMap<u64, (u64, String)>,
    /// The uploads whose devices have their right, by their places.
    rightful: HashSet<usize>,
    /// By user, device and name.
    applied: HashMap<(u64, u64, String), Applied>,
    objects: HashMap<(u64, String), Object>,
}

/// The newest version of an object.
struct Object {
    revision: u64,
    device: u64,
    data: Option<String>,
}

impl Found {
    /// Notes a row that was read.
    fn note(&mut self, row: &Row) {
        let (kind, user, revision) = (row.get::<_, i32>(0), number(row.get(2)), number(row.get(4)));
        let (device, name): (Option<i64>, String) = (row.get(3), row.get(5));
        let device = device.map_or(0, number);
        match kind {
            0 => {
                if row.get(6) {
                    self.rightful.extend(usize::try_from(row.get::<_, i64>(1)));
                }
                self.users.insert(user, (revision, name));
            }
            1 => {
                self.objects.insert((user, name), Object { revision, device, data: text(row.get(9)) });
            }
            _ => {
                let overwritten = row.get::<_, Option<String>>(7).map(|id| Version {
                    id,
                    revision: number(row.get(8)),
                    data: text(row.get(9)),
                });
                self.applied.insert((user, device, name), Applied { revision, overwritten });
            }
        }
    }

    /// Takes what an upload makes: those behind it in the group find that.
    fn take(&mut self, client: Client, upload: &Upload, decided: &Decided) {
        let (user, device) = (client.account.user, client.device);
        for Write { change, applied, .. } in decided.writes(upload) {
            let object = Object { revision: applied.revision, device, data: change.data.clone() };
            self.objects.insert((user, change.id.clone()), object);
            if let Some(name) = &change.name {
                self.applied.insert((user, device, name.clone()), applied.clone());
            }
        }
        if let Some((revision, _)) = self.users.get_mut(&user) {
            *revision = decided.revision;
        }
    }
}

/// What one device finds.
struct Seen<'f> {
    found: &'f Found,
    client: Client,
}

impl Lookup for Seen<'_> {
    type Error = Error;

    fn applied(&self, name: &str) -> Result<Option<Applied>, Error> {
        let key = (self.client.account.user, self.client.device, name.to_owned());
        Ok(self.found.applied.get(&key).cloned())
    }

    fn revision(&self, object: &str) -> Result<Option<u64>, Error> {
        Ok(self.object(object).map(|known| known.revision))
    }

    fn version(&self, object: &str, revision: u64) -> Result<(Version, u64), Error> {
        let (device, data) =
            self.object(object).map_or((0, None), |known| (known.device, known.data.clone()));
        Ok((Version { id: object.to_owned(), revision, data }, device))
    }
}

impl Seen<'_> {
    fn object(&self, object: &str) -> Option<&Object> {
        self.found.objects.get(&(self.client.account.user, object.to_owned()))
    }
}

/// Stores the uploads of a group, in their order, at a moment of the services' time. One that is refused has written nothing, and so has one
/// without an answer: another process was quicker.
pub(super) async fn uploads(
    connection: &Connection,
    group: &[&Asked],
    now: i64,
) -> Result<Vec<Option<Answer>>, Error> {
    let mut found = find(connection, group).await?;
    let mut decisions = Vec::with_capacity(group.len());
    for (place, Asked { client, upload, grounds }) in group.iter().enumerate() {
        let was = found.users.get(&client.account.user).map_or(0, |(revision, _)| *revision);
        let has_right = grounds.is_none() || found.rightful.contains(&place);
        let decided = if has_right { decided(&found, *client, upload)?.map(Some) } else { Ok(None) };
        if let Ok(Some(decided)) = &decided {
            found.take(*client, upload, decided);
        }
        decisions.push((decided, was));
    }
    let mut writing = Writing::default();
    for (asked, (decided, was)) in group.iter().zip(&decisions) {
        if let Ok(Some(decided)) = decided {
            writing.add(asked.client, &asked.upload, decided, *was);
        }
    }
    let lost = writing.write(connection, now).await?;
    let answer = |decided: Decided| {
        let revision = decided.revision;
        (decided.told(), revision)
    };
    let answers = group.iter().zip(decisions).map(|(asked, (decided, _))| {
        let is_stored = !lost.contains(&signed(asked.client.account.user));
        is_stored.then(|| decided.map(|decided| decided.map(answer)))
    });
    Ok(answers.collect())
}

/// As [`uploads`], behind those that other processes store now: the users' rows are locked before they are read.
pub(super) async fn uploads_in_turn(
    connection: &Connection,
    group: &[&Asked],
    now: i64,
) -> Result<Vec<Option<Answer>>, Error> {
    let users: BTreeSet<i64> = group.iter().map(|asked| signed(asked.client.account.user)).collect();
    let lock = connection.prepare_cached(LOCK).await?;
    connection.batch_execute("begin").await?;
    let stored = async {
        connection.query(&lock, &[&Vec::from_iter(users)]).await?;
        uploads(connection, group, now).await
    };
    match stored.await {
        Ok(answers) => connection.batch_execute("commit").await.map(|()| answers),
        Err(error) => {
            // A transaction that is cut off ends by itself.
            let _ = connection.batch_execute("rollback").await;
            Err(error)
        }
    }
}

fn decided(found: &Found, client: Client, upload: &Upload) -> Result<Result<Decided, Refusal>, Error> {
    let Some((revision, history)) = found.users.get(&client.account.user) else {
        return Ok(Err(Refusal::UnknownUser));
    };
    if upload.history.as_ref().is_some_and(|named| named != history) {
        return Ok(Err(Refusal::OtherHistory { history: history.clone() }));
    }
    decide(&Seen { found, client }, client.device, upload, *revision)
}

/// Reads what users have.
async fn find(connection: &Connection, group: &[&Asked]) -> Result<Found, Error> {
    let (mut names, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for Asked { client, upload, .. } in group {
        let (user, device) = (signed(client.account.user), signed(client.device));
        for change in &upload.changes {
            names.extend(change.name.as_deref().map(|name| (user, device, name)));
            ids.insert((user, change.id.as_str()));
        }
    }
    let users: Vec<i64> = group.iter().map(|asked| signed(asked.client.account.user)).collect();
    let rights = Rights::of(group.iter().map(|asked| (asked.client, &asked.grounds))).parameters();
    let (of_users, of_ids): (Vec<i64>, Vec<&str>) = ids.into_iter().unzip();
    let (named_users, named_devices, of_names) = columns(&names);
    let places = places(group);
    let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&places, &users];
    parameters.extend(rights.iter().map(|column| column.as_ref() as &(dyn ToSql + Sync)));
    let rest: [&(dyn ToSql + Sync); 5] = [&of_users, &of_ids, &named_users, &named_devices, &of_names];
    parameters.extend(rest);
    let statement = connection.prepare_cached(FIND).await?;
    let mut found = Found::default();
    for row in connection.query(&statement, &parameters).await? {
        found.note(&row);
    }
    Ok(found)
}

fn columns<'n>(names: &BTreeSet<(i64, i64, &'n str)>) -> (Vec<i64>, Vec<i64>, Vec<&'n str>) {
    let (mut users, mut devices, mut words) = (Vec::new(), Vec::new(), Vec::new());
    for (user, device, name) in names {
        users.push(*user);
        devices.push(*device);
        words.push(*name);
    }
    (users, devices, words)
}
