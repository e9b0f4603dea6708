//! Commits of other stores and programs: what the feed has, against a fresh query, and whether it was read anew.

use crate::acting::{Acting, Acts};
use crate::place::place;
use crate::{Task, task};
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use touchstone_store::{
    Error, ErrorKind, Feed, Mode, Options, Overflow, Record, Result, SqlSubscription, Store, Subscription,
    rusqlite,
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

#[test]
fn whatever_another_store_commits_is_read_anew() -> Result<()> {
    let place = place();
    let writer = place.open();
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
    for (step, count) in steps.iter().zip(1..) {
        step(&writer)?;
        watcher.is_even()?;
        assert_eq!((watcher.batches, watcher.resyncs), (count, count), "step {count}");
    }
    let failed = writer.write(|transaction| {
        transaction.put(&task(9, 1, Some(9)))?;
        Err::<(), _>(Error::new(ErrorKind::Invalid, "never mind"))
    });
    assert!(failed.is_err());
    watcher.is_even()?;
    assert_eq!(watcher.batches, 9);
    Ok(())
}

/// Several transactions came as one batch that did not say so.
#[test]
fn a_batch_that_is_no_resync_is_of_one_transaction() -> Result<()> {
    const COMMITS: i64 = 300;
    let place = place();
    let (store, other) = (place.open(), place.open());
    store.insert(&task(1, 1, Some(0)))?;
    let feed = store.feed_with(Mode::Every { batches: 1000, overflow: Overflow::End })?;
    let one = feed.watch::<Task>(&1)?;
    let writing = std::thread::spawn(move || {
        (1..=COMMITS).try_for_each(|due| {
            store.put(&task(1, 1, Some(due)))?;
            if due % 3 == 0 { other.put(&task(2, 1, Some(due))) } else { Ok(()) }
        })?;
        Ok::<_, Error>(store)
    });
    let (mut had, mut alone) = (0, 0);
    while had < COMMITS {
        let batch = feed.next()?.expect("the feed goes on");
        let now = batch.get(one.id()).expect("nothing else is watched").results::<Task>()?;
        let now = now.first().and_then(|task| task.due).expect("it is there");
        assert!(batch.is_resync() || now == had + 1, "{had} became {now} at once");
        (had, alone) = (now, alone + u32::from(!batch.is_resync()));
    }
    assert!(alone > 0, "the first commit follows no other's");
    writing.join().expect("it does not panic").map(drop)
}

#[test]
fn what_other_programs_commit_is_read_anew_and_the_stores_own_commits_are_not() -> Result<()> {
    let place = place();
    let other = place.open();
    let mut watcher = Watcher::begin(place.open())?;
    let mut resyncs = 0;
    for id in 1..5 {
        watcher.store.insert(&task(id, 1, None))?;
        watcher.is_even()?;
        assert_eq!(watcher.resyncs, resyncs, "its own commit");
        match id {
            1 => other.insert(&task(id + 10, 1, None))?,
            2 => drop(place.plain().execute("update task set due = 5", ()).expect("it is written")),
            3 => other.write(|transaction| {
                transaction.sql(|sql| sql.execute_batch("alter table task add column more TEXT"))
            })?,
            _ => return Ok(()),
        }
        watcher.store.wait_delivered()?;
        watcher.is_even()?;
        resyncs += u32::from(id < 3);
        assert_eq!(watcher.resyncs, resyncs, "another's commit, of {id}");
    }
    Ok(())
}

/// Regression: SQLite writes nothing to the log for a row that stays as it was. The store expected a commit of such a
/// statement, took its own next commit for another store's, and read all live queries again.
#[test]
fn a_statement_that_changes_nothing_is_no_commit_of_another() -> Result<()> {
    let place = place();
    let mut watcher = Watcher::begin(place.open())?;
    let idle: [fn(&Store, i64) -> Result<bool>; 4] = [
        |store, due| store.put(&task(1, 1, Some(due))).map(|()| false),
        |store, due| store.replace(&task(1, 1, Some(due))).map(|is_there| !is_there),
        |store, due| store.replace(&task(2, 1, Some(due))),
        |store, _| store.remove::<Task>(&2),
    ];
    for (due, call) in (0..).zip(idle.iter().cycle().take(8)) {
        watcher.store.put(&task(1, 1, Some(due)))?;
        assert!(!call(&watcher.store, due)?);
        watcher.store.wait_delivered()?;
        watcher.is_even()?;
    }
    assert_eq!(watcher.resyncs, 0);
    Ok(())
}

thread_local! {
    /// Another store, which commits when this thread writes a number.
    static INTRUDER: RefCell<Option<Store>> = const { RefCell::new(None) };

    /// SQL that it runs in place of its commit.
    static TRIGGER: Cell<Option<&'static str>> = const { Cell::new(None) };
}

#[derive(Clone, Debug, PartialEq)]
struct Intruded;

impl Acts for Intruded {
    fn writing(number: i64) {
        let Some(other) = INTRUDER.with_borrow_mut(Option::take) else { return };
        let done = match TRIGGER.take() {
            None => other.put(&task(7, 1, Some(number))),
            Some(sql) => other.write(|transaction| transaction.sql(|given| given.execute_batch(sql))),
        };
        done.expect("it is written");
    }
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Gate {
    #[record(key)]
    id: i64,
    number: Acting<Intruded>,
}

/// Regression: the statement writes nothing to the log, and another store has committed since the last commit that the
/// writer knows. The store took the other's commit for that of the statement, and its live queries never told it.
#[test]
fn a_commit_of_another_beside_a_statement_that_changes_nothing_is_told() -> Result<()> {
    let place = place();
    let mut watcher = Watcher::begin(place.open())?;
    let gate = Gate { id: 1, number: Acting::new(5) };
    watcher.store.insert(&gate)?;
    watcher.store.wait_delivered()?;
    for resyncs in 1..3 {
        watcher.store.put(&Gate { id: 2, number: Acting::new(resyncs) })?;
        INTRUDER.set(Some(place.open()));
        watcher.store.put(&Gate { id: 2, number: Acting::new(resyncs) })?;
        assert!(INTRUDER.take().is_none(), "the other has committed");
        watcher.is_even()?;
        assert_eq!(i64::from(watcher.resyncs), resyncs);
    }
    Ok(())
}

/// A WAL hook that a program sets is not the store's, which counts its commits by its own.
#[test]
fn a_wal_hook_that_sql_removes_is_set_again() -> Result<()> {
    let place = place();
    let mut watcher = Watcher::begin(place.open())?;
    watcher.store.write(|transaction| {
        transaction.sql(|connection| {
            // SAFETY: the connection is open, and no hook is an allowed one.
            unsafe { rusqlite::ffi::sqlite3_wal_hook(connection.handle(), None, ptr::null_mut()) };
            Ok(())
        })
    })?;
    for due in 1..4 {
        watcher.store.put(&task(1, 1, Some(due)))?;
        watcher.is_even()?;
    }
    assert_eq!(watcher.resyncs, 0);
    Ok(())
}

/// Regression: SQLite commits a statement that a trigger fails so, if it is a transaction of its own.
#[test]
fn a_single_statement_that_a_trigger_fails_is_undone() -> Result<()> {
    let place = place();
    let mut watcher = Watcher::begin(place.open())?;
    watcher.store.write(|transaction| {
        transaction.sql(|connection| {
            connection.execute_batch(
                "create trigger refused after insert on task when new.id = 9 begin select raise(fail, 'no'); end",
            )
        })
    })?;
    watcher.store.insert(&task(1, 1, Some(1)))?;
    assert!(watcher.store.insert(&task(9, 1, Some(1))).is_err());
    assert!(watcher.store.put(&task(9, 1, Some(1))).is_err());
    assert_eq!(watcher.store.get::<Task>(&9)?, None);
    watcher.is_even()?;
    drop(watcher);
    // And where nothing is watched.
    let store = place.open();
    let put = |id| store.put(&task(id, 1, Some(2)));
    put(1)?;
    assert!(put(9).is_err());
    assert_eq!(store.get::<Task>(&9)?, None);
    Ok(())
}

/// The store looks for triggers before a statement. One that another store makes after that look fails the statement, and
/// SQLite commits the statement's row: live queries are told it all the same.
#[test]
fn a_row_that_another_stores_new_trigger_fails_is_told() -> Result<()> {
    let place = place();
    let watcher = place.open();
    watcher.insert(&Gate { id: 1, number: Acting::new(5) })?;
    let feed = watcher.feed()?;
    let gates = feed.query::<Gate>().watch()?;
    watcher.put(&Gate { id: 1, number: Acting::new(6) })?;
    watcher.wait_delivered()?;
    while feed.try_next()?.is_some() {}
    let other = place.open();
    TRIGGER.set(Some("create trigger refused after insert on gate begin select raise(fail, 'no'); end"));
    INTRUDER.set(Some(other));
    watcher.insert(&Gate { id: 2, number: Acting::new(7) }).expect_err("the trigger is there");
    assert!(watcher.get::<Gate>(&2)?.is_some(), "SQLite has committed it");
    assert!(INTRUDER.take().is_none(), "the other has committed");
    watcher.wait_delivered()?;
    let batch = feed.try_next()?.expect("it is told");
    let told: Vec<Gate> =
        batch.get(gates.id()).expect("it is concerned").results::<Gate>()?.iter().cloned().collect();
    assert_eq!(told, watcher.all::<Gate>()?);
    watcher.insert(&Gate { id: 3, number: Acting::new(8) }).expect_err("the trigger is there");
    assert_eq!(watcher.get::<Gate>(&3)?, None);
    Ok(())
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

/// The live thread comes late, and finds three commits at once: the store's own, the first and the last, are not all.
#[test]
fn a_commit_of_another_between_two_of_the_stores_own_is_not_passed_over() -> Result<()> {
    let place = place();
    let other = place.open();
    let mut watcher = Watcher::begin(place.open())?;
    let doors = watcher.feed.query::<Door>().watch()?;
    other.write(|transaction| transaction.of::<Door>().insert_all(&[]))?;
    other.insert(&task(1, 1, None))?;
    watcher.is_even()?;
    let (reached, is_reached) = channel();
    REACHED.lock().expect("nobody panics").replace(reached);
    let held = HELD.lock().expect("nobody panics");
    other.insert(&Door { id: 1, number: Acting::new(1) })?;
    is_reached.recv_timeout(Duration::from_secs(20)).expect("it is read");
    watcher.store.insert(&task(2, 1, None))?;
    other.insert(&task(3, 1, None))?;
    watcher.store.insert(&task(4, 1, None))?;
    drop(held);
    watcher.store.wait_delivered()?;
    watcher.is_even()?;
    drop(doors);
    Ok(())
}

/// Who does something.
#[derive(Clone, Copy, Debug)]
enum Who {
    Watcher,
    Other,
    Plain,
    Checkpoint,
}

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![
        6 => Just(Who::Watcher),
        3 => Just(Who::Other),
        1 => Just(Who::Plain),
        2 => Just(Who::Checkpoint),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whoever commits, in whatever order, watched at once or later: the results are a fresh query's, and there are no
    /// more resyncs than commits of others.
    #[test]
    fn whoever_commits_the_results_are_a_fresh_querys(
        steps in proptest::collection::vec((who(), 0..12_i64, 0..5_i64, 0..4_u8, any::<bool>()), 1..40),
    ) {
        let place = place();
        let other = Options::new().checkpoint_pages(4).open(&place.path).expect("it opens");
        let plain = place.plain();
        let mut watcher = Watcher::begin(place.open()).expect("it is watched");
        let mut others = 0;
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
                Who::Other => {
                    others += 1;
                    change(&other).expect("it is written");
                }
                Who::Plain => {
                    others += 1;
                    plain.execute("update task set due = ?1 where list = ?2", [id, list]).expect("it is written");
                }
                Who::Checkpoint => {
                    let mode = if looks { "truncate" } else { "restart" };
                    let sql = format!("pragma wal_checkpoint({mode})");
                    plain.query_row(&sql, (), |_| Ok(())).expect("it is copied");
                }
            }
            if looks {
                watcher.is_even().expect("the feed goes on");
            }
        }
        watcher.is_even().expect("the feed goes on");
        let resyncs = watcher.resyncs;
        prop_assert!(resyncs <= others, "others have committed {others} times, and {resyncs} were read anew");
    }
}

/// Tells when a number is about to be written.
struct Tells;

static IS_WRITTEN: Mutex<Option<Sender<i64>>> = Mutex::new(None);

impl Acts for Tells {
    fn writing(number: i64) {
        if let Some(sender) = IS_WRITTEN.lock().expect("nobody panics").as_ref() {
            let _ = sender.send(number);
        }
    }
}

#[derive(Record)]
struct Told {
    #[record(key)]
    id: i64,
    number: Acting<Tells>,
}

/// One function for all threads: another place of the code may have the type's shape at another address, and its first
/// insert is a transaction.
#[inline(never)]
fn tell(store: &Store, id: i64) -> Result<()> {
    store.insert(&Told { id, number: Acting::new(id) })
}

/// Regression: a single insert waited for another process while no live query could begin, and none was told anything.
#[test]
fn live_queries_begin_while_a_single_insert_waits_for_another_process() -> Result<()> {
    /// Longer than anything takes that does not wait for the other.
    const LONG: Duration = Duration::from_secs(120);
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("told.db");
    let store = Options::new().busy_timeout(LONG).open(&path)?;
    tell(&store, 1)?;
    let feed = store.feed()?;
    let _all = feed.query::<Told>().watch()?;
    tell(&store, 2)?;
    let other = rusqlite::Connection::open(&path)?;
    other.execute_batch("begin immediate")?;
    let (sender, receiver) = channel();
    *IS_WRITTEN.lock().expect("nobody panics") = Some(sender);
    std::thread::scope(|scope| {
        let inserts = scope.spawn(|| tell(&store, 3));
        while receiver.recv().expect("it is written") != 3 {}
        *IS_WRITTEN.lock().expect("nobody panics") = None;
        let begun = feed.query::<Told>().filter(|told| told.id.gt(1)).watch();
        other.execute_batch("rollback")?;
        assert_eq!(begun?.results().len(), 1);
        inserts.join().expect("it does not panic")
    })?;
    assert_eq!(store.all::<Told>()?.len(), 3);
    Ok(())
}
