//! Accounts among which money is moved: whoever sees one moment finds the same sum.
#![allow(dead_code, reason = "each test program uses its own part of this")]

use touchstone_store::{Record, Result, Snapshot};

#[derive(Record, Clone, Debug, PartialEq)]
pub struct Account {
    #[record(key)]
    pub id: i64,
    #[record(index)]
    pub balance: i64,
    pub note: String,
}

/// So many accounts with that balance, each with a note that fills a part of a page.
pub fn accounts(count: i64, balance: i64) -> Vec<Account> {
    (0..count).map(|id| Account { id, balance, note: "n".repeat(300) }).collect()
}

/// The sum of all balances, by the pages.
pub fn sum(snapshot: &Snapshot) -> Result<i64> {
    let mut sum = 0;
    snapshot.of::<Account>().each_view(|account| {
        sum += account.balance;
        Ok(true)
    })?;
    Ok(sum)
}

/// As [`sum`], by an order that only a statement gives; `look` is called for each account.
pub fn sum_of_ordered(snapshot: &Snapshot, mut look: impl FnMut(&Account) -> Result<()>) -> Result<i64> {
    let mut sum = 0;
    snapshot.query::<Account>().order(|account| account.note.ascending()).each(|account| {
        sum += account.balance;
        look(&account)?;
        Ok(true)
    })?;
    Ok(sum)
}
