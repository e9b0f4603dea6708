//! What programs do beside reading and writing: backups, checks, stores that are opened and closed.

use crate::accounts::{Account, sum};
use crate::bank::{Bank, Parcel, SUM, options, unless_expired};

/// A copy is one moment.
pub fn back_up(bank: &Bank) {
    let path = bank.directory.path().join("copy.db");
    bank.while_it_goes_on(|| {
        if unless_expired(bank.store.backup(&path)).is_some() {
            let copy = options(bank.seed).open(&path).expect("the copy opens");
            assert_eq!(copy.read(sum).expect("it is readable"), SUM);
            assert!(copy.check().records::<Account>().run().expect("it is readable").is_whole());
            drop(copy);
            std::fs::remove_file(&path).expect("it is there");
        }
    });
}

/// The whole file, while it is written.
pub fn check(bank: &Bank) {
    bank.while_it_goes_on(|| {
        let check = bank.second.check().records::<Account>().records::<Parcel>();
        if let Some(report) = unless_expired(check.run()) {
            assert!(report.is_whole(), "{:?}", report.problems());
        }
    });
}

/// A store that comes and goes, with what it has begun.
pub fn open_and_close(bank: &Bank) {
    bank.while_it_goes_on(|| {
        let store = options(bank.seed).create(false).open(&bank.path).expect("it opens");
        let snapshot = store.snapshot().expect("it is readable");
        let feed = store.feed().expect("there are threads");
        let watched = unless_expired(feed.query::<Account>().watch_count());
        drop(store);
        assert_eq!(unless_expired(sum(&snapshot)).unwrap_or(SUM), SUM);
        drop((feed, watched));
    });
}
