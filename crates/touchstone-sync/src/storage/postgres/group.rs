//! Group commit: uploads that wait at the same time are one transaction. A user's uploads are always in the same lane, so no lane waits
//! for a row that another one has; only another process may have it.

use super::lease::Pool;
use super::upload::{Answer, Asked, uploads};
use super::{ANSWERS_WITHIN, ATTEMPTS, CONNECTION_WITHIN, failed, is_lost_to_another, pause, silent};
use crate::change::{Upload, Uploaded};
use crate::clock;
use crate::storage::watching::Registry;
use crate::storage::{Client, Error, Result};
use futures_util::FutureExt;
use metrics::histogram;
use std::panic::AssertUnwindSafe;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Uploads that may wait in a lane. The next one is told to come again.
const QUEUE: usize = 512;

/// Uploads of one transaction at most, so that none waits for long behind others.
const GROUP: usize = 128;

/// Transactions that are under way at the same time.
const LANES: usize = 2;

/// An upload that waits.
struct Waiting {
    asked: Asked,
    answer: oneshot::Sender<Result<Uploaded>>,
}

/// The lanes.
#[derive(Clone)]
pub(super) struct Writer {
    lanes: Vec<mpsc::Sender<Waiting>>,
}

impl Writer {
    /// Begins as many lanes as there are connections for. Each ends when the writer is dropped.
    pub(super) fn start(pool: &Pool, registry: &Registry<()>, connections: usize) -> Writer {
        let lanes = (0..LANES.min(connections)).map(|_| {
            let (lane, waiting) = mpsc::channel(QUEUE);
            tokio::spawn(Lane { pool: pool.clone(), registry: registry.clone() }.work(waiting));
            lane
        });
        Writer { lanes: lanes.collect() }
    }

    /// Stores an upload, and returns when it is committed.
    pub(super) async fn upload(&self, client: Client, upload: Upload) -> Result<Uploaded> {
        let (answer, answered) = oneshot::channel();
        let number = usize::try_from(client.account.user).unwrap_or_default() % self.lanes.len();
        self.lanes[number].try_send(Waiting { asked: (client, upload), answer }).map_err(
            |error| match error {
                mpsc::error::TrySendError::Full(_) => Error::Busy,
                mpsc::error::TrySendError::Closed(_) => ended(),
            },
        )?;
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
}

impl Lane {
    async fn work(self, mut queue: mpsc::Receiver<Waiting>) {
        let mut group = Vec::with_capacity(GROUP);
        while queue.recv_many(&mut group, GROUP).await > 0 {
            // Whoever was told to come again repeats it.
            group.retain(|waiting: &Waiting| !waiting.answer.is_closed());
            // A panic is a mistake of the service. Those of the group are told that they were not answered; the others go on.
            let committed = AssertUnwindSafe(self.commit(&mut group)).catch_unwind();
            if committed.await.is_err() {
                tracing::error!("the writing of a group of uploads panicked");
                group.clear();
            }
        }
    }

    /// Commits a group. Where one may have failed for all, each is tried alone, so that what one cannot have, the others have.
    async fn commit(&self, group: &mut Vec<Waiting>) {
        let (asked, waiting): (Vec<Asked>, Vec<_>) =
            group.drain(..).map(|waiting| (waiting.asked, waiting.answer)).unzip();
        if asked.is_empty() {
            return;
        }
        match self.together(&asked).await {
            Err(Error::Away) => waiting.into_iter().for_each(|answer| drop(answer.send(Err(Error::Away)))),
            Err(_) if asked.len() > 1 => {
                for (asked, answer) in asked.into_iter().zip(waiting) {
                    let alone = self.together(std::slice::from_ref(&asked)).await;
                    self.tell(&asked, alone.map(|mut answers| answers.remove(0)), answer);
                }
            }
            Err(error) => {
                let mut error = Some(error);
                for answer in waiting {
                    let _ = answer.send(Err(error.take().unwrap_or(Error::Busy)));
                }
            }
            Ok(answers) => {
                for ((asked, answer), told) in asked.iter().zip(answers).zip(waiting) {
                    self.tell(asked, Ok(answer), told);
                }
            }
        }
    }

    /// Whoever asked may have gone away: the upload is stored all the same, and a repeated one is told so.
    fn tell(&self, asked: &Asked, answer: Result<Answer>, told: oneshot::Sender<Result<Uploaded>>) {
        let answer = answer.and_then(|answer| answer.map_err(Error::Refused));
        let _ = told.send(answer.map(|(uploaded, revision)| {
            self.registry.tell(asked.0.account.user, revision);
            uploaded
        }));
    }

    async fn together(&self, asked: &[Asked]) -> Result<Vec<Answer>> {
        histogram!("touchstone_sync_group_uploads").record(u32::try_from(asked.len()).unwrap_or(u32::MAX));
        let mut attempt = 0;
        loop {
            let connection = self.pool.lease().await?;
            let stored = timeout(ANSWERS_WITHIN, uploads(&connection, asked, clock::seconds()));
            let stored = stored.await.map_err(|_| silent())?;
            connection.end();
            attempt += 1;
            match stored {
                Err(error) if is_lost_to_another(&error) && attempt < ATTEMPTS => {
                    tokio::time::sleep(pause(attempt)).await;
                }
                stored => return stored.map_err(failed),
            }
        }
    }
}
