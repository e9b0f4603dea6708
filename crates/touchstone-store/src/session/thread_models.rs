//! Model-checked interleavings of threads at the turn, the flush, the lease and the wake-up. Shuttle runs each test
//! thousands of times, each time in another order, and a thread that waits forever is a failure. `make hand-offs` runs
//! them, because only a separate build has shuttle's primitives instead of the standard library's.

use crate::engine::lease::Lease;
use crate::session::flush::Flushes;
use crate::session::keeper_wakeup::{KeeperWakeup, Wishes};
use crate::session::turn::{NoTurn, Turns};
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::sync::{Arc, Unranked as Mutex, lock};
use shuttle::thread::{self, scope};
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
        let (turns, inside) = (Turns::default(), Mutex::new(0));
        let write = || {
            for _ in 0..2 {
                let turn = turns.take().expect("it is not nested");
                *lock(&inside) += 1;
                thread::yield_now();
                assert_eq!(*lock(&inside), 1);
                *lock(&inside) -= 1;
                drop(turn);
            }
        };
        scope(|threads| (0..3).for_each(|_| drop(threads.spawn(write))));
    });
}

#[test]
fn turns_come_in_the_order_of_asking_and_nobody_overtakes() {
    explore_fairly(|| {
        let (turns, order) = (&Turns::default(), &Mutex::new(Vec::new()));
        scope(|threads| {
            let first = turns.take().expect("it is not nested");
            for number in 0..3 {
                threads.spawn(move || {
                    let _turn = turns.take().expect("it is not nested");
                    lock(order).push(number);
                });
                while turns.waiting() <= number {
                    thread::yield_now();
                }
            }
            drop(first);
            let _last = turns.take().expect("it is not nested");
            assert_eq!(*lock(order), [0, 1, 2]);
        });
    });
}

#[test]
fn a_thread_that_would_wait_for_itself_is_told() {
    explore(|| {
        let turns = Turns::default();
        let take_twice = || {
            let turn = turns.take().expect("another's turn is waited for");
            assert!(turns.take().is_err());
            drop(turn);
        };
        scope(|threads| {
            threads.spawn(|| (0..2).for_each(|_| take_twice()));
            take_twice();
        });
    });
}

/// Regression: the thread that had begun a transaction still got `AlreadyMine` after another thread went on with it,
/// and that other thread waited for itself.
#[test]
fn a_turn_is_of_the_thread_that_goes_on_with_it() {
    explore_fairly(|| {
        let turns = Turns::default();
        std::mem::forget(turns.take().expect("it is not nested"));
        scope(|threads| {
            threads.spawn(|| {
                let turn = turns.resume();
                assert!(turns.take().is_err());
                drop(turn);
            });
            // The thread that took the turn gets `AlreadyMine` until the other one goes on with it; then it waits.
            while turns.take().is_err() {
                thread::yield_now();
            }
        });
    });
}

/// Regression: a record's own code wrote in a round of live queries, and waited for the turn, while the owner of the turn
/// waited for that round.
#[test]
fn a_round_that_the_owner_of_the_turn_waits_for_does_not_wait_for_the_turn() {
    explore(|| {
        let turns = Arc::new(Turns::default());
        scope(|threads| {
            let turn = turns.take().expect("it is not nested");
            let round = threads.spawn(|| turns.take_as(|| true).err());
            let writer = threads.spawn(|| turns.take().err());
            let awaited = turns.await_round();
            assert_eq!(round.join().expect("it does not panic"), Some(NoTurn::AwaitedByOwner));
            drop(awaited);
            drop(turn);
            assert_eq!(writer.join().expect("it does not panic"), None, "a writer keeps its place");
        });
    });
}

/// The round is refused if the owner waits for it, and gets the turn if the owner goes on without it.
#[test]
fn a_round_waits_for_an_owner_that_does_not_wait_for_it() {
    explore(|| {
        let turns = Arc::new(Turns::default());
        scope(|threads| {
            let turn = turns.take().expect("it is not nested");
            let round = threads.spawn(|| turns.take_as(|| true).err());
            // It waits for no round while it has the turn.
            threads.spawn(|| assert!(turns.await_round().is_none()));
            drop(turn);
            assert!(turns.await_round().is_none());
            assert_eq!(round.join().expect("it does not panic"), None);
        });
    });
}

/// A thread of the queue comes before the round, and waits for it once it has the turn.
#[test]
fn a_round_does_not_wait_for_a_later_owner_that_waits_for_it() {
    explore(|| {
        let turns = &Arc::new(Turns::default());
        scope(|threads| {
            let turn = turns.take().expect("it is not nested");
            let round = threads.spawn(|| drop(turns.take_as(|| true)));
            threads.spawn(move || {
                let _turn = turns.take().expect("it is not nested");
                let _awaited = turns.await_round();
                round.join().expect("it does not panic");
            });
            drop(turn);
        });
    });
}

/// The owner waited for the round, and another thread went on with the turn, which does not wait for it.
#[test]
fn a_round_waits_for_the_thread_that_goes_on_with_the_turn() {
    explore(|| {
        let turns = Arc::new(Turns::default());
        std::mem::forget(turns.take().expect("it is not nested"));
        let awaited = turns.await_round();
        scope(|threads| {
            threads.spawn(|| {
                turns.pass_to_me();
                let round = threads.spawn(|| turns.take_as(|| true).err());
                drop(turns.resume());
                assert_eq!(round.join().expect("it does not panic"), None);
            });
        });
        drop(awaited);
    });
}

/// The log of a store, and how much of it the disk has.
#[derive(Default)]
struct Written {
    turns: Turns,
    flushes: Flushes,
    written: Mutex<u64>,
    durable: Mutex<u64>,
}

impl Written {
    /// Commits as the store does, and returns the commit's number.
    fn commit(&self) -> u64 {
        let _turn = self.turns.take().expect("it is not nested");
        *lock(&self.written) += 1;
        self.flushes.committed()
    }

    /// Flushes the writes that were made before it began.
    fn flush(&self) -> Result<()> {
        let written = *lock(&self.written);
        thread::yield_now();
        *lock(&self.durable) = written;
        Ok(())
    }

    fn commit_durably(&self) {
        let number = self.commit();
        self.flushes.reach(number, || self.flush()).expect("no flush fails");
        assert!(*lock(&self.durable) >= number);
    }
}

fn fail() -> Result<()> {
    Err(Error::new(ErrorKind::Io, "the disk is gone"))
}

#[test]
fn a_flush_reaches_everyone_who_committed_before_it_began() {
    explore(|| {
        let store = Written::default();
        let commit_twice = || (0..2).for_each(|_| store.commit_durably());
        scope(|threads| (0..3).for_each(|_| drop(threads.spawn(commit_twice))));
        assert!(store.flushes.count() <= 6);
    });
}

#[test]
fn all_who_wait_for_a_flush_share_the_next() {
    explore_fairly(|| {
        let store = Written::default();
        let number = store.commit();
        scope(|threads| {
            let first = store.flushes.reach(number, || {
                (0..3).for_each(|_| drop(threads.spawn(|| store.commit_durably())));
                while store.flushes.commits() < 4 {
                    thread::yield_now();
                }
                Ok(())
            });
            first.expect("no flush fails");
        });
        assert_eq!(store.flushes.count(), 2);
    });
}

#[test]
fn a_failed_flush_fails_whom_it_was_for_and_all_who_come_later() {
    explore(|| {
        let store = Written::default();
        let (flushes, before) = (&store.flushes, store.commit());
        flushes.reach(before, || store.flush()).expect("this flush does not fail");
        let is_told = || assert!(flushes.reach(store.commit(), fail).is_err());
        scope(|threads| (0..3).for_each(|_| drop(threads.spawn(is_told))));
        assert_eq!(flushes.count(), 2, "nobody flushes after a flush has failed");
        let unknown = || unreachable!("what the disk holds is not known");
        assert!(flushes.reach(store.commit(), unknown).is_err());
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
        let (lease, done) = (Lease::default(), Mutex::new(Done::default()));
        scope(|threads| {
            threads.spawn(|| {
                for _ in 0..2 {
                    let Some(owner) = lease.owner() else { continue };
                    lock(&done).asked.push(owner);
                    lease.expire(owner, || {
                        let mut done = lock(&done);
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
        });
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
        let wakeup = KeeperWakeup::default();
        scope(|threads| {
            threads.spawn(|| {
                let mut seen = Wishes::default();
                while !seen.stop {
                    let wishes = wakeup.wait(seen.watch.then_some(Duration::MAX));
                    seen.checkpoint |= wishes.checkpoint;
                    seen.watch |= wishes.watch;
                    seen.stop |= wishes.stop;
                }
                assert_eq!(seen, Wishes { checkpoint: true, watch: true, stop: true });
            });
            let reader = threads.spawn(|| wakeup.watch());
            wakeup.checkpoint();
            reader.join().expect("it does not panic");
            wakeup.stop();
        });
    });
}
