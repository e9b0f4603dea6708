//! What a group of uploads writes, column by column: a statement for each table, whatever their number.

use super::signed;
use crate::change::Upload;
use crate::storage::Client;
use crate::storage::decide::{Applied, Decided, Write};
use deadpool_postgres::Client as Connection;
use futures_util::future::join4;
use std::collections::{BTreeMap, HashMap};
use tokio_postgres::Error;
use tokio_postgres::types::ToSql;

const WRITE: &str = "insert into sync_object (user_id, id, revision, device, stored, data) \
    select changed.user_id, changed.id, changed.revision, changed.device, $1::bigint, changed.data \
    from unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bytea[]) as changed (user_id, id, revision, device, data) \
    on conflict (user_id, id) do update set revision = excluded.revision, device = excluded.device, \
    stored = excluded.stored, data = excluded.data";
const NAME: &str = "insert into sync_applied (user_id, device, change, revision, stored, overwrote, overwrote_revision, overwrote_data) \
    select named.user_id, named.device, named.change, named.revision, $1::bigint, named.overwrote, named.was, named.data \
    from unnest($2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::bigint[], $8::bytea[]) \
    as named (user_id, device, change, revision, overwrote, was, data)";
const RISE: &str = "update sync_user set revision = risen.revision from unnest($1::bigint[], $2::bigint[]) as risen (id, revision) \
    where sync_user.id = risen.id and sync_user.id = any($1::bigint[])";

/// The revision of an object, the device that made it, and its data.
type State<'g> = (i64, i64, Option<&'g [u8]>);

/// What is written for a group.
#[derive(Default)]
pub(super) struct Writing<'g> {
    /// By user and object. Of one that is changed more than once the last state is written: one statement changes a row once.
    objects: HashMap<(i64, &'g str), State<'g>>,
    /// With the user, the device and the name.
    names: Vec<(i64, i64, &'g str, &'g Applied)>,
    /// The last revision of each user.
    users: BTreeMap<i64, i64>,
}

impl<'g> Writing<'g> {
    /// Adds an upload.
    pub(super) fn add(&mut self, client: Client, upload: &'g Upload, decided: &'g Decided) {
        let (user, device) = (signed(client.account.user), signed(client.device));
        for Write { change, applied, .. } in decided.writes(upload) {
            let data = change.data.as_deref().map(str::as_bytes);
            self.objects.insert((user, &change.id), (signed(applied.revision), device, data));
            self.names.extend(change.name.as_deref().map(|name| (user, device, name, applied)));
            self.users.insert(user, signed(decided.revision));
        }
    }

    /// Writes all of it, and commits. What is sent behind a statement that fails, fails too.
    pub(super) async fn write(self, connection: &Connection, now: i64) -> Result<(), Error> {
        if self.users.is_empty() {
            return connection.batch_execute("rollback").await;
        }
        let [write, name, rise] = [WRITE, NAME, RISE].map(|sql| connection.prepare_cached(sql));
        let (write, name, rise) = (write.await?, name.await?, rise.await?);
        let (objects, names) = (Objects::of(&self.objects), Names::of(&self.names));
        let (users, revisions): (Vec<i64>, Vec<i64>) = self.users.iter().unzip();
        let named = async {
            match self.names.is_empty() {
                true => Ok(0),
                false => connection.execute(&name, &names.parameters(&now)).await,
            }
        };
        let objects = objects.parameters(&now);
        let risen: [&(dyn ToSql + Sync); 2] = [&users, &revisions];
        let all = join4(
            connection.execute(&write, &objects),
            named,
            connection.execute(&rise, &risen),
            connection.batch_execute("commit"),
        );
        // A commit behind a failure is none, and says no error.
        let (written, named, risen, committed) = all.await;
        written.and(named).and(risen)?;
        committed
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

    fn parameters<'p>(&'p self, now: &'p i64) -> [&'p (dyn ToSql + Sync); 6] {
        [now, &self.users, &self.ids, &self.revisions, &self.devices, &self.data]
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

    fn parameters<'p>(&'p self, now: &'p i64) -> [&'p (dyn ToSql + Sync); 8] {
        let Names { users, devices, names, revisions, objects, were, data } = self;
        [now, users, devices, names, revisions, objects, were, data]
    }
}
