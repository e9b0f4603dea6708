//! Writers: they move money in every way that there is to write, fill pages, and think better of it.

use crate::accounts::Account;
use crate::bank::{ACCOUNTS, Bank, Ledger, Parcel, TURNS};
use crate::workload::Random;
use touchstone_store::{Error, ErrorKind, Result, Store, Transaction};

/// What a transaction fails with that is to be undone.
const NEVER_MIND: &str = "never mind";

/// Writes for a round; how many transactions moved money.
pub fn write(bank: &Bank, store: &Store, writer: i64) -> i64 {
    let mut random = bank.random(writer);
    write_turns(store, writer, &mut random)
}

/// As [`write`], for the other process.
pub fn write_turns(store: &Store, writer: i64, random: &mut Random) -> i64 {
    let mut commits = 0;
    for _ in 0..TURNS {
        let (from, to, amount) = (any_account(random), any_account(random), random.below(50).cast_signed());
        let kind = random.below(12);
        let transfer = |transaction: &mut Transaction<'_>| {
            move_money(transaction, from, to, amount)?;
            transaction.update::<Ledger>(&writer, |ledger| ledger.commits += 1)?;
            beside(transaction, kind, writer)
        };
        let written = if kind == 8 { in_steps(store, transfer) } else { store.write(transfer) };
        match written {
            Ok(()) => commits += 1,
            Err(error) => assert!(kind == 7 && error.to_string() == NEVER_MIND, "{error:?}"),
        }
        alone(store, kind, writer).expect("it is written");
    }
    commits
}

pub fn any_account(random: &mut Random) -> i64 {
    random.below(ACCOUNTS.cast_unsigned()).cast_signed()
}

fn never_mind<R>() -> Result<R> {
    Err(Error::new(ErrorKind::Invalid, NEVER_MIND))
}

fn parcels(writer: i64, name: &str, bytes: usize) -> Vec<Parcel> {
    let parcel = |at| Parcel { name: format!("{writer} {name} {at}"), writer, bytes: vec![1; bytes + at] };
    (0..25).map(parcel).collect()
}

fn move_money(transaction: &mut Transaction<'_>, from: i64, to: i64, amount: i64) -> Result<()> {
    transaction.update::<Account>(&from, |account| account.balance -= amount)?;
    transaction.update::<Account>(&to, |account| account.balance += amount).map(drop)
}

/// What else the transaction does.
fn beside(transaction: &mut Transaction<'_>, kind: u64, writer: i64) -> Result<()> {
    match kind {
        0 => transaction.sql(|sql| {
            sql.execute_batch(
                "update account set balance = balance + 1; update account set balance = balance - 1",
            )
        }),
        1 => {
            // Beyond the cache, and undone.
            let undone: Result<()> = transaction.savepoint(|transaction| {
                transaction.put_all(&parcels(writer, "undone", 3000))?;
                transaction.of::<Account>().clear()?;
                never_mind()
            });
            assert_eq!(undone.map_err(|error| error.to_string()), Err(NEVER_MIND.to_owned()));
            Ok(())
        }
        2 => transaction.put_all(&parcels(writer, "kept", 700)).map(drop),
        3 => transaction.of::<Parcel>().remove_where(|parcel| parcel.writer.eq(writer)).map(drop),
        4 => {
            transaction.durable();
            transaction.put_all(&parcels(writer, "kept", 30)).map(drop)
        }
        5 => transaction.collection::<Parcel>("elsewhere")?.put_all(&parcels(writer, "apart", 9)).map(drop),
        6 => transaction.query::<Account>().filter(|account| account.balance.lt(0)).count().map(drop),
        7 => {
            transaction.put_all(&parcels(writer, "undone", 5000))?;
            never_mind()
        }
        _ => Ok(()),
    }
}

/// A transaction that is kept between its calls.
fn in_steps(store: &Store, transfer: impl FnOnce(&mut Transaction<'_>) -> Result<()>) -> Result<()> {
    let mut begun = store.begin()?;
    let savepoint = begun.savepoint()?;
    begun.with(|transaction| transaction.of::<Account>().clear())?;
    begun.undo(savepoint)?;
    begun.with(transfer)?;
    begun.commit()
}

/// Transactions of one call, which move nothing.
fn alone(store: &Store, kind: u64, writer: i64) -> Result<()> {
    let name = format!("{writer} alone");
    let parcel = Parcel { name: name.clone(), writer, bytes: vec![2; 10_000] };
    match kind {
        9 => store.put(&parcel),
        10 => store.remove::<Parcel>(name.as_str()).map(drop),
        11 => store.put_all([&parcel]).map(drop),
        _ => Ok(()),
    }
}
