//! The rules of delivery, each told once: when callbacks run and on whose thread, what a failed transaction delivers, and
//! what a receiver that does not come, or does not behave, costs the others.

use crate::{Task, store, task};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use touchstone_store::{
    Error, ErrorKind, Feed, Mode, Options, Overflow, Result, Store, Subscription, Update,
};

const LONG: Duration = Duration::from_secs(30);

fn dues(update: &Update) -> Vec<Option<i64>> {
    update.results::<Task>().expect("they are tasks").iter().map(|task| task.due).collect()
}

/// The one update of the next batch that is there.
fn next(feed: &Feed, subscription: &Subscription<Task>) -> Vec<Option<i64>> {
    let batch = feed.next_within(LONG).expect("the feed goes on").expect("there is a batch");
    dues(batch.get(subscription.id()).expect("it is concerned"))
}

#[test]
fn nothing_is_told_before_the_commit_has_returned_nor_on_the_writers_thread() -> Result<()> {
    let (_directory, store) = store();
    let feed = store.feed()?;
    let all = feed.query::<Task>().watch()?;
    let (sender, receiver) = mpsc::channel();
    let reader = store.clone();
    let _listener = feed.listen(move |_batch| {
        // What is told of is committed: a read that begins now sees it.
        let found = reader.get::<Task>(&1).expect("it is read").is_some();
        sender.send((std::thread::current().id(), found)).expect("somebody listens");
    })?;
    store.write(|transaction| {
        transaction.insert(&task(1, 1, None))?;
        let savepoint: Result<()> =
            transaction.savepoint(|transaction| transaction.insert(&task(2, 1, None)));
        savepoint?;
        store.wait_delivered()?;
        assert!(receiver.try_recv().is_err(), "nothing is committed yet");
        Ok(())
    })?;
    let (thread, found) = receiver.recv_timeout(LONG).expect("it is called");
    assert_ne!(thread, std::thread::current().id());
    assert!(found);
    drop(all);
    Ok(())
}

#[test]
fn a_transaction_that_fails_or_panics_delivers_nothing() -> Result<()> {
    let (_directory, store) = store();
    store.insert(&task(1, 1, Some(1)))?;
    let feed = store.feed()?;
    let all = feed.query::<Task>().watch()?;
    let failed: Result<()> = store.write(|transaction| {
        transaction.put(&task(1, 1, Some(2)))?;
        Err(Error::new(ErrorKind::Invalid, "never mind"))
    });
    assert!(failed.is_err());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        store.write(|transaction| -> Result<()> {
            transaction.put(&task(1, 1, Some(3)))?;
            std::panic::resume_unwind(Box::new("on purpose"))
        })
    }));
    assert!(panicked.is_err());
    store.wait_delivered()?;
    assert!(feed.try_next()?.is_none());
    store.put(&task(1, 1, Some(4)))?;
    assert_eq!(next(&feed, &all), [Some(4)]);
    Ok(())
}

/// SQLite looks at deferred references when the transaction is committed, which then goes on, and is undone.
#[test]
fn a_commit_that_references_refuse_delivers_nothing() -> Result<()> {
    let (_directory, store) = store();
    store.insert(&task(1, 1, Some(1)))?;
    store.write(|transaction| {
        transaction.sql(|sql| {
            sql.execute_batch(
                "create table note (id INTEGER PRIMARY KEY, task INTEGER REFERENCES task (id) DEFERRABLE INITIALLY DEFERRED)",
            )
        })
    })?;
    let feed = store.feed()?;
    let all = feed.query::<Task>().order(|task| task.id.ascending()).watch()?;
    let refused = store.write(|transaction| {
        transaction.put(&task(1, 1, Some(2)))?;
        transaction.insert(&task(2, 1, Some(2)))?;
        transaction.sql(|sql| sql.execute("insert into note values (1, 7)", ()))
    });
    assert!(refused.is_err());
    store.wait_delivered()?;
    assert!(feed.try_next()?.is_none());
    store.insert(&task(3, 1, Some(3)))?;
    assert_eq!(next(&feed, &all), [Some(1), Some(3)]);
    Ok(())
}

#[test]
fn a_transaction_that_another_program_keeps_out_delivers_nothing() -> Result<()> {
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("tasks.db");
    let store = Options::new().busy_timeout(Duration::from_millis(20)).open(&path)?;
    store.insert(&task(1, 1, Some(1)))?;
    let feed = store.feed()?;
    let all = feed.query::<Task>().watch()?;
    let other = rusqlite::Connection::open(&path).expect("the file opens");
    other.execute_batch("begin immediate").expect("nobody writes");
    let kept_out = store.put(&task(1, 1, Some(2))).expect_err("the lock is taken");
    assert_eq!(kept_out.kind(), ErrorKind::Busy);
    store.wait_delivered()?;
    assert!(feed.try_next()?.is_none());
    other.execute_batch("update task set due = 5; commit").expect("it has the lock");
    assert_eq!(next(&feed, &all), [Some(5)]);
    store.put(&task(1, 1, Some(6)))?;
    assert_eq!(next(&feed, &all), [Some(6)]);
    Ok(())
}

#[test]
fn who_subscribes_within_a_transaction_begins_before_it() -> Result<()> {
    let (_directory, store) = store();
    store.insert(&task(1, 1, Some(1)))?;
    let feed = store.feed()?;
    let before = feed.query::<Task>().filter(|task| task.list.eq(9)).watch()?;
    let (all, one, far) = store.write(|transaction| {
        // Of these nobody wants to know yet.
        transaction.put(&task(1, 1, Some(2)))?;
        transaction.insert(&task(2, 1, Some(2)))?;
        let all = feed.query::<Task>().order(|task| task.id.ascending()).watch()?;
        let one = feed.watch::<Task>(&2)?;
        let far = feed.query::<Task>().filter(|task| task.due.gt(1)).watch()?;
        assert_eq!((all.results().len(), one.results().len(), far.results().len()), (1, 0, 0));
        Ok((all, one, far))
    })?;
    let batch = feed.next_within(LONG)?.expect("there is a batch");
    assert_eq!(batch.len(), 3);
    assert!(batch.get(before.id()).is_none());
    assert_eq!(dues(batch.get(all.id()).expect("it is concerned")), [Some(2), Some(2)]);
    assert_eq!(dues(batch.get(one.id()).expect("it is concerned")), [Some(2)]);
    assert_eq!(dues(batch.get(far.id()).expect("it is concerned")).len(), 2);
    Ok(())
}

#[test]
fn a_listener_may_write_subscribe_and_cancel() -> Result<()> {
    let (_directory, store) = store();
    let feed = store.feed_with(Mode::Every { batches: 100, overflow: Overflow::End })?;
    let _all = feed.query::<Task>().watch()?;
    let (sender, receiver) = mpsc::channel();
    let (writer, other, mut subscribed) = (store.clone(), store.feed()?, Vec::new());
    let _listener = feed.listen(move |batch| {
        let count = batch
            .iter()
            .next()
            .and_then(|update| update.results::<Task>().ok())
            .expect("they are tasks")
            .len();
        if count < 5 {
            let id = i64::try_from(count).expect("it is small") + 1;
            writer.insert(&task(id, 1, None)).expect("a callback is in no transaction");
        }
        let all = other.query::<Task>().watch().expect("a callback may subscribe");
        subscribed.push(all.results().len());
        drop(all);
        sender.send((count, subscribed.clone())).expect("somebody listens");
    })?;
    store.insert(&task(1, 1, None))?;
    let told: Vec<_> = (0..5).map(|_| receiver.recv_timeout(LONG).expect("it is called")).collect();
    assert_eq!(told.iter().map(|(count, _)| *count).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(told.last().map(|(_, found)| found.last().copied()), Some(Some(5)));
    Ok(())
}

#[test]
fn a_listener_that_panics_ends_alone() -> Result<()> {
    let (_directory, store) = store();
    let (bad, good) = (store.feed()?, store.feed()?);
    let (_one, all) = (bad.query::<Task>().watch()?, good.query::<Task>().watch()?);
    let listener = bad.listen(|_| std::panic::resume_unwind(Box::new("on purpose")))?;
    store.insert(&task(1, 1, Some(1)))?;
    listener.wait();
    assert!(listener.panicked().is_some());
    assert_eq!(next(&good, &all), [Some(1)]);
    store.put(&task(1, 1, Some(2)))?;
    assert_eq!(next(&good, &all), [Some(2)]);
    Ok(())
}

#[test]
fn after_a_cancel_has_returned_no_callback_starts() -> Result<()> {
    let (_directory, store) = store();
    for round in 0..50 {
        let feed = store.feed()?;
        let _all = feed.query::<Task>().watch()?;
        let (is_over, calls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (over, counted) = (Arc::clone(&is_over), Arc::clone(&calls));
        let listener = feed.listen(move |_| {
            assert!(!over.load(Ordering::SeqCst));
            counted.fetch_add(1, Ordering::SeqCst);
        })?;
        store.put(&task(1, 1, Some(2 * round)))?;
        listener.cancel();
        is_over.store(true, Ordering::SeqCst);
        store.put(&task(1, 1, Some(2 * round + 1)))?;
        store.wait_delivered()?;
        assert!(calls.load(Ordering::SeqCst) <= 1);
        assert!(listener.panicked().is_none());
    }
    Ok(())
}

#[test]
fn what_was_cancelled_is_not_told_of_though_it_was_pending() -> Result<()> {
    let (_directory, store) = store();
    for mode in [Mode::Latest, Mode::Every { batches: 9, overflow: Overflow::Resync }] {
        let feed = store.feed_with(mode)?;
        let all = feed.query::<Task>().watch()?;
        let count = feed.query::<Task>().watch_count()?;
        store.insert(&task(1, 1, None))?;
        store.wait_delivered()?;
        all.cancel();
        let batch = feed.try_next()?.expect("there is a batch");
        assert_eq!(batch.len(), 1);
        assert!(batch.get(count.id()).is_some());
        store.remove::<Task>(&1)?;
        store.wait_delivered()?;
        count.cancel();
        assert!(feed.try_next()?.is_none());
    }
    Ok(())
}

#[test]
fn a_feed_that_was_dropped_or_closed_keeps_nobody_waiting() -> Result<()> {
    let (_directory, store) = store();
    let full = |store: &Store| -> Result<Feed> {
        let feed = store.feed_with(Mode::Every { batches: 1, overflow: Overflow::Block })?;
        let all = feed.query::<Task>().watch()?;
        store.put(&task(1, 1, Some(store.all::<Task>()?.len() as i64)))?;
        store.wait_delivered()?;
        drop(all);
        Ok(feed)
    };
    // Full feeds keep writers waiting: here until the timeout, were they not dropped, closed, or without subscriptions.
    drop(full(&store)?);
    store.put(&task(3, 1, None))?;
    let closed = full(&store)?;
    closed.close();
    store.put(&task(4, 1, None))?;
    assert!(closed.next()?.is_none());
    let _idle = full(&store)?;
    store.put(&task(5, 1, None))
}

#[test]
fn a_full_feed_keeps_writers_waiting_until_it_is_read_or_their_time_is_up() -> Result<()> {
    let directory = tempfile::tempdir().expect("there is room");
    let store =
        Options::new().busy_timeout(Duration::from_millis(50)).open(directory.path().join("tasks.db"))?;
    let feed = store.feed_with(Mode::Every { batches: 2, overflow: Overflow::Block })?;
    let all = feed.query::<Task>().watch()?;
    for due in 1..=2 {
        store.put(&task(1, 1, Some(due)))?;
        store.wait_delivered()?;
    }
    let refused = store.put(&task(1, 1, Some(3))).expect_err("the feed is full");
    assert_eq!(refused.kind(), ErrorKind::Busy);
    assert_eq!(next(&feed, &all), [Some(1)]);
    store.put(&task(1, 1, Some(4)))?;
    assert_eq!((next(&feed, &all), next(&feed, &all)), (vec![Some(2)], vec![Some(4)]));
    Ok(())
}

#[test]
fn a_store_that_is_closed_ends_its_feeds() -> Result<()> {
    let (_directory, store) = store();
    let feed = store.feed()?;
    let all = feed.query::<Task>().watch()?;
    store.insert(&task(1, 1, Some(1)))?;
    drop(store);
    let mut left = Vec::new();
    while let Some(batch) = feed.next()? {
        left.push(dues(batch.get(all.id()).expect("it is concerned")));
    }
    assert!(left.is_empty() || left == [vec![Some(1)]]);
    assert!(feed.query::<Task>().watch().is_err());
    Ok(())
}

/// It began, and was never told anything.
#[test]
fn nobody_subscribes_at_a_feed_that_has_ended() -> Result<()> {
    let (_directory, store) = store();
    let feed = store.feed_with(Mode::Every { batches: 1, overflow: Overflow::End })?;
    let _all = feed.query::<Task>().watch()?;
    for due in 0..3 {
        store.put(&task(1, 1, Some(due)))?;
    }
    store.wait_delivered()?;
    let kind = |error: Error| error.kind();
    assert_eq!(feed.query::<Task>().watch().map(drop).map_err(kind), Err(ErrorKind::Refused));
    assert_eq!(feed.watch::<Task>(&1).map(drop).map_err(kind), Err(ErrorKind::Refused));
    assert_eq!(feed.watch_sql("select 1", []).map(drop).map_err(kind), Err(ErrorKind::Refused));
    assert_eq!(feed.next().map(drop).map_err(kind), Err(ErrorKind::Busy));
    Ok(())
}

/// Subscribers come and go while others write: none of them misses a change, or hears of one twice.
#[test]
fn who_comes_while_others_write_misses_nothing() -> Result<()> {
    const WRITERS: i64 = 2;
    let (_directory, store) = store();
    let is_over = AtomicBool::new(false);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (store, is_over) = (&store, &is_over);
            scope.spawn(move || {
                let mut number = 1_u64;
                while !is_over.load(Ordering::SeqCst) {
                    number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let (id, due) =
                        ((number >> 33) as i64 % 40 * WRITERS + writer, (number >> 40) as i64 % 30);
                    let written = store.write(|transaction| {
                        if number >> 62 == 0 {
                            transaction.remove::<Task>(&id)?;
                        } else {
                            transaction.put(&task(id, due % 3, Some(due)))?;
                        }
                        Ok(())
                    });
                    written.expect("it is written");
                    // Else writers may be so far ahead that there are more batches than a feed keeps.
                    if (number >> 50).is_multiple_of(64) {
                        store.wait_delivered().expect("it is open");
                    }
                }
            });
        }
        let subscribers = (0..2).map(|subscriber| {
            let (store, failures) = (&store, &failures);
            scope.spawn(move || {
                if let Err(why) = come_and_go(store, subscriber) {
                    failures.lock().expect("nobody panicked").push(why);
                }
            })
        });
        // The writers go on for as long as somebody comes.
        for subscriber in subscribers.collect::<Vec<_>>() {
            let _ = subscriber.join();
        }
        is_over.store(true, Ordering::SeqCst);
    });
    assert_eq!(failures.into_inner().expect("nobody panicked"), Vec::<String>::new());
    Ok(())
}

fn come_and_go(store: &Store, subscriber: i64) -> std::result::Result<(), String> {
    let said = |error: Error| error.to_string();
    for round in 0..60 {
        let mode = if round % 2 == 0 {
            Mode::Latest
        } else {
            Mode::Every { batches: 100_000, overflow: Overflow::End }
        };
        let feed = store.feed_with(mode).map_err(said)?;
        let (low, list) = ((round * 7 + subscriber) % 25, (round + subscriber) % 3);
        let query = |feed: &Feed| {
            let query = feed.query::<Task>().filter(|task| task.due.ge(low).and(task.list.eq(list)));
            query.order(|task| task.due.descending()).limit(4).watch()
        };
        let first = query(&feed).map_err(said)?;
        let all = feed.query::<Task>().order(|task| task.id.ascending()).watch().map_err(said)?;
        let mut had = [first.results().to_vec(), all.results().to_vec()];
        for _ in 0..5 {
            std::thread::yield_now();
            store.wait_delivered().map_err(said)?;
            // Who takes all that comes may never be done: writers go on meanwhile.
            for _ in 0..20 {
                let Some(batch) = feed.try_next().map_err(said)? else { break };
                for (subscription, had) in [&first, &all].into_iter().zip(&mut had) {
                    let Some(update) = batch.get(subscription.id()) else { continue };
                    let (before, results) = (update.before::<Task>(), update.results::<Task>());
                    let (Ok(before), Ok(results)) = (before, results) else {
                        return Err("no tasks".into());
                    };
                    if before.to_vec() != *had {
                        return Err(format!("round {round}: {before:?} before the update, and had {had:?}"));
                    }
                    *had = results.to_vec();
                }
                // Before the second began, only the first was told.
                if batch.version() < all.results().version() {
                    continue;
                }
                // Both are of one moment.
                let mut top: Vec<&Task> = had[1]
                    .iter()
                    .map(|task| &**task)
                    .filter(|task| task.list == list && task.due >= Some(low))
                    .collect();
                top.sort_by_key(|task| (std::cmp::Reverse(task.due), task.id));
                top.truncate(4);
                if top != had[0].iter().map(|task| &**task).collect::<Vec<_>>() {
                    return Err(format!("round {round}: {top:?} and {:?} at one version", had[0]));
                }
            }
        }
    }
    Ok(())
}

/// As one with a commit that concerns nobody, one that changed nobody knows what would never be told.
#[test]
fn a_commit_that_cannot_be_followed_concerns_everybody() -> Result<()> {
    let (_directory, store) = store();
    store.insert_all(&[task(1, 1, Some(0)), task(2, 2, None)])?;
    let feed = store.feed()?;
    let first = feed.query::<Task>().filter(|task| task.list.eq(1)).watch()?;
    for round in 1..20 {
        store.put(&task(2, 2, Some(round)))?;
        store.write(|transaction| {
            let sql =
                format!("create table other{round} (number); update task set due = {round} where list = 1");
            transaction.sql(|given| given.execute_batch(&sql))
        })?;
        assert_eq!(next(&feed, &first), [Some(round)]);
    }
    Ok(())
}

/// The thread is not woken for a commit that concerns nobody, and takes several of them in as one. What anybody else has
/// committed between them is found all the same, and so is what comes to matter later.
#[test]
fn of_commits_that_concern_nobody_nothing_is_told_and_nothing_lost_between_them() -> Result<()> {
    let (directory, store) = store();
    let other = Store::open(directory.path().join("tasks.db"))?;
    store.insert_all(&[task(1, 1, Some(1)), task(2, 2, Some(1))])?;
    let feed = store.feed()?;
    let first = feed.query::<Task>().filter(|task| task.list.eq(1)).watch()?;
    let of_list_2 = |due| store.put(&task(2, 2, Some(due)));
    for round in 2..50 {
        of_list_2(round)?;
        of_list_2(-round)?;
        if round % 2 == 0 {
            other.put(&task(1, 1, Some(round)))?;
        }
        of_list_2(round)?;
        of_list_2(-round)?;
        if round % 3 == 0 {
            store.put(&task(1, 1, Some(-round)))?;
        }
        store.wait_delivered()?;
        let told = std::iter::from_fn(|| feed.try_next().expect("the feed goes on"));
        let last = told.filter_map(|batch| batch.get(first.id()).map(dues)).last();
        let expected = if round % 3 == 0 { -round } else { round };
        assert_eq!(last, (round % 2 == 0 || round % 3 == 0).then(|| vec![Some(expected)]), "{round}");
    }
    of_list_2(99)?;
    let second = feed.query::<Task>().filter(|task| task.list.eq(2)).watch()?;
    assert_eq!(second.results().iter().map(|task| task.due).collect::<Vec<_>>(), [Some(99)]);
    of_list_2(100)?;
    assert_eq!(next(&feed, &second), [Some(100)]);
    Ok(())
}
