//! Reads that wait at the same time are answered by one statement, so that their number does not become that of round trips.

use super::lease::Pool;
use super::{ANSWERS_WITHIN, CONNECTION_WITHIN, silent};
use crate::storage::{Error, Result};
use futures_util::FutureExt;
use std::num::NonZero;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// Questions that may wait. The next one is told to come again.
pub(crate) const QUEUE: usize = 1024;

/// The parameters of a statement.
pub(super) type Parameters<'a> = Vec<Box<dyn ToSql + Sync + Send + 'a>>;

/// A kind of question, many of which one statement answers.
pub(super) trait Batch: 'static {
    /// A question.
    type Asked: Send + Sync + 'static;
    /// What it is answered with.
    type Answer: Send + 'static;

    /// The statement. Its first parameter is the place of each question, and so is the first column of its rows.
    const SQL: &str;
    /// Questions of one statement at most.
    const MOST: usize;

    /// What the statement is given.
    fn parameters(asked: &[Self::Asked]) -> Parameters<'_>;

    /// What a question is answered with, whose rows are these.
    fn answer(asked: &Self::Asked, rows: &[Row]) -> Self::Answer;
}

/// A question that waits.
struct Waiting<B: Batch> {
    asked: B::Asked,
    answer: oneshot::Sender<Result<B::Answer>>,
}

/// The tasks that answer questions of a kind.
pub(super) struct Batcher<B: Batch> {
    queue: mpsc::Sender<Waiting<B>>,
}

impl<B: Batch> Clone for Batcher<B> {
    fn clone(&self) -> Batcher<B> {
        Batcher { queue: self.queue.clone() }
    }
}

impl<B: Batch> Batcher<B> {
    /// Starts a task for each processor, and none without a connection. They end when this is dropped.
    pub(super) fn start(pool: &Pool, connections: usize) -> Batcher<B> {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let waiting = Arc::new(Mutex::new(waiting));
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        for _ in 0..processors.min(connections) {
            tokio::spawn(work::<B>(pool.clone(), Arc::clone(&waiting)));
        }
        Batcher { queue }
    }

    /// The answer to a question, from a moment after it was asked.
    pub(super) async fn ask(&self, asked: B::Asked) -> Result<B::Answer> {
        let (answer, answered) = oneshot::channel();
        self.queue.try_send(Waiting { asked, answer }).map_err(|_| Error::Busy)?;
        match timeout(CONNECTION_WITHIN + ANSWERS_WITHIN, answered).await {
            Ok(answered) => answered.unwrap_or(Err(Error::Busy)),
            Err(_) => Err(silent()),
        }
    }
}

/// Answers those that wait, as many as one statement may, until no more can come.
async fn work<B: Batch>(pool: Pool, queue: Arc<Mutex<mpsc::Receiver<Waiting<B>>>>) {
    loop {
        let mut group = Vec::with_capacity(B::MOST);
        if queue.lock().await.recv_many(&mut group, B::MOST).await == 0 {
            return;
        }
        group.retain(|waiting| !waiting.answer.is_closed());
        // A panic is a mistake of the service. Those of the group are told to come again; the others go on.
        if AssertUnwindSafe(answer(&pool, group)).catch_unwind().await.is_err() {
            tracing::error!("the answering of a group of requests panicked");
        }
    }
}

async fn answer<B: Batch>(pool: &Pool, group: Vec<Waiting<B>>) {
    if group.is_empty() {
        return;
    }
    let (asked, told): (Vec<_>, Vec<_>) =
        group.into_iter().map(|Waiting { asked, answer }| (asked, answer)).unzip();
    match answers::<B>(pool, &asked).await {
        Ok(answers) => told.into_iter().zip(answers).for_each(|(told, answer)| {
            // Nobody waits where the client has gone.
            let _ = told.send(Ok(answer));
        }),
        Err(error) => told.into_iter().for_each(|told| {
            let _ = told.send(Err(of_each(&error)));
        }),
    }
}

async fn answers<B: Batch>(pool: &Pool, asked: &[B::Asked]) -> Result<Vec<B::Answer>> {
    let parameters = B::parameters(asked);
    let borrowed: Vec<&(dyn ToSql + Sync)> =
        parameters.iter().map(|parameter| parameter.as_ref() as &(dyn ToSql + Sync)).collect();
    let mut rows = pool.rows(B::SQL, &borrowed).await?;
    rows.sort_by_key(place);
    let mut rest = rows.as_slice();
    let answers = asked.iter().zip(0..).map(|(asked, number)| {
        let (of_it, others) = rest.split_at(rest.partition_point(|row| place(row) <= number));
        rest = others;
        B::answer(asked, of_it)
    });
    Ok(answers.collect())
}

fn place(row: &Row) -> i64 {
    row.get(0)
}

/// The places of questions.
pub(super) fn places<T>(asked: &[T]) -> Vec<i64> {
    (0..).take(asked.len()).collect()
}

/// What each of a group is told where the statement failed.
fn of_each(error: &Error) -> Error {
    match error {
        Error::Failed(error) => Error::Failed(anyhow::anyhow!("{error:#}")),
        Error::Away => Error::Away,
        Error::Full => Error::Full,
        Error::Refused(_) | Error::Busy => Error::Busy,
    }
}
