//! The other process: a store, and plain SQLite beside it, which copies the log, makes the file anew and changes the
//! schema. It is this program again, told by a variable what to do.

use crate::bank::{Bank, TURNS, is_plain, options};
use crate::process::{Other, again};
use crate::workload::Random;
use crate::writing::{any_account, write_turns};
use rusqlite::fallible_iterator::FallibleIterator as _;
use rusqlite::{Batch, Connection, ErrorCode, TransactionBehavior};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// The round's seed, a space, and the file.
const ORDER: &str = "TOUCHSTONE_STRESS_ORDER";
/// The writers of the other process.
const STORE: i64 = 3;
const PLAIN: i64 = 4;
/// What comes before the number of a writer, and that of its commits.
const TOLD: &str = "committed ";

/// Starts the other process, which writes until it ends.
pub fn start(bank: &Bank) -> Other {
    let order = format!("{} {}", bank.seed, bank.path.display());
    Other::start(again("other::the_other_process").env(ORDER, order))
}

/// Waits until it has ended; its writers, with how many of their transactions moved money.
pub fn end(mut other: Other) -> Vec<(i64, i64)> {
    let told = other.end();
    let told = told.lines().filter_map(|line| {
        let (writer, commits) = line.split_once(TOLD)?.1.split_once(' ')?;
        Some((writer.parse().expect("a number"), commits.parse().expect("a number")))
    });
    told.collect()
}

/// Does nothing in the test's own process.
#[test]
fn the_other_process() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let (seed, path) = order.split_once(' ').expect("a seed and a path");
    let (seed, path) = (seed.parse().expect("a number"), Path::new(path));
    let random = |writer: i64| Random::new(seed * 100 + writer.cast_unsigned());
    let (by_store, by_plain) = thread::scope(|scope| {
        let plain = is_plain(seed).then(|| scope.spawn(|| write_plainly(path, &mut random(PLAIN))));
        let store = options(seed).create(false).open(path).expect("it opens");
        let by_store = write_turns(&store, STORE, &mut random(STORE));
        (by_store, plain.map_or(0, |plain| plain.join().expect("it does not fail")))
    });
    println!("\n{TOLD}{STORE} {by_store}\n{TOLD}{PLAIN} {by_plain}");
}

/// Writes as a program that is no store; how many transactions moved money.
fn write_plainly(path: &Path, random: &mut Random) -> i64 {
    let mut commits = 0;
    let mut sql = opened(path);
    for _ in 0..TURNS {
        match transfer(&mut sql, random) {
            Ok(is_committed) => commits += i64::from(is_committed),
            Err(error) => assert!(is_busy(&error), "{error:?}"),
        }
        let kind = random.below(16);
        if kind == 0 {
            sql = opened(path);
        }
        match beside(&sql, kind) {
            Ok(()) => {}
            Err(error) => assert!(is_busy(&error), "{error:?}"),
        }
    }
    commits
}

fn opened(path: &Path) -> Connection {
    let sql = Connection::open(path).expect("it opens");
    sql.busy_timeout(Duration::from_secs(10)).expect("it is set");
    sql
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Moves money, or thinks better of it; whether it is moved.
fn transfer(sql: &mut Connection, random: &mut Random) -> rusqlite::Result<bool> {
    let (from, to, amount) = (any_account(random), any_account(random), random.below(50).cast_signed());
    let transaction = sql.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute("update account set balance = balance - ?1 where id = ?2", (amount, from))?;
    transaction.execute("update account set balance = balance + ?1 where id = ?2", (amount, to))?;
    transaction.execute("update ledger set commits = commits + 1 where writer = ?1", [PLAIN])?;
    if random.below(8) == 0 {
        return transaction.rollback().map(|()| false);
    }
    transaction.commit().map(|()| true)
}

/// What a program does with its own file. What waits for readers waits for a moment only.
fn beside(sql: &Connection, kind: u64) -> rusqlite::Result<()> {
    let orders = match kind {
        1 => "pragma wal_checkpoint(passive)",
        2 => "pragma wal_checkpoint(full)",
        3 => "pragma wal_checkpoint(restart)",
        4 => "pragma wal_checkpoint(truncate)",
        5 => "vacuum",
        6 => "create index if not exists extra on account(note); drop index extra",
        7 => "begin; select count(*) from account; select sum(balance) from account; commit",
        8 => "pragma integrity_check",
        _ => return Ok(()),
    };
    sql.busy_timeout(Duration::from_millis(100))?;
    let done = run(sql, orders);
    if !sql.is_autocommit() {
        sql.execute_batch("rollback")?;
    }
    sql.busy_timeout(Duration::from_secs(10))?;
    done
}

/// Runs each statement to its end, whether it gives rows or not.
fn run(sql: &Connection, orders: &str) -> rusqlite::Result<()> {
    let mut batch = Batch::new(sql, orders);
    while let Some(mut statement) = batch.next()? {
        let mut rows = statement.raw_query();
        while rows.next()?.is_some() {}
    }
    Ok(())
}
