//! The file of a round: accounts whose sum stays, a ledger that counts what was committed, and parcels that come and go.

use crate::accounts::{Account, accounts, sum};
use crate::workload::Random;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use touchstone_store::{Durability, EncryptionKey, ErrorKind, Options, Record, Result, Snapshot, Store};

/// How many transactions of a writer moved money.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct Ledger {
    #[record(key)]
    pub writer: i64,
    pub commits: i64,
}

/// What fills pages.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct Parcel {
    #[record(key)]
    pub name: String,
    #[record(index)]
    pub writer: i64,
    pub bytes: Vec<u8>,
}

pub const ACCOUNTS: i64 = 40;
pub const BALANCE: i64 = 1000;
pub const SUM: i64 = ACCOUNTS * BALANCE;
/// The writers of this process, and those of the other: a store, and plain SQLite.
pub const WRITERS: i64 = 5;
/// What each writer does in a round.
pub const TURNS: u64 = 40;
/// How many kinds of rounds there are.
pub const KINDS: u64 = 4;

/// A file with two stores on it.
pub struct Bank {
    pub directory: TempDir,
    pub path: PathBuf,
    pub seed: u64,
    pub store: Store,
    pub second: Store,
    is_over: AtomicBool,
}

/// The round goes on until this is dropped, also where a thread fails.
pub struct GoesOn<'b>(&'b AtomicBool);

impl Drop for GoesOn<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// How the stores of a round are opened.
pub fn options(seed: u64) -> Options {
    // Processes poll for the lock, and instrumented ones are many times as slow as others.
    let options = Options::new().busy_timeout(Duration::from_secs(300));
    match seed % KINDS {
        0 => options.checkpoint_pages(10).log_bytes_max(300_000),
        1 => options.checkpoint_pages(50).log_bytes_max(200_000).page_size(512).cache_bytes(20_000),
        2 => options.checkpoint_pages(4).log_bytes_max(150_000).key(EncryptionKey::raw([7; 32])),
        _ => options
            .checkpoint_pages(10)
            .log_bytes_max(400_000)
            .durability(Durability::Strict)
            .cache_bytes(50_000),
    }
}

/// Whether plain SQLite can read the file of a round.
pub fn is_plain(seed: u64) -> bool {
    seed % KINDS != 2
}

impl Bank {
    pub fn open(seed: u64) -> Bank {
        let directory = tempfile::tempdir().expect("there is room");
        let path = directory.path().join("bank.db");
        let store = options(seed).open(&path).expect("it opens");
        let filled = store.write(|transaction| {
            transaction.insert_all(&accounts(ACCOUNTS, BALANCE))?;
            transaction.of::<Parcel>().insert_all(&[])?;
            (0..WRITERS).try_for_each(|writer| transaction.insert(&Ledger { writer, commits: 0 }))
        });
        filled.expect("it is written");
        let second = options(seed).open(&path).expect("a second store opens");
        Bank { directory, path, seed, store, second, is_over: AtomicBool::new(false) }
    }

    pub fn goes_on(&self) -> GoesOn<'_> {
        GoesOn(&self.is_over)
    }

    /// Does it again and again while the round goes on, and once at least.
    pub fn while_it_goes_on(&self, mut work: impl FnMut()) {
        loop {
            work();
            if self.is_over() {
                return;
            }
            std::thread::yield_now();
        }
    }

    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// The numbers of a thread of the round.
    pub fn random(&self, thread: i64) -> Random {
        Random::new(self.seed * 100 + thread.cast_unsigned())
    }

    /// What must be true when nobody writes any more.
    pub fn end(&self, commits: &[(i64, i64)]) {
        assert_eq!(self.store.read(sum).expect("it is readable"), SUM);
        let ledger = self.second.all::<Ledger>().expect("it is readable");
        let ledger: Vec<(i64, i64)> = ledger.iter().map(|entry| (entry.writer, entry.commits)).collect();
        assert_eq!(ledger, commits, "nothing that was committed is lost, and nothing else is there");
        let check = self.store.check().records::<Account>().records::<Ledger>().records::<Parcel>();
        let report = check.run().expect("it is readable");
        assert!(report.is_whole(), "{:?}", report.problems());
    }
}

/// What is there, unless the snapshot has expired.
pub fn unless_expired<R>(result: Result<R>) -> Option<R> {
    result.map_err(|error| assert_eq!(error.kind(), ErrorKind::Expired, "{error:?}")).ok()
}

/// The sum of all balances, by SQL.
pub fn sum_by_sql(snapshot: &Snapshot) -> Result<i64> {
    snapshot.sql(|sql| sql.query_row("select sum(balance) from account", (), |row| row.get(0)))
}
