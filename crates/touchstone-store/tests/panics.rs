//! Records whose own code panics, or calls the store, in the middle of a transaction.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use touchstone_store::{Cells, Error, ErrorKind, Field, Kind, Mismatch, Raw, Record, Result, Store};

thread_local! {
    /// How many numbers still panic when this thread frees them.
    static PANICS_FREED: Cell<u32> = const { Cell::new(0) };
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
        cells.integer(self.0);
    }

    fn read(raw: Raw<'_>) -> std::result::Result<Bomb, Mismatch> {
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
    panicked
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
        let ids: Vec<i64> = other.all::<Thing>()?.iter().map(|thing| thing.id).collect();
        assert_eq!(ids, [1, 3, 4]);
    }
    Ok(())
}
