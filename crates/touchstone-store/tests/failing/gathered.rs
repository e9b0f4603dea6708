//! Failures while a transaction larger than the cache is gathered for the log: a statement that fails, and that the
//! program goes on after, takes nothing of the statements before it along.

use super::{FILE, LOG, memory};
use crate::shim::{Call, Fault, Shim};
use touchstone_store::{ErrorKind, Options, Record, Result, Transaction};

#[derive(Record, Clone, Debug, PartialEq)]
struct Note {
    #[record(key)]
    id: i64,
    text: String,
}

fn notes(ids: std::ops::Range<i64>) -> Vec<Note> {
    ids.map(|id| Note { id, text: format!("{id}{}", "x".repeat(100)) }).collect()
}

/// Makes transactions fail while `refused` is done in them, and go on. How many did.
fn go_on(full: bool, refused: impl Fn(&mut Transaction<'_>) -> Result<()>) -> usize {
    let shim = Shim::register(false, false);
    let mut went_on = 0;
    for first in (40..400).step_by(12) {
        let directory = memory();
        let path = directory.path().join(FILE);
        let options = Options::new().page_size(512).cache_bytes(8192).checkpoint_pages(u32::MAX);
        let store = options.clone().vfs(shim.name()).open(&path).expect("the store opens");
        store.insert(&notes(-1..0)[0]).expect("it is written");
        let mut failed = false;
        let written = store.write(|transaction| {
            transaction.insert_all(&notes(0..first))?;
            shim.fail(Fault { calls: &[Call::Write], file: LOG, after: 0, lasting: true, full });
            let result = refused(transaction);
            shim.heal();
            if let Err(error) = result {
                let expected = if full { ErrorKind::Full } else { ErrorKind::Io };
                assert_eq!(error.kind(), expected, "{error:?}");
                failed = true;
            }
            transaction.insert(&notes(first..first + 1)[0])
        });
        went_on += usize::from(failed && written.is_ok());
        let kept = if written.is_ok() { notes(-1..first + 1) } else { notes(-1..0) };
        drop(store);
        let store = options.open(&path).expect("the store opens");
        let report = store.check().run().expect("the file is readable");
        assert!(report.is_whole(), "{first}: {:?}", report.problems());
        assert!(store.all::<Note>().expect("the file is readable") == kept, "{first}, went on: {failed}");
    }
    went_on
}

/// A page was to be read, so what was gathered was to be written first, and the disk was full. SQLite undoes a statement
/// for that, and not the transaction; but what was gathered was forgotten with all statements before.
#[test]
fn a_transaction_that_goes_on_after_a_full_disk_loses_nothing() {
    // The first rows' pages have left the cache.
    let went_on = go_on(true, |transaction| transaction.put_all(&notes(0..2)).map(drop));
    assert!(went_on > 0, "this is about those that do");
    go_on(false, |transaction| transaction.put_all(&notes(0..2)).map(drop));
}

/// As above, where a table is read by its pages: there is not even a statement to be undone.
#[test]
fn a_transaction_that_goes_on_after_a_failed_reading_loses_nothing() {
    for full in [true, false] {
        let went_on = go_on(full, |transaction| transaction.of::<Note>().all().map(drop));
        assert!(went_on > 0, "full: {full}");
    }
}
