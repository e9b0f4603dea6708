//! Commits of other stores, followed by the change log: what the feed has, against a fresh query, and whether it was read
//! anew.

use crate::acting::{Acting, Acts};
use crate::place::place;
use crate::{Task, task};
use proptest::prelude::*;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use touchstone_store::{
    Error, ErrorKind, Feed, Mode, Options, Overflow, Record, Result, SqlSubscription, Store, Subscription,
};

/// Somebody who watches by a store of his own.
pub(crate) struct Watcher {
    pub(crate) store: Store,
    feed: Feed,
    open: Subscription<Task>,
    one: Subscription<Task>,
    sums: SqlSubscription,
    had: (Vec<Task>, Option<Task>, String),
    pub(crate) batches: u32,
    pub(crate) resyncs: u32,
}

const SUMS: &str = "select list, count(*), sum(due) from task group by list order by list";

impl Watcher {
    pub(crate) fn begin(store: Store) -> Result<Watcher> {
        let feed = store.feed()?;
        // What a statement reads must be there.
        store.write(|transaction| transaction.of::<Task>().insert_all(&[]))?;
        let sums = feed.watch_sql(SUMS, [])?;
        let open = feed
            .query::<Task>()
            .filter(|task| task.list.lt(3))
            .order(|task| task.due.descending())
            .limit(20)
            .watch()?;
        let one = feed.watch::<Task>(&7)?;
        let had = (
            open.results().iter().cloned().collect(),
            one.results().first().cloned(),
            format!("{:?}", sums.rows().iter().collect::<Vec<_>>()),
        );
        Ok(Watcher { store, feed, open, one, sums, had, batches: 0, resyncs: 0 })
    }

    fn fresh(&self) -> Result<(Vec<Task>, Option<Task>, String)> {
        self.store.read(|snapshot| {
            let query = snapshot.query::<Task>().filter(|task| task.list.lt(3));
            let open = query.order(|task| task.due.descending()).limit(20).all()?;
            // Through a feed of its own, so that both are told in the same words.
            let feed = self.store.feed()?;
            let sums = format!("{:?}", feed.watch_sql(SUMS, [])?.rows().iter().collect::<Vec<_>>());
            Ok((open, snapshot.get::<Task>(&7)?, sums))
        })
    }

    /// Takes batches until all is as a fresh query finds it; nothing more may come then.
    pub(crate) fn is_even(&mut self) -> Result<()> {
        let fresh = self.fresh()?;
        while self.had != fresh {
            let batch = self.feed.next_within(Duration::from_secs(20))?;
            let Some(batch) = batch else { panic!("had {:?}, and there is {fresh:?}", self.had) };
            self.batches += 1;
            self.resyncs += u32::from(batch.is_resync());
            if let Some(update) = batch.get(self.open.id()) {
                self.had.0 = update.results::<Task>().expect("tasks").iter().cloned().collect();
            }
            if let Some(update) = batch.get(self.one.id()) {
                self.had.1 = update.results::<Task>().expect("a task").first().cloned();
            }
            for update in batch.iter().filter(|update| update.id() == self.sums.id()) {
                let rows = update.sql_rows().expect("rows");
                self.had.2 = format!("{:?}", rows.iter().collect::<Vec<_>>());
            }
        }
        Ok(())
    }
}

fn logging() -> Options {
    Options::new().log_changes(true)
}

#[test]
fn what_another_store_logs_is_followed_and_nothing_is_read_anew() -> Result<()> {
    let place = place();
    let writer = logging().open(&place.path)?;
    writer.insert_all(&(0..100).map(|id| task(id, id % 5, Some(id))).collect::<Vec<_>>())?;
    let mut watcher = Watcher::begin(place.open())?;
    let steps: [fn(&Store) -> Result<()>; 9] = [
        |store| store.insert(&task(1000, 1, Some(1000))),
        |store| store.remove::<Task>(&7).map(drop),
        |store| store.put_all(&(0..500).map(|id| task(id, id % 4, Some(-id))).collect::<Vec<_>>()).map(drop),
        |store| {
            let sql = "update task set due = due + 1 where id between 5 and 50";
            store.write(|transaction| transaction.sql(|connection| connection.execute(sql, ()))).map(drop)
        },
        |store| {
            store.write(|transaction| {
                transaction.put(&task(3, 0, Some(5000)))?;
                let undone = transaction.savepoint(|transaction| {
                    transaction.put(&task(4, 0, Some(6000)))?;
                    Err::<(), _>(Error::new(ErrorKind::Invalid, "never mind"))
                });
                assert!(undone.is_err());
                transaction.of::<Task>().remove_where(|task| task.id.gt(450)).map(drop)
            })
        },
        |store| {
            store.write(|transaction| {
                transaction.collection::<Task>("elsewhere")?.insert(&task(1, 1, None))?;
                transaction.put(&task(8, 1, Some(8000)))
            })
        },
        |store| store.write(|transaction| transaction.of::<Task>().clear()).map(drop),
        |store| store.insert(&task(7, 1, Some(7))),
        |store| store.write(|transaction| transaction.update::<Task>(&7, |task| task.due = None)).map(drop),
    ];
    for (at, step) in steps.iter().enumerate() {
        step(&writer)?;
        watcher.is_even()?;
        // The first record of a collection makes its table, and what that changes nobody tells.
        assert_eq!(watcher.resyncs, u32::from(at >= 5), "step {at}");
    }
    let failed = writer.write(|transaction| {
        transaction.put(&task(9, 1, Some(9)))?;
        Err::<(), _>(Error::new(ErrorKind::Invalid, "never mind"))
    });
    assert!(failed.is_err());
    watcher.is_even()?;
    assert!(watcher.batches >= 9, "{}", watcher.batches);
    Ok(())
}

#[test]
fn the_first_logged_commit_after_all_was_closed_is_followed_too() -> Result<()> {
    let place = place();
    drop(Watcher::begin(logging().open(&place.path)?)?);
    let mut watcher = Watcher::begin(place.open())?;
    logging().open(&place.path)?.insert(&task(7, 1, None))?;
    watcher.is_even()?;
    assert_eq!((watcher.batches, watcher.resyncs), (1, 0));
    Ok(())
}

/// Several transactions came as one batch that did not say so.
#[test]
fn a_batch_that_is_no_resync_is_of_one_transaction() -> Result<()> {
    const COMMITS: i64 = 300;
    let place = place();
    let (writer, store) = (logging().open(&place.path)?, place.open());
    writer.insert(&task(1, 1, Some(0)))?;
    let feed = store.feed_with(Mode::Every { batches: 1000, overflow: Overflow::End })?;
    let one = feed.watch::<Task>(&1)?;
    let writing = std::thread::spawn(move || {
        (1..=COMMITS).try_for_each(|due| {
            writer.put(&task(1, 1, Some(due)))?;
            writer.put(&task(2, 1, Some(due)))
        })
    });
    let mut had = 0;
    while had < COMMITS {
        let batch = feed.next()?.expect("the feed goes on");
        let now = batch.get(one.id()).expect("nothing else is watched").results::<Task>()?;
        let now = now.first().and_then(|task| task.due).expect("it is there");
        assert!(batch.is_resync() || now == had + 1, "{had} became {now} at once");
        had = now;
    }
    writing.join().expect("it does not panic")
}

#[test]
fn what_nobody_has_logged_is_read_anew() -> Result<()> {
    let place = place();
    let (writer, silent) = (logging().open(&place.path)?, place.open());
    let mut watcher = Watcher::begin(place.open())?;
    writer.insert(&task(1, 1, None))?;
    watcher.is_even()?;
    silent.insert(&task(2, 1, None))?;
    writer.insert(&task(3, 1, None))?;
    watcher.is_even()?;
    let resyncs = watcher.resyncs;
    assert!(resyncs > 0);
    writer.insert(&task(4, 1, None))?;
    watcher.is_even()?;
    assert_eq!(watcher.resyncs, resyncs);
    place.plain().execute("update task set due = 5", ()).expect("it is written");
    watcher.is_even()?;
    assert!(watcher.resyncs > resyncs);
    writer.write(|transaction| {
        transaction.sql(|sql| sql.execute_batch("alter table task add column more TEXT"))
    })?;
    writer.insert(&task(5, 1, None))?;
    watcher.is_even()
}

static HELD: Mutex<()> = Mutex::new(());
static REACHED: Mutex<Option<Sender<()>>> = Mutex::new(None);

/// It is not read while somebody holds it, and says that it is about to be.
#[derive(Clone, Debug, PartialEq)]
struct Guarded;

impl Acts for Guarded {
    fn reading(_number: i64) {
        if let Some(reached) = REACHED.lock().expect("nobody panics").take() {
            reached.send(()).expect("it is waited for");
        }
        let _let_go = HELD.lock().expect("nobody panics");
    }
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Door {
    #[record(key)]
    id: i64,
    number: Acting<Guarded>,
}

/// Who follows comes late, and finds three commits at once: what the first and the last have logged is not all.
#[test]
fn what_nobody_has_logged_between_two_that_are_logged_is_not_passed_over() -> Result<()> {
    let place = place();
    let (writer, silent) = (logging().open(&place.path)?, place.open());
    let mut watcher = Watcher::begin(place.open())?;
    let doors = watcher.feed.query::<Door>().watch()?;
    writer.write(|transaction| transaction.of::<Door>().insert_all(&[]))?;
    writer.insert(&task(1, 1, None))?;
    watcher.is_even()?;
    let (reached, is_reached) = channel();
    REACHED.lock().expect("nobody panics").replace(reached);
    let held = HELD.lock().expect("nobody panics");
    writer.insert(&Door { id: 1, number: Acting::new(1) })?;
    is_reached.recv_timeout(Duration::from_secs(20)).expect("it is read");
    writer.insert(&task(2, 1, None))?;
    silent.insert(&task(3, 1, None))?;
    writer.insert(&task(4, 1, None))?;
    drop(held);
    watcher.store.wait_delivered()?;
    watcher.is_even()?;
    drop(doors);
    Ok(())
}

#[test]
fn the_newest_thousand_are_kept() -> Result<()> {
    let place = place();
    let writer = logging().open(&place.path)?;
    for id in 0..1200 {
        writer.put(&task(id % 10, 1, Some(id)))?;
    }
    let sql = "select count(*), max(number) - min(number) + 1 from touchstone_changes";
    let (count, span): (i64, i64) =
        place.plain().query_row(sql, (), |row| Ok((row.get(0)?, row.get(1)?))).expect("it is read");
    assert_eq!(count, span);
    assert!((1000..1064).contains(&count), "{count}");
    // Large ones are fewer.
    let keys: Vec<Task> = (0..90_000).map(|id| task(id * 1_000_003, 9, None)).collect();
    for _ in 0..24 {
        writer.put_all(&keys)?;
    }
    let sql = "select sum(length(changes)) from touchstone_changes";
    let bytes: i64 = place.plain().query_row(sql, (), |row| row.get(0)).expect("it is read");
    assert!(bytes < 11 << 20, "{bytes}");
    Ok(())
}

/// Who does something.
#[derive(Clone, Copy, Debug)]
enum Who {
    Watcher,
    Logging,
    Silent,
    Plain,
    Checkpoint,
}

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![
        3 => Just(Who::Watcher),
        6 => Just(Who::Logging),
        1 => Just(Who::Silent),
        1 => Just(Who::Plain),
        2 => Just(Who::Checkpoint),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whoever commits, in whatever order, watched at once or later: the results are a fresh query's. Where all was
    /// logged, no commit is a resync that comes alone.
    #[test]
    fn whoever_commits_the_results_are_a_fresh_querys(
        watcher_logs in any::<bool>(),
        steps in proptest::collection::vec((who(), 0..12_i64, 0..5_i64, 0..4_u8, any::<bool>()), 1..40),
    ) {
        let place = place();
        let writer = logging().checkpoint_pages(4).open(&place.path).expect("it opens");
        let silent = place.open();
        let store = Options::new().log_changes(watcher_logs).open(&place.path).expect("it opens");
        let plain = place.plain();
        let mut watcher = Watcher::begin(store).expect("it is watched");
        let mut is_told = true;
        // Commits since somebody looked, and resyncs that they may be.
        let (mut commits, mut together) = (0, 0);
        for (who, id, list, what, looks) in steps {
            let change = |store: &Store| match what {
                0 | 1 => store.put(&task(id, list, Some(id * list))),
                2 => store.remove::<Task>(&id).map(drop),
                _ => store.write(|transaction| {
                    transaction.of::<Task>().remove_where(|task| task.list.eq(list))?;
                    transaction.put(&task(id, list, None))
                }),
            };
            match who {
                Who::Watcher => change(&watcher.store).expect("it is written"),
                Who::Logging => change(&writer).expect("it is written"),
                Who::Silent => {
                    is_told = false;
                    change(&silent).expect("it is written");
                }
                Who::Plain => {
                    is_told = false;
                    plain.execute("update task set due = ?1 where list = ?2", [id, list]).expect("it is written");
                }
                Who::Checkpoint => {
                    let mode = if looks { "truncate" } else { "restart" };
                    let sql = format!("pragma wal_checkpoint({mode})");
                    plain.query_row(&sql, (), |_| Ok(())).expect("it is copied");
                }
            }
            commits += u32::from(!matches!(who, Who::Checkpoint));
            if looks {
                watcher.is_even().expect("the feed goes on");
                together += std::mem::take(&mut commits) / 2;
            }
        }
        watcher.is_even().expect("the feed goes on");
        together += commits / 2;
        let resyncs = watcher.resyncs;
        prop_assert!(!is_told || resyncs <= together, "all was logged, and {resyncs} were read anew");
    }
}
