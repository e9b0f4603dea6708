//! A commit that comes while a new subscription reads its first result.

use super::store;
use std::cell::Cell;
use std::sync::{Condvar, Mutex, PoisonError};
use touchstone_store::{Cells, Field, Kind, Mismatch, Raw, Record, Result};

/// Where the reader and the writer are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Nobody waits for anybody.
    Apart,
    /// Who reads next waits for the writer.
    Awaited,
    /// Somebody reads.
    Reading,
    /// The writer has committed.
    Committed,
}

static PLACE: Mutex<Place> = Mutex::new(Place::Apart);
static MOVED: Condvar = Condvar::new();

thread_local! {
    /// Whether this thread is the one that writes.
    static WRITES: Cell<bool> = const { Cell::new(false) };
}

fn move_to(place: Place) {
    *PLACE.lock().unwrap_or_else(PoisonError::into_inner) = place;
    MOVED.notify_all();
}

fn wait_for(place: Place) {
    let at = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
    drop(MOVED.wait_while(at, |at| *at != place).unwrap_or_else(PoisonError::into_inner));
}

/// A number whose first reader waits until the writer has committed.
#[derive(Clone, Debug, PartialEq)]
struct Mark(i64);

impl Field for Mark {
    const KIND: Kind = Kind::Integer;
    type Plain = Mark;
    type View<'a> = Mark;

    fn write<'a>(&'a self, cells: &mut Cells<'a>) {
        cells.integer(self.0);
    }

    fn read(raw: Raw<'_>) -> std::result::Result<Mark, Mismatch> {
        let is_awaited = *PLACE.lock().unwrap_or_else(PoisonError::into_inner) == Place::Awaited;
        if is_awaited && !WRITES.get() {
            move_to(Place::Reading);
            wait_for(Place::Committed);
        }
        i64::read(raw).map(Mark)
    }

    fn view(raw: Raw<'_>) -> std::result::Result<Mark, Mismatch> {
        Mark::read(raw)
    }
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Entry {
    #[record(key)]
    id: i64,
    #[record(index)]
    place: i64,
    mark: Mark,
}

/// What concerns no earlier subscription is left out of what is captured: not so while somebody reads whom it may concern.
#[test]
fn a_commit_that_concerns_the_newcomer_alone_reaches_it() -> Result<()> {
    let (_directory, store) = store();
    let entry = |id: i64, mark: i64| Entry { id, place: id, mark: Mark(mark) };
    store.insert_all(&(0..10).map(|id| entry(id, id)).collect::<Vec<_>>())?;
    let earlier = store.feed()?;
    let _far = earlier.query::<Entry>().filter(|entry| entry.place.ge(1000)).watch()?;
    let feed = store.feed()?;
    move_to(Place::Awaited);
    let newcomer = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            WRITES.set(true);
            wait_for(Place::Reading);
            let put = store.put(&entry(5, 50));
            move_to(Place::Committed);
            put
        });
        let newcomer = feed.query::<Entry>().filter(|entry| entry.place.lt(100)).watch();
        // Where a reader fails before it reads, the writer must not wait for it.
        if newcomer.is_err() {
            move_to(Place::Reading);
        }
        writer.join().expect("the writer does not panic")?;
        newcomer
    })?;
    store.wait_delivered()?;
    let mut marks = Vec::new();
    while let Some(batch) = feed.try_next()? {
        let Some(update) = batch.get(newcomer.id()) else { continue };
        marks = update.results::<Entry>()?.iter().map(|entry| entry.mark.0).collect();
    }
    marks.sort_unstable();
    assert_eq!(marks, [0, 1, 2, 3, 4, 6, 7, 8, 9, 50]);
    Ok(())
}
