//! A group of uploads: what users have is found in one round trip, what answers give back is read in a second one, the uploads are decided, and what
//! they make is written by one statement.
//! That writes nothing of a user whose last revision has risen meanwhile, by another process: those uploads are decided again. So a
//! user's uploads come one after the other, and revisions are seen in their order. Statements do not grow in number with the uploads.

use super::found::{Found, Seen, Unread};
use super::given_back;
use super::rights::Grounds;
use super::signed;
use super::write::Writing;
use crate::change::{Upload, Uploaded};
use crate::storage::decide::{self, Decided, GIVEN_BACK_BYTES_MAX};
use crate::storage::gather::GROUP_BYTES;
use crate::storage::{Client, Refusal};
use deadpool_postgres::Client as Connection;
use std::collections::{BTreeSet, HashSet};
use tokio_postgres::Error;

const LOCK: &str = "select id from sync_user where id = any($1) order by id for update";

/// An upload of a device.
pub(super) struct Asked {
    pub(super) client: Client,
    pub(super) upload: Upload,
    pub(super) grounds: Grounds,
}

/// What became of an upload, with the user's last revision; nothing where a remembered device has lost its right; or why it is refused.
pub(super) type Answer = Result<Option<(Uploaded, u64)>, Refusal>;

/// Stores the uploads of a group, each user's in their order, at a moment of the services' time. One that is refused has written nothing, and so has
/// one without an answer: another process was quicker, or what is given back is much.
pub(super) async fn uploads(
    connection: &Connection,
    group: &[&Asked],
    now: i64,
) -> Result<Vec<Option<Answer>>, Error> {
    let mut found = Found::find(connection, group).await?;
    let too_much = given_back::read(connection, &mut found, group).await?;
    let mut decisions = Vec::with_capacity(group.len());
    let (mut changed, mut left, mut answers_bytes) = (HashSet::new(), HashSet::new(), 0);
    for (place, Asked { client, upload, grounds }) in group.iter().enumerate() {
        let user = client.account.user;
        let was = found.users.get(&user).map_or(0, |(revision, _)| *revision);
        let has_right = grounds.is_none() || found.rightful.contains(&place);
        let decided = match has_right {
            // A user's uploads keep their order, and the answers of all have room for so much.
            _ if left.contains(&user) || answers_bytes >= GROUP_BYTES => None,
            false => Some(Ok(None)),
            true => match decided(&found, *client, upload) {
                Ok(decided) => Some(decided),
                Err(Unread) if too_much.contains(&place) && !changed.contains(&user) => {
                    Some(Err(Refusal::TooMuch { most: GIVEN_BACK_BYTES_MAX }))
                }
                Err(Unread) if !upload.answer.has_room() => Some(Err(Refusal::Unread { looked_at: 0 })),
                // Others of the group have changed what it meets, or used up what is read, or the version is another by now: it is decided again.
                Err(Unread) => None,
            },
        };
        match &decided {
            None => drop(left.insert(user)),
            Some(Ok(Some(decided))) => {
                answers_bytes += decided.given_back();
                found.take(*client, upload, decided);
                changed.insert(user);
            }
            Some(Err(refusal)) => answers_bytes += decide::given_back(Err(refusal)),
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
    Ok(decide::decide(&Seen { found, client }, upload, *revision, &upload.answer)?.map(Some))
}
