//! Statements that run while the log is at its limit. They were reset by the keeper's thread, which crashed the process; and
//! one that gives no row could not be told to end.

use super::{ACCOUNTS, Account, BALANCE, bank, sum, transfer};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use touchstone_store::rusqlite::InterruptHandle;
use touchstone_store::{ErrorKind, Record, Store};

/// Counts for as long as the process runs.
const ENDLESS: &str =
    "with recursive counted(n) as (select 1 union all select n + 1 from counted) select max(n) from counted";
/// Counts as far as a record says.
const AS_FAR_AS: &str = "with recursive counted(n) as (select 1 union all select n + 1 from counted \
    where n < (select load from work where id = 1)) select max(n) from counted";
/// Many times more than it takes.
const WRITES_MAX: i64 = 100_000;

#[derive(Record, Clone, Debug, PartialEq)]
struct Work {
    #[record(key)]
    id: i64,
    load: i64,
}

/// Moves money for as long as it is asked to; whether that was not for too long.
fn write_while(store: &Store, goes_on: &AtomicBool) -> bool {
    let numbers = (0..WRITES_MAX).take_while(|_| goes_on.load(Ordering::Relaxed));
    numbers.for_each(|number| transfer(store, number).expect("it is written"));
    !goes_on.load(Ordering::Relaxed)
}

#[test]
fn a_statement_that_gives_no_row_ends_with_its_snapshot() {
    let (_directory, store) = bank();
    let goes_on = AtomicBool::new(true);
    let (sender, receiver) = mpsc::channel::<InterruptHandle>();
    std::thread::scope(|scope| {
        let (store, goes_on) = (&store, &goes_on);
        let counting = scope.spawn(move || {
            let snapshot = store.snapshot().expect("it is readable");
            let counted = snapshot.sql(|sql| {
                sender.send(sql.get_interrupt_handle()).expect("it is waited for");
                sql.query_row(ENDLESS, (), |row| row.get::<_, i64>(0))
            });
            goes_on.store(false, Ordering::Relaxed);
            assert_eq!(snapshot.get::<Account>(&0).expect_err("it stays so").kind(), ErrorKind::Expired);
            counted.expect_err("it never ends by itself").kind()
        });
        let rescue = receiver.recv().expect("the statement is about to run");
        if !write_while(store, goes_on) {
            rescue.interrupt();
        }
        assert_eq!(counting.join().expect("it does not panic"), ErrorKind::Expired);
    });
    for _ in 0..20 {
        assert_eq!(store.read(sum).expect("the connection is as it was"), ACCOUNTS * BALANCE);
    }
}

/// Who interrupts a statement by himself is not told that the snapshot has expired.
#[test]
fn a_statement_that_the_program_interrupts_says_so() {
    let (_directory, store) = bank();
    let snapshot = store.snapshot().expect("it is readable");
    let interrupted = snapshot.sql(|sql| {
        let (handle, is_over) = (sql.get_interrupt_handle(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    handle.interrupt();
                }
            });
            let counted = sql.query_row(ENDLESS, (), |row| row.get::<_, i64>(0));
            is_over.store(true, Ordering::Relaxed);
            counted
        })
    });
    let error = interrupted.expect_err("it never ends by itself");
    assert_eq!((error.kind(), error.sqlite_code()), (ErrorKind::Refused, Some(9)));
    assert_eq!(sum(&snapshot).expect("the snapshot is as it was"), ACCOUNTS * BALANCE);
}

/// The live thread ran the statement without the gate of its session's lease: SIGSEGV. What is watched is told that it
/// expired, and then, without another commit, what it has become.
#[test]
fn a_watched_statement_ends_with_its_snapshot_and_is_run_again() {
    const ROUNDS: i64 = 4;
    let (_directory, store) = bank();
    store.put(&Work { id: 1, load: 1 }).expect("it is written");
    let feed = store.feed().expect("the threads start");
    let counted = feed.watch_sql(AS_FAR_AS, []).expect("it ends");
    let accounts = feed.query::<Account>().watch_count().expect("it is readable");
    for round in 2..2 + ROUNDS {
        store.put(&Work { id: 1, load: i64::MAX }).expect("it is written");
        let goes_on = AtomicBool::new(true);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| write_while(&store, &goes_on));
            }
            let failed = loop {
                let batch = feed.next().expect("the threads run").expect("the feed goes on");
                if let Some(error) = batch.get(counted.id()).and_then(|update| update.error().cloned()) {
                    break error.kind();
                }
            };
            assert_eq!(failed, ErrorKind::Expired);
            // Seen when the statement, which runs again, has expired once more.
            store.put(&Work { id: 1, load: round }).expect("it is written");
            let rows = loop {
                let batch = feed.next().expect("the threads run").expect("the feed goes on");
                if let Some(rows) = batch.get(counted.id()).and_then(|update| update.sql_rows().ok()) {
                    break rows.iter().map(<[_]>::to_vec).collect::<Vec<_>>();
                }
            };
            goes_on.store(false, Ordering::Relaxed);
            assert_eq!(rows, [[round.into()]]);
        });
    }
    assert_eq!(accounts.count(), ACCOUNTS.cast_unsigned());
    assert_eq!(store.read(sum).expect("it is readable"), ACCOUNTS * BALANCE);
}

/// Whatever takes a connection of the store's, while writers keep the log at its limit.
#[test]
fn all_that_reads_goes_on_or_expires_beside_writers() {
    const TURNS: usize = 100;
    let (directory, store) = bank();
    let goes_on = AtomicBool::new(true);
    let read = |what: &dyn Fn(usize) -> touchstone_store::Result<()>| {
        for turn in 0..TURNS {
            if let Err(error) = what(turn) {
                assert_eq!(error.kind(), ErrorKind::Expired, "{error:?}");
            }
        }
    };
    std::thread::scope(|scope| {
        let writers = [(); 2].map(|()| scope.spawn(|| write_while(&store, &goes_on)));
        let readers = [
            scope.spawn(|| {
                read(&|turn| {
                    store.backup(directory.path().join(format!("backup {turn}")))?;
                    store.is_exclusive().map(drop)
                });
            }),
            scope.spawn(|| read(&|_| store.check().records::<Account>().run().map(drop))),
        ];
        for reader in readers {
            reader.join().expect("it fails by expiring only");
        }
        goes_on.store(false, Ordering::Relaxed);
        for writer in writers {
            writer.join().expect("it is written");
        }
    });
    assert_eq!(store.read(sum).expect("it is readable"), ACCOUNTS * BALANCE);
}
