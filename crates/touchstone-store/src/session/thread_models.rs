//! Model-checked interleavings of threads at the turn, the flush, the lease and the wake-up. Shuttle runs each test
//! thousands of times, each time in another order, and a thread that waits forever is a failure. `make hand-offs` runs
//! them, because only a separate build has shuttle's primitives instead of the standard library's.

use crate::engine::lease::Lease;
use crate::session::flush::Flushes;
use crate::session::keeper_wakeup::{KeeperWakeup, Wishes};
use crate::session::turn::{NoTurn, Turns};
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::sync::{Arc, Unranked as Mutex, lock};
use shuttle::thread::{self, spawn};
use std::time::Duration;

/// How many interleavings each strategy tries.
const ORDERS: usize = 2000;

/// Runs the test in many interleavings: at random, with few preemptions, and systematically (depth first).
pub(crate) fn explore(test: fn()) {
    explore_fairly(test);
    shuttle::check_dfs(test, Some(ORDERS));
}

/// As [`explore`], for a test in which a thread polls for the progress of others: it needs interleavings in which they
/// progress, which the systematic search does not promise.
pub(crate) fn explore_fairly(test: fn()) {
    /// Most faults need no more preemptions than this.
    const PREEMPTIONS: usize = 3;
    shuttle::check_random(test, ORDERS);
    shuttle::check_pct(test, ORDERS, PREEMPTIONS);
}

#[test]
fn one_thread_has_the_turn_at_a_time_and_every_thread_gets_it() {
    explore(|| {
        let (turns, inside) = (Arc::new(Turns::default()), Arc::new(Mutex::new(0)));
        let threads = (0..3).map(|_| {
            let (turns, inside) = (Arc::clone(&turns), Arc::clone(&inside));
            spawn(move || {
                for _ in 0..2 {
                    let turn = turns.take().expect("it is not nested");
                    *lock(&inside) += 1;
                    thread::yield_now();
                    assert_eq!(*lock(&inside), 1);
                    *lock(&inside) -= 1;
                    drop(turn);
                }
            })
        });
        for thread in threads.collect::<Vec<_>>() {
            thread.join().expect("it does not panic");
        }
    });
}

#[test]
fn turns_come_in_the_order_of_asking_and_nobody_overtakes() {
    explore_fairly(|| {
        let (turns, order) = (Arc::new(Turns::default()), Arc::new(Mutex::new(Vec::new())));
        let first = turns.take().expect("it is not nested");
        for number in 0..3 {
            let (turns_of_thread, order) = (Arc::clone(&turns), Arc::clone(&order));
            spawn(move || {
                let _turn = turns_of_thread.take().expect("it is not nested");
                lock(&order).push(number);
            });
            while turns.waiting() <= number {
                thread::yield_now();
            }
        }
        drop(first);
        let _last = turns.take().expect("it is not nested");
        assert_eq!(*lock(&order), [0, 1, 2]);
    });
}

#[test]
fn a_thread_that_would_wait_for_itself_is_told() {
    explore(|| {
        let turns = Arc::new(Turns::default());
        let of_thread = Arc::clone(&turns);
        let thread = spawn(move || {
            for _ in 0..2 {
                let turn = of_thread.take().expect("it has no turn yet");
                assert!(of_thread.take().is_err());
                drop(turn);
            }
        });
        let turn = turns.take().expect("another's turn is waited for");
        assert!(turns.take().is_err());
        drop(turn);
        thread.join().expect("it does not panic");
    });
}

/// Regression: the thread that had begun a transaction still got `AlreadyMine` after another thread went on with it,
/// and that other thread waited for itself.
#[test]
fn a_turn_is_of_the_thread_that_goes_on_with_it() {
    explore_fairly(|| {
        let turns = Arc::new(Turns::default());
        std::mem::forget(turns.take().expect("it is not nested"));
        let of_thread = Arc::clone(&turns);
        let goes_on = spawn(move || {
            let turn = of_thread.resume();
            assert!(of_thread.take().is_err());
            drop(turn);
        });
        // The thread that took the turn gets `AlreadyMine` until the other one goes on with it; then it waits.
        while turns.take().is_err() {
            thread::yield_now();
        }
        goes_on.join().expect("it does not panic");
    });
}

/// Regression: a record's own code wrote in a round of live queries, and waited for the turn, while the owner of the turn
/// waited for that round.
#[test]
fn a_round_that_the_owner_of_the_turn_waits_for_does_not_wait_for_the_turn() {
    explore(|| {
        let turns = Arc::new(Turns::default());
        let turn = turns.take().expect("it is not nested");
        let of_round = Arc::clone(&turns);
        let round = spawn(move || of_round.take_as(|| true).err());
        let of_writer = Arc::clone(&turns);
        let writer = spawn(move || of_writer.take().err());
        let awaited = turns.await_round();
        assert_eq!(round.join().expect("it does not panic"), Some(NoTurn::AwaitedByOwner));
        drop(awaited);
        drop(turn);
        assert_eq!(writer.join().expect("it does not panic"), None, "a writer keeps its place");
    });
}

/// The round is refused if the owner waits for it, and gets the turn if the owner goes on without it.
#[test]
fn a_round_waits_for_an_owner_that_does_not_wait_for_it() {
    explore(|| {
        let turns = Arc::new(Turns::default());
        let turn = turns.take().expect("it is not nested");
        let of_round = Arc::clone(&turns);
        let round = spawn(move || of_round.take_as(|| true).err());
        let of_other = Arc::clone(&turns);
        // It waits for no round while it has the turn.
        let other = spawn(move || of_other.await_round().is_none());
        drop(turn);
        assert!(turns.await_round().is_none());
        assert_eq!(round.join().expect("it does not panic"), None);
        assert!(other.join().expect("it does not panic"));
    });
}

/// A thread of the queue comes before the round, and waits for it once it has the turn.
#[test]
fn a_round_does_not_wait_for_a_later_owner_that_waits_for_it() {
    explore(|| {
        let turns = Arc::new(Turns::default());
        let turn = turns.take().expect("it is not nested");
        let of_round = Arc::clone(&turns);
        let round = spawn(move || drop(of_round.take_as(|| true)));
        let of_next = Arc::clone(&turns);
        let next = spawn(move || {
            let _turn = of_next.take().expect("it is not nested");
            let _awaited = of_next.await_round();
            round.join().expect("it does not panic");
        });
        drop(turn);
        next.join().expect("it does not panic");
    });
}

/// The owner waited for the round, and another thread went on with the turn, which does not wait for it.
#[test]
fn a_round_waits_for_the_thread_that_goes_on_with_the_turn() {
    explore(|| {
        let turns = Arc::new(Turns::default());
        std::mem::forget(turns.take().expect("it is not nested"));
        let awaited = turns.await_round();
        let of_next = Arc::clone(&turns);
        let next = spawn(move || {
            of_next.pass_to_me();
            let of_round = Arc::clone(&of_next);
            let round = spawn(move || of_round.take_as(|| true).err());
            drop(of_next.resume());
            round.join().expect("it does not panic")
        });
        assert_eq!(next.join().expect("it does not panic"), None);
        drop(awaited);
    });
}

/// A log, and how much of it the disk has.
#[derive(Default)]
struct Disk {
    written: u64,
    durable: u64,
}

/// Commits as the store does, and returns the commit's number.
fn commit(turns: &Turns, flushes: &Flushes, disk: &Mutex<Disk>) -> u64 {
    let _turn = turns.take().expect("it is not nested");
    lock(disk).written += 1;
    flushes.committed()
}

/// Flushes the writes that were made before it began.
fn flush(disk: &Mutex<Disk>) -> Result<()> {
    let written = lock(disk).written;
    thread::yield_now();
    lock(disk).durable = written;
    Ok(())
}

fn fail() -> Result<()> {
    Err(Error::new(ErrorKind::Io, "the disk is gone"))
}

#[test]
fn a_flush_reaches_everyone_who_committed_before_it_began() {
    explore(|| {
        let (turns, flushes) = (Arc::new(Turns::default()), Arc::new(Flushes::default()));
        let disk = Arc::new(Mutex::new(Disk::default()));
        let threads = (0..3).map(|_| {
            let (turns, flushes, disk) = (Arc::clone(&turns), Arc::clone(&flushes), Arc::clone(&disk));
            spawn(move || {
                for _ in 0..2 {
                    let number = commit(&turns, &flushes, &disk);
                    flushes.reach(number, || flush(&disk)).expect("no flush fails");
                    assert!(lock(&disk).durable >= number);
                }
            })
        });
        for thread in threads.collect::<Vec<_>>() {
            thread.join().expect("it does not panic");
        }
        assert!(flushes.count() <= 6);
    });
}

#[test]
fn all_who_wait_for_a_flush_share_the_next() {
    explore_fairly(|| {
        let (turns, flushes) = (Arc::new(Turns::default()), Arc::new(Flushes::default()));
        let disk = Arc::new(Mutex::new(Disk::default()));
        let number = commit(&turns, &flushes, &disk);
        let mut threads = Vec::new();
        flushes
            .reach(number, || {
                for _ in 0..3 {
                    let (turns, flushes, disk) =
                        (Arc::clone(&turns), Arc::clone(&flushes), Arc::clone(&disk));
                    threads.push(spawn(move || {
                        let number = commit(&turns, &flushes, &disk);
                        flushes.reach(number, || flush(&disk)).expect("no flush fails");
                        assert!(lock(&disk).durable >= number);
                    }));
                }
                while flushes.commits() < 4 {
                    thread::yield_now();
                }
                Ok(())
            })
            .expect("no flush fails");
        for thread in threads {
            thread.join().expect("it does not panic");
        }
        assert_eq!(flushes.count(), 2);
    });
}

#[test]
fn a_failed_flush_fails_whom_it_was_for_and_all_who_come_later() {
    explore(|| {
        let (turns, flushes) = (Arc::new(Turns::default()), Arc::new(Flushes::default()));
        let disk = Arc::new(Mutex::new(Disk::default()));
        let before = commit(&turns, &flushes, &disk);
        flushes.reach(before, || flush(&disk)).expect("this flush does not fail");
        let threads = (0..3).map(|_| {
            let (turns, flushes, disk) = (Arc::clone(&turns), Arc::clone(&flushes), Arc::clone(&disk));
            spawn(move || {
                let number = commit(&turns, &flushes, &disk);
                assert!(flushes.reach(number, fail).is_err());
            })
        });
        for thread in threads.collect::<Vec<_>>() {
            thread.join().expect("it does not panic");
        }
        assert_eq!(flushes.count(), 2, "nobody flushes after a flush has failed");
        let later = commit(&turns, &flushes, &disk);
        assert!(flushes.reach(later, || unreachable!("what the disk holds is not known")).is_err());
        flushes.reach(before, fail).expect("a flush reached this commit");
    });
}

/// The keeper's requests to the owners of a session, and the snapshots that it ended.
#[derive(Default)]
struct Done {
    is_inside: bool,
    asked: Vec<u64>,
    ended: Vec<u64>,
}

#[test]
fn a_lease_ends_for_its_own_owner_and_between_two_calls() {
    explore(|| {
        let (lease, done) = (Arc::new(Lease::default()), Arc::new(Mutex::new(Done::default())));
        let (of_keeper, of_keeper_done) = (Arc::clone(&lease), Arc::clone(&done));
        let keeper = spawn(move || {
            for _ in 0..2 {
                let Some(owner) = of_keeper.owner() else { continue };
                lock(&of_keeper_done).asked.push(owner);
                of_keeper.expire(owner, || {
                    let mut done = lock(&of_keeper_done);
                    assert!(!done.is_inside);
                    done.ended.push(owner);
                });
            }
        });
        for owner in 1..=3 {
            let gate = lease.begin();
            lock(&done).is_inside = true;
            thread::yield_now();
            lock(&done).is_inside = false;
            drop(gate);
            call(&lease, &done, owner);
            let (gate, is_whole) = lease.end();
            drop(gate);
            // An owner that was asked while it was in a call has no snapshot to park.
            assert!(!is_whole || !lock(&done).ended.contains(&owner));
            assert!(is_whole || lock(&done).asked.contains(&owner));
        }
        keeper.join().expect("it does not panic");
    });
}

fn call(lease: &Lease, done: &Mutex<Done>, owner: u64) {
    match lease.enter() {
        Ok(_gate) => {
            lock(done).is_inside = true;
            if lease.check().is_err() {
                assert!(lock(done).asked.contains(&owner));
            }
            lock(done).is_inside = false;
        }
        Err(_) => assert!(lock(done).asked.contains(&owner)),
    }
}

#[test]
fn a_wake_up_loses_no_wish() {
    explore(|| {
        let wakeup = Arc::new(KeeperWakeup::default());
        let of_keeper = Arc::clone(&wakeup);
        let keeper = spawn(move || {
            let mut seen = Wishes::default();
            while !seen.stop {
                let wishes = of_keeper.wait(seen.watch.then_some(Duration::MAX));
                seen.checkpoint |= wishes.checkpoint;
                seen.watch |= wishes.watch;
                seen.stop |= wishes.stop;
            }
            seen
        });
        let of_reader = Arc::clone(&wakeup);
        let reader = spawn(move || of_reader.watch());
        wakeup.checkpoint();
        reader.join().expect("it does not panic");
        wakeup.stop();
        let seen = keeper.join().expect("it does not panic");
        assert_eq!(seen, Wishes { checkpoint: true, watch: true, stop: true });
    });
}
