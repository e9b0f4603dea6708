//! Reads that wait at the same time are answered by one statement, so that their number does not become that of round trips. One user who asks for much
//! keeps nobody waiting: of each user one is answered before the second of any, and there is room for others' questions.

use super::lease::Pool;
use super::pace::Pace;
use super::{ANSWERS_WITHIN, CONNECTION_WITHIN, silent};
use crate::shares::{Share, Shares};
use crate::storage::gather::{self, QUEUE, in_turns};
use crate::storage::{Account, Error, Result};
use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, timeout};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// The account of questions that are no user's, such as whose a token is. No user has its number: those of users are below half of it.
const NOBODY: Account = Account { user: u64::MAX };

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

    /// Whose a question is; none where that is what it asks.
    fn account(_asked: &Self::Asked) -> Option<Account> {
        None
    }

    /// What a question is answered with, whose rows are these.
    fn answer(asked: Self::Asked, rows: &[Row]) -> Self::Answer;
}

/// A question that waits.
struct Waiting<B: Batch> {
    asked: B::Asked,
    answer: oneshot::Sender<Result<(B::Asked, Vec<Row>)>>,
    /// Its place among those that wait.
    _place: Share,
}

/// Gives questions of a kind to the task that asks the database.
pub(super) struct Batcher<B: Batch> {
    queue: mpsc::UnboundedSender<Waiting<B>>,
    /// The places of those that wait.
    places: Shares,
    /// Wakes the task where there is no place: clients that have left, or were told to come again, may have some.
    full: Arc<Notify>,
}

impl<B: Batch> Clone for Batcher<B> {
    fn clone(&self) -> Batcher<B> {
        let Batcher { queue, places, full } = self;
        Batcher { queue: queue.clone(), places: places.clone(), full: Arc::clone(full) }
    }
}

impl<B: Batch> Batcher<B> {
    /// Starts the task, which ends when this is dropped.
    pub(super) fn start(pool: &Pool, connections: usize) -> Batcher<B> {
        let (queue, waiting) = mpsc::unbounded_channel();
        let full = Arc::new(Notify::new());
        tokio::spawn(work::<B>(pool.clone(), waiting, Arc::clone(&full), STATEMENTS.min(connections)));
        Batcher { queue, places: Shares::default(), full }
    }

    /// The answer to a question, from a moment after it was asked.
    pub(super) async fn ask(&self, asked: B::Asked) -> Result<B::Answer> {
        let (answer, answered) = oneshot::channel();
        let place = self.place(B::account(&asked))?;
        self.queue.send(Waiting { asked, answer, _place: place }).map_err(|_| Error::Busy)?;
        match timeout(CONNECTION_WITHIN + ANSWERS_WITHIN, answered).await {
            Ok(answered) => answered.unwrap_or(Err(Error::Busy)).map(|(asked, rows)| B::answer(asked, &rows)),
            Err(_) => Err(silent()),
        }
    }

    /// A place for one more question.
    fn place(&self, account: Option<Account>) -> Result<Share> {
        let place = match account {
            Some(account) => gather::place(&self.places, account),
            None => self.places.take_one(NOBODY, QUEUE, QUEUE).ok(),
        };
        place.ok_or_else(|| {
            self.full.notify_one();
            Error::Busy
        })
    }
}

/// Asks for what waits, as much at a time as one statement may, until nothing more can come.
async fn work<B: Batch>(
    pool: Pool,
    mut queue: mpsc::UnboundedReceiver<Waiting<B>>,
    full: Arc<Notify>,
    most: usize,
) {
    let (mut waiting, mut is_open, mut last) = (Vec::with_capacity(B::MOST), true, 0);
    let (mut pace, mut under_way) = (Pace::of(most), FuturesUnordered::new());
    loop {
        tokio::select! {
            received = queue.recv_many(&mut waiting, QUEUE), if is_open => is_open = received > 0,
            Some(began) = under_way.next() => pace.end(began),
            () = pace.slowed(), if pace.under_way() > 0 => {}
            () = full.notified(), if is_open => {}
            else => return,
        }
        pace.look();
        waiting.retain(|waiting: &Waiting<B>| !waiting.answer.is_closed());
        while !waiting.is_empty() && pace.may_begin(waiting.len() >= B::MOST) {
            gather(&mut queue, &mut waiting, last).await;
            let group = next_group(&mut waiting);
            last = group.len();
            under_way.push(answer(&pool, group, pace.begin()));
        }
    }
}

/// Those that are answered next, as many as one statement may: of each user one before the second of any, in the order in which they came.
fn next_group<B: Batch>(waiting: &mut Vec<Waiting<B>>) -> Vec<Waiting<B>> {
    if waiting.len() > B::MOST {
        in_turns(waiting, |waiting| B::account(&waiting.asked));
    }
    waiting.drain(..B::MOST.min(waiting.len())).collect()
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
        group.into_iter().map(|Waiting { asked, answer, .. }| (asked, answer)).unzip();
    // A panic is a mistake of the service. Those of the group are told to come again; the others go on.
    let read = AssertUnwindSafe(read::<B>(pool, &asked)).catch_unwind().await;
    let rows = read.unwrap_or_else(|_| {
        tracing::error!("the answering of a group of requests panicked");
        Err(Error::Busy)
    });
    // A client that has gone waits for nothing.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A question of a user, which has a number.
    enum Numbered {}

    impl Batch for Numbered {
        type Asked = (u64, u32);
        type Answer = ();
        const SQL: &str = "";
        const MOST: usize = 4;

        fn parameters(_: &[(u64, u32)]) -> Parameters<'_> {
            Vec::new()
        }

        fn account((user, _): &(u64, u32)) -> Option<Account> {
            Some(Account { user: *user })
        }

        fn answer(_: (u64, u32), _: &[Row]) {}
    }

    /// Found by an attacker: one user's downloads, of which there were always more than the places, left others none, and those that had one waited behind
    /// all of them.
    #[test]
    fn of_each_user_one_is_answered_before_the_second_of_any() {
        let places = Shares::default();
        let waiting = |asked: (u64, u32)| Waiting::<Numbered> {
            asked,
            answer: oneshot::channel().0,
            _place: places.take(Account { user: asked.0 }, 1),
        };
        let asked = [(1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (2, 1), (3, 1), (2, 2), (1, 6)];
        let mut left: Vec<_> = asked.into_iter().map(waiting).collect();
        let mut next = || Vec::from_iter(next_group(&mut left).into_iter().map(|waiting| waiting.asked));
        assert_eq!(next(), [(1, 1), (2, 1), (3, 1), (1, 2)]);
        assert_eq!(next(), [(2, 2), (1, 3), (1, 4), (1, 5)]);
        assert_eq!((next(), next()), (vec![(1, 6)], vec![]));
        assert!(places.has_room(Account { user: 1 }, 1, 1), "whoever is answered has no place");
    }
}
