//! Queries with a limit: what is held of them, and how a page is filled up again.

use super::{Task, store, task};
use touchstone_store::{ErrorKind, Feed, Mode, Overflow, Query, Record, Result, Store, Subscription, Update};

/// What one page of ten may hold at most: twice what it shows, and what it keeps ahead.
const HELD_MAX: usize = 80;

fn first_ten(feed: &Feed) -> Result<Subscription<Task>> {
    feed.query::<Task>().order(|task| task.due.ascending()).limit(10).watch()
}

fn ids(update: &Update) -> Vec<i64> {
    update.results::<Task>().expect("they are tasks").iter().map(|task| task.id).collect()
}

fn fill(store: &Store, ids: std::ops::Range<i64>) -> Result<u64> {
    store
        .write(|transaction| transaction.insert_all(&ids.map(|id| task(id, 1, Some(id))).collect::<Vec<_>>()))
}

/// A page of ten held every row of the table.
#[test]
fn a_page_holds_what_it_shows_and_little_more() -> Result<()> {
    let (_directory, store) = store();
    fill(&store, 5_000..10_000)?;
    let feed = store.feed()?;
    let page = first_ten(&feed)?;
    assert_eq!(page.results().len(), 10);
    let held = || Ok::<_, touchstone_store::Error>(page.explain()?.rows);
    assert!(held()? <= HELD_MAX, "{} rows", held()?);
    // Rows that come before those that are shown push them out.
    for first in (0..5_000).rev().step_by(500) {
        fill(&store, first - 499..first + 1)?;
        store.wait_delivered()?;
        let batch = feed.try_next()?.expect("it is another page");
        assert_eq!(ids(batch.get(page.id()).expect("it is told"))[0], first - 499);
        assert!(held()? <= HELD_MAX, "{} rows", held()?);
    }
    // Those that come behind are nobody's.
    fill(&store, 20_000..21_000)?;
    store.wait_delivered()?;
    assert!(feed.try_next()?.is_none());
    assert!(held()? <= HELD_MAX, "{} rows", held()?);
    Ok(())
}

#[test]
fn a_page_that_loses_rows_is_filled_up_in_the_same_transactions_batch() -> Result<()> {
    let (_directory, store) = store();
    fill(&store, 0..2_000)?;
    let feed = store.feed_with(Mode::Every { batches: 10_000, overflow: Overflow::End })?;
    let page = first_ten(&feed)?;
    let number = feed.query::<Task>().watch_count()?;
    let mut first = 0;
    // One by one, a few, more than is held ahead, and in the middle.
    for gone in [1, 1, 1, 5, 9, 10, 11, 40, 100, 1, 300, 1_000] {
        store.write(|transaction| {
            transaction.of::<Task>().remove_where(|task| task.id.between(first, first + gone - 1))
        })?;
        first += gone;
        store.wait_delivered()?;
        let batch = feed.try_next()?.expect("it is another page");
        assert!(feed.try_next()?.is_none(), "one batch for one transaction");
        assert!(!batch.is_resync());
        let update = batch.get(page.id()).expect("it is told");
        assert_eq!(ids(update), (first..first + 10).collect::<Vec<_>>());
        assert_eq!(
            batch.get(number.id()).expect("it is told").count()?,
            2_000 - u64::try_from(first).expect("it is not negative")
        );
    }
    store.write(|transaction| transaction.of::<Task>().clear())?;
    store.wait_delivered()?;
    let batch = feed.try_next()?.expect("it is another page");
    assert_eq!(ids(batch.get(page.id()).expect("it is told")), Vec::<i64>::new());
    Ok(())
}

/// Where others have committed before the rows are read, all of them are told together.
#[test]
fn a_page_that_is_filled_up_late_agrees_with_all_else_of_its_feed() -> Result<()> {
    let (_directory, store) = store();
    fill(&store, 0..4_000)?;
    let feed = store.feed_with(Mode::Every { batches: 10_000, overflow: Overflow::End })?;
    let page = first_ten(&feed)?;
    let all = feed.query::<Task>().order(|task| task.due.ascending()).watch()?;
    let mut had = page.results().iter().map(|task| task.id).collect::<Vec<_>>();
    let mut whole = all.results().iter().map(|task| task.id).collect::<Vec<_>>();
    for first in (0..3_900).step_by(30) {
        store.write(|transaction| {
            transaction.of::<Task>().remove_where(|task| task.id.between(first, first + 29)).map(drop)
        })?;
        store.put(&task(3_950, first, Some(3_950)))?;
    }
    store.wait_delivered()?;
    while let Some(batch) = feed.try_next()? {
        if let Some(update) = batch.get(page.id()) {
            let before = update.before::<Task>()?;
            assert_eq!(before.iter().map(|task| task.id).collect::<Vec<_>>(), had);
            had = ids(update);
        }
        if let Some(update) = batch.get(all.id()) {
            whole = ids(update);
        }
        assert_eq!(had, whole[..10], "one moment");
    }
    assert_eq!(had, (3_900..3_910).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn pages_of_any_order_and_offset_are_filled_up() -> Result<()> {
    let (_directory, store) = store();
    let rows: Vec<Task> = (0..900).map(|id| task(id, id % 3, (id % 4 != 0).then_some(id % 7))).collect();
    store.insert_all(&rows)?;
    let feed = store.feed()?;
    let of_list = |list| feed.query::<Task>().filter(move |task| task.list.eq(list));
    let queries = || {
        vec![
            of_list(0).limit(5),
            of_list(1).order(|task| task.due.descending()).offset(20).limit(3),
            of_list(2).filter(|task| task.due.gt(2)).order(|task| task.due.ascending()).limit(7),
            of_list(0).filter(|task| task.due.lt(5)).order(|task| task.due.descending()).limit(4),
            of_list(1).filter(|task| task.due.is_null()).limit(2),
            of_list(2).order(|task| task.title.descending()).limit(0),
            feed.query::<Task>()
                .order(|task| task.due.ascending())
                .order(|task| task.id.descending())
                .limit(6),
        ]
    };
    let mut watched = Vec::new();
    for query in queries() {
        watched.push(query.watch()?);
    }
    // As many of one shape are read in one go.
    let many = feed.watch_all(
        (0..30).map(|offset| of_list(offset % 3).offset(u64::try_from(offset).unwrap_or(0)).limit(2)),
    )?;
    let mut had: Vec<Vec<Task>> =
        watched.iter().chain(&many).map(|page| page.results().iter().cloned().collect()).collect();
    for round in 0..12 {
        store.write(|transaction| {
            transaction.of::<Task>().remove_where(|task| task.id.between(round * 70, round * 70 + 60))?;
            transaction.put(&task(round * 70 + 65, round % 3, Some(round % 8)))
        })?;
        store.wait_delivered()?;
        while let Some(batch) = feed.try_next()? {
            for (had, page) in had.iter_mut().zip(watched.iter().chain(&many)) {
                if let Some(update) = batch.get(page.id()) {
                    *had = update.results::<Task>()?.iter().cloned().collect();
                }
            }
        }
        let fresh: Vec<Vec<Task>> = queries()
            .into_iter()
            .map(|query| Ok(query.watch()?.results().iter().cloned().collect()))
            .collect::<Result<_>>()?;
        assert_eq!(had[..fresh.len()], fresh, "round {round}");
        for (offset, had) in had[fresh.len()..].iter().enumerate() {
            let left = store.read(|snapshot| {
                let list = i64::try_from(offset).unwrap_or(0) % 3;
                snapshot
                    .query::<Task>()
                    .filter(|task| task.list.eq(list))
                    .order(|task| task.id.ascending())
                    .offset(offset as u64)
                    .limit(2)
                    .all()
            })?;
            assert_eq!(*had, left, "round {round}");
        }
    }
    assert!(many[0].explain()?.rows <= 200, "{} rows", many[0].explain()?.rows);
    Ok(())
}

fn first<R>(query: Query<'_, Task, R>, descending: bool) -> Query<'_, Task, R> {
    query.order(|task| if descending { task.due.descending() } else { task.due.ascending() }).limit(5)
}

/// The rows behind the last one that was known were asked for as those with a value, for the last one had none: rows without a value
/// were missing from each page.
#[test]
fn many_equal_pages_are_filled_up_with_rows_without_a_value() -> Result<()> {
    let (_directory, store) = store();
    store.insert_all(&(0..400).map(|id| task(id, 0, (id >= 200).then_some(id))).collect::<Vec<_>>())?;
    let feed = store.feed()?;
    for (removed, descending) in [(40, false), (150, false), (390, true)] {
        let pages = feed.watch_all((0..12).map(|_| first(feed.query(), descending)))?;
        store.write(|transaction| {
            transaction
                .of::<Task>()
                .remove_where(|task| if descending { task.id.ge(removed) } else { task.id.lt(removed) })
        })?;
        store.wait_delivered()?;
        let expected: Vec<i64> = store
            .read(|snapshot| first(snapshot.query(), descending).all())?
            .iter()
            .map(|task| task.id)
            .collect();
        let batch = feed.try_next()?.expect("each page has changed");
        for page in &pages {
            let told = batch.get(page.id()).expect("it has changed").results::<Task>()?;
            assert_eq!(told.iter().map(|task| task.id).collect::<Vec<_>>(), expected);
        }
    }
    Ok(())
}

/// What others had taken from the page was put into the batch, and then that the page cannot be read: the receiver's list of
/// updates was damaged, or the thread of live queries panicked.
#[test]
fn a_page_that_others_leave_unreadable_is_told_of_once() -> Result<()> {
    #[derive(Record, Clone)]
    struct Part {
        #[record(key)]
        id: i64,
        size: u8,
    }
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("parts.db");
    let store = Store::open(&path)?;
    store.insert_all(&(0..200).map(|id| Part { id, size: 1 }).collect::<Vec<_>>())?;
    // No record of the type, and on no page yet.
    let spoil = "update part set size = 300 where id = 60";
    store.write(|transaction| transaction.sql(|sql| sql.execute(spoil, ()).map(drop)))?;
    let feed = store.feed()?;
    let page = feed.query::<Part>().order(|part| part.id.ascending()).limit(10).watch()?;
    let first = feed.query::<Part>().filter(|part| part.id.lt(5)).watch()?;
    let other = Store::open(&path)?;
    let remove = |ids: std::ops::Range<i64>| {
        other.write(|transaction| {
            transaction.of::<Part>().remove_where(|part| part.id.ge(ids.start).and(part.id.lt(ids.end)))
        })
    };
    remove(0..55)?;
    store.wait_delivered()?;
    // It is tried again, and nothing is told of what can be read of the type: that was told as if all of it could be.
    store.wait_delivered()?;
    let batch = feed.try_next()?.expect("it is told");
    assert_eq!(batch.iter().count(), 2);
    assert!(batch.get(first.id()).and_then(Update::error).is_some(), "what is of one type is told together");
    let error = batch.get(page.id()).and_then(Update::error).expect("it cannot be read");
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    remove(60..61)?;
    store.wait_delivered()?;
    let batch = feed.try_next()?.expect("it can be read again");
    assert!(batch.get(first.id()).expect("it is told").results::<Part>()?.is_empty());
    let update = batch.get(page.id()).expect("it is told");
    assert_eq!(
        update.results::<Part>()?.iter().map(|part| part.id).collect::<Vec<_>>(),
        [55, 56, 57, 58, 59, 61, 62, 63, 64, 65]
    );
    Ok(())
}
