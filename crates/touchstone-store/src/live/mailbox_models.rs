//! Model-checks (shuttle) the interleavings of a mailbox's producer, receivers, subscribers, writers and listeners.
//! Each test runs thousands of times, in another order each time, and a thread that waits forever is a failure. To run
//! this: `make hand-offs`.

use crate::live::mailbox::sample::{Boxes, Change, ENDS, every};
use crate::live::mailbox::{Batch, Ended, Mailbox, Mode, Overflow, Room, Slot, listen};
use crate::session::thread_models::explore;
use crate::types::sync::{Arc, AtomicU64, Ordering, Unranked as Mutex, lock};
use shuttle::future;
use shuttle::thread::{self, JoinHandle, spawn};
use std::future::poll_fn;
use std::time::Duration;

fn mailbox(mode: Mode) -> (Arc<Boxes>, Arc<Room>) {
    let room = Arc::new(Room::default());
    (Arc::new(Mailbox::new(mode, Arc::clone(&room))), room)
}

/// Puts an update of a transaction for each of the subscriptions.
fn put(mailbox: &Boxes, version: u64, slots: &[Slot]) {
    let updates = slots.iter().map(|slot| (*slot, Change { from: version - 1, to: version })).collect();
    drop(mailbox.put(Batch { version, is_resync: false, updates }));
}

/// How a receiver waits.
#[derive(Clone, Copy)]
enum Receive {
    Thread,
    Task,
}

fn next(mailbox: &Boxes, receive: Receive) -> Option<Batch<Change>> {
    let next = match receive {
        Receive::Thread => mailbox.next(),
        Receive::Task => future::block_on(poll_fn(|context| mailbox.poll_next(context))).transpose(),
    };
    next.expect("it is closed without a reason")
}

/// A thread that works with the mailbox.
fn beside<T: Send + 'static>(
    mailbox: &Arc<Boxes>,
    work: impl FnOnce(&Boxes) -> T + Send + 'static,
) -> JoinHandle<T> {
    let mailbox = Arc::clone(mailbox);
    spawn(move || work(&mailbox))
}

/// A thread that takes batches until there are no more.
fn receive_all(mailbox: &Arc<Boxes>, receive: Receive) -> JoinHandle<Vec<Batch<Change>>> {
    beside(mailbox, move |mailbox| std::iter::from_fn(|| next(mailbox, receive)).collect())
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().expect("it does not panic")
}

#[test]
fn each_batch_of_a_queue_goes_to_one_of_those_who_wait() {
    explore(|| {
        let (mailbox, _room) = mailbox(every(4, Overflow::Block));
        let slot = mailbox.add();
        let receivers =
            [Receive::Thread, Receive::Task, Receive::Thread].map(|way| receive_all(&mailbox, way));
        for version in 1..=3 {
            put(&mailbox, version, &[slot]);
        }
        mailbox.close();
        let mut versions = Vec::new();
        for receiver in receivers {
            let batches = join(receiver);
            assert!(batches.is_sorted_by_key(|batch| batch.version));
            versions.extend(batches.into_iter().map(|batch| batch.version));
        }
        versions.sort_unstable();
        assert_eq!(versions, [1, 2, 3]);
    });
}

#[test]
fn two_who_wait_get_two_batches_while_nobody_closes() {
    explore(|| {
        for ways in [[Receive::Thread, Receive::Thread], [Receive::Thread, Receive::Task]] {
            let (mailbox, _room) = mailbox(every(4, Overflow::Block));
            let slot = mailbox.add();
            let receivers = ways
                .map(|way| beside(&mailbox, move |mailbox| next(mailbox, way).expect("it is open").version));
            put(&mailbox, 1, &[slot]);
            put(&mailbox, 2, &[slot]);
            let mut versions = receivers.map(join);
            versions.sort_unstable();
            assert_eq!(versions, [1, 2]);
        }
    });
}

/// The changes that one receiver got lead from nothing to the last version without a gap.
fn assert_unbroken(batches: &[Batch<Change>], slot: Slot, last: u64) {
    let mut had = 0;
    for (_, change) in batches.iter().flat_map(|batch| &batch.updates).filter(|(of, _)| *of == slot) {
        assert_eq!(change.from, had);
        had = change.to;
    }
    assert_eq!(had, last);
}

#[test]
fn one_receiver_gets_every_subscription_to_its_newest_state() {
    explore(|| {
        for (mode, way) in [
            (Mode::Latest, Receive::Thread),
            (Mode::Latest, Receive::Task),
            (every(1, Overflow::Resync), Receive::Thread),
        ] {
            let (mailbox, _room) = mailbox(mode);
            let (one, two) = (mailbox.add(), mailbox.add());
            let receiver = receive_all(&mailbox, way);
            put(&mailbox, 1, &[one, two]);
            put(&mailbox, 2, &[two, one]);
            put(&mailbox, 3, &[two]);
            mailbox.close();
            let batches = join(receiver);
            assert_unbroken(&batches, one, 2);
            assert_unbroken(&batches, two, 3);
            assert!(batches.is_sorted_by(|older, newer| older.version < newer.version));
        }
    });
}

#[test]
fn the_end_is_told_to_one_and_wakes_all() {
    explore(|| {
        let (mailbox, _room) = mailbox(every(1, Overflow::End));
        let slot = mailbox.add();
        // The batch wakes one receiver, the overflow another, and the third must not be forgotten.
        let receive = |mailbox: &Boxes| {
            loop {
                match mailbox.next() {
                    Ok(Some(_)) => {}
                    Ok(None) => return 0,
                    Err(ended) => {
                        assert_eq!(ended, Ended::Overflowed);
                        return 1;
                    }
                }
            }
        };
        let receivers = [0, 1, 2].map(|_| beside(&mailbox, receive));
        for version in 1..=3 {
            put(&mailbox, version, &[slot]);
        }
        // An overflow ends the mailbox, and wakes all receivers by itself.
        if !mailbox.is_closed() {
            mailbox.close();
        }
        let told = receivers.map(join).into_iter().sum::<u32>();
        assert_eq!(told, u32::from(mailbox.ended().is_some()));
    });
}

#[test]
fn nothing_is_taken_of_a_subscription_once_its_removal_has_returned() {
    explore(|| {
        for mode in [Mode::Latest, every(3, Overflow::Block), every(1, Overflow::Resync)] {
            let (mailbox, _room) = mailbox(mode);
            let (gone, kept) = (mailbox.add(), mailbox.add());
            let producer = beside(&mailbox, move |mailbox| {
                put(mailbox, 1, &[gone]);
                put(mailbox, 2, &[gone, kept]);
                put(mailbox, 3, &[gone]);
                mailbox.close();
            });
            let other = receive_all(&mailbox, Receive::Thread);
            mailbox.remove(gone);
            let new = mailbox.add();
            assert_eq!(new.index(), gone.index());
            let mine = std::iter::from_fn(|| next(&mailbox, Receive::Thread)).collect::<Vec<_>>();
            assert!(mine.iter().flat_map(|batch| &batch.updates).all(|(slot, _)| *slot == kept));
            let others = join(other);
            join(producer);
            let all = mine.iter().chain(&others);
            assert!(all.clone().all(|batch| !batch.updates.is_empty()));
            let of_kept = all.flat_map(|batch| &batch.updates).filter(|(slot, _)| *slot == kept);
            assert_eq!(of_kept.count(), 1);
        }
    });
}

#[test]
fn writers_that_wait_for_room_get_it_and_feeds_stay_bounded() {
    /// The transactions of each writer.
    const TRANSACTIONS: u64 = 2;
    explore(|| {
        let (mailbox, room) = mailbox(every(1, Overflow::Block));
        let slot = mailbox.add();
        let version = Mutex::new(0);
        let write = || {
            for _ in 0..TRANSACTIONS {
                room.wait(Duration::MAX).expect("it waits for ever");
                let mut version = lock(&version);
                *version += 1;
                put(&mailbox, *version, &[slot]);
            }
        };
        thread::scope(|threads| {
            (0..2).for_each(|_| drop(threads.spawn(write)));
            for version in 1..=2 * TRANSACTIONS {
                assert_eq!(mailbox.next().expect("it goes on").expect("it is open").version, version);
            }
        });
        assert!(!room.is_full());
    });
}

#[test]
fn a_feed_that_goes_lets_its_writers_go() {
    explore(|| {
        for (go, stays) in ENDS {
            let (mailbox, room) = mailbox(every(1, Overflow::Block));
            let slot = mailbox.add();
            put(&mailbox, 1, &[slot]);
            let writers = [0, 1].map(|_| {
                let room = Arc::clone(&room);
                spawn(move || room.wait(Duration::MAX))
            });
            go(&mailbox, slot);
            let _staying = stays.then_some(mailbox);
            for writer in writers {
                assert_eq!(join(writer), Ok(()));
            }
        }
    });
}

#[test]
fn no_callback_starts_or_runs_once_cancel_has_returned_and_no_batch_is_lost() {
    explore(|| {
        let (mailbox, _room) = mailbox(every(4, Overflow::Block));
        let slot = mailbox.add();
        let (running, called) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (of_callback, to_count) = (Arc::clone(&running), Arc::clone(&called));
        let callback = move |_| {
            of_callback.store(1, Ordering::SeqCst);
            to_count.fetch_add(1, Ordering::SeqCst);
            thread::yield_now();
            of_callback.store(0, Ordering::SeqCst);
        };
        let listener = listen(Arc::clone(&mailbox), callback).expect("there are threads");
        let other = receive_all(&mailbox, Receive::Thread);
        let put_all = move |mailbox: &Boxes| (1..=3).for_each(|version| put(mailbox, version, &[slot]));
        let producer = beside(&mailbox, put_all);
        listener.cancel();
        let called_before = called.load(Ordering::SeqCst);
        assert_eq!(running.load(Ordering::SeqCst), 0);
        join(producer);
        mailbox.close();
        let others = join(other).len() as u64;
        listener.wait();
        assert_eq!(called.load(Ordering::SeqCst), called_before);
        assert_eq!(called_before + others, 3);
    });
}

#[test]
fn a_batch_whose_listener_is_cancelled_wakes_another_receiver() {
    explore(|| {
        let (mailbox, _room) = mailbox(every(4, Overflow::Block));
        let slot = mailbox.add();
        let called = Arc::new(AtomicU64::new(0));
        let to_count = Arc::clone(&called);
        let listener = listen(Arc::clone(&mailbox), move |_| {
            to_count.fetch_add(1, Ordering::SeqCst);
        });
        let listener = listener.expect("there are threads");
        let other = beside(&mailbox, |mailbox| mailbox.next().expect("it is open"));
        thread::scope(|threads| {
            threads.spawn(|| listener.cancel());
            put(&mailbox, 1, &[slot]);
        });
        // If the listener got the batch, another must come for the other receiver, which otherwise has this one.
        if called.load(Ordering::SeqCst) == 1 {
            put(&mailbox, 2, &[slot]);
        }
        assert!(join(other).is_some());
    });
}

#[test]
fn a_callback_that_cancels_and_closes_while_others_cancel_waits_for_nobody() {
    explore(|| {
        let (mailbox, _room) = mailbox(every(4, Overflow::Block));
        let slot = mailbox.add();
        let handle = Arc::new(Mutex::new(None::<Arc<crate::live::mailbox::Listener>>));
        let called = Arc::new(AtomicU64::new(0));
        let (to_find, to_count, to_end) = (Arc::clone(&handle), Arc::clone(&called), Arc::clone(&mailbox));
        let callback = move |_| {
            to_count.fetch_add(1, Ordering::SeqCst);
            let itself = lock(&to_find).take();
            to_end.remove(slot);
            if let Some(itself) = itself {
                itself.cancel();
            }
            to_end.close();
        };
        let listener = Arc::new(listen(Arc::clone(&mailbox), callback).expect("there are threads"));
        *lock(&handle) = Some(Arc::clone(&listener));
        put(&mailbox, 1, &[slot]);
        put(&mailbox, 2, &[slot]);
        listener.cancel();
        listener.wait();
        assert!(called.load(Ordering::SeqCst) <= 1);
    });
}
