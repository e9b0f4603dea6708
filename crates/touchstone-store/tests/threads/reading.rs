//! A process that only reads: what others commit lets its snapshots expire, so that the log does not grow for them. It has
//! no commit of its own at which it would look, and the log grew for as long as it lived.

use super::processes;
use super::{Entry, Place, place};
use std::path::Path;
use touchstone_store::{ErrorKind, Options, Store};

/// Many times more than it takes; the test fails when the log is not looked after.
const WRITES_MAX: i64 = 50_000;
const LOG_BYTES_MAX: u64 = 400_000;

fn open(path: &Path) -> Store {
    let options = Options::new().checkpoint_pages(10).log_bytes_max(LOG_BYTES_MAX);
    options.open(path).expect("the store opens")
}

/// The other process: has a snapshot, and does nothing with it while others write.
pub(super) fn hold(path: &Path, others_write: impl FnOnce()) {
    let store = open(path);
    let held = store.snapshot().expect("a snapshot is taken");
    assert_eq!(held.of::<Entry>().count().expect("it is read"), 10);
    others_write();
    assert_eq!(held.of::<Entry>().count().expect_err("it is over").kind(), ErrorKind::Expired);
    assert!(store.read(|snapshot| snapshot.of::<Entry>().count()).expect("it is another") > 10);
}

/// The other process: runs a statement that never ends by itself.
pub(super) fn count(path: &Path, say: impl FnOnce()) {
    const ENDLESS: &str = "with recursive counted(n) as (select 1 union all select n + 1 from counted) \
        select max(n) from counted";
    let store = open(path);
    let held = store.snapshot().expect("a snapshot is taken");
    let counted = held.sql(|sql| {
        say();
        sql.query_row(ENDLESS, (), |row| row.get::<_, i64>(0))
    });
    assert_eq!(counted.expect_err("it is over").kind(), ErrorKind::Expired);
}

/// Writes until the log, which has grown beyond its limit, is emptied.
fn write_until_emptied(place: &Place, store: &Store) {
    let mut longest = 0;
    for at in 0..WRITES_MAX {
        store.put(&Entry { thread: 1, at: at % 1000, text: format!("{at:0300}") }).expect("it is written");
        let bytes = place.log_bytes();
        if longest > LOG_BYTES_MAX && bytes < longest {
            return;
        }
        longest = bytes;
    }
    panic!("the log has {longest} bytes, and the other's snapshot never expired");
}

/// Writes beside another process that reads, which says the word when it has a snapshot.
fn write_beside(role: &str, word: &str) {
    let place = place();
    let store = open(&place.path);
    let entries = (0..10).map(|at| Entry { thread: 0, at, text: "t".into() });
    store.insert_all(&entries.collect::<Vec<_>>()).expect("they go in");
    let mut other = processes::start(role, &place.path);
    other.hear(word);
    write_until_emptied(&place, &store);
    other.end();
}

#[test]
fn a_snapshot_of_a_process_that_only_reads_expires() {
    write_beside("hold a snapshot", "holding");
}

#[test]
fn a_statement_of_a_process_that_only_reads_is_interrupted() {
    write_beside("count", "counting");
}
