//! Group commit: uploads that wait at the same time are one transaction. While a group is under way, others wait and become the next one, which
//! costs less than two small ones beside each other. Another group begins beside it only if as many wait, or if it takes long: it may have much
//! to write, or wait for a row that another session has. No two groups have a user in common, so none waits for a row that the other has.

use super::lease::Pool;
use super::pace::Pace;
use super::upload::{Answer, Asked, uploads, uploads_in_turn};
use super::{
    ANSWERS_WITHIN, ATTEMPTS, CONNECTION_WITHIN, failed, is_lost_to_another, number, pause, signed, silent,
};
use crate::clock::ServiceTime;
use crate::prometheus;
use crate::shares::{BodyRoom, Share, Shares};
use crate::storage::decide;
use crate::storage::gather::{GROUP_BYTES, Gathered, QUEUE, in_turns, place};
use crate::storage::watching::Registry;
use crate::storage::{Error, Result, Tried};
use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, timeout};

/// Uploads of one transaction at most, so that none waits for long behind others.
const GROUP: usize = 128;

/// Uploads that wait from which on a second group begins beside the first, if they are as many as the first one's users.
const MANY: usize = 4;

/// Groups that are under way at the same time, at most.
const GROUPS: usize = 4;

/// Changes that a user may have stored more than those who wait behind the oldest group.
const AHEAD: usize = 1_000;

/// How long a user who has stored more than that waits for the oldest group.
const HELD_FOR: Duration = Duration::from_millis(500);

/// The users whose rows another session has.
const LOCKED: &str = "with free as (select id from sync_user where id = any($1) for update skip locked) \
    select id from sync_user where id = any($1) and id not in (select id from free)";

/// An upload that waits.
struct Waiting {
    asked: Asked,
    answer: oneshot::Sender<Result<Tried>>,
    /// Set by the first of two: the task that writes it, or the request that waits no longer. What has left the queue is not written.
    is_taken: Arc<AtomicBool>,
    /// What its body takes of memory.
    room: Option<BodyRoom>,
    /// Its place among those that wait.
    _place: Share,
}

impl Waiting {
    fn user(&self) -> u64 {
        self.asked.client.account.user
    }
}

/// Gives uploads to the task that writes them.
#[derive(Clone)]
pub(super) struct Writer {
    queue: mpsc::UnboundedSender<Waiting>,
    /// The places of those that wait.
    places: Shares,
    /// Wakes the task where there is no place: clients that have left, or were told to come again, may have some.
    full: Arc<Notify>,
}

impl Writer {
    /// Begins the task, which ends when the writer is dropped.
    pub(super) fn start(
        pool: &Pool,
        registry: &Registry<()>,
        time: ServiceTime,
        connections: usize,
    ) -> Writer {
        let (queue, waiting) = mpsc::unbounded_channel();
        let full = Arc::new(Notify::new());
        let groups = Groups { pool: pool.clone(), registry: registry.clone(), time, full: Arc::clone(&full) };
        tokio::spawn(async move { groups.work(waiting, GROUPS.min(connections)).await });
        Writer { queue, places: Shares::default(), full }
    }

    /// Stores an upload, and returns when it is committed. One whose device has lost its right, which is remembered, is given back.
    pub(super) async fn upload(&self, asked: Asked, room: Option<BodyRoom>) -> Result<Tried> {
        let (answer, answered) = oneshot::channel();
        let place = place(&self.places, asked.client.account).ok_or_else(|| {
            self.full.notify_one();
            Error::Busy
        })?;
        let is_taken = Arc::<AtomicBool>::default();
        let waiting = Waiting { asked, answer, is_taken: Arc::clone(&is_taken), room, _place: place };
        self.queue.send(waiting).map_err(|_| ended())?;
        // Behind groups that the database does not answer it waits as long as for one.
        match timeout(CONNECTION_WITHIN + ANSWERS_WITHIN, answered).await {
            Ok(answered) => answered.unwrap_or_else(|_| Err(ended())),
            Err(_) if is_taken.swap(true, Ordering::AcqRel) => Err(silent()),
            Err(_) => Err(Error::Busy),
        }
    }

    /// Whether uploads are still written.
    pub(super) fn is_alive(&self) -> bool {
        !self.queue.is_closed()
    }
}

/// Bytes of the versions that an answer gives back.
fn given_back(answer: &Answer) -> usize {
    match answer {
        Ok(stored) => stored.as_ref().map_or(0, |(uploaded, _)| decide::given_back(Ok(uploaded))),
        Err(refusal) => decide::given_back(Err(refusal)),
    }
}

fn ended() -> Error {
    Error::Failed(anyhow::anyhow!("the task that writes uploads has ended"))
}

/// Which users have a group under way, and how much they had since.
#[derive(Default)]
struct Users {
    /// Those who have something under way: no two groups have a user in common.
    under_way: HashSet<u64>,
    /// Changes of each user in groups that began while the oldest group was under way.
    stored: HashMap<u64, usize>,
}

impl Users {
    /// Notes that a group of these users has ended, and whether it was the oldest.
    fn end(&mut self, users: &HashSet<u64>, was_oldest: bool) {
        self.under_way.retain(|user| !users.contains(user));
        if was_oldest {
            self.stored.retain(|user, _| self.under_way.contains(user));
        }
    }

    /// Changes up to which a user may be in the next group: some more than any of those who wait behind their own group. None where nobody does. A user
    /// who was once alone in a group would else be alone in all that are begun beside the others' one, and store many times as much as each of them.
    fn limit(&self, waiting: &[Waiting]) -> Option<usize> {
        let behind = waiting.iter().map(Waiting::user).filter(|user| self.under_way.contains(user));
        let most = behind.filter_map(|user| self.stored.get(&user)).max();
        most.map(|most| most + AHEAD)
    }

    /// Whether somebody waits for the group of others.
    fn some_wait(&self, waiting: &[Waiting]) -> bool {
        waiting.iter().any(|waiting| !self.under_way.contains(&waiting.user()))
    }

    /// Begins a group of those who have nothing under way, and have stored less than so many changes, as many as a group may have: of each user one before
    /// the second of any.
    fn next_group(&mut self, waiting: &mut Vec<Waiting>, limit: Option<usize>) -> Vec<Waiting> {
        in_turns(waiting, Waiting::user);
        let mut group = Gathered::default();
        let Users { under_way, stored } = self;
        let may_go = |waiting: &mut Waiting| {
            let stored = stored.entry(waiting.user()).or_default();
            let may_go = !under_way.contains(&waiting.user())
                && limit.is_none_or(|limit| *stored < limit)
                && group.take(&waiting.asked.upload, GROUP);
            *stored += if may_go { waiting.asked.upload.changes.len() } else { 0 };
            may_go
        };
        let group = waiting.extract_if(.., may_go);
        let group: Vec<_> = group.filter(|waiting| !waiting.is_taken.swap(true, Ordering::AcqRel)).collect();
        self.under_way.extend(group.iter().map(Waiting::user));
        group
    }
}

/// What groups are written with.
struct Groups {
    pool: Pool,
    registry: Registry<()>,
    time: ServiceTime,
    /// Wakes where there is no place.
    full: Arc<Notify>,
}

impl Groups {
    /// Writes what comes, until nothing more can.
    async fn work(&self, mut queue: mpsc::UnboundedReceiver<Waiting>, most: usize) {
        let (mut waiting, mut is_open) = (Vec::new(), true);
        let (mut users, mut under_way) = (Users::default(), FuturesUnordered::new());
        let (mut pace, mut is_held) = (Pace::of(most), false);
        loop {
            tokio::select! {
                received = queue.recv_many(&mut waiting, QUEUE), if is_open => is_open = received > 0,
                Some((ended, began)) = under_way.next() => {
                    users.end(&ended, pace.is_oldest(began));
                    pace.end(began);
                }
                () = pace.slowed(), if pace.under_way() > 0 => {}
                () = pace.aged(HELD_FOR), if is_held => {}
                () = self.full.notified(), if is_open => {}
                else => return,
            }
            pace.look();
            is_held = false;
            // A client that was told to come again repeats it.
            waiting.retain(|waiting: &Waiting| !waiting.answer.is_closed());
            if pace.may_begin(pace.under_way() == 1 && waiting.len() >= MANY.max(users.under_way.len())) {
                // A group that is under way for longer may wait for a row that another session has, or for a database that is slow: others go on.
                let limit = users.limit(&waiting).filter(|_| pace.is_young(HELD_FOR));
                let group = users.next_group(&mut waiting, limit);
                if !group.is_empty() {
                    under_way.push(self.write(group, pace.begin()));
                }
                is_held = limit.is_some() && users.some_wait(&waiting);
            }
        }
    }

    /// Writes a group; returns its users, and when it began.
    async fn write(&self, group: Vec<Waiting>, began: Instant) -> (HashSet<u64>, Instant) {
        let users = group.iter().map(Waiting::user).collect();
        // A panic is a mistake of the service. Those of the group are told that they were not answered; the others go on.
        if AssertUnwindSafe(self.commit(group)).catch_unwind().await.is_err() {
            tracing::error!("the writing of a group of uploads panicked");
        }
        (users, began)
    }

    /// Commits a group. Where another session has the rows of users, these are told to come again, and the rest is committed without them. Where one
    /// may have failed for all, each is tried alone, so that what one cannot have, the others have; and of a user whose row was taken meanwhile,
    /// one alone. That ends where the database is away, and so does the group: what may have been stored is not stored again.
    async fn commit(&self, group: Vec<Waiting>) {
        let (asked, waiting): (Vec<Asked>, Vec<_>) =
            group.into_iter().map(|waiting| (waiting.asked, (waiting.answer, waiting.room))).unzip();
        let mut answers = vec![None; asked.len()];
        let mut locked = HashSet::new();
        let mut failed = self.together(&asked, &mut answers, &locked).await.err();
        if asked.len() > 1 && matches!(failed, Some(Error::Busy)) {
            failed = self.without_locked(&asked, &mut answers, &mut locked).await.err();
        }
        let mut is_away = matches!(failed, Some(Error::Away));
        let mut failed = failed.filter(|_| asked.len() == 1);
        let group = asked.into_iter().zip(answers).zip(waiting);
        // What is stored is told first: the others may take their time.
        let (stored, left): (Vec<_>, Vec<_>) = group.partition(|((_, answer), _)| answer.is_some());
        for ((asked, answer), (told, room)) in stored.into_iter().chain(left) {
            let answer = match answer {
                Some(answer) => Ok(answer),
                None if told.is_closed() => continue,
                None if is_away => Err(Error::Away),
                None if locked.contains(&asked.client.account.user) => Err(Error::Busy),
                None => match failed.take() {
                    Some(error) => Err(error),
                    None => self.alone(&asked).await,
                },
            };
            is_away |= matches!(answer, Err(Error::Away));
            if matches!(answer, Err(Error::Busy)) {
                locked.insert(asked.client.account.user);
            }
            let answer = answer.and_then(|answer| self.told(asked, room, answer));
            // Its client may have gone: the upload is stored all the same, and a repeated one is told so.
            let _ = told.send(answer);
        }
    }

    async fn alone(&self, asked: &Asked) -> Result<Answer> {
        let mut answer = [None];
        self.together(std::slice::from_ref(asked), &mut answer, &HashSet::new()).await?;
        let [answer] = answer;
        answer.ok_or(Error::Busy)
    }

    /// The answer to who asked; those who watch are told of the new revision.
    fn told(&self, asked: Asked, room: Option<BodyRoom>, answer: Answer) -> Result<Tried> {
        let Some((uploaded, revision)) = answer? else { return Ok(Tried::Unknown(asked.upload, room)) };
        self.registry.tell(asked.client.account.user, revision);
        Ok(Tried::Stored(uploaded))
    }

    /// Stores a group but for the users whose rows another session has now, and tells these.
    async fn without_locked(
        &self,
        asked: &[Asked],
        answers: &mut [Option<Answer>],
        locked: &mut HashSet<u64>,
    ) -> Result<()> {
        let users: Vec<i64> = asked.iter().map(|asked| signed(asked.client.account.user)).collect();
        let rows = self.pool.rows(LOCKED, &[&users]).await?;
        locked.extend(rows.iter().map(|row| number(row.get(0))));
        self.together(asked, answers, locked).await
    }

    /// Stores a group but for users that are locked, and puts each answer in its place. Where it fails, those without an answer have written nothing.
    async fn together(
        &self,
        asked: &[Asked],
        answers: &mut [Option<Answer>],
        locked: &HashSet<u64>,
    ) -> Result<()> {
        let is_open = |place: usize, answers: &[Option<Answer>]| {
            answers[place].is_none() && !locked.contains(&asked[place].client.account.user)
        };
        prometheus::grouped(asked.len());
        for attempt in 1..=ATTEMPTS {
            let open: Vec<usize> = (0..asked.len()).filter(|place| is_open(*place, answers)).collect();
            if open.is_empty() {
                return Ok(());
            }
            let group: Vec<&Asked> = open.iter().map(|place| &asked[*place]).collect();
            match self.once(&group, attempt > 1).await? {
                Some(stored) => open.iter().zip(stored).for_each(|(place, answer)| answers[*place] = answer),
                None => tokio::time::sleep(pause(attempt)).await,
            }
            // These are told before there are more: the others are tried alone.
            if answers.iter().flatten().map(given_back).sum::<usize>() >= GROUP_BYTES {
                return Ok(());
            }
        }
        match (0..asked.len()).any(|place| is_open(place, answers)) {
            true => Err(Error::Busy),
            false => Ok(()),
        }
    }

    /// None where the database has ended the transaction in favour of another. Where another process was quicker, the next time is in turn.
    async fn once(&self, group: &[&Asked], in_turn: bool) -> Result<Option<Vec<Option<Answer>>>> {
        let connection = self.pool.lease().await?;
        let stored = timeout(ANSWERS_WITHIN, async {
            match in_turn {
                true => uploads_in_turn(&connection, group, self.time.now()).await,
                false => uploads(&connection, group, self.time.now()).await,
            }
        });
        let stored = stored.await.map_err(|_| silent())?;
        connection.end();
        match stored {
            Err(error) if is_lost_to_another(&error) => Ok(None),
            stored => stored.map(Some).map_err(failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::{Change, Upload};
    use crate::storage::{Account, Client};

    /// An upload of a user, which has so many bytes of data.
    fn waiting(user: u64, bytes: usize) -> Waiting {
        let client = Client { account: Account { user }, device: 1 };
        let data = Some(" ".repeat(bytes));
        let upload = Upload {
            changes: vec![Change { id: "a".into(), data, base: None, name: None }],
            ..Upload::default()
        };
        let place = Shares::default().take(client.account, 1);
        let asked = Asked { client, upload, grounds: None };
        let (answer, is_taken) = (oneshot::channel().0, Arc::default());
        Waiting { asked, answer, is_taken, room: None, _place: place }
    }

    #[test]
    fn what_has_left_the_queue_is_not_written() {
        let mut left: Vec<_> = (1..=3).map(|user| waiting(user, 1)).collect();
        left[1].is_taken.store(true, Ordering::Release);
        let group = Users::default().next_group(&mut left, None);
        assert_eq!(Vec::from_iter(group.iter().map(Waiting::user)), [1, 3]);
        assert!(left.is_empty() && group[0].is_taken.load(Ordering::Acquire));
    }

    /// Found by an attacker: of eight users who flooded the service one stored sixteen times as much as each other.
    #[test]
    fn who_has_stored_more_beside_a_group_waits_for_those_who_wait_behind_it() {
        let uploads = |users: &[u64]| -> Vec<Waiting> {
            let upload = |user: &u64| {
                let mut waiting = waiting(*user, 1);
                waiting.asked.upload.changes = vec![waiting.asked.upload.changes.remove(0); AHEAD];
                waiting
            };
            users.iter().map(upload).collect()
        };
        let of = |users: &[u64]| users.iter().copied().collect::<HashSet<_>>();
        let mut users = Users::default();
        let next = |users: &mut Users, waiting: &mut Vec<Waiting>| -> Vec<u64> {
            let limit = users.limit(waiting);
            users.next_group(waiting, limit).iter().map(Waiting::user).collect()
        };
        let mut left = uploads(&[1, 2]);
        assert_eq!(next(&mut users, &mut left), [1, 2]);
        left.extend(uploads(&[3, 3, 3]));
        assert_eq!(next(&mut users, &mut left), [3, 3, 3], "nobody waits behind the other group");
        users.end(&of(&[3]), false);
        users.stored.remove(&3);
        left.extend(uploads(&[1, 3, 3, 3]));
        assert_eq!(next(&mut users, &mut left), [3, 3], "as many as the other has, and some more");
        users.end(&of(&[3]), false);
        assert!(next(&mut users, &mut left).is_empty() && users.some_wait(&left));
        users.end(&of(&[1, 2]), true);
        assert_eq!(next(&mut users, &mut left), [1, 3]);
    }

    #[test]
    fn a_group_has_no_user_who_has_something_under_way_and_ends_at_its_bytes() {
        let users = |group: &[Waiting]| -> Vec<u64> { group.iter().map(Waiting::user).collect() };
        let next_group = |left: &mut Vec<Waiting>, under_way: &[u64]| {
            let under_way = under_way.iter().copied().collect();
            Users { under_way, ..Users::default() }.next_group(left, None)
        };
        let mut left: Vec<_> = [1, 2, 1, 3, 2].into_iter().map(|user| waiting(user, 1)).collect();
        assert_eq!(users(&next_group(&mut left, &[1, 3])), [2, 2]);
        assert_eq!(users(&left), [1, 3, 1], "in turns");
        assert!(next_group(&mut left, &[1, 3]).is_empty());
        assert_eq!(users(&next_group(&mut left, &[])), [1, 3, 1]);
        let mut left: Vec<_> = [1, 2, 1].into_iter().map(|user| waiting(user, GROUP_BYTES)).collect();
        assert_eq!(users(&next_group(&mut left, &[])), [1]);
        assert_eq!(users(&next_group(&mut left, &[1])), [2]);
        assert_eq!(users(&left), [1]);
        let mut left: Vec<_> = (0..200).map(|user| waiting(user, 1)).collect();
        assert_eq!(users(&next_group(&mut left, &[0])), Vec::from_iter(1..=GROUP as u64));
        assert_eq!((left.len(), left[0].user(), left[1].user()), (200 - GROUP, 0, GROUP as u64 + 1));
    }
}
