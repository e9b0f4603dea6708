//! The data that answers to a group of uploads give back. It is read in a round trip that most groups do not need.

use super::found::{Found, Seen};
use super::signed;
use super::upload::Asked;
use crate::change::Version;
use crate::shares::AnswerRoom;
use crate::storage::decide::{self, Applied, GIVEN_BACK_BYTES_MAX, Lookup};
use crate::storage::gather::GROUP_BYTES;
use deadpool_postgres::Client as Connection;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::convert::Infallible;
use tokio_postgres::Error;
use tokio_postgres::types::ToSql;

/// Data of objects while they have a revision, and of what changes of a name have overwritten.
const DATA: &str = "select asked.user_id, null::bigint as device, asked.id as name, known.data \
        from unnest($1::bigint[], $2::text[], $3::bigint[]) as asked (user_id, id, revision) \
        join lateral (select revision, data from sync_object where user_id = asked.user_id and id = asked.id limit 1) known \
            on known.revision = asked.revision \
    union all select asked.user_id, asked.device, asked.change, known.overwrote_data \
        from unnest($4::bigint[], $5::bigint[], $6::text[]) as asked (user_id, device, change) \
        join lateral (select overwrote_data from sync_applied \
            where user_id = asked.user_id and device = asked.device and change = asked.change limit 1) known on true";

/// What answers may give back, and is not read yet.
#[derive(Default)]
struct Wanted {
    /// By user and name, with the revision.
    objects: BTreeMap<(i64, String), i64>,
    /// By user, device and name.
    applied: BTreeSet<(i64, i64, String)>,
    bytes: usize,
}

impl Wanted {
    /// What the answer to an upload gives back if none of its group changes what it meets.
    fn of(found: &Found, Asked { client, upload, .. }: &Asked) -> Wanted {
        let wanting = Wanting { seen: Seen { found, client: *client }, wanted: RefCell::default() };
        let Ok(_) = decide::decide(&wanting, upload, 0, &AnswerRoom::default());
        wanting.wanted.into_inner()
    }

    fn add(&mut self, other: Wanted) {
        self.objects.extend(other.objects);
        self.applied.extend(other.applied);
        self.bytes += other.bytes;
    }
}

/// What one device finds, where data that is not read is noted, and none in its place.
struct Wanting<'f> {
    seen: Seen<'f>,
    wanted: RefCell<Wanted>,
}

impl Lookup for Wanting<'_> {
    type Error = Infallible;

    fn applied(&self, name: &str) -> Result<Option<Applied>, Infallible> {
        let Some(done) = self.seen.done(name) else { return Ok(None) };
        if let Some(bytes) = done.unread() {
            let client = self.seen.client;
            let mut wanted = self.wanted.borrow_mut();
            wanted.applied.insert((signed(client.account.user), signed(client.device), name.to_owned()));
            wanted.bytes += bytes;
        }
        Ok(Some(Applied { revision: done.revision, overwritten: None }))
    }

    fn revision(&self, object: &str) -> Result<Option<u64>, Infallible> {
        Ok(self.seen.object(object).map(|known| known.revision))
    }

    fn version(&self, object: &str, revision: u64) -> Result<Version, Infallible> {
        if let Some(bytes) = self.seen.object(object).and_then(|known| known.unread()) {
            let user = signed(self.seen.client.account.user);
            let mut wanted = self.wanted.borrow_mut();
            wanted.objects.insert((user, object.to_owned()), signed(revision));
            wanted.bytes += bytes;
        }
        Ok(Version { id: object.to_owned(), revision, data: None })
    }

    fn version_of_others(&self, object: &str, revision: u64) -> Result<Option<Version>, Infallible> {
        match self.seen.is_of_others(object) {
            true => self.version(object, revision).map(Some),
            false => Ok(None),
        }
    }
}

/// Reads the data that answers may give back. Returns the uploads that meet more than is given back, for which nothing is read; nor is anything
/// for those whose answers have no room, and for those that are left when as much is read as a group may.
pub(super) async fn read(
    connection: &Connection,
    found: &mut Found,
    group: &[&Asked],
) -> Result<HashSet<usize>, Error> {
    let (mut all, mut too_much) = (Wanted::default(), HashSet::new());
    for (place, asked) in group.iter().enumerate() {
        let wanted = Wanted::of(found, asked);
        if wanted.bytes > GIVEN_BACK_BYTES_MAX {
            too_much.insert(place);
        } else if all.bytes < GROUP_BYTES && asked.upload.answer.has_room() {
            all.add(wanted);
        }
    }
    if all.objects.is_empty() && all.applied.is_empty() {
        return Ok(too_much);
    }
    let (keys, revisions): (Vec<_>, Vec<i64>) = all.objects.into_iter().unzip();
    let (users, ids): (Vec<i64>, Vec<String>) = keys.into_iter().unzip();
    let (named_users, named_devices, names): (Vec<i64>, Vec<i64>, Vec<String>) =
        all.applied.into_iter().collect();
    let parameters: [&(dyn ToSql + Sync); 6] =
        [&users, &ids, &revisions, &named_users, &named_devices, &names];
    let statement = connection.prepare_cached(DATA).await?;
    for row in connection.query(&statement, &parameters).await? {
        found.note_data(&row);
    }
    Ok(too_much)
}
