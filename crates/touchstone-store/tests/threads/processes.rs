//! Two processes: the test's own program is the other one, told by a variable what to do.

use super::process::{Other, again, say};
use super::{Account, Entry, place, total};
use std::io::Read as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use touchstone_store::{ErrorKind, Options, Result, Store, Transaction};

const ROLE: &str = "TOUCHSTONE_TEST_ROLE";
const FILE: &str = "TOUCHSTONE_TEST_FILE";
const EACH: i64 = 150;

/// The other process, in a role.
pub(super) fn start(role: &str, path: &Path) -> Other {
    Other::start(again("processes::the_other_process").env(ROLE, role).env(FILE, path))
}

/// Does nothing in the test's own process.
#[test]
fn the_other_process() {
    let (Ok(role), Some(path)) = (std::env::var(ROLE), std::env::var_os(FILE)) else { return };
    let path = Path::new(&path);
    match &*role {
        "insert" => {
            let store = Store::open(path).expect("the store opens");
            insert(&store, 2);
        }
        "without threads" => read_without_threads(path),
        "hold" => {
            let store = Store::open(path).expect("the store opens");
            store
                .write(|transaction| {
                    transaction.put(&Account { id: 7, balance: 7 })?;
                    say("holding");
                    wait();
                    Ok(())
                })
                .expect("it is committed");
        }
        "steady" => {
            let store = Store::open(path).expect("the store opens");
            let many: Vec<Account> = (100..2100).map(|id| Account { id, balance: 0 }).collect();
            let is_over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        let write = |transaction: &mut Transaction<'_>| {
                            transaction.update::<Account>(&0, |account| account.balance += 1)?;
                            many.iter().try_for_each(|account| transaction.put(account))
                        };
                        store.write(write).expect("others give way too");
                    }
                });
                wait();
                is_over.store(true, Ordering::Relaxed);
            });
        }
        "exclusive" => {
            let store = Options::new().exclusive(true).open(path).expect("the store opens");
            store.put(&Account { id: 1, balance: 1 }).expect("it is written");
            say("holding");
            wait();
        }
        "killed" => {
            let store = Store::open(path).expect("the store opens");
            store.put(&Account { id: 3, balance: 3 }).expect("it is written");
            let _: Result<(), touchstone_store::Error> = store.write(|transaction| {
                transaction.put(&Account { id: 4, balance: 4 })?;
                say("holding");
                wait();
                Ok(())
            });
        }
        "hold a snapshot" => {
            super::reading::hold(path, || {
                say("holding");
                wait();
            });
        }
        "count" => super::reading::count(path, || say("counting")),
        other => panic!("there is no role `{other}`"),
    }
}

fn insert(store: &Store, id: i64) {
    for at in 0..EACH {
        let entry = Entry { thread: id, at, text: "t".repeat(200) };
        if at % 2 == 0 {
            store.insert(&entry)
        } else {
            store.write(|transaction| transaction.insert(&entry))
        }
        .expect("it is written");
        assert_eq!(store.get::<Entry>(&(id, at)).expect("it is read"), Some(entry));
        if at % 10 == 0 {
            let update =
                store.write(|transaction| transaction.update::<Account>(&0, |account| account.balance += 1));
            assert!(update.expect("it is written"));
        }
    }
}

/// Waits until this process is told to end.
fn wait() {
    std::io::stdin().read_to_end(&mut Vec::new()).expect("it is told to end");
}

fn read_without_threads(path: &Path) {
    let started = std::thread::Builder::new().spawn(|| ());
    assert!(started.is_err(), "the system has a thread for the keeper");
    let store = Store::open(path).expect("the store opens");
    for _ in 0..100 {
        assert!(store.get::<Account>(&0).expect("it is readable").is_some());
        store.read(total).expect("it is readable");
        drop(store.snapshot().expect("it is readable"));
    }
    say("read");
    wait();
}

/// It went on leaving snapshots open that nobody would ever end, and the log grew without bound in every process.
#[cfg(unix)]
#[test]
fn a_process_that_has_no_thread_for_the_keeper_leaves_no_snapshot_open() {
    /// The stack of each thread: more than there are addresses.
    const STACK: (&str, &str) = ("RUST_MIN_STACK", "1152921504606846976");
    let place = place();
    let store = Store::open(&place.path).expect("the store opens");
    store.insert(&Account { id: 0, balance: 0 }).expect("it goes in");
    let mut other = again("processes::the_other_process");
    let mut other =
        Other::start(other.env(ROLE, "without threads").env(FILE, &place.path).env(STACK.0, STACK.1));
    other.hear("read");
    store.insert(&Account { id: 1, balance: 0 }).expect("it goes in");
    let raw = rusqlite::Connection::open(&place.path).expect("it opens");
    raw.busy_timeout(Duration::ZERO).expect("it is set");
    let is_busy: i64 =
        raw.query_row("pragma wal_checkpoint(truncate)", (), |row| row.get(0)).expect("it is tried");
    assert_eq!(is_busy, 0, "another process reads an old part of the log still");
    other.end();
}

#[test]
fn two_processes_write_one_file_and_nothing_is_lost() {
    let place = place();
    let store = Options::new().checkpoint_pages(10).open(&place.path).expect("the store opens");
    store.insert(&Account { id: 0, balance: 0 }).expect("it goes in");
    let mut others = [start("insert", &place.path)];
    insert(&store, 1);
    for other in &mut others {
        other.end();
    }
    assert_eq!(store.all::<Entry>().expect("they are read").len() as i64, 2 * EACH);
    assert_eq!(store.read(total).expect("it is read"), 2 * EACH / 10);
}

#[test]
fn a_process_that_holds_the_lock_is_waited_for_so_long_and_no_longer() {
    let place = place();
    let options = Options::new().busy_timeout(Duration::from_millis(20));
    let store = options.open(&place.path).expect("the store opens");
    store.insert(&Account { id: 0, balance: 0 }).expect("it goes in");
    let mut other = start("hold", &place.path);
    other.hear("holding");
    let account = Account { id: 1, balance: 1 };
    let singly: [fn(&Store, &Account) -> Result<()>; 3] =
        [Store::insert, Store::put, |store, account| store.replace(account).map(drop)];
    for write in singly {
        let error = write(&store, &account).expect_err("it is locked");
        assert_eq!(error.kind(), ErrorKind::Busy);
        assert!(error.to_string().starts_with("account 1: "), "it names its record: {error}");
    }
    assert_eq!(store.put_all([&account]).expect_err("it is locked").kind(), ErrorKind::Busy);
    assert_eq!(store.write(|_| Ok(())).expect_err("it is locked").kind(), ErrorKind::Busy);
    assert_eq!(store.read(total).expect("reads do not wait"), 0);
    other.end();
    store.put(&account).expect("it is free");
    assert_eq!(store.read(total).expect("it is read"), 8);
}

/// A process that wrote one large transaction after the other left the lock free for microseconds, and another looked
/// ten times a second: most of its writes ended with `Busy`.
#[test]
fn a_process_that_writes_without_a_pause_gives_way_to_another() {
    let place = place();
    let store = Store::open(&place.path).expect("the store opens");
    store.insert(&Account { id: 0, balance: 0 }).expect("it goes in");
    let mut other = start("steady", &place.path);
    let mut seen = 0;
    for balance in 0..12 {
        // The other has the lock again, most of the time.
        let last = seen;
        while seen == last {
            std::thread::yield_now();
            seen = store.get::<Account>(&0).expect("it is read").expect("it is there").balance;
        }
        let account = Account { id: 1, balance };
        if balance % 2 == 0 {
            store.put(&account)
        } else {
            store.write(|transaction| transaction.put(&account))
        }
        .expect("it has its turn");
    }
    other.end();
    assert_eq!(store.get::<Account>(&1).expect("it is read").map(|account| account.balance), Some(11));
}

#[test]
fn an_exclusive_store_keeps_other_processes_out() {
    let place = place();
    let mut other = start("exclusive", &place.path);
    other.hear("holding");
    let options = Options::new().busy_timeout(Duration::from_millis(20));
    let refused = options.clone().open(&place.path).map(|_| ()).expect_err("it is locked");
    assert_eq!(refused.kind(), ErrorKind::Busy);
    other.end();
    let store = options.open(&place.path).expect("it is free");
    assert_eq!(store.read(total).expect("it is read"), 1);
}

#[test]
fn a_process_that_is_killed_loses_what_it_had_not_committed() {
    let place = place();
    let store = Store::open(&place.path).expect("the store opens");
    store.insert(&Account { id: 0, balance: 0 }).expect("it goes in");
    let mut other = start("killed", &place.path);
    other.hear("holding");
    drop(other);
    assert_eq!(store.read(total).expect("it is read"), 3);
    store.put(&Account { id: 5, balance: 5 }).expect("its lock is gone");
    assert_eq!(store.read(total).expect("it is read"), 8);
}
