//! What users have of the objects and names of a group of uploads, read in one round trip. Data is not read: most of it is in no answer, and a user
//! may have named a gibibyte of it.

use super::batch::places;
use super::rights::{Rights, has_right};
use super::upload::Asked;
use super::{number, signed, text};
use crate::change::{Upload, Version};
use crate::storage::Client;
use crate::storage::decide::{Applied, Decided, Lookup, Write};
use deadpool_postgres::Client as Connection;
use std::collections::{BTreeSet, HashMap, HashSet};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

/// Of one moment: of each upload its user's standing and whether its device has its right, then the objects and the names that are known. A key
/// at a time: whatever the planner knows of a table that has just grown, it has no other way.
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

/// The data of a version.
#[derive(Clone)]
enum Data {
    /// Read, or made by the group itself.
    Here(Option<String>),
    /// It has so many bytes, and is not read.
    There(usize),
}

/// Data that is needed, and was not read.
pub(super) struct Unread;

/// What was done for a change of a name.
pub(super) struct Done {
    pub(super) revision: u64,
    /// The object and the revision of the version that it has overwritten, unseen, and its data.
    overwrote: Option<(String, u64, Data)>,
}

/// The newest version of an object.
pub(super) struct Object {
    pub(super) revision: u64,
    pub(super) device: u64,
    data: Data,
}

/// What users have, with what the uploads of the group make of it, one after the other.
#[derive(Default)]
pub(super) struct Found {
    /// The last revision and the history.
    pub(super) users: HashMap<u64, (u64, String)>,
    /// The uploads whose devices have their right, by their places.
    pub(super) rightful: HashSet<usize>,
    /// By user, device and name.
    applied: HashMap<(u64, u64, String), Done>,
    objects: HashMap<(u64, String), Object>,
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

impl Done {
    /// Bytes of the overwritten version that are to be read yet.
    pub(super) fn unread(&self) -> Option<usize> {
        self.overwrote.as_ref().and_then(|(_, _, data)| data.unread())
    }
}

impl Object {
    /// Bytes of the version that are to be read yet.
    pub(super) fn unread(&self) -> Option<usize> {
        self.data.unread()
    }
}

impl Found {
    /// Reads what users have.
    pub(super) async fn find(connection: &Connection, group: &[&Asked]) -> Result<Found, Error> {
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
        let (named_users, named_devices, of_names): (Vec<i64>, Vec<i64>, Vec<&str>) =
            names.into_iter().collect();
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
    pub(super) fn note_data(&mut self, row: &Row) {
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
    pub(super) fn take(&mut self, client: Client, upload: &Upload, decided: &Decided) {
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
#[derive(Clone, Copy)]
pub(super) struct Seen<'f> {
    pub(super) found: &'f Found,
    pub(super) client: Client,
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

    fn version(&self, object: &str, revision: u64) -> Result<Version, Unread> {
        let data = self.object(object).map_or(Ok(None), |known| known.data.read())?;
        Ok(Version { id: object.to_owned(), revision, data })
    }

    fn version_of_others(&self, object: &str, revision: u64) -> Result<Option<Version>, Unread> {
        match self.is_of_others(object) {
            true => self.version(object, revision).map(Some),
            false => Ok(None),
        }
    }
}

impl Seen<'_> {
    pub(super) fn object(&self, object: &str) -> Option<&Object> {
        self.found.objects.get(&(self.client.account.user, object.to_owned()))
    }

    pub(super) fn done(&self, name: &str) -> Option<&Done> {
        self.found.applied.get(&(self.client.account.user, self.client.device, name.to_owned()))
    }

    /// Whether another device has made the object's newest version.
    pub(super) fn is_of_others(&self, object: &str) -> bool {
        self.object(object).is_some_and(|known| known.device != self.client.device)
    }
}
