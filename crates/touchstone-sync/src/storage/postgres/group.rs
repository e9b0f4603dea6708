//! Group commit: uploads that wait at the same time are one transaction. A user's uploads are always in the same lane, so no lane waits
//! for a row that another one has; only another process may have it.

use super::lease::Pool;
use super::upload::{Answer, Asked, uploads, uploads_in_turn};
use super::{ANSWERS_WITHIN, ATTEMPTS, CONNECTION_WITHIN, failed, is_lost_to_another, pause, silent};
use crate::change::{Upload, Uploaded};
use crate::clock::ServiceTime;
use crate::storage::gather::gather;
use crate::storage::watching::Registry;
use crate::storage::{Client, Error, Result};
use futures_util::FutureExt;
use metrics::histogram;
use std::panic::AssertUnwindSafe;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::timeout;

/// Uploads that may wait in a lane. The next one is told to come again.
pub(crate) const QUEUE: usize = 512;

/// Uploads of one transaction at most, so that none waits for long behind others.
const GROUP: usize = 128;

/// Transactions that are under way at the same time.
pub(crate) const LANES: usize = 2;

/// An upload that waits.
struct Waiting {
    asked: Asked,
    answer: oneshot::Sender<Result<Uploaded>>,
    /// What it takes of the memory of all.
    room: Option<OwnedSemaphorePermit>,
}

/// The lanes.
#[derive(Clone)]
pub(super) struct Writer {
    lanes: Vec<mpsc::Sender<Waiting>>,
}

impl Writer {
    /// Begins as many lanes as there are connections for. Each ends when the writer is dropped.
    pub(super) fn start(
        pool: &Pool,
        registry: &Registry<()>,
        time: ServiceTime,
        connections: usize,
    ) -> Writer {
        let lanes = (0..LANES.min(connections)).map(|_| {
            let (lane, waiting) = mpsc::channel(QUEUE);
            tokio::spawn(Lane { pool: pool.clone(), registry: registry.clone(), time }.work(waiting));
            lane
        });
        Writer { lanes: lanes.collect() }
    }

    /// Stores an upload, and returns when it is committed.
    pub(super) async fn upload(
        &self,
        client: Client,
        upload: Upload,
        room: Option<OwnedSemaphorePermit>,
    ) -> Result<Uploaded> {
        let (answer, answered) = oneshot::channel();
        let number = usize::try_from(client.account.user).unwrap_or_default() % self.lanes.len();
        let waiting = Waiting { asked: (client, upload), answer, room };
        self.lanes[number].try_send(waiting).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Error::Busy,
            mpsc::error::TrySendError::Closed(_) => ended(),
        })?;
        // Behind groups that the database does not answer it waits as long as for one.
        match timeout(CONNECTION_WITHIN + ANSWERS_WITHIN, answered).await {
            Ok(answered) => answered.unwrap_or_else(|_| Err(ended())),
            Err(_) => Err(silent()),
        }
    }

    /// Whether uploads are still written.
    pub(super) fn is_alive(&self) -> bool {
        self.lanes.iter().all(|lane| !lane.is_closed())
    }
}

fn ended() -> Error {
    Error::Failed(anyhow::anyhow!("the task that writes uploads has ended"))
}

/// What a lane has.
struct Lane {
    pool: Pool,
    registry: Registry<()>,
    time: ServiceTime,
}

impl Lane {
    async fn work(self, mut queue: mpsc::Receiver<Waiting>) {
        while let Some(first) = queue.recv().await {
            let mut group = gather(first, &mut queue, GROUP, |waiting| waiting.asked.1.bytes());
            // Whoever was told to come again repeats it.
            group.retain(|waiting: &Waiting| !waiting.answer.is_closed());
            // A panic is a mistake of the service. Those of the group are told that they were not answered; the others go on.
            let committed = AssertUnwindSafe(self.commit(group)).catch_unwind();
            if committed.await.is_err() {
                tracing::error!("the writing of a group of uploads panicked");
            }
        }
    }

    /// Commits a group. Where one may have failed for all, each is tried alone, so that what one cannot have, the others have. That ends
    /// where the database is away, and so does the group: what may have been stored is not stored again.
    async fn commit(&self, group: Vec<Waiting>) {
        let (asked, waiting): (Vec<Asked>, Vec<_>) =
            group.into_iter().map(|waiting| (waiting.asked, (waiting.answer, waiting.room))).unzip();
        let mut answers = vec![None; asked.len()];
        let failed = self.together(&asked, &mut answers).await.err();
        let mut is_away = matches!(failed, Some(Error::Away));
        let mut failed = failed.filter(|_| asked.len() == 1);
        for ((asked, answer), (told, _room)) in asked.into_iter().zip(answers).zip(waiting) {
            let answer = match answer {
                Some(answer) => Ok(answer),
                None if is_away || told.is_closed() => Err(Error::Away),
                None => match failed.take() {
                    Some(error) => Err(error),
                    None => self.alone(&asked).await,
                },
            };
            is_away |= matches!(answer, Err(Error::Away));
            self.tell(&asked, answer, told);
        }
    }

    async fn alone(&self, asked: &Asked) -> Result<Answer> {
        let mut answer = [None];
        self.together(std::slice::from_ref(asked), &mut answer).await?;
        let [answer] = answer;
        answer.ok_or(Error::Busy)
    }

    /// Whoever asked may have gone away: the upload is stored all the same, and a repeated one is told so.
    fn tell(&self, asked: &Asked, answer: Result<Answer>, told: oneshot::Sender<Result<Uploaded>>) {
        let answer = answer.and_then(|answer| answer.map_err(Error::Refused));
        let _ = told.send(answer.map(|(uploaded, revision)| {
            self.registry.tell(asked.0.account.user, revision);
            uploaded
        }));
    }

    /// Stores a group, and puts each answer in its place. Where it fails, those without an answer have written nothing.
    async fn together(&self, asked: &[Asked], answers: &mut [Option<Answer>]) -> Result<()> {
        histogram!("touchstone_sync_group_uploads").record(u32::try_from(asked.len()).unwrap_or(u32::MAX));
        for attempt in 1..=ATTEMPTS {
            let open: Vec<usize> = (0..asked.len()).filter(|place| answers[*place].is_none()).collect();
            if open.is_empty() {
                return Ok(());
            }
            let group: Vec<&Asked> = open.iter().map(|place| &asked[*place]).collect();
            match self.once(&group, attempt > 1).await? {
                Some(stored) => open.iter().zip(stored).for_each(|(place, answer)| answers[*place] = answer),
                None => tokio::time::sleep(pause(attempt)).await,
            }
        }
        match answers.iter().all(Option::is_some) {
            true => Ok(()),
            false => Err(Error::Busy),
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
