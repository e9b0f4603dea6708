//! Records whose own code panics, or calls the store, in the middle of a transaction.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use touchstone_store::{Cells, Error, ErrorKind, Feed, Field, Kind, Mismatch, Raw, Record, Result, Store};

thread_local! {
    /// How many numbers still panic when this thread frees them.
    static PANICS_FREED: Cell<u32> = const { Cell::new(0) };
    /// How many numbers this thread still writes before one panics.
    static WRITTEN: Cell<Option<u32>> = const { Cell::new(None) };
    /// Runs when this thread reads a number.
    static READ: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// A number whose own code panics when it is told to.
#[derive(Debug, PartialEq)]
struct Bomb(i64);

impl Drop for Bomb {
    fn drop(&mut self) {
        if PANICS_FREED.get() > 0 && !std::thread::panicking() {
            PANICS_FREED.set(PANICS_FREED.get() - 1);
            resume_unwind(Box::new("freed on purpose"));
        }
    }
}

impl Field for Bomb {
    const KIND: Kind = Kind::Integer;
    type Plain = Bomb;
    type View<'a> = i64;

    fn write<'a>(&'a self, cells: &mut Cells<'a>) {
        if let Some(left) = WRITTEN.get() {
            WRITTEN.set(left.checked_sub(1));
            if left == 0 {
                resume_unwind(Box::new("written on purpose"));
            }
        }
        cells.integer(self.0);
    }

    fn read(raw: Raw<'_>) -> std::result::Result<Bomb, Mismatch> {
        if let Some(act) = READ.take() {
            act();
        }
        i64::read(raw).map(Bomb)
    }

    fn view(raw: Raw<'_>) -> std::result::Result<i64, Mismatch> {
        i64::read(raw)
    }
}

#[derive(Record)]
struct Thing {
    #[record(key)]
    id: i64,
    bomb: Bomb,
}

/// It is not freed at the end of a statement: the store frees its own records of it.
fn thing(id: i64, number: i64) -> ManuallyDrop<Thing> {
    ManuallyDrop::new(Thing { id, bomb: Bomb(number) })
}

fn store() -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().expect("there is room");
    let store = Store::open(directory.path().join("things.db")).expect("it opens");
    (directory, store)
}

/// Whether the work panics; afterwards no number does.
fn panics<R>(work: impl FnOnce() -> R) -> bool {
    let panicked = catch_unwind(AssertUnwindSafe(|| drop(work()))).is_err();
    PANICS_FREED.set(0);
    WRITTEN.set(None);
    panicked
}

fn ids<'t>(things: impl IntoIterator<Item = &'t Thing>) -> Vec<i64> {
    things.into_iter().map(|thing| thing.id).collect()
}

/// How many numbers are large.
fn large(store: &Store) -> Result<u64> {
    store.read(|snapshot| snapshot.query::<Thing>().filter(|thing| thing.bomb.gt(Bomb(5))).count())
}

fn never_mind<R>() -> Result<R> {
    Err(Error::new(ErrorKind::Invalid, "never mind"))
}

/// Regression: the next transaction freed the records of an undone one after it had begun, and stayed open when one of
/// them panicked. A single insert then succeeded, and was never committed; every transaction was refused.
#[test]
fn a_record_that_panics_when_it_is_freed_leaves_no_transaction_open() -> Result<()> {
    let begins: [fn(&Store) -> Result<()>; 2] =
        [|store| store.write(|_| Ok(())), |store| store.begin().map(drop)];
    for begin in begins {
        let (directory, store) = store();
        store.insert(&*thing(1, 1))?;
        let feed = store.feed()?;
        let _all = feed.query::<Thing>().watch()?;
        let undone: Result<()> = store.write(|transaction| {
            transaction.insert(&*thing(2, 2))?;
            never_mind()
        });
        assert!(undone.is_err());
        PANICS_FREED.set(1);
        assert!(panics(|| begin(&store)), "the record of the undone transaction is freed");
        store.insert(&*thing(3, 3))?;
        store.write(|transaction| transaction.insert(&*thing(4, 4)))?;
        let other = Store::open(directory.path().join("things.db"))?;
        assert_eq!(ids(&other.all::<Thing>()?), [1, 3, 4]);
    }
    Ok(())
}

/// Regression: the records of a part were freed before its rows were undone. When one of them panicked, and the program
/// went on, the rows stayed.
#[test]
fn a_part_is_undone_even_if_one_of_its_records_panics_when_it_is_freed() -> Result<()> {
    let (_directory, store) = store();
    let feed = store.feed()?;
    let all = feed.query::<Thing>().watch()?;
    store.write(|transaction| {
        let is_stopped = panics(|| {
            transaction.savepoint(|part| {
                part.insert(&*thing(1, 1))?;
                part.insert(&*thing(2, 2))?;
                PANICS_FREED.set(1);
                never_mind::<()>()
            })
        });
        assert!(is_stopped);
        transaction.insert(&*thing(3, 3))
    })?;
    let mut begun = store.begin()?;
    let part = begun.savepoint()?;
    begun.with(|transaction| transaction.insert(&*thing(4, 4)))?;
    PANICS_FREED.set(1);
    assert!(panics(|| begun.undo(part)));
    begun.commit()?;
    store.wait_delivered()?;
    assert_eq!(ids(&store.all::<Thing>()?), [3]);
    let batch = feed.try_next()?.expect("it is told");
    assert_eq!(ids(&batch.get(all.id()).expect("it is concerned").results::<Thing>()?), [3]);
    Ok(())
}

/// Regression: a row was written, and its record panicked when live queries asked it for a value. If the program went
/// on, no live query was told of the row; and a single insert panicked too, whose row was committed.
#[test]
fn a_written_row_is_told_even_if_its_record_panics_then() -> Result<()> {
    let mut have_panicked = 0;
    for (writes, is_single) in (0..4).flat_map(|writes| [(writes, false), (writes, true)]) {
        let (_directory, store) = store();
        store.insert(&*thing(1, 1))?;
        let feed = store.feed()?;
        let watched = feed.query::<Thing>().filter(|thing| thing.bomb.gt(Bomb(5))).watch()?;
        store.wait_delivered()?;
        WRITTEN.set(Some(writes));
        let is_stopped = panics(|| {
            let thing = thing(2, 10);
            let written = match is_single {
                true => store.insert(&*thing),
                false => store.write(|transaction| transaction.insert(&*thing)),
            };
            have_panicked += u32::from(WRITTEN.get().is_none());
            written.expect("it is written");
        });
        assert_ne!(store.get::<Thing>(&2)?.is_some(), is_stopped);
        store.wait_delivered()?;
        let batch = feed.try_next()?;
        let update = batch.as_ref().and_then(|batch| batch.get(watched.id()));
        let told = update.map_or(Ok(0), |update| update.results::<Thing>().map(|found| found.len()))?;
        assert_eq!(told as u64, large(&store)?, "after {writes} values");
    }
    assert!(have_panicked > 1, "no record panicked after its row was written");
    Ok(())
}

/// Regression: SQL changed a row, and the record of its old values panicked when a count was to be told of it. If the
/// program went on, the count stayed wrong.
#[test]
fn a_count_is_right_even_if_a_record_that_sql_has_changed_panics() -> Result<()> {
    let (_directory, store) = store();
    store.insert_all([&*thing(1, 10), &*thing(2, 10)])?;
    let feed = store.feed()?;
    let count = feed.query::<Thing>().filter(|thing| thing.bomb.gt(Bomb(5))).watch_count()?;
    store.wait_delivered()?;
    store.write(|transaction| {
        WRITTEN.set(Some(0));
        let update = "update thing set bomb = 1 where id = 1";
        assert!(panics(|| transaction.sql(|sql| sql.execute(update, ()))));
        Ok(())
    })?;
    store.wait_delivered()?;
    let batch = feed.try_next()?.expect("it is told");
    assert_eq!(batch.get(count.id()).expect("it is concerned").count()?, 1);
    assert_eq!(large(&store)?, 1);
    Ok(())
}

/// Regression: a thread that ended a transaction that another thread had used last was not its owner: a record's own
/// code that wrote meanwhile waited for ever for its own thread.
#[test]
fn a_record_that_writes_while_another_thread_commits_is_refused() -> Result<()> {
    /// Nobody waits so long unless it is for ever.
    const LONG: Duration = Duration::from_secs(120);
    let (_directory, store) = store();
    store.insert(&*thing(1, 1))?;
    let feed = store.feed()?;
    let _all = feed.query::<Thing>().watch()?;
    let mut begun = store.begin()?;
    begun.with(|transaction| transaction.sql(|sql| sql.execute("update thing set bomb = 2", ())))?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        READ.set(Some(Box::new(move || {
            let refused = store.write(|_| Ok(())).map_err(|error| error.kind());
            sender.send(refused).expect("it is awaited");
        })));
        begun.commit()
    });
    let refused = receiver.recv_timeout(LONG).expect("no thread waits for itself");
    assert_eq!(refused, Err(ErrorKind::Nested));
    Ok(())
}

/// A number that asks a feed when it is freed.
#[derive(Debug)]
struct Asks(i64);

/// The feed that is asked, by any thread.
static ASKED: Mutex<Option<Arc<Feed>>> = Mutex::new(None);

impl Drop for Asks {
    fn drop(&mut self) {
        let feed = ASKED.lock().expect("nobody panics").clone();
        if let Some(feed) = feed {
            let _ = feed.watch::<Asking>(&0);
        }
    }
}

impl Field for Asks {
    const KIND: Kind = Kind::Integer;
    type Plain = Asks;
    type View<'a> = i64;

    fn write<'a>(&'a self, cells: &mut Cells<'a>) {
        cells.integer(self.0);
    }

    fn read(raw: Raw<'_>) -> std::result::Result<Asks, Mismatch> {
        i64::read(raw).map(Asks)
    }

    fn view(raw: Raw<'_>) -> std::result::Result<i64, Mismatch> {
        i64::read(raw)
    }
}

#[derive(Record)]
struct Asking {
    #[record(key)]
    id: i64,
    asks: Asks,
}

/// Regression: when a watched record could be read again, what was missed meanwhile was freed while the feed was locked.
/// A record whose own code asked the feed then waited for itself.
#[test]
fn a_record_that_is_superseded_may_ask_its_feed_when_it_is_freed() -> Result<()> {
    let (_directory, store) = store();
    let sql = |batch: &str| store.write(|transaction| transaction.sql(|sql| sql.execute_batch(batch)));
    store.insert(&Asking { id: 1, asks: Asks(1) })?;
    let feed = Arc::new(store.feed()?);
    let one = feed.watch::<Asking>(&1)?;
    let all = feed.query::<Asking>().watch()?;
    *ASKED.lock().expect("nobody panics") = Some(Arc::clone(&feed));
    for number in 2..6 {
        store.put(&Asking { id: 1, asks: Asks(number) })?;
        store.wait_delivered()?;
        sql("alter table asking rename to kept; create table asking (id INTEGER PRIMARY KEY, asks TEXT)")?;
        store.wait_delivered()?;
        sql("drop table asking; alter table kept rename to asking; update asking set asks = asks + 10")?;
        store.wait_delivered()?;
    }
    *ASKED.lock().expect("nobody panics") = None;
    let batch = feed.try_next()?.expect("it is told");
    for id in [one.id(), all.id()] {
        let found = batch.get(id).expect("it is concerned").results::<Asking>()?;
        assert_eq!(found.iter().map(|asking| asking.asks.0).collect::<Vec<_>>(), [15]);
    }
    Ok(())
}

/// A program may use a store in work whose panic it catches, without a promise of its own.
#[test]
fn a_store_is_safe_to_use_after_a_panic() {
    fn is_safe<T: UnwindSafe + RefUnwindSafe>() {}
    is_safe::<Store>();
}
