//! Readers: each snapshot is one moment, whichever way it is read, until it expires.

use crate::accounts::{Account, sum, sum_of_ordered};
use crate::bank::{ACCOUNTS, BALANCE, Bank, SUM, sum_by_sql, unless_expired};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use touchstone_store::{ErrorKind, Snapshot};

/// How often a snapshot is read that does not expire.
const READS_OF_ONE: u32 = 30;

/// Counts for as long as the process runs.
const ENDLESS: &str =
    "with recursive counted(n) as (select 1 union all select n + 1 from counted) select max(n) from counted";

fn is_one_moment(snapshot: &Snapshot) -> Option<()> {
    assert_eq!(unless_expired(sum(snapshot))?, SUM);
    assert_eq!(unless_expired(sum_of_ordered(snapshot, |_| Ok(())))?, SUM);
    assert_eq!(unless_expired(sum_by_sql(snapshot))?, SUM);
    assert_eq!(unless_expired(snapshot.of::<Account>().count())?, ACCOUNTS.cast_unsigned());
    Some(())
}

/// In a call for each snapshot.
pub fn at_once(bank: &Bank) {
    bank.while_it_goes_on(|| {
        for store in [&bank.store, &bank.second] {
            unless_expired(store.read(|snapshot| Ok(is_one_moment(snapshot))));
            let all = unless_expired(store.all::<Account>());
            assert_eq!(all.map_or(SUM, |all| all.iter().map(|account| account.balance).sum::<i64>()), SUM);
        }
    });
}

/// With another snapshot for each row, and rows that are left before the last.
pub fn row_by_row(bank: &Bank) {
    bank.while_it_goes_on(|| {
        let snapshot = bank.store.snapshot().expect("it is readable");
        let seen = snapshot.query::<Account>().rows().and_then(|rows| {
            let mut seen: i64 = 0;
            for account in rows {
                let account = account?;
                seen += account.balance;
                assert!(bank.second.get::<Account>(&account.id)?.is_some());
            }
            Ok(seen)
        });
        assert_eq!(unless_expired(seen).unwrap_or(SUM), SUM);
        let first = snapshot.query::<Account>().order(|account| account.balance.descending()).rows();
        let first = first.map(|mut rows| rows.next().transpose());
        if let Some(first) = unless_expired(first.and_then(|first| first)) {
            assert!(first.is_some_and(|account| account.balance >= BALANCE));
        }
    });
}

/// Held until it expires.
pub fn hold(bank: &Bank) {
    bank.while_it_goes_on(|| {
        let snapshot = bank.second.snapshot().expect("it is readable");
        let Some(first) = unless_expired(snapshot.of::<Account>().all()) else { return };
        for _ in 0..READS_OF_ONE {
            if is_one_moment(&snapshot).is_none() || bank.is_over() {
                return;
            }
            let again = unless_expired(snapshot.of::<Account>().all());
            assert!(again.is_none_or(|again| again == first), "a snapshot that is held has changed");
        }
    });
}

/// A statement that does not end by itself.
pub fn interrupt(bank: &Bank) {
    bank.while_it_goes_on(|| {
        let snapshot = bank.store.snapshot().expect("it is readable");
        let interrupted = snapshot.sql(|sql| {
            let (handle, has_ended) = (sql.get_interrupt_handle(), AtomicBool::new(false));
            thread::scope(|scope| {
                scope.spawn(|| {
                    while !has_ended.load(Ordering::Relaxed) {
                        handle.interrupt();
                        thread::yield_now();
                    }
                });
                let counted = sql.query_row(ENDLESS, (), |row| row.get::<_, i64>(0));
                has_ended.store(true, Ordering::Relaxed);
                counted
            })
        });
        let kind = interrupted.expect_err("it never ends by itself").kind();
        assert!([ErrorKind::Refused, ErrorKind::Expired].contains(&kind), "{kind:?}");
        let after = unless_expired(sum(&snapshot));
        assert_eq!(after.unwrap_or(SUM), SUM);
    });
}
