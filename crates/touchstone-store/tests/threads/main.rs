//! Many threads, two stores, two processes on one file: nothing is lost, nobody is told "busy" who need not be, and
//! what is seen is one order of transactions that agrees with the clock.

mod expiry;
mod one_process;
#[path = "../place/mod.rs"]
mod place;
#[path = "../process/mod.rs"]
mod process;
mod processes;
mod reading;

use place::{Place, place};
use touchstone_store::{Record, Result, Snapshot};

#[derive(Record, Clone, Debug, PartialEq)]
struct Account {
    #[record(key)]
    id: i64,
    balance: i64,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Entry {
    #[record(key)]
    thread: i64,
    #[record(key)]
    at: i64,
    text: String,
}

impl Place {
    fn log_bytes(&self) -> u64 {
        let mut name = self.path.clone().into_os_string();
        name.push("-wal");
        // Metadata opens no file: closing one would give up SQLite's locks on it.
        std::fs::metadata(name).map_or(0, |metadata| metadata.len())
    }
}

/// The sum of all balances, by every way to read.
fn total(snapshot: &Snapshot) -> Result<i64> {
    let by_pages: i64 = snapshot.of::<Account>().all()?.iter().map(|account| account.balance).sum();
    let mut by_statement = 0;
    snapshot.query::<Account>().order(|account| account.balance.descending()).each(|account| {
        by_statement += account.balance;
        Ok(true)
    })?;
    assert_eq!(by_pages, by_statement, "a snapshot is one moment");
    Ok(by_pages)
}
