//! A group of uploads: what users have, and whether remembered devices have their right, is read in one round trip, and in a second one what answers give back; the uploads are decided,
//! and what they make is written by one statement.
//! That writes nothing of a user whose last revision has risen meanwhile, by another process: those uploads are decided again. So a
//! user's uploads come one after the other, and revisions are seen in their order. Statements do not grow in number with the uploads.

use super::batch::places;
use super::rights::{Grounds, Rights, has_right};
use super::write::Writing;
use super::{number, signed, text};
use crate::change::{Upload, Uploaded, Version};
use crate::storage::decide::{self, Applied, Decided, GIVEN_BACK_BYTES_MAX, Lookup, Write};
use crate::storage::gather::GROUP_BYTES;
use crate::storage::{Client, Refusal};
use deadpool_postgres::Client as Connection;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

const LOCK: &str = "select id from sync_user where id = any($1) order by id for update";
/// What the uploads of a group are decided by, of one moment: of each upload its user's standing and whether its device has its right, then the
/// objects and the names that are known, without their data: most are in no answer, and a user may have named a gibibyte of them. A key at a time: whatever the planner knows of a table that has just grown, it has no other way.
const FIND: &str = concat!(
    "select 0 as kind, asked.place, asked.user_id, null::bigint as device, known.revision, known.history as name, ",
    has_right!(),
    " as has_right, null::text as overwrote, null::bigint as was, null::integer as bytes \
        from unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bytea[], $6::bigint[]) \
            as asked (place, user_id, name, number, hash, now) \
        join lateral (select revision, history from sync_user where id = asked.user_id limit 1) known on true \
    union all select 1, null, asked.user_id, known.device, known.revision, asked.id, null, null, null, known.bytes \
        from unnest($7::bigint[], $8::text[]) as asked (user_id, id) \
        join lateral (select revision, device, length(data) as bytes from sync_object \
            where user_id = asked.user_id and id = asked.id limit 1) known on true \
    union all select 2, null, asked.user_id, asked.device, known.revision, asked.change, null, \
            known.overwrote, known.overwrote_revision, known.bytes \
        from unnest($9::bigint[], $10::bigint[], $11::text[]) as asked (user_id, device, change) \
        join lateral (select revision, overwrote, overwrote_revision, length(overwrote_data) as bytes from sync_applied \
            where user_id = asked.user_id and device = asked.device and change = asked.change limit 1) known on true"
);

/// Data of versions that may be given back, of objects while they have a revision, and of what changes of a name have overwritten.
const DATA: &str = "select asked.user_id, null::bigint as device, asked.id as name, known.data \
        from unnest($1::bigint[], $2::text[], $3::bigint[]) as asked (user_id, id, revision) \
        join lateral (select revision, data from sync_object where user_id = asked.user_id and id = asked.id limit 1) known \
            on known.revision = asked.revision \
    union all select asked.user_id, asked.device, asked.change, known.overwrote_data \
        from unnest($4::bigint[], $5::bigint[], $6::text[]) as asked (user_id, device, change) \
        join lateral (select overwrote_data from sync_applied \
            where user_id = asked.user_id and device = asked.device and change = asked.change limit 1) known on true";

/// An upload of a device.
pub(super) struct Asked {
    pub(super) client: Client,
    pub(super) upload: Upload,
    pub(super) grounds: Grounds,
}

/// What became of an upload, with the user's last revision; nothing where a remembered device has lost its right; or why it is refused.
pub(super) type Answer = Result<Option<(Uploaded, u64)>, Refusal>;

/// The data of a version.
#[derive(Clone)]
enum Data {
    /// Read, or made by the group itself.
    Here(Option<String>),
    /// It has so many bytes, and is not read.
    There(usize),
}

/// Data that is needed, and was not read.
struct Unread;

/// What was done for a change of a name.
struct Done {
    revision: u64,
    /// The object and the revision of the version that it has overwritten, unseen, and its data.
    overwrote: Option<(String, u64, Data)>,
}

/// What users have of the objects and names of a group, with what its uploads make of them, one after the other.
#[derive(Default)]
struct Found {
    /// The last revision and the history.
    users: HashMap<u64, (u64, String)>,
    /// The uploads whose devices have their right, by their places.
    rightful: HashSet<usize>,
    /// By user, device and name.
    applied: HashMap<(u64, u64, String), Done>,
    objects: HashMap<(u64, String), Object>,
}

/// The newest version of an object.
struct Object {
    revision: u64,
    device: u64,
    data: Data,
}

impl Data {
    fn of(bytes: Option<i32>) -> Data {
        bytes.map_or(Data::Here(None), |bytes| Data::There(usize::try_from(bytes).unwrap_or_default()))
    }

    fn read(&self) -> Result<Option<String>, Unread> {
        match self {
            Data::Here(data) => Ok(data.clone()),
            Data::There(_) => Err(Unread),
        }
    }

    /// Bytes that are to be read yet.
    fn unread(&self) -> Option<usize> {
        match self {
            Data::Here(_) => None,
            Data::There(bytes) => Some(*bytes),
        }
    }
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
                self.objects.insert((user, name), Object { revision, device, data: Data::of(row.get(9)) });
            }
            _ => {
                let overwrote = row.get::<_, Option<String>>(7);
                let overwrote = overwrote.map(|id| (id, number(row.get(8)), Data::of(row.get(9))));
                self.applied.insert((user, device, name), Done { revision, overwrote });
            }
        }
    }

    /// Notes data that was read. A version that is another by now has none: the upload that meets it is decided again.
    fn note_data(&mut self, row: &Row) {
        let (user, device, name): (_, Option<i64>, String) = (number(row.get(0)), row.get(1), row.get(2));
        let place = match device {
            None => self.objects.get_mut(&(user, name)).map(|object| &mut object.data),
            Some(device) => {
                let done = self.applied.get_mut(&(user, number(device), name));
                done.and_then(|done| done.overwrote.as_mut()).map(|(_, _, data)| data)
            }
        };
        if let Some(data) = place {
            *data = Data::Here(text(row.get(3)));
        }
    }

    /// Takes what an upload makes: those behind it in the group find that.
    fn take(&mut self, client: Client, upload: &Upload, decided: &Decided) {
        let (user, device) = (client.account.user, client.device);
        for Write { change, applied, .. } in decided.writes(upload) {
            let data = Data::Here(change.data.clone());
            let object = Object { revision: applied.revision, device, data };
            self.objects.insert((user, change.id.clone()), object);
            if let Some(name) = &change.name {
                let Applied { revision, overwritten } = applied.clone();
                let overwrote =
                    overwritten.map(|version| (version.id, version.revision, Data::Here(version.data)));
                self.applied.insert((user, device, name.clone()), Done { revision, overwrote });
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
    type Error = Unread;

    fn applied(&self, name: &str) -> Result<Option<Applied>, Unread> {
        let Some(done) = self.done(name) else { return Ok(None) };
        let overwritten = done.overwrote.as_ref().map(|(id, revision, data)| {
            let (id, revision) = (id.clone(), *revision);
            data.read().map(|data| Version { id, revision, data })
        });
        Ok(Some(Applied { revision: done.revision, overwritten: overwritten.transpose()? }))
    }

    fn revision(&self, object: &str) -> Result<Option<u64>, Unread> {
        Ok(self.object(object).map(|known| known.revision))
    }

    fn version_of_others(&self, object: &str, revision: u64) -> Result<Option<Version>, Unread> {
        match self.object(object) {
            Some(known) if known.device != self.client.device => self.version(object, revision).map(Some),
            _ => Ok(None),
        }
    }

    fn version(&self, object: &str, revision: u64) -> Result<Version, Unread> {
        let data = self.object(object).map_or(Ok(None), |known| known.data.read())?;
        Ok(Version { id: object.to_owned(), revision, data })
    }
}

impl Seen<'_> {
    fn object(&self, object: &str) -> Option<&Object> {
        self.found.objects.get(&(self.client.account.user, object.to_owned()))
    }

    fn done(&self, name: &str) -> Option<&Done> {
        self.found.applied.get(&(self.client.account.user, self.client.device, name.to_owned()))
    }
}

/// Stores the uploads of a group, each user's in their order, at a moment of the services' time. One that is refused has written nothing, and so has
/// one without an answer: another process was quicker, or what is given back is much.
pub(super) async fn uploads(
    connection: &Connection,
    group: &[&Asked],
    now: i64,
) -> Result<Vec<Option<Answer>>, Error> {
    let mut found = find(connection, group).await?;
    let too_much = read_given_back(connection, &mut found, group).await?;
    let mut decisions = Vec::with_capacity(group.len());
    let (mut changed, mut left, mut given_back) = (HashSet::new(), HashSet::new(), 0);
    for (place, Asked { client, upload, grounds }) in group.iter().enumerate() {
        let user = client.account.user;
        let was = found.users.get(&user).map_or(0, |(revision, _)| *revision);
        let has_right = grounds.is_none() || found.rightful.contains(&place);
        let decided = match has_right {
            // A user's uploads keep their order, and the answers of all have room for so much.
            _ if left.contains(&user) || given_back >= GROUP_BYTES => None,
            false => Some(Ok(None)),
            true => match decided(&found, *client, upload) {
                Ok(decided) => Some(decided),
                Err(Unread) if too_much.contains(&place) && !changed.contains(&user) => {
                    Some(Err(Refusal::TooMuch { most: GIVEN_BACK_BYTES_MAX }))
                }
                // Others of the group have changed what it meets, or used up what is read, or the version is another by now: it is decided again.
                Err(Unread) => None,
            },
        };
        match &decided {
            None => drop(left.insert(user)),
            Some(Ok(Some(decided))) => {
                given_back += decided.given_back();
                found.take(*client, upload, decided);
                changed.insert(user);
            }
            Some(Err(refusal)) => given_back += decide::given_back(Err(refusal)),
            Some(Ok(None)) => {}
        }
        decisions.push((decided, was));
    }
    let mut writing = Writing::default();
    for (asked, (decided, was)) in group.iter().zip(&decisions) {
        if let Some(Ok(Some(decided))) = decided {
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
        decided.filter(|_| is_stored).map(|decided| decided.map(|decided| decided.map(answer)))
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

fn decided(
    found: &Found,
    client: Client,
    upload: &Upload,
) -> Result<Result<Option<Decided>, Refusal>, Unread> {
    let Some((revision, history)) = found.users.get(&client.account.user) else {
        return Ok(Err(Refusal::UnknownUser));
    };
    if upload.history.as_ref().is_some_and(|named| named != history) {
        return Ok(Err(Refusal::OtherHistory { history: history.clone() }));
    }
    Ok(decide::decide(&Seen { found, client }, upload, *revision)?.map(Some))
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

/// What answers to uploads may give back, and is not read yet.
#[derive(Default)]
struct Wanted<'u> {
    /// By user and name, with the revision.
    objects: BTreeMap<(i64, &'u str), i64>,
    /// By user, device and name.
    applied: BTreeSet<(i64, i64, &'u str)>,
    bytes: usize,
}

impl<'u> Wanted<'u> {
    /// What the answer to an upload may give back, as if none were before it in its group.
    fn of(found: &Found, Asked { client, upload, .. }: &'u Asked) -> Wanted<'u> {
        let (mut wanted, seen) = (Wanted::default(), Seen { found, client: *client });
        let (user, device) = (signed(client.account.user), signed(client.device));
        let (mut own, mut named) = (HashSet::new(), HashSet::new());
        for change in &upload.changes {
            // What the upload itself has done under the name is not done again.
            if change.name.as_deref().is_some_and(|name| !named.insert(name)) {
                continue;
            }
            if let Some((name, done)) = change.name.as_deref().and_then(|name| Some((name, seen.done(name)?)))
            {
                if let Some(bytes) = done.overwrote.as_ref().and_then(|(_, _, data)| data.unread()) {
                    wanted.applied.insert((user, device, name));
                    wanted.bytes += bytes;
                }
                continue;
            }
            let Some(known) = seen.object(&change.id).filter(|_| own.insert(change.id.as_str())) else {
                continue;
            };
            let is_unseen = known.revision > upload.seen && known.device != client.device;
            if change.base.map_or(is_unseen, |base| base != known.revision)
                && let Some(bytes) = known.data.unread()
            {
                wanted.objects.insert((user, change.id.as_str()), signed(known.revision));
                wanted.bytes += bytes;
            }
        }
        wanted
    }

    fn add(&mut self, other: Wanted<'u>) {
        self.objects.extend(other.objects);
        self.applied.extend(other.applied);
        self.bytes += other.bytes;
    }
}

/// Reads the data that answers may give back, which most groups have none of. Returns the uploads that meet more than is given back, for which
/// nothing is read; nor is anything for those that are left when as much is read as a group may.
async fn read_given_back(
    connection: &Connection,
    found: &mut Found,
    group: &[&Asked],
) -> Result<HashSet<usize>, Error> {
    let (mut all, mut too_much) = (Wanted::default(), HashSet::new());
    for (place, asked) in group.iter().enumerate() {
        let wanted = Wanted::of(found, asked);
        if wanted.bytes > GIVEN_BACK_BYTES_MAX {
            too_much.insert(place);
        } else if all.bytes < GROUP_BYTES {
            all.add(wanted);
        }
    }
    if all.objects.is_empty() && all.applied.is_empty() {
        return Ok(too_much);
    }
    let (keys, revisions): (Vec<_>, Vec<i64>) = all.objects.into_iter().unzip();
    let (users, ids): (Vec<i64>, Vec<&str>) = keys.into_iter().unzip();
    let (named_users, named_devices, names) = columns(&all.applied);
    let parameters: [&(dyn ToSql + Sync); 6] =
        [&users, &ids, &revisions, &named_users, &named_devices, &names];
    let statement = connection.prepare_cached(DATA).await?;
    for row in connection.query(&statement, &parameters).await? {
        found.note_data(&row);
    }
    Ok(too_much)
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
