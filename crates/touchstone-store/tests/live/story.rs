//! One rule after another, each told once.

use crate::{Task, store, task};
use touchstone_store::{Error, ErrorKind, Record, Result, SqlRows};

/// What is not watched here.
#[derive(Record)]
struct Other {
    #[record(key)]
    id: i64,
}

#[test]
fn a_window_follows_what_is_committed() -> Result<()> {
    let (_directory, store) = store();
    store.insert_all(&[
        task(1, 1, Some(10)),
        task(2, 1, Some(20)),
        task(3, 2, Some(15)),
        task(4, 1, None),
    ])?;
    let feed = store.feed()?;
    let soon = feed
        .query::<Task>()
        .filter(|task| task.list.eq(1).and(task.due.lt(100)))
        .order(|task| task.due.descending())
        .limit(2)
        .watch()?;
    let ids =
        |results: &touchstone_store::Results<Task>| results.iter().map(|task| task.id).collect::<Vec<_>>();
    assert_eq!(ids(soon.results()), [2, 1]);
    store.insert(&task(5, 1, Some(15)))?;
    let batch = feed.next()?.expect("the feed goes on");
    let update = batch.get(soon.id()).expect("it is concerned");
    assert_eq!(ids(&update.results::<Task>()?), [2, 5]);
    store.write(|transaction| {
        transaction.update::<Task>(&5, |task| task.due = Some(99))?;
        transaction.remove::<Task>(&2)
    })?;
    let batch = feed.next()?.expect("the feed goes on");
    let update = batch.get(soon.id()).expect("it is concerned");
    assert_eq!(ids(&update.results::<Task>()?), [5, 1]);
    store.put(&task(5, 1, Some(99)))?;
    store.put(&task(3, 2, Some(99)))?;
    store.wait_delivered()?;
    assert!(feed.try_next()?.is_none());
    let one = feed.watch::<Task>(&3)?;
    assert_eq!(one.results().first().map(|task| task.due), Some(Some(99)));
    store.remove::<Task>(&3)?;
    let batch = feed.next()?.expect("the feed goes on");
    assert!(batch.get(one.id()).expect("it is concerned").results::<Task>()?.is_empty());
    store.write(|transaction| transaction.sql(|sql| sql.execute("update task set due = 1", ())))?;
    let batch = feed.next()?.expect("the feed goes on");
    assert!(!batch.is_resync(), "SQL is followed too");
    let update = batch.get(soon.id()).expect("it is concerned");
    assert_eq!(ids(&update.results::<Task>()?), [1, 4]);
    Ok(())
}

#[test]
fn a_statement_of_sql_is_run_anew_when_a_table_that_it_reads_has_changed() -> Result<()> {
    let (_directory, store) = store();
    store.insert_all(&[task(1, 1, Some(10)), task(2, 1, None), task(3, 2, None)])?;
    let feed = store.feed()?;
    let sums = feed.watch_sql(
        "select list, count(*) from task where id <> ?1 group by list order by list",
        [3.into()],
    )?;
    assert_eq!(sums.rows().iter().map(<[_]>::to_vec).collect::<Vec<_>>(), [[1.into(), 2.into()]]);
    store.insert(&task(4, 2, None))?;
    let batch = feed.next()?.expect("the feed goes on");
    let update = batch.iter().next().expect("it is concerned");
    assert_eq!(update.id(), sums.id());
    assert_eq!(update.sql_rows()?.len(), 2);
    Ok(())
}

#[test]
fn another_stores_commit_is_heard() -> Result<()> {
    let (directory, store) = store();
    let feed = store.feed()?;
    let all = feed.query::<Task>().watch_count()?;
    let other = touchstone_store::Store::open(directory.path().join("tasks.db"))?;
    other.insert(&task(1, 1, None))?;
    let batch = feed.next()?.expect("the feed goes on");
    assert_eq!(batch.get(all.id()).expect("it is concerned").count()?, 1);
    Ok(())
}

#[test]
fn an_update_that_is_asked_for_something_else_says_so() -> Result<()> {
    let (_directory, store) = store();
    store.insert(&task(1, 1, None))?;
    let feed = store.feed()?;
    let (all, count) = (feed.query::<Task>().watch()?, feed.query::<Task>().watch_count()?);
    store.insert(&task(2, 1, None))?;
    let batch = feed.next()?.expect("the feed goes on");
    let kind = |error: Error| error.kind();
    let records = batch.get(all.id()).expect("it is concerned");
    assert_eq!(records.count().map_err(kind), Err(ErrorKind::Mismatch));
    assert_eq!(records.sql_rows().map(SqlRows::len).map_err(kind), Err(ErrorKind::Mismatch));
    assert_eq!(
        records.results::<Other>().map(|results| results.len()).map_err(kind),
        Err(ErrorKind::Mismatch)
    );
    let number = batch.get(count.id()).expect("it is concerned");
    assert_eq!(number.results::<Task>().map(|results| results.len()).map_err(kind), Err(ErrorKind::Mismatch));
    assert_eq!(number.delta::<Task>().map(drop).map_err(kind), Err(ErrorKind::Mismatch));
    assert!(records.error().is_none() && number.error().is_none());
    Ok(())
}

#[test]
fn a_feed_and_what_it_gives_go_to_other_threads() -> Result<()> {
    fn sent<T: Send>(value: T) -> T {
        value
    }
    fn shared<T: Sync>(value: T) -> T {
        value
    }
    let (_directory, store) = store();
    let feed = sent(shared(store.feed()?));
    let all = sent(shared(feed.query::<Task>().watch()?));
    store.insert(&task(1, 1, None))?;
    drop(sent(feed.next_async()));
    let batch = sent(shared(feed.next()?.expect("to drop a future takes nothing")));
    let results = sent(shared(batch.get(all.id()).expect("it is concerned").results::<Task>()?));
    assert_eq!(results.len(), 1);
    Ok(())
}
