//! What the oracle has found, each told once more.

use crate::{Task, store, task};
use touchstone_store::{Record, Result, Store};

#[derive(Record, Clone, Debug, PartialEq)]
struct Weight {
    #[record(key)]
    id: i64,
    grams: f64,
}

/// A result had the -0.0 that was written, where the file has 0.0; and to write it again was told as a change.
#[test]
fn a_zero_has_no_sign_in_results() -> Result<()> {
    let (_directory, store) = store();
    let feed = store.feed()?;
    let all = feed.query::<Weight>().watch()?;
    store.insert(&Weight { id: 1, grams: -0.0 })?;
    store.wait_delivered()?;
    let batch = feed.try_next()?.expect("it is told");
    let results = batch.get(all.id()).and_then(|update| update.results::<Weight>().ok());
    let first = results.as_ref().and_then(|results| results.first()).expect("there is one");
    assert!(first.grams.is_sign_positive());
    store.put(&Weight { id: 1, grams: 0.0 })?;
    store.put(&Weight { id: 1, grams: -0.0 })?;
    store.wait_delivered()?;
    assert!(feed.try_next()?.is_none());
    Ok(())
}

/// Two gaps that meet at a value were read by conditions that let the value through for both.
#[test]
fn a_row_between_two_gaps_is_there_once() -> Result<()> {
    let (_directory, store) = store();
    store.insert_all(&(0..40).map(|id| task(id, id, Some(id))).collect::<Vec<_>>())?;
    let feed = store.feed()?;
    let between = |low: i64, high: i64| {
        let query = feed.query::<Task>().filter(|task| task.list.ge(low).and(task.list.lt(high)));
        query.order(|task| task.list.ascending()).watch()
    };
    let _held = (between(10, 12)?, between(20, 22)?);
    let all = between(0, 40)?;
    assert_eq!(all.results().iter().map(|task| task.id).collect::<Vec<_>>(), (0..40).collect::<Vec<_>>());
    Ok(())
}

/// A commit of others right after one of the store's own was only looked for the next time.
#[test]
fn who_waits_is_told_of_what_others_have_committed_after_the_stores_own() -> Result<()> {
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("tasks.db");
    let (store, other) = (Store::open(&path)?, Store::open(&path)?);
    let feed = store.feed()?;
    let all = feed.query::<Task>().order(|task| task.id.ascending()).watch()?;
    for round in 0..200 {
        store.put(&task(1, 1, Some(round)))?;
        other.put(&task(2, 1, Some(round)))?;
        store.wait_delivered()?;
        let mut last = None;
        while let Some(batch) = feed.try_next()? {
            last = batch.get(all.id()).and_then(|update| update.results::<Task>().ok());
        }
        let last = last.expect("it is told");
        assert_eq!(last.iter().map(|task| task.due).collect::<Vec<_>>(), [Some(round), Some(round)]);
    }
    Ok(())
}
