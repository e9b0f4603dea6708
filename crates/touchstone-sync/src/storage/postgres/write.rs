//! What a group of uploads writes, column by column: one statement, whatever their number.

use super::signed;
use crate::change::Upload;
use crate::storage::Client;
use crate::storage::decide::{Applied, Decided, Write};
use deadpool_postgres::Client as Connection;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tokio_postgres::Error;
use tokio_postgres::types::ToSql;

/// One statement, and so all or nothing of each user: those whose last revision is what it was when their uploads were decided. Rows of users
/// are locked in one order, so that groups of two processes do not wait for each other in a ring.
const STORE: &str = "with locked as (select id, revision from sync_user where id = any($2::bigint[]) order by id for update), \
    risen as (update sync_user set revision = asked.revision \
        from unnest($2::bigint[], $3::bigint[], $4::bigint[]) as asked (id, was, revision) \
        join locked on locked.id = asked.id and locked.revision = asked.was \
        where sync_user.id = asked.id and sync_user.id = any($2::bigint[]) returning sync_user.id), \
    written as (insert into sync_object (user_id, id, revision, device, stored, data) \
        select changed.user_id, changed.id, changed.revision, changed.device, $1::bigint, changed.data \
        from unnest($5::bigint[], $6::text[], $7::bigint[], $8::bigint[], $9::bytea[]) \
            as changed (user_id, id, revision, device, data) join risen on risen.id = changed.user_id \
        on conflict (user_id, id) do update set revision = excluded.revision, device = excluded.device, \
        stored = excluded.stored, data = excluded.data), \
    named as (insert into sync_applied \
            (user_id, device, change, revision, stored, overwrote, overwrote_revision, overwrote_data) \
        select named.user_id, named.device, named.change, named.revision, $1::bigint, named.overwrote, named.was, named.data \
        from unnest($10::bigint[], $11::bigint[], $12::text[], $13::bigint[], $14::text[], $15::bigint[], $16::bytea[]) \
            as named (user_id, device, change, revision, overwrote, was, data) join risen on risen.id = named.user_id) \
    select id from risen";

/// The revision of an object, the device that made it, and its data.
type State<'g> = (i64, i64, Option<&'g [u8]>);

/// What is written for a group.
#[derive(Default)]
pub(super) struct Writing<'g> {
    /// By user and object. Of one that is changed more than once the last state is written: one statement changes a row once.
    objects: HashMap<(i64, &'g str), State<'g>>,
    /// With the user, the device and the name.
    names: Vec<(i64, i64, &'g str, &'g Applied)>,
    /// The last revision of each user, before and after.
    users: BTreeMap<i64, (i64, i64)>,
}

impl<'g> Writing<'g> {
    /// Adds an upload, which was decided where the user's last revision was this one.
    pub(super) fn add(&mut self, client: Client, upload: &'g Upload, decided: &'g Decided, was: u64) {
        let (user, device) = (signed(client.account.user), signed(client.device));
        for Write { change, applied, .. } in decided.writes(upload) {
            let data = change.data.as_deref().map(str::as_bytes);
            self.objects.insert((user, &change.id), (signed(applied.revision), device, data));
            self.names.extend(change.name.as_deref().map(|name| (user, device, name, applied)));
            let risen = self.users.entry(user).or_insert((signed(was), 0));
            risen.1 = signed(decided.revision);
        }
    }

    /// Writes all of it that nobody else was quicker than. The users of whom nothing is written.
    pub(super) async fn write(self, connection: &Connection, now: i64) -> Result<BTreeSet<i64>, Error> {
        if self.users.is_empty() {
            return Ok(BTreeSet::new());
        }
        let store = connection.prepare_cached(STORE).await?;
        let users: Vec<i64> = self.users.keys().copied().collect();
        let (were, revisions): (Vec<i64>, Vec<i64>) = self.users.values().copied().unzip();
        let (objects, names) = (Objects::of(&self.objects), Names::of(&self.names));
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&now, &users, &were, &revisions];
        parameters.extend(objects.parameters());
        parameters.extend(names.parameters());
        let stored = connection.query(&store, &parameters).await?;
        let mut lost: BTreeSet<i64> = users.iter().copied().collect();
        for row in stored {
            lost.remove(&row.get(0));
        }
        Ok(lost)
    }
}

/// The columns of objects.
#[derive(Default)]
struct Objects<'g> {
    users: Vec<i64>,
    ids: Vec<&'g str>,
    revisions: Vec<i64>,
    devices: Vec<i64>,
    data: Vec<Option<&'g [u8]>>,
}

impl<'g> Objects<'g> {
    fn of(objects: &HashMap<(i64, &'g str), State<'g>>) -> Objects<'g> {
        let mut columns = Objects::default();
        for ((user, id), (revision, device, data)) in objects {
            columns.users.push(*user);
            columns.ids.push(id);
            columns.revisions.push(*revision);
            columns.devices.push(*device);
            columns.data.push(*data);
        }
        columns
    }

    fn parameters(&self) -> [&(dyn ToSql + Sync); 5] {
        [&self.users, &self.ids, &self.revisions, &self.devices, &self.data]
    }
}

/// The columns of changes that have names, with what they have overwritten.
#[derive(Default)]
struct Names<'g> {
    users: Vec<i64>,
    devices: Vec<i64>,
    names: Vec<&'g str>,
    revisions: Vec<i64>,
    objects: Vec<Option<&'g str>>,
    were: Vec<i64>,
    data: Vec<Option<&'g [u8]>>,
}

impl<'g> Names<'g> {
    fn of(names: &[(i64, i64, &'g str, &'g Applied)]) -> Names<'g> {
        let mut columns = Names::default();
        for (user, device, name, applied) in names {
            let overwritten = applied.overwritten.as_ref();
            columns.users.push(*user);
            columns.devices.push(*device);
            columns.names.push(name);
            columns.revisions.push(signed(applied.revision));
            columns.objects.push(overwritten.map(|version| version.id.as_str()));
            columns.were.push(overwritten.map_or(0, |version| signed(version.revision)));
            columns.data.push(overwritten.and_then(|version| version.data.as_deref()).map(str::as_bytes));
        }
        columns
    }

    fn parameters(&self) -> [&(dyn ToSql + Sync); 7] {
        let Names { users, devices, names, revisions, objects, were, data } = self;
        [users, devices, names, revisions, objects, were, data]
    }
}
