//! The log while a snapshot is held: it is bounded, by ending the snapshot.

use super::{Entry, Place, place};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use touchstone_store::{ErrorKind, Options, Result, Store};

/// Many times more than it takes; the test fails when the log is not looked after.
const WRITES_MAX: i64 = 20_000;
const LOG_BYTES_MAX: u64 = 400_000;

fn opened() -> (Place, Store) {
    let place = place();
    let options = Options::new().checkpoint_pages(10).log_bytes_max(LOG_BYTES_MAX);
    let store = options.open(&place.path).expect("the store opens");
    let entries: Vec<Entry> = (0..300).map(|at| entry(0, at)).collect();
    store.insert_all(&entries).expect("they go in");
    (place, store)
}

fn entry(thread: i64, at: i64) -> Entry {
    Entry { thread, at, text: "t".repeat(300) }
}

/// One of a thousand rows, never as it was before: what does not change a page does not grow the log.
fn written(at: i64) -> Entry {
    Entry { thread: 1, at: at % 1000, text: format!("{at:0300}") }
}

/// Writes until `read` fails, which must be because the snapshot has expired.
fn write_until(place: &Place, store: &Store, mut read: impl FnMut() -> Result<u64>) {
    for at in 0..WRITES_MAX {
        match read() {
            Ok(count) => assert_eq!(count, 300),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Expired);
                return;
            }
        }
        store.put(&written(at)).expect("it is written");
        let bytes = place.log_bytes();
        assert!(bytes < 64 * LOG_BYTES_MAX, "the log has {bytes} bytes");
    }
    panic!("the snapshot never expired");
}

#[test]
fn a_snapshot_that_is_held_expires_and_the_log_stays_bounded() {
    let (place, store) = opened();
    let held = store.snapshot().expect("a snapshot is taken");
    write_until(&place, &store, || held.of::<Entry>().count());
    assert_eq!(held.of::<Entry>().all().map(|_| ()).expect_err("it stays so").kind(), ErrorKind::Expired);
    assert_eq!(held.get::<Entry>(&(0, 1)).map(|_| ()).expect_err("it stays so").kind(), ErrorKind::Expired);
    assert_eq!(held.sql(|_| Ok(())).expect_err("it stays so").kind(), ErrorKind::Expired);
    assert!(store.get::<Entry>(&(0, 1)).expect("others read on").is_some());
    drop(held);
    for _ in 0..30 {
        assert!(store.read(|snapshot| snapshot.of::<Entry>().count()).expect("others read on") > 300);
    }
    let (again, written) = (store.snapshot().expect("a snapshot is taken"), store.put(&entry(2, 1)));
    written.expect("others write on");
    assert!(again.of::<Entry>().count().expect("it is read") > 300);
}

#[test]
fn rows_that_are_walked_over_expire_too() {
    let (place, store) = opened();
    for by_statement in [false, true] {
        let held = store.snapshot().expect("a snapshot is taken");
        let query = held.query::<Entry>();
        let query = if by_statement { query.order(|entry| entry.text.ascending()) } else { query };
        let mut rows =
            query.filter(|entry| entry.thread.eq(0).or(entry.text.eq(""))).rows().expect("it is asked");
        let mut expired = None;
        for at in 0..WRITES_MAX {
            match rows.next() {
                Some(Ok(row)) => assert_eq!(row.thread, 0),
                Some(Err(error)) => {
                    expired = Some(error.kind());
                    break;
                }
                // All of it was seen before the log had grown: once more.
                None => {
                    let again = held.query::<Entry>().filter(|entry| entry.thread.eq(0)).rows();
                    match again {
                        Ok(again) => rows = again,
                        Err(error) => {
                            expired = Some(error.kind());
                            break;
                        }
                    }
                }
            }
            store.put(&written(at)).expect("it is written");
            assert!(place.log_bytes() < 64 * LOG_BYTES_MAX);
        }
        assert_eq!(expired, Some(ErrorKind::Expired));
        assert!(rows.next().is_none() || by_statement, "after an error there is nothing more");
    }
}

/// The keeper had the writers' turn, and waited for the reader to leave its call; the reader was in a call in which it
/// wrote, and waited for the turn, for ever.
#[test]
fn a_program_that_writes_while_it_reads_is_not_waited_for() {
    let (place, store) = opened();
    let mut at = 0;
    let result = store.read(|snapshot| {
        snapshot.of::<Entry>().each_view(|_| {
            for _ in 0..100 {
                at += 1;
                store.put(&written(at))?;
            }
            Ok(true)
        })
    });
    assert_eq!(result.expect_err("the log was at its limit").kind(), ErrorKind::Expired);
    assert!(at <= WRITES_MAX);
    let result = store.read(|snapshot| {
        snapshot.query::<Entry>().order(|entry| entry.text.ascending()).each(|_| {
            for _ in 0..100 {
                at += 1;
                store.put(&written(at))?;
            }
            Ok(true)
        })
    });
    assert_eq!(result.expect_err("the log was at its limit").kind(), ErrorKind::Expired);
    assert!(store.read(|snapshot| snapshot.of::<Entry>().count()).expect("others read on") > 300);
    // Bounded by what was written while the reader was in its call, and emptied after it.
    store.put(&written(1)).expect("others write on");
    drop(place);
}

/// Readers that come and go, and one that stays: the log is bounded, and nobody's snapshot ends for another's.
#[test]
fn short_snapshots_seldom_expire_and_long_ones_do() {
    let (place, store) = opened();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            let (store, done) = (&store, &done);
            scope.spawn(move || {
                let mut reads = 0u64;
                while !done.load(Ordering::Relaxed) {
                    match store.read(|snapshot| {
                        Ok((snapshot.of::<Entry>().all()?.len(), snapshot.of::<Entry>().count()?))
                    }) {
                        Ok((all, count)) => assert_eq!(all as u64, count),
                        Err(error) => assert_eq!(error.kind(), ErrorKind::Expired),
                    }
                    reads += 1;
                }
                assert!(reads > 0);
            });
        }
        for _ in 0..3 {
            let held = store.snapshot().expect("a snapshot is taken");
            let before = held.of::<Entry>().count().expect("it is read");
            write_until(&place, &store, || held.of::<Entry>().count().map(|count| count - before + 300));
        }
        done.store(true, Ordering::Relaxed);
    });
}
