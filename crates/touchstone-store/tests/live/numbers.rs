//! Numbers that are watched: nothing is held of the records, and what rows were is told by who changes them.

use super::counted::{Counted, OF_NUMBERS};
use super::{Task, store, task};
use touchstone_store::{
    CountSubscription, Error, ErrorKind, Feed, Mode, Overflow, Record, Result, Store, Structure, Transaction,
    rusqlite,
};

type Price = Counted<OF_NUMBERS>;

#[derive(Record, Clone, Debug, PartialEq)]
struct Ware {
    #[record(key)]
    id: i64,
    price: Price,
}

/// A number held every record, key and place: 340 bytes a row.
#[test]
fn a_number_holds_no_records() -> Result<()> {
    const ROWS: i64 = 3_000;
    let (_directory, store) = store();
    store.insert_all(&(0..ROWS).map(|id| Ware { id, price: Price::new(id) }).collect::<Vec<_>>())?;
    let feed = store.feed_with(Mode::Every { batches: 10_000, overflow: Overflow::End })?;
    let all = feed.query::<Ware>().watch_count()?;
    let some = feed.query::<Ware>().filter(|ware| ware.id.ge(1_000)).watch_count()?;
    assert_eq!((all.count(), some.count()), (3_000, 2_000));
    assert_eq!(Price::alive(), 0);
    for id in 0..100 {
        store.put(&Ware { id: id * 40, price: Price::new(-1) })?;
        store.remove::<Ware>(&(id * 10 + 1))?;
    }
    store.write(|transaction| {
        transaction.sql(|sql| sql.execute("delete from ware where id % 100 = 50", ()))
    })?;
    store.wait_delivered()?;
    let mut had = (3_000, 2_000);
    while let Some(batch) = feed.try_next()? {
        assert!(!batch.is_resync());
        if let Some(update) = batch.get(all.id()) {
            had.0 = update.count()?;
        }
        if let Some(update) = batch.get(some.id()) {
            had.1 = update.count()?;
        }
    }
    assert_eq!(Price::alive(), 0, "nobody has a record");
    let snapshot = store.snapshot()?;
    let now =
        (snapshot.of::<Ware>().count()?, snapshot.query::<Ware>().filter(|ware| ware.id.ge(1_000)).count()?);
    assert_eq!(had, now);
    let explanation = all.explain()?;
    assert_eq!((explanation.structure, explanation.rows, explanation.sharing), (Structure::Number, 0, 1));
    Ok(())
}

type Step = fn(&mut Transaction<'_>) -> Result<()>;

/// What changes rows, in each way that there is.
fn steps() -> [Step; 16] {
    [
        |transaction| transaction.insert(&task(100, 0, None)),
        |transaction| transaction.insert_all(&[task(101, 0, None), task(102, 1, None)]).map(drop),
        |transaction| transaction.put(&task(0, 1, None)),
        |transaction| {
            transaction
                .put_all(&[task(2, 1, None), task(4, 1, None), task(103, 0, None), task(104, 0, None)])
                .map(drop)
        },
        |transaction| transaction.replace(&task(1, 0, None)).map(drop),
        |transaction| transaction.update::<Task>(&3, |task| task.list = 0).map(drop),
        |transaction| transaction.remove::<Task>(&6).map(drop),
        |transaction| transaction.of::<Task>().remove_where(|task| task.id.between(8, 12)).map(drop),
        |transaction| {
            transaction
                .sql(|sql| sql.execute("update task set list = 1 - list where id between 20 and 26", ()))
                .map(drop)
        },
        |transaction| {
            transaction
                .sql(|sql| sql.execute("insert or replace into task values (14, 'again', 1, null)", ()))
                .map(drop)
        },
        // Written twice, and put back.
        |transaction| {
            transaction.put(&task(16, 1, None))?;
            transaction.remove::<Task>(&16)?;
            transaction.insert(&task(18_000, 0, None))
        },
        // What failed, or was undone, changes nothing.
        |transaction| {
            assert!(transaction.insert(&task(18, 1, None)).is_err());
            assert!(transaction.insert_all(&[task(500, 0, None), task(18, 1, None)]).is_err());
            let part: Result<()> = transaction.savepoint(|transaction| {
                transaction.remove::<Task>(&18)?;
                Err(Error::new(ErrorKind::Invalid, "never mind"))
            });
            assert!(part.is_err());
            transaction.put(&task(18, 1, None))
        },
        |transaction| {
            transaction.of::<Task>().clear()?;
            transaction.insert_all(&[task(1, 0, None), task(2, 1, None)]).map(drop)
        },
        |transaction| {
            transaction.insert_all(&(10..40).map(|id| task(id, 0, None)).collect::<Vec<_>>()).map(drop)
        },
        |transaction| {
            clear_in_vain(transaction);
            transaction.put(&task(20, 0, Some(1)))
        },
        |transaction| {
            clear_in_vain(transaction);
            transaction.remove::<Task>(&22).map(drop)
        },
    ]
}

/// A part that removes all rows and writes some of them anew, and is undone.
fn clear_in_vain(transaction: &mut Transaction<'_>) {
    let part: Result<()> = transaction.savepoint(|transaction| {
        transaction.of::<Task>().clear()?;
        transaction.put_all(&[task(20, 0, None), task(22, 0, None)])?;
        Err(Error::new(ErrorKind::Invalid, "never mind"))
    });
    assert!(part.is_err());
}

/// Whatever changes a row says what it was: each commit has its number, and none is counted anew.
#[test]
fn every_way_to_write_tells_what_rows_were() -> Result<()> {
    let (_directory, store) = store();
    store.insert_all(&(0..50).map(|id| task(id, id % 2, Some(id))).collect::<Vec<_>>())?;
    let feed = store.feed_with(Mode::Every { batches: 1_000, overflow: Overflow::End })?;
    let even = feed.query::<Task>().filter(|task| task.list.eq(0)).watch_count()?;
    let pages = feed.query::<Task>().filter(|task| task.list.eq(0)).offset(5).limit(10).watch_count()?;
    let mut had = even.count();
    assert_eq!((had, pages.count()), (25, 10));
    for (at, step) in steps().into_iter().enumerate() {
        store.write(step)?;
        store.wait_delivered()?;
        let now = store.read(|snapshot| snapshot.query::<Task>().filter(|task| task.list.eq(0)).count())?;
        match feed.try_next()? {
            Some(batch) => {
                assert!(!batch.is_resync(), "step {at}");
                had = batch.get(even.id()).map_or(Ok(had), |update| update.count())?;
            }
            None => assert_eq!(now, had, "step {at}"),
        }
        assert_eq!(had, now, "step {at}");
        assert!(feed.try_next()?.is_none(), "step {at}");
    }
    Ok(())
}

/// The number that was told last, or was there before.
fn last_told(feed: &Feed, number: &CountSubscription) -> Result<u64> {
    let mut last = number.count();
    while let Some(batch) = feed.try_next()? {
        last = batch.get(number.id()).map_or(Ok(last), |update| update.count())?;
    }
    Ok(last)
}

/// That a row was not there was still said of one that was written after all had been removed, when that was undone.
#[test]
fn rows_that_a_part_removed_in_vain_are_counted() -> Result<()> {
    let (_directory, store) = store();
    store.insert(&task(1, 0, None))?;
    let feed = store.feed()?;
    let all = feed.query::<Task>().watch_count()?;
    let mut begun = store.begin()?;
    let part = begun.savepoint()?;
    begun.with(|transaction| {
        transaction.of::<Task>().clear()?;
        transaction.put(&task(1, 0, None))
    })?;
    begun.undo(part)?;
    begun.with(|transaction| transaction.put(&task(1, 0, Some(1))))?;
    begun.commit()?;
    store.wait_delivered()?;
    assert_eq!(last_told(&feed, &all)?, 1);
    Ok(())
}

/// A store whose table of tasks another program has made, which takes what no task can be: such rows, as SQL has them.
pub fn store_of_others(rows: &str) -> Result<(tempfile::TempDir, Store)> {
    let (directory, store) = store();
    let made = "create table task (id integer primary key, title text, list integer, due integer); \
        insert into task values ";
    store.write(|transaction| transaction.sql(|sql| sql.execute_batch(&format!("{made}{rows}"))))?;
    Ok((directory, store))
}

/// What a row was is not known where it cannot be read; what it was in between was then taken for it.
#[test]
fn a_row_that_cannot_be_read_is_counted_anew_when_it_is_written_twice() -> Result<()> {
    let steps: [(u64, Step); 5] = [
        (1, |transaction| {
            transaction.remove::<Task>(&1)?;
            transaction.insert(&task(1, 0, None))
        }),
        (0, |transaction| {
            transaction.put(&task(1, 1, None))?;
            transaction.put(&task(1, 1, None))
        }),
        (1, |transaction| {
            transaction.sql(|sql| sql.execute_batch("insert or replace into task values (1, 'one', 0, null)"))
        }),
        (1, |transaction| {
            transaction
                .sql(|sql| sql.execute_batch("delete from task; insert into task values (1, 'one', 0, null)"))
        }),
        (0, |transaction| {
            transaction.sql(|sql| {
                sql.execute_batch("update task set title = 'one', list = 1; update task set due = 1")
            })
        }),
    ];
    // Text that is no UTF-8, and none at all.
    for title in ["cast(x'ff' as text)", "null"] {
        let mut told = Vec::new();
        for (_, step) in steps {
            let (_directory, store) = store_of_others(&format!("(1, {title}, 0, null)"))?;
            let feed = store.feed()?;
            let first = feed.query::<Task>().filter(|task| task.list.eq(0)).watch_count()?;
            assert_eq!(first.count(), 1);
            store.write(step)?;
            store.wait_delivered()?;
            told.push(last_told(&feed, &first)?);
        }
        assert_eq!(told, steps.map(|(number, _)| number), "{title}");
    }
    Ok(())
}

/// Of a batch each record was said not to have been there, also of those that a trigger had left out.
#[test]
fn what_a_trigger_leaves_out_of_a_batch_is_counted_once() -> Result<()> {
    let (_directory, store) = store();
    store.insert(&task(1, 0, None))?;
    let keeps = "create trigger keeps before insert on task when new.id = 1 begin select raise(ignore); end";
    store.write(|transaction| transaction.sql(|sql| sql.execute_batch(keeps)))?;
    let feed = store.feed()?;
    let all = feed.query::<Task>().watch_count()?;
    store.insert_all(&[task(1, 0, Some(1)), task(2, 0, None)])?;
    store.wait_delivered()?;
    assert_eq!(last_told(&feed, &all)?, 2);
    Ok(())
}

/// One row between them, which none of them has, kept numbers from being told when there were more than eight.
#[test]
fn a_row_that_no_number_counts_need_not_be_readable() -> Result<()> {
    let (directory, store) =
        store_of_others("(1, 'one', 1, null), (5, null, 5, null), (9, 'nine', 9, null)")?;
    let feed = store.feed()?;
    let of_list = |list| feed.query::<Task>().filter(move |task| task.list.eq(list)).watch_count();
    let _numbers = (1..=10).filter(|list| *list != 5).map(of_list).collect::<Result<Vec<_>>>()?;
    let plain = rusqlite::Connection::open(directory.path().join("tasks.db")).expect("it opens");
    plain.execute("insert into task values (11, 'more', 9, null)", ()).expect("it is written");
    store.wait_delivered()?;
    let batch = feed.try_next()?.expect("it is told");
    let told: Vec<_> = batch.iter().map(|update| update.count()).collect::<Result<_>>()?;
    assert_eq!(told, [2]);
    Ok(())
}

/// Another program says nothing of what rows were: then they are counted anew.
#[test]
fn numbers_follow_what_others_commit() -> Result<()> {
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("tasks.db");
    let store = Store::open(&path)?;
    store.insert_all(&(0..50).map(|id| task(id, id % 2, Some(id))).collect::<Vec<_>>())?;
    let feed = store.feed()?;
    let even = feed.query::<Task>().filter(|task| task.list.eq(0)).watch_count()?;
    let lists: Vec<_> = (0..12)
        .map(|list| {
            feed.query::<Task>().filter(move |task| task.list.eq(list).and(task.due.ge(list))).watch_count()
        })
        .collect::<Result<_>>()?;
    let other = Store::open(&path)?;
    let plain = rusqlite::Connection::open(&path).expect("it opens");
    for id in 0..20 {
        match id % 3 {
            0 => drop(other.remove::<Task>(&id)?),
            1 => drop(plain.execute("update task set list = ?1 where id = ?1", [id]).expect("it is written")),
            _ => store.put(&task(id, id % 12, None))?,
        }
    }
    store.wait_delivered()?;
    let mut had: Vec<u64> =
        std::iter::once(even.count()).chain(lists.iter().map(|list| list.count())).collect();
    while let Some(batch) = feed.try_next()? {
        for (had, id) in
            had.iter_mut().zip(std::iter::once(even.id()).chain(lists.iter().map(|list| list.id())))
        {
            *had = batch.get(id).map_or(Ok(*had), |update| update.count())?;
        }
    }
    let snapshot = store.snapshot()?;
    assert_eq!(had[0], snapshot.query::<Task>().filter(|task| task.list.eq(0)).count()?);
    for (list, had) in (0..12).zip(&had[1..]) {
        let now =
            snapshot.query::<Task>().filter(|task| task.list.eq(list).and(task.due.ge(list))).count()?;
        assert_eq!(*had, now, "list {list}");
    }
    Ok(())
}
