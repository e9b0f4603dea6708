//! Watchers: what they are told is one moment after the other, and in the end what is there.

use crate::accounts::Account;
use crate::bank::{ACCOUNTS, BALANCE, Bank, SUM, unless_expired};
use std::time::Duration;
use touchstone_store::dynamic::Value;
use touchstone_store::{
    Batch, CountSubscription, ErrorKind, Feed, Mode, Result, Snapshot, SqlSubscription, Store, Subscription,
    Update,
};

const SUMS: &str = "select sum(balance), count(*) from account";
/// Many times more than it takes; the test fails when nothing comes.
const LONG: Duration = Duration::from_secs(300);
const SHORT: Duration = Duration::from_millis(10);
const RICHEST: u64 = 10;

/// What is watched, as it is.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    all: Vec<Account>,
    richest: Vec<Account>,
    poor: u64,
}

struct Watched {
    all: Subscription<Account>,
    richest: Subscription<Account>,
    poor: CountSubscription,
    sums: SqlSubscription,
}

impl Watched {
    fn begin(feed: &Feed) -> Result<Watched> {
        let accounts = || feed.query::<Account>();
        let richest =
            accounts().order(|account| account.balance.descending()).order(|account| account.id.ascending());
        Ok(Watched {
            all: accounts().order(|account| account.id.ascending()).watch()?,
            richest: richest.limit(RICHEST).watch()?,
            poor: accounts().filter(|account| account.balance.lt(BALANCE)).watch_count()?,
            sums: feed.watch_sql(SUMS, [])?,
        })
    }

    fn first(&self) -> Seen {
        is_whole(self.sums.rows().get(0));
        Seen {
            all: self.all.results().iter().cloned().collect(),
            richest: self.richest.results().iter().cloned().collect(),
            poor: self.poor.count(),
        }
    }

    fn take(&self, batch: &Batch, seen: &mut Seen) {
        for update in batch.iter() {
            if let Some(error) = update.error() {
                assert_eq!(error.kind(), ErrorKind::Expired, "{error:?}");
            } else if update.id() == self.all.id() {
                seen.all = accounts(update);
                let sum: i64 = seen.all.iter().map(|account| account.balance).sum();
                assert_eq!(sum, SUM, "a batch is one moment");
            } else if update.id() == self.richest.id() {
                seen.richest = accounts(update);
            } else if update.id() == self.poor.id() {
                seen.poor = update.count().expect("it is a count");
            } else {
                is_whole(update.sql_rows().expect("it is a statement").get(0));
            }
        }
    }
}

fn accounts(update: &Update) -> Vec<Account> {
    update.results::<Account>().expect("they are accounts").iter().cloned().collect()
}

fn is_whole(row: Option<&[Value]>) {
    assert_eq!(row, Some(&[SUM.into(), ACCOUNTS.into()][..]));
}

fn fresh(snapshot: &Snapshot) -> Result<Seen> {
    let accounts = || snapshot.query::<Account>();
    let richest =
        accounts().order(|account| account.balance.descending()).order(|account| account.id.ascending());
    Ok(Seen {
        all: snapshot.of::<Account>().all()?,
        richest: richest.limit(RICHEST).all()?,
        poor: accounts().filter(|account| account.balance.lt(BALANCE)).count()?,
    })
}

/// What begins unless its snapshot expires, and then begins again.
fn begun(feed: &Feed) -> Watched {
    loop {
        if let Some(watched) = unless_expired(Watched::begin(feed)) {
            return watched;
        }
    }
}

/// Watches for a round, and compares when nobody writes any more.
pub fn watch(bank: &Bank, store: &Store, mode: Mode) {
    let feed = store.feed_with(mode).expect("there are threads");
    let watched = begun(&feed);
    let mut seen = watched.first();
    bank.while_it_goes_on(|| {
        if let Some(batch) = feed.next_within(SHORT).expect("the feed goes on") {
            watched.take(&batch, &mut seen);
        }
    });
    let fresh = store.read(fresh).expect("it is readable, and nobody writes");
    while seen != fresh {
        let batch = feed.next_within(LONG).expect("the feed goes on");
        let batch = batch.unwrap_or_else(|| panic!("missed: {seen:?} is seen, and {fresh:?} is there"));
        watched.take(&batch, &mut seen);
    }
}

/// Subscriptions that begin and end while others write, and a listener's thread.
pub fn come_and_go(bank: &Bank) {
    bank.while_it_goes_on(|| {
        let feed = bank.store.feed().expect("there are threads");
        let watched = begun(&feed);
        let mut seen = watched.first();
        let sum: i64 = seen.all.iter().map(|account| account.balance).sum();
        assert_eq!(sum, SUM, "it begins with one moment");
        while let Some(batch) = feed.try_next().expect("the feed goes on") {
            watched.take(&batch, &mut seen);
        }
        let listener = feed.clone().listen(drop).expect("there are threads");
        drop(watched);
        listener.cancel();
        assert_eq!(listener.panicked(), None);
    });
}
