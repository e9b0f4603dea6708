//! Reads that wait at the same time are answered by one statement, so that their number does not become that of round trips.

use super::lease::Pool;
use super::pace::Pace;
use super::{ANSWERS_WITHIN, CONNECTION_WITHIN, silent};
use crate::storage::{Error, Result};
use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{Instant, timeout};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// Questions that may wait. The next one is told to come again.
pub(crate) const QUEUE: usize = 1024;

/// Statements of a kind that are under way at the same time, at most.
const STATEMENTS: usize = 2;

/// How often the service's other tasks have their turn while a group gathers, at most.
const TURNS: usize = 10;

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
    fn answer(asked: Self::Asked, rows: &[Row]) -> Self::Answer;
}

/// A question that waits.
struct Waiting<B: Batch> {
    asked: B::Asked,
    answer: oneshot::Sender<Result<(B::Asked, Vec<Row>)>>,
    /// Its place among those that wait.
    _place: OwnedSemaphorePermit,
}

/// Gives questions of a kind to the task that asks the database.
pub(super) struct Batcher<B: Batch> {
    queue: mpsc::UnboundedSender<Waiting<B>>,
    /// The places of those that wait.
    places: Arc<Semaphore>,
}

impl<B: Batch> Clone for Batcher<B> {
    fn clone(&self) -> Batcher<B> {
        Batcher { queue: self.queue.clone(), places: Arc::clone(&self.places) }
    }
}

impl<B: Batch> Batcher<B> {
    /// Starts the task, which ends when this is dropped.
    pub(super) fn start(pool: &Pool, connections: usize) -> Batcher<B> {
        let (queue, waiting) = mpsc::unbounded_channel();
        tokio::spawn(work::<B>(pool.clone(), waiting, STATEMENTS.min(connections)));
        Batcher { queue, places: Arc::new(Semaphore::new(QUEUE)) }
    }

    /// The answer to a question, from a moment after it was asked.
    pub(super) async fn ask(&self, asked: B::Asked) -> Result<B::Answer> {
        let (answer, answered) = oneshot::channel();
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| Error::Busy)?;
        self.queue.send(Waiting { asked, answer, _place: place }).map_err(|_| Error::Busy)?;
        match timeout(CONNECTION_WITHIN + ANSWERS_WITHIN, answered).await {
            Ok(answered) => answered.unwrap_or(Err(Error::Busy)).map(|(asked, rows)| B::answer(asked, &rows)),
            Err(_) => Err(silent()),
        }
    }
}

/// Asks for what waits, as much at a time as one statement may, until nothing more can come.
async fn work<B: Batch>(pool: Pool, mut queue: mpsc::UnboundedReceiver<Waiting<B>>, most: usize) {
    let (mut waiting, mut is_open, mut last) = (Vec::new(), true, 0);
    let (mut pace, mut under_way) = (Pace::of(most), FuturesUnordered::new());
    loop {
        tokio::select! {
            received = queue.recv_many(&mut waiting, QUEUE), if is_open => is_open = received > 0,
            Some(began) = under_way.next() => pace.end(began),
            () = pace.slowed(), if pace.under_way() > 0 => {}
            else => return,
        }
        pace.look();
        // However long the statements take, the places of clients that have gone are free at once.
        waiting.retain(|waiting: &Waiting<B>| !waiting.answer.is_closed());
        if !waiting.is_empty() && pace.may_begin(waiting.len() >= B::MOST) {
            gather(&mut queue, &mut waiting, last).await;
            let group: Vec<_> = waiting.drain(..waiting.len().min(B::MOST)).collect();
            last = group.len();
            under_way.push(answer(&pool, group, pace.begin()));
        }
    }
}

/// Adds those that come until they are as many as the last ones were, but for a moment only: the service's other tasks, which read requests, have
/// their turn. For one statement costs the database much less than two.
async fn gather<B: Batch>(
    queue: &mut mpsc::UnboundedReceiver<Waiting<B>>,
    waiting: &mut Vec<Waiting<B>>,
    last: usize,
) {
    for _ in 0..TURNS {
        if waiting.len() >= last {
            return;
        }
        tokio::task::yield_now().await;
        waiting.extend(std::iter::from_fn(|| queue.try_recv().ok()));
    }
}

/// Answers a group; returns when it began.
async fn answer<B: Batch>(pool: &Pool, group: Vec<Waiting<B>>, began: Instant) -> Instant {
    let (asked, told): (Vec<_>, Vec<_>) =
        group.into_iter().map(|waiting| (waiting.asked, waiting.answer)).unzip();
    // A panic is a mistake of the service. Those of the group are told to come again; the others go on.
    let read = AssertUnwindSafe(read::<B>(pool, &asked)).catch_unwind().await;
    let rows = read.unwrap_or_else(|_| {
        tracing::error!("the answering of a group of requests panicked");
        Err(Error::Busy)
    });
    // Nobody waits where the client has gone.
    match rows {
        Ok(rows) => {
            asked.into_iter().zip(rows).zip(told).for_each(|(answer, told)| drop(told.send(Ok(answer))))
        }
        Err(error) => told.into_iter().for_each(|told| drop(told.send(Err(of_each(&error))))),
    }
    began
}

/// The rows of each question.
async fn read<B: Batch>(pool: &Pool, asked: &[B::Asked]) -> Result<Vec<Vec<Row>>> {
    let parameters = B::parameters(asked);
    let borrowed: Vec<&(dyn ToSql + Sync)> =
        parameters.iter().map(|parameter| parameter.as_ref() as &(dyn ToSql + Sync)).collect();
    let mut of_each: Vec<Vec<Row>> = asked.iter().map(|_| Vec::new()).collect();
    for row in pool.rows(B::SQL, &borrowed).await? {
        let place = usize::try_from(row.get::<_, i64>(0)).unwrap_or(usize::MAX);
        if let Some(rows) = of_each.get_mut(place) {
            rows.push(row);
        }
    }
    Ok(of_each)
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
