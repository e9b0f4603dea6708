//! The log while a snapshot is held: it is bounded, by ending the snapshot. The keeper's thread may come late on a machine
//! that is busy, so whoever makes the log long waits for it.

use super::{Entry, Place, place};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use touchstone_store::{ErrorKind, Options, Result, Snapshot, Store};

const ROWS: i64 = 300;
const LOG_BYTES_MAX: u64 = 400_000;
/// More than it takes where the keeper comes in time.
const LOG_BYTES_MANY: u64 = 8 * LOG_BYTES_MAX;

/// A store with a short log: a snapshot that is taken now is to blame for a long one.
fn opened() -> (Place, Store) {
    let place = place();
    let options = Options::new().checkpoint_pages(10).log_bytes_max(LOG_BYTES_MAX);
    let store = options.open(&place.path).expect("the store opens");
    let entries: Vec<Entry> = (0..ROWS).map(|at| entry(0, at)).collect();
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

/// Writes as long as `read` can be asked, which ends because the snapshot has expired. Where the log is long nothing more is
/// written, and the keeper comes all the same.
fn write_while_readable<R>(place: &Place, store: &Store, mut read: impl FnMut() -> Result<R>) {
    let mut at = 0;
    let error = loop {
        if let Err(error) = read() {
            break error;
        }
        if place.log_bytes() < LOG_BYTES_MANY {
            at += 1;
            store.put(&written(at)).expect("it is written");
        } else {
            thread::yield_now();
        }
    };
    assert_eq!(error.kind(), ErrorKind::Expired);
}

fn counts(snapshot: &Snapshot) -> Result<()> {
    snapshot.of::<Entry>().count().map(|count| assert_eq!(count.cast_signed(), ROWS))
}

#[test]
fn a_snapshot_that_is_held_expires_when_the_log_is_long() {
    let (place, store) = opened();
    let held = store.snapshot().expect("a snapshot is taken");
    write_while_readable(&place, &store, || counts(&held));
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
    for by_statement in [false, true] {
        let (place, store) = opened();
        let held = store.snapshot().expect("a snapshot is taken");
        let ask = || {
            let query = held.query::<Entry>();
            let query = if by_statement { query.order(|entry| entry.text.ascending()) } else { query };
            query.filter(|entry| entry.thread.eq(0).or(entry.text.eq(""))).rows()
        };
        let mut rows = ask().expect("it is asked");
        write_while_readable(&place, &store, || {
            match rows.next() {
                Some(row) => assert_eq!(row?.thread, 0),
                // All of it was seen before the log had grown: once more.
                None => rows = ask()?,
            }
            Ok(())
        });
        assert!(rows.next().is_none() || by_statement, "after an error there is nothing more");
    }
}

/// The keeper had the writers' turn, and waited for the reader to leave its call; the reader was in a call in which it
/// wrote, and waited for the turn, for ever.
#[test]
fn a_program_that_writes_while_it_reads_is_not_waited_for() {
    for by_statement in [false, true] {
        let (place, store) = opened();
        let result = store.read(|snapshot| {
            // Within the call this read is told, and the call itself must be, too.
            let write = || {
                write_while_readable(&place, &store, || snapshot.of::<Entry>().each_view(|_| Ok(false)));
                Ok(true)
            };
            if by_statement {
                snapshot.query::<Entry>().order(|entry| entry.text.ascending()).each(|_| write())
            } else {
                snapshot.of::<Entry>().each_view(|_| write())
            }
        });
        assert_eq!(result.expect_err("the log was at its limit").kind(), ErrorKind::Expired);
        assert!(store.read(|snapshot| snapshot.of::<Entry>().count()).expect("others read on") > 300);
        store.put(&written(1)).expect("others write on");
    }
}

/// Others read until this is dropped, also where the test fails: they would be waited for, for ever.
struct ReadOn<'d>(&'d AtomicBool);

impl Drop for ReadOn<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Readers that come and go, and one that stays: nobody's snapshot ends for another's.
#[test]
fn short_snapshots_seldom_expire_and_long_ones_do() {
    for _ in 0..3 {
        let (place, store) = opened();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let _others = ReadOn(&done);
            for _ in 0..2 {
                let (store, done) = (&store, &done);
                scope.spawn(move || read_again_and_again(store, done));
            }
            let held = store.snapshot().expect("a snapshot is taken");
            write_while_readable(&place, &store, || counts(&held));
        });
    }
}

fn read_again_and_again(store: &Store, done: &AtomicBool) {
    loop {
        match store
            .read(|snapshot| Ok((snapshot.of::<Entry>().all()?.len(), snapshot.of::<Entry>().count()?)))
        {
            Ok((all, count)) => assert_eq!(all as u64, count),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Expired),
        }
        if done.load(Ordering::Relaxed) {
            return;
        }
    }
}
