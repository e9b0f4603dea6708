//! Snapshots that are held while the log is at its limit: they expire, say so, and until then see what they saw.

#[path = "../accounts/mod.rs"]
mod accounts;
mod statements;

use accounts::{Account, accounts, sum, sum_of_ordered};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use touchstone_store::{Error, ErrorKind, Options, Record, Result, Snapshot, Store};

const ACCOUNTS: i64 = 40;
const BALANCE: i64 = 100;
/// Pages of the log before the keeper copies it, and bytes before snapshots expire.
const CHECKPOINT_PAGES: u32 = 4;
const LOG_BYTES_MAX: u64 = 100_000;

fn bank() -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().expect("there is room");
    let options = Options::new().checkpoint_pages(CHECKPOINT_PAGES).log_bytes_max(LOG_BYTES_MAX);
    let store = options.open(directory.path().join("bank.db")).expect("it opens");
    store.insert_all(&accounts(ACCOUNTS, BALANCE)).expect("it is written");
    (directory, store)
}

/// Moves money: the sum stays.
fn transfer(store: &Store, number: i64) -> Result<()> {
    store.write(|transaction| {
        transaction.update::<Account>(&(number % ACCOUNTS), |account| account.balance -= 1)?;
        transaction.update::<Account>(&((number * 7 + 3) % ACCOUNTS), |account| account.balance += 1)?;
        Ok(())
    })
}

#[test]
fn a_snapshot_that_is_held_too_long_expires_and_says_so() {
    let (_directory, store) = bank();
    let snapshot = store.snapshot().expect("it is readable");
    assert_eq!(snapshot.of::<Account>().count().expect("it has not expired"), ACCOUNTS.cast_unsigned());
    let mut number = 0;
    let error = loop {
        transfer(&store, number).expect("it is written");
        number += 1;
        match snapshot.get::<Account>(&0) {
            Ok(account) => assert_eq!(account.map(|account| account.balance), Some(BALANCE)),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Expired);
    assert_eq!(snapshot.of::<Account>().all().expect_err("it stays so").kind(), ErrorKind::Expired);
    drop(snapshot);
    assert_eq!(store.read(sum).expect("a new snapshot is another"), ACCOUNTS * BALANCE);
}

/// As [`sum`], row by row, with a call for each.
fn sum_of_rows(snapshot: &Snapshot) -> Result<i64> {
    snapshot.query::<Account>().rows()?.try_fold(0, |sum, account| Ok(sum + account?.balance))
}

/// As [`sum`], with a read of another snapshot for each row.
fn sum_within(store: &Store, snapshot: &Snapshot) -> Result<i64> {
    sum_of_ordered(snapshot, |account| {
        let other = store.get::<Account>(&account.id)?;
        other.map(drop).ok_or_else(|| Error::new(ErrorKind::Invalid, "no account is closed"))
    })
}

/// Readers that hold each snapshot until it expires, while writers fill the log again and again.
#[test]
fn whoever_reads_sees_one_moment_or_is_told_that_it_is_over() {
    /// How many snapshots expire before the writers stop.
    const EXPIRED: u64 = 12;
    let (_directory, store) = bank();
    let (over, expired, whole) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for reader in 0..3 {
            let (store, over, expired, whole) = (&store, &over, &expired, &whole);
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let snapshot = store.snapshot().expect("it is readable");
                    let error = loop {
                        let seen = match reader {
                            0 => sum(&snapshot),
                            1 => sum_of_rows(&snapshot),
                            _ => sum_within(store, &snapshot),
                        };
                        match seen {
                            Ok(seen) => assert_eq!(seen, ACCOUNTS * BALANCE),
                            Err(error) => break error,
                        }
                        whole.fetch_add(1, Ordering::Relaxed);
                        if over.load(Ordering::Relaxed) {
                            return;
                        }
                    };
                    assert_eq!(error.kind(), ErrorKind::Expired, "{error:?}");
                    expired.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for writer in 0..2 {
            let (store, over, expired) = (&store, &over, &expired);
            scope.spawn(move || {
                let is_going_on = |_: &i64| expired.load(Ordering::Relaxed) < EXPIRED;
                let numbers = (writer..).step_by(2).take_while(is_going_on);
                numbers.for_each(|number| transfer(store, number).expect("it is written"));
                over.store(true, Ordering::Relaxed);
            });
        }
    });
    println!("{} reads saw one moment, {} snapshots expired", whole.into_inner(), expired.into_inner());
    assert_eq!(store.read(sum).expect("it is readable"), ACCOUNTS * BALANCE);
}

/// Beside a writer who never paused, the last pages of the log were always new ones: it never began anew, and grew to its
/// limit of 256 MiB.
#[test]
fn the_log_begins_anew_beside_a_writer_who_never_pauses() {
    const COMMITS: i64 = 20_000;
    /// The keeper's thread may have to wait for a processor.
    const ROUNDS: i64 = 10;
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("steady.db");
    let store = Options::new().checkpoint_pages(100).open(&path).expect("it opens");
    let log_bytes = || std::fs::metadata(directory.path().join("steady.db-wal")).expect("it is there").len();
    let has_begun_anew = (1..=ROUNDS).any(|round| {
        for id in COMMITS * (round - 1)..COMMITS * round {
            store.insert(&Steady { id, text: "as long as a line".to_owned() }).expect("it is written");
        }
        // Each commit writes at least one page.
        log_bytes() < (COMMITS * round).cast_unsigned() * 4096 / 2
    });
    assert!(has_begun_anew, "the log has {} bytes", log_bytes());
}

#[derive(Record)]
struct Steady {
    #[record(key)]
    id: i64,
    text: String,
}
