//! Many subscriptions, and receivers that do not come: what they cost. `TOUCHSTONE_CASES` is how many subscriptions
//! there are.

use super::counted::{Counted, OF_A_CROWD};
use super::store;
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use touchstone_store::{Cells, Field, Kind, Mismatch, Mode, Overflow, Raw, Record, Result};

type Value = Counted<OF_A_CROWD>;

#[derive(Record, Debug, PartialEq)]
struct Reading {
    #[record(key)]
    id: i64,
    value: Value,
}

#[test]
fn receivers_that_do_not_come_hold_no_more_than_what_they_missed_last() -> Result<()> {
    const ROWS: i64 = 50;
    const COMMITS: i64 = 2000;
    let (_directory, store) = store();
    let reading = |id: i64, value| Reading { id, value: Value::new(value) };
    store.insert_all(&(0..ROWS).map(|id| reading(id, 0)).collect::<Vec<_>>())?;
    let modes = [
        Mode::Latest,
        Mode::Every { batches: 10, overflow: Overflow::Resync },
        Mode::Every { batches: 10, overflow: Overflow::End },
    ];
    let feeds = modes.map(|mode| store.feed_with(mode).expect("there is a thread more"));
    let mut held = Vec::new();
    for feed in &feeds {
        held.push(feed.query::<Reading>().watch()?);
        held.push(feed.query::<Reading>().order(|reading| reading.value.descending()).limit(5).watch()?);
        held.push(feed.watch::<Reading>(&1)?);
    }
    for commit in 0..COMMITS {
        store.put(&reading(commit % ROWS, commit))?;
        if commit % 100 == 0 {
            store.wait_delivered()?;
        }
    }
    store.wait_delivered()?;
    // Each subscription may hold what its receiver has and what it will have; each of ten batches one change.
    let alive = Value::alive();
    let most = usize::try_from(ROWS).expect("it is small") * (2 + held.len());
    assert!(alive <= most, "{alive} values are alive, of {ROWS} rows");
    for feed in &feeds[..2] {
        let batch = feed.try_next()?.expect("something is pending");
        assert!(feed.try_next()?.is_none());
        let update = batch.iter().next().expect("it is no empty batch");
        let (before, now) = (update.before::<Reading>(), update.results::<Reading>());
        assert!(before.expect("they are readings").iter().all(|reading| reading.value.0 == 0));
        assert!(now.expect("they are readings").iter().all(|reading| reading.value.0 >= COMMITS - ROWS));
    }
    assert!(feeds[2].try_next().is_err());
    drop((held, feeds));
    store.wait_delivered()?;
    assert_eq!(Value::alive(), 0, "what nobody watches nobody holds");
    Ok(())
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Dot {
    #[record(key)]
    id: i64,
    #[record(index)]
    place: i64,
}

/// Two rows go to places beside each other: most windows of them hold both, and each window is told once.
#[test]
fn of_many_windows_those_are_told_that_a_row_left_or_entered() -> Result<()> {
    const WIDTH: i64 = 10;
    let asked = std::env::var("TOUCHSTONE_CASES").ok().and_then(|cases| cases.parse::<i64>().ok());
    let many = asked.unwrap_or(0).max(20_000);
    let (_directory, store) = store();
    let rows = 1000;
    store.insert_all(&(0..rows).map(|id| Dot { id, place: id * many / rows }).collect::<Vec<_>>())?;
    let feed = store.feed()?;
    let windows = (0..many).map(|low| {
        let query = feed.query::<Dot>().filter(|dot| dot.place.ge(low).and(dot.place.lt(low + WIDTH)));
        query.order(|dot| dot.place.ascending())
    });
    let subscriptions = feed.watch_all(windows)?;
    let from = [500 * many / rows, 501 * many / rows];
    let to = [many / 3, many / 3 + 1];
    let dots =
        |places: [i64; 2]| (500..502).zip(places).map(|(id, place)| Dot { id, place }).collect::<Vec<_>>();
    store.put_all(&dots(to))?;
    store.wait_delivered()?;
    let batch = feed.try_next()?.expect("somebody is concerned");
    let is_concerned = |low: i64| from.iter().chain(&to).any(|place| low <= *place && *place < low + WIDTH);
    let told = (0..many).zip(&subscriptions).filter(|(low, _)| is_concerned(*low));
    let mut ids: Vec<_> = told.map(|(_, subscription)| subscription.id()).collect();
    let mut found: Vec<_> = batch.iter().map(touchstone_store::Update::id).collect();
    ids.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, ids);
    drop(subscriptions);
    store.put_all(&dots(from))?;
    store.wait_delivered()?;
    assert!(feed.try_next()?.is_none());
    Ok(())
}

/// How many of [`Weight`] there are, and how many there were when a round looked at the last.
static WEIGHTS: (AtomicUsize, AtomicUsize) = (AtomicUsize::new(0), AtomicUsize::new(0));
/// A round goes on past the first when this is free.
static GATE: Mutex<()> = Mutex::new(());
const FIRST: i64 = -1;
const LAST: i64 = i64::MAX;

thread_local! {
    /// Whether this thread writes to the store, and does no round of live queries.
    static PUTS: Cell<bool> = const { Cell::new(false) };
}

/// A number that a round waits at.
#[derive(Debug, PartialEq)]
struct Weight(i64);

impl Drop for Weight {
    fn drop(&mut self) {
        WEIGHTS.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Field for Weight {
    const KIND: Kind = Kind::Integer;
    type Plain = Weight;
    type View<'a> = Weight;

    fn write<'a>(&'a self, cells: &mut Cells<'a>) {
        if !PUTS.get() {
            match self.0 {
                FIRST => drop(GATE.lock()),
                LAST => WEIGHTS.1.store(WEIGHTS.0.load(Ordering::SeqCst), Ordering::SeqCst),
                _ => {}
            }
        }
        cells.integer(self.0);
    }

    fn read(raw: Raw<'_>) -> std::result::Result<Weight, Mismatch> {
        WEIGHTS.0.fetch_add(1, Ordering::SeqCst);
        i64::read(raw).map(Weight)
    }

    fn view(raw: Raw<'_>) -> std::result::Result<Weight, Mismatch> {
        Weight::read(raw)
    }
}

#[derive(Record, Debug, PartialEq)]
struct Load {
    #[record(key)]
    id: i64,
    weight: Weight,
}

/// What commits had superseded was kept until all that waited were taken in: gigabytes, where writers were ahead.
#[test]
fn what_was_superseded_is_freed_while_there_is_more_to_take_in() -> Result<()> {
    const COMMITS: i64 = 3000;
    let (_directory, store) = store();
    let feed = store.feed()?;
    let heaviest = feed.query::<Load>().order(|load| load.weight.descending()).watch()?;
    let put = |weight: i64| {
        WEIGHTS.0.fetch_add(1, Ordering::SeqCst);
        store.put(&Load { id: 1, weight: Weight(weight) })
    };
    let shut = GATE.lock();
    PUTS.set(true);
    put(FIRST)?;
    (0..COMMITS).try_for_each(put)?;
    put(LAST)?;
    PUTS.set(false);
    drop(shut);
    store.wait_delivered()?;
    let alive = WEIGHTS.1.load(Ordering::SeqCst);
    assert!((1..COMMITS / 10).contains(&i64::try_from(alive).expect("it is small")), "{alive} are alive");
    let batch = feed.try_next()?.expect("it is told");
    let results = batch.get(heaviest.id()).expect("it is concerned").results::<Load>()?;
    assert_eq!(results.first().map(|load| load.weight.0), Some(LAST));
    Ok(())
}
