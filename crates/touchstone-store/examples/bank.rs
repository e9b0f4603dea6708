//! A bank: threads that move money at once, errors of the program's own, commits that survive a loss of power, and
//! snapshots in which no money is missing.
//!
//! `cargo run -p touchstone-store --example bank`

use std::fmt;
use std::thread;
use touchstone_store::{Durability, Error, Options, Record, Snapshot, Store};

const ACCOUNTS: i64 = 8;
const OPENING_BALANCE: i64 = 100;
const THREADS: i64 = 4;
const TRANSFERS: i64 = 50;

#[derive(Record, Clone, Debug, PartialEq)]
struct Account {
    #[record(key)]
    id: i64,
    balance: i64,
}

/// What can go wrong in a bank: what the store tells, and what the bank says itself.
#[derive(Debug)]
enum Refused {
    Store(Error),
    NoAccount(i64),
    Overdrawn { id: i64, balance: i64 },
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Store(error)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Store(error) => error.fmt(formatter),
            Refused::NoAccount(id) => write!(formatter, "there is no account {id}"),
            Refused::Overdrawn { id, balance } => write!(formatter, "account {id} has {balance} only"),
        }
    }
}

impl std::error::Error for Refused {}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    // Money must not vanish with the power: each commit waits for a flush, which those that wait together share.
    let options = Options::new().durability(Durability::Strict);
    let store = options.open(directory.path().join("bank.db"))?;
    let accounts: Vec<Account> = (0..ACCOUNTS).map(|id| Account { id, balance: OPENING_BALANCE }).collect();
    store.insert_all(&accounts)?;

    refuse(&store)?;
    let moved = thread::scope(|scope| {
        let store = &store;
        let clerks: Vec<_> = (0..THREADS).map(|clerk| scope.spawn(move || work(store, clerk))).collect();
        clerks.into_iter().map(|clerk| clerk.join().expect("a clerk does not panic")).sum::<Result<i64, _>>()
    })?;
    println!("{THREADS} threads made {moved} transfers.");
    println!("In the end there are {}.", store.read(total)?);
    assert_eq!(store.read(total)?, ACCOUNTS * OPENING_BALANCE);
    assert!(store.flushes() > 0);
    Ok(())
}

/// Moves money, or nothing at all.
fn transfer(store: &Store, from: i64, to: i64, amount: i64) -> Result<(), Refused> {
    store.try_write(|transaction| {
        if !transaction.update::<Account>(&to, |account| account.balance += amount)? {
            return Err(Refused::NoAccount(to));
        }
        let Account { id, balance } = transaction.get(&from)?.ok_or(Refused::NoAccount(from))?;
        if balance < amount {
            // The other account has its money already. It is taken back with the transaction.
            return Err(Refused::Overdrawn { id, balance });
        }
        transaction.put(&Account { id, balance: balance - amount })?;
        Ok(())
    })
}

fn refuse(store: &Store) -> Result<(), Refused> {
    let overdrawn = transfer(store, 0, 1, 1000).expect_err("nobody has so much");
    println!("Refused: {overdrawn}.");
    assert!(matches!(overdrawn, Refused::Overdrawn { id: 0, balance: OPENING_BALANCE }));
    let nobody = transfer(store, 0, 99, 1).expect_err("there is no such account");
    println!("Refused: {nobody}.");
    assert_eq!(store.read(total)?, ACCOUNTS * OPENING_BALANCE);
    Ok(())
}

/// What one thread does: it moves money, and looks at the whole bank meanwhile.
fn work(store: &Store, clerk: i64) -> Result<i64, Refused> {
    let mut moved = 0;
    for number in 0..TRANSFERS {
        let (from, to) = ((clerk + number) % ACCOUNTS, (clerk + number * 3 + 1) % ACCOUNTS);
        match transfer(store, from, to, 7) {
            Ok(()) => moved += 1,
            Err(Refused::Overdrawn { .. }) => {}
            Err(other) => return Err(other),
        }
        // Others are in the middle of theirs, and none of it is seen.
        assert_eq!(store.read(total)?, ACCOUNTS * OPENING_BALANCE);
    }
    Ok(moved)
}

fn total(snapshot: &Snapshot) -> touchstone_store::Result<i64> {
    let mut sum = 0;
    snapshot.of::<Account>().each_view(|account| {
        sum += account.balance;
        Ok(true)
    })?;
    Ok(sum)
}
