//! Threads of one process, with one store or two.

use super::{Account, Entry, place, total};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use touchstone_store::{Durability, ErrorKind, Options, Result, Store};

const ACCOUNTS: i64 = 16;

fn bank(options: Options, path: &std::path::Path) -> Store {
    let store = options.open(path).expect("the store opens");
    let accounts: Vec<Account> = (0..ACCOUNTS).map(|id| Account { id, balance: 100 }).collect();
    store.insert_all(&accounts).expect("they go in");
    store
}

/// Moves money, and sometimes thinks better of it.
fn transfer(store: &Store, from: i64, to: i64) -> Result<()> {
    store.write(|transaction| {
        transaction.update::<Account>(&from, |account| account.balance -= 1)?;
        transaction.update::<Account>(&to, |account| account.balance += 1)?;
        if from == to {
            return Err(touchstone_store::Error::new(ErrorKind::Invalid, "to itself"));
        }
        Ok(())
    })
}

fn transfers(writers: &[Store], readers: &[Store]) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writing: Vec<_> = writers
            .iter()
            .zip(0..)
            .map(|(store, thread)| {
                scope.spawn(move || {
                    for at in 0..150 {
                        let (from, to) = ((thread * 5 + at) % ACCOUNTS, (thread + at * 3) % ACCOUNTS);
                        match transfer(store, from, to) {
                            Ok(()) => assert_ne!(from, to),
                            Err(error) => assert_eq!((error.kind(), from), (ErrorKind::Invalid, to)),
                        }
                    }
                })
            })
            .collect();
        for store in readers {
            let done = &done;
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let held = store.snapshot().expect("a snapshot is taken");
                    assert_eq!(total(&held).expect("it is read"), 100 * ACCOUNTS);
                    assert_eq!(store.read(total).expect("it is read"), 100 * ACCOUNTS);
                    assert_eq!(total(&held).expect("it is read again"), 100 * ACCOUNTS);
                }
            });
        }
        for writer in writing {
            let result = writer.join();
            done.store(true, Ordering::Relaxed);
            result.expect("no writer fails");
        }
    });
}

#[test]
fn snapshots_are_consistent_while_money_moves() {
    for options in [
        Options::new(),
        Options::new().checkpoint_pages(4).cache_bytes(10_000).page_size(512),
        Options::new().exclusive(true),
        Options::new().durability(Durability::Strict),
    ] {
        let place = place();
        let store = bank(options, &place.path);
        let stores: Vec<Store> = (0..3).map(|_| store.clone()).collect();
        transfers(&stores, &stores[..2]);
        assert_eq!(store.read(total).expect("it is read"), 100 * ACCOUNTS);
    }
}

#[test]
fn two_stores_on_one_file_are_as_one() {
    let place = place();
    let one = bank(Options::new().checkpoint_pages(4), &place.path);
    let two = Options::new().checkpoint_pages(4).open(&place.path).expect("a second store opens");
    transfers(&[one.clone(), two.clone(), one.clone()], &[one.clone(), two.clone()]);
    assert_eq!(one.read(total).expect("it is read"), 100 * ACCOUNTS);
    assert_eq!(two.read(total).expect("it is read"), 100 * ACCOUNTS);
}

/// A thread that reads after a write has returned, whoever wrote, sees it.
#[test]
fn what_was_written_is_read_by_everybody_from_then_on() {
    for two_stores in [false, true] {
        let place = place();
        let one = Store::open(&place.path).expect("the store opens");
        let two = if two_stores { Store::open(&place.path).expect("it opens") } else { one.clone() };
        one.insert(&Account { id: 0, balance: 0 }).expect("it goes in");
        // The greatest balance of which it is known that it was committed.
        let written = AtomicI64::new(0);
        let ended = AtomicI64::new(0);
        thread::scope(|scope| {
            for store in [&one, &two] {
                let (written, ended) = (&written, &ended);
                scope.spawn(move || {
                    for at in 0..200 {
                        let balance = if at % 2 == 0 {
                            let balance =
                                |account: Option<Account>| account.map_or(0, |account| account.balance);
                            store.write(|transaction| {
                                transaction.update::<Account>(&0, |account| account.balance += 1)?;
                                Ok(balance(transaction.get::<Account>(&0)?))
                            })
                        } else {
                            store
                                .insert(&Account { id: 1 + written.load(Ordering::SeqCst), balance: 0 })
                                .ok();
                            continue;
                        };
                        written.fetch_max(balance.expect("it is written"), Ordering::SeqCst);
                    }
                    ended.fetch_add(1, Ordering::SeqCst);
                });
            }
            for store in [&one, &two, &one] {
                let (written, ended) = (&written, &ended);
                scope.spawn(move || {
                    let mut last = 0;
                    while ended.load(Ordering::SeqCst) < 2 {
                        let least = written.load(Ordering::SeqCst);
                        let account = store.get::<Account>(&0).expect("it is read").expect("it is there");
                        assert!(
                            account.balance >= least,
                            "{} was written, {} is read",
                            least,
                            account.balance
                        );
                        assert!(account.balance >= last, "time goes on");
                        last = account.balance;
                    }
                });
            }
        });
        assert_eq!(one.get::<Account>(&0).expect("it is read").map(|account| account.balance), Some(200));
    }
}

#[test]
fn no_row_of_many_threads_is_lost() {
    const EACH: i64 = 120;
    let place = place();
    let one = Options::new().checkpoint_pages(8).open(&place.path).expect("the store opens");
    let two = Options::new().checkpoint_pages(8).open(&place.path).expect("a second store opens");
    thread::scope(|scope| {
        for id in 0..6 {
            let store = if id % 3 == 0 { &two } else { &one };
            scope.spawn(move || {
                for at in 0..EACH {
                    let entry = Entry { thread: id, at, text: "t".repeat((at * 7 % 900) as usize) };
                    match at % 4 {
                        0 => store.insert(&entry),
                        1 => store.insert_all([&entry]).map(|_| ()),
                        2 => store.write(|transaction| transaction.insert(&entry)),
                        _ => store.put(&entry),
                    }
                    .expect("it is written");
                    let got = store.get::<Entry>(&(id, at)).expect("it is read");
                    assert_eq!(got, Some(entry), "a thread reads what it wrote");
                    let mine = store.read(|snapshot| {
                        snapshot.query::<Entry>().filter(|entry| entry.thread.eq(id)).count()
                    });
                    assert_eq!(mine.expect("they are counted"), at as u64 + 1);
                }
            });
        }
    });
    for store in [&one, &two] {
        assert_eq!(store.all::<Entry>().expect("they are read").len() as i64, 6 * EACH);
    }
}

/// Each finds no store there, and makes one.
#[test]
fn many_threads_may_open_a_new_file_at_once() {
    for _ in 0..20 {
        let place = place();
        thread::scope(|scope| {
            for id in 0..4 {
                let path = &place.path;
                scope.spawn(move || {
                    let store = Store::open(path).expect("the store opens");
                    store.insert(&Account { id, balance: 1 }).expect("it goes in");
                });
            }
        });
        let store = Store::open(&place.path).expect("the store opens");
        assert_eq!(store.read(total).expect("it is read"), 4);
    }
}

#[test]
fn a_write_within_a_write_of_the_same_thread_is_refused() {
    let place = place();
    let store = bank(Options::new(), &place.path);
    let account = Account { id: 99, balance: 0 };
    store
        .write(|transaction| {
            for result in [
                store.write(|_| Ok(())),
                store.insert(&account),
                store.put_all([&account]).map(|_| ()),
                store.remove::<Account>(&1).map(|_| ()),
            ] {
                assert_eq!(result.expect_err("it would wait for itself").kind(), ErrorKind::Nested);
            }
            assert_eq!(store.read(total)?, 100 * ACCOUNTS, "reads are no writes");
            transaction.insert(&account)
        })
        .expect("the outer one is committed");
    assert_eq!(store.get::<Account>(&99).expect("it is read"), Some(account));
}
